"""Which places there are: found on this machine, added by the user, and what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.start import CURRENT
from torchkeeper.link.words.problems import UserError
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.gui.window import Window


class Discovery(QObject):
    """Asks engines about places, and tells the list of them."""

    #: It is known which places there are.
    listed = Signal()

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._window = window
        #: Whether it is known which places there are.
        self.known = False
        self._helped = False

    def refresh(self, aside: bool = False) -> None:
        """Look for caches on this machine, and whether the user's own are still there.

        ``aside``: by the engine that no listing holds up.
        """
        window = self._window
        found: list[Place] = []
        owners: dict[str, Any] = {}

        def rows(some: list[Any]) -> None:
            told = [one for one in some if isinstance(one, dict) and "path" in one]
            owners.update({str(one["path"]): one.get("owners") for one in told})
            found.extend(
                Place(str(x["path"]), str(x.get("reason") or ""), bool(x.get("exists", True)))
                for x in told
            )

        def known(_: object = None) -> None:
            window.places.found(found)
            window.places.told_owners(owners)
            self.known = True
            self.choose_first()
            window.update_soon()
            window.places_pane.listed()
            self.listed.emit()

        def failed(error: UserError) -> None:
            window.tell(error)
            known()

        window.engines.ask("places", {}, Listener(rows=rows, result=known, failed=failed),
                           shared=True, aside=aside)  # fmt: skip
        for place in window.places.places:
            if place.added and not place.server:
                self._look(place.path)

    def help(self) -> None:
        """Where the place that is shown first does not answer, look for the others aside."""
        if self._window.listing.silent and not self.known and not self._helped:
            self._helped = True
            self.refresh(aside=True)

    def changed(self, path: str) -> None:
        """A job has changed a place."""
        if path == self._window.place:
            self._window.listing.refresh()
        if scheme_of(path).local:
            self._look(path)

    def _look(self, path: str) -> None:
        self._window.engines.background(Listener(result=self._looked), lookups.paths, [path])

    def _looked(self, found: dict[str, Any]) -> None:
        for one in found["paths"]:
            self._window.places.looked(one["path"], one["what"])

    def choose_first(self) -> None:
        """Choose a place once all are known, unless one is chosen, or about to be opened."""
        window = self._window
        if not self.known or window.opening.under_way or window.places_pane.place is not None:
            return
        if not window.places.rowCount():
            window.show_place("")  # what was shown last time is on no list any more
            return
        before = str(window.settings.value(CURRENT) or "")
        there = [place.path for place in window.places.places if place.exists]
        every = [place.path for place in window.places.places]
        window.places_pane.choose(before if before in every else (there or every)[0])

    # What is read-only.

    def ask_protected(self) -> None:
        """Find out which places are read-only; what changes one is refused meanwhile, too."""
        window = self._window
        window.engines.protected(Listener(result=self._told_protected, failed=window.tell))

    def protect(self, path: str, on: bool) -> None:
        """Have nothing changed in a place from now on, or allow it again."""
        window = self._window
        before = window.places.read_only(path)

        def failed(error: UserError) -> None:
            window.places.set_read_only(path, before)
            window.actions_["read-only"].setChecked(before)  # it has switched itself
            window.tell(error)

        window.places.set_read_only(path, on)
        window.engines.protect(path, on, Listener(result=self._told_protected, failed=failed))

    def _told_protected(self, found: dict[str, Any]) -> None:
        self._window.places.told_read_only(found["protected"])
