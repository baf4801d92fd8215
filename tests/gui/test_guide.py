"""The guide: who is new is led through a whole round, by what really happens in the window."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, listed
from tests.shots.sample_results import EXPORTED, PURGED, WARMED
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.dialogs.warming import WarmDialog
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.pages.guidebar import STEP, STEPS, own_folder
from torchkeeper.gui.window import PAGE, Window

#: What jobs of the round come to, by their operation.
RESULTS = {"warm": WARMED, "export": EXPORTED, "purge": PURGED}


def test_every_step_has_an_action(open_window: OpenWindow) -> None:
    window = open_window()
    assert not window.guide.bar.isVisible(), "who has been here before is left alone"
    for step in STEPS:
        assert window.actions_[step.action].text()
    assert len({step.id for step in STEPS}) == len(STEPS)


@pytest.fixture
def own(fixture_cache: Path) -> Iterator[Path]:
    """The guide's own folder, as its first step fills it."""
    own = Path(own_folder())
    shutil.copytree(fixture_cache, own)
    yield own
    shutil.rmtree(own)


@pytest.mark.slow
def test_another_place_is_left_alone(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, own: Path
) -> None:
    """Whatever is shown, which may be a server that many use, a step works on the guide's own."""
    window = open_window(fixture_cache)
    window.actions_["first-steps"].trigger()
    bar = window.guide.bar
    for number in (1, 4):
        window.open_paths([str(fixture_cache)])
        listed(qtbot, window, fixture_cache)
        bar.show_step(number)
        assert bar.go.text() == "Show the guide's folder" and "stays as it is" in bar.text.text()
        click(qtbot, bar.go)
        listed(qtbot, window, own)
        assert not window.findChildren(PurgeDialog) and not window.jobs.active
        assert bar.number == number and bar.go.text() == STEPS[number].verb
    # Nor does it go on by what is done to others.
    for place in (str(fixture_cache), "redis://127.0.0.1:6379"):
        window.jobs.end(window.jobs.add("Purge", "purge", place), State.DONE, result=PURGED)
        assert bar.number == 4
    window.jobs.end(window.jobs.add("Purge", "purge", str(own)), State.DONE, result=PURGED)
    assert bar.number == 5
    bar.end()


