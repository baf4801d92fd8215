"""What is looked up without an engine, by functions that wait for disks (``Asides``)."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from PySide6.QtCore import QObject, Signal

from torchkeeper.client.kept import whole
from torchkeeper.client.words.problems import UserError, user_error

if TYPE_CHECKING:
    from torchkeeper.client.kept import runs as kept_runs
    from torchkeeper.client.kept.history import Kept, Running
    from torchkeeper.client.kept.verified import Verified
    from torchkeeper.client.signers import Key, Signer
    from torchkeeper.stores.shapes import Writer
    from torchkeeper.verdict.probed import Env


class At(NamedTuple):
    """What is at a path: "folder", "file" or "missing", or what it is offered as."""

    path: str
    what: str


class Room(NamedTuple):
    """What is at a path, and bytes of its file system; None where nobody can say."""

    what: str
    free: int | None
    total: int | None


class Revealed(NamedTuple):
    """What is at a path (``client.paths.what``), and whether a file manager shows it."""

    what: str
    shown: bool


class PastJobs(NamedTuple):
    """The jobs that have ended, and those that other processes run."""

    kept: Kept
    elsewhere: Sequence[Running]


class Keys(TypedDict):
    """The keys to sign with; why an agent's are not known, and why a named file is none."""

    keys: Sequence[Key]
    without_agent: str
    wrong: UserError | None


class Signers(TypedDict):
    """Whose signatures are trusted, whether one is required, and the file that says so."""

    signers: Sequence[Signer]
    required: bool
    file: str


class Known(TypedDict):
    """An interpreter. starts, writers: as of engines.interpreters; counts: of probes.may_count."""

    python: str
    label: str
    added: bool
    starts: bool
    facts: Env | None
    counts: bool
    writers: Sequence[Writer]


class Found(TypedDict):
    """All interpreters, the default first; which was added; why added ones are not known."""

    interpreters: Sequence[Known]
    added: str
    problem: UserError | None


_FINDING, _TRUSTING = threading.Lock(), threading.Lock()


def paths(some: Sequence[str]) -> list[At]:
    """What each is: a folder, a file or missing."""
    from torchkeeper.client.paths import what

    return [At(path, what(path)) for path in some]


def room(path: str) -> Room:
    """What is at a path, and the room of its file system."""
    from torchkeeper.client.paths import what

    try:
        said = os.statvfs(path)
    except OSError:
        return Room(what(path), None, None)
    free, total = said.f_bavail * said.f_frsize, said.f_blocks * said.f_frsize
    # A file system that has no size has no room either: nobody is told that it is full.
    return Room(what(path), free if total else None, total or None)


def revealed(path: str) -> Revealed:
    """What is at a path, which the file manager is to show."""
    from torchkeeper.client.desktop import services
    from torchkeeper.client.paths import what_at_once

    found = what_at_once(path)
    there = found not in ("missing", "silent")
    return Revealed(found, there and services.shows(path, folder=found == "folder"))


def offered(some: Sequence[str]) -> list[At]:
    """What each is offered as (``client.recipes.offered.kind``)."""
    from torchkeeper.client.recipes.offered import kind

    return [At(path, kind(path)) for path in some]


def interpreters(add: str = "", remove: str = "", machine: str = "") -> Found:
    """Which there are of a machine after an ``add`` or a ``remove``; "" is this one, of which none
    is started. Raises UserError.
    """
    from torchkeeper.client.engines import far, probes
    from torchkeeper.client.engines import interpreters as every

    if machine:
        far.python_of(machine, None)  # what waits for ssh holds up no other
    # One after the other, so that the last answer knows of all that was added.
    with _FINDING:
        python = every.add(add, machine) if add else ""
        if remove:
            every.remove(remove)
        problem = None
        try:
            mine = every.added(machine)
        except UserError as e:
            mine, problem = [], e
        rows: list[Known] = []
        for one in every.with_torch(mine, machine):
            facts, counts = None, True
            if not machine:
                with contextlib.suppress(OSError):  # it will be asked, and say what is wrong
                    facts = probes.kept(probes.identity(one.python))
                with contextlib.suppress(OSError):  # nobody knows
                    counts = probes.may_count(one)
            ours = one.python == sys.executable or machine
            writers = [] if ours else every.writers(one.python)
            rows.append(
                {"python": one.python, "label": one.label, "added": one.added,
                 "starts": one.starts, "facts": facts, "counts": counts, "writers": writers}
            )  # fmt: skip
        return {"interpreters": rows, "added": python, "problem": problem}


