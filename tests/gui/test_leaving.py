"""Closing the window while jobs run: they go on, or they stop, and nothing is orphaned."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, children, click
from torchkeeper.gui.dialogs.leaving import LeaveDialog
from torchkeeper.gui.jobs import Job, State
from torchkeeper.gui.window import Window


@pytest.fixture
def busy(
    qtbot: QtBot, open_window: OpenWindow, torch_that_waits: Path, tmp_path: Path
) -> tuple[Window, Job]:
    """A window with a warm-up whose torch takes a minute to be imported."""
    place = tmp_path / "place"
    place.mkdir()
    window = open_window(place)
    dialog = window.flows.warm()
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    click(qtbot, dialog.go)
    [job] = window.jobs.jobs
    qtbot.waitUntil(torch_that_waits.exists, timeout=PATIENCE)
    dialog.reject()
    return window, job


def asked(window: Window) -> LeaveDialog:
    """What is asked when the window is closed."""
    window.close()
    assert window.isVisible()
    [dialog] = [x for x in window.findChildren(LeaveDialog) if x.isVisible()]
    return dialog


def test_jobs_go_on_in_the_background_and_the_program_ends_with_them(
    qtbot: QtBot, busy: tuple[Window, Job]
) -> None:
    window, job = busy
    dialog = asked(window)
    assert "Warm place" in dialog.jobs.text()
    assert dialog.cancel.isDefault()
    click(qtbot, dialog.cancel)
    assert window.isVisible()
    assert job.state is State.RUNNING
    recipes = window.flows.show_recipes()
    click(qtbot, asked(window).background)
    assert not window.isVisible()
    assert not recipes.isVisible()
    assert job.active
    assert children()
    with qtbot.waitSignal(window.stopped, timeout=PATIENCE):
        window.operations.cancel(job)
    qtbot.waitUntil(lambda: not children(), timeout=PATIENCE)


def test_all_that_runs_is_stopped(qtbot: QtBot, busy: tuple[Window, Job]) -> None:
    window, _ = busy
    dialog = asked(window)
    window.close()
    assert len([x for x in window.findChildren(LeaveDialog) if x.isVisible()]) == 1
    with qtbot.waitSignal(window.stopped, timeout=PATIENCE):
        click(qtbot, dialog.stop)
    assert not window.isVisible()
    qtbot.waitUntil(lambda: not children(), timeout=PATIENCE)
