"""Which places there are: found on this machine, added by the user, and what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.gui import CURRENT
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.places.model import Place
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages.places import PlacesRow
    from torchkeeper.gui.background.lookups import At
    from torchkeeper.gui.context import Context
    from torchkeeper.gui.places.opening import Opening
    from torchkeeper.stores.shapes import Owned


class Discovery(QObject):
    """Asks engines about places, and tells the list of them."""

    #: It is known which places there are.
    listed = Signal()

    def __init__(self, context: Context, opening: Opening) -> None:
        super().__init__(context.window)
        self._context, self._opening = context, opening
        opening.looked.connect(self.choose_first)
        #: Whether it is known which places there are.
        self.known = False
        self._helped = False

    def refresh(self, aside: bool = False) -> None:
        """Look for caches here, and at the user's own; aside: by the engine no listing holds up."""
        context = self._context
        found: list[Place] = []
        owners: dict[str, list[Owned] | None] = {}

        def rows(some: list[PlacesRow]) -> None:
            owners.update({one["path"]: one.get("owners") for one in some})
            found.extend(Place(x["path"], x["reason"], x["exists"]) for x in some)

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
            if place.added and not place.server:
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

    def _looked(self, found: list[At]) -> None:
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

    # What is read-only.

    def ask_protected(self) -> None:
        """Find out which places are read-only; what changes one is refused meanwhile, too."""
        context = self._context
        context.engines.protected(Listener(result=self._told_protected, failed=context.tell))

    def protect(self, path: str, on: bool) -> None:
        """Have nothing changed in a place from now on, or allow it again."""
        context = self._context
        before = context.places.read_only(path)

        def failed(error: UserError) -> None:
            context.places.set_read_only(path, before)
            context.actions["read-only"].setChecked(before)  # it has switched itself
            context.tell(error)

        context.places.set_read_only(path, on)
        context.engines.protect(path, on, Listener(result=self._told_protected, failed=failed))

    def _told_protected(self, found: list[str]) -> None:
        self._context.places.told_read_only(found)
