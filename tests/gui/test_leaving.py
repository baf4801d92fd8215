"""Closing the window while jobs run: they go on, or they stop, and nothing is orphaned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, children, click, type_in
from torchkeeper.gui.dialogs.base import ConfirmDialog, LeaveDialog
from torchkeeper.gui.dialogs.recipeedit import RecipeEditor
from torchkeeper.gui.dialogs.warming import WarmDialog
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.window import Window


@pytest.fixture
def started() -> Callable[[], set[int]]:
    """Asks for the processes that were started since and still are, zombies included."""
    before = set(children())
    return lambda: set(children()) - before


@pytest.fixture
def busy(
    qtbot: QtBot,
    open_window: OpenWindow,
    torch_that_waits: Path,
    started: Callable[[], set[int]],
    tmp_path: Path,
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
    return window, job


def asked(window: Window) -> LeaveDialog:
    """What is asked when the window is closed."""
    window.close()
    assert window.isVisible()
    [dialog] = [x for x in window.findChildren(LeaveDialog) if x.isVisible()]
    return dialog


@pytest.mark.slow
def test_jobs_go_on_in_the_background_and_the_program_ends_with_them(
    qtbot: QtBot, busy: tuple[Window, Job], started: Callable[[], set[int]]
) -> None:
    window, job = busy
    dialog = asked(window)
    assert "Warm place" in dialog.detail.text()
    assert dialog.cancel.isDefault()
    click(qtbot, dialog.cancel)
    assert window.isVisible()
    assert job.state is State.RUNNING
    recipes = window.flows.recipes.edit_recipe("/nowhere/recipe.toml")
    click(qtbot, asked(window).background)
    assert not window.isVisible()
    assert not recipes.isVisible()
    assert job.active
    qtbot.wait(50)
    assert window.findChildren(WarmDialog), "it may ask once more, and is closed when all went well"
    assert started()
    with qtbot.waitSignal(window.stopped, timeout=PATIENCE):
        window.operations.cancel(job)
    qtbot.waitUntil(lambda: not started(), timeout=PATIENCE)


def test_all_that_runs_is_stopped(
    qtbot: QtBot, busy: tuple[Window, Job], started: Callable[[], set[int]]
) -> None:
    window, job = busy
    dialog = asked(window)
    window.close()
    assert len([x for x in window.findChildren(LeaveDialog) if x.isVisible()]) == 1
    click(qtbot, dialog.cancel)
    # What is unsaved is asked about first, whatever becomes of the jobs.
    editor = unsaved(qtbot, window)
    window.close()
    for ask_again in (window.closing.leave_jobs, window.close):
        click(qtbot, question(editor).cancel)
        assert not [x for x in window.findChildren(LeaveDialog) if x.isVisible()]
        ask_again()
    assert window.isVisible()
    assert job.active
    assert editor.unsaved
    click(qtbot, question(editor).go)
    assert not editor.isVisible()
    # Now that it is closed, about the jobs.
    qtbot.waitUntil(lambda: any(x.isVisible() for x in window.findChildren(LeaveDialog)))
    [dialog] = [x for x in window.findChildren(LeaveDialog) if x.isVisible()]
    with qtbot.waitSignal(window.stopped, timeout=PATIENCE):
        click(qtbot, dialog.go)
    assert not window.isVisible()
    qtbot.waitUntil(lambda: not started(), timeout=PATIENCE)


@pytest.mark.parametrize("answer", ["&Close without saving", "&Save"])
def test_an_answer_about_what_is_unsaved_is_enough(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, answer: str
) -> None:
    path = tmp_path / "one.toml"
    path.write_text("# nothing yet\n")
    window = open_window()
    editor, other = unsaved(qtbot, window, path), unsaved(qtbot, window)
    window.close()
    # Whoever stays has not asked for the end of the window by what is done later.
    click(qtbot, question(editor).cancel)
    other.reject()
    click(qtbot, question(other).go)
    qtbot.wait(50)
    assert window.isVisible()
    assert editor.isVisible()
    window.close()
    window.close()
    [button] = [x for x in question(editor).findChildren(QPushButton) if x.text() == answer]
    with qtbot.waitSignal(window.stopped, timeout=PATIENCE):
        click(qtbot, button)
    assert not window.isVisible()
    assert path.read_text() == ("# more" if answer == "&Save" else "") + "# nothing yet\n"


def unsaved(qtbot: QtBot, window: Window, path: Path = Path("/nowhere/x.toml")) -> RecipeEditor:
    """A recipe that somebody has written into."""
    editor = window.flows.recipes.edit_recipe(str(path))
    if path.exists():
        qtbot.waitUntil(lambda: not editor.text.isReadOnly(), timeout=PATIENCE)
    editor.text.setReadOnly(False)
    type_in(qtbot, editor.text, "# more")
    return editor


def question(editor: RecipeEditor) -> ConfirmDialog:
    """What it asks; once."""
    [found] = [x for x in editor.findChildren(ConfirmDialog) if x.isVisible()]
    return found
