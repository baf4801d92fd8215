"""Where operations are killed, and what must be true when the place is opened again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash import operations
from tests.crash.boxes import Box
from tests.crash.cases import DAMAGED, MENDED, PATHS, Case
from tests.crash.faulty import COUNT, KILL, PLAIN, Call, Driver, Outcome
from tests.crash.oracle import State, differences, files_of, furnished, is_list, state
from torchkeeper.artifacts.layout import JOURNAL
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.describe import describe
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.reader import Reader


@dataclass
class Known:
    """An operation without a fault: the states before and after, its changes of the disk, and the
    files of each entry that was there before or after.
    """

    before: State
    after: State
    calls: list[Call]
    parts: list[list[str]]


@dataclass
class Stage:
    """A box, a driver and sources."""

    sources: Path
    box: Box
    driver: Driver
    digest: str
    _known: dict[str, Known] = field(default_factory=dict)

    def known(self, case: Case) -> Known:
        """The case without a fault."""
        if case.name not in self._known:
            self.box.fresh(case.before)
            before = self.state(case)
            parts = self._parts(case)
            sound = [] if case.before in DAMAGED else self.broken(case)
            # To look at folders gives them another time of access, and whether that is the one
            # that they had decides whether it is set: all runs begin with what nobody looked at.
            self.box.holds = ""
            self.box.fresh(case.before)
            outcome = self.run(case)
            assert outcome.problem is None, outcome
            assert outcome.left == []
            after = self.state(case)
            broken = self.broken(case)
            assert (sound, bool(broken)) == ([], case.before in MENDED), [*sound, *broken]
            assert after != before
            # Before what fails nothing is other than before what follows.
            calls = [call for call in outcome.calls if call.well]
            self._known[case.name] = Known(before, after, calls, [*parts, *self._parts(case)])
        return self._known[case.name]

    def path(self, name: str) -> Path:
        """What a case calls by a name: ``box/…`` or ``sources/…``."""
        where, _, rest = name.partition("/")
        return (self.box.root if where == "box" else self.sources) / rest

    def state(self, case: Case, strict: bool = True) -> State:
        """What is in the watched folder; less strictly, without what may lie there a while."""
        return state(self.path(case.watched), case.moves, strict)

    def _parts(self, case: Case) -> list[list[str]]:
        place = self.path(case.watched)
        if case.free or not place.exists():
            return []
        items = Folder(str(place)).items(Report())
        return [[file.path for file in item.files if not is_list(file.path)] for item in items]

    def broken(self, case: Case) -> list[str]:
        """What a listing calls broken."""
        place = self.path(case.watched)
        if case.free or not place.exists():
            return []
        folder = Folder(str(place))
        with Reader() as reader:
            batches = describe(folder.items(Report()), folder, reader, Report())
            return [str(one.entry) for batch in batches for one in batch if one.entry.problem]

    def run(self, case: Case, mode: int = COUNT, at: int = 0) -> Outcome:
        """The operation of a case, on what is in the box."""
        params = {
            name: str(self.path(value)) if name in PATHS else value
            for name, value in case.params.items()
        }
        if "digest" in params:
            params["digest"] = self.digest
        self.box.holds = ""
        return self.driver.run(case.operation, params, mode | (PLAIN if case.plain else 0), at)

    def look(self, case: Case) -> Outcome:
        """Open the place again, as the next start does."""
        return self.driver.run("look", {"place": str(self.path(case.watched))})

    def reopen(self, case: Case, mode: int = COUNT, at: int = 0) -> Outcome:
        """Bring what was cut off to its end, and open the place."""
        self.box.holds = ""
        return self.driver.run("recover", {"place": str(self.path(case.watched))}, mode, at)

    def undo(self, case: Case) -> Outcome:
        """Put the last purge back."""
        self.box.holds = ""
        return self.driver.run("undo", {"place": str(self.path(case.watched))})

    def killed(self, case: Case, at: int, mode: int = KILL) -> Outcome:
        """The operation killed at a change, in a fresh box."""
        self.box.fresh(case.before)
        outcome = self.run(case, mode, at)
        assert outcome.killed
        return outcome

    def recovered(self, case: Case, again: bool = True, power: bool = True) -> str:
        """Bring what was killed to its end, once; whether the place is as "before" or as "after".

        What is there must be one of the two to the byte, and said. With ``again``, the operation
        must do what is left then, and what lies in the trash must come back as it was. Where the
        ``power`` was cut, a folder may be left in which nothing is: who made it is not known then.
        """
        known = self.known(case)
        told = [] if case.free else self._reopened(case)
        now = self.state(case, strict=not case.free)
        if not power:
            now = furnished(now, known.before)
        which = "before" if now == known.before else "after"
        assert now in (known.before, known.after), f"{told} {self.nearest(now, known)}"
        assert not told or (told[-1]["outcome"] == "completed") == (which == "after"), told
        if which == "before" and power:
            self.box.holds = case.before
        if not (again or case.free):
            return which
        if which == "after" and case.operation == "purge" and not case.params.get("now"):
            self._undone(case)
        elif which == "before" or case.operation in ("import", "copy", "export", "sign"):
            self.again(case)
        return which

    def _reopened(self, case: Case) -> list[dict[str, Any]]:
        """What is told when it is brought to its end: something, if anything was done. Whoever
        looked before that has changed nothing.
        """
        if self.path(case.watched).exists():
            looked = self.look(case)
            assert not looked.calls, looked.calls
            assert all("cut_off" in one for one in looked.findings), looked.findings
        outcome = self.reopen(case)
        # A folder that an import had made goes with it.
        gone = not self.path(case.watched).exists()
        assert outcome.problem == ("place-missing" if gone and outcome.calls else None), outcome
        told = [one["recovered"] for one in outcome.findings if "recovered" in one]
        if not told:
            done = [call for call in outcome.calls if call.well and not is_of_journal(call)]
            assert not done, f"not told: {done}"
        return told

    def again(self, case: Case) -> None:
        """The operation once more, without a fault."""
        there = case.params.get("replace", True) or self.state(case, strict=False) == {}
        outcome = self.run(case)
        assert (outcome.problem, outcome.left) == (None if there else "output-exists", [])
        now = self.state(case)
        assert now == self.known(case).after, differences(now, self.known(case).after)

    def whole(self, case: Case, now: State) -> None:
        """Of what was moved or removed in part, each entry is where it was or where it should be,
        with all its files, and none is lost that should not be.
        """
        known = self.known(case)
        if case.operation == "empty":
            assert files_of(now) <= files_of(known.before)
            return
        if case.params.get("now"):
            assert files_of(now) <= files_of(known.before)
        else:
            assert files_of(now) == files_of(known.before)
        # What gave way for an import is back when all that came with it is gone.
        before = known.before.keys()
        gave_way = before & {"/".join(x.split("/")[3:]) for x in before if "/files/" in x}
        for part in known.parts:
            there = [path for path in part if path in now]
            # Of what had half of it before an import, half of it is there once that is undone.
            came = {path for path in part if path not in known.after}
            gone = {*part} - {*there} - gave_way
            half = len(came) < len(part) and gone == came - gave_way
            assert not there or not gone or half, f"only {there} of {part}"

    def nearest(self, now: State, known: Known) -> str:
        """What is wrong, as compared to what it is most like."""
        states = {"before": known.before, "after": known.after}
        which = min(states, key=lambda name: len(now.items() ^ states[name].items()))
        return f"almost as {which}:\n{differences(now, states[which])}"

    def told(self, call: Call) -> str:
        """A call for people."""
        paths = [path.removeprefix(f"{self.box.root}/") for path in (call.path, call.other)]
        return " ".join([str(call.number), call.name, *paths])

    def _undone(self, case: Case) -> None:
        known = self.known(case)
        outcome = self.undo(case)
        assert outcome.left == []
        now = self.state(case)
        assert now == known.before, differences(now, known.before)


def is_of_journal(call: Call) -> bool:
    """Whether a change is one of the journal alone, which is there before anything is done."""
    return JOURNAL in call.path or call.name in ("fsync", "utimensat")


def spread(calls: list[Call], most: int) -> Iterator[Call]:
    """All calls, or about so many, evenly, the first and the last too; of one, that in the middle.

    Of writes to one file in a row the first is enough, where not all are wanted.
    """
    if len(calls) > most:
        before = [("", ""), *((call.name, call.path) for call in calls)]
        rows = zip(calls, before[:-1], strict=True)
        calls = [call for call, last in rows if (call.name, call.path) != last]
    if most == 1:
        yield calls[len(calls) // 2]
    elif len(calls) <= most:
        yield from calls
    else:
        for number in range(most):
            yield calls[number * (len(calls) - 1) // (most - 1)]


def chosen_of(source: Path) -> tuple[Folder, list[Any]]:
    """What a source holds that a bundle can hold."""
    folder, ones = operations.chosen(str(source))
    return folder, [one for one in ones if one.entry.kind not in ("lock", "unknown", "ondisk")]
