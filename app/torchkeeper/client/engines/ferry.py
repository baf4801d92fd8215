"""Bundles that go to another machine, or come from one, over the connection that engines share. Of
what comes only its bytes are taken; where they are kept is said here. What came before a connection
broke need not go again (``stores.parts``).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from torchkeeper.client.engines import line
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.temporary import Ended
from torchkeeper.client.words.problems import UserError, failing_as, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.engine import mux
from torchkeeper.engine.protocol import IMPORT, RESUME
from torchkeeper.stores import atomic, parts
from torchkeeper.stores.names import SUFFIX
from torchkeeper.stores.parts import Piece, Stretch
from torchkeeper.stores.ssh import parse

if TYPE_CHECKING:
    from torchkeeper.engine.messages import bundles

#: Hears how many bytes of a file have gone or come, and how many it has.
Told = Callable[[int, int], None]
#: Asks an engine for an operation, with its parameters.
Ask = Callable[[str, Mapping[str, object]], Any]


def folder(machine: str) -> str:
    """The private folder of this connection there, which goes with it. Waits for the machine.
    Raises UserError.
    """
    return f"{machine}{line.to(machine).hello().folder}"


def name(machine: str, suffix: str = SUFFIX) -> str:
    """The name of a bundle that is to be made in that folder. Raises UserError."""
    return f"{folder(machine)}/{secrets.token_hex(8)}{suffix}"


@contextlib.contextmanager
def sent(
    machine: str, files: Sequence[str], told: Told = lambda *_: None
) -> Iterator[dict[str, str]]:
    """What ``send`` says of each file, which is there while it lasts; of this machine, "", its
    name. Raises UserError.
    """
    if not machine:
        yield {file: file for file in files}
        return
    there = send_all(machine, files, told)
    with _undone(there.values()):
        yield there
    drop(there.values())


def send_all(
    machine: str, files: Sequence[str], told: Told = lambda *_: None
) -> dict[str, str]:  # fmt: skip
    """What ``send`` says of each file: all are there, or none. Raises UserError."""
    there = dict[str, str]()
    with _undone(there.values()):
        for file in files:
            there[file] = send(machine, file, told)
    return there


def send(machine: str, file: str, told: Told = lambda *_: None) -> str:
    """The name of a file there that has the contents of one here. Raises UserError."""
    with failing_as("bundle-unreadable", file=file):
        size = os.path.getsize(file)
        put = partial(_put, file, told)
        if parts.LEAST <= size < parts.MOST and line.to(machine).hello().parts:
            try:
                with Engine(machine) as engine, open(file, "rb") as source:
                    return made_of(engine.call, machine, list(parts.cut(source, size)), put)
            except UserError as e:
                _unless_lost(e)
        made = name(machine)
        with _undone([made]):
            put(made, [(0, size)])
        return made


def made_of(
    ask: Ask, machine: str, pieces: Sequence[Piece],
    put: Callable[[str, Sequence[Stretch]], object],
) -> str:  # fmt: skip
    """The name of a file there that is made of these pieces; those that are there do not go again.
    ask: an engine there. put: writes stretches of it into a new file there, by this name. Raises
    UserError.
    """
    made, rest, size = name(machine), name(machine), sum(length for length, _ in pieces)
    missing = whole = [(0, size)]
    with _undone([made, rest]):
        if parts.LEAST <= size < parts.MOST:
            told = ask(RESUME, {"pieces": pieces, "output": made})
            missing = [(x, y) for x, y in told.get("missing", whole)]
            edges = [edge for stretch in missing for edge in stretch]
            if sorted([0, *edges, size]) != [0, *edges, size]:
                missing = whole  # it is of another file
        put(rest, missing)
        if missing != whole:
            ask(RESUME, {"path": rest, "stretches": missing, "output": made, "back": True})
            return made
    drop([made])
    return rest


def fetch(
    made: str, file: str, size: int, replace: bool = True, told: Told = lambda *_: None
) -> None:
    """Write what a bundle of ``name`` holds into a file here; it is not kept there. size: of how
    many bytes, as was said; not one more is taken. Raises UserError.
    """
    machine, source, missing, used = parse(made).machine, made, [(0, size)], set[str]()
    try:
        if not replace and os.path.lexists(file):
            raise user_error("output-exists", {"file": file})
        with failing_as("output-unwritable", file=file), atomic.AtomicFile(file) as target:
            if parts.LEAST <= size < parts.MOST and parts.there(machine):
                source, missing, used = _rest_of(made, size, target.stream)
            try:
                _take(source, missing, target.stream, size, told)
            except (UserError, KeyboardInterrupt) as e:
                target.stream.flush()
                if _broke(e) and parts.worth(os.fstat(target.stream.fileno())):
                    parts.keep(target.path, machine)
                    parts.forget(*used)  # which it has, too
                raise
            target.commit(replace)
    finally:
        drop({made, source})
    parts.forget(*used)


def _rest_of(made: str, size: int, target: IO[bytes]) -> tuple[str, list[Stretch], set[str]]:
    """Put what is here of a file there into its place. What has the rest, there; the stretches that
    this is of; and the files that something was taken from.
    """
    machine = parse(made).machine
    try:
        with Engine(machine) as engine:
            asked: bundles.ResumeParams = {"path": made}
            told = engine.call(RESUME, asked).get("pieces", ())
            pieces = [(length, digest) for length, digest in told]
            if sum(length for length, _ in pieces) == size and all(x > 0 for x, _ in pieces):
                missing, used = parts.fill(pieces, target, machine)
                rest = name(machine)
                engine.call(RESUME, {"path": made, "stretches": missing, "output": rest})
                return rest, missing, used
    except UserError as e:
        _unless_lost(e)
    return made, [(0, size)], set()


def _broke(error: BaseException) -> bool:
    """Whether it was the way that broke off, or this program: nobody has cancelled it."""
    return isinstance(error, Ended) or (isinstance(error, UserError) and error.code == "ssh-lost")


def _unless_lost(error: UserError) -> None:
    """What fails here but for the way is no reason not to carry all of a file."""
    if error.code.startswith("ssh-") or error.code == "cancelled":
        raise error


@contextlib.contextmanager
def _undone(names: Iterable[str]) -> Iterator[None]:
    """Where it fails, remove files of the private folder there; but where it breaks off, not what
    has come of them: the next time goes on with it.
    """
    try:
        yield
    except BaseException as e:
        drop(names, _broke(e))
        raise


def drop(names: Iterable[str], keeps: bool = False) -> None:
    """Remove files of the private folder there, unless the connection has ended. keeps: but not
    what has come of them.
    """
    for made in names:
        machine, _, path = made.rpartition("/")
        there = line.standing(parse(made).machine)
        if there and machine == f"{there.machine}{there.hello().folder}":
            there.forget(path, keeps)


def _put(file: str, told: Told, made: str, stretches: Sequence[Stretch]) -> None:
    """Write these stretches of a file into a new one there."""
    with failing_as("bundle-unreadable", file=file), open(file, "rb") as source:
        size = os.fstat(source.fileno()).st_size
        data = parts.blocks(source, stretches)
        write(made, _counted(data, stretches, size, told), size >= parts.LEAST)


def write(made: str, data: Iterable[bytes], keeps: bool) -> None:
    """Write a new file there. keeps: what has come of it also where it breaks off. Raises
    UserError.
    """
    machine = parse(made).machine
    channel = line.to(machine).file(made.rpartition("/")[2], writes=True, keeps=keeps)
    assert channel.stdin
    # Why it breaks is told below.
    with contextlib.suppress(BrokenPipeError), channel.stdin as target:
        target.writelines(data)
    _ended(machine, channel)


def _counted(
    data: Iterator[bytes], stretches: Sequence[Stretch], size: int, told: Told
) -> Iterator[bytes]:
    """What goes or comes of these stretches of a file; how far it is, is told."""
    done = size - sum(end - begin for begin, end in stretches)
    for block in data:
        yield block
        done += len(block)
        told(done, size)


def _take(
    made: str, stretches: Sequence[Stretch], target: IO[bytes], size: int, told: Told
) -> None:
    """Write a file there into these stretches of one here, which has this size."""
    machine = parse(made).machine
    channel = line.to(machine).file(made.rpartition("/")[2], writes=False)
    assert channel.stdout
    why = ""
    try:
        with channel.stdout as source:
            come = iter(lambda: source.read(parts.BLOCK), b"")
            parts.scatter(_counted(come, stretches, size, told), stretches, target)
    except ValueError:
        why = tr("It sends another number of bytes than it says.")
        with contextlib.suppress(subprocess.TimeoutExpired):
            channel.wait(mux.PATIENCE)
    except BaseException:
        channel.signal(signal.SIGKILL)  # else all of the rest comes, and nobody takes it
        raise
    if channel.poll() is None and why:
        channel.signal(signal.SIGKILL)
    else:
        _ended(machine, channel)
    if why:
        raise user_error("ssh-misspoken", {"machine": machine, "why": why})


def _ended(machine: str, channel: line.Channel) -> None:
    """Wait for the other end. Raises UserError where it has failed."""
    channel.wait()
    if failure := channel.failure():
        raise failure
    if channel.why == mux.READ_ONLY:
        raise user_error("not-served", {"what": IMPORT})
    if channel.returncode != 0:
        raise UserError(
            tr("A file on {machine} cannot be used.", machine=machine),
            f"{channel.why}.",
            tr("Free some room in the temporary folder there, or name another in its TMPDIR."),
            code="output-unwritable",
        )
