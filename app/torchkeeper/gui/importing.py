"""The import dialog: what is inside the files, from which environment, and where it goes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLabel,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from torchkeeper.artifacts.entry import KINDS, Entry
from torchkeeper.gui import environment, forms, icons, theme
from torchkeeper.gui.cells import kind_words
from torchkeeper.gui.dialogs import Dialog, PlaceChoice
from torchkeeper.gui.places import Place
from torchkeeper.gui.worker import Engines, Listener
from torchkeeper.link import say
from torchkeeper.link.words import UserError, printable, user_error


@dataclass
class Inspected:
    """What is known of one file."""

    path: str
    kinds: dict[str, tuple[int, int]] = field(default_factory=dict)
    made_in: dict[str, Any] | None = None
    format: str = ""
    torches: set[str] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    entries: int = 0
    bytes: int = 0
    ready: bool = False
    error: UserError | None = None

    def add(self, entries: list[Entry]) -> None:
        """Count some entries."""
        for entry in entries:
            count, size = self.kinds.get(entry.kind, (0, 0))
            self.kinds[entry.kind] = count + 1, size + entry.size
            self.entries += 1
            self.bytes += entry.size
            if entry.torch:
                self.torches.add(entry.torch)

    @property
    def good(self) -> bool:
        """Whether there is something to import."""
        return self.ready and self.error is None and self.entries > 0


class ImportDialog(Dialog):
    """Reads every file first; nothing is written before Import is pressed."""

    def __init__(
        self,
        parent: QWidget | None,
        engines: Engines,
        files: Sequence[str],
        places: Sequence[Place],
        current: str | None,
    ) -> None:
        super().__init__(parent, "", 680)
        self.setWindowTitle(self.tr("Import"))
        self._engines = engines
        self.files = [Inspected(path) for path in dict.fromkeys(files)]
        self._tickets: list[int] = []
        self._tree = self._make_tree()
        self._detail = QTreeWidget()
        self._heading = forms.label("", "heading", wrap=True)
        self._made_in = forms.label("", "muted", wrap=True)
        self._make_detail()
        self.target = PlaceChoice(places, current)
        self.target.changed.connect(self._allow)
        self._lay_out()
        for number in range(len(self.files)):
            self._inspect(number)
        self._tree.setCurrentIndex(self._tree.model().index(0, 0))
        self._show()
        self._allow()

    def _make_tree(self) -> QTreeWidget:
        tree = QTreeWidget()
        tree.setAccessibleName(self.tr("Files to import"))
        tree.setRootIsDecorated(False)
        tree.setUniformRowHeights(True)
        tree.setHeaderLabels([self.tr("File"), self.tr("Entries"), self.tr("Size")])
        header = tree.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.resizeSection(1, 88)
        header.resizeSection(2, 96)
        for file in self.files:
            item = QTreeWidgetItem([printable(os.path.basename(file.path)), "", ""])
            item.setToolTip(0, printable(file.path))
            _align(item)
            tree.addTopLevelItem(item)
        tree.currentItemChanged.connect(lambda *_: self._show())
        tree.setFixedHeight(36 + 26 * min(max(len(self.files), 1), 5))
        _align_numbers(tree)
        return tree

    def _make_detail(self) -> None:
        self._detail.setAccessibleName(self.tr("What is inside, by kind"))
        self._detail.setRootIsDecorated(False)
        self._detail.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self._detail.setHeaderLabels([self.tr("Kind"), self.tr("Entries"), self.tr("Size")])
        header = self._detail.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.resizeSection(1, 88)
        header.resizeSection(2, 96)
        self._detail.setMinimumHeight(40 + 26 * 4)
        _align_numbers(self._detail)

    def _lay_out(self) -> None:
        files = forms.label(self.tr("&Files"), "heading")
        files.setTextFormat(Qt.TextFormat.AutoText)
        files.setBuddy(self._tree)
        self.body.addWidget(files)
        self.body.addWidget(self._tree)
        self.body.addSpacing(4)
        self.body.addWidget(self._heading)
        self.body.addWidget(self._made_in)
        self.body.addWidget(self._detail, 1)
        self.body.addSpacing(4)
        forms.field(self.body, self.tr("Import &into"), self.target)
        self.body.addSpacing(4)
        self.body.addWidget(_trust_notice(self))
        self.cancel = forms.button(self.tr("Cancel"))
        self.cancel.clicked.connect(self.reject)
        self.cancel.setAutoDefault(False)
        # Never the default: to import is to be pressed on purpose.
        self.go = forms.button(self.tr("Import"), primary=True)
        self.go.setAutoDefault(False)
        self.go.clicked.connect(self.accept)
        self.buttons(self.cancel, self.go)
        # On a small or magnified screen the lists give way, never the buttons.
        room = self.screen().availableSize()
        wanted = 588 + self._tree.height()
        self.resize(min(680, room.width() - 40), min(wanted, room.height() - 80))

    @property
    def chosen(self) -> list[Inspected]:
        """The files that can be imported."""
        return [file for file in self.files if file.good]

    @property
    def ready(self) -> bool:
        """Whether every file was read."""
        return all(file.ready for file in self.files)

    def done(self, result: int) -> None:
        for ticket in self._tickets:
            self._engines.forget(ticket)
        super().done(result)

    def _inspect(self, number: int) -> None:
        file = self.files[number]

        def result(found: dict[str, Any]) -> None:
            made_in = found.get("made_in")
            file.made_in = made_in if isinstance(made_in, dict) else None
            file.format = str(found.get("format") or "")
            file.ready = True
            self._read(number)

        def failed(error: UserError) -> None:
            file.error, file.ready = error, True
            self._read(number)

        def findings(said: list[dict[str, Any]]) -> None:
            for one in said:
                left = one.get("left")
                if isinstance(left, dict) and isinstance(left.get("code"), str):
                    params = left.get("params")
                    about = params if isinstance(params, dict) else {}
                    file.refused.append(str(user_error(left["code"], about)))

        listener = Listener(rows=file.add, result=result, failed=failed, findings=findings)
        # An engine of its own: a file that brings one down leaves the others alone.
        self._tickets.append(self._engines.ask("list", {"place": file.path}, listener))

    def _read(self, number: int) -> None:
        file = self.files[number]
        item = self._tree.topLevelItem(number)
        if item is not None:
            bad = not file.good
            colour = theme.shades().error if bad else theme.shades().good
            item.setIcon(0, icons.icon("error" if bad else "done", colour))
            item.setText(1, "" if file.error else f"{file.entries:,}")
            item.setText(2, "" if file.error else say.size(file.bytes))
            said = self.tr("cannot be imported") if bad else self.tr("can be imported")
            item.setData(0, Qt.ItemDataRole.AccessibleTextRole, f"{item.text(0)}, {said}")
        if self._tree.currentItem() is item:
            self._show()
        self._allow()

    def _show(self) -> None:
        item = self._tree.currentItem()
        number = self._tree.indexOfTopLevelItem(item) if item is not None else -1
        if number < 0:
            return
        file = self.files[number]
        self._detail.clear()
        _set_role(self._heading, "error" if file.error else "heading")
        if file.error:
            self._heading.setText(file.error.what)
            self._made_in.setText("\n".join(x for x in (file.error.why, file.error.remedy) if x))
        elif not file.ready:
            self._heading.setText(self.tr("Reading the file…"))
            self._made_in.setText(self.tr("Nothing is written before you press Import."))
        else:
            self._heading.setText(self._title(file))
            self._made_in.setText(self._origin(file))
        for kind in KINDS:
            if kind in file.kinds and not file.error:
                count, size = file.kinds[kind]
                line = QTreeWidgetItem([kind_words(kind), f"{count:,}", say.size(size)])
                _align(line)
                self._detail.addTopLevelItem(line)

    def _title(self, file: Inspected) -> str:
        if not file.entries:
            return self.tr("There is nothing to import in this file.")
        what = (
            self.tr("A mega-cache of PyTorch")
            if file.format == "mega-cache"
            else self.tr("A Torchkeeper bundle")
        )
        return f"{what}: {say.count(file.entries, 'entry', 'entries')}, {say.size(file.bytes)}"

    def _origin(self, file: Inspected) -> str:
        lines = []
        if file.made_in:
            facts = environment.facts(file.made_in)
            lines.append(self.tr("Made with: ") + " · ".join(f"{n} {v}" for n, v in facts))
        elif file.torches:
            known = ", ".join(sorted(printable(x, 40) for x in file.torches))
            lines.append(self.tr("Its entries were made by torch {}.").format(known))
        else:
            lines.append(self.tr("It does not say in which environment it was made."))
        if file.refused:
            lines.append(
                self.tr("Left out: {}; the first: ").format(
                    say.count(len(file.refused), "entry", "entries")
                )
                + file.refused[0].replace("\n", " ")
            )
        return "\n".join(lines)

    def _allow(self) -> None:
        good = self.chosen
        self.go.setEnabled(self.ready and bool(good) and self.target.path is not None)
        count = sum(file.entries for file in good)
        self.go.setText(
            self.tr("Import {}").format(say.count(count, "entry", "entries"))
            if count
            else self.tr("Import")
        )


_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def _align(item: QTreeWidgetItem) -> None:
    item.setTextAlignment(1, _RIGHT)
    item.setTextAlignment(2, _RIGHT)


def _align_numbers(tree: QTreeWidget) -> None:
    head = tree.headerItem()
    if head is not None:
        _align(head)


def _set_role(label: QLabel, role: str) -> None:
    if label.property("role") != role:
        label.setProperty("role", role)
        label.style().unpolish(label)
        label.style().polish(label)


def _trust_notice(dialog: Dialog) -> QWidget:
    texts = forms.column(gap=2)
    texts.addWidget(
        forms.label(dialog.tr("What is imported is code that PyTorch will run."), "heading")
    )
    texts.addWidget(
        forms.label(
            dialog.tr("Torchkeeper runs none of it, but a program that uses this cache will. "
                      "Import only files from people you trust."),
            wrap=True,
        )
    )  # fmt: skip
    line = forms.row(gap=12)
    line.setContentsMargins(12, 10, 12, 10)
    line.addWidget(forms.picture("shield", 28, "error"), 0, Qt.AlignmentFlag.AlignTop)
    line.addLayout(texts, 1)
    return forms.frame("notice", line)
