"""What differs between two entries, as a tree by group, and the chosen difference in full."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QTextCursor,
    QTextFormat,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QPlainTextEdit,
    QTextEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from torchkeeper.gui import theme
from torchkeeper.gui.copykey import CopyKey
from torchkeeper.gui.forms import tip
from torchkeeper.gui.inspector.code_edit import cleaned
from torchkeeper.link import explaining

FACTOR, A, B = range(3)
_ROW = Qt.ItemDataRole.UserRole
_FIRST_WIDE = 250
_FULL_WIDTH = QTextFormat.Property.FullWidthSelection


class DifferencesTree(QTreeWidget):
    """A heading for each group of causes, and one for all that follows from them."""

    #: The row that is chosen, or None.
    chosen = Signal(object)
    copied = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        CopyKey(self, self.copied.emit)
        self.setAccessibleName(self.tr("What differs"))
        self.setHeaderLabels([self.tr("What"), self.tr("A"), self.tr("B")])
        self.setUniformRowHeights(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setTabKeyNavigation(False)
        self.setIndentation(16)
        header = self.header()
        header.setSectionsMovable(False)
        header.setStretchLastSection(False)
        header.resizeSection(FACTOR, _FIRST_WIDE)
        for column in (A, B):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        #: The texts of each row that a search looks in.
        self._hay: list[tuple[QTreeWidgetItem, str]] = []
        self._headings: list[QTreeWidgetItem] = []
        self._follows: QTreeWidgetItem | None = None
        self.currentItemChanged.connect(lambda item, _: self.chosen.emit(_row_of(item)))
        theme.follow(self, self._paint)

    def fill(self, found: dict[str, Any]) -> None:
        """Show the differences of an answer."""
        self.clear()
        self._hay, self._headings, self._follows = [], [], None
        rows = explaining.differences(found)
        for group, ones in explaining.grouped(row for row in rows if not row.get("follows")):
            self._add(explaining.GROUPS[group], ones, found)
        rest = [row for row in rows if row.get("follows")]
        if rest:
            causes = len(rest) < len(rows)
            title = self.tr("What follows from that, or may") if causes else self.tr("Differences")
            self._follows = self._add(title, rest, found)
            self._follows.setExpanded(not causes or len(rest) <= 3)
        first = self.topLevelItem(0)
        if first is not None:
            self.setCurrentItem(first.child(0) or first)
        self._paint()

    def _add(
        self, title: str, rows: list[dict[str, Any]], found: dict[str, Any]
    ) -> QTreeWidgetItem:
        heading = QTreeWidgetItem([f"{title} ({len(rows):,})"])
        heading.setFlags(Qt.ItemFlag.ItemIsEnabled)
        children = []
        for row in rows:
            a, b = explaining.values(row, found)
            item = QTreeWidgetItem([explaining.factor(row), a, b])
            for column, text in enumerate((str(row.get("factor")), a, b)):
                item.setToolTip(column, tip(cleaned(text)))
            item.setData(FACTOR, _ROW, row)
            children.append(item)
            self._hay.append((item, "\n".join((title, *(item.text(x) for x in range(3)))).lower()))
        heading.addChildren(children)
        self.addTopLevelItem(heading)
        heading.setFirstColumnSpanned(True)
        heading.setExpanded(True)
        self._headings.append(heading)
        return heading

    def filter(self, text: str) -> int:
        """Show only the rows with all words of a text; how many those are."""
        words = text.lower().split()
        shown = 0
        for item, hay in self._hay:
            fits = all(word in hay for word in words)
            item.setHidden(not fits)
            shown += fits
        for heading in self._headings:
            heading.setHidden(all(child.isHidden() for child in _children(heading)))
            if words:
                heading.setExpanded(True)
        return shown

    @property
    def total(self) -> int:
        """How many rows there are."""
        return len(self._hay)

    def texts(self) -> list[tuple[str, str, str]]:
        """The selected rows, or all that are shown: what it is, and both values."""
        chosen = [item for item, _ in self._hay if item.isSelected()]
        if len(chosen) < 2:
            chosen = [item for item, _ in self._hay if not item.isHidden()]
        return [(one.text(FACTOR), one.text(A), one.text(B)) for one in chosen]

    def _paint(self) -> None:
        shades = theme.shades()
        bold = QFont(self.font())
        bold.setWeight(QFont.Weight.DemiBold)
        for heading in self._headings:
            heading.setFont(FACTOR, bold)
            quiet = heading is self._follows
            heading.setForeground(FACTOR, QColor(shades.muted if quiet else shades.text))
            for child in _children(heading):
                for column in (FACTOR, A, B):
                    child.setForeground(column, QColor(shades.muted if quiet else shades.text))


def _children(heading: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    found = (heading.child(at) for at in range(heading.childCount()))
    return [child for child in found if child is not None]


def _row_of(item: QTreeWidgetItem | None) -> dict[str, Any] | None:
    row = item.data(FACTOR, _ROW) if item is not None else None
    return row if isinstance(row, dict) else None


class DifferenceView(QPlainTextEdit):
    """One difference in full: both values, or the lines of a graph that differ."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setAcceptDrops(False)
        self.setAccessibleName(self.tr("The chosen difference in full"))
        self.setPlaceholderText(self.tr("The chosen difference appears here in full."))
        self.document().setDocumentMargin(8)
        self._marked: list[tuple[int, bool]] = []
        theme.follow(self, self._paint)

    def show_row(self, row: dict[str, Any] | None, found: dict[str, Any]) -> None:
        """Show a difference; None empties it."""
        self._marked = []
        lines: list[str] = []
        graph = explaining.graph_lines(found)
        if row is not None and row.get("factor") == "gm" and not row.get("follows") and graph:
            lines = [self.tr("Lines of the graph, + of A and − of B:"), "", *graph]
            self._marked = [
                (at, line.startswith("+"))
                for at, line in enumerate(lines)
                if line.startswith(("+ ", "- "))
            ]
        elif row is not None:
            a, b = explaining.full(row)
            lines = [str(row.get("factor")), "", "A", *_indented(a), "", "B", *_indented(b)]
        self.setPlainText(cleaned("\n".join(lines)))
        self._paint()

    def _paint(self) -> None:
        self.setFont(theme.monospace())
        shades = theme.shades()
        marks = []
        for at, added in self._marked:
            mark = QTextEdit.ExtraSelection()
            mark.cursor = QTextCursor(self.document().findBlockByNumber(at))
            mark.format.setBackground(QColor(shades.good_ground if added else shades.error_ground))
            mark.format.setProperty(int(_FULL_WIDTH.value), True)
            marks.append(mark)
        self.setExtraSelections(marks)


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()] or ["  "]
