"""Asking the doctor: what an interpreter can do, then what is wrong. Nothing here waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, Signal

from torchkeeper.client import diagnosing
from torchkeeper.client.diagnosing import Told
from torchkeeper.client.words import checkwords
from torchkeeper.client.words.findingwords import said
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Listener

if TYPE_CHECKING:
    from torchkeeper.doctor.shapes import Toolchain
    from torchkeeper.engine.messages.doctor import DiagnoseParams, DiagnoseResult
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.verdict.probed import Env


class Asked(NamedTuple):
    """What is to be looked at. facts: as a probe tells, empty where there is no torch. machine:
    whether the user's other caches are looked at, too. reads: folders that other environments use.
    variables: names of all that are set there.
    """

    python: str
    facts: Env
    values: Mapping[str, str]
    places: tuple[str, ...]
    machine: bool
    reads: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


class Diagnosis(QObject):
    """One look at places and the machine, and looks at single findings afterwards."""

    #: More is found, or it is further, or over.
    changed = Signal()

    def __init__(self, engines: Engines, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engines = engines
        self.asked: Asked | None = None
        self.found: list[Told] = []
        #: What it came to, as ``diagnose`` answers; None until it has come to its end.
        self.result: DiagnoseResult | None = None
        #: When it had come to its end.
        self.at = 0.0
        self.error: UserError | None = None
        #: What the engine has written of it, for whoever reports a mistake of ours.
        self.log: list[str] = []
        #: Why it is not known what the interpreter can do.
        self.untried: UserError | None = None
        self.cancelled = False
        #: How many checks are made, and of how many; None while the interpreter is tried.
        self.progress: tuple[int, int] | None = None
        #: Seconds that the last look took, without trying what the interpreter can do.
        self.took = self._began = 0.0
        #: When each finding was last seen, by what it is about.
        self._seen: dict[tuple[object, ...], float] = {}
        self._request: DiagnoseParams = {"places": []}
        self._ticket: int | None = None
        self._again: int | None = None

    @property
    def running(self) -> bool:
        """Whether it is still being looked."""
        return self._ticket is not None

    @property
    def busy(self) -> bool:
        """Whether something is being looked at."""
        return self.running or self._again is not None

    def seen(self, one: Told) -> float:
        """When a finding was last seen, in seconds since the epoch."""
        return self._seen.get((one.check, *diagnosing.subject(one.finding)), self.at)

    def look_anew(self) -> None:
        """Have all checks made again, while what was found stays to be seen: what is so no more
        goes, and what has come appears. What the interpreter can do is not tried again.
        """
        if self.busy or self.result is None:
            return
        heard: list[Told] = []
        began = time.time()

        def over(result: DiagnoseResult) -> None:
            self._again, self.result, self.at = None, result, time.time()
            self.took = self.at - began
            self._note(heard)
            self.found = diagnosing.in_order(heard)
            self.changed.emit()

        def failed(error: UserError) -> None:
            self._again, self.error = None, error
            self.changed.emit()

        listener = Listener(findings=lambda some: _take(some, heard), result=over, failed=failed)
        self._again = self._engines.ask(protocol.DIAGNOSE, self._request, listener)

    def _note(self, some: Sequence[Told]) -> None:
        now = time.time()
        self._seen |= {(one.check, *diagnosing.subject(one.finding)): now for one in some}

    def begin(self, asked: Asked) -> None:
        """Look, whatever was found before."""
        self.close()
        self.asked, self.found, self.result, self.progress = asked, [], None, None
        self.error = self.untried = None
        self.cancelled = False

        def not_tried(error: UserError) -> None:
            self.untried = error
            self._diagnose({})

        if asked.facts.get("torch"):
            self._try(asked.python, self._diagnose, not_tried)
        else:
            self._diagnose({})
        self.changed.emit()

    def cancel(self) -> None:
        """Look no further; what was found stays."""
        if self.running:
            self._engines.forget(self._ticket)
            self._ticket, self.cancelled = None, True
            self.changed.emit()

    def close(self) -> None:
        """Ask no more."""
        for ticket in (self._ticket, self._again):
            self._engines.forget(ticket)
        self._ticket = self._again = None

    def look_again(
        self, one: Told, then: Callable[[bool], object], *, prepared: bool = False
    ) -> None:
        """Have the check of a finding made again; ``then`` is told whether the finding is gone.
        prepared: what the interpreter can do is another since.
        """
        if prepared and self.asked is not None:

            def tried(toolchain: Toolchain) -> None:
                self._request["toolchain"] = toolchain
                self.look_again(one, then)

            self._again = self._try(self.asked.python, tried, lambda _: self.look_again(one, then))
            return
        self._engines.forget(self._again)  # a look at all that began before it was mended
        params = diagnosing.again(self._request, one)
        heard: list[Told] = []

        def over(_: DiagnoseResult) -> None:
            self._again = None
            places = set(params["places"])
            kept = [
                other for other in self.found
                if other.check != one.check
                or (other.finding.place in self._request["places"]
                    and other.finding.place not in places)
            ]  # fmt: skip
            self._note(heard)
            self.found = diagnosing.in_order([*kept, *heard])
            self.changed.emit()
            then(not any(diagnosing.same(one, other) for other in heard))

        def failed(error: UserError) -> None:
            self._again, self.error = None, error
            self.changed.emit()
            then(False)

        listener = Listener(findings=lambda some: _take(some, heard), result=over, failed=failed)
        self._again = self._engines.ask(protocol.DIAGNOSE, params, listener)

    def _try(
        self, python: str, then: Callable[[Toolchain], None], failed: Callable[[UserError], None]
    ) -> int:
        listener = Listener(result=then, failed=failed)
        ticket = self._engines.ask(protocol.TOOLCHAIN, {}, listener, python=python)
        self._ticket = ticket if self.result is None else self._ticket
        return ticket

    def _diagnose(self, toolchain: Toolchain) -> None:
        asked = self.asked
        assert asked is not None
        self._request = diagnosing.request(
            asked.places,
            asked.facts,
            asked.values,
            toolchain,
            asked.reads,
            asked.machine,
            asked.variables,
        )
        listener = Listener(
            findings=self._heard, progress=self._progress, result=self._over, failed=self._failed,
            log=self._keep_log,
        )  # fmt: skip
        self._began = time.time()
        self._ticket = self._engines.ask(protocol.DIAGNOSE, self._request, listener)

    def _keep_log(self, lines: list[str]) -> None:
        self.log = lines

    def _heard(self, some: Sequence[Finding]) -> None:
        heard: list[Told] = []
        _take(some, heard)
        self._note(heard)
        self.found = diagnosing.in_order([*self.found, *heard])
        self.changed.emit()

    def _progress(self, done: float, total: float | None, unit: str) -> None:
        if unit == "checks" and total:
            self.progress = int(done), int(total)
            self.changed.emit()

    def _over(self, result: DiagnoseResult) -> None:
        self._ticket, self.result, self.at = None, result, time.time()
        self.took = self.at - self._began
        self.changed.emit()

    def _failed(self, error: UserError) -> None:
        self._ticket, self.error = None, error
        self.changed.emit()


def _take(some: Sequence[Finding], into: list[Told]) -> None:
    into += [one for what in some if (one := diagnosing.told(what)) is not None]


# What the doctor found as a text that can be handed on; no password is in it.


def text(diagnosis: Diagnosis) -> str:
    """The whole of it. It must have come to its end."""
    return "\n".join(_lines(diagnosis)) + "\n"


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    asked, result = diagnosis.asked, diagnosis.result or diagnosing.NOTHING
    assert asked is not None
    if asked.python:
        torch = asked.facts.get("torch")
        yield f"Interpreter: {printable(asked.python)}" + (f", torch {torch}" if torch else "")
    for place in asked.places:
        yield f"Place: {printable(place, 4096)}"
    yield diagnosing.summary(diagnosis.found, result)
    for one in diagnosis.found:
        told = said(one.finding)
        yield ""
        yield f"{one.finding.severity}: {told.what}"
        for part in (told.why, told.remedy):
            yield from (f"    {line}" for line in part.splitlines() if line)
        place = f" of {printable(one.finding.place, 4096)}" if one.finding.place else ""
        yield f"    Check: {checkwords.name(one.check)}{place}"
    if left := diagnosing.left_of(result):
        yield ""
    for check, place, why in left:
        where = f" of {printable(place, 4096)}" if place else ""
        yield f"not checked: {checkwords.name(check)}{where}: {why.what} {why.why}".rstrip()
    if diagnosis.result is not None:
        yield ""
        yield f"Checked: {checkwords.listed(result['checks'])}."
