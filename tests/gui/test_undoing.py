"""Undo is about the last purge of the session, whatever the sidebar shows; its keys and letters."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, idle, key, listed, settle
from tests.gui.test_flows import open_dialog, tree
from tests.gui.test_importing import look
from tests.stores.bundles.test_bundle import make
from tests.stores.test_copying import files
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.pages.overview.page import OverviewPage
from torchkeeper.gui.window import Window

ALT, CTRL = Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.ControlModifier


def at() -> QWidget:
    found = QApplication.focusWidget()
    assert found is not None, "nothing has the focus"
    return found


def purge(qtbot: QtBot, window: Window, count: int) -> None:
    """Purge the first entries that are shown, by keys."""
    window.table.select({entry.identity for entry in window.entries.shown()[:count]})
    settle(qtbot)
    window.table.setFocus()
    QTest.keyClick(window.table, Qt.Key.Key_Delete)
    dialog = open_dialog(qtbot, window, PurgeDialog)
    qtbot.waitUntil(lambda: dialog.plan is not None, timeout=PATIENCE)
    click(qtbot, dialog.go)
    idle(qtbot, window)
    back(qtbot, window)


def back(qtbot: QtBot, window: Window) -> None:
    """A dialog or a menu is closed: where there is no window manager, nobody else goes back."""
    window.activateWindow()
    window.table.setFocus()
    qtbot.waitUntil(window.table.hasFocus, timeout=PATIENCE)


@pytest.fixture
def other(fixture_cache: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(fixture_cache, tmp_path / "other"))


def test_ctrl_z_undoes_the_last_purges_of_the_session_from_any_place(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, other: Path
) -> None:
    before = tree(fixture_cache)
    window = open_window(fixture_cache)
    purge(qtbot, window, 3)
    between = tree(fixture_cache)
    purge(qtbot, window, 2)
    window.open_paths([str(other)])
    listed(qtbot, window, other)
    undo = window.actions_["undo"]
    assert undo.isEnabled() and "2 entries" in undo.text()
    window.show_page("overview")
    settle(qtbot)
    assert undo.isEnabled()
    QTest.keyClick(at(), Qt.Key.Key_Z, CTRL)
    idle(qtbot, window)
    assert tree(fixture_cache) == between, "the last one came back, and no other"
    assert "3 entries" in undo.text()
    # In the filter it is what was typed that comes back, if anything was.
    window.show_page("entries")
    box = window.head.box
    box.setFocus()
    QTest.keyClicks(box, "xy")
    QTest.keyClick(box, Qt.Key.Key_Z, CTRL)
    assert (box.text(), undo.isEnabled()) == ("", True)
    settle(qtbot)
    QTest.keyClick(box, Qt.Key.Key_Z, CTRL)
    idle(qtbot, window)
    assert tree(fixture_cache) == before
    assert not undo.isEnabled()
    assert not window.undo_bar.isVisible()


def test_what_was_undone_or_emptied_elsewhere_is_not_undone_again(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, other: Path
) -> None:
    window = open_window(fixture_cache)
    purge(qtbot, window, 3)
    purge(qtbot, window, 2)
    # The drawer undoes the later one; the earlier one is what undo is about then.
    drawer = window.following.drawer
    drawer.go_in()
    click(qtbot, drawer.undo)
    idle(qtbot, window)
    assert "3 entries" in window.actions_["undo"].text()
    window.operations.empty_trash(str(fixture_cache))
    idle(qtbot, window)
    assert not window.actions_["undo"].isEnabled()
    assert window.context.taken == []


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_the_menu_of_a_place_undoes_what_went_from_that_place(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, other: Path
) -> None:
    first, second = tree(fixture_cache), tree(other)
    window = open_window(fixture_cache)
    purge(qtbot, window, 3)
    window.open_paths([str(other)])
    listed(qtbot, window, other)
    purge(qtbot, window, 2)
    window.places_pane.choose(str(fixture_cache))
    listed(qtbot, window, fixture_cache)
    window.open_menu("places", window.places_pane.list, window.places_pane.list.rect().center())
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert "3 entries" in window.actions_["undo"].text()
    QTest.keyClick(menu, Qt.Key.Key_U)
    idle(qtbot, window)
    assert tree(fixture_cache) == first
    assert tree(other) != second
    back(qtbot, window)
    QTest.keyClick(at(), Qt.Key.Key_Z, CTRL)
    idle(qtbot, window)
    assert tree(other) == second


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_undo_and_purge_have_their_own_letters(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    before = tree(fixture_cache)
    window = open_window(fixture_cache)
    purge(qtbot, window, 2)
    # The bar has a letter.
    QTest.keyClick(window.table, Qt.Key.Key_U, ALT)
    qtbot.waitUntil(lambda: window.jobs.jobs[0].kind == "undo", timeout=PATIENCE)
    idle(qtbot, window)
    assert tree(fixture_cache) == before
    purge(qtbot, window, 2)
    for letter, which in ((Qt.Key.Key_P, "purge-shown"), (Qt.Key.Key_U, "undo")):
        for menu in ("cache", "context"):
            if menu == "cache":
                QTest.keyClick(at(), Qt.Key.Key_C, ALT)
            else:
                window.open_menu("entries" if which != "undo" else "places", window.table,
                                 window.table.rect().center())  # fmt: skip
            qtbot.waitUntil(lambda: QApplication.activePopupWidget() is not None)
            shown = QApplication.activePopupWidget()
            assert isinstance(shown, QMenu)
            done: list[int] = []
            action = window.actions_[which]
            action.triggered.disconnect()
            action.triggered.connect(lambda _=False, done=done: done.append(1))
            key(qtbot, shown, letter)
            assert done == [1], (menu, which)
            back(qtbot, window)


def test_an_error_goes_with_the_next_success_the_page_and_escape(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    bar, error = window.error_bar, user_error("nothing-to-undo", {"place": "x"})
    window.activateWindow()
    for widget in (window.table, window.head.box, window.places_pane.list):
        bar.tell(error)
        widget.setFocus()
        QTest.keyClick(widget, Qt.Key.Key_Escape)
        assert not bar.isVisible(), widget.accessibleName()
    bar.tell(error)
    window.show_page("overview")
    assert not bar.isVisible()
    window.show_page("entries")
    window.operations.undo(str(fixture_cache))
    idle(qtbot, window)
    assert bar.isVisible() and bar.error is window.jobs.jobs[0].error
    purge(qtbot, window, 2)
    assert bar.isVisible(), "another thing has succeeded"
    window.flows.undo()
    idle(qtbot, window)
    assert not bar.isVisible()


def test_a_place_that_is_gone_is_taken_off_the_list_without_a_word_about_its_files(
    qtbot: QtBot, open_window: OpenWindow, other: Path
) -> None:
    window = open_window(other)
    shutil.rmtree(other)
    window.refresh()
    qtbot.waitUntil(lambda: window.listing.error is not None, timeout=PATIENCE)
    settle(qtbot)
    window.more.flows.remove_place()
    assert window.undo_bar.text.text() == "other is off the list"


def test_what_is_no_entry_has_its_own_size(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    header = fixture_cache / "precompiled_headers" / ("c" * 52 + ".h.gch")
    header.parent.mkdir()
    header.write_bytes(b"gpch.014" + bytes(3_000_000))
    window = open_window(fixture_cache)
    qtbot.waitUntil(lambda: window.entries.every["headers"] == 1, timeout=PATIENCE)
    settle(qtbot)
    held = say.apart(window.entries.every)
    assert f"{held}, 3.0 MB of content" in window.apart_line.said.text()
    assert held not in window.totals.text()
    click(qtbot, window.apart_line.button)
    settle(qtbot)
    whole = say.count(window.entries.total, "entry", "entries")
    assert window.totals.text().startswith(f"{whole} · ")
    assert window.totals.text().endswith(f" · {held}, 3.0 MB of content")
    page = window.show_page("overview")
    assert isinstance(page, OverviewPage)
    qtbot.waitUntil(lambda: "3.0 MB besides entries" in page.bytes.more.text(), timeout=PATIENCE)


def test_an_import_is_undone_by_the_bar_and_the_drawer(
    qtbot: QtBot, open_window: OpenWindow, kept_291: Path, other: Path, tmp_path: Path
) -> None:
    make(kept_291, tmp_path / "b.torchcache")
    shutil.rmtree(other / "fxgraph")
    before = files(other)
    window = open_window(other)
    dialog = look(qtbot, window, other, tmp_path / "b.torchcache")
    click(qtbot, dialog.go)
    idle(qtbot, window)
    after = files(other)
    assert len(after) > len(before)
    bar, undo = window.undo_bar, window.actions_["undo"]
    assert bar.isVisible() and "7 entries" in bar.text.text() and "imported" in bar.text.text()
    assert undo.text().startswith("&Undo import of 7 entries")
    click(qtbot, bar.button)
    idle(qtbot, window)
    assert files(other) == before
    assert bar.isVisible() and "moved to the trash" in bar.text.text()
    assert window.jobs.jobs[0].title.startswith("Undo import into")
    # What undid it is undone in the drawer.
    drawer = window.following.drawer
    drawer.go_in()
    click(qtbot, drawer.undo)
    idle(qtbot, window)
    assert files(other) == after
    assert not bar.isVisible()
