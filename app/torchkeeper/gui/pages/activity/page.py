"""The Activity page: the jobs of this session and of those before, and the chosen one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QCoreApplication,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFont, QKeySequence, QPainter, QResizeEvent, QShortcut
from PySide6.QtWidgets import (
    QListView,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from torchkeeper.client.kept.history import Kept, Past, Running
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui import theme
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.dialogs.base import ConfirmDialog, choose_target, confirm
from torchkeeper.gui.idle import every, once
from torchkeeper.gui.inspector.sources import SearchBox
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.pages.activity import shown
from torchkeeper.gui.pages.activity.detail import JobDetail
from torchkeeper.gui.pages.activity.shown import JobRows
from torchkeeper.gui.pages.page import Page
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.emptystate import EmptyState
from torchkeeper.gui.widgets.forms import Wrapping
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.gui.background.looked import PastJobs
    from torchkeeper.gui.context import Context


# How the list of jobs draws one: its state, its title and when, how it ended or how far it is.

#: Pixels between the edge of the list, the icon and the words.
_LEFT, _ICON, _WORDS = 12, 20, 42


class JobDelegate(QStyledItemDelegate):
    """A job in two lines: title and time, state and progress; or the heading of a day."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        height = option.fontMetrics.height()
        if index.data(JobRows.ItemRole) is None:
            return QSize(200, height + 16)
        return QSize(200, 2 * height + 26)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        one = index.data(JobRows.ItemRole)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if one is None:
            self._heading(painter, option, str(index.data()))
        else:
            self._job(painter, option, one)
        painter.restore()

    def _heading(self, painter: QPainter, option: QStyleOptionViewItem, text: str) -> None:
        shades = theme.shades()
        font = QFont(option.font)
        font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(font)
        painter.setPen(QColor(shades.muted))
        box = option.rect.adjusted(_LEFT, 6, -_LEFT, 0)
        painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)

    def _job(self, painter: QPainter, option: QStyleOptionViewItem, one: shown.Shown) -> None:
        shades = theme.shades()
        box: QRect = option.rect
        if chosen := bool(option.state & QStyle.StateFlag.State_Selected):
            painter.fillRect(box, QColor(shades.selected))
        name, colour = shown.mark(one)
        scale = option.widget.devicePixelRatioF()
        painter.drawPixmap(
            box.left() + _LEFT, box.top() + 9,
            theme.pixmap(name, _ICON, getattr(shades, colour), scale),
        )  # fmt: skip
        metrics = option.fontMetrics
        line = metrics.height()
        inner = box.adjusted(_WORDS, 7, -_LEFT, -8)
        clock = shown.clock(one)
        clock_width = metrics.horizontalAdvance(clock) + (12 if clock else 0)
        top = QRect(inner.left(), inner.top(), inner.width() - clock_width, line)
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        elide = Qt.TextElideMode.ElideRight
        painter.setPen(QColor(shades.text))
        painter.drawText(top, left, metrics.elidedText(one.title, elide, top.width()))
        quiet = QColor(shades.text if chosen else shades.muted)
        painter.setPen(quiet)
        painter.drawText(QRect(inner.left(), inner.top(), inner.width(), line), right, clock)
        took = shown.took(one)
        took_width = metrics.horizontalAdvance(took) + (12 if took else 0)
        below = QRect(inner.left(), inner.top() + line + 2, inner.width(), line)
        painter.drawText(below, right, took)
        words = below.adjusted(0, 0, -took_width, 0)
        painter.setPen(QColor(shades.error) if shown.state(one) is State.FAILED else quiet)
        painter.drawText(words, left, metrics.elidedText(shown.words(one), elide, words.width()))
        if shown.active(one):
            draw_bar(painter, QRect(inner.left(), words.bottom() + 4, inner.width(), 4), one)
        painter.setPen(QColor(shades.line))
        painter.drawLine(box.bottomLeft(), box.bottomRight())


