"""By what the table is grouped: what the View menu does, and what is remembered of it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QSettings

from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.grouping import GROUPINGS

#: Where it is kept.
KEY = "table/group"


class GroupBy(QObject):
    """Groups the table, and remembers by what."""

    def __init__(self, model: EntriesModel, settings: QSettings, parent: QObject) -> None:
        super().__init__(parent)
        self._model = model
        self._settings = settings
        kept = str(settings.value(KEY) or "")
        if kept in GROUPINGS:
            model.group(kept)

    def group(self, by: str, then: Callable[[], None] | None = None) -> None:
        """By one of GROUPINGS; ``then`` is called when rows are shown so."""
        self._model.group(by, then)
        self._settings.setValue(KEY, by)

    def group_by_kind(self, then: Callable[[], None] | None = None) -> None:
        """The same, by kind."""
        self.group("kind", then)

    def expand_all(self) -> None:
        """Show what is under every heading."""
        self._model.collapse(self._model.groups, False)

    def collapse_all(self) -> None:
        """Show the headings only."""
        self._model.collapse(self._model.groups, True)
