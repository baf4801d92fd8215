"""The runs that are kept: a list with totals and a small history, and each run's graphs; and the
programs that the window runs, while they do.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6 import QtCore, QtGui, QtWidgets
from PySide6.QtCore import QCoreApplication, QPointF, QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeySequence, QPainter, QPen
from PySide6.QtWidgets import QAbstractItemView, QSizePolicy, QToolTip, QTreeWidgetItem, QWidget

from torchkeeper.client.kept.runs import Kept, Run
from torchkeeper.client.words import outcomes, say
from torchkeeper.engine.protocol import RUN
from torchkeeper.gui import theme
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.dialogs.base import ConfirmDialog, confirm
from torchkeeper.gui.idle import once
from torchkeeper.gui.jobs.model import Job, JobsModel
from torchkeeper.gui.pages import ran
from torchkeeper.gui.pages.page import Page
from torchkeeper.gui.pages.ran import (
    BYPASSES,
    COMMAND,
    EXIT,
    GRAPH,
    HITS,
    OUTCOME,
    SAVED,
    SPENT,
    TIME,
    WHY,
)  # fmt: skip
from torchkeeper.gui.places.model import host_of
from torchkeeper.gui.widgets import forms, lists
from torchkeeper.gui.widgets.emptystate import EmptyState
from torchkeeper.gui.widgets.notice import Elided, Notice
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.warm import processes

if TYPE_CHECKING:
    from torchkeeper.client.programs import Ended
    from torchkeeper.gui.activity.detail import LogView

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
#: Pixels of the list, of what is below it and of the page: for a few rows, whatever is said of
#: them, and with room for everything.
_FEW, _SOME, _TALL = 84, 252, 860
#: Milliseconds between two looks at what a running program has looked up.
_LIVE_MS = 200
#: Processes that are named.
_NAMED = 8


class RunsPage(Page):
    """Reads the runs in the worker's thread whenever it comes to be shown. Over them are programs
    that the window runs, and those of which nothing was kept.
    """

    #: A program is to be run: the command line to begin with, and a place on its machine, "" for
    #: the shown one; a job is to be stopped.
    running = Signal(str, str)
    cancelled = Signal(object)
    #: An entry is to be shown: its place and key; or compared with another: the place, both keys.
    going = Signal(str, str)
    comparing = Signal(str, str, str)
    #: What a program compiled is to be a recipe; and to be warmed by that.
    saving = Signal(object)
    warming = Signal(object)

    def __init__(self, engines: Engines, jobs: JobsModel) -> None:
        super().__init__(QCoreApplication.translate("RunsPage", "Runs"))
        self._engines, self._jobs = engines, jobs
        self._ticket: int | None = None
        self._runs: list[Run] = []
        self._kept_runs = Kept([], 0)
        #: Ids of all kept runs that were ever listed; and the programs that are none of those.
        self._known: set[str] = set()
        self._live: dict[str, Job] = {}
        self._shown: tuple[str, Sequence[Mapping[str, object]]] = "", []
        self._output: LogView | None = None
        self._ended: Ended | None = None
        #: The id of the run that is to be chosen once the runs are read.
        self.wanted = ""
        self.totals = forms.label("", "muted", wrap=True)
        forms.keep_room(self.totals, 1)
        self.notice = Notice()
        self.notice.again.connect(self.refresh)
        self.rate = History(self.tr("Hit rate"), lambda value: f"{value:.0%}", "good", 1.0)
        self.saved = History(self.tr("Time saved"), say.seconds, "accent")
        heads = [self.tr("When"), self.tr("Command"), self.tr("Hits"), self.tr("Misses")]
        heads += [self.tr("Not cacheable"), self.tr("Spent"), self.tr("Saved"), self.tr("Exit")]
        leaves, right = (BYPASSES, SPENT, SAVED, EXIT), frozenset(range(HITS, EXIT + 1))
        self.list = ran.tree(self.tr("Runs, the latest first"), heads, COMMAND, right, leaves)
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        heads = [self.tr("Outcome"), self.tr("Graph"), self.tr("Function"), self.tr("Time")]
        name = self.tr("Graphs of the chosen run")
        self.graphs = ran.tree(name, [*heads, self.tr("Why")], WHY, frozenset(), (TIME, GRAPH))
        self.head = Elided("muted")
        #: What the program is at, why nothing is kept of it, and what it has left at work.
        self.note = forms.label("", "muted", wrap=True, selectable=True)
        self.end = forms.button(self.tr("En&d them…"), self._end)
        self.why = forms.label("", wrap=True, selectable=True)
        self.blank = EmptyState("runs")
        self.blank.asked.connect(lambda _: self.running.emit("", ""))
        self.start = forms.button(self.tr("Run a &program…"), lambda: self.running.emit("", ""))
        self.save = forms.button(self.tr("&Save as recipe…"), lambda: self.saving.emit(self._ended))
        self.warm = forms.button(self.tr("War&m this…"), lambda: self.warming.emit(self._ended))
        self.rerun = forms.button(self.tr("Run ag&ain…"), self._again)
        self.cancel = forms.button(self.tr("Cance&l"), self._cancel)
        hint = self.tr("Show the differences from the entry most similar to this graph")
        self.nearest = forms.button(self.tr("Compare with &nearest"), self._compare, hint)
        self.entry = forms.button(self.tr("Show ent&ry"), self._go, self.tr("Or double-click it"))
        self.forget = forms.button(self.tr("Forge&t…"), self._forget, danger=True)
        self.again = forms.button(self.tr("Refresh"), self.refresh)
        self._lay_out()
        self.list.itemSelectionChanged.connect(self._chosen)
        self.graphs.currentItemChanged.connect(lambda *_: self._explain())
        self.graphs.itemActivated.connect(lambda *_: self._go())
        self.graphs.header().sectionResized.connect(lambda *_: self._explain())
        for history in (self.rate, self.saved):
            history.chosen.connect(self._choose_bar)
        forms.on_key(self.list, QKeySequence.StandardKey.Delete, self._forget)
        theme.follow(self, self._paint, now=False)
        self._soon = once(self, self._follow, _LIVE_MS)
        for change in (jobs.dataChanged, jobs.rowsInserted, jobs.rowsRemoved):
            change.connect(lambda *_: self._soon.isActive() or self._soon.start())
        jobs.logged.connect(self._said)
        self._kept(self._kept_runs, known=False)
        self._follow()

    def _lay_out(self) -> None:
        # Nothing that comes and goes moves a button: it stands before them, or below.
        about = forms.row((self.head, 1), forms.row(self.cancel, self.save, self.rerun), gap=12)
        note = forms.row((self.note, 1), self.end, gap=12)
        asks = forms.row(self.nearest, self.entry, self.warm, forms.REST)
        parts = about, asks, note, (self.graphs, 1), self.why
        ends = (self.cancel, "cancel"), (self.forget, "purge")
        lists.offer_buttons(self.list, (self.rerun, "refresh"), (self.save, "recipes"), *ends)
        shows = (self.nearest, "compare"), (self.entry, "entries")
        lists.offer_buttons(self.graphs, *shows, (self.warm, "warm"))
        self.below = forms.page(forms.column(*parts, margin=(0, 4, 0, 0)))
        self.split = forms.split(self.list, self.below, sizes=[220, 260], upright=True)
        self.bars = forms.page(forms.row(self.rate, self.saved, gap=32))
        page = forms.page(forms.column(self.bars, (self.split, 1), margin=(0, 8, 0, 0), gap=12))
        self.stack = forms.stack(self.blank, forms.Scrolled(page))
        forms.add(self.body, self.totals, self.notice, (self.stack, 1))
        forms.add(self.tools, self.forget, self.again, self.start)

    def refresh(self) -> None:
        self._ask([])

    def let_go(self) -> None:
        self._engines.forget(self._ticket)

    def _kept(self, kept: Kept, *, known: bool = True) -> None:
        self.notice.tell(None)
        self._kept_runs = kept
        self._known |= {run.id for run in kept.runs}
        self.blank.offer(self.tr("Run a program…") if known else "")
        if known and not kept.runs:
            text = self.tr("Run a program unchanged, and see which of its graphs hit the cache and "
                           "why the others miss. “torchkeeper run -- python train.py” does the "
                           "same in a terminal. Runs that used the cache are listed.")  # fmt: skip
            self.blank.say(self.tr("No run yet"), text)
        elif not known:
            self.blank.say("", self.tr("Reading…"))
        forms.tell(self.totals, ran.totals_of(kept) if known else "")
        oldest = kept.runs[::-1]
        hints = [f"{say.when(run.at)}\n{ran.command_of(run)[:120]}" for run in oldest]
        self.rate.fill([run.rate for run in oldest], hints)
        self.saved.fill([run.totals["saved"] for run in oldest], hints)
        self._fill()
        if known:
            self.wanted = ""

    def _programs(self) -> dict[str, Job]:
        """The programs of the window that are no kept runs, the latest first, by their ids here."""
        every = [job for job in self._jobs.jobs if job.kind == RUN]
        return {f"job {x.id}": x for x in every if self._kept_as(x) not in self._known}

    @staticmethod
    def _kept_as(job: Job) -> str:
        return job.run.run.id if job.run is not None and job.run.run is not None else ""

    def _follow(self) -> None:
        """A program was started, has looked something up, or has ended."""
        programs = self._programs()
        if any(self._kept_as(job) for job in programs.values()) and self.isVisible():
            chosen = {run.id for run in self.selected()}
            now = [self._kept_as(job) for ident, job in programs.items() if ident in chosen]
            self.wanted = next(filter(None, now), self.wanted)
            self._ask([])
        if programs.keys() != self._live.keys():
            self._fill()
            return
        for row, (ident, job) in enumerate(programs.items()):
            self._runs[row] = run = ran.run_of(job)
            if item := self.list.topLevelItem(row):
                before = item.text(EXIT)
                ran.tell_run(item, run, ran.ended(job))
                if item.text(EXIT) != before:
                    self.list.fit()
            if [ident] == [one.id for one in self.selected()]:
                self._show(run)

    def _fill(self) -> None:
        live = self._programs()
        # Who has just started a program looks at that.
        new = next(iter(live.keys() - self._live.keys()), self.wanted)
        chosen = {new} if new else {run.id for run in self.selected()}
        self._live = live
        self._runs = [*map(ran.run_of, self._live.values()), *self._kept_runs.runs]
        begun = bool(self._runs) and not self.stack.currentIndex()
        if self.isVisible() and (begun or new in live):
            self.list.setFocus()
        self.stack.setCurrentIndex(int(bool(self._runs)))
        with QSignalBlocker(self.list):
            self.list.clear()
            for run in self._runs:
                job = self._live.get(run.id)
                self.list.addTopLevelItem(item := QTreeWidgetItem())
                ran.tell_run(item, run, ran.ended(job) if job else str(run.code))
            again = [n for n, run in enumerate(self._runs) if run.id in chosen] or [0]
            for number in again:
                if item_there := self.list.topLevelItem(number):
                    item_there.setSelected(True)
            if item_there := self.list.topLevelItem(again[0]):
                self.list.setCurrentItem(item_there, 0, lists.KEEP)
            self.list.fit()
        self._chosen()

    def selected(self) -> list[Run]:
        """The chosen runs, as they are listed."""
        numbers = {self.list.indexOfTopLevelItem(item) for item in self.list.selectedItems()}
        return [run for number, run in enumerate(self._runs) if number in numbers]

    def _choose_bar(self, index: int) -> None:
        if item := self.list.topLevelItem(len(self._runs) - 1 - index):
            self.list.clearSelection()
            item.setSelected(True)
            self.list.setCurrentItem(item, 0, lists.KEEP)
            self.list.scrollToItem(item)

    def _chosen(self) -> None:
        chosen = self.selected()
        self.forget.setEnabled(any(run.id not in self._live for run in chosen))
        one = chosen[0] if len(chosen) == 1 else None
        kept = one is not None and one.id not in self._live
        number = len(self._runs) - 1 - self._runs.index(one) if one and kept else -1
        for history in (self.rate, self.saved):
            history.mark(number)
        self._show(one)
        if one is None:
            self.head.setText(self.tr("{} runs chosen").format(len(chosen)) if chosen else "")

    def _show(self, run: Run | None) -> None:
        """Show the graphs of a run, and its output where the window has run it."""
        job = self._job_of(run) if run is not None else None
        self.cancel.setVisible(job is not None and job.active)
        self.rerun.setEnabled(run is not None and (job is None or job.is_over))
        self._show_output(job)
        self._ended = job.run if job is not None else None
        noted = self._ended is not None and bool(self._ended.notes)
        why = self.tr(
            "The run did not record what it compiled: run it again from here, then save it"
        )
        if job is not None and not job.is_over:
            why = self.tr("What it compiles is known once it has ended")
        for button in (self.save, self.warm):
            forms.allow(button, "" if noted else why)
        about = [ran.about(job) if run and run.id in self._live else "", job.note] if job else []
        alive = job is not None and bool(job.result.get("alive"))
        host = host_of(run.machine) if run is not None else ""
        about += [self.tr("end it in a login on {}").format(host)] if alive and host else []
        self._tell(self.note, " · ".join(filter(None, about)))
        self.end.setVisible(alive and not host)
        if run is not None:
            self.head.setText(ran.head(run))
            self.head.setToolTip(tip(self.head.text()))
        now = (run.id, list(run.graphs)) if run is not None else ("", [])
        if now == self._shown:
            return
        (before, old), self._shown = self._shown, now
        row = max(0, self.graphs.currentIndex().row()) if now[0] == before else 0
        # Of a run that goes on, most are there.
        there = len(old) if (now[0], now[1][: len(old)]) == (before, old) else 0
        if not there:
            self.graphs.clear()
        made = [ran.graph_item(graph) for graph in now[1][there:]]
        self.graphs.addTopLevelItems(made)
        self.graphs.fit()
        self._paint(made)
        # What was compiled is what there is to ask about.
        if not there and (first := self.graphs.topLevelItem(row)):
            self.graphs.setCurrentItem(first)
        self._explain()

    def _job_of(self, run: Run) -> Job | None:
        every = (job for job in self._jobs.jobs if job.kind == RUN)
        return next((x for x in every if run.id in (f"job {x.id}", self._kept_as(x))), None)

    def _show_output(self, job: Job | None) -> None:
        if self._output is None and job is not None:
            from torchkeeper.gui.activity.detail import LogView

            self._output = made = LogView(self.tr("Output"))
            made.edit.setPlaceholderText(self.tr("The program has printed nothing."))
            made.save.hide()
            made.follow.setText(self.tr("Keep at end"))  # the drawer's, above it, has the letter
            self.split.addWidget(made)
            self.split.setSizes([140, 260, 160])
            self._of: Job | None = None
        if self._output is not None:
            self._output.setVisible(job is not None)
            # The graphs and what it prints need the room more.
            self.bars.setVisible(job is None or self.height() > _TALL)
            self.list.setMinimumHeight(_FEW if job is not None else 0)
            self.below.setMinimumHeight(_SOME if job is not None else 0)
            if job is not None and job is not self._of:
                self._output.show_lines(job.log)
            self._of = job

    def _said(self, job: Job, lines: list[str]) -> None:
        if self._output is not None and job is self._of:
            (self._output.add if lines else self._output.show_lines)(lines)

    @property
    def _graph(self) -> Mapping[str, object]:
        item = self.graphs.currentItem()
        return (item.data(GRAPH, Qt.ItemDataRole.UserRole) if item else None) or {}

    def _explain(self) -> None:
        item = self.graphs.currentItem()
        text = item.text(WHY) if item else ""
        # Only what has no room in its column is said once more.
        room = self.graphs.columnWidth(WHY) - 12
        self._tell(self.why, text if self.fontMetrics().horizontalAdvance(text) > room else "")
        there = isinstance(self._graph.get("key"), str)
        self.entry.setEnabled(there)
        self.nearest.setEnabled(there and bool(ran.nearest(self._graph)))

    def _tell(self, where: QtWidgets.QLabel, text: str) -> None:
        forms.tell(where, text)
        # A splitter does not ask how high a text is at its width.
        beside = self.end.sizeHint().width() + 12 if where is self.note else 0
        where.setMinimumHeight(max(0, where.heightForWidth(self.graphs.width() - beside)))

    def _end(self) -> ConfirmDialog | None:
        chosen = self.selected()
        job = self._job_of(chosen[0]) if len(chosen) == 1 else None
        if job is None or not (alive := job.result.get("alive")):
            return None

        def ended(left: Sequence[Sequence[int]]) -> None:
            job.result = {**job.result, "alive": left}
            job.note = outcomes.note(RUN, job.result)
            self._jobs.touch(job)
            self._chosen()  # of a kept run, too

        def end() -> None:
            listener = Listener(result=ended, failed=self.notice.tell)
            self._engines.background(listener, processes.end_these, alive)

        many = say.count(len(alive), "process", "processes")
        text = self.tr("The program started {}: {}. What it does not save is lost.").format(
            many, ", ".join(str(pid) for pid, _ in alive[:_NAMED])
        )
        title, sure = self.tr("End processes"), self.tr("End {}?").format(many)
        return confirm(self, title, sure, text, self.tr("&End"), end)

    def look_at(self, job: Job) -> None:
        """Show what came of a program of the window."""
        kept = self._kept_as(job)
        self.wanted = kept or f"job {job.id}"
        self._fill()
        if kept not in self._known:
            self.refresh()

    def _paint(self, some: Sequence[QTreeWidgetItem] | None = None) -> None:
        for item in lists.items(self.graphs) if some is None else some:
            outcome = str(item.data(OUTCOME, Qt.ItemDataRole.UserRole))
            shade = getattr(theme.shades(), _SHADES.get(outcome, "text"))
            item.setForeground(OUTCOME, QColor(shade))

    def _go(self) -> None:
        if self.entry.isEnabled() and (chosen := self.selected()):
            self.going.emit(chosen[0].place, str(self._graph["key"]))

    def _compare(self) -> None:
        keys = str(self._graph["key"]), ran.nearest(self._graph)
        self.comparing.emit(self.selected()[0].place, *keys)

    def _again(self) -> None:
        run = self.selected()[0]
        self.running.emit(shlex.join(run.command), run.place)

    def _cancel(self) -> None:
        if (chosen := self.selected()) and (job := self._job_of(chosen[0])) is not None:
            self.cancelled.emit(job)

    def _forget(self) -> ConfirmDialog | None:
        if not (chosen := [run for run in self.selected() if run.id not in self._live]):
            return None
        runs = say.count(len(chosen), "run", "runs")
        text = self.tr("This changes only the list; caches stay as they are.")
        title, sure = self.tr("Forget runs"), self.tr("Forget {}?").format(runs)
        ids = [run.id for run in chosen]
        return confirm(self, title, sure, text, self.tr("&Forget"), lambda: self._ask(ids))

    def _ask(self, forget: Sequence[str]) -> None:
        self._engines.forget(self._ticket)
        listener = Listener(result=self._kept, failed=partial(self.notice.tell, again=True))
        self._ticket = self._engines.background(listener, lookups.runs, list(forget))
