"""The rows of the list of jobs: what runs, then this session and those before, by day."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)

from torchkeeper.gui.jobs.model import Job, JobsModel
from torchkeeper.gui.pages.activity import shown
from torchkeeper.gui.widgets import plain
from torchkeeper.link.kept.history import Past

Index = QModelIndex | QPersistentModelIndex


class JobRows(QAbstractListModel):
    """Jobs and headings, newest first. Emits ``arranged`` when rows have come, gone or moved."""

    ItemRole = Qt.ItemDataRole.UserRole + 1

    arranged = Signal()

    def __init__(self, jobs: JobsModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._past: list[Past] = []
        self._words: list[str] = []
        self._rows: list[str | shown.Shown] = []
        #: The jobs that were active when the rows were put in order.
        self._active: set[int] = set()
        jobs.rowsInserted.connect(lambda *_: self.arrange())
        jobs.rowsRemoved.connect(lambda *_: self.arrange())
        jobs.dataChanged.connect(self._touched)
        self.arrange()

    def told_past(self, past: Sequence[Past]) -> None:
        """What the history holds that is not of this session."""
        own = {job.kept_as for job in self._jobs.jobs}
        self._past = [one for one in past if one.id not in own]
        self.arrange()

    def filter(self, text: str) -> None:
        """Show only jobs with all words of a text."""
        self._words = text.lower().split()
        self.arrange()

    @property
    def items(self) -> list[shown.Shown]:
        """The jobs that are listed."""
        return [row for row in self._rows if not isinstance(row, str)]

    @property
    def past(self) -> tuple[Past, ...]:
        """Those from before this session, whether they are listed or not."""
        return tuple(self._past)

    def arrange(self) -> None:
        """Put the rows in order."""
        jobs = self._jobs.jobs
        self._active = {job.id for job in jobs if job.active}
        groups: dict[str, list[shown.Shown]] = {}
        now = time.time()
        for job in jobs:
            title = self.tr("Running or waiting") if job.active else ""
            groups.setdefault(title or shown.day(job, now), []).append(job)
        # What runs stands first, whatever was begun after it has ended already.
        running = groups.pop(self.tr("Running or waiting"), [])
        if running:
            groups = {self.tr("Running or waiting"): running, **groups}
        for one in self._past:
            title = self.tr("Before this session · {}").format(shown.day(one, now))
            groups.setdefault(title, []).append(one)
        self.beginResetModel()
        self._rows = []
        for title, ones in groups.items():
            kept = [one for one in ones if shown.found_by(one, self._words)]
            self._rows += [title, *kept] if kept else []
        self.endResetModel()
        self.arranged.emit()

    def _touched(self, first: QModelIndex, *_: object) -> None:
        job = self._jobs.job_at(first)
        if job is None:
            return
        if job.active != (job.id in self._active):
            self.arrange()
        elif (index := self.index_of(job)).isValid():
            self.dataChanged.emit(index, index)

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def flags(self, index: Index) -> Qt.ItemFlag:
        if self.item(index) is None:
            return Qt.ItemFlag.NoItemFlags  # nobody goes to a heading
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        row = self._rows[index.row()]
        if isinstance(row, str):
            spoken = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole)
            return row if role in spoken else None
        if role == Qt.ItemDataRole.DisplayRole:
            return plain.shown(row.title)
        if role == JobRows.ItemRole:
            return row
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain.tip(f"{row.title}\n{shown.words(row)}")
        if role in (Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.AccessibleDescriptionRole):
            return plain.shown(f"{row.title}: {shown.words(row)}")
        return None

    def item(self, index: Index) -> shown.Shown | None:
        """The job of a row; None for a heading."""
        row = self._rows[index.row()] if index.isValid() and index.row() < len(self._rows) else ""
        return None if isinstance(row, str) else row

    def index_of(self, one: shown.Shown | None) -> QModelIndex:
        """Where a job stands."""
        for number, row in enumerate(self._rows):
            if row is one or (isinstance(row, Past) and isinstance(one, Past) and row.id == one.id):
                return self.index(number, 0)
        return QModelIndex()

    def of_job(self, job: Job) -> bool:
        """Whether a job of this session is listed."""
        return self.index_of(job).isValid()
