"""What ssh asks on its way to the machines of a fleet: whoever wants the fleet hears it as a
finding, and answers beside its requests (``engine.answers``).
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchkeeper.artifacts.report import Report
from torchkeeper.client.engines import far, line
from torchkeeper.client.engines.questions import WANTS, Asking, Question
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import answers
from torchkeeper.placing import targets
from torchkeeper.stores.ssh import SCHEME

if TYPE_CHECKING:
    from torchkeeper.engine.messages.fleet import NodesParams

#: Connections that are sought at the same time, and seconds between two looks whether to stop.
_AT_ONCE, _TURN = 32, 0.1


class _Asks:
    """Tells of questions. Who was asked once and gave no answer is not asked about that machine
    again.
    """

    def __init__(self, report: Report) -> None:
        self._report, self._lock = report, threading.Lock()
        self._askers = dict[object, int]()
        self._numbers = itertools.count(1)
        self._refused = set[str]()

    def __call__(self, question: Question) -> None:
        with self._lock:
            if (asker := self._askers.get(question.by)) is None:
                asker = self._askers[question.by] = next(self._numbers)
        if not question.text:
            answers.forget(asker)
        elif question.about in self._refused:
            return question.answer(None)

        def take(text: str | None) -> None:
            if text is None:
                self._refused.add(question.about)
            question.answer(text)

        if question.text:
            answers.expect(asker, take)
        told = {"about": question.about, "kind": question.kind, "text": question.text}
        with contextlib.suppress(BrokenPipeError):  # nobody is there who would hear it
            self._report.finding(question={"asker": asker, "again": question.again, **told})
        return None


@contextlib.contextmanager
def answered(params: NodesParams, into: str, report: Report) -> Iterator[None]:
    """Have a connection to each machine of the targets, and to that of the place, as far as there
    is a way; whoever wants that is asked what ssh wants to know, then and as long as this goes on.
    Raises UserError for what is no target, and Cancelled.
    """
    if not params.get("asks"):
        yield
        return
    named = [one for name in params.get("on") or () for one in targets.machines(name)]
    machines = [one for one in [*named, far.machine_of(into or None)] if one.startswith(SCHEME)]
    Asking.by = _Asks(report)
    try:
        some = list(dict.fromkeys(machines))
        for start in range(0, len(some), _AT_ONCE):
            _reach(some[start : start + _AT_ONCE], report)
        yield
    finally:
        Asking.by = None


def _reach(machines: Sequence[str], report: Report) -> None:
    """Seek all at once without a question; then those that have one, one after the other: a machine
    does not wait long for an answer, and nobody answers many at once.
    """
    ways = dict[str, line.Line]()
    try:
        for machine in machines:
            with contextlib.suppress(UserError):  # its node says what is wrong
                ways[machine] = line.to(machine, silent=True)
        for way in ways.values():
            _wait(way, report)
        for machine, way in list(ways.items()):
            if way.failure and way.failure.code in WANTS:
                with contextlib.suppress(UserError):
                    ways[machine] = line.to(machine)
                    _wait(ways[machine], report)
    except BaseException:
        for way in ways.values():
            way.hang_up()
        raise


def _wait(way: line.Line, report: Report) -> None:
    """Until it is known what comes of a way. Raises Cancelled."""
    while not way.answers(_TURN):
        report.check()
