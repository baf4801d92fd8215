"""The drawer with the jobs of this session and of those before, and the chosen one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import shiboken6
from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QObject,
    QPoint,
    QRect,
    QSignalBlocker,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFont, QKeySequence, QMouseEvent, QPainter, QShortcut
from PySide6.QtWidgets import (
    QFrame,
    QListView,
    QMainWindow,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from torchkeeper.client.engines import far
from torchkeeper.client.kept.history import Past, Running
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.engine.protocol import FLEET, FOLLOW, JOBS, RUN, WARM
from torchkeeper.gui import taborder, theme
from torchkeeper.gui.activity import shown
from torchkeeper.gui.activity.detail import JobDetail
from torchkeeper.gui.activity.under import Keys, under
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Latest, Listener
from torchkeeper.gui.context import Context
from torchkeeper.gui.dialogs.base import ConfirmDialog, choose_target, confirm
from torchkeeper.gui.idle import every, once
from torchkeeper.gui.inspector.sources import SearchBox
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.pages.page import go_to_field
from torchkeeper.gui.sidebar import drawing
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.emptystate import EmptyState
from torchkeeper.gui.widgets.lists import Index
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.stores.names import scheme_of

#: Pixels between the edge of the list, the icon and the words.
_LEFT, _ICON, _WORDS = 12, 20, 42
_CUT = Qt.TextElideMode.ElideRight


class JobDelegate(QStyledItemDelegate):
    """A job in two lines: title and time, state and progress; or the heading of a day."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        height, heading = option.fontMetrics.height(), index.data(shown.JobRows.ItemRole) is None
        return QSize(200, height + 16 if heading else 2 * height + 26)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        one = index.data(shown.JobRows.ItemRole)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if one is not None:
            self._job(painter, option, one)
        else:
            font = QFont(option.font)
            font.setWeight(QFont.Weight.DemiBold)
            painter.setFont(font)
            line = option.rect.adjusted(_LEFT, 6, -_LEFT, 0)
            drawing.words(painter, line, str(index.data()), theme.shades().muted, _CUT)
        painter.restore()

    def _job(self, painter: QPainter, option: QStyleOptionViewItem, one: shown.Shown) -> None:
        shades = theme.shades()
        box: QRect = option.rect
        if chosen := bool(option.state & QStyle.StateFlag.State_Selected):
            painter.fillRect(box, QColor(shades.selected))
        if option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QColor(shades.accent))
            painter.drawRect(box.adjusted(0, 0, -1, -2))
        name, colour = shown.mark(one)
        scale = option.widget.devicePixelRatioF()
        picture = theme.pixmap(name, _ICON, getattr(shades, colour), scale)
        painter.drawPixmap(box.left() + _LEFT, box.top() + 9, picture)
        line = option.fontMetrics.height()
        inner = box.adjusted(_WORDS, 7, -_LEFT, -8)
        quiet = shades.text if chosen else shades.muted
        above = QRect(inner.left(), inner.top(), inner.width(), line)
        top = drawing.at_right(painter, above, shown.clock(one), quiet)
        drawing.words(painter, top, one.title, shades.text, _CUT)
        words = drawing.at_right(painter, above.translated(0, line + 2), shown.took(one), quiet)
        colour = shades.warning if one.state == State.FAILED else quiet
        drawing.words(painter, words, shown.words(one), colour, _CUT)
        if isinstance(one, Job) and one.active:
            done = 0.0 if one.state is State.QUEUED else one.fraction()
            bar = QRect(inner.left(), words.bottom() + 4, inner.width(), 4)
            drawing.progress(painter, bar, done)
        painter.setPen(QColor(shades.line))
        painter.drawLine(box.bottomLeft(), box.bottomRight())


#: Pixels of the list and of the chosen job, at first; and what the list takes at least.
_WIDE, _LIST = [300, 1000], 190
#: Pixels: of the edge by which the drawer is pulled; how high it is at first, and at least; and how
#: much of the window stays free above it, and of a page on which somebody works.
_GRIP, _HIGH, _LOWEST, _ABOVE, _SEEN = 7, 360, 220, 60, 300
#: Where it is kept how high it is.
HEIGHT = "activity/height"
#: Milliseconds between two pictures of what runs, and between two looks at what others run.
_TICK_MS, _AGAIN_MS = 200, 2000


