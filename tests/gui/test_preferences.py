"""The settings of the window: reached by key, menu and palette, and so at once."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, click, key, sample_window, settle, type_in
from tests.shots.sample_engines import SampleEngines
from torchkeeper.gui import theme
from torchkeeper.gui.dialogs.preferences import PreferencesDialog
from torchkeeper.gui.dialogs.signers import SignersDialog
from torchkeeper.gui.pages import ENTRIES
from torchkeeper.gui.window import Window


@pytest.fixture
def window(qtbot: QtBot, settings: QSettings) -> Iterator[Window]:
    before = theme.look().theme
    with sample_window(qtbot, settings, SampleEngines(), 1200, 800) as window:
        yield window
    theme.look().choose(before)


def opened(qtbot: QtBot, window: Window) -> PreferencesDialog:
    """What Ctrl+, opens, whatever page is shown."""
    window.activateWindow()  # the offscreen platform does not go back to it by itself
    qtbot.waitUntil(window.isActiveWindow, timeout=PATIENCE)
    key(qtbot, window, Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: bool(window.findChildren(PreferencesDialog)), timeout=PATIENCE)
    [dialog] = window.findChildren(PreferencesDialog)
    settle(qtbot)
    return dialog


def test_ctrl_comma_opens_them_and_what_is_chosen_is_so_at_once(
    qtbot: QtBot, window: Window, settings: QSettings
) -> None:
    dialog = opened(qtbot, window)
    assert window.pages.current == ENTRIES
    size = dialog.size()
    dialog.theme.setFocus()
    key(qtbot, dialog.theme, Qt.Key.Key_End)
    assert settings.value("look/theme") == theme.look().theme == "dark"
    key(qtbot, dialog.theme, Qt.Key.Key_Up)
    assert settings.value("look/theme") == theme.look().theme == "light"
    assert dialog.notify.isChecked()
    key(qtbot, dialog.notify, Qt.Key.Key_Space)
    settle(qtbot)
    assert not window.notifier.on
    assert not window.actions_["notify"].isChecked()
    assert dialog.size() == size
    key(qtbot, dialog, Qt.Key.Key_Escape)
    settle(qtbot)
    assert not opened(qtbot, window).notify.isChecked()


def test_they_lead_to_the_signers_and_to_where_things_are_kept(
    qtbot: QtBot, window: Window, settings: QSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str | None] = []
    monkeypatch.setattr(window.flows.results, "reveal_path", shown.append)
    dialog = opened(qtbot, window)
    click(qtbot, dialog.signers)
    [signers] = dialog.findChildren(SignersDialog)
    qtbot.waitUntil(lambda: signers.known, timeout=PATIENCE)
    key(qtbot, signers, Qt.Key.Key_Escape)
    settle(qtbot)
    assert dialog.isVisible()
    assert settings.fileName() in dialog.kept
    assert all(os.path.isabs(path) for path in dialog.kept) and len(dialog.kept) == 5
    for button in dialog.kept.values():
        assert button.accessibleName().startswith("Show in the file manager: ")
        click(qtbot, button)
    assert shown == list(dialog.kept)


def test_menu_and_palette_have_them_and_profiles_keep_their_key(
    qtbot: QtBot, window: Window
) -> None:
    action = window.actions_["preferences"]
    assert action.text().replace("&", "") == "Settings…"
    assert any(
        isinstance(menu, QMenu) and menu.title() == "&Edit" for menu in action.associatedObjects()
    )
    pages = "overview", "entries", "runs", "recipes", "settings", "doctor"
    shown = [window.actions_[page].shortcut().toString() for page in pages]
    assert shown == [f"Ctrl+{number}" for number in range(1, 7)]
    key(qtbot, window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    palette = window.palette_
    qtbot.waitUntil(palette.isVisible, timeout=PATIENCE)
    type_in(qtbot, palette.field, "settings")
    assert palette.list.picks[0].name.startswith("Settings")
    key(qtbot, palette.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: bool(window.findChildren(PreferencesDialog)), timeout=PATIENCE)
