"""The runs that are kept: a list with totals and a small history, and each run's graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from PySide6 import QtCore, QtGui
from PySide6.QtCore import QCoreApplication, QPointF, QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QKeySequence, QPainter, QPen
from PySide6.QtWidgets import QAbstractItemView, QSizePolicy, QToolTip, QTreeWidgetItem, QWidget

from torchkeeper.client.kept.runs import TOTALS, Kept, Run
from torchkeeper.client.words import causes, say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.dialogs.base import ConfirmDialog, confirm
from torchkeeper.gui.matrix.cells import outcome_words
from torchkeeper.gui.pages.page import Page
from torchkeeper.gui.widgets import forms, lists
from torchkeeper.gui.widgets.emptystate import EmptyState
from torchkeeper.gui.widgets.lists import Fitted
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.gui.widgets.plain import tip

_tr = partial(QCoreApplication.translate, "RunsPage")

#: How many bars there is room for, and how wide one and its share of the row are at most.
MOST = 40
_SHARE, _FILL, _HEAD, _FOOT = 22.0, 0.7, 24, 6
#: What is nothing is seen, too.
_NOTHING = 2.0


class History(QWidget):
    """Bars of one figure. told: it in words. most: of the highest bar; None: the highest given."""

    #: A bar was clicked: which, of all that were given.
    chosen = Signal(int)

    def __init__(
        self, title: str, told: Callable[[float], str], shade: str, most: float | None = None
    ) -> None:
        super().__init__()
        self._title, self._told, self._shade, self._most = title, told, shade, most
        self._values: list[float | None] = []
        self._hints: list[str] = []
        self._skipped = 0
        self._current = -1
        self.setMinimumHeight(96)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        self.setAccessibleName(title)
        theme.follow(self, self.update)

    def sizeHint(self) -> QSize:
        return QSize(320, 108)

    def fill(self, values: Sequence[float | None], hints: Sequence[str]) -> None:
        """Show figures, the oldest first, None where there is none; ``hints``: of which run."""
        self._skipped = max(0, len(values) - MOST)
        self._values = list(values[self._skipped :])
        self._hints = list(hints[self._skipped :])
        said = ", ".join("–" if v is None else self._told(v) for v in self._values)
        self.setAccessibleDescription(self.tr("The oldest first: {}").format(said) if said else "")
        self.update()

    def mark(self, index: int) -> None:
        """Say which of all figures is the chosen one's; -1 for none."""
        self._current = index - self._skipped
        self.update()

    def bars(self) -> list[QRectF]:
        """Where the bars are; one without a figure has no height."""
        if not (count := len(self._values)):
            return []
        most = self._highest()
        room = QRectF(0, _HEAD, self.width(), self.height() - _HEAD - _FOOT)
        share = min(room.width() / count, _SHARE)
        found = []
        for at, value in enumerate(self._values):
            height = 0.0 if value is None else _NOTHING
            if value is not None and most > 0:
                height = max(height, room.height() * value / most)
            left = room.left() + share * at + share * (1 - _FILL) / 2
            found.append(QRectF(left, room.bottom() - height, share * _FILL, height))
        return found

    def _highest(self) -> float:
        known = (value for value in self._values if value is not None)
        return self._most if self._most is not None else max(known, default=0.0)

    def paintEvent(self, _event: QtGui.QPaintEvent) -> None:
        shades = theme.shades()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            head = QRectF(0, 0, self.width(), _HEAD - 4)
            flags = Qt.AlignmentFlag.AlignVCenter
            painter.setPen(QColor(shades.muted))
            painter.drawText(head, flags | Qt.AlignmentFlag.AlignLeft, self._title)
            if any(value is not None for value in self._values):
                text = self.tr("up to {}").format(self._told(self._highest()))
                painter.drawText(head, flags | Qt.AlignmentFlag.AlignRight, text)
            bottom = self.height() - _FOOT + 0.5
            painter.setPen(QPen(QColor(shades.line), 1))
            painter.drawLine(QPointF(0, bottom), QPointF(self.width(), bottom))
            painter.setPen(Qt.PenStyle.NoPen)
            quiet = QColor(getattr(shades, self._shade))
            quiet.setAlphaF(0.55)
            for at, bar in enumerate(self.bars()):
                loud = self._current < 0 or at == self._current
                painter.setBrush(QColor(getattr(shades, self._shade)) if loud else quiet)
                painter.drawRoundedRect(bar, 2, 2)

    def _at(self, x: float) -> int:
        """The bar in whose share of the row a point is, or -1."""
        if not self._values:
            return -1
        at = int(x / min(self.width() / len(self._values), _SHARE))
        return at if 0 <= at < len(self._values) else -1

    def mousePressEvent(self, event: QtGui.QMouseEvent) -> None:
        at = self._at(event.position().x())
        if at >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(at + self._skipped)

    def event(self, event: QtCore.QEvent) -> bool:
        if isinstance(event, QtGui.QHelpEvent) and event.type() == QtCore.QEvent.Type.ToolTip:
            if (at := self._at(event.pos().x())) >= 0:
                value = self._values[at]
                said = "–" if value is None else self._told(value)
                QToolTip.showText(event.globalPos(), tip(f"{said}\n{self._hints[at]}"), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)


