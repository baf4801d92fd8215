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

    from torchkeeper.gui.context import Context
    from torchkeeper.gui.flows import Flows
    from torchkeeper.gui.sidebar.envlist import EnvironmentList
    from torchkeeper.gui.sidebar.pane import Sidebar

#: Milliseconds for which it is said what was done.
_SAID_MS = 8_000


class SidebarFlows(QObject):
    """The actions about the chosen place, and about the environment at the keyboard."""

    def __init__(
        self, context: Context, sidebar: Sidebar, environments: EnvironmentList, flows: Flows
    ) -> None:
        super().__init__(context.window)
        self._context, self._sidebar = context, sidebar
        self._list, self._flows = environments, flows

    def remove_place(self) -> None:
        """Take the chosen place off the list, and offer to put it back."""
        context = self._context
        if (place := context.places_pane.place) is None:
            return
        if not place.added:
            self._say_found(place.title)
            return
        row = context.places.row_of(place.path)
        context.places.remove(row)
        if place.server:
            context.engines.forget_password(place.path)

        def put_back() -> None:
            context.places.put_back(row, place)
            context.places_pane.choose(place.path)

        # By now another is shown, for which the offer stays.
        context.undo_bar.offer(
            context.place or "",
            self.tr("{} is off the list; nothing on the disk has changed").format(place.title),
            self.tr("Put back"), put_back, self.tr("Put {} back on the list").format(place.title),
        )  # fmt: skip

    def rename_server(self) -> None:
        """Call the chosen server otherwise, where it stands."""
        self._sidebar.show()
        self._context.places_pane.rename()

    def shift_place(self, by: int) -> None:
        """Have the chosen place stand higher, with -1, or lower, with 1."""
        if (place := self._context.places_pane.place) is not None:
            self._context.places.shift(place.path, by)
            self._context.update_soon()

    def copy_place(self) -> None:
        """Put the path or the address of the chosen place on the clipboard."""
        if (place := self._context.places_pane.place) is not None:
            self._copy(place.path)

    def open_bundle(self) -> None:
        """Ask for bundles, and put them on the list to be looked at."""
        from torchkeeper.gui.dialogs.base import choose_files

        context = self._context
        shown = context.places_pane.place
        first = os.path.dirname(shown.path) if shown and shown.bundle else QDir.homePath()
        kinds = self.tr("Bundles and mega-caches (*.torchcache *.bin);;All files (*)")

        def chosen(files: Sequence[str]) -> None:
            for file in files:
                context.places.add(file, bundle=True)
            context.places_pane.choose(files[-1])
            context.pages.go(ENTRIES)

        first = os.path.join(first, "")
        choose_files(context.window, self.tr("Open a bundle"), first, kinds, chosen)

    def toggle_sidebar(self) -> None:
        """Show or hide the sidebar."""
        self._sidebar.toggle()
        self._context.update_soon()

    @property
    def environment(self) -> Environment | None:
        """The environment at the keyboard, or that was clicked last."""
        return self._list.current

    def use_environment(self) -> None:
        """Have verdicts be about it."""
        if self.environment is not None:
            self._context.environments.choose(self.environment.python)

    def ask_environment(self) -> None:
        """Ask it anew what it is."""
        if self.environment is not None:
            self._context.environments.ask(self.environment, again=True)

    def doctor_environment(self) -> None:
        """Have verdicts be about it, and let the doctor look."""
        if self.environment is not None:
            self._context.environments.choose(self.environment.python)
            self._context.actions["doctor"].trigger()

    def prepare_environment(self) -> None:
        """Build the header for it that its first compile builds otherwise."""
        if self.environment is not None:
            self._flows.prepare(self.environment.python)

    def copy_environment(self) -> None:
        """Put the path of its interpreter on the clipboard."""
        if self.environment is not None:
            self._copy(self.environment.python)

    def remove_environment(self) -> None:
        """Take it off the list, if the user has added it, and offer to put it back."""
        context, one = self._context, self.environment
        if one is None:
            return
        if not one.added:
            self._say_found(one.python)
            return
        environments, python = context.environments, one.python
        environments.remove(python)
        context.undo_bar.offer(
            context.place or "", self.tr("{} is off the list of environments").format(python),
            self.tr("Put back"), lambda: environments.add(python),
            self.tr("Put {} back on the list").format(python),
        )  # fmt: skip

    def _say_found(self, name: str) -> None:
        text = self.tr("{} was found on this machine: only what you added can go")
        self._context.say(text.format(name), _SAID_MS)

    def _copy(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self._context.say(self.tr("Copied: {}").format(text), _SAID_MS)
