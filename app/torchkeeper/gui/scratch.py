"""Private folders of the window: each goes, with all that is in it, when nobody needs it any more,
and at the latest when the window ends.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time

from PySide6.QtCore import QObject, Signal

from torchkeeper.gui.asides import aside
from torchkeeper.link.words import user_error

#: How often it is tried to remove one, and seconds in between.
_TRIES = 10
_BETWEEN = 0.2


class Scratch(QObject):
    """Makes and removes them; every method runs in the worker's thread, and none waits for what is
    removed.
    """

    #: Nothing is being removed any more.
    idle = Signal()
    _gone = Signal(str)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._there: set[str] = set()
        self._going: set[str] = set()
        self._gone.connect(self._forget)

    @property
    def busy(self) -> bool:
        """Whether something is being removed."""
        return bool(self._going)

    def make(self, use: str) -> str:
        """The path of a new one, named by its use. Raises UserError("place-unwritable")."""
        try:
            folder = tempfile.mkdtemp(prefix=f"torchkeeper-{use}-")
        except OSError as e:
            about = {"place": tempfile.gettempdir(), "why": e.strerror}
            raise user_error("place-unwritable", about) from e
        self._there.add(folder)
        return folder

    def remove(self, folder: str) -> None:
        """Remove one that was made here, however large it is."""
        if folder not in self._there or folder in self._going:
            return
        self._going.add(folder)

        def remove() -> None:
            for _ in range(_TRIES):
                shutil.rmtree(folder, ignore_errors=True)
                if not os.path.lexists(folder):
                    break
                time.sleep(_BETWEEN)  # a process that is being ended may still write there
            with contextlib.suppress(RuntimeError):  # the window is gone meanwhile
                self._gone.emit(folder)

        aside(remove)

    def remove_all(self) -> None:
        """Remove all there are; ``idle`` follows unless nothing is ``busy``."""
        for folder in list(self._there):
            self.remove(folder)

    def _forget(self, folder: str) -> None:
        self._going.discard(folder)
        # What could not be removed now is tried once more at the end.
        if not os.path.lexists(folder):
            self._there.discard(folder)
        if not self._going:
            self.idle.emit()
