"""The window says what of a place was not read, and reads it when it is asked to."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, everything, listed
from tests.gui.test_inspector import choose, open_inspector
from tests.stores.test_budget import ENDLESS, put


@pytest.mark.slow
def test_what_was_not_read_is_said_and_read_when_asked(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    for number in range(3):
        put(place, number, ENDLESS + b"%d" % number)
    window = open_inspector(qtbot, open_window, place)
    assert "1 broken" in window.totals.text()
    assert "2 not read" in window.totals.text()
    action = window.actions_["read-all"]
    assert action.isEnabled()
    unread = next(one for one in everything(window.entries) if one.put_off)
    inspector = choose(qtbot, window, unread)
    # Alone it has been read by now, as far as that goes.
    qtbot.waitUntil(lambda: "took too long" in inspector.problem.what.text(), timeout=PATIENCE)
    window.table.clearSelection()
    action.trigger()
    listed(qtbot, window, place)
    qtbot.waitUntil(lambda: "3 broken" in window.totals.text(), timeout=PATIENCE)
    assert "not read" not in window.totals.text()
    assert not action.isEnabled()
