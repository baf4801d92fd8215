"""Comparing entries in the window, over real engines and caches that torch wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QTreeWidgetItem
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, listed, settle, type_in
from torchkeeper.artifacts.entry import Entry
from torchkeeper.gui.pages.comparing.page import ComparePage
from torchkeeper.gui.window import Window

pytestmark = pytest.mark.torch


def graphs(window: Window, word: str, kind: str = "fxgraph") -> list[Entry]:
    """The entries of a kind with a word in their name."""
    shown = window.entries.shown()
    return [e for e in shown if e.kind == kind and word in (e.name or "")]


def choose(qtbot: QtBot, window: Window, entries: list[Entry]) -> None:
    """Select entries in the table."""
    window.table.select({entry.identity for entry in entries})
    settle(qtbot)


def compared(qtbot: QtBot, window: Window, action: str) -> ComparePage:
    """Trigger an action, and wait for what it shows."""
    window.actions_[action].trigger()
    assert window.pages.current == "compare"
    (page,) = window.findChildren(ComparePage)
    return answered(qtbot, page)


def answered(qtbot: QtBot, page: ComparePage) -> ComparePage:
    """The page, as soon as it says what came of it."""
    qtbot.waitUntil(
        lambda: (page.found is not None and page.tree.settled) or page.notice.error is not None,
        timeout=PATIENCE,
    )
    return page


def chosen(page: ComparePage) -> QTreeWidgetItem:
    """The chosen difference."""
    item = page.tree.currentItem()
    assert item is not None
    return item


def headings(page: ComparePage) -> list[QTreeWidgetItem]:
    """The groups of differences."""
    tree = page.tree
    found = [tree.topLevelItem(number) for number in range(tree.topLevelItemCount())]
    return [item for item in found if item is not None]


def test_a_comparison_from_a_run_leaves_the_chosen_place_as_it_is(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window, other = open_window(fixture_cache), tmp_path / "other"
    one, two = (e.key for e in graphs(window, "gelu") if "backward" not in (e.name or ""))
    other.mkdir()
    window.open_paths([str(other)])
    listed(qtbot, window, other)
    window.show_page("runs")
    window.flows.compare_keys(str(fixture_cache), one, two)
    qtbot.waitUntil(lambda: window.pages.current == "compare", timeout=PATIENCE)
    (page,) = window.findChildren(ComparePage)
    answered(qtbot, page)
    assert page.found is not None and page.b.key.text() == two
    assert window.place == str(other)
    window.show_page("runs")
    window.flows.compare_keys(str(fixture_cache), one, "no such key")
    qtbot.waitUntil(window.error_bar.isVisible, timeout=PATIENCE)
    assert (window.place, window.pages.current) == (str(other), "runs")


def test_two_selected_entries_are_compared(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    both = [e for e in graphs(window, "gelu") if "backward" not in (e.name or "")]
    assert len(both) == 2
    for entries, two, one in ((both, True, False), (both[:1], False, True)):
        choose(qtbot, window, entries)
        assert window.actions_["compare-two"].isEnabled() is two
        assert window.actions_["compare-nearest"].isEnabled() is one
    choose(qtbot, window, [both[0], graphs(window, "gelu", "aotautograd")[0]])
    # Their keys are made of other things, and that is said.
    window.actions_["compare-two"].trigger()
    said = window.error_bar.what.text()
    assert "“FX graph”" in said and "“AOTAutograd”" in said and "cannot be compared" in said
    assert window.pages.current == "entries"
    choose(qtbot, window, both)
    page = compared(qtbot, window, "compare-two")
    said = page.sentence.text()
    assert "batch" in said and "any size" in said and "instead of" in said
    keys = {page.a.key.text(), page.b.key.text()}
    assert keys == {entry.key for entry in both}
    assert "torch 2.9.1+cu128" in page.a.made.text()
    # The first cause is chosen and shown in full.
    assert chosen(page).text(0).startswith("inputs[")
    assert "TensorMetadata" in page.view.toPlainText()
    assert page.tree.hasFocus()
    click(qtbot, page.copy)
    copied = QApplication.clipboard().text()
    assert copied.startswith(said) and all(key in copied for key in keys)
    assert f"{chosen(page).text(0)}\t" in copied
    QApplication.clipboard().clear()
    qtbot.keyClick(page.tree, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)  # type: ignore[no-untyped-call]
    assert QApplication.clipboard().text() == copied
    # The other way round, and once more what was compared first.
    first = page.a.key.text()
    click(qtbot, page.swap)
    answered(qtbot, page)
    assert page.b.key.text() == first and page.past.count() == 2
    page.past.setCurrentIndex(1)
    page.past.activated.emit(1)
    answered(qtbot, page)
    assert page.a.key.text() == first and page.past.currentIndex() == -1


@pytest.mark.slow
def test_the_nearest_entry_is_found_in_any_place(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, warm_cache: Path
) -> None:
    window = open_window(fixture_cache)
    window.open_paths([str(warm_cache)])
    listed(qtbot, window, warm_cache)
    (one,) = graphs(window, "scaled_sum")
    choose(qtbot, window, [one])
    page = compared(qtbot, window, "compare-nearest")
    assert page.sentence.text().startswith(f"torch {one.torch} against 2.9.1+cu128")
    assert page.b.name.text().startswith("sin_matmul")
    # What another torch brings with it is said to follow from that.
    assert headings(page)[0].text(0) == "torch (1)"
    rest = headings(page)[-1]
    assert rest.text(0).startswith("Consequences, certain or likely (")
    assert not rest.isExpanded()
    total = page.tree.total
    assert total > 20
    type_in(qtbot, page.search_box, "torch")
    qtbot.waitUntil(lambda: page.tree.settled, timeout=PATIENCE)
    shown = page.count.text()
    assert shown.endswith(f" of {total} differences") and rest.isExpanded()
    qtbot.keyClick(page.search_box, Qt.Key.Key_Escape)  # type: ignore[no-untyped-call]
    # As many as the sentence has, and those that follow beside them.
    follow = page.tree.following
    said = f"{total - follow} differences; {follow} may follow from that"
    qtbot.waitUntil(lambda: page.count.text() == said, timeout=PATIENCE)
    click(qtbot, page.go)
    listed(qtbot, window, fixture_cache)
    qtbot.waitUntil(lambda: len(window.table.selected()) == 1, timeout=PATIENCE)
    assert (window.table.selected()[0].name or "").startswith("sin_matmul")


@pytest.mark.slow
def test_what_is_gone_says_so_and_can_be_tried_again(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    both = graphs(window, "backward")[:2]
    choose(qtbot, window, both)
    file = fixture_cache / both[1].path
    data = file.read_bytes()
    file.unlink()
    page = compared(qtbot, window, "compare-two")
    assert page.notice.isVisible() and not page.copy.isEnabled()
    assert page.sentence.text() == "These entries cannot be compared"
    file.write_bytes(data)
    click(qtbot, page.notice.button)
    qtbot.waitUntil(lambda: page.found is not None, timeout=PATIENCE)
    assert not page.notice.isVisible() and page.tree.total


@pytest.mark.slow
def test_closing_ends_the_search(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    choose(qtbot, window, graphs(window, "sin_matmul"))
    window.actions_["compare-nearest"].trigger()
    (page,) = window.findChildren(ComparePage)
    assert page.found is None
    window.close_surely()  # nothing may come after that, and no engine may be left
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)


@pytest.mark.slow
def test_sides_are_chosen_one_by_one_from_any_place(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, warm_cache: Path
) -> None:
    window = open_window(fixture_cache)
    window.actions_["compare"].trigger()
    (page,) = window.findChildren(ComparePage)
    assert "Nothing is compared yet" in page.blank.title.text()
    assert page.blank.button is not None and page.blank.button.isVisible()
    assert not page.swap.isEnabled() and not page.nearest.isEnabled()
    click(qtbot, page.a.chooser)
    assert window.pages.current == "entries"
    assert "Ctrl+Alt+A" in window.statusBar().currentMessage()
    (one,) = graphs(window, "sin_matmul")
    choose(qtbot, window, [one])
    window.actions_["compare-as-a"].trigger()
    assert window.pages.current == "entries" and page.a.key.text() == one.key
    window.open_paths([str(warm_cache)])
    listed(qtbot, window, warm_cache)
    other = graphs(window, "scaled_sum")[0]
    choose(qtbot, window, [other])
    window.actions_["compare-as-b"].trigger()
    assert window.pages.current == "compare"
    answered(qtbot, page)
    assert page.found is not None and page.b.key.text() == other.key
    assert page.b.made.toolTip() == str(warm_cache)
    # What is of another kind takes the place of both.
    window.show_page("entries")
    choose(qtbot, window, graphs(window, "scaled_sum", "aotautograd")[:1])
    window.actions_["compare-as-b"].trigger()
    assert page.a.key.text() == ""
    assert window.pages.current == "entries"