_SHADES = {"hit": "good", "miss": "warning", "bypass": "muted"}
#: What is shown where nothing was run yet.
COMMAND = "torchkeeper run -- python train.py"

#: Milliseconds for which it is said what was copied.
_SAID_MS = 8_000
_WHEN, _COMMAND, _HITS, _MISSES, _BYPASSES, _SPENT, _SAVED, _EXIT = range(8)
_OUTCOME, _GRAPH, _FUNCTION, _TIME, _WHY = range(5)


class RunsPage(Page):
    """Reads the runs in the worker's thread whenever it comes to be shown."""

    said = Signal(str, int)

    def __init__(self, engines: Engines) -> None:
        super().__init__(QCoreApplication.translate("RunsPage", "Runs"))
        self._engines = engines
        self._ticket: int | None = None
        self._runs: list[Run] = []
        #: The id of the run that is to be chosen once the runs are read.
        self.wanted = ""
        self.totals = forms.label("", "muted", wrap=True)
        self.notice = Notice()
        self.notice.again.connect(self.refresh)
        self.rate = History(self.tr("Hit rate"), lambda value: f"{value:.0%}", "good", 1.0)
        self.saved = History(self.tr("Time saved"), say.seconds, "accent")
        heads = [self.tr("When"), self.tr("Command"), self.tr("Hits"), self.tr("Misses")]
        heads += [self.tr("Not cacheable"), self.tr("Spent"), self.tr("Saved"), self.tr("Exit")]
        leaves, right = (_BYPASSES, _SPENT, _SAVED, _EXIT), frozenset(range(_HITS, _EXIT + 1))
        self.list = _tree(self.tr("Runs, the latest first"), heads, _COMMAND, right, leaves)
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        heads = [self.tr("Outcome"), self.tr("Graph"), self.tr("Function"), self.tr("Time")]
        name = self.tr("Graphs of the chosen run")
        self.graphs = _tree(name, [*heads, self.tr("Why")], _WHY, frozenset(), (_TIME, _GRAPH))
        self.head = forms.label("", "muted", wrap=True, selectable=True)
        self.why = forms.label("", wrap=True, selectable=True)
        self.blank = EmptyState("runs")
        self.command = forms.label(COMMAND, selectable=True)
        theme.follow(self.command, lambda: self.command.setFont(theme.monospace()))
        self.blank.beside(self.command)
        self.blank.asked.connect(self._copy_command)
        self.forget = forms.button(self.tr("Forget…"), self._forget, danger=True)
        self.again = forms.button(self.tr("Refresh"), self.refresh)
        self._lay_out()
        self.list.itemSelectionChanged.connect(self._chosen)
        self.graphs.currentItemChanged.connect(lambda *_: self._explain())
        for history in (self.rate, self.saved):
            history.chosen.connect(self._choose_bar)
        forms.on_key(self.list, QKeySequence.StandardKey.Delete, self._forget)
        theme.follow(self, self._paint, now=False)
        self._kept(Kept([], 0), known=False)

    def _lay_out(self) -> None:
        below = forms.page(forms.column(self.head, (self.graphs, 1), self.why, margin=(0, 4, 0, 0)))
        self.split = forms.split(self.list, below, sizes=[220, 260], upright=True)
        bars = forms.row(self.rate, self.saved, gap=32)
        page = forms.page(forms.column(bars, (self.split, 1), margin=(0, 8, 0, 0), gap=12))
        self.stack = forms.stack(self.blank, page)
        forms.add(self.body, self.totals, self.notice, (self.stack, 1))
        forms.add(self.tools, self.forget, self.again)

    def refresh(self) -> None:
        self._ask([])

    def let_go(self) -> None:
        self._engines.forget(self._ticket)

    def _kept(self, kept: Kept, *, known: bool = True) -> None:
        self.notice.tell(None)
        chosen = {self.wanted} if self.wanted else {run.id for run in self.selected()}
        if known:
            self.wanted = ""
        self._runs = kept.runs
        self.command.setVisible(known)
        self.blank.offer(self.tr("Copy command") if known else "")
        if known and not kept.runs:
            text = self.tr("This runs a program as it is, and then tells which graphs were in the "
                           "cache, and of each that was not, what differs. Every run that asked "
                           "the cache for something is listed here.")  # fmt: skip
            self.blank.say(self.tr("No run yet"), text)
        elif not known:
            self.blank.say("", self.tr("Reading…"))
        if kept.runs and not self.stack.currentIndex() and self.isVisible():
            self.list.setFocus()
        self.stack.setCurrentIndex(int(bool(kept.runs)))
        forms.tell(self.totals, _totals(kept) if known else "")
        oldest = kept.runs[::-1]
        hints = [f"{say.when(run.at)}\n{_command(run)[:120]}" for run in oldest]
        self.rate.fill([run.rate for run in oldest], hints)
        self.saved.fill([run.totals["saved"] for run in oldest], hints)
        with QSignalBlocker(self.list):
            self.list.clear()
            self.list.addTopLevelItems([_run_item(run) for run in kept.runs])
            again = [n for n, run in enumerate(kept.runs) if run.id in chosen] or [0]
            for number in again:
                if item := self.list.topLevelItem(number):
                    item.setSelected(True)
            if item := self.list.topLevelItem(again[0]):
                self.list.setCurrentItem(item, 0)
            self.list.fit()
        self._chosen()

    def _copy_command(self) -> None:
        QGuiApplication.clipboard().setText(COMMAND)
        # Nothing else shows that something was done.
        self.said.emit(self.tr("Copied: {}").format(COMMAND), _SAID_MS)

    def selected(self) -> list[Run]:
        """The chosen runs, as they are listed."""
        numbers = {self.list.indexOfTopLevelItem(item) for item in self.list.selectedItems()}
        return [run for number, run in enumerate(self._runs) if number in numbers]

    def _choose_bar(self, index: int) -> None:
        if item := self.list.topLevelItem(len(self._runs) - 1 - index):
            self.list.clearSelection()
            self.list.setCurrentItem(item)
            self.list.scrollToItem(item)

    def _chosen(self) -> None:
        chosen = self.selected()
        self.forget.setEnabled(bool(chosen))
        one = chosen[0] if len(chosen) == 1 else None
        number = len(self._runs) - 1 - self._runs.index(one) if one else -1
        for history in (self.rate, self.saved):
            history.mark(number)
        self.graphs.clear()
        if one is None:
            self.head.setText(self.tr("{} runs chosen").format(len(chosen)) if chosen else "")
        else:
            self.head.setText(_head(one))
            self.graphs.addTopLevelItems([_graph_item(graph) for graph in one.graphs])
            self.graphs.fit()
            self._paint()
            # What was compiled is what there is to ask about.
            if first := self.graphs.topLevelItem(0):
                self.graphs.setCurrentItem(first)
        self._explain()

    def _explain(self) -> None:
        item = self.graphs.currentItem()
        text = item.text(_WHY) if item else ""
        # Only what has no room in its column is said once more.
        room = self.graphs.columnWidth(_WHY) - 12
        forms.tell(self.why, text if self.fontMetrics().horizontalAdvance(text) > room else "")

    def _paint(self) -> None:
        for item in lists.items(self.graphs):
            outcome = str(item.data(_OUTCOME, Qt.ItemDataRole.UserRole))
            shade = getattr(theme.shades(), _SHADES.get(outcome, "text"))
            item.setForeground(_OUTCOME, QColor(shade))

    def _forget(self) -> ConfirmDialog | None:
        if not (chosen := self.selected()):
            return None
        runs = say.count(len(chosen), "run", "runs")
        text = self.tr("Only what is listed here goes; caches stay as they are.")
        title, sure = self.tr("Forget runs"), self.tr("Forget {}?").format(runs)
        ids = [run.id for run in chosen]
        return confirm(self, title, sure, text, self.tr("Forget"), lambda: self._ask(ids))

    def _ask(self, forget: Sequence[str]) -> None:
        self._engines.forget(self._ticket)
        listener = Listener(result=self._kept, failed=partial(self.notice.tell, again=True))
        self._ticket = self._engines.background(listener, lookups.runs, list(forget))