def runs(forget: Sequence[str] = ()) -> kept_runs.Kept:
    """The runs that are kept, after those to forget. Raises UserError."""
    from torchkeeper.client.kept import runs as every

    every.forget(forget)
    return every.kept()


def past_jobs(forget: Sequence[str] | None = ()) -> PastJobs:
    """Jobs of before, and elsewhere, without some to ``forget``, None: all. Raises UserError."""
    from torchkeeper.client.kept import history

    # First: what was cut off is in the history then.
    elsewhere = [job for job in history.found() if job.process != os.getpid()]
    if forget is None or forget:
        history.forget(forget)
    return PastJobs(history.kept(), elsewhere)


def text_saved(path: str, text: str) -> None:
    """A text is written into a file. Raises UserError("text-unwritable")."""
    try:
        whole.write_text(path, text)
    except OSError as e:
        raise user_error("text-unwritable", {"file": path, "why": e.strerror or str(e)}) from e


def mark(place: str) -> str | None:
    """What a place is like, so that a change is seen. Looks at every folder in it."""
    from torchkeeper.client.kept import verified

    return verified.mark(place)


def last_verified(places: Sequence[str]) -> dict[str, tuple[Verified, bool]]:
    """What was verified last of places, and whether the place is another since."""
    from torchkeeper.client.kept import verified

    kept = ((place, verified.last(place)) for place in places)
    return {place: (one, one.before_it_changed()) for place, one in kept if one}


def keys(file: str = "") -> Keys:
    """The keys to sign with (``client.signers``), after that of a ``file``. Raises UserError."""
    from torchkeeper.client import signers as every

    known = every.found()
    first, wrong = [], None
    try:
        first = [every.of_file(file)] if file else []
    except UserError as e:
        wrong = e
    return {"keys": [*first, *known.keys], "without_agent": known.without_agent, "wrong": wrong}


def signers(change: Callable[[], object] | None = None) -> Signers:
    """Whose signatures are trusted, whether one is required, after a change. Raises UserError."""
    from torchkeeper.client import signers as every

    with _TRUSTING:
        if change is not None:
            change()
        found, required = every.signers(), every.required()
    return {"signers": found, "required": required, "file": every.signers_file()}


def aside(work: Callable[[], object], *, sure: bool = False) -> None:
    """Do what may wait for ever, in a thread. sure: the program does not end before it is done."""
    threading.Thread(target=work, name="torchkeeper-look", daemon=not sure).start()


class Asides(QObject):
    """Requests that are answered so, in the worker's thread; a cancelled one is over at once."""

    result = Signal(int, object, object)
    failed = Signal(int, object, object)
    cancelled = Signal(int, object)
    #: A ticket, and the result, or the UserError in its stead.
    _over = Signal(int, object, object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        #: What ends each before its time.
        self._tickets: dict[int, Callable[[], object]] = {}
        self._over.connect(self._tell)

    def begin(
        self, ticket: int, work: Callable[[], object], end: Callable[[], object] = lambda: None
    ) -> None:
        """Do it, and say what came of it. work: returns the result, or raises UserError. end: has
        it end soon when it is cancelled; does not wait.
        """
        self._tickets[ticket] = end

        def run() -> None:
            found, error = None, None
            try:
                found = work()
            except UserError as e:
                error = e
            with contextlib.suppress(RuntimeError):  # the window is gone meanwhile
                self._over.emit(ticket, found, error)

        aside(run)

    def cancel(self, ticket: int) -> bool:
        """Hear no more of a request; whether it was one of these."""
        if (end := self._tickets.pop(ticket, None)) is None:
            return False
        end()
        self.cancelled.emit(ticket, [])
        return True

    def stop(self) -> None:
        for ticket in list(self._tickets):
            self.cancel(ticket)

    def _tell(self, ticket: int, found: object, error: UserError | None) -> None:
        if self._tickets.pop(ticket, None) is None:
            return
        if error is not None:
            self.failed.emit(ticket, error, [])
        else:
            self.result.emit(ticket, found, [])
