"""After a power cut, an operation is done or not done when its place is opened."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.crash.cases import CASES, Case, each
from tests.crash.faulty import KILL
from tests.crash.power import Disk
from tests.crash.stage import Stage, spread
from tests.crash.test_kill import RECOVERED, every

FEW = 4


@every
def test_what_gets_a_name_is_on_the_disk(case: Case, stage: Stage) -> None:
    calls = stage.known(case).calls
    early = [stage.told(call) for call in Disk(calls).early]
    assert not early, "\n".join(early[:5])


def test_a_whole_file_system_is_synced_too(stage: Stage) -> None:
    for case in CASES:
        names = [call.name for call in stage.known(case).calls]
        assert ("syncfs" in names) == ("many" in case.params)


@each([case for case in CASES if not case.moves])
def test_new_names_are_on_the_disk_in_the_end(case: Case, stage: Stage) -> None:
    watched = str(stage.path(case.watched))
    left = [path for path in Disk(stage.known(case).calls).unsynced if path.startswith(watched)]
    # A lock that is gone harms nobody.
    assert not [path for path in left if not path.endswith("/locks")]


@every
@pytest.mark.parametrize("most", [FEW, pytest.param(10**6, marks=pytest.mark.slow)])
def test_it_is_done_or_not_done(case: Case, most: int, stage: Stage) -> None:
    calls = stage.known(case).calls
    ends: Counter[str] = Counter()
    wrong, lost = [], 0
    for call in spread(calls, most):
        outcome = stage.killed(case, call.number)
        lost += len(Disk(outcome.calls).cut())
        try:
            ends[stage.recovered(case, again=most > FEW, power=False)] += 1
        except AssertionError as e:
            wrong.append(f"cut at {stage.told(call)}:\n{str(e)[:2000]}")
    print(f"\n{case.name}: {ends.total()} of {len(calls)} cuts, {dict(ends)}, {lost} files", end="")
    assert not wrong, f"{len(wrong)} points\n" + "\n\n".join(wrong[:3])


@each(RECOVERED)
@pytest.mark.slow
def test_it_is_cut_again_while_it_recovers(case: Case, stage: Stage) -> None:
    points, wrong = 0, []
    for call in spread(stage.known(case).calls, 4):
        at = 1
        while True:
            Disk(stage.killed(case, call.number).calls).cut()
            outcome = stage.reopen(case, KILL, at)
            if not outcome.killed:
                break
            Disk(outcome.calls).cut()
            points += 1
            try:
                stage.recovered(case, again=False, power=False)
            except AssertionError as e:
                wrong.append(f"cut at {stage.told(call)}, then at {at}:\n{str(e)[:2000]}")
            at += 3
    print(f"\n{case.name}: {points} cuts of the recovery", end="")
    assert not wrong, f"{len(wrong)} points\n" + "\n\n".join(wrong[:3])
