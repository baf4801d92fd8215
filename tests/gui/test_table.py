"""The table a day long: columns, copies, rows that come and go."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, QSettings, Qt
from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, entry_at, settle
from tests.gui.test_models import entry, load, under_test
from tests.pace import within
from torchkeeper.artifacts.entry import KINDS, VERDICTS, Entry
from torchkeeper.client.words.say import kind_words
from torchkeeper.gui.places import listing
from torchkeeper.gui.table import mimedata
from torchkeeper.gui.table.columns import KEY as KEPT
from torchkeeper.gui.table.columns import Columns
from torchkeeper.gui.table.delegate import MARKED, PAD, EntryDelegate, first_widths
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.rows import (
    COLUMNS,
    EXPIRES,
    FILES,
    HIDDEN_FIRST,
    KEY,
    KIND,
    NAME,
    NOT_SERVERS,
    RANKED,
    SERVERS,
    SIZE,
    TORCH,
    USED,
    VERDICT,
    verdict_words,
)
from torchkeeper.gui.table.view import EntryTable

ASCENDING, DESCENDING = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder


def columns(qtbot: QtBot, settings: QSettings) -> tuple[EntryTable, Columns]:
    table = EntryTable(EntriesModel())
    qtbot.addWidget(table)
    table.resize(1200, 300)
    return table, Columns(table, settings)


def order(table: EntryTable) -> list[str]:
    header = table.horizontalHeader()
    return [COLUMNS[header.logicalIndex(place)] for place in range(len(COLUMNS))]


@pytest.mark.slow
def test_columns_are_remembered_and_reset(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    header = window.table.horizontalHeader()
    assert header.isSectionHidden(KEY) and header.isSectionHidden(FILES), "until they are wanted"
    window.columns.actions[KEY].trigger()
    assert not header.isSectionHidden(KEY)
    header.moveSection(header.visualIndex(TORCH), 0)
    header.resizeSection(TORCH, 211)
    window.table.sortByColumn(NAME, ASCENDING)
    moved = order(window.table)
    assert moved[0] == "torch"
    window.close_surely()
    again = open_window()
    header = again.table.horizontalHeader()
    assert order(again.table) == moved
    assert not header.isSectionHidden(KEY)
    assert again.columns.actions[KEY].isChecked()
    assert header.sectionSize(TORCH) == 211
    assert (header.sortIndicatorSection(), header.sortIndicatorOrder()) == (NAME, ASCENDING)
    again.columns.reset()
    assert order(again.table) == list(COLUMNS)
    assert header.isSectionHidden(KEY)
    assert header.sectionSize(TORCH) == first_widths()[TORCH]
    assert (header.sortIndicatorSection(), header.sortIndicatorOrder()) == (SIZE, DESCENDING)


@pytest.mark.slow
def test_columns_are_chosen_at_the_header_and_in_the_menu(
    open_window: OpenWindow, fixture_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The offscreen platform cannot grab the keyboard for a popup.
    monkeypatch.setattr(QMenu, "popup", lambda *_: None)
    window = open_window(fixture_cache)
    header = window.table.horizontalHeader()
    header.customContextMenuRequested.emit(QPoint(40, 10))
    menu = window.table.findChild(QMenu, "columns")
    assert menu is not None
    assert menu.actions()[: len(COLUMNS)] == window.columns.actions
    menu.deleteLater()
    view = next(a.menu() for a in window.menuBar().actions() if a.text() == "&View")
    assert isinstance(view, QMenu)
    [chooser] = [a.menu() for a in view.actions() if a.text() == "&Columns"]
    assert isinstance(chooser, QMenu)
    assert chooser.actions()[: len(COLUMNS)] == window.columns.actions


@pytest.mark.slow
def test_the_table_is_sorted_by_a_menu(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    view = next(one.menu() for one in window.menuBar().actions() if one.text() == "&View")
    assert isinstance(view, QMenu)
    view.aboutToShow.emit()
    by = next(one.menu() for one in view.actions() if one.text() == "Sort &by")
    assert isinstance(by, QMenu)
    items = {action.text().replace("&", ""): action for action in by.actions()}
    assert items["Content"].isChecked() and not items["Expires"].isVisible()
    for text in ("Name", "Files"):
        items[text].trigger()
        by.aboutToShow.emit()
        assert items[text].isChecked()
    files = [entry.files for entry in window.entries.shown()]
    assert files == sorted(files, reverse=True) and len(set(files)) > 1
    items["Reverse order"].trigger()
    assert [entry.files for entry in window.entries.shown()] == sorted(files)


def test_a_server_has_columns_of_its_own(qtbot: QtBot, settings: QSettings) -> None:
    table, chosen = columns(qtbot, settings)
    header = table.horizontalHeader()

    def seen() -> set[int]:
        return {n for n in range(len(COLUMNS)) if not header.isSectionHidden(n)}

    every = set(range(len(COLUMNS))) - RANKED
    assert seen() == every - SERVERS - HIDDEN_FIRST
    chosen.use(True)
    assert seen() == every - NOT_SERVERS - HIDDEN_FIRST
    assert {n for n, a in enumerate(chosen.actions) if a.isVisible()} == every - NOT_SERVERS
    header.resizeSection(EXPIRES, 137)
    table.sortByColumn(USED, ASCENDING)
    chosen.actions[KEY].trigger()
    chosen.use(False)
    assert seen() == every - SERVERS - {FILES}
    assert header.sortIndicatorSection() == SIZE, "not by what cannot be seen"
    table.sortByColumn(NAME, ASCENDING)
    chosen.use(True)
    assert header.sortIndicatorSection() == USED
    assert header.sectionSize(EXPIRES) == 137
    chosen.keep()
    again, remembered = columns(qtbot, settings)
    header = again.horizontalHeader()
    assert header.sortIndicatorSection() == SIZE
    remembered.use(True)
    assert (header.sortIndicatorSection(), header.sortIndicatorOrder()) == (USED, ASCENDING)
    assert header.sectionSize(EXPIRES) == 137
    assert seen() == every - NOT_SERVERS - {FILES}


def test_ranks_have_a_column_where_there_are_some(qtbot: QtBot, settings: QSettings) -> None:
    table, chosen = columns(qtbot, settings)
    header = table.horizontalHeader()
    [rank] = RANKED
    table.sortByColumn(NAME, ASCENDING)
    chosen.use(False, True)
    assert not header.isSectionHidden(rank) and header.sortIndicatorSection() == NAME
    table.sortByColumn(rank, ASCENDING)
    chosen.use(False)
    assert header.isSectionHidden(rank)
    assert header.sortIndicatorSection() == SIZE, "not by what cannot be seen"


def test_the_name_takes_what_is_left_also_where_columns_are_hidden(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    window.resize(1360, 700)
    header = window.table.horizontalHeader()

    def whole() -> bool:
        settle(qtbot)
        return header.length() == window.table.viewport().width()

    assert whole()
    widths = [header.sectionSize(column) for column in range(len(COLUMNS))]
    assert max(widths) == header.sectionSize(NAME)
    # Put in another order, the header shows what is hidden for a moment.
    window.table.sortByColumn(KIND, ASCENDING)
    assert whole()
    window.columns.actions[KEY].trigger()
    assert whole()
    window.table.sortByColumn(NAME, ASCENDING)
    assert whole()
    window.columns.use(True)
    assert whole()
    window.group_by.group("kind")
    assert whole()


@pytest.mark.slow
def test_a_name_that_was_dragged_wide_stays_so(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    window.resize(1100, 700)
    settle(qtbot)
    header = window.table.horizontalHeader()
    least = header.sectionSize(NAME)
    header.resizeSection(NAME, least + 90)  # as a drag of its border does
    window.table.sortByColumn(KEY, ASCENDING)
    settle(qtbot)
    assert header.sectionSize(NAME) == least + 90
    window.group_by.group("kind")
    settle(qtbot)
    assert header.sectionSize(NAME) == least + 90
    window.close_surely()
    again = open_window(fixture_cache)
    again.resize(1100, 700)
    settle(qtbot)
    assert again.table.horizontalHeader().sectionSize(NAME) == least + 90, "the next time, too"
    again.columns.reset()
    assert again.table.horizontalHeader().sectionSize(NAME) < least + 90
    again.columns.keep()
    assert again.table.name.own == 0


def test_one_column_always_stays(qtbot: QtBot, settings: QSettings) -> None:
    table, chosen = columns(qtbot, settings)
    for action in chosen.actions:
        if action.isEnabled() and action.isChecked():
            action.trigger()
    assert [a.isChecked() and a.isVisible() for a in chosen.actions].count(True) == 1
    assert table.horizontalHeader().hiddenSectionCount() == len(COLUMNS) - 1


@pytest.mark.parametrize(
    "kept",
    [
        "",
        "{",
        "[" * 100_000,
        b"\x00\xff\x00\x00",
        "[1]",
        '{"version": 2, "hidden": ["key"]}',
        json.dumps({"version": 1, "hidden": list(COLUMNS)}),
        json.dumps({"version": 1, "hidden": 7, "order": "kind", "widths": [1], "sort": {}}),
        json.dumps({"version": 1, "order": [["kind"], None], "widths": {"key": 10**9}}),
        json.dumps({"version": 1, "widths": {"key": -5, "size": True}, "sort": ["nothing", 1]}),
        json.dumps({"version": 1, "sort": [["kind"], True]}),
    ],
)
def test_what_makes_no_sense_is_passed_over(
    qtbot: QtBot, settings: QSettings, kept: str | bytes
) -> None:
    settings.setValue(KEPT, kept)
    table, _ = columns(qtbot, settings)
    header = table.horizontalHeader()
    assert order(table) == list(COLUMNS)
    hidden = {NAME, *SERVERS, *RANKED, *HIDDEN_FIRST}
    assert header.hiddenSectionCount() == len(hidden) - 1
    seen = {n: width for n, width in first_widths().items() if n not in hidden}
    assert {n: header.sectionSize(n) for n in seen} == seen
    assert header.sortIndicatorSection() == SIZE


def test_the_name_of_no_kind_and_no_verdict_is_cut(
    qtbot: QtBot, settings: QSettings, qapp: QApplication
) -> None:
    before = qapp.font()
    for points in (8, 10, 16):
        font = QFont(before)
        font.setPointSize(points)
        qapp.setFont(font)
        try:
            table, _ = columns(qtbot, settings)
            delegate = EntryDelegate(table, EntriesModel(table))
            for column, words in (
                (KIND, map(kind_words, KINDS)), (VERDICT, map(verdict_words, VERDICTS)),
            ):  # fmt: skip
                room = table.columnWidth(column) - MARKED - PAD
                for text in words:
                    assert delegate._fitting(text, room, fixed=False) == text
        finally:
            qapp.setFont(before)


def test_a_column_of_a_later_version_finds_its_place(qtbot: QtBot, settings: QSettings) -> None:
    older = [name for name in COLUMNS if name != "size"]
    kept = {"version": 1, "order": [older[1], older[0], *older[2:], "gone"], "hidden": ["gone"]}
    settings.setValue(KEPT, json.dumps(kept))
    table, _ = columns(qtbot, settings)
    assert order(table)[:6] == ["name", "kind", "rank", "verdict", "key", "size"]
    assert table.horizontalHeader().visualIndex(KIND) == 1


def test_copies_what_the_command_line_prints_and_takes(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    place = fixture_cache.rename(fixture_cache.parent / "it's a cache")
    window = open_window(place)
    window.table.selectAll()
    settle(qtbot)
    clipboard = QGuiApplication.clipboard()
    window.actions_["copy-json"].trigger()
    command = [sys.executable, "-m", "torchkeeper"]
    ls = [*command, "ls", "--json", str(place)]
    printed = subprocess.run(ls, capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in printed.stdout.splitlines()]
    assert {row.pop("schema") for row in rows} == {"torchkeeper/ls/1"}
    copied = [json.loads(line) for line in clipboard.text().splitlines()]
    assert sorted(copied, key=lambda row: row["path"]) == sorted(rows, key=lambda row: row["path"])
    window.table.go_to_row(0)
    settle(qtbot)
    window.actions_["copy-command"].trigger()
    words = shlex.split(clipboard.text())
    assert words == ["torchkeeper", "show", str(place), entry_at(window.entries, 0).key]
    shown = subprocess.run([*command, *words[1:]], capture_output=True, text=True, check=True)
    assert words[-1] in shown.stdout


def test_a_key_that_looks_like_an_option_is_none() -> None:
    odd = [entry(1, key="-x y"), entry(2, key="-x y"), entry(3, key="$(rm)")]
    assert list(mimedata.commands("/a b/", odd)) == [
        "torchkeeper show '/a b/' -- '-x y'",
        "torchkeeper show '/a b/' '$(rm)'",
    ]


def test_many_lines_are_copied_without_a_pause(qtbot: QtBot) -> None:
    copier = mimedata.Copier()
    clipboard = QGuiApplication.clipboard()
    clipboard.setText("before")
    many = [entry(n) for n in range(60_000)]
    begun = time.thread_time()
    copier.put(mimedata.objects(many))
    assert time.thread_time() - begun < within(0.1)
    assert copier.busy
    copier.put(mimedata.keys(many[:3]))
    assert clipboard.text().split() == [e.key for e in many[:3]]
    copier.put(mimedata.objects(many[:20_000]))
    qtbot.waitUntil(lambda: not copier.busy)
    assert clipboard.text().count("\n") == 19_999


@pytest.mark.slow
@pytest.mark.parametrize("many", [False, True])
def test_nothing_jumps_when_rows_come_and_go(qtbot: QtBot, many: bool) -> None:
    before = [entry(n, size=n) for n in range(1000, 1400)]
    model = EntriesModel()
    under_test(model)
    load(model, before)
    table = EntryTable(model)
    qtbot.addWidget(table)
    table.resize(900, 400)
    table.show()
    table.verticalScrollBar().setValue(100 * 30 + 7)
    chosen = entry_at(model, 105).identity
    table.setCurrentIndex(model.index(105, 0))
    top = entry_at(model, table.rowAt(0)).identity
    places = [table.rowViewportPosition(row) for row in (table.rowAt(0), 105)]
    # Of size 1399 down: some above what is seen go and come, and one changes.
    step = 2 if many else 400
    after = [e for e in before if e.size % step or e.identity in (top, chosen)]
    after += [entry(n, size=n) for n in range(2000, 2030)]
    after = [e._replace(files=99) if e.size == 1305 else e for e in after]
    told: list[tuple[int, int]] = []
    model.dataChanged.connect(lambda a, b, *_: told.append((a.row(), b.row())))
    load(model, after)
    [at], [first] = model.rows_of({chosen}), model.rows_of({top})
    assert at != 105
    assert table.currentIndex().row() == at
    assert [e.identity for e in table.selected()] == [chosen]
    # What is between the two may have gone; the current row is what the eye is on.
    assert table.rowViewportPosition(at) == places[1]
    assert many or table.rowViewportPosition(first) == places[0]
    assert {entry_at(model, a).size for a, b in told if a == b} == {1305}
    assert model.total == len(after)
    # Without a current row in sight, the top one stays.
    table.clearSelection()
    table.setCurrentIndex(model.index(0, 0))
    table.verticalScrollBar().setValue(200 * 30 + 3)
    top = entry_at(model, table.rowAt(0)).identity
    load(model, before)
    [first] = model.rows_of({top})
    assert table.rowViewportPosition(first) == -3
    # At the very top, what is new appears.
    table.verticalScrollBar().setValue(0)
    table.setCurrentIndex(
        model.index(300, 0),
    )
    table.verticalScrollBar().setValue(0)
    load(model, after)
    assert table.verticalScrollBar().value() == 0


def kinds_of(entries: list[Entry]) -> set[str]:
    return {e.kind for e in entries}


@pytest.mark.slow
def test_what_is_compiled_meanwhile_appears(
    qtbot: QtBot,
    open_window: OpenWindow,
    fixture_cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listing, "SLOW", 0.2)
    monkeypatch.setattr(listing, "_SHARE", 1.0)
    place = tmp_path / "place"
    window = open_window()
    window.places.add(str(place))
    window.places_pane.choose(str(place))
    qtbot.waitUntil(lambda: window.listing.error is not None, timeout=PATIENCE)
    told: list[object] = []
    window.listing.changed.connect(lambda: told.append(window.listing.loading))
    qtbot.wait(600)
    assert told == [], "a place that is still missing is nothing new"
    monkeypatch.setattr(listing, "FAST", 0.2)
    kinds: dict[str, int] = {}
    for name in ("fxgraph", "aotautograd"):
        # All at once: a look could see half of what is copied, and be content.
        whole = shutil.copytree(fixture_cache / name, tmp_path / name)
        place.mkdir(exist_ok=True)
        whole.rename(place / name)
        shown = window.entries.shown
        qtbot.waitUntil(lambda: kinds_of(shown()) == {*kinds, name}, timeout=PATIENCE)  # noqa: B023
        kinds[name] = window.entries.total
    assert kinds["aotautograd"] > kinds["fxgraph"]
    settle(qtbot)
    assert window.stack.currentWidget() is window.table
    assert window.totals.text().startswith(f"{window.entries.total} entries")
    chosen = {e.identity for e in window.entries.shown() if e.kind == "fxgraph"}
    window.table.select(chosen)
    shutil.rmtree(place / "aotautograd")
    qtbot.waitUntil(lambda: window.entries.total == kinds["fxgraph"], timeout=PATIENCE)
    assert {e.identity for e in window.table.selected()} == chosen
    qtbot.wait(400)
    told.clear()
    rows: list[object] = []
    window.engines.worker.rows.connect(lambda *_: rows.append(1))
    with qtbot.waitSignal(window.listing.over, timeout=PATIENCE) as over:
        pass
    assert (over.args, told, rows) == ([False], [], []), "what is as it was is not sent again"
    assert True not in told, "nobody is told to wait"


@pytest.mark.slow
def test_a_place_is_looked_at_only_while_it_can_be_seen_and_seldom_if_it_is_slow(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "SLOW", 0.1)
    monkeypatch.setattr(listing, "_SHARE", 1.0)
    window = open_window(fixture_cache)
    with qtbot.waitSignal(window.listing.over, timeout=PATIENCE):
        pass
    window.hide()
    qtbot.waitUntil(lambda: window.listing.can_poll, timeout=PATIENCE)
    looks: list[object] = []
    window.listing.over.connect(looks.append)
    qtbot.wait(500)
    assert looks == []
    window.show()
    qtbot.waitUntil(lambda: bool(looks), timeout=PATIENCE)
    qtbot.waitUntil(lambda: window.listing.can_poll, timeout=PATIENCE)
    window.listing.took = 60.0
    assert window._watch is not None
    window._watch.update()
    assert window._watch._pause() == 60.0


@pytest.mark.slow
def test_a_crash_while_nobody_asked_leaves_what_is_shown(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    total = window.entries.total
    [line] = [line for line in window.engines.worker._lines if line.shared and not line.aside]
    os.kill(line.engine.pid, signal.SIGSTOP)
    window.listing.poll()
    assert window.listing.can_poll is False
    assert "reading" not in window.totals.text()
    qtbot.waitUntil(lambda: bool(line.asked), timeout=PATIENCE)
    os.kill(line.engine.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: window.error_bar.error is not None, timeout=PATIENCE)
    assert window.entries.total == total
    assert window.listing.error is None
    window.listing.poll()
    window.listing.refresh()
    settle(qtbot)
    qtbot.waitUntil(lambda: not window.listing.loading, timeout=PATIENCE)
    assert window.entries.total == total


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(COLUMNS),
    lambda inner: st.lists(inner, max_size=9) | st.dictionaries(st.sampled_from(COLUMNS), inner),
    max_leaves=12,
)


@pytest.mark.slow
@hypothesis_settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.fixed_dictionaries(dict.fromkeys(("order", "hidden", "widths", "sort"), _ANY)))
def test_whatever_was_kept_the_table_can_be_used(
    qtbot: QtBot, settings: QSettings, kept: dict[str, Any]
) -> None:
    settings.setValue(KEPT, json.dumps({"version": 1, **kept}))
    table, chosen = columns(qtbot, settings)
    header = table.horizontalHeader()
    assert header.hiddenSectionCount() < len(COLUMNS)
    chosen.use(True)
    assert header.hiddenSectionCount() < len(COLUMNS)
    assert sorted(order(table)) == sorted(COLUMNS)
    assert all(header.sectionSize(n) <= 2000 for n in range(len(COLUMNS)) if n != NAME)
    chosen.keep()
    table.close()


def test_a_row_is_chosen_whatever_keys_are_held(qtbot: QtBot) -> None:
    table = EntryTable(EntriesModel())
    qtbot.addWidget(table)
    load(table.entries, [entry(n) for n in range(4)])
    keys = [one.key for one in table.entries.shown()]
    table.show()
    table.go_to_row(1)
    held = Qt.KeyboardModifier.ControlModifier
    qtbot.keyPress(table, Qt.Key.Key_Control, held)  # type: ignore[no-untyped-call]
    assert QGuiApplication.keyboardModifiers() == held
    for row in (1, 2):
        table.go_to_row(row)
        assert [one.key for one in table.selected()] == [keys[row]]
    qtbot.keyRelease(table, Qt.Key.Key_Control)  # type: ignore[no-untyped-call]
