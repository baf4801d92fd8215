"""What becomes of paths that somebody drops, chooses or names on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.pages.table import ENTRIES
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.gui.background.looked import At
    from torchkeeper.gui.context import Context


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
            self._show(server)
        paths = [path for path in paths if scheme_of(path).local]
        if paths:
            self._looks += 1
            listener = Listener(result=self._looked, failed=self._failed)
            look = lookups.paths if places else lookups.offered
            self._context.engines.background(listener, look, paths)

    def ready(self) -> None:
        """The places are known: an import may ask into which."""
        self._ready = True
        bundles, self._waiting = self._waiting, []
        if bundles:
            self.bundles.emit(bundles)

    def _show(self, place: str) -> None:
        self._context.places.add(place)
        self._context.places_pane.choose(place)
        self._context.pages.go(ENTRIES)

    def _failed(self, error: UserError) -> None:
        self._looks -= 1
        self.looked.emit()
        self._context.tell(error)

    def _looked(self, found: list[At]) -> None:
        self._looks -= 1
        by_what: dict[str, list[str]] = {}
        for one in found:
            by_what.setdefault(one.what, []).append(one.path)
        for path in by_what.get("folder", ()):
            self._show(path)
        self.looked.emit()
        if missing := by_what.get("missing"):
            names = say.either([printable(path) for path in missing])
            what, remedy = self.tr("There is no {}."), self.tr("Look whether the path is right.")
            self._context.tell(UserError(what.format(names), "", remedy, code="missing"))
        if recipes := by_what.get("recipes"):
            self.recipes.emit(recipes)
        if exported := by_what.get("exported"):
            self.programs.emit(exported)
        bundles = by_what.get("file", [])
        if bundles and self._ready:
            self.bundles.emit(bundles)
        else:
            # The dialog offers the place that is shown, which is not known yet.
            self._waiting += bundles
