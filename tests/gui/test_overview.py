"""The overview over real engines: what it adds up, going into it, and what is done from there."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt, QTimer
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QPushButton
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, listed, settle
from torchkeeper.artifacts.entry import tallied
from torchkeeper.client.words import say
from torchkeeper.engine.messages.places import GroupRow
from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.dialogs.cleaning import CleanDialog
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.dialogs.warming import WarmDialog
from torchkeeper.gui.pages.overview.page import OverviewPage
from torchkeeper.gui.treemap.layout import Tile
from torchkeeper.gui.window import PAGE, Window


def overview(qtbot: QtBot, window: Window) -> OverviewPage:
    """The page, once it has looked."""
    page = window.show_page("overview")
    assert isinstance(page, OverviewPage)
    qtbot.waitUntil(lambda: bool(page.looking.looked) and not page.looking.running,
                    timeout=PATIENCE)  # fmt: skip
    return page


def tiles(page: OverviewPage) -> dict[str, Tile]:
    return {str(tile.key[-1]): tile for tile in page.map.tiles}


def crumbs(page: OverviewPage) -> list[QLabel | QPushButton]:
    line = page.crumbs.layout()
    assert line is not None
    parts = [item.widget() for at in range(line.count()) if (item := line.itemAt(at))]
    return [part for part in parts if isinstance(part, (QLabel, QPushButton))]


def test_places_are_added_up_and_gone_into(
    qtbot: QtBot, open_window: OpenWindow, two: list[Path]
) -> None:
    window = open_window()
    assert window.pages.current == "overview", "where it was left"
    page = overview(qtbot, window)
    found = page.looking.found
    assert found is not None
    whole, half = (found.total({"place": str(place)}) for place in two)
    assert half.entries == 7
    assert (whole.entries > half.entries, found.totals.entries) == (
        True, whole.entries + half.entries
    )  # fmt: skip
    assert page.entries.value.text() == f"{found.totals.entries:,}"
    assert "lock" not in {part.value for part in found.groups("kind")}
    locks = say.count(found.totals.locks, "lock", "locks")
    assert page.entries.more.text() == f"in 2 places · and {locks}"
    assert page.said.text().startswith("Looked just now")
    page.looking.looked -= 300
    timer = page.findChild(QTimer, "aging")
    assert isinstance(timer, QTimer)
    timer.timeout.emit()
    assert page.said.text().startswith("Looked 5 min ago"), "and so it goes on"
    assert page.compiling.value.text() != "–"
    assert page.usable.value.text() == "–", "nobody was asked what is usable"
    assert {name: tile.entries for name, tile in tiles(page).items()} == {
        str(two[0]): whole.entries, str(two[1]): half.entries
    }  # fmt: skip
    # What is selected in one is selected in the other.
    item = page.list.topLevelItem(1)
    assert item
    item.setSelected(True)
    assert page.map.selected == [(str(two[1]),)]
    at = page.map.box_of((str(two[0]),)).center().toPoint()
    click(qtbot, page.map, at)
    assert page.list.selected() == [str(two[0])]
    qtbot.mouseDClick(page.map, Qt.MouseButton.LeftButton, pos=at)  # type: ignore[no-untyped-call]
    assert page.within == {"place": str(two[0])}
    assert crumbs(page)[-1].text() == "cache-2.9.1"
    assert tiles(page)["fxgraph"].entries == 7
    hints = [
        row.toolTip(0) for row in map(page.list.topLevelItem, range(len(page.map.tiles))) if row
    ]
    assert "FX graph" in hints and "fxgraph" not in hints
    assert page.entries.value.text() == f"{whole.entries:,}"
    # With the keyboard: the largest is the first; in, and out again.
    page.map.setFocus()
    first = page.map.tiles[0]
    page.map.go_to(first.key)
    qtbot.keyClick(page.map, Qt.Key.Key_Return)  # type: ignore[no-untyped-call]
    assert page.within["kind"] == first.key[-1]
    qtbot.keyClick(page.map, Qt.Key.Key_Backspace)  # type: ignore[no-untyped-call]
    while "kind" in page.within:
        page.go_up()
    assert page.list.selected() == [first.key[-1]], "where one came from"
    click(qtbot, crumbs(page)[0])
    assert page.within == {}
    # Wherever entries of a place are counted, they are the same: locks are none of them.
    for place, total in zip(two, (whole, half), strict=True):
        window.places_pane.choose(str(place))
        listed(qtbot, window, place)
        settle(qtbot)
        assert window.totals.text().startswith(f"{say.count(total.entries, 'entry', 'entries')}")
        window.table.selectAll()
        settle(qtbot)
        assert window.totals.text().startswith(f"{total.entries} of {total.entries} selected")
        assert sum(one.size for one in window.table.selected()) == total.bytes


def test_it_is_there_before_anybody_goes_there(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    """To make all of it takes as long as a frame, which is not to be when it is asked for."""
    window = open_window(fixture_cache)
    assert window.pages.current == "entries"
    ahead = dict(window.pages.by_id())["overview"]
    assert isinstance(ahead, OverviewPage)
    assert not ahead.looking.running and not ahead.looking.looked, "and looks at nothing"
    assert overview(qtbot, window) is ahead


def test_what_is_unsafe_stands_beside_what_is_usable(
    qtbot: QtBot, open_window: OpenWindow, two: list[Path]
) -> None:
    page = overview(qtbot, open_window())
    found = page.looking.found
    assert found is not None

    def more(entries: int, verdict: str) -> GroupRow:
        return {"place": str(two[0]), "kind": "fxgraph", "torch": "", "age": "day", "bytes": 1,
                "compiler": "",
                "content_bytes": 1, "disk_bytes": 1, "verdict": verdict, "compile_s": 0.0,
                "timed": 0, **tallied(entries)}  # fmt: skip

    found.add([more(3, "stale")])
    page._show()
    assert page.usable.more.text() == "of 3 entries checked"
    assert "may compute wrong" not in page.usable.toolTip()
    found.add([more(1_200, "unsafe")])
    page._show()
    assert page.usable.value.text() == "0%"
    assert page.usable.more.text() == "of 1,203 entries checked · 1,200 unsafe"
    assert "may compute wrong results" in page.usable.toolTip()


@pytest.mark.slow
@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_the_list_can_be_used_by_the_keys(
    qtbot: QtBot, open_window: OpenWindow, two: list[Path]
) -> None:
    page = overview(qtbot, open_window())
    page.list.setFocus()
    qtbot.waitUntil(page.list.hasFocus, timeout=PATIENCE)
    assert page.list.current == str(two[0]), "the keys are about the first"
    assert page.list.selected() == []
    at = page.list.viewport().rect().center()
    first = page.list.topLevelItem(0)
    assert first
    for reason in (QContextMenuEvent.Reason.Keyboard, QContextMenuEvent.Reason.Mouse):
        where = page.list.visualItemRect(first).center()
        at = where if reason is QContextMenuEvent.Reason.Mouse else at
        event = QContextMenuEvent(reason, at, page.list.viewport().mapToGlobal(at))
        QApplication.sendEvent(page.list.viewport(), event)
        menus = page.findChildren(QMenu, "of-part")
        [menu] = [menu for menu in menus if menu.isVisible()]
        names = [action.text().replace("&", "") for action in menu.actions()]
        assert names == ["Go into", "Show entries", "Go up"]
        assert page.list.selected() == [str(two[0])]
        if reason is QContextMenuEvent.Reason.Mouse:
            menu.actions()[0].trigger()
        menu.close()
    assert page.within == {"place": str(two[0])}


@pytest.mark.slow
def test_entries_are_shown_in_the_table(
    qtbot: QtBot, open_window: OpenWindow, two: list[Path]
) -> None:
    window = open_window()
    page = overview(qtbot, window)
    page.map.opened.emit((str(two[0]),))
    page.list.select(["fxgraph"])
    click(qtbot, page.show_button)
    assert window.pages.current == "entries"
    qtbot.waitUntil(lambda: window.entries.count == 7, timeout=PATIENCE)
    assert window.place == str(two[0])
    assert window.head.box.text() == "kind:fxgraph"
    window.pages.back()
    assert window.pages.current == "overview"
    assert page.within == {"place": str(two[0])}, "as it was left"


@pytest.mark.slow
def test_what_a_purge_took_is_counted_no_more(
    qtbot: QtBot, open_window: OpenWindow, two: list[Path]
) -> None:
    window = open_window()
    page = overview(qtbot, window)
    before = page.looking.looked
    assert not page.reclaiming.cards["trash"].go.isEnabled()
    dialog = window.flows.clean_up_places((), str(two[1]))
    assert isinstance(dialog, CleanDialog)
    dialog.reject()
    window.places_pane.choose(str(two[1]))
    window.show_page("entries")
    qtbot.waitUntil(lambda: window.entries.count == 7, timeout=PATIENCE)
    window.table.selectAll()
    qtbot.waitUntil(window.actions_["purge"].isEnabled, timeout=PATIENCE)
    window.actions_["purge"].trigger()
    (preview,) = window.findChildren(PurgeDialog)
    qtbot.waitUntil(preview.go.isEnabled, timeout=PATIENCE)
    click(qtbot, preview.go)
    qtbot.waitUntil(lambda: not window.jobs.active, timeout=PATIENCE)
    assert not page.reclaiming.isEnabled(), "old figures lead nowhere"
    window.show_page("overview")
    qtbot.waitUntil(
        lambda: page.looking.looked > before and not page.looking.running, timeout=PATIENCE
    )
    assert str(two[1]) not in tiles(page)
    assert page.dimension == "place" == page.by.currentData(), "of one place, too: nobody chose"
    card = page.reclaiming.cards["trash"]
    assert card.go.isEnabled()
    click(qtbot, card.go)
    (asking,) = (x for x in window.findChildren(ConfirmDialog) if x.isVisible())
    assert asking.question.text() == "Delete 7 entries for good?"
    asking.reject()


@pytest.mark.slow
def test_nothing_is_there(qtbot: QtBot, open_window: OpenWindow, settings: QSettings) -> None:
    settings.setValue(PAGE, "overview")
    window = open_window()
    page = window.show_page("overview")
    assert isinstance(page, OverviewPage)
    assert page.empty.title.text() == "No caches yet"
    assert page.empty.button is not None
    click(qtbot, page.empty.button)
    (dialog,) = window.findChildren(WarmDialog)
    dialog.reject()


def test_the_buttons_of_the_cards_are_in_sight(
    qtbot: QtBot, open_window: OpenWindow, two: list[Path]
) -> None:
    """With the guide above, in a window that fills a small screen."""
    window = open_window()
    window.resize(1326, 660)
    window.actions_["first-steps"].trigger()
    page = overview(qtbot, window)
    page.entries.tell("112", "in 5 places · and 60 locks, 2 headers and 3 unknown files")
    page.reclaiming.cards["stale"].text.setText("11 entries. For a torch or GPU that is not here.")

    def whole() -> bool:
        buttons = [card.go for card in page.reclaiming.cards.values()]
        return all(go.visibleRegion().boundingRect() == go.rect() for go in buttons)

    qtbot.waitUntil(whole, timeout=20_000)
