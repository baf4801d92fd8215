"""The files of an entry, and their paths to copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHeaderView, QWidget

from torchkeeper.gui.inspector.rows import RowsModel, RowsView
from torchkeeper.gui.widgets import forms
from torchkeeper.link.words import say
from torchkeeper.link.words.problems import printable

if TYPE_CHECKING:
    from torchkeeper.engine.messages.entries import EntryFile

_NAME, _SIZE, _TIME = range(3)


class FilesPane(QWidget):
    """Path, size and time of each file."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._root = ""
        self._files: list[EntryFile] = []
        self.model = RowsModel(
            (self.tr("Path"), self.tr("Size"), self.tr("Last change")),
            numbers=frozenset({_SIZE}),
            fixed=frozenset({_NAME}),
            parent=self,
        )
        self.table = RowsView(self.model, self.tr("Files of the entry"))
        # The end of a path tells more than its beginning.
        self.table.setTextElideMode(Qt.TextElideMode.ElideLeft)
        header = self.table.horizontalHeader()
        header.resizeSection(_SIZE, 88)
        header.resizeSection(_TIME, 164)
        header.setSectionResizeMode(_NAME, QHeaderView.ResizeMode.Stretch)
        self.text = forms.label("", "muted")
        self.copy = forms.button(self.tr("Copy path"))
        self.copy.setToolTip(self.tr("Copy the paths of the chosen files, or of all"))
        foot = forms.row(gap=8)
        foot.setContentsMargins(12, 8, 12, 8)
        foot.addWidget(self.text, 1)
        foot.addWidget(self.copy)
        whole = forms.column(gap=0)
        whole.addWidget(self.table, 1)
        whole.addLayout(foot)
        self.setLayout(whole)
        self.copy.clicked.connect(self._copy)
        self.table.copied.connect(self._copy)

    def show_files(self, root: str, files: list[EntryFile]) -> None:
        """Show these files, which lie under ``root``."""
        self._root, self._files = root, files
        self.model.fill(
            [
                (
                    printable(file["path"], 4096),
                    say.size(file["size"]),
                    "" if file["mtime"] is None else say.when(file["mtime"]),
                )
                for file in files
            ]
        )
        total = say.size(sum(file["size"] for file in files))
        self.text.setText(f"{say.count(len(files), 'file', 'files')} · {total}" if files else "")
        self.copy.setEnabled(bool(files))

    def _copy(self) -> None:
        rows = self.table.rows() or list(range(len(self._files)))
        # In a bundle, a path is that of a member.
        root = self._root.rstrip("/") + "/" if self._root else ""
        paths = [root + self._files[row]["path"] for row in rows]
        QGuiApplication.clipboard().setText("\n".join(paths))
