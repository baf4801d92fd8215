"""The table of variants: a line for each, and under the one that is open a line for each graph."""

from __future__ import annotations

import time
from bisect import bisect_left
from functools import partial
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QCoreApplication, QModelIndex, QObject, Qt

from torchkeeper.client.words import say
from torchkeeper.gui.matrix import variants
from torchkeeper.gui.matrix.variants import (
    Graph,
    Variants,
    VariantState,
    graph_name,
    name_of,
    outcome_words,
)
from torchkeeper.gui.widgets.lists import Index
from torchkeeper.gui.widgets.plain import shown, tip

_tr = partial(QCoreApplication.translate, "Variants")

VARIANT, HITS, MISSES, TIME, PHASES = range(5)
NUMBERS = frozenset({HITS, MISSES, TIME})
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter

#: Lines that are put in between one by one; where there are more, all are new.
_AT_ONCE = 200
#: Characters of the reason why one failed that stand in its row.
_REASON = 200

Line = VariantState | Graph


class VariantsModel(QAbstractTableModel):
    """Shows the variants of one job; ``refresh`` brings in what has changed since."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.variants = Variants()
        self._shown: list[int] = []
        #: How many of ``variants.rows`` have been looked at.
        self._seen = 0
        self._bad_only = False
        self._open: int | None = None
        self._graphs: list[Graph] = []
        self._recipes: set[str] = set()

    def show_variants(self, variants: Variants) -> None:
        self.beginResetModel()
        self.variants = variants
        self._shown, self._seen, self._open, self._graphs = [], 0, None, []
        self._recipes = set()
        self.endResetModel()
        self.refresh()

    def only_bad(self, on: bool) -> None:
        """Show only variants that have ended and are not warm, or all again."""
        if on != self._bad_only:
            self._bad_only = on
            self.beginResetModel()
            self._open, self._graphs = None, []
            self._shown = self._matching()
            self.endResetModel()

    def _matching(self) -> list[int]:
        rows = self.variants.rows[: self._seen]
        if not self._bad_only:
            return list(range(len(rows)))
        return [number for number, variant in enumerate(rows) if variant.ended and not variant.good]

    def refresh(self) -> None:
        every, dirty = self.variants.rows, self.variants.dirty
        if self._seen < len(every):
            first, self._seen = self._seen, len(every)
            self._recipes.update(variant.recipe for variant in every[first:])
            if not self._bad_only:
                at = self.rowCount()
                self.beginInsertRows(QModelIndex(), at, at + len(every) - first - 1)
                self._shown.extend(range(first, len(every)))
                self.endInsertRows()
        if not dirty:
            return
        if self._bad_only and (now := self._matching()) != self._shown:
            self._show_more(now)
        if self._open in dirty:
            self.open(self._open)
        dirty.clear()
        self._changed()

    def _show_more(self, now: list[int]) -> None:
        """Show these lines, most of which are shown: what is chosen stays, and where it is."""
        before = set(self._shown)
        more = [row for row in now if row not in before]
        if len(now) - len(more) < len(before) or len(more) > _AT_ONCE:
            kept = self._open
            self.beginResetModel()
            self._shown, self._open, self._graphs = now, None, []
            self.endResetModel()
            self.open(kept)
            return
        for row in more:
            at, position = bisect_left(self._shown, row), self._position(self._open)
            line = at if position is None or at <= position else at + len(self._graphs)
            self.beginInsertRows(QModelIndex(), line, line)
            self._shown.insert(at, row)
            self.endInsertRows()

    def tick(self) -> None:
        """Time has passed: what is compiled has taken longer."""
        if self.variants.counts.get("compiling"):
            self._changed()

    def _changed(self) -> None:
        # Only what is in sight is drawn, and asked for.
        if self._shown:
            self.dataChanged.emit(self.index(0, VARIANT), self.index(self.rowCount() - 1, PHASES))

    @property
    def several(self) -> bool:
        """Whether there is more than one recipe."""
        return len(self._recipes) > 1

    def open(self, row: int | None) -> None:
        """Show the graphs of a variant, by its place among ``variants.rows``, and of no other."""
        position = self._position(row)
        graphs: list[Graph] = []
        if row is not None and position is not None:
            graphs = list((self.variants.rows[row].graphs or {}).values())
        if row != self._open or len(graphs) < len(self._graphs):
            self._close()
            self._open = row if position is not None else None
        if position is None or len(graphs) == len(self._graphs):
            self._graphs = graphs
            return
        first = position + 1 + len(self._graphs)
        self.beginInsertRows(QModelIndex(), first, position + len(graphs))
        self._graphs = graphs
        self.endInsertRows()

    def _close(self) -> None:
        position = self._position(self._open)
        if position is not None and self._graphs:
            self.beginRemoveRows(QModelIndex(), position + 1, position + len(self._graphs))
            self._open, self._graphs = None, []
            self.endRemoveRows()
        self._open, self._graphs = None, []

    def _position(self, row: int | None) -> int | None:
        if row is None:
            return None
        if not self._bad_only:
            return row if row < len(self._shown) else None
        # They are in order, and asked for with every line that is drawn.
        at = bisect_left(self._shown, row)
        return at if at < len(self._shown) and self._shown[at] == row else None

    def line(self, number: int) -> Line:
        """The variant, or the graph of one, that a line shows."""
        position = self._position(self._open)
        if position is None or number <= position:
            return self.variants.rows[self._shown[number]]
        if number <= position + len(self._graphs):
            return self._graphs[number - position - 1]
        return self.variants.rows[self._shown[number - len(self._graphs)]]

    def row_of(self, number: int) -> int:
        """The place among ``variants.rows`` of the variant that a line is about."""
        position = self._position(self._open)
        if position is None or number <= position:
            return self._shown[number]
        return self._shown[max(position, number - len(self._graphs))]

    def line_of(self, row: int) -> int | None:
        """The line of a variant; None where it is not shown."""
        position, opened = self._position(row), self._position(self._open)
        if position is None or opened is None or position <= opened:
            return position
        return position + len(self._graphs)

    # As Qt asks for it.

    def rowCount(self, parent: Index | None = None) -> int:
        if parent is not None and parent.isValid():
            return 0
        return len(self._shown) + len(self._graphs)

    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else 5

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return (_tr("Variant"), _tr("Hits"), _tr("Misses"), _tr("Time"), _tr("Phases"))[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if section in NUMBERS else _LEFT
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= self.rowCount():
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self.text(index.row(), index.column(), time.monotonic())
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(self._tip(index.row(), index.column()))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if index.column() in NUMBERS else _LEFT
        return None

    def text(self, number: int, column: int, now: float) -> str:
        line = self.line(number)
        if column == VARIANT:
            return (
                name_of(line, self.several) if isinstance(line, VariantState) else graph_name(line)
            )
        if column == PHASES:
            error = line.error if isinstance(line, VariantState) else None
            if error is not None:
                # What went wrong has no phases, and its reason is to be seen without scrolling.
                return shown((error.why or error.what).partition("\n")[0], _REASON)
            return ", ".join(variants.words(line.phases or []))
        if isinstance(line, Graph):
            if column == TIME:
                # PyTorch's own number leaves out what led to the graph.
                took = max(line.seconds or 0.0, sum(line.phases))
                return say.seconds(took) if took else ""
            return outcome_words(line.outcome) if column == MISSES else ""
        if column == TIME:
            seconds = line.took(now)
            return "" if seconds is None else say.seconds(seconds)
        nothing = not (line.count or line.hits or line.misses)
        if line.state in ("queued", "starting") or (line.ended and nothing):
            return ""
        return f"{line.hits if column == HITS else line.misses:,}"

    def _tip(self, number: int, column: int) -> str:
        line = self.line(number)
        whole = line.took(time.monotonic()) if isinstance(line, VariantState) else None
        if column == PHASES:
            spent = "\n".join(variants.words(line.phases or [], whole))
            return spent or self.text(number, column, 0.0) or _tr("Not checked yet")
        if isinstance(line, Graph):
            none = _tr("compiled, no cache asked")
            how = none if line.outcome == "none" else outcome_words(line.outcome)
            return "\n".join(filter(None, (graph_name(line), how, variants.reason_of(line))))
        said = f"{name_of(line, True)}\n{variants.state_words(line.state)}"
        return f"{said}\n{line.error.what}" if line.error else said
