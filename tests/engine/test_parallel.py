"""Lanes side by side: what hangs holds up no other, and a lane goes on after it."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.pace import LONG
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.engine.overviewing import Work, in_parallel

#: Seconds of silence in these tests, on a clock of their own: no machine is too busy for them.
STALL = 10.0


class Clock:
    """What the module has for ``time``: it goes on where a test says so. What a thread takes of a
    processor is real.
    """

    def __init__(self) -> None:
        self.now = 1000.0
        self.pthread_getcpuclockid = time.pthread_getcpuclockid
        self.clock_gettime = time.clock_gettime

    def monotonic(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(importlib.import_module("torchkeeper.engine.overviewing"), "time", made)
    return made


class Told(Report):
    """Keeps what it is told, and asks for an end when it is to."""

    def __init__(self) -> None:
        self.findings: list[Any] = []
        self.cancelled = threading.Event()

    def finding(self, **what: Any) -> None:
        self.findings.append(what)

    def check(self) -> None:
        if self.cancelled.is_set():
            raise Cancelled


@pytest.fixture
def disk() -> Iterator[threading.Event]:
    """What a thread waits for that hangs; it answers when the test is over."""
    answers = threading.Event()
    yield answers
    answers.set()


def codes(found: dict[str, str | Problem]) -> dict[str, str]:
    return {name: one.code if isinstance(one, Problem) else one for name, one in found.items()}


def outcomes(*lanes: list[Work[str]]) -> dict[str, str]:
    found: dict[str, str | Problem] = {}
    for name, outcome in in_parallel(lanes, Told(), STALL):
        found[name] = outcome
    return codes(found)


def test_what_hangs_is_stuck_and_its_lane_goes_on(disk: threading.Event, clock: Clock) -> None:
    told = Told()
    ended = threading.Event()

    def hangs(report: Report) -> str:
        disk.wait()
        try:
            report.finding(late=True)
        finally:
            ended.set()
        return "late"

    found: dict[str, str | Problem] = {}
    lanes: list[list[Work[str]]] = [[("a", hangs), ("b", lambda _: "B")], [("c", lambda _: "C")]]
    for name, outcome in in_parallel(lanes, told, STALL):
        found[name] = outcome
        if name == "c":
            clock.now += STALL
    assert list(found) == ["c", "a", "b"]
    assert codes(found) == {"a": "place-stuck", "b": "B", "c": "C"}
    disk.set()
    assert ended.wait(LONG)
    assert told.findings == [], "what was put aside says nothing any more"


def test_who_speaks_is_not_stuck(clock: Clock) -> None:
    def speaks(report: Report) -> str:
        for _turn in range(15):
            clock.now += 0.7 * STALL
            report.check()
        return "spoke"

    assert outcomes([("s", speaks)]) == {"s": "spoke"}


def test_who_works_is_not_stuck(clock: Clock) -> None:
    def works(_: Report) -> str:
        for _turn in range(4):
            end = time.thread_time() + 0.25
            while time.thread_time() < end:
                sum(range(10_000))
            clock.now += 0.7 * STALL
        return "worked"

    assert outcomes([("w", works)]) == {"w": "worked"}


def test_a_problem_is_an_outcome_and_a_bug_is_raised() -> None:
    def gone(_: Report) -> str:
        raise Problem("place-missing", place="/x")

    def bug(_: Report) -> str:
        raise ZeroDivisionError

    assert outcomes([("a", gone), ("b", lambda _: "B")]) == {"a": "place-missing", "b": "B"}
    with pytest.raises(ZeroDivisionError):
        list(in_parallel([[("a", bug)]], Told()))


def test_a_cancel_does_not_wait_for_what_hangs(disk: threading.Event) -> None:
    told = Told()

    def hangs(_: Report) -> str:
        told.cancelled.set()
        disk.wait()
        return "late"

    lanes: list[list[Work[str]]] = [[("a", hangs)]]
    with pytest.raises(Cancelled):
        list(in_parallel(lanes, told))
    assert not disk.is_set()
