"""Where places come from, found or opened, as are other files; and the bundles of late."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from torchkeeper.client import secrets
from torchkeeper.client.engines import far
from torchkeeper.client.engines.questions import WANTS
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.gui import CURRENT, theme
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.pages import ENTRIES
from torchkeeper.gui.places.model import Place, host_of, machine_of
from torchkeeper.gui.widgets.plain import caption, tip
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages.places import PlacesRow
    from torchkeeper.gui.context import Context
    from torchkeeper.stores.shapes import Owned


#: Caches of another machine that go on the list at once; and milliseconds for what is said of them.
_THERE, _SAID_MS = 64, 10_000


class Discovery(QObject):
    """Asks engines about places, and tells the list of them."""

    #: It is known which places there are.
    listed = Signal()

    def __init__(self, context: Context, opening: Opening) -> None:
        super().__init__(context.window)
        self._context, self._opening = context, opening
        opening.looked.connect(self.choose_first)
        self.known = False
        self._helped = False

    def refresh(self, aside: bool = False) -> None:
        """Look for caches here, and at the user's own; aside: by the engine no listing holds up."""
        context = self._context
        found: list[Place] = []
        owners: dict[str, list[Owned] | None] = {}

        def rows(some: list[PlacesRow]) -> None:
            owners.update({one["path"]: one.get("owners") for one in some})
            found.extend(
                Place(x["path"], x["reason"], x["exists"], ranks=tuple(x.get("ranks", ())))
                for x in some
            )

        def known(_: object = None) -> None:
            context.places.found(found)
            context.places.told_owners(owners)
            self.known = True
            self.choose_first()
            context.update_soon()
            context.places_pane.listed()
            self.listed.emit()

        def failed(error: UserError) -> None:
            context.tell(error)
            known()

        context.engines.ask(protocol.PLACES, {}, Listener(rows=rows, result=known, failed=failed),
                           shared=True, aside=aside)  # fmt: skip
        for place in context.places.places:
            if place.added and scheme_of(place.path).local:
                self._look(place.path)

    def help(self) -> None:
        """Where the place that is shown first does not answer, look for the others aside."""
        if self._context.listing.silent and not self.known and not self._helped:
            self._helped = True
            self.refresh(aside=True)

    def changed(self, path: str) -> None:
        """A job has changed a place."""
        if path == self._context.place:
            self._context.listing.refresh()
        if scheme_of(path).local:
            self._look(path)

    def _look(self, path: str) -> None:
        self._context.engines.background(Listener(result=self._looked), lookups.paths, [path])

    def _looked(self, found: list[lookups.At]) -> None:
        for one in found:
            self._context.places.looked(one.path, one.what)

    def choose_first(self) -> None:
        """Choose a place once all are known, unless one is chosen, or about to be opened."""
        context = self._context
        if not self.known or self._opening.under_way or context.places_pane.place is not None:
            return
        if not context.places.rowCount():
            context.show_place("")  # what was shown last time is on no list any more
            return
        before = str(context.settings.value(CURRENT) or "")
        there = [place.path for place in context.places.places if place.exists]
        every = [place.path for place in context.places.places]
        context.places_pane.choose(before if before in every else (there or every)[0])

    def ask_protected(self) -> None:
        """Find out which places are read-only; what changes one is refused meanwhile, too."""
        listener = Listener(result=self._context.places.told_read_only, failed=self._context.tell)
        self._context.engines.protected(listener)

    def protect(self, path: str, on: bool) -> None:
        """Have nothing changed in a place from now on, or allow it again."""
        context = self._context
        before = context.places.read_only(path)

        def failed(error: UserError) -> None:
            context.places.set_read_only(path, before)
            context.actions["read-only"].setChecked(before)  # it has switched itself
            context.tell(error)

        context.places.set_read_only(path, on)
        listener = Listener(result=context.places.told_read_only, failed=failed)
        context.engines.protect(path, on, listener)