def draw_bar(painter: QPainter, box: QRect, one: shown.Shown) -> None:
    """A thin bar that says how far a job is."""
    shades = theme.shades()
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(shades.line))
    painter.drawRoundedRect(box, 2, 2)
    fraction = shown.fraction(one)
    done = QRect(box)
    if fraction is not None:
        done.setWidth(round(box.width() * fraction))
    elif shown.state(one) is State.QUEUED:
        done.setWidth(0)
    else:
        # Nobody knows how much is left: a piece that wanders, once in two seconds.
        piece = box.width() // 4
        at = (time.time() % 2.0) / 2.0
        done.setLeft(box.left() + round((box.width() - piece) * at))
        done.setWidth(piece)
    if done.width() > 0:
        painter.setBrush(QColor(shades.accent))
        painter.drawRoundedRect(done, 2, 2)


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
    #: A menu for the chosen job is asked for, at a point of the list.
    menu_asked = Signal(QPoint)
    #: The chosen job is to be shown: how far it is, or what came of it. What came of it, or of one
    #: of the history, is to be opened, or shown in the file manager.
    showing = Signal()
    opening = Signal(object)
    revealing = Signal(object)
    #: What it has warmed is to be measured, or the rest of it warmed.
    verifying = Signal(Job)
    warming = Signal(Job)

    def __init__(self, context: Context) -> None:
        super().__init__(QCoreApplication.translate("ActivityPage", "Activity"))
        self._context = context
        self._jobs = context.jobs
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
        self.import_ = forms.button(self.tr("&Import…"))
        self.blank.beside(self.import_)
        self.clear_button = forms.button(self.tr("Clear histor&y…"), danger=True)
        self.clear_button.setToolTip(self.tr("Forget all jobs that have ended; caches stay"))
        self._make_ways()
        self._lay_out()
        self._connect()
        self._arranged()

    def _make_ways(self) -> None:
        see, do = self.detail.ways, self.detail.deeds
        self.cancel_button = self._way(see, self.tr("Cancel &job"), self._cancel)
        self.open = self._way(see, self.tr("&Open result"), self._open)
        self.folder = self._way(see, self.tr("Show in fol&der"), self._reveal)
        self.result = self._way(
            see, self.tr("Detail&s…"), self._details,
            self.tr("Its progress and result in a window of its own, with what was left out"),
        )  # fmt: skip
        self.forget = self._way(
            see, self.tr("Forge&t"), self._forget,
            self.tr("Take this job off the list and out of the history; caches stay"), danger=True,
        )  # fmt: skip
        self.verify = self._way(
            do, self.tr("Ve&rify…"), self._verify,
            self.tr("See in fresh processes that what was warmed is found, and how fast"),
        )  # fmt: skip
        self.undo = self._way(
            do, self.tr("&Undo"), self._undo, self.tr("Put back what it moved to the trash")
        )
        self.bad = self._way(
            do, self.tr("Warm f&ailed again"), self._rest,
            self.tr("Compile only the cells that failed or were not reached"),
        )  # fmt: skip
        self.again = self._way(
            do, self.tr("Run agai&n"), self._repeat,
            self.tr("Do the same once more, as it was asked"),
        )  # fmt: skip

    def _way(
        self, where: Wrapping, text: str, slot: Callable[..., object], hint: str = "",
        *, danger: bool = False,
    ) -> QPushButton:  # fmt: skip
        made = forms.button(text, danger=danger)
        made.setToolTip(tip(hint))
        made.clicked.connect(slot)
        where.addWidget(made)
        return made

    def _lay_out(self) -> None:
        self._left = left = forms.column()
        left.setContentsMargins(0, 0, 16, 0)
        left.addWidget(self.filter)
        left.addWidget(self.list, 1)
        left.addWidget(self.damaged)
        side = QWidget()
        side.setLayout(left)
        side.setMinimumWidth(_LIST)
        self.split = QSplitter(Qt.Orientation.Horizontal)
        self.split.setChildrenCollapsible(False)
        self.split.addWidget(side)
        right = forms.column()
        right.addWidget(self.detail)
        right.addWidget(self.none)
        self.split.addWidget(forms.frame("pane", right))
        self.split.setStretchFactor(1, 1)
        self.split.setSizes(_WIDE)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.blank)
        self.stack.addWidget(self.split)
        self.body.addWidget(self.notice)
        self.body.addWidget(self.elsewhere)
        self.body.addWidget(self.stack, 1)
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
        self.list.customContextMenuRequested.connect(self.menu_asked)
        self.list.activated.connect(self._details)
        self.filter.textChanged.connect(self.rows.filter)
        self.filter.leave.connect(self.list.setFocus)
        self.filter.step.connect(lambda _: self.list.setFocus())
        self._jobs.rowsInserted.connect(lambda *_: self.choose(self._jobs.jobs[0]))
        self._jobs.dataChanged.connect(self._touched)
        self._jobs.logged.connect(self._logged)
        self.detail.log.save_asked.connect(self._save)
        self.notice.again.connect(self.refresh)
        self.clear_button.clicked.connect(self._clear)
        self.blank.asked.connect(lambda action: context.actions[action].trigger())
        self.import_.clicked.connect(context.actions["import"].trigger)
        context.engines.unkept.connect(self.notice.tell)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Delete), self.list, self._forget,
                  context=Qt.ShortcutContext.WidgetShortcut)  # fmt: skip

    # The history.

    def entered(self) -> None:
        self.refresh()
        self.list.setFocus()

    def refresh(self) -> None:
        """Read the history again."""
        self._ask([])

    def _ask(self, forget: list[str] | None) -> None:
        engines = self._context.engines
        engines.forget(self._ticket)
        listener = Listener(result=self._told, failed=self._failed)
        self._ticket = engines.background(listener, lookups.past_jobs, forget)

    def _failed(self, error: UserError) -> None:
        self.notice.tell(error, again=True)

    def _told(self, said: PastJobs) -> None:
        self._kept(said.kept)
        self.elsewhere.setText("\n".join(map(_of_another, said.elsewhere)))
        self.elsewhere.setVisible(bool(said.elsewhere))
        if said.elsewhere:
            self._again.start()

    def _look_again(self) -> None:
        if self.isVisible():
            self.refresh()

    def _kept(self, kept: Kept) -> None:
        self.notice.tell(None)
        lines = say.count(kept.damaged, "line", "lines")
        said = self.tr("{} of the history could not be understood.").format(lines)
        self.damaged.setText(said if kept.damaged else "")
        self.damaged.setVisible(bool(kept.damaged))
        self.rows.told_past(kept.jobs)

    def search(self) -> bool:
        if self.stack.currentIndex():
            self.filter.setFocus(Qt.FocusReason.ShortcutFocusReason)
            self.filter.selectAll()
        return True

    def let_go(self) -> None:
        self._context.engines.forget(self._ticket)

    # What is chosen.

    @property
    def job(self) -> Job | None:
        """The chosen job of this session."""
        return self._chosen if isinstance(self._chosen, Job) else None

    @property
    def past(self) -> Past | None:
        """The chosen job from before."""
        return self._chosen if isinstance(self._chosen, Past) else None

    def choose(self, one: shown.Shown) -> None:
        """Show a job and its log; a filter that hides it is taken away."""
        if not self.rows.index_of(one).isValid():
            self.filter.clear()
        self._chosen = one
        self._arranged()

    def show_log(self) -> None:
        """Go to the log of the chosen job."""
        self.detail.tabs.setCurrentWidget(self.detail.log)
        self.log.setFocus()

    def _arranged(self) -> None:
        """Rows have come, gone or moved: the chosen one stays the chosen one."""
        index = self.rows.index_of(self._chosen)
        if not index.isValid():
            # The next best: what runs, or else the last.
            index = next((self.rows.index_of(one) for one in self.rows.items), index)
        self.list.selectionModel().blockSignals(True)
        self.list.selectionModel().setCurrentIndex(
            index, QItemSelectionModel.SelectionFlag.ClearAndSelect
        )
        self.list.selectionModel().blockSignals(False)
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
        self.none.say(
            self.tr("No job matches"),
            self.tr("None has “{}” in its name, its place or its result.")
            .format(printable(self.filter.text(), 80)),
        )  # fmt: skip
        self.none.setVisible(every and not self.rows.items)
        self.detail.setVisible(one is not None)
        ended = bool(self.rows.past) or any(not job.active for job in self._jobs.jobs)
        self.clear_button.setEnabled(ended)
        self.blank.say(
            self.tr("The history is empty") if self._cleared else
            self.tr("Nothing has been done yet"),
            self.tr("What takes a while is listed here: how far it is, what it says and what came "
                    "of it. It is still here after the window was closed."),
        )  # fmt: skip
        self.detail.show_job(one)
        self._suit()
        self.current_changed.emit()

    def _suit(self) -> None:
        """Show what can be done with the chosen job, and nothing else."""
        one, job = self._chosen, self.job
        fruit = (job.fruit if job else self.past.fruit if self.past else "") or ""
        warmed = job is not None and job.traits.warms and job.state is State.DONE
        some = job is not None and (not job.cells or len(job.cells.bad) < len(job.cells.rows))
        flags = (
            (self.cancel_button, job is not None and job.active),
            (self.open, bool(fruit)),
            (self.folder, bool(fruit) and scheme_of(fruit).local),
            (self.result, job is not None and job.has_dialog),
            (self.verify, warmed and some and bool(job and job.place)),
            (self.undo, job is not None and self._can_undo(job)),
            (self.bad, job is not None and job.can_go_on),
            (self.again, job is not None and self._context.operations.can_repeat(job)),
            (self.forget, one is not None and not shown.active(one)),
        )
        for button, on in flags:
            if button.isHidden() is on:
                button.setVisible(on)
        if job is not None:
            self.cancel_button.setEnabled(job.state is not State.CANCELLING)
        busy = bool(self._jobs.active)
        if busy and not self._timer.isActive():
            self._timer.start()
        elif not busy:
            self._timer.stop()

    def _touched(self, *_: object) -> None:
        if self._chosen is not None and self.isVisible():
            self.detail.refresh()
        self._suit()

    def _logged(self, job: Job, lines: list[str]) -> None:
        if job is self._chosen:
            self.detail.add_log(lines)

    # What can be done.

    def _details(self, *_: object) -> None:
        self.showing.emit()

    def _cancel(self) -> None:
        if self.job is not None:
            self._context.operations.cancel(self.job)

    def _open(self) -> None:
        self.opening.emit(self._chosen)

    def _reveal(self) -> None:
        self.revealing.emit(self._chosen)

    def _verify(self) -> None:
        if self.job is not None:
            self.verifying.emit(self.job)

    def _rest(self) -> None:
        if self.job is not None:
            self.warming.emit(self.job)

    def _repeat(self) -> None:
        if self.job is not None:
            self._context.operations.repeat(self.job)

    def _can_undo(self, job: Job) -> bool:
        if not (job.traits.trashes and job.result.get("receipt")) or job.place is None:
            return False
        later = (x for x in self._jobs.jobs if x.id > job.id and x.place == job.place)
        return not any(x.traits.trashes or x.traits.untrashes for x in later)

    def _undo(self) -> None:
        job = self.job
        if job is not None and job.place is not None:
            self._context.operations.undo(job.place, str(job.result["receipt"]))

    def _save(self, text: str) -> None:
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
        beside = items[at + 1 : at + 2] or items[max(0, at - 1) : at]
        self._chosen = beside[0] if beside else None
        if isinstance(one, Job):
            self._jobs.forget(one)
            self._ask([one.kept_as] if one.kept_as else [])
        else:
            self._ask([one.id])

    def _clear(self) -> ConfirmDialog:
        number = len(self.rows.past) + sum(not job.active for job in self._jobs.jobs)
        text = self.tr("They go off this list and out of the history; caches stay as they are.")
        if self.filter.text():
            text = self.tr("Those that the search hides go as well; caches stay as they are.")
        return confirm(
            self,
            self.tr("Clear history"),
            self.tr("Forget {}?").format(
                say.count(number, "job that has ended", "jobs that have ended")
            ),
            text,
            self.tr("Forget"),
            self._clear_surely,
        )

    def _clear_surely(self) -> None:
        self._cleared = True
        self._jobs.clear_ended()
        self._ask(None)


def _of_another(job: Running) -> str:
    """A job that another process runs, in a line."""
    text = (
        QCoreApplication.translate("ActivityPage", "In another window, process {}: {} · {}")
        if job.window
        else QCoreApplication.translate("ActivityPage", "In the background, process {}: {} · {}")
    )
    return text.format(job.process, printable(job.title, 80), printable(job.words, 120))
