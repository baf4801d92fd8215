"""What can be done with a place or an environment where it stands on its list."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from PySide6.QtCore import QDir, QObject
from PySide6.QtGui import QGuiApplication

from torchkeeper.gui.pages.table import ENTRIES
from torchkeeper.gui.verdicts.environments import Environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchkeeper.gui.sidebar.envlist import EnvironmentList
    from torchkeeper.gui.window import Window

#: Milliseconds for which it is said what was done.
_SAID_MS = 8_000


class SidebarFlows(QObject):
    """The actions about the chosen place, and about the environment at the keyboard."""

    def __init__(self, window: Window, environments: EnvironmentList) -> None:
        super().__init__(window)
        self._window = window
        self._list = environments

    # Places.

    def remove_place(self) -> None:
        """Take the chosen place off the list, and offer to put it back."""
        window = self._window
        place = window.places_pane.place
        if place is None or not place.added:
            if place is not None:
                text = self.tr("{} was found on this machine: only what you added can go")
                window.statusBar().showMessage(text.format(place.title), _SAID_MS)
            return
        row = window.places.row_of(place.path)
        window.places.remove(row)
        if place.server:
            window.engines.forget_password(place.path)

        def put_back() -> None:
            window.places.put_back(row, place)
            window.places_pane.choose(place.path)

        # By now another is shown, for which the offer stays.
        window.undo_bar.offer(
            window.place or "",
            self.tr("{} is off the list; nothing on the disk has changed").format(place.title),
            self.tr("Put back"), put_back, self.tr("Put {} back on the list").format(place.title),
        )  # fmt: skip

    def rename_server(self) -> None:
        """Call the chosen server otherwise, where it stands."""
        self._window.sidebar.show()
        self._window.places_pane.rename()

    def shift_place(self, by: int) -> None:
        """Have the chosen place stand higher, with -1, or lower, with 1."""
        place = self._window.places_pane.place
        if place is not None:
            self._window.places.shift(place.path, by)
            self._window.update_soon()

    def move_place_up(self) -> None:
        """Have the chosen place stand one higher."""
        self.shift_place(-1)

    def move_place_down(self) -> None:
        """Have the chosen place stand one lower."""
        self.shift_place(1)

    def copy_place(self) -> None:
        """Put the path or the address of the chosen place on the clipboard."""
        place = self._window.places_pane.place
        if place is not None:
            self._copy(place.path)

    def open_bundle(self) -> None:
        """Ask for bundles, and put them on the list to be looked at."""
        from torchkeeper.gui.dialogs.base import choose_files

        window = self._window
        shown = window.places_pane.place
        first = os.path.dirname(shown.path) if shown and shown.bundle else QDir.homePath()
        kinds = self.tr("Bundles and mega-caches (*.torchcache *.bin);;All files (*)")
        choose_files(window, self.tr("Open a bundle"), os.path.join(first, ""), kinds,
                     self._open_bundles)  # fmt: skip

    def _open_bundles(self, files: Sequence[str]) -> None:
        for file in files:
            self._window.places.add(file, bundle=True)
        self._window.places_pane.choose(files[-1])
        self._window.show_page(ENTRIES)

    def toggle_sidebar(self) -> None:
        """Show or hide the sidebar."""
        self._window.sidebar.toggle()
        self._window.update_soon()

    # Environments.

    @property
    def environment(self) -> Environment | None:
        """The environment at the keyboard, or that was clicked last."""
        return self._list.current

    def use_environment(self) -> None:
        """Have verdicts be about it."""
        if self.environment is not None:
            self._window.here.environments.choose(self.environment.python)

    def use_no_environment(self) -> None:
        """Have no verdicts."""
        self._window.here.environments.choose(None)

    def ask_environment(self) -> None:
        """Ask it anew what it is."""
        if self.environment is not None:
            self._window.here.environments.ask(self.environment, again=True)

    def doctor_environment(self) -> None:
        """Have verdicts be about it, and let the doctor look."""
        if self.environment is not None:
            self._window.here.environments.choose(self.environment.python)
            self._window.actions_["doctor"].trigger()

    def prepare_environment(self) -> None:
        """Build the header for it that its first compile builds otherwise."""
        if self.environment is not None:
            self._window.flows.prepare(self.environment.python)

    def copy_environment(self) -> None:
        """Put the path of its interpreter on the clipboard."""
        if self.environment is not None:
            self._copy(self.environment.python)

    def remove_environment(self) -> None:
        """Take it off the list, if the user has added it, and offer to put it back."""
        window, one = self._window, self.environment
        if one is None:
            return
        if not one.added:
            text = self.tr("{} was found on this machine: only what you added can go")
            window.statusBar().showMessage(text.format(one.python), _SAID_MS)
            return
        environments, python = window.here.environments, one.python
        environments.remove(python)
        window.undo_bar.offer(
            window.place or "", self.tr("{} is off the list of environments").format(python),
            self.tr("Put back"), lambda: environments.add(python),
            self.tr("Put {} back on the list").format(python),
        )  # fmt: skip

    def _copy(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self._window.statusBar().showMessage(self.tr("Copied: {}").format(text), _SAID_MS)
