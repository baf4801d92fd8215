"""Where the keyboard goes on when what it was at is gone: to the table or the page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSettings, QStringListModel, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QListWidget,
    QSplitter,
    QTableView,
    QWidget,
)
from pytestqt.qtbot import QtBot

from tests.gui import walking
from tests.gui.conftest import PATIENCE, OpenWindow, idle, listed, settle
from tests.gui.test_flows import open_dialog
from tests.shots.stage import turn
from torchkeeper.gui import navigator, theme
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.pages import ENTRIES, PAGES
from torchkeeper.gui.table.delegate import ROW_HEIGHT
from torchkeeper.gui.table.rows import Row
from torchkeeper.gui.widgets import lists
from torchkeeper.gui.widgets.emptystate import EmptyState
from torchkeeper.gui.window import Window


def at() -> QWidget:
    found = QApplication.focusWidget()
    assert found is not None, "nothing has the focus"
    return found


def goes_to(qtbot: QtBot, widget: QWidget) -> None:
    """The keyboard goes there, as soon as the window comes to it."""
    qtbot.waitUntil(lambda: QApplication.focusWidget() is widget, timeout=PATIENCE)


def press(key: Qt.Key, *held: Qt.KeyboardModifier) -> None:
    """Press a key wherever the keyboard is."""
    modifiers = Qt.KeyboardModifier.NoModifier
    for one in held:
        modifiers |= one
    QTest.keyClick(at(), key, modifiers)


def back(window: Window) -> None:
    """A dialog is closed: where there is no window manager, nobody else goes back."""
    window.activateWindow()
    turn()


@pytest.mark.slow
def test_after_a_purge_and_its_undo(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    window.activateWindow()
    total = window.entries.total
    window.head.box.setFocus()
    press(Qt.Key.Key_Down)
    goes_to(qtbot, window.table)
    for _ in range(3):
        press(Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    settle(qtbot)
    gone = {entry.identity for entry in window.table.selected()}
    assert len(gone) == 4
    # From the toolbar, with keys alone: its button is switched off when nothing is selected.
    button = window.tools.widgetForAction(window.actions_["purge"])
    button.setFocus()
    press(Qt.Key.Key_Space)
    dialog = open_dialog(qtbot, window, PurgeDialog)
    qtbot.waitUntil(lambda: dialog.plan is not None, timeout=PATIENCE)
    press(Qt.Key.Key_Escape)
    back(window)
    assert len(window.table.selected()) == 4
    window.table.setFocus()
    press(Qt.Key.Key_Delete)
    dialog = open_dialog(qtbot, window, PurgeDialog)
    qtbot.waitUntil(lambda: dialog.plan is not None, timeout=PATIENCE)
    button.setFocus()
    dialog.go.setFocus()
    press(Qt.Key.Key_Return)
    back(window)
    idle(qtbot, window)
    assert window.entries.total == total - 4
    settle(qtbot)
    assert not button.isEnabled()
    goes_to(qtbot, window.table)
    assert window.table.currentIndex().isValid(), "keys go on where the entries were"
    # Undo in the bar, which goes away with it.
    window.undo_bar.button.setFocus()
    press(Qt.Key.Key_Return)
    goes_to(qtbot, window.table)
    idle(qtbot, window)
    assert window.entries.total == total
    qtbot.waitUntil(
        lambda: {entry.identity for entry in window.table.selected()} == gone, timeout=PATIENCE
    )
    rows = window.entries.rows_of(gone)
    assert window.table.currentIndex().row() == rows[0]
    assert rows[0] in window.table.seen_lines()
    # What the filter hides stays hidden.
    press(Qt.Key.Key_Delete)
    dialog = open_dialog(qtbot, window, PurgeDialog)
    qtbot.waitUntil(lambda: dialog.plan is not None, timeout=PATIENCE)
    dialog.go.setFocus()
    press(Qt.Key.Key_Return)
    back(window)
    idle(qtbot, window)
    window.head.box.setText("kind:lock")
    settle(qtbot)
    window.table.setFocus()
    press(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    idle(qtbot, window)
    settle(qtbot)
    assert window.head.box.text() == "kind:lock"
    goes_to(qtbot, window.table)


@pytest.mark.slow
def test_what_is_hidden_or_switched_off_gives_it_to_the_table_or_the_page(
    qtbot: QtBot, settings: QSettings
) -> None:
    window = walking.opened(settings)
    window.activateWindow()
    window.table.go_to_row(0)
    both = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
    window.table.setFocus()
    press(Qt.Key.Key_I, *both)
    settle(qtbot)
    window.inspector.tabs.tabBar().setFocus()
    press(Qt.Key.Key_I, *both)
    goes_to(qtbot, window.table)
    # The table itself: what says why there is none has it, and gives it back.
    window.head.box.setText("no such entry")
    settle(qtbot)
    window.table.setFocus()
    assert window.empty.button is not None
    window.empty.button.setFocus()
    press(Qt.Key.Key_Space)
    settle(qtbot)
    goes_to(qtbot, window.table)
    window.head.box.setText("no such entry")
    settle(qtbot)
    assert window.empty.isAncestorOf(at())
    window.head.clear_filter()
    settle(qtbot)
    goes_to(qtbot, window.table)
    tool = window.tools.widgetForAction(window.actions_["refresh"])
    tool.setFocus()
    tool.setEnabled(False)
    goes_to(qtbot, window.table)
    tool.setEnabled(True)
    # On another page: something near, or its first control.
    page = window.show_page("doctor")
    settle(qtbot)
    tool.setFocus()
    tool.setEnabled(False)
    assert page.isAncestorOf(at())
    tool.setEnabled(True)
    inside = at()
    inside.hide()
    assert page.isAncestorOf(at()) or at() is page
    window.show_page(ENTRIES)
    window.table.setFocus()
    window.show_page("doctor")
    assert page.isAncestorOf(at()) or at() is page
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    window.deleteLater()


def test_the_keyboard_goes_from_the_table_into_the_inspector_and_back(
    qtbot: QtBot, settings: QSettings
) -> None:
    window = walking.opened(settings)
    window.activateWindow()
    window.table.clearSelection()
    window.navigator.go_to_page(ENTRIES)
    # The first row can be reached: Qt makes it the current one without anybody seeing that.
    press(Qt.Key.Key_Down)
    assert [index.row() for index in window.table.selectionModel().selectedRows()] == [0]
    press(Qt.Key.Key_Down)
    assert [index.row() for index in window.table.selectionModel().selectedRows()] == [1]
    settle(qtbot)
    press(Qt.Key.Key_Return)
    goes_to(qtbot, window.inspector.tabs.tabBar())
    press(Qt.Key.Key_Right)
    assert window.inspector.tabs.currentIndex() == 1
    press(Qt.Key.Key_Escape)
    goes_to(qtbot, window.table)
    assert [index.row() for index in window.table.selectionModel().selectedRows()] == [1]
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    window.deleteLater()


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_who_goes_to_a_page_is_in_its_list_and_sees_it(qtbot: QtBot, settings: QSettings) -> None:
    window = walking.opened(settings)
    window.resize(1366, 740)
    window.activateWindow()
    tool = window.tools.widgetForAction(window.actions_["warm"])
    for number, page in enumerate(PAGES, 1):
        window.following.show(None)
        drawer = window.following.drawer
        tool.setFocus()
        press(Qt.Key(Qt.Key.Key_0.value + number), Qt.KeyboardModifier.ControlModifier)
        qtbot.waitUntil(lambda page=page: window.pages.current == page, timeout=PATIENCE)  # type: ignore[misc]
        settle(qtbot)
        assert window.pages.isAncestorOf(at()), page
        if page in ("entries", "runs", "recipes"):
            assert isinstance(at(), QAbstractItemView), page
        top = at().mapTo(window, QPoint(0, min(100, at().height()))).y()
        assert not drawer.isVisible() or top <= drawer.y(), page
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    window.deleteLater()


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_who_goes_to_a_place_by_the_palette_is_in_its_table(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    other = Path(shutil.copytree(fixture_cache, tmp_path / "another one"))
    window = open_window(other)
    window.open_paths([str(fixture_cache)])
    listed(qtbot, window, fixture_cache)
    window.activateWindow()
    for page in (ENTRIES, "runs"):
        window.show_page(page)
        window.places_pane.choose(str(fixture_cache))
        listed(qtbot, window, fixture_cache)
        # From the toolbar: while the place is read, there is no table yet.
        window.tools.widgetForAction(window.actions_["warm"]).setFocus()
        press(Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        QTest.keyClicks(at(), "another one")
        press(Qt.Key.Key_Return)
        listed(qtbot, window, other)
        assert window.pages.current == ENTRIES
        goes_to(qtbot, window.table)


def test_down_from_the_filter_goes_to_the_first_that_it_leaves(
    qtbot: QtBot, settings: QSettings
) -> None:
    window = walking.opened(settings)
    window.activateWindow()
    window.table.clearSelection()
    total = window.entries.rowCount()
    window.head.box.setFocus()
    QTest.keyClicks(window.head.box, "kind:fxgraph")
    # Before the filter would have been used by itself.
    press(Qt.Key.Key_Down)
    goes_to(qtbot, window.table)
    qtbot.waitUntil(lambda: window.entries.rowCount() < total, timeout=PATIENCE)
    settle(qtbot)
    assert [index.row() for index in window.table.selectionModel().selectedRows()] == [0]
    assert [entry.kind for entry in window.table.selected()] == ["fxgraph"]
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    window.deleteLater()


def test_where_there_is_little_room_an_empty_state_keeps_its_words(qtbot: QtBot) -> None:
    state = EmptyState()
    qtbot.addWidget(state)
    words = "What this is for, and what to do next, in so many words. " * 4
    state.say("Nothing here yet", words)
    state.offer("Begin")
    state.resize(500, 480)
    state.show()
    settle(qtbot)
    assert state.picture.isVisible()
    # What is beside it is as greedy as a pane below the table.
    box, greedy = QSplitter(Qt.Orientation.Vertical), QWidget()
    qtbot.addWidget(box)
    greedy.setMinimumHeight(300)
    box.addWidget(state)
    box.addWidget(greedy)
    box.setChildrenCollapsible(False)
    box.resize(500, 520)
    box.setSizes([10, 500])
    box.show()
    settle(qtbot)
    assert not state.picture.isVisible()
    assert state.button is not None
    assert state.button.height() >= state.button.sizeHint().height()
    assert state.title.height() >= state.title.heightForWidth(state.title.width())
    assert state.text.height() >= state.text.heightForWidth(state.text.width())
    box.resize(500, 900)
    box.setSizes([560, 300])
    settle(qtbot)
    assert state.picture.isVisible()


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(
    ("first", "row"),
    [(Qt.Key.Key_Down, 0), (Qt.Key.Key_Up, 0), (Qt.Key.Key_Home, 0), (Qt.Key.Key_End, -1)],
    ids=["down", "up", "home", "end"],
)
def test_the_first_key_selects_a_row_of_any_list(
    qtbot: QtBot, rows: int, first: Qt.Key, row: int
) -> None:
    some = [str(number) for number in range(rows)]
    plain, tree, table = QListWidget(), lists.Table("Rows", ["Row"]), QTableView()
    plain.addItems(some)
    tree.addTopLevelItems([lists.line([text]) for text in some])
    table.setModel(QStringListModel(some, table))
    for view in (plain, tree, table):
        qtbot.addWidget(view)
        if view is table and first is Qt.Key.Key_End:
            continue  # of a table it is the last column, as everywhere
        view.show()
        view.activateWindow()
        view.setFocus()
        goes_to(qtbot, view)
        assert not view.selectionModel().hasSelection()
        press(first)
        (chosen,) = view.selectionModel().selectedRows()
        assert chosen.row() == row % rows
        press(Qt.Key.Key_Down)
        assert view.currentIndex().row() == min(rows - 1, row % rows + 1), "the next goes on"
        view.hide()


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_a_second_menu_opened_by_its_letter_gives_the_keyboard_back(
    qtbot: QtBot, settings: QSettings
) -> None:
    window = walking.opened(settings)
    window.activateWindow()
    window.table.setFocus()
    bar = window.menuBar()
    alt = Qt.KeyboardModifier.AltModifier

    def popup() -> QWidget:
        found = QApplication.activePopupWidget()
        assert found is not None
        return found

    for letter in (Qt.Key.Key_F, Qt.Key.Key_E):
        press(letter, alt)
        qtbot.waitUntil(lambda: QApplication.activePopupWidget() is not None, timeout=PATIENCE)
        QTest.keyClick(popup(), Qt.Key.Key_Escape)
        qtbot.waitUntil(lambda: QApplication.activePopupWidget() is None, timeout=PATIENCE)
        goes_to(qtbot, bar)
    press(Qt.Key.Key_Escape)
    goes_to(qtbot, window.table)
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    window.deleteLater()


@pytest.mark.slow
def test_a_table_without_a_selection_shows_where_the_keyboard_is(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    window.activateWindow()
    table, accent = window.table, QColor(theme.shades().accent)

    def framed(row: int) -> bool:
        settle(qtbot)
        image = table.viewport().grab().toImage()
        y = table.rowViewportPosition(row) + ROW_HEIGHT // 2
        return image.pixelColor(1, y) == accent

    window.head.box.setFocus()
    assert not framed(3)
    table.setFocus()
    assert not table.selectionModel().hasSelection()
    assert framed(0) and framed(3), "around all of it"
    press(Qt.Key.Key_Down)
    assert framed(0) and not framed(3), "the keyboard is at the one that is selected"
    press(Qt.Key.Key_Down, Qt.KeyboardModifier.ControlModifier)
    assert framed(1) and not framed(3) and len(table.selected()) == 1


@pytest.mark.slow
def test_a_filtered_list_begins_at_its_top_or_at_what_is_selected(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    window.resize(1000, 560)
    table, scroll = window.table, window.table.verticalScrollBar()
    settle(qtbot)
    scroll.setValue(scroll.maximum() - ROW_HEIGHT // 2)
    window.head.box.setText("kind:code")
    settle(qtbot)
    assert scroll.maximum() > 0 and scroll.value() == 0
    table.go_to_row(window.entries.rowCount() - 1)
    [chosen] = table.selected()
    window.head.box.setText("-kind:lock")
    settle(qtbot)
    assert table.selected() == [chosen]
    (row,) = window.entries.rows_of({chosen.identity})
    top = table.rowViewportPosition(row)
    assert 0 <= top <= table.viewport().height() - ROW_HEIGHT, "all of it is seen"


@pytest.mark.slow
def test_what_came_back_scattered_is_selected_as_far_as_is_quick(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(navigator, "_MOST_PIECES", 3)
    window = open_window(fixture_cache)
    rows = [row for row in range(12) if row % 3]
    lines = [window.entries.lines[row] for row in rows]
    window.navigator.select_shown({line.entry.identity for line in lines if isinstance(line, Row)})
    assert [index.row() for index in window.table.selectionModel().selectedRows()] == rows[:6]
    assert "the first 6 of 8" in window.statusBar().currentMessage()
    window.navigator.select_shown(
        {line.entry.identity for line in lines[:6] if isinstance(line, Row)}
    )
    assert len(window.table.selected()) == 6