class _Rows(Fitted):
    """Rows that are copied whole: a line each, with tabs between their cells."""

    def keyPressEvent(self, event: QtGui.QKeyEvent) -> None:
        if not event.matches(QKeySequence.StandardKey.Copy):
            super().keyPressEvent(event)
            return
        rows = sorted(self.selectedItems(), key=self.indexOfTopLevelItem)
        lines = ["\t".join(item.text(n) for n in range(self.columnCount())) for item in rows]
        QGuiApplication.clipboard().setText("\n".join(lines))


def _tree(
    name: str, columns: list[str], wide: int, right: frozenset[int], leaves: Sequence[int]
) -> Fitted:
    made = _Rows(wide, leaves)
    made.setAccessibleName(name)
    made.setRootIsDecorated(False)
    made.setUniformRowHeights(True)
    made.setAllColumnsShowFocus(True)
    made.head(columns, right, ())
    return made


def _command(run: Run) -> str:
    return printable(" ".join(run.command), 1000)


def _run_item(run: Run) -> QTreeWidgetItem:
    totals = run.totals
    counts = (f"{totals[name]:,.0f}" for name in ("hits", "misses", "bypasses"))
    times = say.seconds(totals["spent"]), say.seconds(totals["saved"])
    texts = say.when(run.at)[:-3], _command(run), *counts, *times, str(run.code)
    return lists.line(texts, numbers=range(_HITS, _EXIT + 1), tips=(_COMMAND,))


