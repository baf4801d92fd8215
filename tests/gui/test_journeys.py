"""What people come for, in clicks: with real events, and a failure where one grows.

Of five journeys two are beside what else they show: how all places are cleaned
(tests/gui/test_cleaning.py), and how a program is run, warms its cache and says why it compiled
again (tests/gui/test_programs.py). A click is a press of the mouse; what is typed once, as a path
or a command line, is none.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, idle, key, settle, type_in
from tests.gui.test_cleaning import Clicks
from tests.gui.test_flows import open_dialog
from tests.snapshots import snapshot
from torchkeeper.client.kept import verified
from torchkeeper.client.recipes import files
from torchkeeper.gui.dialogs.exporting import ExportDialog
from torchkeeper.gui.dialogs.importing import ImportDialog
from torchkeeper.gui.dialogs.verifying import VerifyDialog
from torchkeeper.gui.places.model import SETTING
from torchkeeper.gui.window import PAGE, Window

_RECIPES = Path(__file__).parents[2] / "resources" / "recipes"


def tool(window: Window, action: str) -> QWidget:
    """A button of the toolbar."""
    return window.tools.widgetForAction(window.actions_[action])


def press(qtbot: QtBot, button: QWidget) -> None:
    """Click what can be pressed only after something is known."""
    qtbot.waitUntil(button.isEnabled, timeout=PATIENCE)
    click(qtbot, button)


def choose(qtbot: QtBot, window: Window, place: Path) -> None:
    """Click a place in the sidebar."""
    view = window.places_pane.list
    index = view.model().index(window.places.row_of(str(place)), 0)
    view.scrollTo(index)
    click(qtbot, view.viewport(), view.visualRect(index).center())


@pytest.fixture
def clicks(qapp: QApplication) -> Clicks:
    return Clicks()


def test_does_it_still_hit_takes_two_clicks(
    qtbot: QtBot, open_window: OpenWindow, torch_that_waits: Path, fixture_cache: Path,
    tmp_path: Path, clicks: Clicks, qapp: QApplication,
) -> None:  # fmt: skip
    recipe = str(shutil.copy(_RECIPES / "callable.toml", tmp_path))
    files.add(recipe)
    verified.keep_warmed([(recipe, 1, 0)], str(fixture_cache))
    window = open_window(fixture_cache)
    qtbot.waitUntil(window.actions_["verify"].isEnabled, timeout=PATIENCE)
    qapp.installEventFilter(clicks)
    click(qtbot, tool(window, "verify"))
    dialog = open_dialog(qtbot, window, VerifyDialog)
    press(qtbot, dialog.go)
    qapp.removeEventFilter(clicks)
    assert (len(clicks.count), clicks.keys) == (2, 0)
    (job,) = window.jobs.jobs
    assert job.kind == "verify" and dialog.recipe.names == [recipe]
    qtbot.waitUntil(torch_that_waits.exists, timeout=PATIENCE)
    window.operations.cancel(job)
    idle(qtbot, window)
    dialog.reject()


def test_a_cache_is_carried_to_another_machine_with_three_and_two_clicks(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path,
    settings: QSettings, clicks: Clicks, qapp: QApplication,
) -> None:  # fmt: skip
    """From the page that the window begins with; and there into a cache that is shown."""
    there = tmp_path / "there"
    there.mkdir()
    settings.setValue(SETTING, [str(fixture_cache), str(there)])
    settings.setValue(PAGE, "overview")
    window = open_window()
    qapp.installEventFilter(clicks)
    choose(qtbot, window, fixture_cache)
    press(qtbot, tool(window, "export"))
    exporting = open_dialog(qtbot, window, ExportDialog)
    qapp.removeEventFilter(clicks)
    bundle = tmp_path / "carried.torchcache"
    exporting.target.file.clear()
    type_in(qtbot, exporting.target.file, str(bundle))
    qapp.installEventFilter(clicks)
    press(qtbot, exporting.go)
    idle(qtbot, window)
    assert len(clicks.count) == 3
    # There.
    choose(qtbot, window, there)
    settle(qtbot)
    clicks.count.clear()
    press(qtbot, tool(window, "import"))
    chooser = open_dialog(qtbot, window, QFileDialog)
    qapp.removeEventFilter(clicks)
    (name,) = chooser.findChildren(QLineEdit, "fileNameEdit")
    name.setText(str(bundle))
    key(qtbot, name, Qt.Key.Key_Return)
    importing = open_dialog(qtbot, window, ImportDialog)
    qapp.installEventFilter(clicks)
    press(qtbot, importing.go)
    qapp.removeEventFilter(clicks)
    assert (len(clicks.count), clicks.keys) == (2, 0)
    idle(qtbot, window)
    assert snapshot(there / "fxgraph").keys() == snapshot(fixture_cache / "fxgraph").keys()
