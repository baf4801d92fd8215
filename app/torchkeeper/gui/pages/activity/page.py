"""The Activity page: the jobs of this session and of those before, and the chosen one."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QCoreApplication, QRect, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QKeySequence, QPainter, QResizeEvent
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from torchkeeper.client.kept.history import Running
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.background.lookups import PastJobs
from torchkeeper.gui.context import Context
from torchkeeper.gui.dialogs.base import ConfirmDialog, choose_target, confirm
from torchkeeper.gui.idle import every, once
from torchkeeper.gui.inspector.sources import SearchBox
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.pages.activity import shown
from torchkeeper.gui.pages.activity.detail import JobDetail
from torchkeeper.gui.pages.activity.shown import JobRows
from torchkeeper.gui.pages.page import Page, go_to_field
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.emptystate import EmptyState
from torchkeeper.gui.widgets.lists import RIGHT, Index
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.stores.names import scheme_of

#: Pixels between the edge of the list, the icon and the words.
_LEFT, _ICON, _WORDS = 12, 20, 42
_AT_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class JobDelegate(QStyledItemDelegate):
    """A job in two lines: title and time, state and progress; or the heading of a day."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        height, heading = option.fontMetrics.height(), index.data(JobRows.ItemRole) is None
        return QSize(200, height + 16 if heading else 2 * height + 26)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        one = index.data(JobRows.ItemRole)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if one is not None:
            self._job(painter, option, one)
        else:
            font = QFont(option.font)
            font.setWeight(QFont.Weight.DemiBold)
            painter.setFont(font)
            painter.setPen(QColor(theme.shades().muted))
            painter.drawText(option.rect.adjusted(_LEFT, 6, -_LEFT, 0), _AT_LEFT, str(index.data()))
        painter.restore()

    def _job(self, painter: QPainter, option: QStyleOptionViewItem, one: shown.Shown) -> None:
        shades = theme.shades()
        box: QRect = option.rect
        if chosen := bool(option.state & QStyle.StateFlag.State_Selected):
            painter.fillRect(box, QColor(shades.selected))
        name, colour = shown.mark(one)
        scale = option.widget.devicePixelRatioF()
        picture = theme.pixmap(name, _ICON, getattr(shades, colour), scale)
        painter.drawPixmap(box.left() + _LEFT, box.top() + 9, picture)
        metrics = option.fontMetrics
        line = metrics.height()
        inner = box.adjusted(_WORDS, 7, -_LEFT, -8)
        clock = shown.clock(one)
        above = QRect(inner.left(), inner.top(), inner.width(), line)
        top = above.adjusted(0, 0, -metrics.horizontalAdvance(clock) - (12 if clock else 0), 0)
        painter.setPen(QColor(shades.text))
        elide = Qt.TextElideMode.ElideRight
        painter.drawText(top, _AT_LEFT, metrics.elidedText(one.title, elide, top.width()))
        quiet = QColor(shades.text if chosen else shades.muted)
        painter.setPen(quiet)
        painter.drawText(above, RIGHT, clock)
        took, below = shown.took(one), above.translated(0, line + 2)
        painter.drawText(below, RIGHT, took)
        words = below.adjusted(0, 0, -metrics.horizontalAdvance(took) - (12 if took else 0), 0)
        painter.setPen(QColor(shades.error) if one.state == State.FAILED else quiet)
        said = metrics.elidedText(shown.words(one), elide, words.width())
        painter.drawText(words, _AT_LEFT, said)
        if isinstance(one, Job) and one.active:
            _draw_bar(painter, QRect(inner.left(), words.bottom() + 4, inner.width(), 4), one)
        painter.setPen(QColor(shades.line))
        painter.drawLine(box.bottomLeft(), box.bottomRight())


def _draw_bar(painter: QPainter, box: QRect, job: Job) -> None:
    shades = theme.shades()
    theme.rounded(painter, box, 2, shades.line)
    done, fraction = QRect(box), job.fraction()
    if fraction is not None:
        done.setWidth(round(box.width() * fraction))
    elif job.state is State.QUEUED:
        done.setWidth(0)
    else:
        # Nobody knows how much is left: a piece that wanders, once in two seconds.
        piece = box.width() // 4
        at = (time.time() % 2.0) / 2.0
        done.setLeft(box.left() + round((box.width() - piece) * at))
        done.setWidth(piece)
    if done.width() > 0:
        theme.rounded(painter, done, 2, shades.accent)


