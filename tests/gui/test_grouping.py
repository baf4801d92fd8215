"""Rows in groups: headings, what is collapsed, and what stays where it is."""

from __future__ import annotations

import datetime
import time
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSettings, Qt
from pytestqt.qtbot import QtBot

from tests.gui.conftest import OpenWindow, entry_at, settle
from tests.gui.test_models import entry, filled, load
from torchkeeper.artifacts.entry import COUNTED_APART, KINDS, Entry
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.grouping import Group
from torchkeeper.gui.table.rows import KIND, NAME, SIZE, Row
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.stores.query import parse

ASCENDING, DESCENDING = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder


#: The kinds of entries: others are listed only when they are asked for.
ENTRIES = tuple(kind for kind in KINDS if kind not in COUNTED_APART)


def headings(model: EntriesModel) -> list[Group]:
    return [line for line in model.lines if isinstance(line, Group)]


def under(model: EntriesModel, group: Group) -> list[Entry]:
    """The entries that stand under a heading in the table."""
    at = model.lines.index(group) + 1
    found = []
    for line in model.lines[at:]:
        if not isinstance(line, Row):
            break
        found.append(line.entry)
    return found


def check(model: EntriesModel) -> None:
    """Every line is where it belongs, and says what is under it."""
    for group in headings(model):
        entries = under(model, group)
        assert group.rows, "no empty groups"
        assert group.size == sum(row.entry.size for row in group.rows)
        assert entries == ([] if group.collapsed else [row.entry for row in group.rows])
        if model.grouping != "age":
            assert {getattr(row.entry, model.grouping) for row in group.rows} == {group.name}
    for row, line in enumerate(model.lines):
        assert model.where({line}) == {line: row}
    assert model.where(set(model.lines)) == {line: row for row, line in enumerate(model.lines)}
    assert sum(len(group.rows) for group in model.groups) == model.count


def a_table(qtbot: QtBot, model: EntriesModel) -> EntryTable:
    table = EntryTable(model)
    qtbot.addWidget(table)
    table.resize(1000, 500)
    table.show()
    return table


def press(qtbot: QtBot, table: EntryTable, *keys: Qt.Key) -> None:
    for key in keys:
        qtbot.keyClick(table, key)  # type: ignore[no-untyped-call]


@pytest.mark.slow
def test_groups_stand_in_a_sensible_order(qtbot: QtBot) -> None:
    model = filled(entry(n) for n in range(60))
    model.group("kind")
    assert [group.name for group in headings(model)] == list(ENTRIES)
    check(model)
    model.group("torch")
    assert [group.title for group in headings(model)] == [
        "torch 2.13.0", "torch 2.9.1", "Not recorded",
    ]  # fmt: skip
    check(model)
    model.sort(NAME, DESCENDING)
    check(model)
    names = [[(e.name or "").lower() for e in under(model, g)] for g in headings(model)]
    assert names == [sorted(each, reverse=True) for each in names]
    model.group("none")
    assert headings(model) == []
    assert [e.size for e in model.shown()] != sorted(e.size for e in model.shown())
    assert model.count == model.rowCount() == 60


def test_ages_have_words(qtbot: QtBot) -> None:
    now = time.time()
    day = datetime.datetime.fromtimestamp(now).replace(hour=12)
    before = [None, now - 60, now + 999, (day - datetime.timedelta(days=1)).timestamp(),
              (day - datetime.timedelta(days=800)).timestamp(), 0.0, float("inf")]  # fmt: skip
    model = filled(entry(n, mtime=mtime) for n, mtime in enumerate(before))
    model.group("age")
    titles = {group.title: {e.mtime for e in under(model, group)} for group in headings(model)}
    assert titles["Not recorded"] == {None}
    assert titles["Last hour"] >= {now - 60, now + 999, float("inf")}
    assert titles["Older"] == {before[4], 0.0}
    assert next(iter(titles)) == "Last hour"
    assert list(titles)[-2:] == ["Older", "Not recorded"]
    check(model)


