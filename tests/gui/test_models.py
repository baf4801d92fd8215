"""The models, each under Qt's own tester, and the selection over every kind of change."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import pytest
from PySide6.QtCore import QAbstractItemModel, QModelIndex, QSettings, Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from tests.pace import within
from tests.sampling import sampled
from tests.shots.sample_results import EXPORTED, WARMED
from torchkeeper.artifacts.entry import COUNTED_APART, KINDS, Entry
from torchkeeper.client.words.problems import UserError
from torchkeeper.gui.jobs.model import JobsModel, State, state_text
from torchkeeper.gui.places.model import Place, PlacesModel, reason_words
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.lines import SortRole
from torchkeeper.gui.table.rows import (
    COLUMNS,
    EXPIRES,
    KIND,
    NAME,
    SIZE,
    TORCH,
    USED,
    Intake,
    Register,
    cell_text,
    narrows,
)
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.stores.query import parse

ASCENDING, DESCENDING = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder


#: The kinds of entries: others are listed only when they are asked for.
ENTRIES = tuple(kind for kind in KINDS if kind not in COUNTED_APART)


def entry(number: int, **values: Any) -> Entry:
    kind = ENTRIES[number % len(ENTRIES)]
    made = Entry(
        kind=kind,
        key=f"key{number:06}",
        name=None if number % 5 == 0 else f"graph {number % 7}",
        size=number * 37 % 1000,
        files=1 + number % 3,
        mtime=None if number % 4 == 0 else 1_700_000_000.0 + number,
        torch=(None, "2.9.1", "2.13.0")[number % 3],
        device=("cpu", None)[number % 2],
        compile_s=None if number % 6 == 0 else number / 10,
        path=f"{kind}/{number}",
        sha256=None,
    )
    return made._replace(**values)


def filled(entries: Iterable[Entry]) -> EntriesModel:
    model = EntriesModel()
    under_test(model)
    load(model, entries)
    return model


def under_test(model: QAbstractItemModel) -> None:
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal, model)


def load(model: EntriesModel, entries: Iterable[Entry]) -> None:
    every = list(entries)
    model.begin()
    for first in range(0, len(every), 100):
        model.add(every[first : first + 100])
    model.end()


def keys(model: EntriesModel) -> list[str]:
    return [entry.key for entry in model.shown()]


def test_entries_are_sorted_by_every_column_both_ways(qtbot: QtBot) -> None:
    model = filled(entry(n) for n in range(90))
    for column in range(len(COLUMNS)):
        for order in (ASCENDING, DESCENDING):
            model.sort(column, order)
            values = [model.index(row, column).data(SortRole) for row in range(model.rowCount())]
            assert values == sorted(values, reverse=order == DESCENDING), COLUMNS[column]
    assert len(set(keys(model))) == 90


def test_what_a_server_was_not_asked_for_yet_is_last_either_way(qtbot: QtBot) -> None:
    told = [None, 5000.0, 0.0, 3000.0, None, 4000.0]
    model = filled(entry(n, expires=t, used=t or None) for n, t in enumerate(told))
    model.sort(EXPIRES, ASCENDING)
    assert [e.expires for e in model.shown()] == [3000, 4000, 5000, 0, None, None], "0 is never"
    model.sort(EXPIRES, DESCENDING)
    assert [e.expires for e in model.shown()] == [0, 5000, 4000, 3000, None, None]
    model.sort(USED, ASCENDING)
    assert [e.used for e in model.shown()] == [3000, 4000, 5000, None, None, None]
    model.sort(USED, DESCENDING)
    assert [e.used for e in model.shown()] == [5000, 4000, 3000, None, None, None]
    now = time.time()
    times = (None, 0.0, now - 5, now + 30, now + 180, now + 7200, now + 30 * 86400)
    shown = [cell_text(entry(1, expires=t), EXPIRES) for t in times]
    assert shown == ["", "never", "now", "within a minute", "in 3 min", "in 2 h", "in 30 d"]


def test_torch_is_sorted_as_a_version(qtbot: QtBot) -> None:
    model = filled(entry(n, torch=t) for n, t in enumerate(("2.13.0", "2.9.1", None, "2.9.0+cpu")))
    model.sort(TORCH, ASCENDING)
    assert [e.torch for e in model.shown()] == [None, "2.9.0+cpu", "2.9.1", "2.13.0"]


@sampled(
    "text",
    ["", "graph", "GRAPH 3", "kind:code", "-graph", "size>500", '"h 3"'],
    most=3,
)
def test_the_filter_shows_what_the_query_matches(qtbot: QtBot, text: str) -> None:
    every = [entry(n) for n in range(90)]
    model = filled(every)
    query = parse(text)
    model.filter(query)
    assert set(keys(model)) == {e.key for e in every if query.matches(e)}
    model.filter(parse(""))
    assert model.rowCount() == 90


def test_what_arrives_is_filtered_and_a_second_copy_is_not_shown(qtbot: QtBot) -> None:
    model = EntriesModel()
    under_test(model)
    model.filter(parse("kind:code"))
    model.begin()
    model.add([entry(n) for n in range(100)])
    model.add([entry(n) for n in range(50, 120)])
    assert model.total == 120
    assert {e.kind for e in model.shown()} == {"code"}
    model.sort(SIZE, ASCENDING)
    model.end()
    assert [e.size for e in model.shown()] == sorted(e.size for e in model.shown())


@pytest.mark.parametrize("scattered", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_refresh_brings_what_changed_and_keeps_the_selection(
    qtbot: QtBot, scattered: bool
) -> None:
    before = [entry(n) for n in range(120)]
    model = filled(before)
    table = EntryTable(model)
    qtbot.addWidget(table)
    table.sortByColumn(NAME, ASCENDING)
    chosen = {before[n].identity for n in (3, 77, 100, 119)}
    table.select(chosen)
    gone = set(range(0, 120, 2)) - {100} if scattered else {10, 11, 12}
    after = [e._replace(size=9999) if n == 77 else e for n, e in enumerate(before) if n not in gone]
    after += [entry(n) for n in range(120, 130)]
    load(model, after)
    assert {e.identity for e in table.selected()} == chosen
    assert {e.identity for e in model.shown()} == {e.identity for e in after}
    assert [e.size for e in table.selected() if e.key == "key000077"] == [9999]
    names = [(e.name or "").lower() for e in model.shown()]
    assert names == sorted(names)


@pytest.mark.slow
def test_the_selection_stays_with_its_entries_over_sort_and_filter(qtbot: QtBot) -> None:
    model = filled(entry(n) for n in range(150))
    table = EntryTable(model)
    qtbot.addWidget(table)
    chosen = {e.identity for e in model.shown() if e.kind == "code"}
    table.select(chosen)
    for column in (KIND, NAME, SIZE):
        table.sortByColumn(column, ASCENDING)
        assert {e.identity for e in table.selected()} == chosen
    model.filter(parse("kind:code size>100"))
    # What is hidden is not selected: nobody purges what they cannot see.
    assert {e.identity for e in table.selected()} == {e.identity for e in model.shown()}


TEXTS = ("", "g", "graph", "graph 3", "-graph", "-gra", "kind:code", "kind:code gra", "size>500",
         "age>1d", '"h 3"', "is:broken", "KEY00 graph", "torch:2.9")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("first", TEXTS)
def test_a_filter_after_another_shows_the_same_as_alone(qtbot: QtBot, first: str) -> None:
    every = [entry(n) for n in range(2 * len(ENTRIES))]
    model = filled(every)
    for then in TEXTS:
        model.filter(parse(first))
        model.filter(parse(then))
        wanted = {e.key for e in every if parse(then).matches(e)}
        assert set(keys(model)) == wanted, (first, then)
        if narrows(parse(first), parse(then)):
            assert wanted <= {e.key for e in every if parse(first).matches(e)}
    assert narrows(parse("gra"), parse("-key graph"))
    assert not narrows(parse("-gra"), parse("-graph"))


def test_an_entry_that_comes_twice_is_shown_once(qtbot: QtBot) -> None:
    model = filled(entry(n) for n in range(10))
    load(model, [entry(n) for n in (3, 4, 11, 11, 4)])
    assert sorted(keys(model)) == ["key000003", "key000004", "key000011"]
    assert model.total == 3


def test_clearing_and_abandoning(qtbot: QtBot) -> None:
    model = filled(entry(n) for n in range(10))
    model.begin()
    model.add([entry(99)])
    model.abandon()
    assert model.total == 10
    model.clear()
    assert model.rowCount() == model.total == 0


def test_a_broken_entry_says_why(qtbot: QtBot) -> None:
    model = filled([entry(1, problem="payload-empty", name="a\nb")])
    index = model.index(0, NAME)
    assert index.data() == "a\\nb"
    assert "The file is empty." in index.data(Qt.ItemDataRole.ToolTipRole)
    assert "broken" in index.data(Qt.ItemDataRole.AccessibleTextRole)


def test_large_places_stay_quick(qtbot: QtBot) -> None:
    every = [entry(n) for n in range(100_000)]
    model = EntriesModel()
    load(model, every)
    for text in ("", "key0123", "kind:code size>500"):
        begun = time.thread_time()
        model.filter(parse(text))
        model.sort(SIZE, ASCENDING)
        # A proxy model takes tens of seconds.
        assert time.thread_time() - begun < within(1.5)


def test_jobs(qtbot: QtBot) -> None:
    model = JobsModel()
    under_test(model)
    first = model.add("Warm", "warm", "/a")
    second = model.add("Export", "export", None)
    assert [job.title for job in model.jobs] == ["Export", "Warm"]
    model.begin(first)
    model.progress(first, 3, 12, "steps")
    assert first.fraction() == 0.25
    assert "3 of 12 steps" in state_text(first)
    model.log(first, ["one", "two"])
    assert list(first.log) == ["one", "two"]
    with qtbot.waitSignal(model.finished):
        model.end(first, State.FAILED, error=UserError("It broke."))
    model.end(first, State.DONE, result=WARMED)
    assert first.state is State.FAILED
    assert "It broke." in state_text(first)
    model.clear_ended()
    assert model.jobs == (second,)
    assert model.active == [second]


def test_the_history_of_jobs_is_bounded(qtbot: QtBot) -> None:
    model = JobsModel()
    running = model.add("first", "warm", None)
    for number in range(300):
        model.end(model.add(str(number), "export", None), State.DONE, result=EXPORTED)
    assert len(model.jobs) <= 201
    assert running in model.jobs


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("TRITON_REDIS_HOST", "The environment variable TRITON_REDIS_HOST names it"),
        ("DG_JIT_CACHE_DIR", "The environment variable DG_JIT_CACHE_DIR names it"),
        ("DeepGEMM", "A cache of DeepGEMM"),
        ("temporary", "In the temporary folder"),
        ("", ""),
    ],
)
def test_why_a_place_is_there(reason: str, words: str) -> None:
    assert reason_words(Place("/a", reason)) == words


def test_places_are_found_added_kept_and_removed(qtbot: QtBot, settings: QSettings) -> None:
    model = PlacesModel(settings)
    under_test(model)
    model.add("/mine")
    model.found([Place("/a", "default"), Place("/b", "vllm", exists=False), Place("/mine", "vllm")])
    assert [p.path for p in model.places] == ["/a", "/b", "/mine"]
    model.found([Place("/b", "vllm"), Place("/c", "default")])
    assert {p.path for p in model.places} == {"/b", "/c", "/mine"}
    assert "vLLM" in model.index(model.row_of("/b")).data(Qt.ItemDataRole.ToolTipRole)
    model.looked("/mine", "missing")
    assert "nothing" in model.index(model.row_of("/mine")).data(Qt.ItemDataRole.ToolTipRole)
    assert [p.path for p in PlacesModel(settings).places] == ["/mine"]
    model.remove(model.row_of("/c"))
    assert model.row_of("/c") >= 0, "a place that was found is not the user's to remove"
    model.remove(model.row_of("/mine"))
    assert PlacesModel(settings).places == ()
    assert model.place_at(QModelIndex()) is None


@pytest.mark.slow
def test_what_more_is_known_is_told_of_what_is_on_the_screen() -> None:
    model = filled(entry(number, torch=None) for number in range(900))
    told: list[tuple[int, int]] = []
    model.dataChanged.connect(lambda first, last, _: told.append((first.row(), last.row())))
    shown = model.shown()
    known = [e._replace(torch="2.9.1") for e in (*shown[10:12], shown[800])]
    model.renew(known, range(5, 30))
    assert told == [(10, 10), (11, 11)]
    assert [e.torch for e in model.shown()].count("2.9.1") == 3
    assert model.shown()[800] == known[2], "and what is not on the screen has not moved"
    told.clear()
    model.renew(known, range(5, 30))
    assert told == []


@pytest.mark.slow
def test_what_is_selected_is_looked_up_once_until_anything_changes(qtbot: QtBot) -> None:
    model = filled(entry(number) for number in range(900))
    table = EntryTable(model)
    qtbot.addWidget(table)
    assert (table.selected(), table.chosen.size()) == ([], 0)
    table.selectAll()
    chosen = table.selected()
    assert chosen == model.shown() and table.selected() is chosen
    assert table.chosen.size() == sum(e.size for e in chosen)
    assert table.selected(7) == chosen[:7]
    model.renew([chosen[3]._replace(size=5000)], range(0))
    assert table.selected()[3].size == 5000
    assert table.chosen.size() == sum(e.size for e in chosen) - chosen[3].size + 5000
    model.filter(parse("kind:fxgraph"))
    assert table.selected() == model.shown()
    table.clearSelection()
    assert (table.selected(), table.chosen.size()) == ([], 0)


def test_a_new_owner_is_shown_though_the_entry_has_a_verdict() -> None:
    known = Register()
    for number, owner in enumerate((None, "bob", "bob"), 1):
        listing = Intake(number, known)
        listing.queue.append([entry(1, owner=owner)])
        listing.take()
        assert list(listing.settle()) == [None] * (number == 2)
        [[row]] = [rows for rows in known.rows() if rows]
        assert row.entry.owner == owner
        # It was judged since; what is listed again as it was keeps that.
        assert row.entry.verdict == ("usable" if number == 3 else None)
        row.entry = row.entry._replace(verdict="usable", why="")
