"""What the first picture of the sidebar does not show: made when the first rows are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Signal

from torchkeeper.gui.later import every, once
from torchkeeper.gui.sidebar.envlist import EnvironmentsPane
from torchkeeper.gui.sidebar.flows import SidebarFlows
from torchkeeper.gui.sidebar.gauge import Gauge
from torchkeeper.gui.sidebar.pagelist import Mark
from torchkeeper.gui.sidebar.section import Fold
from torchkeeper.gui.sidebar.taking import Taking
from torchkeeper.link.words import say

if TYPE_CHECKING:
    from torchkeeper.gui.context import Context
    from torchkeeper.gui.flows import Flows
    from torchkeeper.gui.pages.overview.page import OverviewPage
    from torchkeeper.gui.places.discovery import Discovery
    from torchkeeper.gui.sidebar.lists import SideList
    from torchkeeper.gui.sidebar.pane import Sidebar

#: Milliseconds between two looks at what pages have unsaved, and for which is said what was done.
_MARK_MS, _SAID_MS = 1_000, 8_000


class More(QObject):
    """The environments, what is known of places and pages, and what can be dropped where."""

    #: The menu of the environment at the keyboard is asked for, at a point of the list.
    menu_asked = Signal(QPoint)

    def __init__(
        self, context: Context, sidebar: Sidebar, discovery: Discovery, flows: Flows
    ) -> None:
        super().__init__(context.window)
        self._context, self._sidebar = context, sidebar
        here, made = context.environments, context.actions
        self.environments = EnvironmentsPane(here, context.settings)
        adder = self.environments.offer(self.tr("Add an interpreter"), [made["add-interpreter"]])
        sidebar.add(self.environments, adder, self.environments.list)
        self.environments.list.wanted.connect(here.choose)
        self.flows = SidebarFlows(context, sidebar, self.environments.list, flows)
        self._overview: OverviewPage | None = None
        self.gauge = Gauge(context, discovery, sidebar.isVisible, self._looking)
        self.taking = Taking(context, flows)
        self._take_drops()
        self._hear()
        self._heard: set[str] = set()
        self._marks = every(self, self._mark, _MARK_MS)
        self._marks.start()
        self._soon = once(self, self._mark, 100)
        jobs = context.jobs
        for change in (jobs.rowsInserted, jobs.dataChanged, jobs.finished, context.pages.changed):
            change.connect(self._mark_soon)
        context.pages.changed.connect(self._find_overview)
        self._find_overview()
        self._mark()

    def _take_drops(self) -> None:
        taking, sidebar = self.taking, self._sidebar
        sidebar.pages.offers = taking.on_page
        sidebar.places.list.offers = taking.on_place
        sidebar.places.fold.offers = taking.on_places
        self.environments.list.offers = taking.on_environments
        self.environments.fold.offers = taking.on_environments
        lists: tuple[SideList | Fold, ...] = (
            sidebar.pages, sidebar.places.list, sidebar.places.fold, self.environments.list,
            self.environments.fold,
        )  # fmt: skip
        for shown in lists:
            shown.said.connect(self.say)

    def _hear(self) -> None:
        places, environments = self._sidebar.places.list, self.environments.list
        flows = self.flows
        # A name is changed when somebody asks for that, and by no double click.
        places.setEditTriggers(places.EditTrigger.NoEditTriggers)
        places.removing.connect(flows.remove_place)
        places.renaming.connect(flows.rename_server)
        places.copying.connect(flows.copy_place)
        places.shifting.connect(flows.shift_place)
        environments.removing.connect(flows.remove_environment)
        environments.copying.connect(flows.copy_environment)
        environments.selectionModel().currentChanged.connect(self._context.update_soon)
        environments.items.modelReset.connect(self._context.update_soon)
        environments.customContextMenuRequested.connect(self._menu)

    def _menu(self, at: QPoint) -> None:
        shown = self.environments.list
        under = shown.indexAt(at)
        if under.isValid():
            shown.setCurrentIndex(under)
        # At once: what is switched on is about the one under the pointer.
        self._context.update_now()
        self.menu_asked.emit(at)

    def say(self, text: str) -> None:
        """Say what a drop would do, or what came of a key; nothing more, where that is empty."""
        self._context.say(text, _SAID_MS)

    # The overview knows how places stand.

    def _find_overview(self, *_: object) -> None:
        from torchkeeper.gui.pages.overview.page import OverviewPage

        if self._overview is not None:
            return
        for page in self._context.pages.made():
            if isinstance(page, OverviewPage):
                self._overview = page
                page.looking.changed.connect(self._overlooked)
                self._overlooked()

    def _overlooked(self) -> None:
        found = self._overview.looking.shown if self._overview is not None else None
        if found is not None:
            self.gauge.overlooked(found.places.values())

    def _looking(self) -> bool:
        return self._overview is not None and self._overview.looking.running

    # What is beside the names of pages.

    def _mark_soon(self, *_: object) -> None:
        if not self._soon.isActive():
            self._soon.start()

    def _mark(self) -> None:
        context = self._context
        if not self._sidebar.isVisible():
            return
        marks = {}
        for ident, page in context.pages.by_id():
            if ident not in self._heard:
                self._heard.add(ident)
                page.marked.connect(self._mark_soon)
            if page.unsaved:
                words = self.tr("something on it is not saved")
                marks[ident] = Mark(words, icon="unsaved", role="accent")
            elif page.warning:
                marks[ident] = Mark(page.warning, icon="warning", role="warning")
        if active := context.jobs.active:
            known = [part for job in active if (part := job.fraction()) is not None]
            words = say.count(len(active), "job", "jobs")
            marks["activity"] = Mark(
                self.tr("{} under way").format(words), number=f"{len(active):,}", role="accent",
                busy=True, done=sum(known) / len(active) if known else None,
            )  # fmt: skip
        self._sidebar.pages.items.mark(marks)
