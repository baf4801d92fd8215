"""Which entries have some kinds and keys, found in short steps: all rows are gone through."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from PySide6.QtCore import QObject, Signal

from torchkeeper.artifacts.entry import Entry
from torchkeeper.gui.table.entries import SMALL, EntriesModel
from torchkeeper.gui.table.slices import Slices, pieces

#: A kind and a key.
Which = tuple[str, str]


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
