"""On a disk that is full or fails, an operation ends with a message, and all is as it was."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.crash.cases import Case
from tests.crash.faulty import FAIL, FULL, Outcome
from tests.crash.oracle import State, furnished, outside, untimed
from tests.crash.stage import Stage, spread
from tests.crash.test_kill import every
from torchkeeper.artifacts.layout import JOURNAL

FEW = 4
#: What says that there is no room; a purge says it of its trash.
FULL_SAYS = {"disk-full", "trash-full", "output-full", "undo-full"}
#: What says that something cannot be written or removed.
SAYS = {"place-unwritable", "output-unwritable", "trash-unremovable"}


def _check(stage: Stage, case: Case, outcome: Outcome, now: State) -> None:
    known = stage.known(case)
    if outcome.problem == "undo-full" or outcome.left:
        # What there was room for is done, by whole entries, and the rest when there is some.
        assert case.operation == "undo" or case.params.get("now")
        stage.whole(case, now)
        stage.again(case)
    elif outcome.problem is not None:
        assert outcome.problem in FULL_SAYS, outcome.problem
        if now != known.before:
            # What cannot be taken back without room is, when there is some.
            assert any(path.startswith(JOURNAL) for path in now), stage.nearest(now, known)
            # An undo is brought to its end instead; but one of an import is put back as a purge is,
            # until all that came with it has moved.
            undone = case.operation == "undo" and outcome.problem != "trash-full"
            assert stage.recovered(case, again=False) == ("after" if undone else "before")
            if undone:
                return
        stage.again(case)
    else:
        # What is only removed or moved needs no room.
        assert now == known.after, stage.nearest(now, known)


@every
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
            _check(stage, case, outcome, now)
        except AssertionError as e:
            wrong.append(f"full at {stage.told(call)}:\n{str(e)[:2000]}")
        ends[outcome.problem or "done"] += 1
    print(f"\n{case.name}: {ends.total()} of {len(known.calls)} points, {dict(ends)}", end="")
    assert not wrong, f"{len(wrong)} points\n" + "\n\n".join(wrong[:3])


@every
@pytest.mark.parametrize("most", [FEW, pytest.param(10**6, marks=pytest.mark.slow)])
def test_an_error_of_the_disk(case: Case, most: int, stage: Stage) -> None:
    known = stage.known(case)
    ends: Counter[str] = Counter()
    wrong = []
    for call in spread(known.calls, most):
        stage.box.fresh(case.before)
        outcome = stage.run(case, FAIL, call.number)
        stage.reopen(case)
        now = stage.state(case, strict=False)
        try:
            assert outcome.problem in {None, *SAYS}, outcome.problem
            ends[outcome.problem or "done"] += 1
            # An empty folder that could not be removed stays.
            now = next((w for w in (known.before, known.after) if furnished(now, w) == w), now)
            if now not in (known.before, known.after):
                assert case.moves, stage.nearest(now, known)
                stage.whole(case, now)
            if outcome.problem is None and not outcome.left:
                # A second name of what is back may be in the trash, until that is emptied; and
                # a folder that could not be renamed there was made there.
                same = outside if case.operation == "undo" else untimed
                assert same(now) == same(known.after)
        except AssertionError as e:
            wrong.append(f"fails at {stage.told(call)}:\n{str(e)[:2000]}")
    print(f"\n{case.name}: {ends.total()} of {len(known.calls)} errors, {dict(ends)}", end="")
    assert not wrong, f"{len(wrong)} points\n" + "\n\n".join(wrong[:3])
