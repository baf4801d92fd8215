"""What the table shows: one place, read again whenever it may have changed."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, Signal

from torchkeeper.artifacts.entry import Entry
from torchkeeper.gui.entries import EntriesModel
from torchkeeper.gui.worker import Engines, Listener
from torchkeeper.link.words import UserError, printable


class Listing(QObject):
    """Fills the model with the entries of one place."""

    #: Loading began or ended, or another place is shown.
    changed = Signal()
    #: A listing ended with what it could not read.
    incomplete = Signal(object)

    def __init__(
        self, engines: Engines, model: EntriesModel, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._engines = engines
        self._model = model
        self._ticket: int | None = None
        self._again = False
        self._unreadable: list[str] = []
        self.place: str | None = None
        self.error: UserError | None = None
        self.result: dict[str, Any] = {}
        self.done: float = 0
        self.total: float | None = None

    @property
    def loading(self) -> bool:
        """Whether a listing is under way."""
        return self._ticket is not None

    @property
    def is_folder(self) -> bool:
        """Whether the place is a folder, which alone can be purged; a bundle has a format."""
        return self.place is not None and self.error is None and not self.result.get("format")

    @property
    def trash(self) -> dict[str, int]:
        """What lies in the place's trash."""
        trash = self.result.get("trash")
        return trash if isinstance(trash, dict) else {}

    def show(self, place: str | None) -> None:
        """Show another place, or none."""
        self._engines.forget(self._ticket)
        self._ticket, self._again = None, False
        self.place, self.error, self.result = place, None, {}
        self._model.clear()
        if place is None:
            self.changed.emit()
        else:
            self._read()

    def refresh(self) -> None:
        """Read the place again; while it is being read, once more after that."""
        if self.place is None:
            return
        if self.loading:
            self._again = True
        else:
            self._read()

    def _read(self) -> None:
        self._again = False
        self._unreadable = []
        self.done, self.total = 0, None
        self._model.begin()
        listener = Listener(
            rows=self._rows,
            progress=self._progress,
            findings=self._findings,
            result=self._result,
            failed=self._failed,
            cancelled=self._cancelled,
        )
        self._ticket = self._engines.ask("list", {"place": self.place}, listener, shared=True)
        self.changed.emit()

    def _rows(self, entries: list[Entry]) -> None:
        self._model.add(entries)

    def _progress(self, done: float, total: float | None, _unit: str) -> None:
        self.done, self.total = done, total
        self.changed.emit()

    def _findings(self, found: list[dict[str, Any]]) -> None:
        for one in found:
            unreadable = one.get("unreadable")
            if isinstance(unreadable, dict):
                path, why = unreadable.get("path"), unreadable.get("why")
                self._unreadable.append(f"{printable(str(path))}: {printable(str(why))}")

    def _result(self, result: dict[str, Any]) -> None:
        self._ticket, self.error, self.result = None, None, result
        self._model.end()
        self.changed.emit()
        if self._unreadable:
            shown = self._unreadable[:5]
            if len(self._unreadable) > len(shown):
                shown.append(self.tr("and {} more").format(len(self._unreadable) - len(shown)))
            self.incomplete.emit(
                UserError(
                    self.tr("Some of {} could not be read.").format(printable(str(self.place))),
                    "\n".join(shown),
                    self.tr("Give yourself the right to read these folders, then refresh."),
                    code="partly-unreadable",
                )
            )
        if self._again:
            self._read()

    def _failed(self, error: UserError) -> None:
        self._ticket, self.error = None, error
        self.result = {}
        # What was listed before is no longer known to be there.
        self._model.clear()
        self.changed.emit()

    def _cancelled(self) -> None:
        self._ticket = None
        self._model.abandon()
        self.changed.emit()