def test_ages_move_on(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    every = [entry(n, mtime=now - 60) for n in range(20)]
    model = filled(every)
    table = a_table(qtbot, model)
    model.group("age")
    chosen = {every[3].identity, every[7].identity}
    table.select(chosen)
    assert [group.title for group in headings(model)] == ["Last hour"]
    monkeypatch.setattr("torchkeeper.gui.table.entries.time.time", lambda: now + 3 * 366 * 86400)
    model.begin()
    model.same()
    qtbot.waitUntil(lambda: [group.title for group in headings(model)] == ["Older"])
    assert {e.identity for e in table.selected()} == chosen
    check(model)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["kind", "torch", "age"])
def test_what_is_collapsed_stays_so(qtbot: QtBot, by: str) -> None:
    every = [entry(n) for n in range(60)]
    model = filled(every)
    model.group(by)
    first, *others = headings(model)
    rows = [row.entry for row in first.rows]
    model.collapse([first])
    check(model)
    assert under(model, first) == []
    for column in (KIND, SIZE):
        model.sort(column, ASCENDING)
        model.sort(column, DESCENDING)
        check(model)
    model.filter(parse("size>500"))
    check(model)
    assert first.collapsed
    model.filter(parse(""))
    load(model, [e._replace(size=e.size + 1) for e in every[10:]] + [entry(n) for n in (900, 901)])
    check(model)
    assert first.collapsed
    assert not any(group.collapsed for group in others)
    # What the filter lets through is all of it, seen or not: exports and totals count on it.
    assert {e.identity for e in rows if e in every[10:]} <= {e.identity for e in model.shown()}
    model.collapse(model.groups)
    assert model.lines == headings(model)
    model.collapse(model.groups, False)
    check(model)
    assert model.rowCount() == model.count + len(headings(model))


@pytest.mark.slow
def test_a_filter_takes_empty_groups_away(qtbot: QtBot) -> None:
    model = filled(entry(n) for n in range(60))
    model.group("kind")
    model.filter(parse("kind:code,pgo"))
    assert [group.name for group in headings(model)] == ["code", "pgo"]
    model.filter(parse("nothing-like-it"))
    assert model.rowCount() == model.count == 0
    model.filter(parse(""))
    assert len(headings(model)) == len(ENTRIES)
    check(model)


@pytest.mark.slow
def test_groups_fill_while_the_place_is_read(qtbot: QtBot) -> None:
    model = filled([])
    model.group("kind")
    model.collapse([])
    model.begin()
    for first in range(0, 90, 30):
        model.add([entry(n) for n in range(first, first + 30)])
        model.settle()
        check(model)
    assert model.count == 90
    model.collapse([headings(model)[2]])
    model.sort(SIZE, ASCENDING)
    model.add([entry(n) for n in range(90, 100)])
    model.filter(parse("-zzz"))
    model.end()
    check(model)
    sizes = [e.size for e in under(model, headings(model)[0])]
    assert sizes == sorted(sizes)


@pytest.mark.slow
def test_selection_and_current_row_stay_with_their_entries(qtbot: QtBot) -> None:
    every = [entry(n) for n in range(100)]
    model = filled(every)
    table = a_table(qtbot, model)
    chosen = {every[n].identity for n in (5, 6, 70, 90)}
    table.select(chosen)
    table.setCurrentIndex(model.index(7, 0))
    table.select(chosen)
    current = model.lines[7]
    for by in ("kind", "torch", "age", "none", "kind"):
        model.group(by)
        assert {e.identity for e in table.selected()} == chosen, by
        assert model.lines[table.currentIndex().row()] is current
        check(model)
    gone = {20, 30, 31}
    after = [e._replace(size=5000 + n) if n in (5, 60) else e
             for n, e in enumerate(every) if n not in gone]  # fmt: skip
    load(model, after + [entry(n) for n in range(1000, 1009)])
    assert {e.identity for e in table.selected()} == chosen
    assert model.lines[table.currentIndex().row()] is current
    check(model)
    # Nobody purges what they cannot see.
    model.collapse(model.groups)
    assert table.selected() == []


@pytest.mark.slow
def test_nothing_jumps_when_rows_come_into_groups(qtbot: QtBot) -> None:
    every = [entry(n, size=n) for n in range(1000, 1080)]
    model = filled(every)
    model.group("kind")
    table = a_table(qtbot, model)
    table.verticalScrollBar().setValue(40 * 30 + 7)
    top = model.lines[table.rowAt(0)]
    y = table.rowViewportPosition(table.rowAt(0))
    load(model, [*every, *(entry(n, size=9 * n) for n in range(2000, 2018))])
    assert table.rowViewportPosition(model.where({top})[top]) == y


