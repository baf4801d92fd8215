"""The map over the table: what is on it, what is selected in both, and how long that takes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QItemSelection, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, entry_at, settle
from tests.gui.test_models import entry, load
from tests.gui.test_slices import SLICE
from tests.pace import within
from torchkeeper.artifacts.entry import COUNTED_APART, KINDS
from torchkeeper.client.words.say import kind_words
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.gui.treemap.layout import MOST, told
from torchkeeper.gui.treemap.pane import MapPane
from torchkeeper.gui.treemap.splitter import SHOWN
from torchkeeper.stores.query import parse

#: The kinds of entries: others are listed only when they are asked for.
ENTRIES = tuple(kind for kind in KINDS if kind not in COUNTED_APART)
COUNT = 240


class Beside:
    """A table with the map over it."""

    def __init__(self, qtbot: QtBot, count: int = COUNT) -> None:
        self.qtbot = qtbot
        self.model = EntriesModel()
        self.table = EntryTable(self.model)
        self.pane = MapPane(self.table, lambda then: self.model.group("kind", then))
        self.view = self.pane.view
        self.top = QWidget()
        layout = QVBoxLayout(self.top)
        layout.addWidget(self.pane)
        layout.addWidget(self.table)
        self.top.resize(1000, 700)
        load(self.model, [entry(n, size=1000 + n * 37 % 9001) for n in range(count)])
        self.model.settle()
        self.top.show()
        self.settle()

    def settle(self) -> None:
        self.qtbot.waitUntil(lambda: not self.pane.busy, timeout=PATIENCE)

    def press(self, key: Qt.Key) -> None:
        self.qtbot.keyClick(self.view, key)  # type: ignore[no-untyped-call]
        self.settle()

    def names(self) -> list[str]:
        return [tile.name for tile in self.view.tiles]

    def key(self, name: str) -> tuple[str, ...]:
        return next(tile.key for tile in self.view.tiles if tile.name == name)

    def click(self, key: tuple[str, ...], *, double: bool = False) -> None:
        at = self.view.box_of(key).center().toPoint()
        press: Callable[..., None] = self.qtbot.mouseDClick if double else self.qtbot.mouseClick
        press(self.view, Qt.MouseButton.LeftButton, pos=at)
        self.settle()


@pytest.fixture
def beside(qtbot: QtBot) -> Iterator[Beside]:
    made = Beside(qtbot)
    yield made
    made.top.close()
    made.top.deleteLater()


def test_each_kind_is_a_tile_as_large_as_its_entries(beside: Beside) -> None:
    shown = beside.model.shown()
    sizes = Counter[str]()
    for one in shown:
        sizes[kind_words(one.kind)] += one.size
    assert {tile.name: tile.bytes for tile in beside.view.tiles} == dict(sizes)
    assert beside.pane.title.text() == "By kind"
    assert beside.pane.about.text().startswith(f"{COUNT} entries · ")
    # What is no entry is none here, either.
    others = [entry(COUNT + n, kind="unknown", size=5000) for n in range(3)]
    load(beside.model, [*shown, *others])
    beside.model.settle()
    beside.model.filter(parse("kind:triton,unknown"))
    beside.settle()
    (unknown,) = (tile for tile in beside.view.tiles if tile.name == kind_words("unknown"))
    kernels = sum(one.kind == "triton" for one in shown)
    said = beside.pane.about.text().partition(" · ")[0]
    assert said == f"{kernels} entries and 3 unknown files"
    assert "3 unknown files" in told(unknown, 1) and "entries" not in told(unknown, 1)
    # What the filter hides is not there.
    beside.model.filter(parse("kind:triton"))
    beside.settle()
    assert beside.names() == [kind_words("triton")]


@pytest.mark.parametrize("by", ["torch", "verdict", "age"])
def test_it_groups_as_the_table_does(beside: Beside, by: str) -> None:
    beside.model.group(by)
    beside.settle()
    assert sorted(beside.names()) == sorted(group.title for group in beside.model.groups)
    assert sum(tile.entries for tile in beside.view.tiles) == COUNT


def test_into_a_group_and_back(beside: Beside) -> None:
    triton = beside.key(kind_words("triton"))
    assert beside.pane.up_button.isHidden()
    beside.click(triton, double=True)
    inside = {one.identity for one in beside.model.shown() if one.kind == "triton"}
    assert {tile.key for tile in beside.view.tiles} == inside
    assert beside.pane.title.text() == kind_words("triton")
    click(beside.qtbot, beside.pane.up_button)
    beside.settle()
    assert beside.key(kind_words("triton")) == triton
    # Keys go on where one was.
    assert beside.view.current is not None
    assert beside.view.current.key == triton
    beside.press(Qt.Key.Key_Return)
    assert {tile.key for tile in beside.view.tiles} == inside
    beside.press(Qt.Key.Key_Backspace)
    assert beside.pane.title.text() == "By kind"
    # Whose group the filter takes away is shown the groups.
    beside.press(Qt.Key.Key_Return)
    beside.model.filter(parse("kind:code"))
    beside.settle()
    assert beside.names() == [kind_words("code")]


def test_what_is_clicked_is_selected_in_the_table(beside: Beside) -> None:
    beside.model.group("kind")
    beside.model.collapse(beside.model.groups)
    beside.settle()
    beside.click(beside.key(kind_words("pgo")))
    chosen = beside.table.selected()
    assert {one.kind for one in chosen} == {"pgo"}
    assert len(chosen) == sum(one.kind == "pgo" for one in beside.model.shown())
    assert beside.view.selected == [beside.key(kind_words("pgo"))]
    beside.click(beside.key(kind_words("pgo")), double=True)
    first = beside.view.tiles[0].key
    beside.click(first)
    assert [one.identity for one in beside.table.selected()] == [first]
    assert beside.view.selected == [first]
    row = beside.table.currentIndex().row()
    assert entry_at(beside.model, row).identity == first
    assert row in beside.table.seen_lines()


def test_a_kind_is_selected_where_nothing_is_grouped(beside: Beside) -> None:
    assert beside.model.grouping == "none"
    beside.click(beside.key(kind_words("autotune")))
    assert {one.kind for one in beside.table.selected()} == {"autotune"}
    assert beside.model.grouping == "kind"
    assert beside.view.selected == [beside.key(kind_words("autotune"))]


def test_what_is_selected_in_the_table_is_shown(beside: Beside) -> None:
    told: list[object] = []
    beside.view.chosen.connect(told.append)
    some = [one for one in beside.model.shown() if one.kind in ("code", "fxgraph")]
    whole = {one.identity for one in some if one.kind == "code"}
    part = next(one.identity for one in some if one.kind == "fxgraph")
    beside.table.select(whole | {part})
    beside.settle()
    assert beside.view.selected == [beside.key(kind_words("code"))]
    beside.view.go_to(beside.key(kind_words("fxgraph")))
    assert ", partly selected, " in beside.view.accessibleDescription()
    beside.click(beside.key(kind_words("code")), double=True)
    told.clear()
    beside.table.select({part, *list(whole)[:3]})
    beside.settle()
    assert set(beside.view.selected) == set(list(whole)[:3])
    beside.table.clearSelection()
    beside.settle()
    assert beside.view.selected == []
    # What was selected in the table has not come back from the map.
    assert told == []


def test_enter_on_an_entry_goes_to_its_row(beside: Beside) -> None:
    beside.top.activateWindow()
    beside.click(beside.key(kind_words("code")), double=True)
    beside.view.setFocus()
    beside.press(Qt.Key.Key_End)
    last = beside.view.tiles[-1].key
    beside.press(Qt.Key.Key_Return)
    assert [one.identity for one in beside.table.selected()] == [last]
    assert beside.top.focusWidget() is beside.table


@pytest.mark.slow
def test_very_many_entries_take_no_long_slice(qtbot: QtBot) -> None:
    count = 40_000
    beside = Beside(qtbot, 0)
    turns: list[float] = []

    def turn() -> None:
        begun = time.thread_time()
        QApplication.processEvents()
        turns.append(time.thread_time() - begun)

    def timed(work: Callable[[], object]) -> None:
        begun = time.thread_time()
        work()
        turns.append(time.thread_time() - begun)
        turn()
        while beside.pane.busy:
            turn()

    beside.model.group("verdict")  # one group of all
    load(beside.model, [entry(n, size=100_000 - n) for n in range(count)])
    beside.model.settle()
    qtbot.waitUntil(lambda: not beside.pane.busy, timeout=PATIENCE)
    timed(lambda: beside.view.opened.emit(beside.view.tiles[0].key))
    assert len(beside.view.tiles) == MOST + 1
    assert beside.view.tiles[-1].entries == count - MOST
    assert sum(tile.bytes for tile in beside.view.tiles) == sum(
        one.size for one in beside.model.shown()
    )

    def select() -> None:
        chosen = beside.table.selectionModel()
        part = QItemSelection(beside.model.index(300, 0), beside.model.index(count - 10, 5))
        chosen.select(part, chosen.SelectionFlag.ClearAndSelect | chosen.SelectionFlag.Rows)

    timed(select)
    assert len(beside.view.selected) == MOST - 299
    assert max(turns) < within(SLICE)
    # The next ones are behind the tile of the rest.
    beside.view.go_to(beside.view.tiles[-1].key)
    beside.press(Qt.Key.Key_Return)
    assert beside.view.tiles[0].bytes == 100_000 - MOST
    assert beside.pane.about.text().endswith("after the 600 largest")
    beside.press(Qt.Key.Key_Backspace)
    assert beside.view.tiles[0].bytes == 100_000
    beside.top.close()
    beside.top.deleteLater()


# The offscreen platform can neither raise a menu nor hold the keyboard for it.
@pytest.mark.slow
@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_the_window_shows_and_remembers_it(
    open_window: OpenWindow, qtbot: QtBot, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    assert window.map_splitter.count() == 1
    qtbot.keyClick(  # type: ignore[no-untyped-call]
        window.table, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier
    )
    pane = window.map_splitter.widget(0)
    assert isinstance(pane, MapPane)
    qtbot.waitUntil(lambda: not pane.busy and bool(pane.view.tiles), timeout=PATIENCE)
    assert sum(tile.entries for tile in pane.view.tiles) == window.entries.count
    assert window.settings.value(SHOWN) == "true"
    assert pane.view.accessibleName() == "Map of the entries"
    # A right click is about what is under the pointer.
    at = pane.view.box_of(pane.view.tiles[0].key).center().toPoint()
    qtbot.mouseClick(  # type: ignore[no-untyped-call]
        pane.view, Qt.MouseButton.RightButton, pos=at
    )
    reason = QContextMenuEvent.Reason.Mouse
    QApplication.sendEvent(pane.view, QContextMenuEvent(reason, at, pane.view.mapToGlobal(at)))
    assert len(window.table.selected()) == pane.view.tiles[0].entries
    menu = next(menu for menu in window.findChildren(QMenu) if menu.isVisible())
    assert window.actions_["purge"] in menu.actions()
    menu.close()
    # Where the filter leaves nothing, what says so has the room.
    window.head.box.setText("no such entry")
    qtbot.waitUntil(pane.isHidden, timeout=PATIENCE)
    window.head.clear_filter()
    qtbot.waitUntil(pane.isVisible, timeout=PATIENCE)
    settle(qtbot)
    again = open_window(fixture_cache)
    assert isinstance(again.map_splitter.widget(0), MapPane)
    # Tab goes from the filter over what is asked most and the map to the table.
    window.activateWindow()
    window.head.box.setFocus()
    seen = []
    for _ in range(5):
        qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Tab)  # type: ignore[no-untyped-call]
        seen.append(window.focusWidget())
    chips = window.completing
    assert seen == [chips.stale, chips.largest, pane.close_button, pane.view, window.table]
    click(qtbot, pane.close_button)
    assert pane.isHidden()
    assert window.settings.value(SHOWN) == "false"
