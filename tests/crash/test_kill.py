"""Killed at any change of the disk, an operation is done or not done when its place is opened."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.crash.cases import CASES, Case
from tests.crash.stage import Stage, spread

#: How many points of each operation the normal run takes.
FEW = 14

each = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@each
@pytest.mark.parametrize("most", [FEW, pytest.param(10**6, marks=pytest.mark.slow)])
def test_it_is_done_or_not_done(case: Case, most: int, stage: Stage) -> None:
    calls = stage.known(case).calls
    ends: Counter[str] = Counter()
    wrong = []
    for number, call in enumerate(spread(calls, most)):
        stage.killed(case, call.number)
        try:
            ends[stage.recovered(case, again=most > FEW or number % 4 == 1)] += 1
        except AssertionError as e:
            wrong.append(f"killed at {stage.told(call)}:\n{str(e)[:2000]}")
    print(f"\n{case.name}: {ends.total()} of {len(calls)} points, {dict(ends)}", end="")
    assert not wrong, f"{len(wrong)} points\n" + "\n\n".join(wrong[:3])
