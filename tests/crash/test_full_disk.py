"""On a disk that is full or fails, an operation ends with a message, and all is as it was."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.crash.cases import Case
from tests.crash.faulty import FULL
from tests.crash.stage import Stage, spread
from tests.crash.test_kill import each

FEW = 8
#: What says that there is no room; a purge says it of its trash.
SAYS = {"disk-full", "trash-full", "output-unwritable"}


@each
@pytest.mark.parametrize("most", [FEW, pytest.param(10**6, marks=pytest.mark.slow)])
def test_a_full_disk(case: Case, most: int, stage: Stage) -> None:
    known = stage.known(case)
    ends: Counter[str] = Counter()
    wrong = []
    for call in spread(known.calls, most):
        stage.box.fresh(case.before)
        outcome = stage.run(case, FULL, call.number)
        now = stage.state(case)
        try:
            if outcome.problem is None:
                # What is only removed or moved needs no room.
                assert outcome.left == []
                assert now == known.after, stage.nearest(now, known)
            else:
                assert outcome.problem in SAYS, outcome.problem
                assert now == known.before, stage.nearest(now, known)
            stage.again(case)
        except AssertionError as e:
            wrong.append(f"full at {stage.told(call)}:\n{str(e)[:2000]}")
        ends[outcome.problem or "done"] += 1
    print(f"\n{case.name}: {ends.total()} of {len(known.calls)} points, {dict(ends)}", end="")
    assert not wrong, f"{len(wrong)} points\n" + "\n\n".join(wrong[:3])
