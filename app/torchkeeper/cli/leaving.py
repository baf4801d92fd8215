"""What commands ask and say of entries that go elsewhere: how objects are built, and secrets."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypedDict

from torchkeeper.cli import output, screen
from torchkeeper.cli.asking import Asker
from torchkeeper.client import carrying
from torchkeeper.client.carrying import Here
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words import leaks, say
from torchkeeper.client.words.problems import UserError, user_error

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Leaks, Private, Secret
    from torchkeeper.engine.messages.entries import Origin
    from torchkeeper.verdict.probed import Env

    class _SecretsTold(TypedDict):
        found: list[Secret]

    class LeaksTold(_SecretsTold, total=False):
        """As of Leaks, with the secrets; nothing but these where nobody has looked."""

        secrets: int
        entries: int
        redacted: int
        fixed: int
        private: list[Private]


def maker_of(args: argparse.Namespace, folder: str | None = None) -> Env | None:
    """As ``carrying.maker_of``, with the interpreter of --env."""
    with output.waiting("asking torch", args.json):
        return carrying.maker_of(args.env, folder)


def here_of(args: argparse.Namespace, files: Sequence[str], machine: str = "") -> Here | None:
    """As ``carrying.here_of``, with the interpreter of --env."""
    return carrying.here_of(args.env, files, machine)


def tell_names(
    args: argparse.Namespace, engine: Engine, files: Sequence[str], find: Callable[[], Here | None]
) -> tuple[str | None, list[Origin]]:
    """As ``carrying.tell_names``, with what there is to say of it; the name of the environment."""
    here, abouts = carrying.tell_names(engine, files, find, bool(args.env or args.usable))
    if here is not None:
        threads = [carrying.threads(one["made_in"], here.facts) for one in abouts]
        output.remark(args, dict.fromkeys(threads))
        return here.python, abouts
    said = "There is no interpreter with a torch: objects keep their names. Name one with --env."
    output.remark(args, [said] if any(one["built"] for one in abouts) else ())
    return None, abouts


#: Secrets that are listed one by one on a terminal.
_LISTED = 20


def add_secrets(command: argparse.ArgumentParser) -> None:
    some = command.add_mutually_exclusive_group()
    some.add_argument("--redact", dest="secrets", action="store_const", const="redact",
                      help="write an x for each character of the passwords and keys in the "
                           "entries; without this or one of the next two options, nothing is "
                           "written if there are any")  # fmt: skip
    some.add_argument("--without-secrets", dest="secrets", action="store_const", const="leave",
                      help="leave out the entries that hold them")  # fmt: skip
    some.add_argument("--allow-secrets", dest="secrets", action="store_const", const="allow",
                      help="keep them")  # fmt: skip


@contextlib.contextmanager
def telling_secrets(args: argparse.Namespace, asker: Asker) -> Iterator[None]:
    """List the secrets that were found, and the private facts, also where they are an end of it."""
    try:
        yield
    except UserError as error:
        if error.code == "secrets-found":
            output.remark(args, secret_lines(secrets_found(asker)))
            if args.json:
                output.emit({"leaks": secrets_found(asker)})
        raise
    output.remark(args, secret_lines(secrets_found(asker)))


def blocked_by_secrets(args: argparse.Namespace, told: Leaks | None) -> int:
    """1 where what was only foretold would end because of secrets, which is said; else 0."""
    if not args.dry_run or args.secrets or not told or not told["secrets"]:
        return 0
    output.complain(user_error("secrets-found", told))
    return 1


def secrets_found(asker: Asker) -> LeaksTold:
    """The last summary of what was found, with the secrets."""
    secrets = [one["secret"] for one in asker.findings if "secret" in one]
    every = [one["leaks"] for one in asker.findings if "leaks" in one]
    return {**every[-1], "found": secrets} if every else {"found": secrets}


def secret_lines(told: LeaksTold) -> list[str]:
    most = None if screen.now.verbose else _LISTED
    said = [f"secret: {leaks.line(one)}" for one in told["found"][:most]]
    if (more := told.get("secrets", 0) - len(said)) > 0:
        said.append(f"secret: and {more:,} more")
    if redacted := told.get("redacted"):
        said.append(f"Secrets were redacted in {say.count(redacted, 'entry', 'entries')}.")
    said += [f"private: {text}" for text in leaks.private(told.get("private", ()))]
    return said
