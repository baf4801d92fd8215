"""Bundles that go to another machine, or come from one, over the connection that engines share. Of
what comes only its bytes are taken; where they are kept is said here.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import IO

from torchkeeper.client.engines import line
from torchkeeper.client.words.problems import UserError, failing_as, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.engine import mux, protocol
from torchkeeper.stores import atomic
from torchkeeper.stores.names import SUFFIX
from torchkeeper.stores.ssh import parse

#: Bytes at once.
_PIECE = 1 << 18
#: Hears how many bytes have gone or come.
Told = Callable[[int], None]


def folder(machine: str) -> str:
    """The private folder of this connection there, which goes with it. Waits for the machine.
    Raises UserError.
    """
    return f"{machine}{line.to(machine).hello().folder}"


def name(machine: str, suffix: str = SUFFIX) -> str:
    """The name of a bundle that is to be made in that folder. Raises UserError."""
    return f"{folder(machine)}/{line.to(machine).free()}{suffix}"


def send(machine: str, file: str, told: Told = lambda _: None) -> str:
    """The name of a file there that has the contents of one here. Raises UserError."""
    made = name(machine)
    channel = line.to(machine).file(made.rpartition("/")[2], writes=True)
    assert channel.stdin
    with (
        failing_as("bundle-unreadable", file=file),
        open(file, "rb") as source,
        contextlib.suppress(BrokenPipeError),  # why it breaks is told below
        channel.stdin as target,
    ):
        _carry(source, target, told)
    _ended(machine, channel)
    return made


def fetch(
    made: str, file: str, size: int, replace: bool = True, told: Told = lambda _: None
) -> None:
    """Write what a bundle of ``name`` holds into a file here. size: of how many bytes, as was said;
    not one more is taken. Raises UserError.
    """
    machine = parse(made).machine
    if not replace and os.path.lexists(file):
        raise user_error("output-exists", {"file": file})
    channel = line.to(machine).file(made.rpartition("/")[2], writes=False)
    assert channel.stdout
    with failing_as("output-unwritable", file=file), atomic.AtomicFile(file) as target:
        with channel.stdout as source:
            came = _carry(source, target.stream, told, size)
        _ended(machine, channel)
        if came != size:
            why = tr("It sends another number of bytes than it says.")
            raise user_error("ssh-misspoken", {"machine": machine, "why": why})
        target.commit(replace)


def _carry(source: IO[bytes], target: IO[bytes], told: Told, most: int | None = None) -> int:
    """How many bytes went from one to the other; one more than ``most`` ends it."""
    done = 0
    while data := source.read(_PIECE):
        done += len(data)
        if most is not None and done > most:
            break
        target.write(data)
        told(done)
    return done


def _ended(machine: str, channel: line.Channel) -> None:
    """Wait for the other end. Raises UserError where it has failed."""
    channel.wait()
    if failure := channel.failure():
        raise failure
    if channel.why == mux.READ_ONLY:
        raise user_error("not-served", {"what": protocol.IMPORT})
    if channel.returncode != 0:
        raise UserError(
            tr("A file on {machine} cannot be used.", machine=machine),
            f"{channel.why}.",
            tr("Free some room in the temporary folder there, or name another in its TMPDIR."),
            code="output-unwritable",
        )