@pytest.mark.slow
def test_keys_and_clicks_open_and_close_groups(qtbot: QtBot) -> None:
    model = filled(entry(n) for n in range(90))
    model.group("kind")
    table = a_table(qtbot, model)
    table.setCurrentIndex(model.index(2, 0))
    chosen = table.selected()
    assert len(chosen) == 1
    group = headings(model)[0]
    press(qtbot, table, Qt.Key.Key_Left)
    assert table.currentIndex().row() == 0
    assert table.selected() == chosen, "a heading takes no selection away"
    for key, collapsed in ((Qt.Key.Key_Space, True), (Qt.Key.Key_Return, False),
                           (Qt.Key.Key_Left, True), (Qt.Key.Key_Right, False)):  # fmt: skip
        press(qtbot, table, key)
        assert group.collapsed is collapsed
        assert table.currentIndex().row() == 0
        check(model)
    press(qtbot, table, Qt.Key.Key_Down)
    assert table.selected() == [entry_at(model, 1)]
    press(qtbot, table, Qt.Key.Key_End, Qt.Key.Key_Home)
    assert table.currentIndex().row() == 0
    kept = table.selected()
    assert len(kept) == 1
    qtbot.mouseClick(  # type: ignore[no-untyped-call]
        table.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(500, 12)
    )
    assert group.collapsed
    assert table.selected() == kept
    # The menu is about what is under the heading it is opened on.
    qtbot.mouseClick(  # type: ignore[no-untyped-call]
        table.viewport(), Qt.MouseButton.RightButton, pos=QPoint(500, 12)
    )
    assert [group.collapsed, len(table.selected())] == [False, len(group.rows)]
    assert len(group.rows) > len(kept)
    press(qtbot, table, Qt.Key.Key_Left)
    press(qtbot, table, Qt.Key.Key_Right)
    table.selectAll()
    assert len(table.selected()) == 90
    assert all(isinstance(e, Entry) for e in table.selected())
    # The heading of the rows at the top stays in sight, and works.
    table.verticalScrollBar().setValue(4 * 30)
    qtbot.mouseClick(  # type: ignore[no-untyped-call]
        table.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(500, 12)
    )
    assert group.collapsed


def test_a_heading_says_what_is_under_it(qtbot: QtBot) -> None:
    model = filled(entry(n, kind="fxgraph", size=1000, torch="2.9.1") for n in range(12))
    for by, text in (
        ("kind", "Kind FX graph, 12 entries, 12.0 kB of content, expanded"),
        ("torch", "Torch version 2.9.1, 12 entries, 12.0 kB of content, expanded"),
    ):
        model.group(by)
        index = model.index(0, 0)
        assert index.data(Qt.ItemDataRole.AccessibleTextRole) == text
        assert not index.flags() & Qt.ItemFlag.ItemIsSelectable
        assert not index.flags() & Qt.ItemFlag.ItemIsDragEnabled
    model.collapse(model.groups)
    assert "collapsed" in model.index(0, 3).data(Qt.ItemDataRole.AccessibleTextRole)


@pytest.mark.slow
def test_the_menu_groups_and_remembers(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, settings: QSettings
) -> None:
    window = open_window(fixture_cache)
    count = window.entries.count
    assert window.actions_["group-none"].isChecked()
    assert not window.actions_["collapse-all"].isEnabled()
    window.actions_["group-kind"].trigger()
    settle(qtbot)
    assert window.actions_["group-kind"].isChecked()
    assert window.totals.text().startswith(f"{count} entries")
    window.actions_["collapse-all"].trigger()
    assert window.entries.rowCount() == len(headings(window.entries))
    window.actions_["select-all"].trigger()
    assert window.table.selected() == []
    window.actions_["expand-all"].trigger()
    window.actions_["select-all"].trigger()
    settle(qtbot)
    assert len(window.table.selected()) == count
    assert window.totals.text().startswith(f"{count} of {count} selected")
    window.actions_["refresh"].trigger()
    qtbot.waitUntil(lambda: not window.listing.loading)
    assert len(window.table.selected()) == count
    check(window.entries)
    window.close_surely()
    again = open_window(fixture_cache)
    assert again.entries.grouping == "kind"
    assert headings(again.entries)
