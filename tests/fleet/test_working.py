"""How cells are handed out: none is lost, none is done twice, whatever nodes and units do."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.fleet import working
from torchkeeper.fleet.cells import Cell, Place
from torchkeeper.fleet.working import Work
from torchkeeper.placing.machines import Machines
from torchkeeper.placing.target import Lost, Node

GONE = user_error("fleet-no-nodes", {})


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working, "AGAIN", (0.0, 0.0, 0.0))


def place(name: str, kind: str = "a", slots: int = 1) -> Place:
    facts: Any = {"torch": "2.13.0", "triton": "3.7.1", "devices": [{"type": "cpu", "name": "CPU"}]}
    return Place(Machines("some", [""]), Node(f"some{name}", "python", slots, facts), kind)


def cell(ident: str, kind: str = "a", group: str = "g") -> Cell:
    row: Any = {"source": "triton", "device": None, "memory": None}
    return Cell(ident, row, kind, group)


class Told:
    """What came of the cells of a work."""

    def __init__(self) -> None:
        self.done = Counter[str]()
        self.by: dict[str, str] = {}
        self.failed: dict[str, dict[str, str]] = {}
        self.lost: list[tuple[str, bool]] = []
        self.units: list[tuple[str, list[str]]] = []
        self._lock = threading.Lock()

    def work(
        self,
        cells: Sequence[Cell],
        places: Sequence[Place],
        do: Callable[[Place, list[str]], dict[str, str]] = lambda *_: {},
        stop: threading.Event | None = None,
        **more: Any,
    ) -> Told:
        def one(place: Place, some: Sequence[Cell]) -> tuple[set[str], dict[str, str]]:
            names = [cell.ident for cell in some]
            with self._lock:
                self.units.append((place.name, names))
            failed = do(place, names)
            done = set(names) - failed.keys()
            with self._lock:
                self.done.update(done)
                self.by.update(dict.fromkeys(done, place.name))
            return done, failed

        def lost(place: Place, why: UserError, for_good: bool) -> None:
            self.lost.append((place.name, for_good))

        def failed(cell: Cell, why: dict[str, str]) -> None:
            assert cell.ident not in self.failed
            self.failed[cell.ident] = dict(why)

        Work(cells, places, one, lost, failed, stop or threading.Event(), **more).work()
        return self


def test_each_cell_is_done_once() -> None:
    cells = [cell(f"{n}", group=f"{n % 7}") for n in range(500)]
    told = Told().work(cells, [place(f"{n}", slots=2) for n in range(6)])
    assert told.done == Counter(one.ident for one in cells)
    assert not told.failed


def test_a_node_that_is_asked_alone_has_one_compile_job_with_all_its_slots() -> None:
    """Processes take long to start: one job does several cells at a time, as ``warm --jobs``."""
    alone, shared = place("x", slots=4), place("y")
    assert (alone.jobs, shared.jobs) == (4, 1)
    cells, running = [cell(f"{n}") for n in range(24)], list[int]()

    def do(_: Place, names: list[str]) -> dict[str, str]:
        running.append(len(names))
        return {}

    told = Told().work(cells, [alone], do, at_once=lambda one: one.jobs)
    assert told.done == Counter(one.ident for one in cells)
    assert running == [24]  # the share of each slot, in one job


def test_cells_go_where_they_fit() -> None:
    cells = [cell("a1", "a"), cell("b1", "b"), cell("any", "")]
    told = Told().work(cells, [place("x", "a"), place("y", "b")])
    assert told.by["a1"] == "somex"
    assert told.by["b1"] == "somey"
    assert set(told.done) == {"a1", "b1", "any"}


def test_what_nobody_can_do_has_failed_without_a_log() -> None:
    told = Told().work([cell("1", "c")], [place("x", "a")])
    assert told.failed == {"1": {}}


def test_a_cell_that_fails_goes_to_another_node_once() -> None:
    def do(place: Place, names: list[str]) -> dict[str, str]:
        return {"bad": f"log of {place.name}"} if "bad" in names else {}

    cells = [cell("bad"), cell("1"), cell("2")]
    told = Told().work(cells, [place("x"), place("y"), place("z")], do)
    assert set(told.done) == {"1", "2"}
    logs = told.failed["bad"]
    assert len(logs) == 2
    assert all(text == f"log of {name}" for name, text in logs.items())


def test_a_cell_that_fails_on_the_only_node_has_failed() -> None:
    told = Told().work([cell("bad")], [place("x")], lambda *_: {"bad": "log"})
    assert told.failed == {"bad": {"somex": "log"}}


def test_cells_of_a_lost_node_go_to_others() -> None:
    def do(place: Place, _: list[str]) -> dict[str, str]:
        if place.name == "somex":
            raise Lost(GONE)
        return {}

    cells = [cell(f"{n}") for n in range(40)]
    told = Told().work(cells, [place("x"), place("y")], do)
    assert told.done == Counter(one.ident for one in cells)
    assert set(told.by.values()) == {"somey"}
    assert len(told.lost) <= working.LOSSES


def test_the_only_node_is_tried_again() -> None:
    times = iter([True, True, False])

    def do(place: Place, _: list[str]) -> dict[str, str]:
        if next(times, False):
            raise Lost(GONE)
        return {}

    told = Told().work([cell("1")], [place("x")], do)
    assert told.done == {"1": 1}
    assert told.lost == [("somex", False), ("somex", False)]


def test_without_a_node_left_cells_have_failed() -> None:
    def do(*_: object) -> dict[str, str]:
        raise Lost(GONE)

    told = Told().work([cell("1"), cell("2")], [place("x")], do)
    assert told.failed == {"1": {}, "2": {}}
    assert told.lost[-1] == ("somex", True)


def test_what_is_nobodys_fault_ends_all() -> None:
    def do(*_: object) -> dict[str, str]:
        raise GONE

    stop = threading.Event()
    with pytest.raises(UserError):
        Told().work([cell(f"{n}") for n in range(9)], [place("x"), place("y")], do, stop)
    assert stop.is_set()


def test_a_stop_leaves_the_rest() -> None:
    stop = threading.Event()

    def do(*_: object) -> dict[str, str]:
        stop.set()
        return {}

    told = Told().work([cell(f"{n}") for n in range(100)], [place("x")], do, stop)
    assert 0 < sum(told.done.values()) < 100
    assert not told.failed


def test_a_proof_is_made_elsewhere_if_there_is_an_elsewhere() -> None:
    made = {f"{n}": "somex" for n in range(30)}

    def prefers(cell: Cell, place: Place) -> bool:
        return made[cell.ident] != place.name

    told = Told().work([cell(name) for name in made], [place("x"), place("y")], prefers=prefers)
    assert set(told.by.values()) == {"somey"}
    told = Told().work([cell(name) for name in made], [place("x")], prefers=prefers)
    assert set(told.by.values()) == {"somex"}


def test_units_grow_with_what_cells_take() -> None:
    """The first are few, as nobody knows how long one takes; then each is a node's fair share."""
    told = Told().work([cell(f"{n}") for n in range(1000)], [place("x")])
    assert len(told.units[0][1]) == working.FEW
    assert len(told.units[1][1]) == working.MOST


def test_24_cells_and_4_workers_are_4_units() -> None:
    ready = threading.Barrier(4)

    def do(*_: object) -> dict[str, str]:
        ready.wait(60)
        return {}

    told = Told().work([cell(f"{n}") for n in range(24)], [place("x", slots=4)], do)
    assert [len(names) for _, names in told.units] == [6, 6, 6, 6]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_each_cell_is_done_or_has_failed(seed: int) -> None:
    chance = random.Random(seed)
    lock = threading.Lock()
    kinds = ["a", "b", ""]
    cells = [cell(f"{n}", chance.choice(kinds), f"g{chance.randrange(9)}") for n in range(300)]
    places = [place(f"{n}", chance.choice("ab"), chance.randint(1, 3)) for n in range(8)]

    def do(place: Place, names: list[str]) -> dict[str, str]:
        with lock:
            if chance.random() < 0.2:
                raise Lost(GONE)
            return {name: "log" for name in names if chance.random() < 0.1}

    told = Told().work(cells, places, do)
    assert all(count == 1 for count in told.done.values())
    assert set(told.done) | set(told.failed) == {one.ident for one in cells}
    assert not set(told.done) & set(told.failed)
    for logs in told.failed.values():
        assert len(logs) <= working.TRIES
