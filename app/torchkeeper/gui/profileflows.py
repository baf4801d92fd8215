"""The dialog of the settings: there is one, beside the window; it is loaded when first opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

if TYPE_CHECKING:
    from torchkeeper.gui.dialogs.settings import SettingsDialog
    from torchkeeper.gui.window import Window


class ProfileFlows(QObject):
    """Shows the settings."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._window = window

    def show_settings(self) -> SettingsDialog:
        """Show the profiles, beside the window."""
        from torchkeeper.gui.dialogs.settings import SettingsDialog

        window = self._window
        found = window.findChildren(SettingsDialog)
        open_one = next((one for one in found if one.isVisible()), None)
        if open_one is None:
            open_one = SettingsDialog(window, window.engines, window.here.environments)
        else:
            open_one.page.read_again()
        open_one.show()
        open_one.activateWindow()
        return open_one

    def import_settings(self, files: Sequence[str]) -> None:
        """Show what files make as profiles."""
        self.show_settings().open_files(files)
