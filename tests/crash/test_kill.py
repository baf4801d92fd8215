"""Killed at any change of the disk, an operation is done or not done when its place is opened."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.crash.cases import CASES, Case, each
from tests.crash.faulty import COUNT, FIRST, FORKED, KILL, TORN
from tests.crash.power import WRITTEN
from tests.crash.stage import Stage, spread
from torchkeeper.artifacts.layout import TRASH

#: How many points of each operation the normal run takes.
FEW = 6
RECOVERED = [case for case in CASES if not case.free]
every = each(CASES)


@every
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


def test_these_are_enough(stage: Stage) -> None:
    assert sum(len(list(spread(stage.known(case).calls, FEW))) for case in CASES) >= 100


@every
def test_no_change_is_overlooked(case: Case, stage: Stage) -> None:
    known, watched = stage.known(case), str(stage.path(case.watched))
    seen = {path for call in known.calls for path in (call.path, call.other)}
    # What is in a folder moves with it; a new name in one makes its time another.
    renamed = [call for call in known.calls if call.name.startswith("rename")]
    moved = tuple(f"{path}/" for call in renamed for path in (call.path, call.other))
    above = {str(folder) for path in seen for folder in Path(path).parents}
    changed = known.before.items() ^ known.after.items()
    for path in {f"{watched}/{path}" for path, _ in changed if not path.startswith(TRASH)}:
        assert path in seen | above or path.startswith(moved), path


@every
@pytest.mark.slow
def test_a_write_that_is_torn(case: Case, stage: Stage) -> None:
    writes = [call for call in stage.known(case).calls if call.name in WRITTEN]
    wrong = []
    for call in writes:
        stage.killed(case, call.number, TORN)
        try:
            stage.recovered(case, again=False)
        except AssertionError as e:
            wrong.append(f"torn at {stage.told(call)}:\n{str(e)[:2000]}")
    print(f"\n{case.name}: {len(writes)} torn writes", end="")
    assert not wrong, f"{len(wrong)} points\n" + "\n\n".join(wrong[:3])


@each(RECOVERED)
@pytest.mark.parametrize("most", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_the_recovery_is_killed_too(case: Case, most: int, stage: Stage) -> None:
    calls = stage.known(case).calls
    points, wrong = 0, []
    for call in spread(calls[len(calls) // 2 :] if most == 1 else calls, most):
        at = 1
        while True:
            stage.killed(case, call.number)
            if not stage.reopen(case, KILL, at).killed:
                break
            points += 1
            try:
                stage.recovered(case, again=False)
            except AssertionError as e:
                wrong.append(f"killed at {stage.told(call)}, then at {at}:\n{str(e)[:2000]}")
            at += 1 if most > 1 else 9
    print(f"\n{case.name}: {points} kills of the recovery", end="")
    assert not wrong, f"{len(wrong)} points\n" + "\n\n".join(wrong[:3])


BY_TWO = [case for case in CASES if "kernels" in case.params]


@pytest.mark.parametrize("case", BY_TWO, ids=lambda case: case.name)
@pytest.mark.parametrize("most", [FEW, pytest.param(10**6, marks=pytest.mark.slow)])
def test_of_two_the_first_dies(case: Case, most: int, stage: Stage) -> None:
    ends: Counter[str] = Counter()
    for call in spread(stage.known(case).calls, most):
        stage.killed(case, call.number, KILL | FIRST)
        ends[stage.recovered(case)] += 1
    assert ends["before"] and ends["after"]


@pytest.mark.parametrize("case", BY_TWO, ids=lambda case: case.name)
def test_of_two_the_second_dies(case: Case, stage: Stage) -> None:
    known = stage.known(case)
    stage.box.fresh(case.before)
    counted = [call for call in stage.run(case, COUNT | FORKED).calls if call.number]
    assert counted, "nothing is done by a second one"
    for call in counted:
        stage.box.fresh(case.before)
        outcome = stage.run(case, KILL | FORKED, call.number)
        assert (outcome.killed, outcome.problem, outcome.left) == (False, None, [])
        assert stage.state(case) == known.after, stage.told(call)
        assert stage.undo(case).left == []
        assert stage.state(case) == known.before, stage.told(call)
