"""The sides of a comparison, and what differs between the two, as a tree and in full."""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from PySide6 import QtWidgets
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QFont, QPalette, QTextCursor, QTextFormat
from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem, QWidget

from torchkeeper.artifacts.entry import Entry
from torchkeeper.artifacts.vllm import rank_of
from torchkeeper.client.words import explaining
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.idle import every
from torchkeeper.gui.inspector.code_edit import cleaned
from torchkeeper.gui.inspector.details import Chip
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.table.rows import rank_words, shown_name
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.lists import Index
from torchkeeper.gui.widgets.notice import Elided
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from torchkeeper.verdict.probed import ComparisonTold, FactorTold


FACTOR, A, B = range(3)
_ROW = Qt.ItemDataRole.UserRole
_QUIET = Qt.ItemDataRole.UserRole + 1
_FIRST_WIDE = 250
#: Seconds of work in one turn of the event loop, and rows between two looks at the clock.
_SLICE = 0.005
_LINES = 20
_FULL_WIDTH = QTextFormat.Property.FullWidthSelection


@dataclass
class _Line:
    """A difference that is listed, or is to be: its texts, and what a search looks in."""

    texts: tuple[str, str, str]
    hay: str
    item: QTreeWidgetItem
    group: int


class _Delegate(QtWidgets.QStyledItemDelegate):
    """Draws what follows from something else in a quieter colour."""

    def initStyleOption(self, option: QtWidgets.QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        if index.sibling(index.row(), FACTOR).data(_QUIET):
            option.palette.setColor(QPalette.ColorRole.Text, QColor(theme.shades().muted))


class DifferencesTree(QTreeWidget):
    """A heading for each group of causes, and one for what follows. It works in small slices."""

    #: The row that is chosen, or None.
    chosen = Signal(object)
    #: How many are shown by then, and of how many.
    counted = Signal(int, int)

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(self.tr("What differs"))
        self.setHeaderLabels([self.tr("What"), self.tr("A"), self.tr("B")])
        self.setUniformRowHeights(True)
        self.setItemDelegate(_Delegate(self))
        self.setSelectionMode(QtWidgets.QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setTabKeyNavigation(False)
        self.setIndentation(16)
        header = self.header()
        header.setSectionsMovable(False)
        header.setStretchLastSection(False)
        header.resizeSection(FACTOR, _FIRST_WIDE)
        for column in (A, B):
            header.setSectionResizeMode(column, QtWidgets.QHeaderView.ResizeMode.Stretch)
        self._found: ComparisonTold = {}
        #: What is not listed yet: the heading, and the rows under it.
        self._coming: deque[tuple[QTreeWidgetItem, str, deque[FactorTold]]] = deque()
        self._lines: list[_Line] = []
        #: A heading stays as long as one of its lines is shown; how many are, by its place.
        self._headings: list[QTreeWidgetItem] = []
        self._shown: Counter[int] = Counter()
        self._words: list[str] = []
        #: How many lines the search has looked at, and how many rows there are.
        self._looked = self.total = 0
        #: How many of them only follow from others, or may.
        self.following = 0
        self._timer = every(self, self._work)
        self.currentItemChanged.connect(
            lambda item, _: self.chosen.emit(item and item.data(FACTOR, _ROW))
        )
        theme.follow(self, self.viewport().update)

    def fill(self, found: ComparisonTold) -> None:
        self.clear()
        self._coming.clear()
        self._lines, self._headings = [], []
        self._found, self._looked = found, 0
        self._shown.clear()
        rows = explaining.differences(found)
        self.total = len(rows)
        for group, ones in explaining.grouped(row for row in rows if not row["follows"]):
            self._head(explaining.group(group), ones)
        rest = [row for row in rows if row["follows"]]
        self.following = len(rest)
        if rest:
            causes = len(rest) < len(rows)
            title = self.tr("Consequences, certain or likely") if causes else self.tr("Differences")
            heading = self._head(title, rest, quiet=True)
            heading.setExpanded(not causes or len(rest) <= 3)
        self._work()
        if (first := self.topLevelItem(0)) is not None:
            self.setCurrentItem(first.child(0) or first)

    def _head(self, title: str, rows: list[FactorTold], *, quiet: bool = False) -> QTreeWidgetItem:
        heading = QTreeWidgetItem([f"{title} ({len(rows):,})"])
        heading.setFlags(Qt.ItemFlag.ItemIsEnabled)
        bold = QFont(self.font())
        bold.setWeight(QFont.Weight.DemiBold)
        heading.setFont(FACTOR, bold)
        heading.setData(FACTOR, _QUIET, quiet)
        self.addTopLevelItem(heading)
        heading.setFirstColumnSpanned(True)
        heading.setExpanded(True)
        self._headings.append(heading)
        self._coming.append((heading, title, deque(rows)))
        return heading

    @property
    def settled(self) -> bool:
        """Whether all is listed, and searched."""
        return not self._coming and self._looked == len(self._lines)

    def _work(self) -> None:
        until = time.monotonic() + _SLICE
        while self._coming and time.monotonic() < until:
            self._list_some()
        while self._looked < len(self._lines) and time.monotonic() < until:
            self._look_at_some()
        if self.settled:
            self._timer.stop()
            for number, heading in enumerate(self._headings):
                heading.setHidden(not self._shown[number])
        elif not self._timer.isActive():
            self._timer.start()
        self.counted.emit(sum(self._shown.values()), self.total)

    def _list_some(self) -> None:
        heading, title, rows = self._coming[0]
        quiet = bool(heading.data(FACTOR, _QUIET))
        group = self.indexOfTopLevelItem(heading)
        items = []
        for _ in range(min(_LINES, len(rows))):
            row = rows.popleft()
            a, b = explaining.values(row, self._found)
            texts = explaining.factor(row), a, b
            item = QTreeWidgetItem(texts)
            for column, text in enumerate((row["factor"], a, b)):
                item.setToolTip(column, tip(cleaned(text)))
            item.setData(FACTOR, _ROW, row)
            if quiet:
                item.setData(FACTOR, _QUIET, True)
            items.append(item)
            self._lines.append(_Line(texts, "\n".join((title, *texts)).lower(), item, group))
        heading.addChildren(items)
        if not rows:
            self._coming.popleft()

    def _look_at_some(self) -> None:
        for line in self._lines[self._looked : self._looked + _LINES]:
            fits = self._fits(line)
            if line.item.isHidden() is fits:
                line.item.setHidden(not fits)
            if fits:
                self._shown[line.group] += 1
        self._looked = min(self._looked + _LINES, len(self._lines))

    def filter(self, text: str) -> None:
        """Show only the rows with all words of a text."""
        words = text.lower().split()
        if words != self._words:
            self._words, self._looked = words, 0
            self._shown.clear()
            for heading in self._headings if words else ():
                heading.setExpanded(True)
            self._work()

    def texts(self) -> list[tuple[str, str, str]]:
        """The selected rows, or all that are shown: what it is, and both values."""
        chosen = {id(item) for item in self.selectedItems() if item.parent() is not None}
        if len(chosen) > 1:
            return [line.texts for line in self._lines if id(line.item) in chosen]
        return [line.texts for line in self._lines if self._fits(line)]

    def _fits(self, line: _Line) -> bool:
        return all(word in line.hay for word in self._words)


class DifferenceView(QtWidgets.QPlainTextEdit):
    """One difference in full: both values, or the lines of a graph that differ."""

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setAcceptDrops(False)
        self.setAccessibleName(self.tr("The chosen difference in full"))
        self.setPlaceholderText(self.tr("The chosen difference appears here in full."))
        self.document().setDocumentMargin(8)
        self._marked: list[tuple[int, bool]] = []
        theme.follow(self, self._paint)

    def show_row(self, row: FactorTold | None, found: ComparisonTold) -> None:
        """Show a difference; None empties it."""
        self._marked = []
        lines: list[str] = []
        graph = explaining.graph_lines(found)
        if row is not None and row["factor"] == "gm" and not row["follows"] and graph:
            lines = [self.tr("Lines of the graph, − of A and + of B:"), "", *graph]
            changed = [(at, x) for at, x in enumerate(lines) if x.startswith(("+ ", "- "))]
            self._marked = [(at, line.startswith("+")) for at, line in changed]
        elif row is not None:
            a, b = explaining.full(row)
            lines = [row["factor"], "", "A", *_indented(a), "", "B", *_indented(b)]
        self.setPlainText(cleaned("\n".join(lines)))
        self._paint()

    def _paint(self) -> None:
        self.setFont(theme.monospace())
        shades = theme.shades()
        marks = []
        for at, added in self._marked:
            mark = QtWidgets.QTextEdit.ExtraSelection()
            mark.cursor = QTextCursor(self.document().findBlockByNumber(at))
            ground = shades.good_ground if added else shades.warning_ground
            mark.format.setBackground(QColor(ground))
            mark.format.setProperty(int(_FULL_WIDTH.value), True)
            marks.append(mark)
        self.setExtraSelections(marks)


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()] or ["  "]


class Side(NamedTuple):
    """An entry, and the place it is in."""

    place: str
    entry: Entry


class Card(QWidget):
    """Shows a side by its letter, name, kind, key, and what made it."""

    def __init__(self, letter: str) -> None:
        super().__init__()
        self._letter = letter
        self.name = Elided("heading")
        self.chip = Chip()
        # A card without an entry is as high as one that has one.
        policy = self.chip.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.chip.setSizePolicy(policy)
        self.key, self.made = Elided("muted"), Elided("muted")
        hint = self.tr("Go to the entries, and choose one for this side")
        self.chooser = forms.button(self.tr("Choose…"), hint=hint)
        self.chooser.setAccessibleName(self.tr("Choose {}").format(letter))
        line = forms.row(forms.label(letter, "heading"), (self.name, 1), self.chooser)
        inner = line, forms.row(self.chip, (self.key, 1)), self.made
        self.setLayout(forms.column(forms.frame("hint", forms.column(*inner, margin=12, gap=6))))
        theme.follow(self, lambda: self.key.setFont(theme.monospace()))

    def show_side(self, side: Side) -> None:
        place, entry = side
        name, key = shown_name(entry), printable(entry.key)
        self.name.setText(name)
        self.name.setToolTip(tip(f"{name}\n{printable(entry.path, 4096)}"))
        self.chip.show_kind(entry.kind)
        self.chip.show()
        self.key.setText(key)
        self.key.setToolTip(tip(key))
        made = [self.tr("torch {}").format(entry.torch) if entry.torch else "", entry.device or ""]
        rank = rank_words(rank_of(entry.path))
        made += [rank] if rank else []
        text = " · ".join([printable(x, 80) for x in made if x] + [Place(place).title])
        self.made.setText(text)
        self.made.setToolTip(tip(printable(place, 4096)))
        self.setAccessibleName(f"{self._letter}: {name}, {key}, {text}")

    def say(self, text: str) -> None:
        """Say what stands for an entry that is not known yet."""
        for label, said in ((self.name, text), (self.key, ""), (self.made, "")):
            label.setText(said)
            label.setToolTip("")
        self.chip.hide()
        self.setAccessibleName(f"{self._letter}: {text}")
