"""Compare is a view over the pages: what opens it, the ways back, and what was compared before."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QPoint, QSettings, Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, click, key, sample_window, settle, type_in
from tests.shots.sample_engines import SampleEngines
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.pages import COMPARE, ENTRIES, PAGES
from torchkeeper.gui.pages.comparing.page import ComparePage
from torchkeeper.gui.window import PAGE, Window

CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
ALT = Qt.KeyboardModifier.AltModifier


@pytest.fixture
def window(qtbot: QtBot, settings: QSettings) -> Iterator[Window]:
    """The window over the samples, at its entries."""
    settings.setValue(PAGE, ENTRIES)
    engines = SampleEngines()
    engines.cause = "inputs"
    with sample_window(qtbot, settings, engines, 1360, 800) as made:
        made.table.setFocus()
        yield made


def select(qtbot: QtBot, window: Window, *numbers: int) -> None:
    """Select graphs in the table, by their numbers."""
    graphs = [e for e in window.entries.shown() if e.kind == "fxgraph" and not e.problem]
    window.table.select({graphs[number].identity for number in numbers})
    window.table.setFocus()
    settle(qtbot)


def focused(window: Window) -> QWidget:
    """What has the keyboard."""
    at = window.focusWidget()
    assert at is not None
    return at


def compared(qtbot: QtBot, window: Window) -> ComparePage:
    """The view, as soon as it says what differs."""
    assert window.pages.current == COMPARE
    page = window.pages.page
    assert isinstance(page, ComparePage)
    qtbot.waitUntil(lambda: page.found is not None and page.tree.settled, timeout=PATIENCE)
    settle(qtbot)
    return page


def palette(qtbot: QtBot, window: Window, typed: str) -> None:
    """Do what the palette finds for a text."""
    key(qtbot, focused(window), Qt.Key.Key_K, CONTROL)
    settle(qtbot)
    type_in(qtbot, window.palette_.field, typed)
    assert window.palette_.list.picks[0].name == "Compare…"
    key(qtbot, window.palette_.field, Qt.Key.Key_Return)
    settle(qtbot)


def test_a_selection_opens_it_and_there_are_four_ways_back(qtbot: QtBot, window: Window) -> None:
    shown = window.sidebar.pages
    assert COMPARE not in {*PAGES, *(item.id for item in shown.items.items)}
    ways: tuple[Callable[[ComparePage], None], ...] = (
        lambda page: click(qtbot, page.back),
        lambda _: key(qtbot, focused(window), Qt.Key.Key_Escape),
        lambda _: key(qtbot, focused(window), Qt.Key.Key_Left, ALT),
        lambda _: key(qtbot, focused(window), Qt.Key.Key_B, ALT),
    )
    for way in ways:
        select(qtbot, window, 0, 1)
        key(qtbot, window.table, Qt.Key.Key_D, CONTROL)
        page = compared(qtbot, window)
        assert page.back.isVisible() and page.back.text() == "&Back to Entries"
        assert page.isAncestorOf(focused(window))
        assert shown.items.current == ENTRIES, "what it is over is marked"
        way(page)
        qtbot.waitUntil(lambda: window.pages.current == ENTRIES, timeout=PATIENCE)
    key(qtbot, focused(window), Qt.Key.Key_Right, ALT)
    assert window.pages.current == COMPARE
    page.back.setFocus()
    key(qtbot, page.back, Qt.Key.Key_Return)
    assert window.pages.current == ENTRIES


def test_it_leads_back_to_the_page_that_it_is_over(
    qtbot: QtBot, window: Window, settings: QSettings
) -> None:
    key(qtbot, focused(window), Qt.Key.Key_3, CONTROL)
    assert window.pages.current == "runs", "the numbers are those of the pages"
    palette(qtbot, window, "compare")
    page = window.pages.page
    assert isinstance(page, ComparePage)
    assert (page.back.text(), window.sidebar.pages.items.current) == ("&Back to Runs", "runs")
    assert settings.value(PAGE) == "runs", "the next start shows a page"
    assert page.isAncestorOf(focused(window))
    # From here the sidebar leads back as well.
    shown = window.sidebar.pages
    at: QPoint = shown.visualRect(shown.items.index(shown.items.row_of("runs"))).center()
    click(qtbot, shown.viewport(), at)
    assert window.pages.current == "runs"
    key(qtbot, focused(window), Qt.Key.Key_6, CONTROL)
    assert window.pages.current == "doctor"
    # However often it was gone to and fro, there is a way back.
    for _ in range(60):
        window.show_page(COMPARE)
        window.show_page("doctor")
    while window.pages.can_go_back:
        window.pages.back()
    assert window.pages.current == ENTRIES


def test_without_a_selection_it_says_what_to_select_or_what_was_compared(
    qtbot: QtBot, window: Window
) -> None:
    window.table.clearSelection()
    settle(qtbot)
    palette(qtbot, window, "compare")
    page = window.pages.page
    assert isinstance(page, ComparePage)
    assert "Select two entries" in page.blank.text.text() and not page.past.isVisible()
    key(qtbot, focused(window), Qt.Key.Key_Escape)
    # Two that are selected are compared, whoever asks.
    select(qtbot, window, 0, 1)
    palette(qtbot, window, "compare")
    first = {compared(qtbot, window).a.key.text(), page.b.key.text()}
    assert not page.past.isVisible(), "it is what is shown"
    key(qtbot, focused(window), Qt.Key.Key_Escape)
    select(qtbot, window, 2)
    engines = window.engines
    assert isinstance(engines, SampleEngines)
    engines.failing["explain"] = user_error("entry-gone", {"path": "x"})
    key(qtbot, window.table, Qt.Key.Key_D, CONTROL | SHIFT)
    qtbot.waitUntil(lambda: page.notice.error is not None, timeout=PATIENCE)
    assert page.past.isVisible() and page.past.count() == 1
    engines.failing.clear()
    click(qtbot, page.nearest)
    compared(qtbot, window)
    assert page.past.isVisible() and page.past.count() == 2
    key(qtbot, focused(window), Qt.Key.Key_Escape)
    # The last one is still there, and those before it are chosen in the list.
    window.table.clearSelection()
    settle(qtbot)
    window.actions_["compare"].trigger()
    assert window.pages.current == COMPARE and page.found is not None
    page.past.setFocus()
    key(qtbot, page.past, Qt.Key.Key_Down)
    key(qtbot, page.past, Qt.Key.Key_Down)
    settle(qtbot)
    compared(qtbot, window)
    assert {page.a.key.text(), page.b.key.text()} == first
