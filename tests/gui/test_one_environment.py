"""One choice of the environment, which pages and dialogs follow; a dialog may have its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QApplication, QComboBox, QMenu
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, click, key, sample_window, settle
from tests.shots import samples
from tests.shots.sample_engines import SampleEngines
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.pages.doctor.page import DoctorPage
from torchkeeper.gui.pages.profiles.page import SettingsPage
from torchkeeper.gui.verdicts.environments import KEY
from torchkeeper.gui.window import Window

# The offscreen platform cannot grab the keyboard for a menu.
menus = pytest.mark.qt_log_ignore("raise\\(\\)", "grabbing the", "SizeHints", extend=True)

NEW, OLD = samples.PYTHON, samples.OLD_PYTHON


@pytest.fixture
def window(qtbot: QtBot, settings: QSettings) -> Iterator[Window]:
    settings.setValue(KEY, NEW)
    with sample_window(qtbot, settings, SampleEngines(), 1366, 900) as window:
        environments = window.here.environments
        qtbot.waitUntil(lambda: environments.chosen is not None, timeout=PATIENCE)
        yield window


def menu_of(qtbot: QtBot, choice: EnvironmentChoice) -> QMenu:
    """What “Change for this…” opens."""
    click(qtbot, choice.change)
    qtbot.waitUntil(lambda: isinstance(QApplication.activePopupWidget(), QMenu), timeout=PATIENCE)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    return menu


def take(qtbot: QtBot, menu: QMenu, text: str) -> None:
    """Click on what begins so."""
    [action] = [one for one in menu.actions() if one.text().replace("&", "").startswith(text)]
    click(qtbot, menu, menu.actionGeometry(action).center())
    settle(qtbot)


def choose(qtbot: QtBot, window: Window, text: str) -> None:
    """Choose in the toolbar, by the keyboard."""
    chooser = window.here.chooser
    menu = chooser.menu()
    menu.popup(chooser.mapToGlobal(chooser.rect().bottomLeft()))
    [action] = [one for one in menu.actions() if one.text().replace("&", "").startswith(text)]
    while menu.activeAction() is not action:
        key(qtbot, menu, Qt.Key.Key_Down)
    key(qtbot, menu, Qt.Key.Key_Return)
    settle(qtbot)


@menus
def test_all_follow_the_choice_of_the_window(qtbot: QtBot, window: Window) -> None:
    profiles, doctor = window.show_page("settings"), window.show_page("doctor")
    assert isinstance(profiles, SettingsPage) and isinstance(doctor, DoctorPage)
    qtbot.waitUntil(lambda: profiles.profiles.read, timeout=PATIENCE)
    verify = window.flows.verify()
    assert verify is not None
    dialogs: list[Dialog] = [
        verify,
        window.flows.warm(),
        window.flows.run_program(),
        window.flows.prepare(),
    ]
    dialogs.append(window.flows.open_import([samples.PLACE]))
    choices = [one for dialog in dialogs for one in dialog.findChildren(EnvironmentChoice)]
    assert len(choices) == len(dialogs)
    choices += [profiles.choice_of, doctor.choice_of]
    assert {one.python for one in choices} == {NEW}
    # A list of environments is nowhere but in the toolbar, the sidebar and their dialog.
    assert not [box for one in choices for box in one.findChildren(QComboBox)]
    assert not any(one.change.isVisible() for one in choices[-2:])
    choose(qtbot, window, "torch 2.9.1")
    qtbot.waitUntil(lambda: {one.python for one in choices} == {OLD}, timeout=PATIENCE)
    assert all(one.which.text().startswith(OLD) for one in choices)
    assert all("torch 2.9.1" in one.about.text() for one in choices)
    choose(qtbot, window, "No environment")
    assert window.here.chooser.text() == "No environment"
    assert doctor.choice_of.which.text() == "No environment" and doctor.choice_of.python == ""
    assert profiles.choice_of.which.text() == "None: the newest known defaults"
    # Who needs one says which, and why.
    assert "the window has no environment" in choices[0].beside.text()
    for dialog in dialogs:
        dialog.reject()


@menus
def test_a_dialog_has_another_and_keeps_it_for_itself(qtbot: QtBot, window: Window) -> None:
    dialog = window.flows.warm()
    settle(qtbot)
    before = dialog.size(), dialog.go.pos()
    take(qtbot, menu_of(qtbot, dialog.choice_of), "torch 2.9.1")
    assert dialog.choice_of.python == OLD
    apart = dialog.choice_of.beside
    assert f"Only for this. The window has torch 2.13.0+cu130, {NEW}." in apart.text()
    assert "Only for this" in dialog.choice_of.change.accessibleDescription()
    assert dialog.choice_of.change.accessibleName().startswith(f"Environment: {OLD}")
    assert (dialog.size(), dialog.go.pos()) == before
    assert window.here.environments.chosen is window.here.environments.of(NEW)
    dialog.reject()
    # It is remembered there, and there only.
    other, again = window.flows.prepare(), window.flows.warm()
    assert (other.environment.python, again.choice_of.python) == (NEW, OLD)
    assert "Only for this" in again.choice_of.beside.text()
    other.reject()
    # By the keyboard, back to what the window has.
    again.choice_of.change.setFocus()
    key(qtbot, again.choice_of.change, Qt.Key.Key_Space)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    key(qtbot, menu, Qt.Key.Key_W)
    assert again.choice_of.python == NEW and not again.choice_of.beside.isVisible()
    again.reject()
    assert window.flows.warm().choice_of.python == NEW


@menus
def test_a_choice_in_the_window_is_for_all_again(qtbot: QtBot, window: Window) -> None:
    dialog = window.flows.warm()
    take(qtbot, menu_of(qtbot, dialog.choice_of), "torch 2.9.1")
    dialog.reject()
    program = window.flows.run_program("python train.py")
    take(qtbot, menu_of(qtbot, program.environment), "As the command says")
    assert program.environment.which.text() == "As the command says" and program.python == ""
    assert "The window has torch 2.13.0" in program.environment.beside.text()
    program.reject()
    assert window.flows.run_program().environment.one is None
    choose(qtbot, window, "torch 2.9.1")
    choose(qtbot, window, "torch 2.13.0")
    assert window.flows.warm().choice_of.python == NEW
    assert window.flows.run_program().environment.python == NEW


@menus
def test_enter_begins_what_a_dialog_asks_for(qtbot: QtBot, window: Window) -> None:
    for ask in (window.flows.warm, window.flows.verify, window.flows.prepare):
        dialog = ask()
        assert dialog is not None
        qtbot.waitUntil(dialog.go.isEnabled)
        settle(qtbot)
        at = dialog.focusWidget()
        assert at is not None
        key(qtbot, at, Qt.Key.Key_Return)
        assert dialog.job is not None, type(dialog).__name__


@menus
def test_the_recipe_comes_first_and_only_an_error_has_its_colour(
    qtbot: QtBot, window: Window
) -> None:
    warm, verify = window.flows.warm(), window.flows.verify()
    assert verify is not None
    for dialog in (verify, warm):
        settle(qtbot)
        assert dialog.focusWidget() is dialog.recipe.combo
    verify.reject()
    choice = warm.choice_of
    before = warm.size(), warm.go.pos()
    take(qtbot, menu_of(qtbot, choice), "no torch")
    assert choice.about.property("role") == "error"
    assert choice.beside.isVisible() and choice.beside.property("role") == "muted"
    assert choice.beside.text().startswith("Only for this")
    said = choice.change.accessibleDescription()
    assert said == f"{choice.about.text()}\n{choice.beside.text()}"
    assert (warm.size(), warm.go.pos()) == before
    warm.reject()
