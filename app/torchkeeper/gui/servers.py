"""What the window does with servers: adding them, letting us in, and leaving them as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject

from torchkeeper.gui.engines import Listener
from torchkeeper.gui.operations import Selection
from torchkeeper.link.words import UserError

if TYPE_CHECKING:
    from torchkeeper.gui.dialogs.server import PasswordDialog, ServerDialog
    from torchkeeper.gui.dialogs.serverpage import ExpiryDialog, ServerPage
    from torchkeeper.gui.window import Window


class Servers(QObject):
    """From an action about a server to what comes of it."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._window = window
        self._asking: PasswordDialog | None = None

    def add_server(self) -> ServerDialog:
        """Ask where a server is, and put it on the list."""
        from torchkeeper.gui.dialogs.server import ServerDialog

        dialog = ServerDialog(self._window, self._window.engines)
        dialog.accepted.connect(lambda: self._add(dialog))
        dialog.open()
        return dialog

    def _add(self, dialog: ServerDialog) -> None:
        window, place = self._window, dialog.place
        if dialog.password.text():
            self._give(place, dialog.password.text(), dialog.keep.isChecked())
        known = window.place == place
        window.places.add(place)
        if dialog.read_only.isChecked() != window.places.read_only(place):
            window.protect(place, dialog.read_only.isChecked())
        window.places_pane.choose(place)
        if known:
            window.listing.refresh()

    def ask_for_password(self, place: str, error: UserError) -> PasswordDialog:
        """Ask for the password of the server that is shown, then read it again."""
        from torchkeeper.gui.dialogs.server import PasswordDialog

        if self._asking is not None:
            self._asking.reject()
        dialog = self._asking = PasswordDialog(self._window, self._window.engines, place, error)
        dialog.accepted.connect(lambda: self._unlock(dialog))
        dialog.finished.connect(self._asked)
        dialog.open()
        return dialog

    def _asked(self) -> None:
        self._asking = None

    def _unlock(self, dialog: PasswordDialog) -> None:
        self._give(dialog.place, dialog.password.text(), dialog.keep.isChecked())
        if self._window.place == dialog.place:
            self._window.listing.refresh()

    def _give(self, place: str, password: str, keep: bool) -> None:
        def kept(result: dict[str, Any]) -> None:
            if keep and not result.get("kept"):
                self._window.tell(
                    UserError(
                        self.tr("The password could not be kept."),
                        self.tr("The system's keyring is locked, or refused it."),
                        self.tr("It is used until the window is closed."),
                        code="keyring-refused",
                    )
                )

        self._window.engines.give(place, password, Listener(result=kept), keep=keep)

    def show_server(self) -> ServerPage | None:
        """Show how the server is."""
        from torchkeeper.gui.dialogs.serverpage import ServerPage

        place = self._window.place
        if place is None:
            return None
        dialog = ServerPage(self._window, self._window.engines, place)
        dialog.open()
        return dialog

    def set_expiry(self) -> ExpiryDialog | None:
        """Ask when the selected entries are to expire, then do."""
        from torchkeeper.gui.dialogs.serverpage import ExpiryDialog

        window, place = self._window, self._window.place
        chosen = window.table.selected()
        if place is None or not chosen:
            return None
        selection = Selection.of(chosen)
        dialog = ExpiryDialog(window, place, len(chosen))
        dialog.accepted.connect(lambda: window.operations.expire(place, selection, dialog.seconds))
        dialog.open()
        return dialog

    def toggle_read_only(self) -> None:
        """Allow changes in the chosen place, or none."""
        place = self._window.places_pane.place
        if place is not None:
            self._window.protect(place.path, not place.read_only)
