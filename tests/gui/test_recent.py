"""The bundles that were opened, imported or written lately."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, idle, listed
from tests.sampling import sampled
from torchkeeper.gui.dialogs.importing import ImportDialog
from torchkeeper.gui.jobs.model import Selection
from torchkeeper.gui.places.discovery import MOST, SETTING
from torchkeeper.gui.window import Window


def opened(window: Window) -> list[QAction]:
    """What File > Open recent offers, once it was looked whether it is there."""
    [file] = [a.menu() for a in window.menuBar().actions() if a.text() == "&File"]
    assert isinstance(file, QMenu)
    [inner] = [a.menu() for a in file.actions() if a.text() == "O&pen recent"]
    assert isinstance(inner, QMenu)
    file.aboutToShow.emit()
    inner.aboutToShow.emit()
    return [action for action in inner.actions() if not action.isSeparator()]


@pytest.mark.slow
def test_what_was_written_and_opened_is_offered_and_what_is_gone_is_not(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window(fixture_cache)
    assert [action.isEnabled() for action in opened(window)] == [False, False]
    one, two = tmp_path / "one & two.torchcache", tmp_path / "sub" / "two.torchcache"
    two.parent.mkdir()
    for output in (one, two):
        window.operations.export(str(fixture_cache), Selection(), str(output))
        idle(qtbot, window)
    first, second, clear = opened(window)
    assert clear.text() == "&Clear this list"
    assert first.text().startswith("&1  two.torchcache · …") and first.text().endswith("/sub")
    assert second.text().startswith("&2  one && two.torchcache")
    assert first.toolTip() == str(two) and second.toolTip() == str(one)
    # One that is looked into is the latest; and it is what a choice of it does.
    second.trigger()
    qtbot.waitUntil(lambda: bool(window.findChildren(ImportDialog)), timeout=PATIENCE)
    qtbot.waitUntil(lambda: window.recent.paths[0] == str(one), timeout=PATIENCE)
    [dialog] = window.findChildren(ImportDialog)
    dialog.close()
    two.unlink()
    opened(window)
    qtbot.waitUntil(lambda: not opened(window)[1].isEnabled(), timeout=PATIENCE)
    gone = opened(window)[1]
    assert gone.data() == str(two) and "no longer exists" in gone.toolTip()
    # Shown as a place, it was opened, too.
    window.recent.clear()
    window.places.add(str(one))
    window.places_pane.choose(str(one))
    listed(qtbot, window, one)
    assert window.recent.paths == [str(one)]
    opened(window)[-1].trigger()
    assert window.recent.paths == []


def test_ten_are_kept_and_what_makes_no_sense_is_not(
    qtbot: QtBot, open_window: OpenWindow, settings: QSettings
) -> None:
    window = open_window()
    for number in range(MOST + 3):
        window.recent.note(f"/b/{number}.torchcache")
    window.recent.note("/b/7.torchcache")
    window.recent.note("redis://localhost:6379/0")
    assert window.recent.paths[:3] == ["/b/7.torchcache", "/b/12.torchcache", "/b/11.torchcache"]
    assert len(window.recent.paths) == MOST
    # The command palette knows them as soon as the menu does.
    window.palette_.open()
    window.palette_.field.setText("bundle 12.torchcache")
    assert [pick.about for pick in window.palette_.list.picks][:1] == ["File › Open recent"]
    window.palette_.leave()
    tenth = opened(window)[9]
    assert tenth.text().startswith("1&0  ")
    qtbot.waitUntil(lambda: not tenth.isEnabled(), timeout=PATIENCE)


@sampled("kept", ["{", "7", '{"a": 1}', '[1, "relative", null]', "[" * 9999], most=2)
def test_settings_that_somebody_broke(
    open_window: OpenWindow, settings: QSettings, kept: str
) -> None:
    settings.setValue(SETTING, kept)
    assert open_window().recent.paths == []
