"""A large listing is worked in without a pause, and nothing is lost by doing so in parts."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE
from tests.gui.test_grouping import check
from tests.gui.test_models import entry
from tests.pace import within
from tests.sampling import sampled
from torchkeeper.artifacts.entry import Entry
from torchkeeper.gui.table.chosen import Keyed
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.rows import COLUMNS, KIND, SIZE, SORT_KEYS, Row, dealt, merged
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.stores.query import parse

#: Seconds of the main thread's own time; a frame takes 0.016, the rest is for a slow machine.
SLICE = 0.04
MANY = 50_000


def worked_in(model: EntriesModel, entries: list[Entry]) -> list[float]:
    """Bring a listing as an engine does; how long each turn of the event loop takes."""
    over: list[bool] = []
    turns: list[float] = []

    def turn() -> None:
        begun = time.thread_time()
        QApplication.processEvents()
        turns.append(time.thread_time() - begun)

    model.begin()
    for first in range(0, len(entries), 500):
        model.add(entries[first : first + 500])
        turn()
    model.end(lambda: over.append(True))
    while not over:
        turn()
    turn()
    return turns


@sampled("by", ["none", "kind"], most=1)
def test_no_slice_is_long(qtbot: QtBot, by: str) -> None:
    every = [entry(n) for n in range(MANY)]
    random.Random(3).shuffle(every)
    model = EntriesModel()
    model.group(by)
    table = EntryTable(model)
    qtbot.addWidget(table)
    table.resize(1000, 600)
    table.show()
    first = worked_in(model, every)
    model.sort(SIZE, Qt.SortOrder.DescendingOrder)
    chosen = {e.identity for e in every[:9]}
    table.select(chosen)
    changed = [e._replace(size=e.size + 700) for e in every[20:30]]
    later = [*changed, *every[:15], *every[40:], *(entry(n) for n in range(MANY, MANY + 300))]
    second = worked_in(model, later)
    assert {e.identity for e in table.selected()} == chosen
    assert {e.identity for e in model.shown()} == {e.identity for e in later}
    assert model.total == len(later)
    check(model) if by == "kind" else None
    for group in model.groups:
        sizes = [row.entry.size for row in group.rows]
        assert sizes == sorted(sizes, reverse=True)
    for turns in (first, second):
        # One slow turn may be the machine's; many are ours.
        assert sorted(turns)[-2] < within(SLICE)
    assert len(second) > 10, "it was done in slices"


@pytest.mark.slow
def test_grouping_takes_no_long_slice(qtbot: QtBot) -> None:
    every = [entry(n) for n in range(MANY)]
    model = EntriesModel()
    table = EntryTable(model)
    qtbot.addWidget(table)
    table.resize(1000, 600)
    table.show()
    worked_in(model, every)
    table.select({e.identity for e in every[:9]})
    turns: list[float] = []
    for by in ("kind", "none", "torch"):
        done: list[str] = []
        begun = time.thread_time()
        model.group(by, lambda done=done: done.append(model.grouping))  # type: ignore[misc]
        turns.append(time.thread_time() - begun)
        assert done in ([], [by]) and model.wanted_grouping == by
        while not done:
            begun = time.thread_time()
            QApplication.processEvents()
            turns.append(time.thread_time() - begun)
        assert done == [by]
        assert len(model.shown()) == MANY
        check(model) if by != "none" else None
        assert {e.identity for e in table.selected()} == {e.identity for e in every[:9]}
    assert sorted(turns)[-2] < within(SLICE)
    assert len(turns) > 30, "it was done in slices"
    # What is done meanwhile counts, and what was wanted before is not told any more.
    told: list[str] = []
    model.group("kind", lambda: told.append("kind"))
    model.group("age", lambda: told.append("age"))
    model.collapse(model.groups[:1])
    model.filter(parse("size>500"))
    model.sort(SIZE, Qt.SortOrder.AscendingOrder)
    qtbot.waitUntil(lambda: bool(told), timeout=PATIENCE)
    model.settle()
    assert (told, model.grouping) == (["age"], "age")
    assert {e.key for e in model.shown()} == {e.key for e in every if e.size > 500}
    later = every[100:]
    model.group("kind")
    worked_in(model, later)
    assert model.grouping == "kind"
    check(model)
    assert len(model.shown()) == sum(e.size > 500 for e in later)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("column", range(len(COLUMNS)), ids=COLUMNS)
def test_merging_is_the_same_as_sorting(column: int, descending: bool) -> None:
    rows = [Row(entry(n * 7919 % 9000)) for n in range(9000)]
    key = SORT_KEYS[column]
    for cut in (0, 1, 10, 4000, 8999, 9000):
        some = sorted(rows[:cut], key=key, reverse=descending)
        others = sorted(rows[cut:], key=key, reverse=descending)
        parts = list(merged(some, others, key, descending))
        assert list(itertools.chain(*parts)) == sorted(rows, key=key, reverse=descending)
        assert max(map(len, parts)) <= 2048


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("column", range(len(COLUMNS)), ids=COLUMNS)
def test_dealing_out_is_sorting(column: int, descending: bool) -> None:
    every = [Row(entry(n * 7919 % 5000)) for n in range(5000)]
    key = SORT_KEYS[column]
    for rows in ([], every[:1], every[:700], every):
        found = [row for piece in dealt(rows, key, descending) for row in piece]
        assert found == sorted(rows, key=key, reverse=descending)


def test_no_step_of_dealing_out_is_long() -> None:
    rows = [Row(entry(n)) for n in range(50_000)]
    random.Random(7).shuffle(rows)
    steps = []
    begun = time.thread_time()
    for _ in dealt(rows, SORT_KEYS[SIZE], True):
        steps.append(time.thread_time() - begun)
        begun = time.thread_time()
    # Merging a hundred runs took 4 ms at a time.
    assert sorted(steps)[len(steps) * 9 // 10] < 0.002


def test_what_the_user_does_meanwhile_counts(qtbot: QtBot) -> None:
    every = [entry(n) for n in range(9000)]
    model = EntriesModel()
    model.begin()
    for first in range(0, 9000, 500):
        model.add(every[first : first + 500])
        if first == 4000:
            model.sort(KIND, Qt.SortOrder.AscendingOrder)
            model.filter(parse("size>300"))
    model.end()
    assert model._slices.busy
    QApplication.processEvents()
    model.filter(parse("size>500"))
    model.group("kind")
    model.sort(SIZE, Qt.SortOrder.AscendingOrder)
    qtbot.waitUntil(lambda: not model._slices.busy)
    check(model)
    assert {e.key for e in model.shown()} == {e.key for e in every if e.size > 500}
    after = [e._replace(size=e.size + 1) if n % 40 == 0 else e for n, e in enumerate(every)][50:]
    done: list[bool] = []
    model.begin()
    for first in range(0, len(after), 500):
        model.add(after[first : first + 500])
    model.end(lambda: done.append(True))
    steps: list[Callable[[], None]] = [
        lambda: model.sort(KIND),
        lambda: model.filter(parse("size>400")),
        lambda: model.collapse(model.groups[:2]),
        lambda: model.group("torch"),
    ]
    for step in steps:
        QApplication.processEvents()
        step()
    qtbot.waitUntil(lambda: bool(done))
    check(model)
    assert set(model.shown()) == {e for e in after if e.size > 400}
    assert model.total == len(after)
    model.begin()
    model.add(every)
    model.clear()
    qtbot.wait(50)
    assert model.rowCount() == model.total == 0
    assert done == [True]


def test_totals_follow(qtbot: QtBot) -> None:
    model = EntriesModel()
    worked_in(model, [entry(n) for n in range(30_000)])
    assert model.totals() is None, "they are many"
    qtbot.waitUntil(lambda: model.totals() is not None)
    totals = model.totals()
    assert totals is not None
    assert totals.counts["entries"] == 30_000
    assert totals.size == sum(e.size for e in model.shown())


def test_a_large_selection_is_looked_at_in_parts(qtbot: QtBot) -> None:
    model = EntriesModel()
    table = EntryTable(model)
    qtbot.addWidget(table)
    worked_in(model, [entry(n) for n in range(MANY)])
    said: list[int] = []
    table.selectAll()
    table.selection_changed.connect(lambda: said.append(len(table.selected())))
    turns: list[float] = []
    while not table.chosen.ready:
        begun = time.thread_time()
        QApplication.processEvents()
        turns.append(time.thread_time() - begun)
    assert turns
    assert max(turns) < within(SLICE)
    assert said == [MANY]
    assert table.selected() == model.shown()
    assert table.chosen.size() == sum(one.size for one in model.shown())
    # What changes while it is looked at is looked at again, and few are known at once.
    table.selectAll()
    model.filter(parse("kind:code"))
    table.selectRow(0)
    assert table.chosen.ready
    assert table.selected() == model.shown()[:1]


@pytest.mark.slow
def test_needed_entries_are_looked_for_in_parts(qtbot: QtBot) -> None:
    model = EntriesModel()
    worked_in(model, [entry(n) for n in range(MANY)])
    keyed, told = Keyed(model), list[bool]()
    keyed.found.connect(lambda: told.append(True))
    last = model.shown()[-1]
    wanted = {(last.kind, last.key), (last.kind, "no such key")}
    assert keyed.of(wanted) == {}
    turns: list[float] = []
    while not told:
        begun = time.thread_time()
        QApplication.processEvents()
        turns.append(time.thread_time() - begun)
    assert max(turns) < within(SLICE)
    assert keyed.of(wanted) == {(last.kind, last.key): [last]} == model.of_keys(wanted)
    assert told == [True]
    # Another listing may hold others.
    worked_in(model, [entry(n) for n in range(40)])
    assert keyed.of(wanted) == model.of_keys(wanted)