def _graph_item(graph: Mapping[str, object]) -> QTreeWidgetItem:
    outcome = printable(str(graph.get("outcome")), 20)
    said, where = outcome_words(outcome), causes.place(graph)
    said = _tr("{}, {}").format(said, where) if where else said
    ident, why = printable(str(graph.get("id")), 80), printable(str(graph.get("why") or ""), 2000)
    shown = said, ident, causes.named(graph), causes.seconds(graph), say.unmarked(why)
    item = lists.line(shown, tips=(_FUNCTION, _WHY))
    item.setData(_OUTCOME, Qt.ItemDataRole.UserRole, outcome)
    # Where there is little room, these have no column.
    beside = (text for column in (_GRAPH, _TIME) if (text := item.text(column)))
    item.setToolTip(_OUTCOME, tip(" · ".join(beside)))
    return item


def _head(run: Run) -> str:
    torch = _tr("torch {}").format(printable(run.torch, 40)) if run.torch else ""
    took = _tr("took {}").format(say.seconds(run.seconds))
    parts = _command(run), torch, printable(run.place), took, run.shortened
    return " · ".join(filter(None, parts))


def _totals(kept: Kept) -> str:
    if not kept.runs and not kept.damaged:
        return ""
    totals = {name: sum(run.totals[name] for run in kept.runs) for name in TOTALS}
    said = _tr("{} · {}").format(say.count(len(kept.runs), "run", "runs"), causes.summary(totals))
    if kept.damaged:
        said += _tr(" · {} could not be read").format(say.count(kept.damaged, "file", "files"))
    return said
