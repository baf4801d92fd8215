"""Lanes side by side: what hangs holds up no other, and a lane goes on after it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.engine.abreast import Work, abreast

#: Seconds of silence in these tests; long enough for a busy machine.
STALL = 1.5


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


def hangs(disk: threading.Event) -> Callable[[Report], str]:
    def work(report: Report) -> str:
        disk.wait()
        report.finding(late=True)
        return "late"

    return work


def codes(found: dict[str, str | Problem]) -> dict[str, str]:
    return {name: one.code if isinstance(one, Problem) else one for name, one in found.items()}


def outcomes(*lanes: list[Work[str]]) -> dict[str, str]:
    found: dict[str, str | Problem] = {}
    for name, outcome in abreast(lanes, Told(), STALL):
        found[name] = outcome
    return codes(found)


def test_what_hangs_is_stuck_and_its_lane_goes_on(disk: threading.Event) -> None:
    told = Told()
    started = time.monotonic()
    came: list[tuple[str, float]] = []
    found = {}
    lanes = [[("a", hangs(disk)), ("b", lambda _: "B")], [("c", lambda _: "C")]]
    for name, outcome in abreast(lanes, told, STALL):
        found[name] = outcome
        came.append((name, time.monotonic() - started))
    assert codes(found) == {"a": "place-stuck", "b": "B", "c": "C"}
    assert [name for name, _ in came] == ["c", "a", "b"]
    assert came[0][1] < STALL < came[1][1]
    disk.set()
    time.sleep(0.2)
    assert told.findings == [], "what was put aside says nothing any more"


def test_who_works_or_speaks_is_not_stuck() -> None:
    def speaks(report: Report) -> str:
        for _ in range(15):
            time.sleep(STALL / 8)
            report.check()
        return "spoke"

    def works(_: Report) -> str:
        end = time.thread_time() + 1.2 * STALL
        while time.thread_time() < end:
            sum(range(10_000))
        return "worked"

    assert outcomes([("s", speaks)], [("w", works)]) == {"s": "spoke", "w": "worked"}


def test_a_problem_is_an_outcome_and_a_bug_is_raised() -> None:
    def gone(_: Report) -> str:
        raise Problem("place-missing", place="/x")

    def bug(_: Report) -> str:
        raise ZeroDivisionError

    assert outcomes([("a", gone), ("b", lambda _: "B")]) == {"a": "place-missing", "b": "B"}
    with pytest.raises(ZeroDivisionError):
        list(abreast([[("a", bug)]], Told()))


def test_a_cancel_does_not_wait_for_what_hangs(disk: threading.Event) -> None:
    told = Told()
    threading.Timer(0.3, told.cancelled.set).start()
    started = time.monotonic()
    with pytest.raises(Cancelled):
        list(abreast([[("a", hangs(disk))]], told, 60))
    assert time.monotonic() - started < 3