class Opening(QObject):
    """Folders and servers become places; recipes, and folders of nothing else, are put on their
    list; for exported programs a recipe is begun; and other files are looked into for an import.
    """

    #: Bundles are to be looked into, recipes to be listed, and one begun for exported programs.
    bundles = Signal(object)
    recipes = Signal(object)
    programs = Signal(object)
    #: It is known what some paths are.
    looked = Signal()

    def __init__(self, context: Context) -> None:
        super().__init__(context.window)
        self._context = context
        #: Bundles to import once the place that is shown is known.
        self._waiting: list[str] = []
        self._ready = False
        #: How many times paths are being looked at.
        self._looks = 0

    @property
    def under_way(self) -> bool:
        """Whether it is still being found out what some paths are."""
        return self._looks > 0

    def open(self, paths: Sequence[str], *, places: bool = False) -> None:
        """Open each path as what it is; places: folders are places, whatever is in them."""
        for server in (path for path in paths if not scheme_of(path).local):
            try:
                place = secrets.named(server, alone=True)
            except UserError as e:
                self._context.tell(e)
            else:
                alone = place == machine_of(place)
                self._seek(place) if alone else self._show(place)
        if paths := [path for path in paths if scheme_of(path).local]:
            self._looks += 1
            listener = Listener(result=self._looked, failed=self._failed)
            look = lookups.paths if places else lookups.offered
            self._context.engines.background(listener, look, paths)

    def ready(self) -> None:
        """The places are known: an import may ask into which."""
        self._ready = True
        self._import([])

    def _import(self, files: list[str]) -> None:
        # The dialog offers the place that is shown, which is not known at first.
        self._waiting += files
        if self._ready and self._waiting:
            bundles, self._waiting = self._waiting, []
            self.bundles.emit(bundles)

    def _show(self, place: str) -> None:
        self._context.places.add(place)
        self._context.places_pane.choose(place)
        self._context.pages.go(ENTRIES)

    def _seek(self, machine: str) -> None:
        """Have the caches of another machine on the list, and show the first."""
        context, host, rows = self._context, host_of(machine), list["PlacesRow"]()

        def known(_: object) -> None:
            there = [x["path"] for x in far.placed(machine, rows) if x["exists"]]
            found = [x for x in there if machine_of(x, way=True) == machine][:_THERE]
            if not found:
                what = self.tr("{} has no cache where programs look for one.").format(host)
                remedy = self.tr("Name the folder of one: {}/~/folder is below the home there.")
                failed(UserError(what, "", remedy.format(machine), code="no-cache-there"))
                return
            for place in found:
                context.places.add(place)
            self._show(found[0])
            many = say.count(len(found), "cache", "caches")
            context.say(self.tr("On the list now: {} of {}.").format(many, host), _SAID_MS)

        def failed(error: UserError) -> None:
            # Of this machine, whatever place is shown.
            about = {**error.params, "place": machine}
            again = self.tr("Add it once more: ssh asks again.")
            remedy = again if error.code in WANTS else error.remedy
            context.tell(UserError(error.what, error.why, remedy, code=error.code, params=about))

        context.say(self.tr("Looking for the caches of {}…").format(host), _SAID_MS)
        listener = Listener(rows=rows.extend, result=known, failed=failed)
        context.engines.ask(protocol.PLACES, {}, listener, python=machine, shared=True)

    def _failed(self, error: UserError) -> None:
        self._looks -= 1
        self.looked.emit()
        self._context.tell(error)

    def _looked(self, found: list[lookups.At]) -> None:
        self._looks -= 1
        by_what: dict[str, list[str]] = {}
        for one in found:
            by_what.setdefault(one.what, []).append(one.path)
        for path in by_what.get("folder", ()):
            self._show(path)
        self.looked.emit()
        if missing := by_what.get("missing"):
            names = say.either([printable(path) for path in missing])
            what, remedy = self.tr("{} does not exist."), self.tr("Look whether the path is right.")
            self._context.tell(UserError(what.format(names), "", remedy, code="missing"))
        if recipes := by_what.get("recipes"):
            self.recipes.emit(recipes)
        if exported := by_what.get("exported"):
            self.programs.emit(exported)
        self._import(by_what.get("file", []))


#: Where they are kept, as JSON: a list of paths, the latest first.
SETTING = "recent/bundles"
MOST = 10
#: Characters of a name, and of the folder beside it, in the menu.
_NAME, _FOLDER = 48, 40


