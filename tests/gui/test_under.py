"""What the open drawer lies over: it has no letter of the drawer's, and never the keyboard."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial

import pytest
from PySide6.QtCore import QPoint, QRect, QSettings, QSignalBlocker, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QMenu, QTabBar, QWidget
from pytestqt.qtbot import QtBot

from tests.gui import faults, walking
from tests.gui.conftest import PATIENCE, settle
from tests.shots.scenes_warming import begun
from tests.shots.scenes_window import busy
from torchkeeper.gui.activity.under import under
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.pages import COMPARE, PAGES
from torchkeeper.gui.window import Window

ALT, NONE = Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.NoModifier


@pytest.fixture
def window(qtbot: QtBot, settings: QSettings) -> Iterator[Window]:
    made = walking.opened(settings)
    made.activateWindow()
    made.table.setFocus()
    made.table.go_to_row(0)
    settle(qtbot)
    yield made
    made.close_surely()
    qtbot.waitUntil(lambda: not made.engines.running, timeout=PATIENCE)
    made.deleteLater()


def at() -> QWidget:
    found = QApplication.focusWidget()
    assert found is not None, "nothing has the focus"
    return found


def tabs(window: Window) -> list[str]:
    """The letters of tabs that are shown."""
    bars = [one for one in window.findChildren(QTabBar) if one.isVisible()]
    texts = [one.tabText(number) for one in bars for number in range(one.count())]
    return [QKeySequence.mnemonic(text).toString() for text in texts]


def pressed_in(window: Window, key: Qt.Key, held: Qt.KeyboardModifier = NONE) -> None:
    """A key as the system gives it to the window."""
    handle = window.windowHandle()
    assert handle is not None
    QTest.keyClick(handle, key, held)


def released(some: list[QAbstractButton]) -> bool:
    return not any(one.isDown() for one in some)


def by_letter(window: Window) -> dict[str, list[QAbstractButton]]:
    found = defaultdict(list)
    for one in window.findChildren(QAbstractButton):
        if one.isVisible() and one.isEnabled() and one.window() is window:
            found[one.shortcut().toString()].append(one)
    found.pop("", None)
    return found


@pytest.mark.parametrize(
    "pages", [("runs", "recipes"), pytest.param((*PAGES, COMPARE), marks=pytest.mark.slow)]
)
@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_a_letter_is_of_one_button_on_every_page_with_the_drawer_open(
    qtbot: QtBot, window: Window, pages: tuple[str, ...]
) -> None:
    busy(window)
    window.undo_bar.offer(window.place or "", "5 entries moved to the trash", None)
    window.following.toggle()
    drawer = window.following.drawer
    failed = next(job for job in window.jobs.jobs if job.state is State.FAILED)
    menus = {QKeySequence.mnemonic(one.text()).toString() for one in window.menuBar().actions()}
    clashes = 0
    for page in pages:
        window.show_page(page)
        drawer.open_up()
        drawer.choose(failed)
        settle(qtbot)
        for keys, some in by_letter(window).items():
            assert keys not in menus, (page, keys, [one.text() for one in some])
            own = [one for one in some if drawer.isAncestorOf(one)]
            assert len(own) < 2, (page, keys)
            seen = [one for one in some if one not in own and not under(one, drawer)]
            clashes += len(some) > 1
            letter = Qt.Key(ord(keys[-1]))
            for start, *parts in ((drawer.list, own, seen), (window.sidebar.pages, seen, own)):
                drawer.open_up()
                start.setFocus()
                settle(qtbot)
                meant = [one for part in parts for one in part if one.isEnabled()]
                if not meant or (start is window.sidebar.pages and keys in tabs(window)):
                    continue
                assert not under(at(), drawer)
                blocked = [QSignalBlocker(one) for one in some]
                texts = [one.text() for one in some]
                pressed_in(window, letter, ALT)
                assert [one.text() for one in some] == texts
                pressed = [one for one in some if one.isDown()]
                assert pressed == meant[:1], (page, keys, [one.text() for one in pressed])
                qtbot.waitUntil(partial(released, some))
                for blocker in blocked:
                    blocker.unblock()
    assert clashes, "the test is about these"


def test_what_asks_to_go_on_is_not_where_cancel_was(qtbot: QtBot, window: Window) -> None:
    begun(window, 9, (4, 7), running=2)
    window.following.toggle()
    drawer, job = window.following.drawer, window.jobs.jobs[0]
    drawer.choose(job)
    settle(qtbot)
    assert drawer.cancel_button.isVisible()
    cancel = drawer.cancel_button
    room = QRect(cancel.mapTo(window, QPoint()), cancel.size())
    window.jobs.end(job, State.CANCELLED)
    settle(qtbot)
    assert drawer.bad.isVisible() and drawer.bad.text() == "W&arm the rest"
    there = window.childAt(room.center())
    assert there is None or not isinstance(there, QAbstractButton)


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_shift_f10_opens_the_menu_of_what_has_the_keyboard(qtbot: QtBot, window: Window) -> None:
    for widget in (window.table, window.places_pane.list, window.head.box):
        widget.setFocus()
        QTest.keyClick(widget, Qt.Key.Key_F10, Qt.KeyboardModifier.ShiftModifier)
        qtbot.waitUntil(lambda: isinstance(QApplication.activePopupWidget(), QMenu))
        menu = QApplication.activePopupWidget()
        assert menu is not None
        QTest.keyClick(menu, Qt.Key.Key_Escape)
        qtbot.waitUntil(lambda: QApplication.activePopupWidget() is None)
        window.activateWindow()


def test_tab_scrolls_to_what_it_goes_to(qtbot: QtBot, window: Window) -> None:
    window.resize(1100, 420)
    settle(qtbot)
    area = window.sidebar.area
    area.verticalScrollBar().setValue(area.verticalScrollBar().maximum())
    assert area.verticalScrollBar().value() > 0
    window.sidebar.pages.setFocus()
    QTest.keyClick(at(), Qt.Key.Key_Tab)
    head = at()
    assert area.isAncestorOf(head) and not head.visibleRegion().isEmpty()


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_a_button_that_vanishes_behind_a_menu_gives_the_keyboard_on(
    qtbot: QtBot, window: Window
) -> None:
    if not window.inspector_frame.isVisible():
        window.actions_["inspector"].trigger()
    window.head.box.setText("rotary")
    window.table.clearSelection()
    settle(qtbot)
    button = window.inspector.blank.button
    assert button is not None and button.isVisible()
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_V, ALT)
    qtbot.waitUntil(lambda: QApplication.activePopupWidget() is not None)
    window.head.box.setText("nothing is like this")
    settle(qtbot)
    assert not button.isVisible()
    popup = QApplication.activePopupWidget()
    assert popup is not None
    QTest.keyClick(popup, Qt.Key.Key_Escape)
    qtbot.waitUntil(window.menuBar().hasFocus, timeout=PATIENCE)
    QTest.keyClick(at(), Qt.Key.Key_Escape)
    assert at().isVisible() and at() is not window.menuBar()
    assert not window.tools.isAncestorOf(at())


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_columns_go_by_letters_and_space_keeps_the_menu(qtbot: QtBot, window: Window) -> None:
    window.table.horizontalHeader().customContextMenuRequested.emit(QPoint(5, 5))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert faults.letters_of(menu.actions()) == []
    some = [one for one in menu.actions() if one.isVisible() and one.isCheckable()]
    assert sum("&" in one.text() for one in some) > len(some) - 4
    action = next(one for one in some if one.isEnabled())
    menu.setActiveAction(action)
    for on in (not action.isChecked(), action.isChecked()):
        QTest.keyClick(menu, Qt.Key.Key_Space)
        assert action.isChecked() is on and menu.isVisible()
    menu.close()


def test_who_is_under_the_drawer_when_it_opens_is_in_it(qtbot: QtBot, window: Window) -> None:
    table = window.table
    table.go_to_row(window.entries.rowCount() - 1)
    settle(qtbot)
    busy(window)
    window.following.show(window.jobs.jobs[0])
    drawer = window.following.drawer
    assert drawer.holds_focus, "its row was hidden"
    pressed_in(window, Qt.Key.Key_Escape)
    assert at() is table and not drawer.isVisible()
    # Who sees what they are at stays there.
    table.go_to_row(0)
    settle(qtbot)
    window.following.show(window.jobs.jobs[0])
    assert drawer.isVisible() and at() is table
    # Of a lower window too little of the table is left: there it is in the drawer.
    drawer.shut()
    high = window.height()
    window.resize(window.width(), 740)
    settle(qtbot)
    window.following.show(window.jobs.jobs[0])
    assert drawer.holds_focus and not under(table, drawer), "a row was in sight"
    pressed_in(window, Qt.Key.Key_Escape)
    window.resize(window.width(), high)
    settle(qtbot)
    window.following.show(window.jobs.jobs[0])
    assert at() is table
    # And who goes under it closes it: nothing is done to what nobody sees.
    for _ in range(window.entries.rowCount()):
        pressed_in(window, Qt.Key.Key_Down)
        settle(qtbot)
        if not drawer.isVisible():
            break
        assert not under(table, drawer)
    assert not drawer.isVisible() and at() is table