def test_a_folder_that_is_not_there_yet_is_said_to_be_missing(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    window.actions_["first-steps"].trigger()
    window.guide.bar.show_step(4)
    click(qtbot, window.guide.bar.go)
    qtbot.waitUntil(lambda: window.error_bar.error is not None, timeout=PATIENCE)
    assert "does not exist" in str(window.error_bar.error)
    window.guide.bar.end()


def test_who_is_new_is_guided(
    qtbot: QtBot, open_window: OpenWindow, settings: QSettings, own: Path
) -> None:
    settings.remove(PAGE)
    window = open_window()
    bar = window.guide.bar
    assert bar.isVisible()
    assert bar.count.text() == f"Step 1 of {len(STEPS)}"
    # Enter is all it takes, and nothing else asks for it.
    assert window.focusWidget() is bar.go
    assert primary(window) == [bar.go]
    click(qtbot, bar.go)
    (dialog,) = window.findChildren(WarmDialog)
    dialog.reject()
    assert bar.number == 0, "it was not done"
    bar.go.setFocus()
    window.show_page("recipes")
    assert window.pages.isAncestorOf(window.focusWidget()), "Enter is for what is shown now"
    window.show_page("entries")
    click(qtbot, bar.skip)
    window.open_paths([str(own)])
    listed(qtbot, window, own)
    window.show_page("overview")
    click(qtbot, bar.go)
    assert window.pages.current == "entries"
    if window.inspector_frame.isVisible():
        window.inspector_frame.toggle()
    window.table.go_to_row(0)
    qtbot.waitUntil(lambda: bar.number == 2, timeout=PATIENCE)
    assert window.inspector_frame.isVisible(), "what the step is about"
    # Who asks for the guide once more goes on with it; there is a way back.
    window.actions_["first-steps"].trigger()
    assert bar.number == 2 and window.focusWidget() is bar.go
    click(qtbot, bar.back)
    assert bar.number == 1
    click(qtbot, bar.skip)
    for _ in range(2):
        click(qtbot, bar.skip)
    qtbot.waitUntil(window.actions_["purge-shown"].isEnabled, timeout=PATIENCE)
    click(qtbot, bar.go)
    (preview,) = window.findChildren(PurgeDialog)
    qtbot.waitUntil(preview.go.isEnabled, timeout=PATIENCE)
    click(qtbot, preview.go)
    qtbot.waitUntil(lambda: STEPS[bar.number].id == "undo", timeout=PATIENCE)
    assert settings.value(STEP) == 5, "the next window goes on here"
    qtbot.waitUntil(window.actions_["undo"].isEnabled, timeout=PATIENCE)
    click(qtbot, bar.go)
    qtbot.waitUntil(lambda: bar.title.text() == "Done", timeout=PATIENCE)
    assert not bar.go.isVisible()
    click(qtbot, bar.close_button)
    assert not bar.isVisible() and bar.go not in primary(window)
    window.actions_["first-steps"].trigger()
    assert bar.isVisible() and bar.number == 0 and not bar.back.isVisible()


@pytest.mark.slow
def test_a_step_that_cannot_be_taken_says_why(
    qtbot: QtBot, open_window: OpenWindow, own: Path
) -> None:
    window = open_window(own)
    window.actions_["first-steps"].trigger()
    bar = window.guide.bar
    bar.show_step(4)
    qtbot.waitUntil(window.actions_["purge-shown"].isEnabled, timeout=PATIENCE)
    window.discovery.protect(str(own), True)
    qtbot.waitUntil(lambda: not window.actions_["purge-shown"].isEnabled(), timeout=PATIENCE)
    click(qtbot, bar.go)
    assert "read-only" in bar.text.text() and "needs entries" not in bar.text.text()
    window.discovery.protect(str(own), False)
    qtbot.waitUntil(window.actions_["purge-shown"].isEnabled, timeout=PATIENCE)
    window.head.box.setText("none-is-called-so")
    qtbot.waitUntil(lambda: not window.entries.shown(), timeout=PATIENCE)
    qtbot.waitUntil(lambda: not window.actions_["purge-shown"].isEnabled(), timeout=PATIENCE)
    click(qtbot, bar.go)
    assert "the filter" in bar.text.text() and "first one" not in bar.text.text()
    assert not window.findChildren(PurgeDialog)
    bar.end()


def primary(window: Window) -> list[QPushButton]:
    """The buttons that stand out."""
    buttons = [one for one in window.findChildren(QPushButton) if one.isVisible()]
    return [one for one in buttons if one.property("primary")]


@pytest.mark.slow
def test_while_a_step_is_taken_the_guide_says_so(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    window.actions_["first-steps"].trigger()
    bar = window.guide.bar
    warmed = window.jobs.add("Warm", "warm", "/x")
    window.jobs.end(warmed, State.DONE, result=RESULTS["warm"])
    assert bar.number == 0, "that is another place"
    job = window.jobs.add("Warm", "warm", own_folder())
    assert "is running" in bar.text.text() and bar.go.text() == "Show activity"
    click(qtbot, bar.go)
    assert window.following.open is not None and window.following.job is job
    window.jobs.end(job, State.CANCELLED)
    assert bar.number == 0 and bar.go.text() == "Warm…"
    # In a small window its buttons stand below its words, which are whole.
    bar.resize(440, bar.sizeHint().height())
    assert bar.go.y() > bar.text.y()
    bar.end()


@pytest.mark.slow
def test_a_step_may_be_taken_before_it_is_reached(
    qtbot: QtBot, open_window: OpenWindow, settings: QSettings
) -> None:
    window = open_window()
    window.actions_["first-steps"].trigger()
    bar = window.guide.bar

    def done(kind: str, state: State = State.DONE) -> None:
        job = window.jobs.add(kind, kind, None if kind == "export" else own_folder())
        job.asked = {"source": own_folder()} if kind == "export" else {}
        window.jobs.end(job, state, result=RESULTS[kind])

    done("warm")
    done("export", State.CANCELLED)
    done("purge")
    click(qtbot, bar.skip)
    click(qtbot, bar.skip)
    assert STEPS[bar.number].id == "export", "it came to nothing"
    click(qtbot, bar.back)
    done("export")
    assert STEPS[bar.number].id == "verify"
    # Another window goes on with the round.
    window.close_surely()
    window = open_window()
    bar = window.guide.bar
    click(qtbot, bar.skip)
    assert STEPS[bar.number].id == "purge", "that it was purged before is not what it is about"
    click(qtbot, bar.back)
    assert STEPS[bar.number].id == "export", "who wants to does it again"
    done("export")
    assert STEPS[bar.number].id == "purge"
    # In a new round nothing was done yet.
    bar.end()
    window.actions_["first-steps"].trigger()
    for step in STEPS[:4]:
        assert STEPS[bar.number] is step
        click(qtbot, bar.skip)
    bar.end()


def test_a_step_that_cannot_be_taken_says_so(
    qtbot: QtBot, open_window: OpenWindow, own: Path
) -> None:
    shutil.rmtree(own)
    own.mkdir()
    window = open_window()
    window.open_paths([str(own)])
    qtbot.waitUntil(lambda: window.place == str(own), timeout=PATIENCE)
    window.actions_["first-steps"].trigger()
    bar = window.guide.bar
    bar.show_step(4)
    click(qtbot, bar.go)
    assert "Go back to the previous" in bar.text.text()
    bar.end()


def test_a_number_that_is_none_guides_nobody(open_window: OpenWindow, settings: QSettings) -> None:
    settings.setValue(STEP, "what")
    assert not open_window().guide.bar.isVisible()
