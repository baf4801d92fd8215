"""Private folders of the window, in the background thread."""

from __future__ import annotations

import contextlib

from PySide6.QtCore import QObject, Signal

from torchkeeper.client import temporary
from torchkeeper.gui.background.lookups import aside
from torchkeeper.stores.atomic import remove


class Scratch(QObject):
    """Private folders: each goes when nobody needs it, at the latest when the window ends."""

    #: Nothing is being removed any more.
    idle = Signal()
    #: A folder, and whether it could be removed.
    _gone = Signal(str, bool)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._there: set[str] = set()
        self.going: set[str] = set()
        self._gone.connect(self._forget)

    def make(self, use: str) -> str:
        """The path of a new one, named by its use. Raises UserError("place-unwritable")."""
        folder = temporary.make(use)
        self._there.add(folder)
        return folder

    def remove(self, folder: str) -> None:
        """Remove one that was made here, however large it is."""
        if folder not in self._there or folder in self.going:
            return
        self.going.add(folder)

        def work() -> None:
            gone = remove(folder)
            with contextlib.suppress(RuntimeError):  # the window is gone meanwhile
                self._gone.emit(folder, gone)

        aside(work)

    def remove_all(self) -> None:
        """Remove all there are; ``idle`` follows unless nothing is ``going``."""
        for folder in list(self._there):
            self.remove(folder)

    def _forget(self, folder: str, gone: bool) -> None:
        self.going.discard(folder)
        # What could not be removed now is tried once more at the end.
        if gone:
            self._there.discard(folder)
        if not self.going:
            self.idle.emit()