#: Pixels that the list takes at least, and that the page has where the chosen job stands beside it
#: and not below.
_LIST, _BESIDE = 280, 880
#: Their heights, and their widths, at first.
_TALL, _WIDE = [200, 360], [360, 640]
#: Milliseconds between two pictures of what runs, and between two looks at what others run.
_TICK_MS, _AGAIN_MS = 200, 2000


class ActivityPage(Page):
    """Has the jobs of this session, and reads the history whenever it comes to be shown."""

    current_changed = Signal()
    #: The chosen job is to be shown: how far it is, or what came of it. What came of it is to be
    #: opened, shown in the file manager, or measured; the rest of it is to be warmed.
    showing = Signal()
    opening = Signal(object)
    revealing = Signal(object)
    verifying = Signal(Job)
    warming = Signal(Job)

    def __init__(self, context: Context) -> None:
        super().__init__(QCoreApplication.translate("ActivityPage", "Activity"))
        self._context, self._jobs = context, context.jobs
        self._ticket: int | None = None
        self._chosen: shown.Shown | None = None
        #: Whether what was done is not listed because it was forgotten.
        self._cleared = False
        self.rows = JobRows(context.jobs, self)
        self.filter = SearchBox(self.tr("Search the jobs"))
        self.list = QListView()
        self.list.setObjectName("jobs")
        self.list.setAccessibleName(self.tr("Activity: jobs, newest first"))
        self.list.setModel(self.rows)
        self.list.setItemDelegate(JobDelegate(self.list))
        self.list.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.none = EmptyState("find")
        self.none.offer(self.tr("Clear search"))
        self.none.asked.connect(lambda _: self.filter.clear())
        self.damaged = forms.label("", "muted", wrap=True)
        #: What other processes run, which can be had back or watched there only.
        self.elsewhere = forms.label("", "muted", wrap=True)
        self.elsewhere.setAccessibleName(self.tr("Jobs of other windows"))
        self.elsewhere.hide()
        self.detail = JobDetail()
        self.log = self.detail.log.edit
        self.notice = Notice()
        self.blank = EmptyState("activity")
        self.blank.offer(self.tr("&Warm…"), "warm")
        self.import_ = forms.button(self.tr("&Import…"), context.actions["import"].trigger)
        self.blank.beside(self.import_)
        clear = self.tr("Clear histor&y…"), self._clear
        hint = self.tr("Forget all jobs that have ended; caches stay")
        self.clear_button = forms.button(*clear, hint, danger=True)
        self._make_ways()
        self._lay_out()
        self._connect()
        self._arranged()

    def _make_ways(self) -> None:
        button = forms.button
        operations = self._context.operations
        self.cancel_button = button(self.tr("Cancel &job"), self._of_job(operations.cancel))
        self.open = button(self.tr("&Open result"), lambda: self.opening.emit(self._chosen))
        self.folder = button(self.tr("Show in fol&der"), lambda: self.revealing.emit(self._chosen))
        hint = self.tr("Its progress and result in a window of its own, with what was left out")
        self.result = button(self.tr("Detail&s…"), lambda *_: self.showing.emit(), hint)
        hint = self.tr("Take this job off the list and out of the history; caches stay")
        self.forget = button(self.tr("Forge&t"), self._forget, hint, danger=True)
        hint = self.tr("See in fresh processes that what was warmed is found, and how fast")
        self.verify = button(self.tr("Ve&rify…"), self._of_job(self.verifying.emit), hint)
        hint = self.tr("Put back what it moved to the trash")
        self.undo = button(self.tr("&Undo"), self._undo, hint)
        hint = self.tr("Compile only the cells that failed or were not reached")
        self.bad = button(self.tr("Warm f&ailed again"), self._of_job(self.warming.emit), hint)
        hint = self.tr("Do the same once more, as it was asked")
        self.again = button(self.tr("Run agai&n"), self._of_job(operations.repeat), hint)
        for way in (self.cancel_button, self.open, self.folder, self.result, self.forget):
            self.detail.ways.addWidget(way)
        for deed in (self.verify, self.undo, self.bad, self.again):
            self.detail.deeds.addWidget(deed)

    def _lay_out(self) -> None:
        listed = self.filter, (self.list, 1), self.damaged
        self._left = forms.column(*listed, margin=(0, 0, 16, 0))
        side = forms.page(self._left)
        side.setMinimumWidth(_LIST)
        right = forms.frame("pane", forms.column(self.detail, self.none))
        self.split = forms.split(side, right, sizes=_WIDE, lined=True)
        self.split.setStretchFactor(1, 1)
        self.stack = forms.stack(self.blank, self.split)
        forms.add(self.body, self.notice, self.elsewhere, (self.stack, 1))
        self.tools.addWidget(self.clear_button)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        below = self.width() < _BESIDE
        wanted = Qt.Orientation.Vertical if below else Qt.Orientation.Horizontal
        if self.split.orientation() != wanted:
            self.split.setOrientation(wanted)
            self.split.setSizes(_TALL if below else _WIDE)
            self._left.setContentsMargins(0, 0, 0 if below else 16, 8 if below else 0)
            self.detail.stand(below=below)

    def _connect(self) -> None:
        context = self._context
        self._timer = every(self, self._jobs.tick, _TICK_MS)
        self._again = once(self, self._look_again, _AGAIN_MS)
        self.rows.arranged.connect(self._arranged)
        self.list.selectionModel().currentChanged.connect(self._moved)
        self.list.activated.connect(self.showing)
        self.filter.textChanged.connect(self.rows.filter)
        self.filter.leave.connect(self.list.setFocus)
        self.filter.step.connect(lambda _: self.list.setFocus())
        self._jobs.rowsInserted.connect(lambda *_: self.choose(self._jobs.jobs[0]))
        self._jobs.dataChanged.connect(self._touched)
        self._jobs.logged.connect(self._logged)
        self.detail.log.save.clicked.connect(self._save)
        self.notice.again.connect(self.refresh)
        self.blank.asked.connect(lambda action: context.actions[action].trigger())
        context.engines.unkept.connect(self.notice.tell)
        forms.on_key(self.list, QKeySequence.StandardKey.Delete, self._forget)

    def entered(self) -> None:
        self.refresh()
        self.list.setFocus()

    def refresh(self) -> None:
        self._ask([])

    def _ask(self, forget: list[str] | None) -> None:
        engines = self._context.engines
        engines.forget(self._ticket)
        listener = Listener(result=self._told, failed=partial(self.notice.tell, again=True))
        self._ticket = engines.background(listener, lookups.past_jobs, forget)

    def _told(self, said: PastJobs) -> None:
        self.notice.tell(None)
        lines = say.count(said.kept.damaged, "line", "lines")
        text = self.tr("{} of the history could not be understood.").format(lines)
        forms.tell(self.damaged, text if said.kept.damaged else "")
        self.rows.told_past(said.kept.jobs)
        forms.tell(self.elsewhere, "\n".join(map(_of_another, said.elsewhere)))
        if said.elsewhere:
            self._again.start()

    def _look_again(self) -> None:
        if self.isVisible():
            self.refresh()

    def search(self) -> bool:
        return go_to_field(self.filter) if self.stack.currentIndex() else True

    def let_go(self) -> None:
        self._context.engines.forget(self._ticket)

    @property
    def job(self) -> Job | None:
        """The chosen job of this session."""
        return self._chosen if isinstance(self._chosen, Job) else None

    def choose(self, one: shown.Shown) -> None:
        """Show a job and its log; a filter that hides it is taken away."""
        if not self.rows.index_of(one).isValid():
            self.filter.clear()
        self._chosen = one
        self._arranged()

    def show_log(self) -> None:
        self.detail.tabs.setCurrentWidget(self.detail.log)
        self.log.setFocus()

    def _arranged(self) -> None:
        """Rows have come, gone or moved: the chosen one stays the chosen one."""
        index = self.rows.index_of(self._chosen)
        if not index.isValid():
            # The next best: what runs, or else the last.
            index = next((self.rows.index_of(one) for one in self.rows.items), index)
        selection = self.list.selectionModel()
        with QSignalBlocker(selection):
            selection.setCurrentIndex(index, selection.SelectionFlag.ClearAndSelect)
        self.list.viewport().update()
        self._show(self.rows.item(index))
        if index.isValid():
            self.list.scrollTo(index)
            if index.row() == 1:
                self.list.scrollToTop()

    def _moved(self, *_: object) -> None:
        if (one := self.rows.item(self.list.currentIndex())) is not None:
            self._show(one)

    def _show(self, one: shown.Shown | None) -> None:
        self._chosen = one
        every = bool(self._jobs.jobs or self.rows.past)
        self.stack.setCurrentIndex(int(every))
        text = self.tr("None has “{}” in its name, its place or its result.")
        self.none.say(self.tr("No job matches"), text.format(printable(self.filter.text(), 80)))
        self.none.setVisible(every and not self.rows.items)
        self.detail.setVisible(one is not None)
        self.clear_button.setEnabled(self._ended_jobs > 0)
        cleared, unused = self.tr("The history is empty"), self.tr("Nothing has been done yet")
        text = self.tr("What takes a while is listed here: how far it is, what it says and what "
                       "came of it. It is still here after the window was closed.")  # fmt: skip
        self.blank.say(cleared if self._cleared else unused, text)
        self.detail.show_job(one)
        self._suit()
        self.current_changed.emit()

    @property
    def _ended_jobs(self) -> int:
        return len(self.rows.past) + sum(not job.active for job in self._jobs.jobs)

    def _suit(self) -> None:
        """Show what can be done with the chosen job, and nothing else."""
        one, job = self._chosen, self.job
        fruit = (one and one.fruit) or ""
        warmed = job is not None and job.traits.warms and job.state is State.DONE
        some = job is not None and (not job.cells or len(job.cells.bad) < len(job.cells.rows))
        for button, on in (
            (self.cancel_button, job is not None and job.active),
            (self.open, bool(fruit)),
            (self.folder, bool(fruit) and scheme_of(fruit).local),
            (self.result, job is not None and job.has_dialog),
            (self.verify, warmed and some and bool(job and job.place)),
            (self.undo, job is not None and self._can_undo(job)),
            (self.bad, job is not None and job.can_go_on),
            (self.again, job is not None and self._context.operations.can_repeat(job)),
            (self.forget, one is not None and not shown.active(one)),
        ):
            if button.isHidden() is on:
                button.setVisible(on)
        if job is not None:
            self.cancel_button.setEnabled(job.state is not State.CANCELLING)
        if not self._jobs.active:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def _touched(self, *_: object) -> None:
        if self._chosen is not None and self.isVisible():
            self.detail.refresh()
        self._suit()

    def _logged(self, job: Job, lines: list[str]) -> None:
        if job is self._chosen:
            self.detail.log.add(lines)

    def _of_job(self, do: Callable[[Job], object]) -> Callable[[], None]:
        """What a button does that is about the chosen job of this session."""

        def pressed() -> None:
            if self.job is not None:
                do(self.job)

        return pressed

    def _can_undo(self, job: Job) -> bool:
        if not (job.traits.trashes and job.result.get("receipt")) or job.place is None:
            return False
        later = (x for x in self._jobs.jobs if x.id > job.id and x.place == job.place)
        return not any(x.traits.trashes or x.traits.untrashes for x in later)

    def _undo(self) -> None:
        if (job := self.job) is not None and job.place is not None:
            self._context.operations.undo(job.place, str(job.result["receipt"]))

    def _save(self) -> None:
        text = self.detail.log.text()

        def chosen(path: str) -> None:
            listener = Listener(failed=self.notice.tell)
            self._context.engines.background(listener, lookups.text_saved, path, text)

        kinds = self.tr("Texts (*.log *.txt)")
        choose_target(self, self.tr("Save log"), "torchkeeper.log", kinds, chosen, "log")

    def _forget(self) -> None:
        one = self._chosen
        if one is None or shown.active(one):
            return
        items = self.rows.items
        at = next((n for n, other in enumerate(items) if other is one), 0)
        self._chosen = next(iter(items[at + 1 : at + 2] or items[max(0, at - 1) : at]), None)
        if isinstance(one, Job):
            self._jobs.forget(one)
            self._ask([one.kept_as] if one.kept_as else [])
        else:
            self._ask([one.id])

    def _clear(self) -> ConfirmDialog:
        jobs = say.count(self._ended_jobs, "job that has ended", "jobs that have ended")
        title, sure = self.tr("Clear history"), self.tr("Forget {}?").format(jobs)
        text = self.tr("They go off this list and out of the history; caches stay as they are.")
        if self.filter.text():
            text = self.tr("Those that the search hides go as well; caches stay as they are.")

        def clear() -> None:
            self._cleared = True
            self._jobs.clear_ended()
            self._ask(None)

        return confirm(self, title, sure, text, self.tr("Forget"), clear)


def _of_another(job: Running) -> str:
    """A job that another process runs, in a line."""
    text = QCoreApplication.translate("ActivityPage", "In the background, process {}: {} · {}")
    if job.window:
        text = QCoreApplication.translate("ActivityPage", "In another window, process {}: {} · {}")
    return text.format(job.process, printable(job.title, 80), printable(job.words, 120))
