"""Signing bundles with the user's own SSH keys, which no engine sees."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts import manifest, sshsig
from torchkeeper.client import temporary
from torchkeeper.client.engines.process import clean_environment
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.engine import protocol

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import CopyManifestResult, Signed

#: Asks an engine for an operation, as ``cli.asking.Asker.ask``.
Ask = Callable[..., Any]

#: Characters of an error that are looked at.
SAID = 4000
#: How the two kinds of lines begin that ``askpass`` writes to standard error.
ASKS, NOTES = b"torchkeeper-ask ", b"torchkeeper-notice "


def program() -> str:
    """What signs. Raises UserError("ssh-keygen-missing")."""
    if (found := shutil.which("ssh-keygen")) is None:
        raise user_error("ssh-keygen-missing", {})
    return found


def check_key(key: str) -> str:
    """What signs with a key. Raises UserError("key-unusable" | "ssh-keygen-missing")."""
    found = program()
    if not os.path.isfile(key):
        raise user_error("key-unusable", {"file": key, "why": tr("There is no such file")})
    return found


def command(key: str, target: str) -> list[str]:
    """What puts the signature of a file beside it. Raises as ``check_key``. key: the file of a
    private key, or of a public one whose other half is beside it or held by an agent
    (ssh-keygen(1), -Y sign).
    """
    return [check_key(key), "-q", "-Y", "sign", "-n", sshsig.NAMESPACE, "-f", key, target]


def signature_of(target: str) -> str:
    """The text of the signature that ``command`` made of a file. Raises UserError."""
    try:
        with open(target + ".sig", encoding="ascii") as stream:
            return stream.read(sshsig.MAX_SIZE)
    except (OSError, ValueError) as e:
        why = tr("ssh-keygen has written no signature")
        raise user_error("signing-failed", {"why": why}) from e


def sign(ask: Ask, file: str, key: str, output: str = "", replace: bool = True) -> None:
    """Sign a bundle with a private key, or a public one whose other half an agent holds; ssh-keygen
    asks for a passphrase on the terminal. output: the name of the signed one, in place of a file
    with ``replace``. Without a file it is the one that the engine was told to export and holds.
    Raises UserError("key-unusable" | "ssh-keygen-missing" | "signing-failed"), and as the engine.
    """
    check_key(key)
    source: Signed = {"file": file} if file else {"held": True}
    with temporary.folder("sign") as folder:
        target = os.path.join(folder, manifest.NAME)
        copied: CopyManifestResult = ask(protocol.COPY_MANIFEST, **source, target=target)
        _run(command(key, target))
        text = signature_of(target)
        ask(
            protocol.ATTACH_SIGNATURE, **source, signature=text, manifest=copied["manifest"],
            output=output, replace=replace,
        )  # fmt: skip


def environment_asking() -> dict[str, str]:
    """The environment in which ssh-keygen asks by ``askpass``, on standard error and input."""
    helper = os.path.join(os.path.dirname(os.path.abspath(__file__)), "askpass")
    return clean_environment({"SSH_ASKPASS": helper, "SSH_ASKPASS_REQUIRE": "force"})


def failed(heard: bytes, code: int) -> UserError:
    """Why ssh-keygen ended with a code other than 0, from what it said last."""
    lines = heard.decode(errors="replace").strip().splitlines()
    why = lines[-1].rstrip(".\r") if lines else tr("ssh-keygen ended with {code}", code=code)
    return user_error("signing-failed", {"why": why})


def _run(command: list[str]) -> None:
    """Run it with what it asks and says shown as it comes. Raises UserError("signing-failed")."""
    heard = b""
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stderr
        while data := os.read(process.stderr.fileno(), 4096):
            heard = (heard + data)[-SAID:]
            sys.stderr.write(data.decode(errors="backslashreplace"))
            sys.stderr.flush()
    if process.returncode:
        raise failed(heard, process.returncode)