class _Grip(QWidget):
    """The upper edge, by which the drawer is made higher or lower."""

    #: The pointer pulls it, and is here on the screen.
    pulled = Signal(QPoint)

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(_GRIP)
        self.setCursor(Qt.CursorShape.SizeVerCursor)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.pulled.emit(event.globalPosition().toPoint())


class Drawer(QFrame):
    """Lies over the lower part of the window while it is open, whatever page is shown. It has the
    jobs of this session, and reads the history whenever it is opened.
    """

    current_changed = Signal()
    #: It was opened or closed.
    turned = Signal()
    #: What came of the chosen job is to be opened, shown in the file manager, or measured; the rest
    #: of it is to be warmed; it is to be asked for once more, with what was said the last time.
    opening = Signal(object)
    revealing = Signal(object)
    verifying = Signal(Job)
    warming = Signal(Job)
    asking = Signal(Job)

    def __init__(
        self, context: Context, window: QMainWindow, may_ask: Callable[[Job], bool]
    ) -> None:
        """may_ask: whether a job can be asked for once more, with what was said the last time."""
        super().__init__(window)
        self.setObjectName("drawer")
        self.setAccessibleName(self.tr("Activity"))
        self.hide()
        self._may_ask = may_ask
        #: What it lies over, and what had the keyboard before.
        self._room = window.centralWidget() or self
        self._before: QWidget | None = None
        self._window = window
        self._context, self._jobs = context, context.jobs
        self._past = Latest(context.engines, self)
        #: The last look at what goes on on a machine.
        self._looks: dict[str, int] = {}
        self._chosen: shown.Shown | None = None
        #: Whether what was done is not listed because it was forgotten.
        self._cleared = False
        self.rows = shown.JobRows(context.jobs, self)
        self.filter = SearchBox(self.tr("Search the jobs"))
        self.filter.setMaximumWidth(_WIDE[0])
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
        clear = self.tr("Clear hi&story…"), self._clear
        hint = self.tr("Forget all jobs that have ended; caches stay")
        self.clear_button = forms.button(*clear, hint, danger=True)
        self.closer = forms.icon_button("close", self.tr("Close (Esc)"), self.shut)
        self._keys = Keys(window, self, self.shut)
        self._make_ways()
        self._lay_out()
        self._connect()
        self._arranged()

    def _make_ways(self) -> None:
        button = forms.button
        operations = self._context.operations
        self.cancel_button = button(self.tr("Cancel &job"), self._cancel)
        hint = self.tr("Show what it has told, and tells, as of a job of this window")
        self.follow = button(self.tr("Follo&w"), self._follow, hint)
        hint = self.tr("Show the place or bundle and select the entries of the job")
        self.open = button(self.tr("&Open result"), self._open, hint)
        self.folder = button(self.tr("Show in fol&der"), lambda: self.revealing.emit(self._chosen))
        hint = self.tr("Remove this job from the history; caches stay")
        self.forget = button(self.tr("Forge&t"), self._forget, hint, danger=True)
        hint = self.tr("Check in fresh processes that the warmed entries hit, and how fast")
        self.verify = button(self.tr("Ve&rify…"), self._of_job(self.verifying.emit), hint)
        hint = self.tr("Put back the entries that it moved to the trash")
        self.undo = button(self.tr("&Undo"), self._undo, hint)
        hint = self.tr("Compile only the variants that failed or were not reached")
        self.bad = button(self.tr("W&arm the rest"), self._of_job(self.warming.emit), hint)
        hint = self.tr("Run the job again with the same options")
        self.again = button(self.tr("Run agai&n"), self._of_job(operations.repeat), hint)
        hint = self.tr("Open the dialog again with the same options")
        change = self.tr("Change and r&un again…"), self._of_job(self.asking.emit)
        self.change = button(*change, hint)
        # Where it was, nothing stands once the job is cancelled.
        self.detail.head.addWidget(self.cancel_button, 0, forms.TOP)
        for way in (self.follow, self.open, self.folder, self.verify, self.undo, self.bad,
                    self.change, self.again, self.forget):  # fmt: skip
            self.detail.ways.addWidget(way)

    def _lay_out(self) -> None:
        side = forms.page(forms.column((self.list, 1), self.damaged))
        side.setMinimumWidth(_LIST)
        right = forms.page(forms.column(self.detail, self.none, margin=(16, 0, 0, 0)))
        self.split = forms.split(side, right, sizes=_WIDE, lined=True)
        self.split.setStretchFactor(1, 1)
        self.stack = forms.stack(self.blank, self.split)
        heading = forms.label(self.tr("Activity"), "heading")
        head = forms.row(heading, (self.filter, 2), (self.elsewhere, 3), forms.REST, gap=16)
        forms.add(head, self.clear_button, self.closer)
        body = forms.column(head, self.notice, (self.stack, 1), margin=(16, 0, 16, 12))
        self.grip = _Grip()
        self.setLayout(forms.column(self.grip, (body, 1), gap=0))

    def _connect(self) -> None:
        context = self._context
        self._timer = every(self, self._jobs.tick, _TICK_MS)
        self._again = once(self, self._look_again, _AGAIN_MS)
        self.rows.arranged.connect(self._arranged)
        self.list.selectionModel().currentChanged.connect(self._moved)
        self.list.activated.connect(lambda *_: self.detail.go_in())
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
        context.engines.reached.connect(self._look_again)
        self._jobs.finished.connect(self._look_again)
        forms.on_key(self.list, QKeySequence.StandardKey.Delete, self._forget)
        self.grip.pulled.connect(self._pulled)
        self._room.installEventFilter(self)
        within = Qt.ShortcutContext.WidgetWithChildrenShortcut
        QShortcut(QKeySequence(Qt.Key.Key_Escape), self, self._escape, context=within)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move) and self.isVisible():
            self._fit()
        return super().eventFilter(watched, event)

    def _fit(self) -> None:
        room, high = self._room.geometry(), forms.kept(self._context.settings, HEIGHT, _HIGH)
        high = max(_LOWEST, min(high, room.height() - _ABOVE))
        self.setGeometry(room.left(), room.bottom() + 1 - high, room.width(), high)

    def _pulled(self, to: QPoint) -> None:
        high = self.geometry().bottom() - self._window.mapFromGlobal(to).y()
        high = max(_LOWEST, min(high, self._room.height() - _ABOVE))
        self._context.settings.setValue(HEIGHT, high)
        self._fit()

    @property
    def holds_focus(self) -> bool:
        at = self.window().focusWidget()
        return at is not None and (at is self or self.isAncestorOf(at))

    def open_up(self) -> None:
        """Show it. The keyboard stays where it is, unless the drawer covers most of that."""
        if self.isHidden():
            self.refresh()
            self._fit()
            self.raise_()
            self.show()
            if (handle := self._window.windowHandle()) is not None:
                handle.installEventFilter(self._keys)
            self.turned.emit()
            if (at := self.window().focusWidget()) is not None and (
                under(at, self) or (self.leaves_little and self._context.pages.isAncestorOf(at))
            ):
                self.go_in()

    @property
    def leaves_little(self) -> bool:
        """Whether it covers so much of a page that nobody can work there."""
        return self.y() - self._context.pages.mapTo(self._window, QPoint(0, 0)).y() < _SEEN

    def go_in(self) -> None:
        """Be seen, and have the keyboard."""
        self.open_up()
        if not self.holds_focus:
            self._before = self.window().focusWidget()
        self._focus_first()

    def _focus_first(self) -> None:
        first = self.list if self.stack.currentIndex() else next(taborder.stops(self.blank), self)
        first.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def shut(self, *_: object) -> None:
        """Be gone; who was in it is back where they came from."""
        before, self._before = self._before, None
        if self.holds_focus and before is not None and shiboken6.isValid(before):
            before.setFocus(Qt.FocusReason.OtherFocusReason)
        self.hide()
        self.turned.emit()

    def _escape(self) -> None:
        # What was searched for is taken back first.
        at = self.window().focusWidget()
        if isinstance(at, SearchBox) and at.text():
            at.clear()
        else:
            self.shut()

    def refresh(self) -> None:
        self._ask([])

    def _ask(self, forget: list[str] | None) -> None:
        engines = self._context.engines
        listener = Listener(result=self._told, failed=partial(self.notice.tell, again=True))
        self._past.call(listener, lookups.past_jobs, forget)
        connected = self._context.places.connected
        for machine in [*self.rows.there]:
            if machine not in connected:
                self.rows.left(machine)
        for machine in connected:
            if engines.waits(self._looks.get(machine)):
                continue  # it is at something longer
            found: list[object] = []
            done = Listener(rows=found.extend, result=partial(self._told_there, machine, found))
            self._looks[machine] = engines.ask(JOBS, {}, done, python=machine, shared=True)

    def _told_there(self, machine: str, found: list[object], _: object) -> None:
        jobs = far.jobs(machine, found)
        self.rows.told_there(machine, jobs)
        if any(one.state == State.RUNNING for one in jobs):
            self._again.start()

    def _told(self, said: lookups.PastJobs) -> None:
        self.notice.tell(None)
        lines = say.count(said.kept.damaged, "line", "lines")
        text = self.tr("{} of the history cannot be read.").format(lines)
        forms.tell(self.damaged, text if said.kept.damaged else "")
        self.rows.told_past(said.kept.jobs)
        forms.tell(self.elsewhere, "\n".join(map(_of_another, said.elsewhere)))
        if said.elsewhere:
            self._again.start()

    def _look_again(self, *_: object) -> None:
        if self.isVisible():
            self.refresh()

    def search(self) -> None:
        """Go to its search field."""
        go_to_field(self.filter)

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
            self._seek(index)

    def _moved(self, index: Index, *_: object) -> None:
        if (one := self.rows.item(index)) is not None:
            self._show(one)
            self._seek(index)

    def _seek(self, index: Index) -> None:
        above = self.rows.index(index.row() - 1)
        if self.rows.item(above) is None:
            self.list.scrollTo(above)  # its heading
        self.list.scrollTo(index)

    def _show(self, one: shown.Shown | None) -> None:
        self._chosen = one
        every = bool(self._jobs.jobs or self.rows.past or any(self.rows.there.values()))
        held = self.holds_focus and self.stack.currentIndex() != int(every)
        self.stack.setCurrentIndex(int(every))
        if held:
            self._focus_first()
        self.filter.setVisible(every)
        text = self.tr("No job has “{}” in its name, place or result.")
        self.none.say(self.tr("No job matches"), text.format(printable(self.filter.text(), 80)))
        self.none.setVisible(every and not self.rows.items)
        self.detail.setVisible(one is not None)
        self.clear_button.setEnabled(self._ended_jobs > 0)
        cleared, unused = self.tr("The history is empty"), self.tr("There are no jobs yet")
        text = self.tr("This list shows each job with its progress, its log and its result. It "
                       "stays when you close the window.")  # fmt: skip
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
        there = one is not None and bool(self.rows.machine_of(one))
        running = one is not None and one.state == State.RUNNING
        goes_on = job is not None and job.goes_on
        self.follow.setText(self.tr("Follo&w") if running or goes_on else self.tr("Get &result"))
        fruit = (one and one.fruit) or ""
        warmed = job is not None and job.kind == WARM and job.state is State.DONE
        some = job is not None and (
            not job.variants or len(job.variants.bad) < len(job.variants.rows)
        )
        for button, on in (
            (self.cancel_button, job.active if job else there and running),
            (self.follow, there or goes_on),
            (self.open, bool(fruit) or (job is not None and job.kind in (RUN, FLEET))),
            (self.folder, bool(fruit) and scheme_of(fruit).local),
            (self.verify, warmed and some),
            (self.undo, job is not None and self._can_undo(job)),
            (self.bad, job is not None and job.can_go_on),
            (self.change, job is not None and job.is_over and self._may_ask(job)),
            (self.again, job is not None and self._context.operations.can_repeat(job)),
            (self.forget, one is not None and not there and not shown.active(one)),
        ):
            if button.isHidden() is on:
                button.setVisible(on)
        if job is not None:
            self.cancel_button.setEnabled(job.state is not State.CANCELLING)
            self.cancel_button.setToolTip(tip(self._what_cancel_leaves(job)))
        if not self._jobs.active:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def _what_cancel_leaves(self, job: Job) -> str:
        if job.traits.warms:
            return self.tr("Stop at once; compiled entries stay")
        if scheme_of(job.place or "").keeps_part:
            return self.tr("Stop at once; copied entries stay")
        return self.tr("Stop and take back the changes")

    def _touched(self, *_: object) -> None:
        if self._chosen is not None and self.isVisible():
            self.detail.refresh()
        self._suit()

    def _logged(self, job: Job, lines: list[str]) -> None:
        if job is self._chosen:
            (self.detail.log.add if lines else self.detail.log.show_lines)(lines)

    def _of_job(self, do: Callable[[Job], object]) -> Callable[[], None]:
        """What a button does that is about the chosen job of this session."""

        def pressed() -> None:
            if self.job is not None:
                do(self.job)

        return pressed

    def _follow(self) -> None:
        if self.job is not None:
            self._context.operations.resume(self.job)
        elif isinstance(one := self._chosen, Past) and (machine := self.rows.machine_of(one)):
            # What is kept of it gives way to how it ends.
            self._context.operations.follow(machine, one).kept_as = self.rows.kept_as(one.id)

    def _cancel(self) -> None:
        if self.job is not None:
            self._context.operations.cancel(self.job)
        elif (one := self._chosen) is not None and (machine := self.rows.machine_of(one)):

            def over(_: object = None) -> None:
                self.refresh()

            ended = Listener(result=over, failed=self.notice.tell, cancelled=over)
            params = {"job": one.id, "op": one.kind, "end": True}
            self._context.engines.ask(FOLLOW, params, ended, python=machine)

    def _can_undo(self, job: Job) -> bool:
        later = (x for x in self._jobs.jobs if x.id > job.id and x.place == job.place)
        gone = any(x.traits.undoable or x.traits.untrashes for x in later)
        return job.receipt is not None and not gone

    def _open(self) -> None:
        # What is opened is to be seen.
        self.shut()
        self.opening.emit(self._chosen)

    def _undo(self) -> None:
        if (job := self.job) is not None and job.place is not None:
            self._context.operations.undo(job.place, job)

    def _save(self) -> None:
        text = self.detail.log.text()

        def chosen(path: str) -> None:
            listener = Listener(failed=self.notice.tell)
            self._context.engines.background(listener, lookups.text_saved, path, text)

        kinds = self.tr("Texts (*.log *.txt)")
        choose_target(self, self.tr("Save log"), "torchkeeper.log", kinds, chosen, "log")

    def _forget(self) -> None:
        one = self._chosen
        if one is None or shown.active(one) or self.rows.machine_of(one):
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
        text = self.tr("This removes them from the history; caches stay as they are.")
        if self.filter.text():
            text = self.tr(
                "This also removes the jobs that the search hides; caches stay as they are."
            )

        def clear() -> None:
            self._cleared = True
            self._jobs.clear_ended()
            self._ask(None)

        return confirm(self, title, sure, text, self.tr("&Forget"), clear)


def _of_another(job: Running) -> str:
    """A job that another process runs, in a line."""
    text = QCoreApplication.translate("Drawer", "In the background, process {}: {} · {}")
    if job.window:
        text = QCoreApplication.translate("Drawer", "In another window, process {}: {} · {}")
    return text.format(job.process, printable(job.title, 80), printable(job.words, 120))