class Recent(QObject):
    """Remembers bundles, and offers them in a menu."""

    def __init__(self, context: Context) -> None:
        super().__init__(context.window)
        self._context = context
        self._menu: QMenu | None = None
        #: Those that were gone when somebody looked last.
        self._gone: set[str] = set()
        context.jobs.finished.connect(self._ended)
        context.listing.over.connect(lambda *_: self._listed())

    @property
    def paths(self) -> list[str]:
        """The bundles, the latest first."""
        try:
            kept = json.loads(str(self._context.settings.value(SETTING) or "[]"))
        except (ValueError, RecursionError):
            return []
        whole = [path for path in kept if isinstance(path, str)] if isinstance(kept, list) else []
        return [path for path in whole if os.path.isabs(path)][:MOST]

    def note(self, path: str) -> None:
        """A bundle was opened, imported or written just now."""
        before = self.paths
        if scheme_of(path).local and before[:1] != [path]:
            self._keep([path, *(other for other in before if other != path)])
        self._gone.discard(path)

    def clear(self) -> None:
        """Forget them. No file changes."""
        self._keep([])

    def _keep(self, paths: list[str]) -> None:
        self._context.settings.setValue(SETTING, json.dumps(paths[:MOST]))
        self._fill()

    def _ended(self, job: Job) -> None:
        if job.made_bundle and (path := job.fruit) is not None:
            self.note(path)

    def _listed(self) -> None:
        listing = self._context.listing
        if listing.place is not None and listing.what == "file" and listing.error is None:
            self.note(listing.place)

    def put_into(self, menu: QMenu, before: QAction) -> QMenu:
        """Have the bundles in a menu within another, in front of an action."""
        inner = QMenu(self.tr("O&pen recent"), menu)
        theme.follow(inner, lambda: inner.setIcon(theme.icon("box")))
        inner.setToolTipsVisible(True)
        # It is known by the time that somebody gets to them.
        menu.aboutToShow.connect(self.look)
        menu.insertMenu(before, inner)
        self._menu = inner
        self._fill()
        return inner

    def _fill(self) -> None:
        menu, paths = self._menu, self.paths
        if menu is None:
            return
        for action in menu.actions():
            menu.removeAction(action)
            action.deleteLater()
        for number, path in enumerate(paths, 1):
            action = menu.addAction(theme.icon("box"), self._text(number, path))
            action.setData(path)
            action.setStatusTip(self.tr("Look into the bundle {}").format(printable(path)))
            self._mark(action, path in self._gone)
            action.triggered.connect(lambda _=False, path=path: self._context.open_paths([path]))
        if not paths:
            text = self.tr("This menu lists bundles that you open, import or export")
            menu.addAction(theme.icon("info"), text).setEnabled(False)
        menu.addSeparator()
        clear = menu.addAction(theme.icon("close"), self.tr("&Clear this list"), self.clear)
        clear.setToolTip(self.tr("Forget these bundles; no file changes"))
        clear.setEnabled(bool(paths))

    def look(self) -> None:
        """See which of them are gone, each by itself: one may lie where nothing answers."""
        for path in self.paths:
            self._context.engines.background(Listener(result=self._looked), lookups.paths, [path])

    def _looked(self, found: list[lookups.At]) -> None:
        for one in found:
            gone = one.what != "file"
            self._gone = self._gone | {one.path} if gone else self._gone - {one.path}
            for action in self._menu.actions() if self._menu else ():
                if action.data() == one.path:
                    self._mark(action, gone)

    def _text(self, number: int, path: str) -> str:
        name, folder = os.path.basename(path), os.path.dirname(path)
        # What is too long for a menu ends with its last part.
        folder = folder if len(folder) <= _FOLDER else "…" + folder[1 - _FOLDER :]
        shown = caption(name, _NAME), caption(folder, 400)
        digit = f"&{number}" if number < MOST else "1&0"
        return f"{digit}  {' · '.join(filter(None, shown))}"

    def _mark(self, action: QAction, gone: bool) -> None:
        path = printable(str(action.data()), 4096)
        action.setEnabled(not gone)
        action.setToolTip(tip(self.tr("{} no longer exists").format(path) if gone else path))
