"""Closing the window while jobs run: they go on, or they stop, and nothing is orphaned."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, children, click, type_in
from torchkeeper.gui.dialogs.base import ConfirmDialog
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
    window, job = busy
    dialog = asked(window)
    window.close()
    assert len([x for x in window.findChildren(LeaveDialog) if x.isVisible()]) == 1
    click(qtbot, dialog.cancel)
    # What is unsaved is asked about first, whatever becomes of the jobs.
    editor = window.flows.edit_recipe("/nowhere/x.toml")
    editor.text.setReadOnly(False)
    type_in(qtbot, editor.text, "# more")
    window.close()
    for ask_again in (window.leave_jobs, window.stop_jobs):
        [question] = [x for x in editor.findChildren(ConfirmDialog) if x.isVisible()]
        click(qtbot, question.cancel)
        assert not [x for x in window.findChildren(LeaveDialog) if x.isVisible()]
        ask_again()
    assert window.isVisible()
    assert job.active
    assert editor.unsaved
    click(qtbot, next(x for x in editor.findChildren(ConfirmDialog) if x.isVisible()).go)
    assert not editor.isVisible()
    dialog = asked(window)
    with qtbot.waitSignal(window.stopped, timeout=PATIENCE):
        click(qtbot, dialog.stop)
    assert not window.isVisible()
    qtbot.waitUntil(lambda: not children(), timeout=PATIENCE)
