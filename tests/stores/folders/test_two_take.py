"""Of many kernels a second process, forked for it, takes half."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pace import LONG
from tests.snapshots import snapshot
from tests.stores.folders.second import waiting
from tests.stores.folders.test_looks import kernel
from tests.stores.folders.test_trash import Left, plan, undo
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import TRASH
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.folders import guard, trash
from torchkeeper.stores.folders.guard import changing
from torchkeeper.stores.folders.inside import Inside

COUNT = 40
#: While it holds a place, another one takes it, until a file is there.
HOLDS = """
import os, sys, time
from torchkeeper.stores.folders.guard import changing
from torchkeeper.stores.processes import forked
place, go = sys.argv[1:]
def work(number):
    while not os.path.exists(go):
        time.sleep(0.01)
    open(f"{place}/{number}", "w").close()
    return True
with changing(place), forked(work, range(3)):
    print("begun", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Kernels that are many here."""
    monkeypatch.setattr(trash, "_MANY", 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for number in range(COUNT):
        kernel(tmp_path / "p" / f"{chr(65 + number // 26)}{chr(65 + number % 26)}{50 * 'A'}")
    return tmp_path / "p"


class Waits(Report):
    """Until the second has taken some."""

    def __init__(self, place: Path, least: int) -> None:
        self.waits = waiting(str(place), least)

    def check(self) -> None:
        self.waits()


def hears(monkeypatch: pytest.MonkeyPatch, heard: Callable[[str, str], object]) -> None:
    """Have each move told after it was made, in the process that made it."""
    rename = Inside.rename

    def told(self: Inside, path: str, other: str) -> None:
        rename(self, path, other)
        heard(path, other)

    monkeypatch.setattr(Inside, "rename", told)


def test_both_take_some_and_all_comes_back(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def heard(path: str, _: str) -> None:
        with (tmp_path / "log").open("a") as log:
            log.write(f"{os.getpid()} {path}\n")

    hears(monkeypatch, heard)
    before = snapshot(place)
    left = Left()
    done = trash.purge(plan(place), False, Waits(place, 1), left)
    moved = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    assert len({pid for pid, _ in moved}) == 2
    assert len({path for _, path in moved}) == len(moved) == COUNT
    assert (done.counts["entries"], done.files, left.codes) == (COUNT, 4 * COUNT, [])
    back, _ = undo(place)
    assert (back.entries, back.files, back.bytes) == (COUNT, done.files, done.bytes)
    assert snapshot(place) == before


def test_what_has_changed_stays_whoever_was_to_take_it(place: Path) -> None:
    planned, before = plan(place), snapshot(place)
    for item in planned.items[::5]:
        (place / item.path / "add.ttir").write_text("newer")
    left = Left()
    done = trash.purge(planned, False, Waits(place, 9), left)
    assert left.codes == ["entry-changed"] * (COUNT // 5)
    assert done.counts["entries"] == COUNT - COUNT // 5
    for item in planned.items[::5]:
        assert (place / item.path / "add.ttir").read_text() == "newer"
        assert len(os.listdir(place / item.path)) == 4
    assert undo(place)[1] == []
    assert snapshot(place).keys() == before.keys()


def test_what_somebody_writes_while_the_second_moves_it_is_not_taken(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, planned = os.getpid(), plan(place)

    def heard(_: str, there: str) -> None:
        if os.getpid() != first and there.startswith(TRASH):
            (place / there / "newer").write_text("newer")

    hears(monkeypatch, heard)
    left = Left()
    trash.purge(planned, False, Waits(place, 3), left)
    stay = set(place.glob("*/newer"))
    assert stay
    assert {path.read_text() for path in stay} == {"newer"}
    assert left.codes == []
    monkeypatch.undo()
    undo(place)
    assert len(list(place.glob("*/add.cubin"))) == COUNT
    assert set(place.glob("*/newer")) == stay


@pytest.mark.parametrize("then", [0, 3])
def test_when_the_second_is_killed_the_first_takes_the_rest(
    place: Path, monkeypatch: pytest.MonkeyPatch, then: int
) -> None:
    first, moves = os.getpid(), list[str]()

    def heard(path: str, _: str) -> None:
        moves.append(path)
        if os.getpid() != first and len(moves) > then:
            os.kill(os.getpid(), signal.SIGKILL)

    hears(monkeypatch, heard)
    before = snapshot(place)
    left = Left()
    done = trash.purge(plan(place), False, Waits(place, COUNT), left)
    assert (done.counts["entries"], left.codes) == (COUNT, [])
    assert os.listdir(place) == [TRASH]
    undo(place)
    assert snapshot(place) == before


def test_one_that_is_cancelled_says_what_both_have_taken(place: Path) -> None:
    before = snapshot(place)

    class Stops(Report):
        told: dict[str, object] = {}  # noqa: RUF012
        number = 0

        def finding(self, **what: object) -> None:
            if isinstance(removed := what.get("removed"), dict):
                self.told = removed

        def check(self) -> None:
            self.number += 1
            if self.number > 6:
                # The other is at it, too.
                deadline = time.monotonic() + LONG
                while len(os.listdir(place)) > COUNT - 9 and time.monotonic() < deadline:
                    time.sleep(0.001)
                raise Cancelled

    report = Stops()
    with pytest.raises(Cancelled):
        trash.purge(plan(place), False, report, Left())
    gone = COUNT - len(list(place.glob("?" * 52)))
    assert report.told["entries"] == gone >= 10
    back, _ = undo(place)
    assert (back.entries, back.bytes) == (gone, report.told["bytes"])
    assert snapshot(place) == before


def test_a_place_is_held_until_the_second_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, go = tmp_path / "p", tmp_path / "go"
    place.mkdir()
    command = [sys.executable, "-c", HOLDS, str(place), str(go)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "begun\n"
        process.kill()
        process.wait(LONG)
        monkeypatch.setattr(guard, "PATIENCE", 0.1)
        with pytest.raises(Problem, match="place-busy"), changing(str(place)):
            pytest.fail("two held one place")
        go.touch()
        monkeypatch.setattr(guard, "PATIENCE", LONG)
        with changing(str(place)):
            assert os.listdir(place) == ["0"]  # it has ended with the first
