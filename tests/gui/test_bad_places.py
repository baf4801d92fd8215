"""The window over a disk that does not answer: it says so, and other places are shown at once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from pytestqt.qtbot import QtBot

from tests.conftest import SlowDisk
from tests.gui.conftest import PATIENCE, OpenWindow, listed, settle
from tests.stores.bundles.test_bundle import make
from torchkeeper.gui import CURRENT
from torchkeeper.gui.chrome.summary import empty_state, status_text
from torchkeeper.gui.dialogs.importing import ImportDialog
from torchkeeper.gui.places.model import SETTING, PlacesModel
from torchkeeper.gui.window import Window


@pytest.mark.slow
def test_a_place_that_hangs_holds_up_no_other(
    qtbot: QtBot,
    open_window: OpenWindow,
    fixture_cache: Path,
    tmp_path: Path,
    slow_disk: SlowDisk,
) -> None:
    dead = Path(shutil.copytree(fixture_cache, tmp_path / "dead"))
    slow_disk.below(dead)
    window = open_window(fixture_cache)
    listing = window.listing
    listing._silence.setInterval(300)
    slow_disk.hang()
    window.open_paths([str(dead)])
    qtbot.waitUntil(lambda: listing.place == str(dead) and listing.silent, timeout=PATIENCE)
    state = empty_state(listing, window.entries, True, 2, "", None)
    assert state is not None
    assert state[1] == "The place does not answer"
    assert str(dead) in state[2]
    assert "does not answer" in status_text(listing, window.entries, [], 0, False)
    window.open_paths([str(fixture_cache)])
    listed(qtbot, window, fixture_cache)  # by a fresh engine: the disk still hangs
    assert window.entries.total == 44
    assert listing.error is None
    slow_disk.answer()
    window.open_paths([str(dead)])
    listed(qtbot, window, dead)
    assert window.entries.total == 44


def test_the_window_closes_over_a_place_that_hangs(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, slow_disk: SlowDisk
) -> None:
    slow_disk.below(fixture_cache)
    window = open_window()
    slow_disk.hang()
    window.open_paths([str(fixture_cache)])
    qtbot.waitUntil(lambda: window.listing.loading, timeout=PATIENCE)
    with qtbot.waitSignal(window.stopped, timeout=PATIENCE):
        window.close()


@pytest.mark.slow
def test_what_was_shown_last_hangs_and_a_file_can_be_imported_all_the_same(
    qtbot: QtBot, settings: QSettings, fixture_cache: Path,
    kept_291: Path, tmp_path: Path, slow_disk: SlowDisk
) -> None:  # fmt: skip
    good = tmp_path / "good.torchcache"
    make(kept_291, good)
    PlacesModel(settings).add(str(fixture_cache))
    settings.setValue(CURRENT, str(fixture_cache))
    slow_disk.below(fixture_cache)
    slow_disk.hang()
    window = Window(settings)
    window.listing._silence.start(300)
    window.show()
    window.open_paths([str(good)])
    qtbot.waitUntil(lambda: bool(window.findChildren(ImportDialog)), timeout=PATIENCE)
    assert window.listing.silent
    [dialog] = window.findChildren(ImportDialog)
    assert isinstance(dialog, ImportDialog)
    dialog.reject()
    with qtbot.waitSignal(window.stopped, timeout=PATIENCE):
        window.close()
    window.deleteLater()


def test_a_file_that_is_gone_is_no_folder_that_pytorch_would_make(
    qtbot: QtBot, open_window: OpenWindow, settings: QSettings, tmp_path: Path
) -> None:
    for name in (SETTING, CURRENT):
        settings.setValue(name, str(tmp_path / "merged.bin"))
    window = open_window()
    qtbot.waitUntil(lambda: window.listing.error is not None, timeout=PATIENCE)
    settle(qtbot)
    state = empty_state(window.listing, window.entries, True, 2, "", None)
    assert state is not None and state[1] == "This place no longer exists"
    assert window.listing.error is not None
    assert window.listing.error.what == f"There is no file {tmp_path}/merged.bin."


@pytest.mark.slow
def test_a_place_that_goes_is_said_to_be_gone_until_it_is_back(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window(fixture_cache)
    away = fixture_cache.rename(tmp_path / "away")
    window.actions_["refresh"].trigger()
    qtbot.waitUntil(lambda: window.listing.error is not None, timeout=PATIENCE)
    settle(qtbot)
    state = empty_state(window.listing, window.entries, True, 2, "", None)
    assert state is not None
    assert state[1] == "This place no longer exists"
    [place] = [place for place in window.places.places if place.path == str(fixture_cache)]
    assert place.icon == "folder-missing"
    away.rename(fixture_cache)
    window.actions_["refresh"].trigger()
    qtbot.waitUntil(lambda: window.entries.total == 44, timeout=PATIENCE)
    settle(qtbot)
    [place] = [place for place in window.places.places if place.path == str(fixture_cache)]
    assert place.icon == "folder"
