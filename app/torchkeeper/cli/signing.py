"""The commands about who made a bundle: sign, and signers, whose signatures are trusted."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from torchkeeper.cli import looking, output
from torchkeeper.cli.asking import Asker
from torchkeeper.client import signers as trust
from torchkeeper.client.engines import far
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words import outcomes
from torchkeeper.client.words.problems import printable, user_error
from torchkeeper.engine import protocol

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import SignatureResult

_HELP = """\
examples:
  torchkeeper export cache -o model.torchcache --sign ~/.ssh/id_ed25519
  torchkeeper sign model.torchcache --key ~/.ssh/id_ed25519    a bundle that is there
  torchkeeper signers add team@example.org team.pub    on the machine that imports
  torchkeeper signers require on                       import nothing else from now on

If TORCHKEEPER_SIGNERS names a file of allowed signers, that counts instead, and only what they
signed is imported: for a container, which does not have your settings.

You can check a bundle without Torchkeeper, too:
  unzip model.torchcache manifest.json manifest.json.sig
  ssh-keygen -Y verify -f allowed_signers -I team@example.org -n torchcache \\
      -s manifest.json.sig < manifest.json
The manifest has the sha256 of every file, and of mega-cache.bin."""


def add_key(command: argparse._ActionsContainer, option: str, required: bool = False) -> None:
    add = command.add_argument
    add(option, metavar="KEY", type=looking.path, required=required, dest="key", help="a private "
        "SSH key, or the public half of one that ssh-agent or a token holds")  # fmt: skip


def add_sign(command: argparse.ArgumentParser) -> None:
    about = "Sign a bundle, so that others see that it is yours and unchanged.\n"
    output.describe(command, f"{about}This replaces a signature that it has.", _HELP)
    command.add_argument("file", metavar="FILE", type=looking.folder, help="a bundle")
    add_key(command, "--key", required=True)


def sign(args: argparse.Namespace) -> int:
    if far.is_far(args.file):
        raise user_error("sign-elsewhere", {"place": args.file})
    with Engine() as engine:
        signature = signed(Asker(engine, args.json), args.file, args.key)
    told = {"file": args.file, "signature": signature}
    output.result(args, told, outcomes.line(outcomes.Ended(protocol.SIGN, told, args.file)))
    return 0


def signed(
    asker: Asker, file: str, key: str, output: str = "", replace: bool = True
) -> SignatureResult:
    """Sign a bundle as ``signers.sign``; returns the signature as ``signature_of``."""
    trust.sign(asker.ask, file, key, output, replace)
    return signature_of(asker, output or file)


def signature_of(asker: Asker, file: str) -> SignatureResult:
    """The operation ``signature`` with the user's own signers. Raises UserError."""
    found: SignatureResult = asker.ask(protocol.SIGNATURE, file=file, signers=trust.signers_file())
    return found


def trusted(file: str) -> bool:
    """Whether a bundle was signed by one of the user's signers. Raises UserError."""
    with Engine() as engine:
        return signature_of(Asker(engine, quiet=True), file)["status"] == "trusted"


def add_signers(command: argparse.ArgumentParser) -> None:
    output.describe(
        command,
        "Whose signatures you trust: “import” takes what they signed without asking.\n"
        "They are kept in a file of allowed signers, as ssh-keygen(1) describes it.",
        _HELP,
    )
    parts = command.add_subparsers(metavar="WHAT", required=True)
    listed = parts.add_parser("list", help="list them, and whether signatures are required")
    listed.set_defaults(run=_list)
    add = parts.add_parser("add", help="trust a key under a name")
    add.add_argument("name", metavar="NAME", help="such as team@example.org")
    add.add_argument("key", metavar="PUBLICKEY", help="the file of a public key, or its text")
    add.set_defaults(run=_add)
    remove = parts.add_parser("remove", help="stop trusting a name or a key")
    remove.add_argument("name", metavar="NAME", help="a name, or the SHA256:… of one of its keys")
    remove.set_defaults(run=_remove)
    require = parts.add_parser("require", help="set whether to import only what they signed")
    require.add_argument("on", choices=("on", "off"), help="off is the default")
    require.set_defaults(run=_require)
    for name, one in parts.choices.items():
        one.set_defaults(part=name)
        output.add_json(one)


def _list(args: argparse.Namespace) -> int:
    found, required = trust.signers(), trust.required()
    if not args.json:
        for one in found:
            kind = one.key.partition(" ")[0]
            output.line(printable(f"{one.name}  {kind} {one.fingerprint}"))
    must = "Only what these signed is imported." if required else "Signatures are not required."
    said = must if found else f"There are none. {must}"
    about = {"signers": [one._asdict() for one in found], "required": required}
    output.result(args, {**about, "file": trust.signers_file()}, said)
    return 0


def _add(args: argparse.Namespace) -> int:
    one = trust.trust(args.name, args.key)
    output.result(args, one._asdict(), printable(f"{one.name} is trusted: {one.fingerprint}."))
    return 0


def _remove(args: argparse.Namespace) -> int:
    gone, stays = trust.distrust(args.name)
    keys = ", ".join(one.fingerprint for one in gone)
    said = f"Trusted no longer: {args.name}, {keys}."
    if stays:
        said += f" It still fits {', '.join(one.name for one in stays)}, with other keys."
    about = {"removed": [one._asdict() for one in gone],
             "still": [one._asdict() for one in stays]}  # fmt: skip
    output.result(args, about, printable(said))
    return 0


def _require(args: argparse.Namespace) -> int:
    on = args.on == "on"
    trust.require(on)
    what = "Only what your signers signed" if on else "Any bundle that you say you trust"
    output.result(args, {"required": on}, f"{what} is imported from now on.")
    return 0
