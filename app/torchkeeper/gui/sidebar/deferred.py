"""What the first picture of the sidebar does not show, and what can be done with what is on it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QDir, QObject, QPoint, QTimer, Signal
from PySide6.QtGui import QGuiApplication

from torchkeeper.artifacts.entry import holds
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.idle import every, once, soon
from torchkeeper.gui.pages import ENTRIES
from torchkeeper.gui.sidebar.envlist import EnvironmentList, EnvironmentsPane
from torchkeeper.gui.sidebar.pagelist import Mark
from torchkeeper.gui.sidebar.standing import Standing
from torchkeeper.gui.sidebar.taking import Taking
from torchkeeper.gui.sidebar.targetlist import TargetsPane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchkeeper.client.overviewing import PlaceTold
    from torchkeeper.engine.messages.places import DuResult
    from torchkeeper.gui.context import Context
    from torchkeeper.gui.flows import Flows
    from torchkeeper.gui.pages.overview.page import OverviewPage
    from torchkeeper.gui.places.discovery import Discovery
    from torchkeeper.gui.sidebar.pane import Sidebar


_SAID_MS = 8_000


class SidebarFlows(QObject):
    """The actions about the chosen place, and about the environment at the keyboard."""

    def __init__(
        self, context: Context, sidebar: Sidebar, environments: EnvironmentList, flows: Flows
    ) -> None:
        super().__init__(context.window)
        self._context, self._sidebar = context, sidebar
        self._list, self._flows = environments, flows

    def remove_place(self) -> None:
        """Take the chosen place off the list, and offer to put it back."""
        context = self._context
        if (place := context.places_pane.place) is None:
            return
        if not place.added:
            self._say_found(place.title)
            return
        row = context.places.row_of(place.path)
        context.places.remove(row)
        if place.server:
            context.engines.forget_password(place.path)

        def put_back() -> None:
            context.places.put_back(row, place)
            context.places_pane.choose(place.path)

        stay, gone = self.tr("{} is off the list; its files stay"), self.tr("{} is off the list")
        # By now another is shown, for which the offer stays.
        context.undo_bar.offer(
            context.place or "",
            (stay if place.exists else gone).format(place.title),
            put_back, self.tr("Put &back"), self.tr("Put {} back on the list").format(place.title),
        )  # fmt: skip

    def rename_server(self) -> None:
        """Call the chosen server otherwise, where it stands."""
        self._sidebar.show()
        self._context.places_pane.rename()

    def shift_place(self, by: int) -> None:
        """Have the chosen place stand higher, with -1, or lower, with 1."""
        if (place := self._context.places_pane.place) is not None:
            self._context.places.shift(place.path, by)
            self._context.update_soon()

    def copy_place(self) -> None:
        """Put the path or the address of the chosen place on the clipboard."""
        if (place := self._context.places_pane.place) is not None:
            self._copy(place.path)

    def open_bundle(self) -> None:
        """Ask for bundles, and put them on the list to be looked at."""
        from torchkeeper.gui.dialogs.base import choose_files

        context, shown = self._context, self._context.places_pane.place
        first = os.path.dirname(shown.path) if shown and shown.bundle else QDir.homePath()
        kinds = self.tr("Bundles and mega-caches (*.torchcache *.bin);;All files (*)")

        def chosen(files: Sequence[str]) -> None:
            for file in files:
                context.places.add(file, bundle=True)
            context.places_pane.choose(files[-1])
            context.pages.go(ENTRIES)

        first = os.path.join(first, "")
        choose_files(context.window, self.tr("Open a bundle"), first, kinds, chosen)

    def toggle_sidebar(self) -> None:
        self._sidebar.toggle()
        self._context.update_soon()

    def with_environment(self, what: str) -> None:
        """Do something with the current environment: "use" it, or have the doctor look ("doctor"),
        "ask" it anew what it is, "prepare" it, or "copy" its path.
        """
        context, one = self._context, self._list.current
        if one is None:
            return
        if what == "copy":
            self._copy(one.python)
        elif what == "prepare":
            self._flows.prepare(one.python)
        elif what == "ask":
            context.machines.shown.ask(one, again=True)
        else:
            context.machines.shown.choose(one.python)
        if what == "doctor":
            context.actions["doctor"].trigger()

    def remove_environment(self) -> None:
        """Take it off the list, if the user has added it, and offer to put it back."""
        context, one = self._context, self._list.current
        if one is None:
            return
        if not one.added:
            self._say_found(one.python)
            return
        environments, python = context.machines.shown, one.python
        environments.remove(python)
        context.undo_bar.offer(
            context.place or "", self.tr("{} is off the list of environments").format(python),
            lambda: environments.add(python), self.tr("Put &back"),
            self.tr("Put {} back on the list").format(python),
        )  # fmt: skip

    def _say_found(self, name: str) -> None:
        text = self.tr("{} was found on this machine: you can remove only what you added")
        self._context.say(text.format(name), _SAID_MS)

    def _copy(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self._context.say(self.tr("Copied: {}").format(text), _SAID_MS)


#: Milliseconds between two looks at file systems, and that one may take to answer.
MINUTE_MS, _SILENT_MS = 60_000, 3_000
#: Milliseconds between news being told, and of rest before a place is added up.
_SOON_MS, REST_MS = 200, 4_000


class Gauge(QObject):
    """Tells the list of places how they stand. What the listing, the overview and the jobs find is
    taken as it comes; for the rest an engine is asked, one place after the other, when nobody waits
    for anything; never for a server, of which nobody knows how large it is.
    """

    def __init__(
        self, context: Context, discovery: Discovery,
        seen: Callable[[], bool], busy: Callable[[], bool],
    ) -> None:  # fmt: skip
        """seen: whether somebody sees the list. busy: whether others look at places."""
        super().__init__(context.window)
        self._context, self._seen, self._busy = context, seen, busy
        #: Entries, their bytes, and those of what is no entry, of places; what was found to be
        #: unknown is None.
        self._held: dict[str, tuple[int, int, int] | None] = {}
        self._room: dict[str, tuple[int, int]] = {}
        self._trouble: dict[str, str] = {}
        self._silent: set[str] = set()
        #: Disks that have not answered yet.
        self._waiting: set[str] = set()
        self._to_ask: deque[str] = deque()
        self._ticket: int | None = None
        self._engine: int | None = None
        self._tell_soon = soon(self, self._tell, _SOON_MS)
        self._rest = once(self, self._measure, REST_MS)
        self._late = once(self, self._next_room, _SILENT_MS)
        every(self, self.look_at_room, MINUTE_MS).start()
        jobs, listing = context.jobs, context.listing
        for change in (jobs.rowsInserted, jobs.dataChanged, jobs.finished):
            change.connect(self._tell_soon)
        listing.changed.connect(self._listed)
        listing.over.connect(self._listed)
        context.operations.changed.connect(self._outdated)
        context.places.rowsInserted.connect(self._more)
        discovery.listed.connect(self._more)
        self._listed()
        self._more()

    def _more(self, *_: object) -> None:
        QTimer.singleShot(0, self, self.look_at_room)
        self._rest.start()

    def _listed(self, *_: object) -> None:
        listing = self._context.listing
        place, result = listing.place, listing.result
        if place is None or listing.loading:
            return
        if listing.error is not None:
            self.fail(place, listing.error)
        elif result is not None:
            self.told(place, result["entries"], result["bytes"], result.get("apart_bytes", 0))

    def told(self, place: str, entries: int, size: int, other: int = 0) -> None:
        self._held[place] = entries, size, other
        self._trouble.pop(place, None)
        self._tell_soon()

    def told_room(self, place: str, free: int, total: int) -> None:
        self._room[place] = free, total
        self._silent.discard(place)
        self._tell_soon()

    def overlooked(self, places: Iterable[PlaceTold]) -> None:
        """What the overview has found."""
        for one in places:
            if one.failed and one.problem is not None:
                self.fail(one.place, one.problem)
            elif one.problem is None:
                self.told(one.place, one.entries, one.bytes, one.apart_bytes)
            if one.free_bytes is not None and one.total_bytes is not None:
                self.told_room(one.place, one.free_bytes, one.total_bytes)

    def fail(self, place: str, error: UserError) -> None:
        # What it held when it could be read is still of interest.
        self._held.setdefault(place, None)
        if error.code in ("place-missing", "password-needed"):
            self._trouble.pop(place, None)
        else:
            self._trouble[place] = error.what
        self._tell_soon()

    def _outdated(self, place: str) -> None:
        self._held.pop(place, None)
        self._rest.start()
        self.look_at_room()

    def look_at_room(self) -> None:
        """Ask how much room there is, one disk after the other."""
        if not self._seen():
            return
        places = self._context.places.beside()
        known = [place.path for place in places if not place.server]
        self._to_ask.extend(path for path in known if path not in self._to_ask)
        if not self._late.isActive():
            self._next_room()

    def _next_room(self) -> None:
        self._late.stop()
        # Who does not answer is not asked again while he is at it.
        for path in self._waiting - self._silent:
            self._silent.add(path)
            self._tell_soon()
        while self._to_ask:
            path = self._to_ask.popleft()
            if path not in self._waiting:
                self._ask_room(path)
                return

    def _ask_room(self, path: str) -> None:
        self._waiting.add(path)

        def answered(found: lookups.Room) -> None:
            self._waiting.discard(path)
            if path in self._silent:
                self._silent.discard(path)
                self._tell_soon()
            if found.what:
                self._context.places.looked(path, found.what)
                self._tell_soon()
            if found.free is not None and found.total is not None:
                self.told_room(path, found.free, found.total)
            if not self._waiting - self._silent:
                self._next_room()

        self._context.engines.background(Listener(result=answered), lookups.room, path)
        self._late.start()

    def _measure(self) -> None:
        context = self._context
        passed = {*self._held, *self._silent, context.place}
        # Nobody's password is asked for to know how large something is.
        wanted = (one for one in context.places.beside() if one.exists and not one.server)
        place = next((one for one in wanted if one.path not in passed), None)
        if place is None or self._ticket is not None:
            if place is None and self._engine is not None:
                context.engines.release(self._engine)
                self._engine = None
            return
        if not self._seen() or context.listing.loading or context.jobs.active or self._busy():
            self._rest.start()
            return
        path = place.path

        def over() -> None:
            self._ticket = None
            self._held.setdefault(path, None)
            QTimer.singleShot(0, self, self._measure)

        def found(result: DuResult) -> None:
            sizes = {one["kind"]: (one["entries"], one["bytes"]) for one in result["kinds"]}
            held = holds(sizes)
            self.told(path, held["entries"], held["bytes"], held["apart_bytes"])
            over()

        def failed(error: UserError) -> None:
            if error.code.startswith(("place-", "not-a-bundle", "bundle-")):
                self.fail(path, error)
            else:
                self._engine = None  # the next is asked by another
            over()

        params, listener = {"place": path}, Listener(result=found, failed=failed, cancelled=over)
        self._ticket = self._engine = context.engines.ask(
            protocol.DU, params, listener, keep=True, engine_of=self._engine
        )

    def _tell(self) -> None:
        places = self._context.places
        filling = {job.place: job for job in self._context.jobs.active if job.traits.fills}
        known = {}
        for place in places.places:
            path = place.path
            held = (self._held.get(path) if place.exists else None) or (None, None, 0)
            entries, size, other = held
            free, total = self._room.get(path) or (None, None)
            trouble, silent = self._trouble.get(path, ""), path in self._silent
            standing = Standing(entries, size, free, total, trouble, silent, other=other)
            if (job := filling.get(path)) is not None:
                part = job.fraction()
                standing = standing._replace(filling=-1.0 if part is None else part, job=job.title)
            if standing != Standing():
                known[path] = standing
        places.told_standing(known)


#: Milliseconds between two looks at what pages have unsaved.
_MARK_MS = 1_000


class DeferredSidebar(QObject):
    """The environments, what is known of places and pages, and what can be dropped where."""

    #: The menu of the environment at the keyboard is asked for, at a point of the list.
    menu_asked = Signal(QPoint)
    #: The same of the target.
    targets_asked = Signal(QPoint)

    def __init__(
        self, context: Context, sidebar: Sidebar, discovery: Discovery, flows: Flows
    ) -> None:
        super().__init__(context.window)
        self._context, self._sidebar, self._flows = context, sidebar, flows
        here, made = context.machines, context.actions
        self.environments = EnvironmentsPane(here, context.settings)
        adder = self.environments.offer(self.tr("Add an interpreter"), [made["add-interpreter"]])
        sidebar.add(self.environments, adder, self.environments.list)
        self.environments.list.wanted.connect(here.choose)
        self.targets = TargetsPane(flows.fleet.targets, context.settings)
        adder = self.targets.offer(self.tr("Add a target"), [made["add-target"]])
        sidebar.add(self.targets, adder, self.targets.list)
        self.flows = SidebarFlows(context, sidebar, self.environments.list, flows)
        self._overview: OverviewPage | None = None
        self.gauge = Gauge(context, discovery, sidebar.isVisible, self._looking)
        self.taking = Taking(context, flows)
        self._hear()
        self._heard: set[str] = set()
        self._marks = every(self, self._mark, _MARK_MS)
        self._marks.start()
        self._mark_soon = soon(self, self._mark, 100)
        context.pages.changed.connect(self._mark_soon)
        context.pages.changed.connect(self._find_overview)
        self._find_overview()
        self._mark()

    def _hear(self) -> None:
        places, environments, flows = self._sidebar.places.list, self.environments.list, self.flows
        pages, fold, here = self._sidebar.pages, self._sidebar.places.fold, self.environments.fold
        pages.offers, places.offers = self.taking.on_page, self.taking.on_place
        fold.offers = self.taking.on_places
        environments.offers = here.offers = self.taking.on_environments
        for shown in (pages, places, fold, environments, here):
            shown.said.connect(self.say)
        # A name is changed when somebody asks for that, and by no double click.
        places.setEditTriggers(places.EditTrigger.NoEditTriggers)
        places.removing.connect(flows.remove_place)
        places.renaming.connect(flows.rename_server)
        places.copying.connect(flows.copy_place)
        places.shifting.connect(flows.shift_place)
        environments.removing.connect(flows.remove_environment)
        environments.copying.connect(partial(flows.with_environment, "copy"))
        environments.selectionModel().currentChanged.connect(self._context.update_soon)
        environments.items.modelReset.connect(self._context.update_soon)
        environments.customContextMenuRequested.connect(self._menu)
        targets = self.targets.list
        targets.said.connect(self.say)
        targets.removing.connect(self.remove_target)
        targets.copying.connect(self._copy_target)
        targets.selectionModel().currentChanged.connect(self._context.update_soon)
        targets.items.modelReset.connect(self._context.update_soon)
        targets.activated.connect(self.warm_fleet)
        targets.customContextMenuRequested.connect(self._targets_menu)

    def _targets_menu(self, at: QPoint) -> None:
        shown = self.targets.list
        if (under := shown.indexAt(at)).isValid():
            shown.setCurrentIndex(under)
        self._context.update_now()
        self.targets_asked.emit(at)

    def warm_fleet(self, *_: object) -> None:
        """Warm on several machines: at first on what the menu, or the list, was opened for."""
        one, over = self.targets.list.current, self._context.actions.over
        if one is not None and (over == "targets" or self.targets.list.hasFocus()):
            self._flows.fleet.warm(on=[one.name])
        elif over == "places":
            self._flows.fleet.warm_here()
        else:
            self._flows.fleet.warm()

    def add_target(self) -> None:
        """Ask for a target, and keep it."""
        from torchkeeper.gui.dialogs.fleet import TargetDialog

        TargetDialog(self._context.window, self._flows.fleet.targets).open()

    def remove_target(self) -> None:
        """Take the marked target off the list."""
        self._flows.fleet.remove_target(self.targets.list.current)

    def _copy_target(self) -> None:
        if (one := self.targets.list.current) is not None:
            QGuiApplication.clipboard().setText(one.name)
            self.say(self.tr("Copied: {}").format(one.name))

    def _menu(self, at: QPoint) -> None:
        shown = self.environments.list
        if (under := shown.indexAt(at)).isValid():
            shown.setCurrentIndex(under)
        # At once: what is switched on is about the one under the pointer.
        self._context.update_now()
        self.menu_asked.emit(at)

    def say(self, text: str) -> None:
        """Say what a drop would do, or what came of a key; nothing more, where that is empty."""
        self._context.say(text, _SAID_MS)

    def _find_overview(self, *_: object) -> None:
        from torchkeeper.gui.pages.overview.page import OverviewPage

        for page in self._context.pages.made() if self._overview is None else ():
            if isinstance(page, OverviewPage):
                self._overview = page
                page.looking.changed.connect(self._overlooked)
                self._overlooked()

    def _overlooked(self) -> None:
        if self._overview is not None and (found := self._overview.looking.shown) is not None:
            self.gauge.overlooked(found.places.values())

    def _looking(self) -> bool:
        return self._overview is not None and self._overview.looking.running

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
        self._sidebar.pages.items.mark(marks)
