"""The page of fleets: the nodes, the matrix of cells as they go, and what is known of each."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QObject,
    QPoint,
    QSignalBlocker,
    Qt,
    Signal,
    SignalInstance,
)
from PySide6.QtWidgets import QAbstractItemView, QCheckBox, QWidget

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.idle import once
from torchkeeper.gui.jobs.model import Job, JobsModel, State
from torchkeeper.gui.matrix import cells as words
from torchkeeper.gui.matrix.cells import AT_WORK, BAD, PARTLY, PROVEN, WARM, Cells
from torchkeeper.gui.matrix.detail import DetailPane, Told
from torchkeeper.gui.matrix.grid import MatrixView
from torchkeeper.gui.pages.fleet import earlier, told
from torchkeeper.gui.pages.fleet.nodes import NodeList
from torchkeeper.gui.pages.glossary import explain
from torchkeeper.gui.pages.page import Page
from torchkeeper.gui.places.targets import Targets, together
from torchkeeper.gui.widgets import forms, lists
from torchkeeper.gui.widgets.emptystate import EmptyState
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.placing.targets import LOCAL

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.engine.messages.fleet import NodesParams
    from torchkeeper.fleet.last import Last

#: Milliseconds between two looks at what has changed.
_EVERY_MS = 100
#: Recipes and targets that are named.
_NAMED = 4
_NEW = "fleet-warm"


class FleetPage(Page):
    """Follows the newest fleet, or the one that was chosen: of this session, or the last run of a
    place before that.
    """

    #: A fleet is wanted; and of one of those: its end, what it left undone, its proof, its
    #: report, its place.
    warming = Signal()
    cancelled = Signal(object)
    again = Signal(object)
    proving = Signal(object)
    reporting = Signal(object)
    opening = Signal(object)

    def __init__(
        self, engines: Engines, jobs: JobsModel, targets: Targets, here: Callable[[], str | None]
    ) -> None:
        """here: the interpreter of this machine that a fleet uses; None where nobody has chosen."""
        super().__init__(QCoreApplication.translate("FleetPage", "Fleet"))
        explain(self, "fleet")
        self._jobs, self._targets, self._here = jobs, targets, here
        self._asking = Latest(engines, self)
        self._looking, self._reading = Latest(engines, self), Latest(engines, self)
        #: The last runs of places, as they are kept, and those that were read, by their folders.
        self._before: list[Last] = []
        self._read: dict[str, Job] = {}
        self._looked = False
        self.job: Job | None = None
        #: Whether the user has chosen a run; before, it is the newest. The same of a cell.
        self._kept = self._touched = False
        #: What asking the targets has told.
        self._asked = Cells()
        self._timer = once(self, self._refresh, _EVERY_MS)
        self._make()
        self._lay_out()
        self._connect()
        self._renew()

    def _make(self) -> None:
        hint = self.tr("Choose recipes, machines and the place they fill together")
        new = self.tr("&Warm on several machines…")
        self.new = forms.button(new, self.warming.emit, hint, primary=True)
        self.runs = forms.Choice(24)
        self.runs.setAccessibleName(self.tr("Fleets"))
        self.name = forms.label("", "heading", wrap=True)
        self.facts = forms.label("", wrap=True)
        self.where = forms.label("", "muted", wrap=True, selectable=True)
        self.bar = forms.progress_bar(self.tr("Progress of the fleet"))
        self.notice = Notice()
        hint = self.tr("Stop; what the nodes have done stays, and the same again goes on from it")
        self.cancel = forms.button(self.tr("Cancel"), self._tells(self.cancelled), hint)
        hint = self.tr("Try each warm cell on another node, with only the gathered cache")
        self.prove = forms.button(self.tr("Pro&ve"), self._tells(self.proving), hint)
        hint = self.tr("Do again what failed, was not found, or was not reached; the rest stays")
        self.redo = forms.button(self.tr("&Again for what failed"), self._tells(self.again), hint)
        hint = self.tr("Write a page of HTML to attach to a deployment")
        self.report = forms.button(self.tr("&Save report…"), self._tells(self.reporting), hint)
        hint = self.tr("Show the entries that were gathered")
        self.open = forms.button(self.tr("&Open place"), self._tells(self.opening), hint)
        self.bad = QCheckBox(self.tr("Only what is not war&m"))
        self.bad.setToolTip(self.tr("Show only the variants with a cell that failed"))
        self.nodes = NodeList()
        hint = self.tr("Connect to each target, and ask what it has; nothing is compiled")
        self.ask = forms.button(self.tr("As&k the targets"), self._ask, hint)
        self.about_nodes = forms.label("", "muted", wrap=True)
        self.about_nodes.setMinimumHeight(forms.field_height())  # also without the button
        self.matrix = MatrixView()
        self.copies = self.tr("Copy the result and the log of this cell")
        self.detail = DetailPane(self.tr("Log of the chosen cell"), self.copies)
        #: The node that is told of, instead of a cell; whether the user has parted the page.
        self._node, self._parted = "", False
        self.blank = EmptyState("fleet")

    def _tells(self, signal: SignalInstance) -> Callable[[], None]:
        """What a button does that is about the fleet that is shown."""

        def tell() -> None:
            if self.job is not None:
                signal.emit(self.job)

        return tell

    def _lay_out(self) -> None:
        forms.add(self.tools, self.runs, self.new)
        self._ways = forms.Wrapping()
        for button in (self.cancel, self.prove, self.redo, self.report, self.open):
            self._ways.addWidget(button)
        head = self.name, self.facts, self.where, self.bar, self.notice, self._ways
        self._head = forms.page(forms.column(*head, gap=6))
        over = forms.row(forms.label(self.tr("Nodes"), "heading"), (self.about_nodes, 1), self.ask)
        self._nodes = forms.page(forms.column(over, (self.nodes, 1), gap=6))
        inside = forms.Yielding(forms.column((self.detail, 1), margin=(12, 0, 0, 0)))
        self._detail = forms.Scrolled(inside)
        left = forms.page(forms.column(self.bad, (self.matrix, 1), gap=6))
        self._below = forms.split(left, self._detail, sizes=(680, 340))
        self._stack = forms.stack(self._below, self.blank)
        self._whole = forms.split(self._nodes, self._stack, sizes=(170, 460), upright=True)
        self._whole.setStretchFactor(1, 1)
        forms.add(self.body, self._head, (self._whole, 1))

    def _connect(self) -> None:
        self.blank.asked.connect(lambda _: self.warming.emit())
        self.matrix.chosen.connect(self._chosen)
        self.matrix.clicked.connect(self._touch)
        self.nodes.currentItemChanged.connect(lambda *_: self._choose_node(self.nodes.hasFocus()))
        self.nodes.clicked.connect(lambda _: self._choose_node(True))
        for view, offers in ((self.matrix, self._of_cell), (self.nodes, self._of_node)):
            view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            view.customContextMenuRequested.connect(partial(self._offer, view, offers))
        self._whole.splitterMoved.connect(self._part)
        self._whole.installEventFilter(self)
        self.bad.toggled.connect(self._only_bad)
        self.runs.activated.connect(self._choose_run)
        self._targets.changed.connect(self._soon)
        for change in (self._jobs.rowsInserted, self._jobs.rowsRemoved):
            change.connect(self._renew)
        self._jobs.dataChanged.connect(self._changed)
        self._jobs.finished.connect(self._finished)

    @property
    def fleets(self) -> list[Job]:
        """The fleets of this session, newest first."""
        return [job for job in self._jobs.jobs if job.kind == protocol.FLEET]

    @property
    def warning(self) -> str:
        job = self.job
        if job is None or job.active or not (bad := job.cells.undone):
            return ""
        return self.tr("{} of the last fleet to be done again").format(
            say.count(bad, "cell", "cells")
        )

    @property
    def first(self) -> QWidget | None:
        # Until it is known which runs are kept, neither a matrix nor a button is there.
        ways: tuple[QWidget | None, ...] = self.matrix, self.blank.button, self.new, self.nodes
        return next((one for one in ways if one is not None and one.isVisible()), None)

    def refresh(self) -> None:
        self._targets.refresh()
        self._look()
        self._soon()

    def entered(self) -> None:
        super().entered()
        self._refresh()

    def show_job(self, job: Job) -> None:
        """Show one fleet, and stay with it."""
        self._kept = True
        self._turn_to(job)

    # Which fleet is shown.

    def _look(self) -> None:
        """Look which runs are kept; nothing else is asked."""
        self._looking.call(Listener(result=self._found), earlier.every)

    def _found(self, before: list[Last]) -> None:
        self._before, self._looked = before, True
        self._renew()

    def _renew(self, *_: object) -> None:
        every = self.fleets
        here = {job.place for job in every}
        before = [one for one in self._before if one["into"] not in here]
        kept = self.job is not None and self.job.kept_as in [one["folder"] for one in before]
        if self._kept and self.job not in every and not kept:
            self._kept = False
        newest = every[0] if every else None
        if not self._kept and newest is not self.job and (newest or not kept):
            self._turn_to(newest)
        if self.job is None and before:
            self._turn_back(before[0]["folder"])
        offers: list[tuple[str, object]] = [
            (told.run(job.place or "", job.started or time.time(), "%H:%M"), job.id)
            for job in every
        ]
        offers += [
            (told.run(one["into"], one["began"], "%Y-%m-%d %H:%M"), one["folder"]) for one in before
        ]
        with QSignalBlocker(self.runs):
            self.runs.offer(offers, self._shown)
        self.runs.setVisible(len(offers) > 1)
        self._soon()

    @property
    def _shown(self) -> object:
        """By what the list of runs has the one that is shown."""
        return self.job and (self.job.kept_as if self._is_earlier(self.job) else self.job.id)

    def _is_earlier(self, job: Job) -> bool:
        return job in self._read.values()

    def _choose_run(self, row: int) -> None:
        which = self.runs.itemData(row)
        if isinstance(which, str):
            self._kept = True
            self._turn_back(which)
            return
        job = next((one for one in self.fleets if one.id == which), None)
        if job is not None:
            self._kept = job is not self.fleets[0]
            self._turn_to(job)

    def _turn_back(self, folder: str) -> None:
        """Show a run that is kept, once it was read."""

        def read(job: Job) -> None:
            self._read = {folder: job}
            self._turn_to(job)
            self._renew()

        self._reading.call(Listener(result=read, failed=self._answered), earlier.read, folder)

    def _turn_to(self, job: Job | None) -> None:
        self.job, self._touched, self._asked = job, False, Cells()
        self.matrix.cells.show_cells(job.cells if job else Cells())
        self._soon()

    def _changed(self, first: object, *_: object) -> None:
        if self.job is not None and first == self._jobs.index_of(self.job):
            self._soon()

    def _finished(self, job: Job) -> None:
        if job is self.job:
            self._soon()
            self.marked.emit()

    def _soon(self, *_: object) -> None:
        if not self._timer.isActive():
            self._timer.start(_EVERY_MS)

    # What is shown of it.

    def _refresh(self) -> None:
        self._timer.stop()
        more = self.matrix.cells.refresh()
        if not self.isVisible():
            return
        if not more and self.job is not None and not self._touched:
            self._follow(self.job)
        self._tell()
        if more:
            self._timer.start(0)

    def _follow(self, job: Job) -> None:
        """Go to what is of interest, until the user has chosen a cell."""
        cells, at = job.cells, ""
        if job.active:
            at = next((x for some in cells.at.values() for x in some), "")
        elif cells.undone or cells.counts[words.IMPOSSIBLE]:
            at = next((x for x in cells.order if cells.rows[x]["state"] in BAD), "")
        now = self.matrix.current
        stays = now and (not at or cells.rows[now]["state"] in (AT_WORK if job.active else BAD))
        if not stays and (at or cells.order):
            self.matrix.go_to(at or cells.order[0])

    def _touch(self, *_: object) -> None:
        self._touched, self._node = True, ""
        self._tell_cell()

    def _chosen(self, _: str) -> None:
        if self.matrix.hasFocus():
            self._touched, self._node = True, ""
        self._tell_cell()

    def _choose_node(self, chosen: bool) -> None:
        if chosen:
            self._node = self.nodes.current
            self._tell_cell()

    # What can be done with what is pointed at.

    def _offer(
        self, view: QAbstractItemView, of: Callable[[], list[lists.Offer]], at: QPoint
    ) -> None:
        if view.currentIndex().isValid():
            lists.choose(view.viewport(), of(), at)

    def _of_cell(self) -> list[lists.Offer]:
        self._touch()
        copy = self.copies, self.tr("Copy &result and log")
        line = self.tr("&Copy line"), self.tr("Copy the names and states of this line")
        return [
            ("copy", *line, self.matrix.copy_line),
            ("copy", copy[1], copy[0], self.detail.copy_all if self.matrix.current else None),
            *self._of_fleet(),
        ]

    def _of_node(self) -> list[lists.Offer]:
        self._choose_node(True)
        hint = self.tr("Copy what is known of this node")
        does = self.detail.copy_all if self._node else None
        asks = self.ask.click if self.ask.isEnabled() and not self.ask.isHidden() else None
        return [
            ("copy", self.tr("&Copy"), hint, does),
            ("refresh", self.ask.text(), self.ask.toolTip(), asks),
        ]

    def _of_fleet(self) -> list[lists.Offer]:
        """What the buttons of the fleet do that are shown."""
        icons = {self.redo: "refresh", self.prove: "verify", self.open: "folder"}
        return [
            (icon, button.text(), button.toolTip(), button.click)
            for button, icon in icons.items() if not button.isHidden()
        ]  # fmt: skip

    def _only_bad(self, on: bool) -> None:
        now = self.matrix.current
        self.matrix.cells.only_bad(on)
        self.matrix.go_to(now)
        self._tell_cell()

    def _tell(self) -> None:
        job = self.job
        self._head.setVisible(job is not None)
        self.new.setVisible(job is not None)  # where there is none, the middle of the page says it
        self._stack.setCurrentWidget(self._below if job is not None else self.blank)
        self._stack.setVisible(job is not None or (self._looked and not self._reading.busy))
        if job is None:
            self._tell_blank()
        else:
            self._tell_job(job)
        self._tell_nodes(job)
        self._tell_cell()

    def _tell_blank(self) -> None:
        hosts = [one for one in self._targets.every if one.kind == "host"]
        text = self.tr(
            "A fleet compiles your recipes on several machines at once, each variant once for each "
            "kind of machine, and gathers what comes of it in one bundle, folder or server. Each "
            "cell is then proven: another machine finds all of it there, and builds nothing."
        )
        if hosts:
            known = self.tr("You have {}: choose them and a recipe.")
            text += "\n\n" + known.format(together([one.name for one in hosts], _NAMED))
        else:
            text += "\n\n" + self.tr("You can begin with this machine, and add others by ssh://.")
        self.blank.say(self.tr("Warm one cache on many machines"), text)
        self.blank.offer(self.tr("Warm on several machines…"), _NEW)

    def _tell_job(self, job: Job) -> None:
        cells, said = job.cells, told.fleet(job, self._is_earlier(job))
        self.name.setText(said.name)
        forms.tell(self.facts, said.states)
        self.where.setText(said.where)
        self.bar.setVisible(job.active)
        if job.active:
            part = job.fraction()
            self.bar.setRange(0, 0 if part is None else 1000)
            self.bar.setValue(round((part or 0.0) * 1000))
        if job.error is not self.notice.error:
            self.notice.tell(job.error)
        counts = cells.counts
        unproven = counts[WARM] and not cells.undone
        goes_on = job.is_over and bool(job.asked.get("recipes"))
        for button, on_ in (
            (self.cancel, job.active),
            (self.prove, goes_on and bool(unproven)),
            (self.redo, goes_on and (bool(cells.undone) or job.state is State.FAILED)),
            (self.report, not job.active and bool(job.result)),
            (self.open, not job.active and bool(counts[PROVEN] + counts[WARM] + counts[PARTLY])),
            (self.bad, self.bad.isChecked() or any(cells.counts[x] for x in BAD)),
        ):
            if button.isHidden() is bool(on_):
                button.setVisible(bool(on_))
        cut = job.state is State.CANCELLED
        self.redo.setText(self.tr("&Go on") if cut else self.tr("&Again for what failed"))
        self.cancel.setEnabled(job.state is not State.CANCELLING)

    @property
    def _known(self) -> Cells:
        """What the fleet has told, with what targets have said since it ended."""
        job, asked = self.job, self._asked
        if job is None or (not job.cells.nodes and not job.active):
            return asked
        if job.active or not asked.nodes:
            return job.cells
        return replace(job.cells, nodes={**job.cells.nodes, **asked.nodes})

    def _tell_nodes(self, job: Job | None) -> None:
        known = self._known
        about = ""
        if known.nodes:
            self.nodes.show_nodes(known)
            ready = sum(one["state"] == "ready" for one in known.nodes.values())
            many = say.count(len(known.nodes), "node", "nodes")
            about = self.tr("{} of {} ready").format(f"{ready:,}", many)
        else:
            self.nodes.show_targets(self._targets.every)
        if self._asking.busy:
            about = self.tr("Asking…")
        self.about_nodes.setText(about)
        self._nodes.setVisible(bool(known.nodes or self._targets.every))
        self.ask.setVisible(job is None or not job.active)
        self.ask.setEnabled(not self._asking.busy)
        self._fit_nodes()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._fit_nodes()
        return super().eventFilter(watched, event)

    def _part(self, *_: object) -> None:
        self._parted = True

    def _fit_nodes(self) -> None:
        """Give whole rows to the nodes: a third of the page at most, unless the user parts it."""
        room, one = self._whole.height(), self.nodes.height_of(1) - self.nodes.height_of(0)
        around = self._nodes.sizeHint().height() - self.nodes.sizeHint().height()
        rows = max(self.nodes.topLevelItemCount(), 1)
        self.nodes.setMinimumHeight(self.nodes.height_of(min(rows, 2)))
        if self._parted or self._nodes.isHidden() or room <= 0:
            return
        most = max(2, (room * 9 // 20 - around - self.nodes.height_of(0)) // one)
        wanted = around + self.nodes.height_of(min(rows, most))
        if self._whole.sizes()[0] != wanted:
            self._whole.setSizes([wanted, max(room - wanted, 1)])

    def _tell_cell(self) -> None:
        job, ident = self.job, self.matrix.current
        known = self._known
        if self._node in known.nodes:
            one = told.node(known, self._node)
            self.detail.copy.setText(self.tr("Co&py"))
            one = one._replace(error=self._same(one.error))
            if one != self.detail.told:  # whoever reads stays where he is
                self.detail.tell(one)
            return
        cell = job.cells.rows.get(ident) if job is not None and ident else None
        if job is None or cell is None:
            self.detail.tell(None)
            return
        name = words.name_of(cell, self.matrix.cells.several)
        error = self._same(words.error_of(cell.get("problem")))
        facts = f"{words.told(cell)}\n{words.about(cell['state'])}."
        log = job.cells.log_of(ident)
        self.detail.copy.setText(self.tr("Co&py log"))
        self.detail.tell(Told(name, facts, "", error, log, words.name_of(cell)))

    def _same(self, error: UserError | None) -> UserError | None:
        """The same object as long as it is the same problem: only then it is not told anew."""
        shown = self.detail.notice.error
        return shown if error is not None and str(shown) == str(error) else error

    # What targets have.

    def _ask(self) -> None:
        """Ask every target that is kept, and this machine, what it has."""
        self._asked = Cells()
        on = [LOCAL, *(one.name for one in self._targets.every if one.kind != "group")]
        params: NodesParams = {"on": on, "asks": True}
        listener = Listener(
            findings=self._heard, result=partial(self._answered, None), failed=self._answered
        )
        self._asking.ask(protocol.NODES, params, listener, python=self._here())
        self.notice.tell(None)
        self._tell()

    def _heard(self, found: list[Finding]) -> None:
        for one in found:
            self._asked.hear(one)
        self._soon()

    def _answered(self, error: UserError | None, *_: object) -> None:
        if error is not None:
            self._head.show()
            self.notice.tell(error)
        self._soon()
