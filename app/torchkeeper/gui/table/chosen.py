"""What is selected in the table, added up in short steps, and entries found by kind and key."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from operator import attrgetter

from PySide6.QtCore import QObject, Signal

from torchkeeper.artifacts.entry import Entry
from torchkeeper.gui.idle import Slices, pieces
from torchkeeper.gui.table.entries import SMALL, EntriesModel
from torchkeeper.gui.table.lines import Line
from torchkeeper.gui.table.rows import Row

#: Seconds for which it may change again and again before it is looked at in one go.
_PATIENCE = 1.0
_SIZE: Callable[[Entry], int] = attrgetter("size")
#: A kind and a key.
Which = tuple[str, str]


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
        if not self._slices.busy and (self._entries is None or self._size is None):
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


class Keyed(QObject):
    """Finds entries by kind and key, and remembers them until the place is read again."""

    #: What was asked for and not known is known now, or is known not to be there.
    found = Signal()

    def __init__(self, model: EntriesModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._known: dict[Which, list[Entry]] = {}
        self._wanted: set[Which] = set()
        self._slices = Slices(self)
        self._waited_for = False
        model.modelReset.connect(self._forget)
        model.merged.connect(self._forget)

    def of(self, wanted: Collection[Which]) -> dict[Which, list[Entry]]:
        """Those that are known; for the others ``found`` follows, unless they are few."""
        missing = {which for which in wanted if which not in self._known}
        if missing and not (self._slices.busy and missing <= self._wanted):
            self._wanted, self._waited_for = missing, False
            self._slices.start(self._find(missing), self._over)
            if self._model.rows <= SMALL:
                self._slices.finish()
            self._waited_for = True
        known = {which: self._known.get(which, []) for which in wanted}
        return {which: entries for which, entries in known.items() if entries}

    def _forget(self) -> None:
        self._slices.stop()
        self._known.clear()

    def _over(self) -> None:
        if self._waited_for:
            self.found.emit()

    def _find(self, wanted: set[Which]) -> Iterator[None]:
        found: dict[Which, list[Entry]] = {which: [] for which in wanted}
        keys = {key for _, key in wanted}
        for piece in pieces(self._model.every_row):
            for row in piece:
                entry = row.entry
                if entry.key in keys and (entry.kind, entry.key) in wanted:
                    found[entry.kind, entry.key].append(entry)
            yield
        self._known.update(found)
