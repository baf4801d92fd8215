"""The SSH keys that the user can sign with: those beside his public keys, and those of an agent.

A key is named by the path of its file, or, where only an agent holds it, by its public half as a
line of ``authorized_keys``: nothing that is to be kept secret.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import NamedTuple

from torchkeeper.client import signing
from torchkeeper.client.engines.process import clean_environment
from torchkeeper.client.signers import PublicKey, public_key, public_key_in
from torchkeeper.client.words.problems import UserError, failing_as, user_error
from torchkeeper.client.words.tongue import tr

#: Seconds that an agent, or ssh-keygen, may take to answer.
_PATIENCE = 10
#: What is looked at in the folder of keys, and taken of an agent, at most.
_MOST = 200
#: The file in the private folder of a signing that says which of the agent's keys it is.
_NAMED = "key.pub"
#: What ``ssh-keygen -l`` says: 256 SHA256:… comment (ED25519).
_LISTED = re.compile(r"\d+ (SHA256:\S+) (.*) \(([A-Z0-9-]+)\)\s*")


class Key(NamedTuple):
    """A key to sign with. name: as above. kind: as ``authorized_keys`` has it, or what ssh-keygen
    calls it; empty, as the fingerprint is, where neither can be told without a passphrase.
    """

    name: str
    kind: str
    fingerprint: str
    comment: str
    agent: bool

    @property
    def hardware(self) -> bool:
        """Whether it is in a token that wants to be touched."""
        return self.kind.startswith("sk-") or self.kind.endswith("-SK")


class Found(NamedTuple):
    """The keys; without_agent: why those of an agent are not among them, in words, or empty."""

    keys: list[Key]
    without_agent: str


def found() -> Found:
    """Those of ``~/.ssh``, then others of the agent. Raises UserError("ssh-keygen-missing")."""
    signing.program()
    held, why = _of_agent()
    texts = {one.key for one in held}
    keys = [key for path in _public_files() if (key := _beside(path, texts)) is not None]
    known = {key.fingerprint for key in keys}
    for one in held:
        if one.fingerprint not in known:
            known.add(one.fingerprint)
            keys.append(_key(one.key, one, agent=True))
    return Found(keys, why)


def of_file(path: str) -> Key:
    """The key in a file, private or public. Raises UserError("key-unusable" | "ssh-keygen-…")."""
    program = signing.check_key(path)
    public = path if path.endswith(".pub") else f"{path}.pub"
    if path == public or os.path.isfile(public):
        return _key(path, public_key(public), agent=False)
    # Of a private key of OpenSSH the public half is not encrypted.
    done = _asked([program, "-l", "-f", path])
    match = _LISTED.fullmatch(done.stdout) if done.returncode == 0 else None
    if match is not None:
        return Key(path, match[3], match[1], match[2], agent=False)
    if "PRIVATE KEY" not in _head(path):
        raise user_error("key-unusable", {"file": path, "why": tr("It is no key of OpenSSH")})
    return Key(path, "", "", "", agent=False)


def command(name: str, target: str, folder: str) -> list[str]:
    """As ``signing.command``. folder: private, for the public half of a key of the agent's."""
    if os.path.isabs(name):
        return signing.command(name, target)
    public = public_key_in(name, name)
    file = os.path.join(folder, _NAMED)
    with open(file, "x", encoding="ascii") as out:
        out.write(f"{public.key}\n")
    return signing.command(file, target)


def _key(name: str, public: PublicKey, agent: bool) -> Key:
    kind = public.key.partition(" ")[0]
    return Key(name, kind, public.fingerprint, public.comment, agent)


def _public_files() -> list[str]:
    folder = os.path.expanduser("~/.ssh")
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".pub"))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names[:_MOST]]


def _beside(path: str, held: set[str]) -> Key | None:
    """The key of a public file, where something can be signed with it."""
    private = path.removesuffix(".pub")
    try:
        public = public_key(path)
    except UserError:
        return None
    if "-cert-" in public.key.partition(" ")[0]:
        return None
    if os.path.isfile(private):
        return _key(private, public, agent=public.key in held)
    return _key(path, public, agent=True) if public.key in held else None


def _of_agent() -> tuple[list[PublicKey], str]:
    """The keys of the running agent; and why there are none."""
    if (program := shutil.which("ssh-add")) is None:
        return [], tr("There is no ssh-add here.")
    if not os.environ.get("SSH_AUTH_SOCK"):
        return [], tr("No ssh-agent is running.")
    done = _asked([program, "-L"])
    if done.returncode == 2:
        return [], tr("ssh-agent does not answer.")
    keys = []
    for line in done.stdout.splitlines()[:_MOST] if done.returncode == 0 else ():
        try:
            one = public_key_in(line, line)
        except UserError:
            continue
        if "-cert-" not in one.key.partition(" ")[0]:
            keys.append(one)
    return keys, "" if keys else tr("ssh-agent holds no key.")


def _asked(command: list[str]) -> subprocess.CompletedProcess[str]:
    """What a program of OpenSSH says, which can ask nobody; 2 where it does not answer."""
    env = clean_environment({"SSH_ASKPASS_REQUIRE": "never"})
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, env=env,
            text=True, errors="replace", timeout=_PATIENCE, start_new_session=True,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return subprocess.CompletedProcess(command, 2, "", "")


def _head(path: str) -> str:
    with (
        failing_as("key-unusable", file=path),
        open(path, encoding="ascii", errors="replace") as stream,
    ):
        return stream.read(200)
