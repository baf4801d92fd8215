"""What is selected in the table, as entries and added up: half a million of them in short steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from operator import attrgetter

from PySide6.QtCore import QObject, Signal

from torchkeeper.artifacts.entry import Entry
from torchkeeper.gui.table.entries import SMALL
from torchkeeper.gui.table.lines import Line
from torchkeeper.gui.table.ordering import Row
from torchkeeper.gui.table.slices import Slices, pieces

#: Seconds for which it may change again and again before it is looked at in one go.
_PATIENCE = 1.0
_SIZE: Callable[[Entry], int] = attrgetter("size")


class Chosen(QObject):
    """Remembers what is selected until it may be something else."""

    #: It is known now, or is no longer what was being looked at: after ``ready`` was asked for.
    told = Signal()

    def __init__(self, lines: Callable[[], list[Line]], parent: QObject | None = None) -> None:
        """lines: the lines that are selected, headings among them."""
        super().__init__(parent)
        self._lines = lines
        self._entries: list[Entry] | None = None
        self._size: int | None = None
        self._slices = Slices(self)
        self._waiting = False
        self._since: float | None = None

    @property
    def ready(self) -> bool:
        """Whether it is known. Where it is very much, not at once: ``told`` follows."""
        if self._entries is not None and self._size is not None:
            return True
        if not self._slices.busy:
            lines, now = self._lines(), time.monotonic()
            since = self._since or now
            if len(lines) <= SMALL or now - since > _PATIENCE:
                self.size()
            else:
                self._since, self._waiting = since, False
                self._slices.start(self._gather(lines), self._over)
                self._waiting = True
        return self._entries is not None and self._size is not None

    def entries(self) -> list[Entry]:
        """All of them, in the order of the table, however long that takes."""
        if self._entries is None:
            self._entries = [line.entry for line in self._lines() if isinstance(line, Row)]
        return self._entries

    def size(self) -> int:
        """Their bytes."""
        if self._size is None:
            self._size = sum(map(_SIZE, self.entries()))
            self._since = None
        return self._size

    def forget(self) -> None:
        """Others may be selected from now on, or they are others than before."""
        self._entries = self._size = None
        if self._slices.busy:
            self._slices.stop()
            self.told.emit()

    def _gather(self, lines: list[Line]) -> Iterator[None]:
        found, size = list[Entry](), 0
        for piece in pieces(lines):
            some = [line.entry for line in piece if isinstance(line, Row)]
            found += some
            size += sum(map(_SIZE, some))
            yield
        self._entries, self._size = found, size

    def _over(self) -> None:
        self._since = None
        if self._waiting:
            self.told.emit()
