"""Comparing entries in the window, over real engines and caches that torch wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QTreeWidgetItem
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, listed, settle, type_in
from torchkeeper.artifacts.entry import Entry
from torchkeeper.gui.dialogs.comparing import CompareDialog
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


def compared(qtbot: QtBot, window: Window, action: str) -> CompareDialog:
    """Trigger an action, and wait for what it shows."""
    window.actions_[action].trigger()
    dialog = next(x for x in window.findChildren(CompareDialog) if x.isVisible())
    qtbot.waitUntil(
        lambda: dialog.found is not None or dialog.notice.error is not None, timeout=PATIENCE
    )
    return dialog


def chosen(dialog: CompareDialog) -> QTreeWidgetItem:
    """The chosen difference."""
    item = dialog.tree.currentItem()
    assert item is not None
    return item


def headings(dialog: CompareDialog) -> list[QTreeWidgetItem]:
    """The groups of differences."""
    tree = dialog.tree
    found = [tree.topLevelItem(number) for number in range(tree.topLevelItemCount())]
    return [item for item in found if item is not None]


def test_two_selected_entries_are_compared(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    both = [e for e in graphs(window, "gelu") if "backward" not in (e.name or "")]
    assert len(both) == 2
    for entries, two, one in ((both, True, False), (both[:1], False, True)):
        choose(qtbot, window, entries)
        assert window.actions_["compare"].isEnabled() is two
        assert window.actions_["compare-nearest"].isEnabled() is one
    choose(qtbot, window, [both[0], graphs(window, "gelu", "aotautograd")[0]])
    assert not window.actions_["compare"].isEnabled()  # their keys are made of other things
    choose(qtbot, window, both)
    dialog = compared(qtbot, window, "compare")
    said = dialog.sentence.text()
    assert "batch" in said and "any size" in said and "instead of" in said
    keys = {dialog.a.key.text(), dialog.b.key.text()}
    assert keys == {entry.key for entry in both}
    assert "torch 2.9.1+cu128" in dialog.a.made.text()
    # The first cause is chosen and shown in full.
    assert chosen(dialog).text(0).startswith("inputs[")
    assert "TensorMetadata" in dialog.view.toPlainText()
    assert dialog.tree.hasFocus()
    click(qtbot, dialog.copy)
    copied = QApplication.clipboard().text()
    assert copied.startswith(said) and all(key in copied for key in keys)
    assert f"{chosen(dialog).text(0)}\t" in copied
    QApplication.clipboard().clear()
    qtbot.keyClick(dialog.tree, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)  # type: ignore[no-untyped-call]
    assert QApplication.clipboard().text() == copied
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)  # type: ignore[no-untyped-call]
    qtbot.waitUntil(lambda: not dialog.isVisible())


def test_the_nearest_entry_is_found_in_any_place(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, warm_cache: Path
) -> None:
    window = open_window(fixture_cache)
    window.open_paths([str(warm_cache)])
    listed(qtbot, window, warm_cache)
    (one,) = graphs(window, "scaled_sum")
    choose(qtbot, window, [one])
    dialog = compared(qtbot, window, "compare-nearest")
    assert dialog.sentence.text().startswith(f"torch {one.torch} against 2.9.1+cu128")
    assert dialog.b.name.text().startswith("sin_matmul")
    # What another torch brings with it is said to follow from that.
    assert headings(dialog)[0].text(0) == "torch (1)"
    rest = headings(dialog)[-1]
    assert rest.text(0).startswith("What follows from that, or may (")
    assert not rest.isExpanded()
    total = dialog.tree.total
    assert total > 20
    type_in(qtbot, dialog.search, "torch")
    shown = dialog.count.text()
    assert shown.endswith(f" of {total}") and rest.isExpanded()
    qtbot.keyClick(dialog.search, Qt.Key.Key_Escape)  # type: ignore[no-untyped-call]
    assert dialog.isVisible() and dialog.count.text() == f"{total}"
    click(qtbot, dialog.go)
    listed(qtbot, window, fixture_cache)
    qtbot.waitUntil(lambda: len(window.table.selected()) == 1, timeout=PATIENCE)
    assert (window.table.selected()[0].name or "").startswith("sin_matmul")


def test_what_is_gone_says_so_and_can_be_tried_again(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    both = graphs(window, "backward")[:2]
    choose(qtbot, window, both)
    file = fixture_cache / both[1].path
    data = file.read_bytes()
    file.unlink()
    dialog = compared(qtbot, window, "compare")
    assert dialog.notice.isVisible() and not dialog.copy.isEnabled()
    assert dialog.sentence.text() == "These entries cannot be compared"
    file.write_bytes(data)
    click(qtbot, dialog.notice.button)
    qtbot.waitUntil(lambda: dialog.found is not None, timeout=PATIENCE)
    assert not dialog.notice.isVisible() and dialog.tree.total
    click(qtbot, dialog.shut)


def test_closing_ends_the_search(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    choose(qtbot, window, graphs(window, "sin_matmul"))
    window.actions_["compare-nearest"].trigger()
    dialog = next(x for x in window.findChildren(CompareDialog) if x.isVisible())
    dialog.reject()  # nothing may come after that, and no engine may be left
    settle(qtbot)
    assert not [x for x in window.findChildren(CompareDialog) if x.isVisible()]
