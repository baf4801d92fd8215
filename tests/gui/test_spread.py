"""The parts of the window at every size: it never grows by what it shows, nothing is squeezed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QSettings, QSize, Qt
from pytestqt.qtbot import QtBot

from tests.gui import walking
from tests.gui.conftest import PATIENCE, settle
from torchkeeper.gui.chrome.split import EMPTY, LEAST, LOWEST, NARROWEST
from torchkeeper.gui.pages import COMPARE, ENTRIES, PAGES
from torchkeeper.gui.table.delegate import ROW_HEIGHT
from torchkeeper.gui.table.rows import NAME
from torchkeeper.gui.window import Window

NAMES = 180


@pytest.fixture
def window(qtbot: QtBot, settings: QSettings) -> Iterator[Window]:
    made = walking.opened(settings)
    yield made
    made.close_surely()
    qtbot.waitUntil(lambda: not made.engines.running, timeout=PATIENCE)
    made.deleteLater()


def turned(qtbot: QtBot, window: Window) -> None:
    """Show or hide the inspector as a user does."""
    both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClick(window.table, Qt.Key.Key_I, both)  # type: ignore[no-untyped-call]
    settle(qtbot)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wide", "high"), [(1640, 900), (1366, 768), (1100, 700), (1000, 640), (800, 560)]
)
def test_the_window_stays_as_it_is(qtbot: QtBot, window: Window, wide: int, high: int) -> None:
    size = QSize(wide, high)
    window.resize(size)
    settle(qtbot)
    assert window.size() == size
    window.table.go_to_row(0)
    places = window.across.sizes()[0]
    assert places == 252
    for shown in (True, False, True):
        turned(qtbot, window)
        assert window.inspector.isVisible() == shown
        assert window.size() == size
        assert window.across.sizes()[0] == places
        assert window.pages.width() >= min(LEAST, wide - places - 2)
        assert window.table.columnWidth(NAME) >= (260 if wide == 1366 else NAMES)
        if shown:
            assert window.across.below == (wide - places - LEAST < window.inspector_frame.least)
            assert window.inspector.width() >= NARROWEST
            inside = window.rect().contains(
                window.inspector.mapTo(window, window.inspector.rect().bottomRight())
            )
            assert inside, "all of it is in the window"
    for page in (*PAGES, COMPARE, *reversed(PAGES)):
        window.show_page(page)
        settle(qtbot)
        assert window.size() == size, page
        assert window.across.sizes()[0] == places, page
    window.show_page(ENTRIES)
    assert window.inspector.isVisible()


def test_it_goes_below_and_back(qtbot: QtBot, window: Window, settings: QSettings) -> None:
    window.activateWindow()
    window.resize(1640, 900)
    turned(qtbot, window)
    window.table.go_to_row(0)
    settle(qtbot)
    assert window.inspector_frame.width() == 420
    window.inspector.tabs.tabBar().setFocus()
    for wide, below in ((1366, False), (900, True), (1366, False)):
        window.resize(wide, 768)
        settle(qtbot)
        assert window.across.below == below
        assert window.inspector.tabs.tabBar().hasFocus(), "who is in it stays there"
        assert window.inspector_frame.geometry().isValid()
    assert window.inspector_frame.width() == 420
    # What somebody has said is kept of each: beside, and below.
    window.across.setSizes([300, 564, 500])
    window.across.splitterMoved.emit(0, 1)
    assert settings.value("places/width") == 300
    assert settings.value("inspector/width") == window.inspector_frame.width() > 480
    window.resize(900, 768)
    settle(qtbot)
    assert window.across.sizes()[0] == 300
    window.resize(1366, 768)
    settle(qtbot)
    assert window.across.sizes()[0] == 300
    assert window.inspector_frame.width() == settings.value("inspector/width")


def test_a_long_name_does_not_hold_the_window(qtbot: QtBot, window: Window) -> None:
    window.resize(1640, 900)
    window.head.show_place("a cache " * 40, "/somewhere/very/deep" * 20)
    settle(qtbot)
    window.resize(1000, 700)
    settle(qtbot)
    assert window.width() == 1000


def test_the_sidebar_comes_and_goes_in_a_small_window(qtbot: QtBot, window: Window) -> None:
    window.resize(800, 560)
    turned(qtbot, window)
    assert window.across.below
    for shown in (False, True):
        qtbot.keyClick(window.table, Qt.Key.Key_F9)  # type: ignore[no-untyped-call]
        settle(qtbot)
        assert window.sidebar.isVisible() == shown
        assert window.size() == QSize(800, 560)
        assert window.pages.width() == (547 if shown else 800)
        assert window.across.below == (800 - 252 * shown - LEAST < window.inspector_frame.least)


@pytest.mark.slow
def test_below_the_table_an_empty_inspector_takes_little_room(
    qtbot: QtBot, window: Window, settings: QSettings
) -> None:
    window.resize(900, 620)
    window.inspector_frame.toggle()
    settle(qtbot)
    assert window.across.below and window.inspector_frame.height() == EMPTY
    assert window.inspector.low_blank.isVisible()
    # The last that is seen is selected: it stays in sight.
    (row,) = window.entries.rows_of({window.table.seen()[-1].identity})
    window.table.go_to_row(row)
    chosen = window.table.selected()
    qtbot.waitUntil(lambda: window.inspector_frame.height() >= LOWEST, timeout=PATIENCE)
    settle(qtbot)
    assert chosen[0] in window.table.seen()
    top = window.table.rowViewportPosition(window.table.currentIndex().row())
    assert 0 <= top <= window.table.viewport().height() - ROW_HEIGHT
    window.table.clearSelection()
    qtbot.waitUntil(lambda: window.inspector_frame.height() == EMPTY, timeout=PATIENCE)
    assert settings.value("inspector/height") is None, "nobody has said so"
    window.inspector.low_blank.button.click()
    qtbot.waitUntil(lambda: len(window.table.selected()) == 1, timeout=PATIENCE)
