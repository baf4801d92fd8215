"""``-``: a bundle that comes from standard input, or goes to standard output."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO

from torchkeeper.cli import looking, output, screen
from torchkeeper.client import temporary
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import CALLED, UserError, failing_as, printable

STREAM = "-"
#: Bytes that are read at once, and bytes that stay free on the disk, for all else that runs there.
_CHUNK, _STAYS = 1 << 20, 64 << 20


def file(text: str) -> str:
    """A path as ``looking.path`` has it, or ``-``."""
    return text if text == STREAM else looking.path(text)


@contextlib.contextmanager
def coming(files: Sequence[str]) -> Iterator[list[str]]:
    """The files, with a temporary one, which has no name and so ends with us, in the place of
    standard input. Raises UserError, also where more comes than the disk has room for.
    """
    if STREAM not in files:
        yield list(files)
        return
    if files.count(STREAM) > 1:
        raise output.misuse("Standard input can be read once.", "", "Give “-” once.")
    if screen.terminal(sys.stdin):
        raise output.misuse(
            "Standard input is a terminal.", "A bundle comes from a pipe, or a file.",
            "Send it there: torchkeeper export PLACE -o - | torchkeeper import - --into PLACE.",
        )  # fmt: skip
    with failing_as("place-unwritable", place=tempfile.gettempdir()):
        taken = _take()
    with taken:
        there = f"/proc/{os.getpid()}/fd/{taken.fileno()}"
        CALLED[there] = "standard input"
        yield [there if one == STREAM else one for one in files]


def _take() -> IO[bytes]:
    """What comes, in a file. Raises OSError, UserError."""
    if not (some := _read()):
        raise UserError(
            "Nothing came on standard input.", "The command that writes it may have failed.",
            "See its output; “set -o pipefail” makes a shell report such failures.",
        )  # fmt: skip
    size, target = 0, tempfile.TemporaryFile()  # noqa: SIM115  # for whoever asked
    while some:
        free = shutil.disk_usage(tempfile.gettempdir()).free
        if free < len(some) + _STAYS:
            raise UserError(
                "There is no room for what comes on standard input.",
                f"{say.size(size)} came, and {printable(tempfile.gettempdir())} has "
                f"{say.size(free)} left.",
                "Set TMPDIR to a folder with more room.",
            )
        target.write(some)
        size += len(some)
        some = _read()
    target.flush()
    return target


def _read() -> bytes:
    """What comes next; nothing at the end. Raises UserError."""
    try:
        return os.read(0, _CHUNK)  # where it was closed, Python has no stream for it
    except OSError as e:
        raise UserError(
            "Standard input cannot be read.", f"{e.strerror}.",
            "Send it a bundle: torchkeeper import - --into PLACE < FILE.",
        ) from e  # fmt: skip


@contextlib.contextmanager
def going(args: argparse.Namespace) -> Iterator[str]:
    """The file to write, which is sent to standard output in the end if that was named; what is
    said of it goes to standard error. Raises UserError, also where nobody reads it to its end.
    """
    if args.output != STREAM:
        yield args.output
        return
    if args.json and not args.dry_run:
        raise output.misuse("Standard output is "
                            "the bundle.", "--json would mix its output into it.",
                            "Leave --json out, or name a file.")  # fmt: skip
    if not args.dry_run and screen.terminal(sys.stdout):
        raise output.misuse("Standard output is a terminal.", "A bundle is not text.",
                            "Send it to a pipe, or name a file: -o FILE.")  # fmt: skip
    if sys.__stdout__ is None:
        raise output.misuse("Standard output is closed.", "There is nowhere to write the bundle.",
                            "Send it to a pipe, or name a file: -o FILE.")  # fmt: skip
    with temporary.folder("stdout") as folder:
        above = os.path.dirname(folder)
        about = os.stat(above)
        if about.st_mode & 0o022 and not about.st_mode & stat.S_ISVTX:  # another could come in it
            raise UserError(
                "There is no private folder for the bundle from the pipe.",
                f"Others can rename files in {printable(above)}.",
                "Set TMPDIR to a folder of your own, or have its owner set the sticky bit.",
            )
        there = os.path.join(folder, "standard-output")
        if args.dry_run:
            yield there
            return
        with (
            open(os.devnull, "w", encoding="utf-8") as nowhere,  # the answer is the bundle
            contextlib.redirect_stdout(nowhere if args.quiet else sys.stderr),
        ):
            yield there
        if os.path.exists(there):
            _send(there)


def _send(path: str) -> None:
    try:
        with open(path, "rb") as source:
            shutil.copyfileobj(source, sys.stdout.buffer, _CHUNK)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what is still buffered
        raise UserError(
            "The bundle was not read to "
            "its end.", "The command that reads standard output has ended.",
            "See its output, then try again.",
        ) from None  # fmt: skip
