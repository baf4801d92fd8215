"""The window over a disk that does not answer: it says so, and other places are shown at once."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from pytestqt.qtbot import QtBot

from tests.conftest import SlowDisk
from tests.gui.conftest import PATIENCE, OpenWindow, listed
from torchkeeper.gui.summary import empty_state, status_text


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
    state = empty_state(listing, window.entries, True, 2)
    assert state is not None
    assert state[1] == "The place does not answer"
    assert str(dead) in state[2]
    assert "does not answer" in status_text(listing, window.entries, [])
    began = time.monotonic()
    window.open_paths([str(fixture_cache)])
    listed(qtbot, window, fixture_cache)
    # A fresh engine answers; waiting for the end of the old one would take twice GRACE.
    assert time.monotonic() - began < 2
    assert window.entries.total == 70
    assert listing.error is None
    slow_disk.answer()
    window.open_paths([str(dead)])
    listed(qtbot, window, dead)
    assert window.entries.total == 70


def test_the_window_closes_over_a_place_that_hangs(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, slow_disk: SlowDisk
) -> None:
    slow_disk.below(fixture_cache)
    window = open_window()
    slow_disk.hang()
    window.open_paths([str(fixture_cache)])
    qtbot.waitUntil(lambda: window.listing.loading, timeout=PATIENCE)
    with qtbot.waitSignal(window.stopped, timeout=15_000):
        window.close()
