"""The rate and the time left: what is said is what a steady, a slowing and a stalled job do."""

from __future__ import annotations

import pytest

from torchkeeper.client.words.pace import Pace, coarse


def run(
    pace: Pace, rate: float, start: float, seconds: float, total: float, done: float = 0
) -> float:
    """Add samples at a steady rate; returns how much is done at the end."""
    steps = round(seconds / 0.05)
    for step in range(steps + 1):
        pace.add(start + step * 0.05, done + rate * step * 0.05, total)
    return done + rate * seconds


def test_nothing_is_said_at_first() -> None:
    pace = Pace()
    assert pace.rate(0) is pace.left(0) is None
    run(pace, 100, 10, 0.3, 1000)
    assert pace.rate(10.3) is pace.left(10.3) is None


def test_a_steady_rate_is_told_as_it_is() -> None:
    pace = Pace()
    run(pace, 40e6, 5, 2, 200e6)
    assert pace.rate(7) == pytest.approx(40e6, rel=0.01)
    assert pace.left(7) == pytest.approx(3.0, abs=0.15)


def test_a_change_is_followed_but_smoothly() -> None:
    pace = Pace()
    done = run(pace, 100, 0, 3, 10_000)
    run(pace, 10, 3, 0.5, 10_000, done)
    soon = pace.rate(3.5)
    assert soon is not None
    assert 60 < soon < 100
    run(pace, 10, 3.5, 12, 10_000, done + 5)
    late = pace.rate(15.5)
    assert late == pytest.approx(10, rel=0.25)


def test_a_stall_is_not_passed_over() -> None:
    pace = Pace()
    run(pace, 100, 0, 2, 1000)
    before, during = pace.left(2.0), pace.left(8.0)
    assert before is not None
    assert during is not None
    assert during > 3 * before
    assert pace.left(2000.0) is None


def test_another_phase_begins_anew() -> None:
    pace = Pace()
    run(pace, 100, 0, 2, 1000)
    pace.add(2.1, 0, 50)
    assert pace.rate(2.1) is None
    run(pace, 10, 2.1, 2, 50)
    assert pace.rate(4.1) == pytest.approx(10, rel=0.05)


def test_without_a_total_there_is_a_rate_only() -> None:
    pace = Pace()
    for step in range(40):
        pace.add(step * 0.1, step * 5.0, None)
    assert pace.rate(3.9) == pytest.approx(50, rel=0.05)
    assert pace.left(3.9) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "1 s"), (0.4, "1 s"), (2.4, "2 s"), (9.4, "9 s"), (9.6, "10 s"), (27, "25 s"),
     (57.4, "55 s"), (58, "1 min"), (170, "3 min"), (3560, "59 min"), (3600, "1 h"),
     (4200, "1 h 10 min"), (7200, "2 h")],
)  # fmt: skip
def test_no_finer_than_anybody_can_know(seconds: float, text: str) -> None:
    assert coarse(seconds) == text
