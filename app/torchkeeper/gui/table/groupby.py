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

    def _group(self, by: str, then: Callable[[], None] | None = None) -> None:
        self._model.group(by, then)
        self._settings.setValue(KEY, by)

    def group_by_none(self) -> None:
        """One list."""
        self._group("none")

    def group_by_kind(self, then: Callable[[], None] | None = None) -> None:
        """A group for each kind; ``then`` is called when rows are shown so."""
        self._group("kind", then)

    def group_by_verdict(self) -> None:
        """A group for each verdict."""
        self._group("verdict")

    def group_by_torch(self) -> None:
        """A group for each version of torch."""
        self._group("torch")

    def group_by_age(self) -> None:
        """Today's, this week's and so on."""
        self._group("age")

    def expand_all(self) -> None:
        """Show what is under every heading."""
        self._model.collapse(self._model.groups, False)

    def collapse_all(self) -> None:
        """Show the headings only."""
        self._model.collapse(self._model.groups, True)
