"""The window on a real cache: list, filter, sort, select, and what it says when it cannot."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QLineEdit,
    QPushButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, entry_at, idle, listed, settle, type_in
from torchkeeper.client.engines.process import Engine
from torchkeeper.gui import actions
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.dialogs.recipeedit import RecipeEditor
from torchkeeper.gui.pages.recipes.known import FORM
from torchkeeper.gui.table.rows import NAME, SIZE
from torchkeeper.stores.folders import receipts
from torchkeeper.stores.folders.journal import Journal


def test_lists_what_torch_2_9_wrote(open_window: OpenWindow, fixture_cache: Path) -> None:
    window = open_window(fixture_cache)
    entries = window.entries.shown()
    assert entries
    assert window.stack.currentWidget() is window.table
    assert not [e for e in entries if e.kind == "unknown"]
    graphs = [e for e in entries if e.kind == "fxgraph"]
    assert graphs
    assert all(e.torch and e.torch.startswith("2.9.1") and e.compile_s for e in graphs)
    assert window.totals.text().startswith(f"{len(entries)} entries · ")
    assert window.error_bar.error is None
    assert "torch" not in sys.modules


@pytest.mark.torch
def test_lists_what_torch_wrote_in_this_run(open_window: OpenWindow, warm_cache: Path) -> None:
    window = open_window(warm_cache)
    kinds = {e.kind for e in window.entries.shown()}
    assert {"fxgraph", "aotautograd", "code"} <= kinds
    assert "unknown" not in kinds
    assert "torch" not in sys.modules


def test_filters_as_one_types(qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path) -> None:
    window = open_window(fixture_cache)
    total = window.entries.total
    type_in(qtbot, window.head.box, "kind:fxgraph")
    qtbot.waitUntil(lambda: 0 < window.entries.rowCount() < total)
    assert {e.kind for e in window.entries.shown()} == {"fxgraph"}
    settle(qtbot)
    assert f" of {total} entries" in window.totals.text()
    shown = window.entries.rowCount()
    window.head.box.setText("kind:nonsense")
    qtbot.waitUntil(lambda: window.head.wrong.text() != "")
    assert "the kinds are" in window.head.wrong.text()
    assert window.entries.rowCount() == shown, "the last good filter stays"
    window.head.box.setText("no such entry")
    qtbot.waitUntil(lambda: window.stack.currentWidget() is window.empty)
    assert window.empty.title.text() == "Nothing matches the filter"
    # It is about what was typed last, also where that is no filter, or another one that is none.
    for typed in ("nor this", "kind:nonsense", "kind:nowhere", "nor that"):
        window.head.box.setText(typed)
        settle(qtbot)
        assert f"“{typed}”" in window.empty.text.text()
        assert window.stack.currentWidget() is window.empty
        good = "kind" not in typed
        assert (window.empty.title.text() == "Nothing matches the filter") == good
        assert ("the kinds are" in window.empty.text.text()) != good
    assert window.empty.button is not None
    click(qtbot, window.empty.button)
    qtbot.waitUntil(lambda: window.entries.rowCount() == total)
    assert window.head.wrong.text() == ""
    # A folder above a cache says so, and leads there.
    inner = fixture_cache.parent / "above" / "x" / "cache"
    inner.parent.mkdir(parents=True)
    fixture_cache.rename(inner)
    window.show_folder(str(inner.parents[1]))
    title = window.empty.title
    qtbot.waitUntil(lambda: title.text() == "The cache is below", timeout=PATIENCE)
    assert window.empty.text.text().endswith(": x/cache.")
    click(qtbot, window.empty.button)
    qtbot.waitUntil(lambda: window.place == str(inner), timeout=PATIENCE)
    qtbot.waitUntil(lambda: window.entries.rowCount() == total, timeout=PATIENCE)


@pytest.mark.slow
def test_sorts_by_its_header_and_keeps_the_selection_over_a_refresh(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    header = window.table.horizontalHeader()
    spot = header.viewport()
    at = header.sectionViewportPosition(NAME) + 20
    click(qtbot, spot, QPoint(at, 10))
    names = [(e.name or "").lower() for e in window.entries.shown()]
    assert names in (sorted(names), sorted(names, reverse=True))
    window.table.sortByColumn(SIZE, Qt.SortOrder.DescendingOrder)
    chosen = {e.identity for e in window.entries.shown()[5:9]}
    window.table.select(chosen)
    window.table.verticalScrollBar().setValue(90)
    gone = window.entries.shown()[0]
    path = fixture_cache / gone.path
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    window.actions_["refresh"].trigger()
    qtbot.waitUntil(lambda: not window.listing.loading and gone not in window.entries.shown(),
                    timeout=PATIENCE)  # fmt: skip
    assert {e.identity for e in window.table.selected()} == chosen
    settle(qtbot)
    assert window.totals.text().startswith("4 of ")


@pytest.mark.slow
def test_copies_keys_and_paths(qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path) -> None:
    window = open_window(fixture_cache)
    window.table.go_to_row(0)
    settle(qtbot)
    chosen = entry_at(window.entries, 0)
    window.actions_["copy-key"].trigger()
    assert QGuiApplication.clipboard().text() == chosen.key
    window.actions_["copy-path"].trigger()
    assert QGuiApplication.clipboard().text() == str(fixture_cache / chosen.path)


@pytest.mark.slow
def test_says_what_an_empty_window_is_for(qtbot: QtBot, open_window: OpenWindow,
                                          tmp_path: Path) -> None:  # fmt: skip
    window = open_window()
    settle(qtbot)
    assert window.stack.currentWidget() is window.empty
    place = tmp_path / "place"
    place.mkdir()
    window.open_paths([str(place)])
    listed(qtbot, window, place)
    assert window.empty.title.text() == "This cache is empty"
    assert window.empty.button is not None
    assert window.empty.button.text() == "Warm…"
    assert not window.actions_["export"].isEnabled()
    assert not window.actions_["purge"].isEnabled()


@pytest.mark.slow
def test_tells_why_a_place_cannot_be_shown(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window(fixture_cache)
    shutil.rmtree(fixture_cache)
    window.actions_["refresh"].trigger()
    qtbot.waitUntil(lambda: window.listing.error is not None, timeout=PATIENCE)
    settle(qtbot)
    assert window.stack.currentWidget() is window.empty
    assert window.entries.rowCount() == 0
    assert window.empty.title.text() == "This place no longer exists"
    window.open_paths([str(tmp_path / "never")])
    qtbot.waitUntil(lambda: window.error_bar.error is not None, timeout=PATIENCE)
    assert "never" in window.error_bar.what.text()


@pytest.mark.slow
def test_a_crash_of_the_browse_engine_is_told_and_mended(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    [line] = [line for line in window.engines.worker._lines if line.shared]
    os.kill(line.engine.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: window.error_bar.error is not None, timeout=PATIENCE)
    assert "SIGKILL" in window.error_bar.why.text()
    before = window.entries.total
    window.actions_["refresh"].trigger()
    qtbot.waitUntil(lambda: not window.listing.loading, timeout=PATIENCE)
    assert window.listing.error is None
    assert window.entries.total == before


def test_the_engines_are_never_touched_on_the_main_thread(
    qtbot: QtBot,
    open_window: OpenWindow,
    fixture_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: dict[str, set[int]] = {}

    def watch(name: str) -> None:
        real = getattr(Engine, name)

        def watched(*args: Any, **values: Any) -> Any:
            seen.setdefault(name, set()).add(threading.get_ident())
            return real(*args, **values)

        monkeypatch.setattr(Engine, name, watched)

    names = ("__init__", "send", "receive", "cancel", "end_input", "close_and_wait")
    for name in names:
        watch(name)
    window = open_window(fixture_cache)
    window.engines.cancel(window.engines.ask("list", {"place": str(fixture_cache)}, Listener()))
    window.table.go_to_row(0)
    settle(qtbot)
    window.actions_["purge"].trigger()
    qtbot.waitUntil(lambda: _dialog(window) is not None and _dialog(window).plan, timeout=PATIENCE)
    _dialog(window).reject()
    idle(qtbot, window)
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    assert set(seen) == set(names)
    threads = set().union(*seen.values())
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def _dialog(window: QWidget) -> Any:
    from torchkeeper.gui.dialogs.purging import PurgeDialog

    return window.findChild(PurgeDialog)


def test_an_engine_that_does_not_listen_is_killed(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window()
    heard: list[str] = []
    listener = Listener(
        result=lambda _: heard.append("result"),
        failed=lambda _: heard.append("failed"),
        cancelled=lambda: heard.append("cancelled"),
    )
    ticket = window.engines.ask("list", {"place": str(fixture_cache)}, listener)
    lines = window.engines.worker._lines
    qtbot.waitUntil(lambda: any(ticket in line.tickets for line in lines), timeout=PATIENCE)
    [line] = [line for line in lines if ticket in line.tickets]
    os.kill(line.engine.pid, signal.SIGSTOP)
    window.engines.cancel(ticket)
    qtbot.waitUntil(lambda: heard != [], timeout=PATIENCE)
    assert heard == ["cancelled"]


def test_closing_stops_everything_at_once(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    window.refresh()
    with qtbot.waitSignal(window.stopped, timeout=PATIENCE):
        window.close()


def test_every_action_has_its_place(open_window: OpenWindow) -> None:
    window = open_window()
    specs = actions.ACTIONS
    assert len({s.id for s in specs}) == len(specs)
    shortcuts = [s.shortcut for s in specs if s.shortcut]
    assert len(set(shortcuts)) == len(shortcuts)
    inner = (actions.GROUP_MENU, actions.ONLY_MENU, actions.ENVIRONMENT_MENU)
    menus = (*actions.MENUS, *inner)
    assert {s.menu for s in specs} == {name for name, _ in menus}
    for spec in specs:
        # A check mark stands where the icon would be.
        assert spec.chosen or spec.on or not window.actions_[spec.id].icon().isNull()
        assert window.actions_[spec.id].toolTip()


def test_every_control_has_an_accessible_name(open_window: OpenWindow, fixture_cache: Path) -> None:
    window = open_window(fixture_cache)
    window.flows.warm()
    window.flows.open_import([str(fixture_cache)])
    window.show_page("recipes")
    window.flows.recipes._edit(RecipeEditor(window, window.engines, text="x = 1"))
    window.flows.recipes.new_recipe(FORM)
    window.show_shortcuts()
    kinds = (QAbstractButton, QLineEdit, QComboBox, QAbstractItemView)
    for widget in window.findChildren(QWidget):
        inner = widget.objectName().startswith("qt_") or isinstance(widget.parent(), QComboBox)
        # Parts that Qt makes inside of its own controls are named by these.
        if isinstance(widget, kinds) and widget.isVisible() and not inner:
            if isinstance(widget.parent(), (QLineEdit, QAbstractItemView)):
                continue
            assert widget.accessibleName() or getattr(widget, "text", str)(), widget
    for dialog in window.findChildren(QWidget):
        if dialog.isWindow() and dialog is not window and hasattr(dialog, "reject"):
            dialog.reject()


def test_what_was_cut_off_is_told_and_brought_to_its_end_by_a_button(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    cut_off = Journal(str(fixture_cache), "purge", receipt=receipts.new_name(), now=False)
    cut_off.open()
    cut_off.leave()
    window = open_window(fixture_cache)
    bar = window.note_bar
    assert "A purge of" in bar.text.text() and "may show it half done" in bar.text.text()
    assert bar.isVisible() and bar.button.text() == "Complete it"
    assert list(fixture_cache.glob(".torchkeeper*")), "to look changes nothing"
    bar.button.click()
    qtbot.waitUntil(lambda: "It had moved nothing yet." in bar.text.text())
    assert not list(fixture_cache.glob(".torchkeeper*"))
    assert bar.isVisible() and not bar.button.isVisible()
    said = bar.text.text()
    [close] = [one for one in bar.findChildren(QAbstractButton) if one is not bar.button]
    close.click()
    bar.tell(said)
    assert not bar.isVisible()
    bar.tell("another")
    assert bar.isVisible()


def test_what_is_not_known_to_be_ours_is_dealt_with_only_by_who_says_how(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    cut_off = Journal(str(fixture_cache), "empty", receipts=[])
    cut_off.open()
    cut_off.leave()
    brought = tmp_path / "brought"
    shutil.copytree(fixture_cache, brought)
    window = open_window(brought)
    assert "does not trust the record" in window.note_bar.text.text()
    window.note_bar.button.click()
    [dialog] = window.findChildren(ConfirmDialog)
    assert dialog.cancel.isDefault()
    red = [one.text() for one in dialog.findChildren(QPushButton) if one.property("danger")]
    assert sorted(red) == ["&Carry it out", "&Forget it"]
    dialog.cancel.click()
    assert len(list(brought.glob(".torchkeeper-journal*"))) == 1
    window.flows.tell_cut_off(
        {"outcome": "not-believed", "place": str(brought), "file": "again", "what": "import",
         "made": None, "entries": 0, "files": 0, "bytes": 0, "left": 0}
    )  # fmt: skip
    window.note_bar.button.click()
    dialog = window.findChildren(ConfirmDialog)[-1]
    [forget] = [one for one in dialog.findChildren(QPushButton) if one.text() == "&Forget it"]
    forget.click()
    qtbot.waitUntil(lambda: not list(brought.glob(".torchkeeper-journal*")))
