"""How wide the columns of the table are; the name takes what the others leave."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QApplication, QHeaderView, QTableView

from torchkeeper.artifacts.entry import KINDS, VERDICTS
from torchkeeper.client.words.say import kind_words
from torchkeeper.gui.table import cells
from torchkeeper.gui.table.cells import KIND, NAME, VERDICT, verdict_words
from torchkeeper.gui.table.delegate import MARKED, PAD

WIDTHS = {
    KIND: 0,  # as its words need
    NAME: 260,
    VERDICT: 112,
    cells.KEY: 82,
    cells.SIZE: 84,
    cells.FILES: 54,
    cells.MTIME: 106,
    cells.TORCH: 110,
    cells.DEVICE: 71,
    cells.COMPILE: 112,
    cells.EXPIRES: 92,
    cells.USED: 108,
}
#: What a text is narrower than its column at least.
_SPARE = 2
#: The name takes what the others leave, and no less than this.
_NAME_WIDTH = 180


def first_widths() -> dict[int, int]:
    """How wide columns are until they are dragged: kinds and verdicts are never cut."""
    metrics = QFontMetrics(QApplication.font())

    def wide(words: Iterable[str]) -> int:
        return max(map(metrics.horizontalAdvance, words)) + MARKED + PAD + _SPARE

    kinds, verdicts = wide(map(kind_words, KINDS)), wide(map(verdict_words, VERDICTS))
    return WIDTHS | {KIND: kinds, VERDICT: max(verdicts, WIDTHS[VERDICT])}


class NameColumn:
    """The width of the names. own: as they were dragged; 0: as there is room."""

    def __init__(self, table: QTableView) -> None:
        self.own = 0
        self._table = table
        self._fitting = False
        # Meanwhile the header shows what is hidden, and hides it again.
        self._relaid = False
        table.horizontalHeader().sectionResized.connect(self._resized)
        model = table.model()
        model.layoutAboutToBeChanged.connect(self._lay_out_again)
        model.layoutChanged.connect(self._laid_out)
        self.fit()

    def fit(self) -> None:
        """Have the name take what the others leave; where that is too little, all can scroll."""
        header = self._table.horizontalHeader()
        left = self._table.viewport().width() - header.length() + header.sectionSize(NAME)
        self._fitting = True
        if left >= max(_NAME_WIDTH, self.own):
            header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        else:
            header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Interactive)
            header.resizeSection(NAME, self.own or _NAME_WIDTH + self._edge())
        self._fitting = False

    def have(self, width: int) -> None:
        """Have the name as wide as if it had been dragged so; 0: as there is room."""
        self.own = width
        self.fit()

    def _edge(self) -> int:
        """Pixels in which the edge of a column would be seen; the name, if seen whole, has them."""
        header, at = self._table.horizontalHeader(), 0
        room, named = self._table.viewport().width(), False
        for place in range(header.count()):
            column = header.logicalIndex(place)
            wide = _NAME_WIDTH if column == NAME else header.sectionSize(column)
            if at + wide > room:
                break
            at += wide
            named = named or column == NAME
        return room - at if named else 0

    def _resized(self, column: int, old: int, new: int) -> None:
        if self._relaid:
            return
        if column != NAME:
            self.fit()
        elif old and new and not self._fitting:
            mode = self._table.horizontalHeader().sectionResizeMode(NAME)
            if mode is QHeaderView.ResizeMode.Interactive:
                self.own = new

    def _lay_out_again(self) -> None:
        self._relaid = True

    def _laid_out(self) -> None:
        self._relaid = False
        self.fit()
