"""Signing bundles with the user's own SSH keys, which no engine sees."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from torchkeeper.artifacts import manifest, sshsig
from torchkeeper.link import temporary
from torchkeeper.link.words import user_error

#: Asks an engine for an operation, as ``cli.asking.Asker.ask``.
Ask = Callable[..., dict[str, Any]]

#: Characters of an error that are looked at.
_SAID = 4000


def check_key(key: str) -> str:
    """Raise UserError("key-unusable" | "ssh-keygen-missing") where nothing can be signed with a
    key, as far as can be told before it is used; returns the program that signs.
    """
    program = shutil.which("ssh-keygen")
    if program is None:
        raise user_error("ssh-keygen-missing", {})
    if not os.path.isfile(key):
        raise user_error("key-unusable", {"file": key, "why": "There is no such file"})
    return program


def sign(ask: Ask, file: str, key: str, output: str = "", replace: bool = True) -> None:
    """Sign a bundle with a private key, or with the one that belongs to a public key and is held
    by an agent. ssh-keygen asks for a passphrase on the terminal where one is needed. With
    ``output``, the signed one gets that name, in place of a file that is there with ``replace``.
    Without a file it is the one that the engine holds since it was told to export it.

    Raises UserError("key-unusable" | "ssh-keygen-missing" | "signing-failed"), and what an engine
    says of the file.
    """
    program = check_key(key)
    source: dict[str, Any] = {"file": file} if file else {"held": True}
    with temporary.folder("sign") as folder:
        target = os.path.join(folder, manifest.NAME)
        digest = ask("copy_manifest", **source, target=target)["manifest"]
        _run([program, "-q", "-Y", "sign", "-n", sshsig.NAMESPACE, "-f", key, target])
        with open(target + ".sig", encoding="ascii") as stream:
            text = stream.read(sshsig.MAX_SIZE)
        ask("attach_signature", **source, signature=text, manifest=digest, output=output,
            replace=replace)  # fmt: skip


def _run(command: list[str]) -> None:
    """Run it with what it asks and says shown as it comes. Raises UserError("signing-failed")."""
    heard = b""
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stderr
        while data := os.read(process.stderr.fileno(), 4096):
            heard = (heard + data)[-_SAID:]
            sys.stderr.write(data.decode(errors="backslashreplace"))
            sys.stderr.flush()
    if process.returncode:
        lines = heard.decode(errors="replace").strip().splitlines()
        why = lines[-1].rstrip(".\r") if lines else f"ssh-keygen ended with {process.returncode}"
        raise user_error("signing-failed", {"why": why})
