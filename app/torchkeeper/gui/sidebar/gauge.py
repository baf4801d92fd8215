"""Finds out how the places stand: what they hold, how much room they have, what fills them.

What others have found is taken as it comes: the listing of the place that is shown, the overview,
the jobs. For the rest an engine of its own is asked, one place after the other, when nobody waits
for anything else; never for a server, of which nobody knows how large it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from torchkeeper.artifacts.entry import COUNTED_APART
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.later import every, once
from torchkeeper.gui.sidebar.standing import Standing
from torchkeeper.link.words.problems import UserError

if TYPE_CHECKING:
    from torchkeeper.engine.messages.places import DuResult
    from torchkeeper.gui.background.looked import Room
    from torchkeeper.gui.context import Context
    from torchkeeper.gui.places.discovery import Discovery
    from torchkeeper.gui.places.model import Place
    from torchkeeper.link.overviewing import PlaceTold

#: Milliseconds between two looks at file systems, and that one may take to answer.
MINUTE_MS, _SILENT_MS = 60_000, 3_000
#: Milliseconds between news being told, and of rest before a place is added up.
_SOON_MS, REST_MS = 200, 4_000


class Gauge(QObject):
    """Tells the list of places how they stand."""

    def __init__(
        self, context: Context, discovery: Discovery,
        seen: Callable[[], bool], busy: Callable[[], bool],
    ) -> None:  # fmt: skip
        """seen: whether somebody sees the list. busy: whether others look at places."""
        super().__init__(context.window)
        self._context, self._seen, self._busy = context, seen, busy
        #: Entries and bytes of places; what was found to be unknown is None.
        self._held: dict[str, tuple[int, int] | None] = {}
        self._room: dict[str, tuple[int, int]] = {}
        self._trouble: dict[str, str] = {}
        self._silent: set[str] = set()
        #: Disks that have not answered yet.
        self._waiting: set[str] = set()
        self._to_ask: deque[str] = deque()
        self._ticket: int | None = None
        self._engine: int | None = None
        self._soon = once(self, self._tell, _SOON_MS)
        self._rest = once(self, self._measure, REST_MS)
        self._late = once(self, self._next_room, _SILENT_MS)
        self._minute = every(self, self.look_at_room, MINUTE_MS)
        self._minute.start()
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

    def _tell_soon(self, *_: object) -> None:
        if not self._soon.isActive():
            self._soon.start()

    def _more(self, *_: object) -> None:
        QTimer.singleShot(0, self, self.look_at_room)
        self._rest.start()

    # What others have found.

    def _listed(self, *_: object) -> None:
        listing = self._context.listing
        place, result = listing.place, listing.result
        if place is None or listing.loading:
            return
        if listing.error is not None:
            self.fail(place, listing.error)
        elif result is not None:
            self.told(place, result["entries"], result["bytes"])

    def told(self, place: str, entries: int, size: int) -> None:
        """What a place holds."""
        self._held[place] = entries, size
        self._trouble.pop(place, None)
        self._tell_soon()

    def told_room(self, place: str, free: int, total: int) -> None:
        """How much room a place has."""
        self._room[place] = free, total
        self._silent.discard(place)
        self._tell_soon()

    def overlooked(self, places: Iterable[PlaceTold]) -> None:
        """What the overview has found."""
        for one in places:
            if one.failed and one.problem is not None:
                self.fail(one.place, one.problem)
            elif one.problem is None:
                self.told(one.place, one.entries, one.bytes)
            if one.free_bytes is not None and one.total_bytes is not None:
                self.told_room(one.place, one.free_bytes, one.total_bytes)

    def fail(self, place: str, error: UserError) -> None:
        """Why a place could not be read."""
        # What it held when it could be read is still of interest.
        self._held.setdefault(place, None)
        if error.code in ("place-missing", "password-needed"):
            self._trouble.pop(place, None)
        else:
            self._trouble[place] = error.what
        self._tell_soon()

    def _outdated(self, place: str) -> None:
        """A job has changed a place."""
        self._held.pop(place, None)
        self._rest.start()
        self.look_at_room()

    # The room there is.

    def look_at_room(self) -> None:
        """Ask how much room there is, one disk after the other."""
        if not self._seen():
            return
        known = [place.path for place in self._context.places.places if not place.server]
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

        def answered(found: Room) -> None:
            self._waiting.discard(path)
            if path in self._silent:
                self._silent.discard(path)
                self._tell_soon()
            if found.what:
                self._context.places.looked(path, found.what)
            if found.free is not None and found.total is not None:
                self.told_room(path, found.free, found.total)
            if not self._waiting - self._silent:
                self._next_room()

        self._context.engines.background(Listener(result=answered), lookups.room, path)
        self._late.start()

    # What is held.

    def _wanted(self) -> Place | None:
        """The next place to add up."""
        shown = self._context.place
        for place in self._context.places.places:
            known = place.path in self._held or place.path in self._silent
            if place.exists and not place.server and not known and place.path != shown:
                return place
        return None

    def _measure(self) -> None:
        """Add up the next place, unless somebody waits for something else."""
        place = self._wanted()
        if place is None or self._ticket is not None:
            if place is None and self._engine is not None:
                self._context.engines.release(self._engine)
                self._engine = None
            return
        context = self._context
        if not self._seen() or context.listing.loading or context.jobs.active or self._busy():
            self._rest.start()
            return
        path = place.path

        def over() -> None:
            self._ticket = None
            self._held.setdefault(path, None)
            QTimer.singleShot(0, self, self._measure)

        def found(result: DuResult) -> None:
            own = [one for one in result["kinds"] if one["kind"] not in COUNTED_APART]
            self.told(path, sum(one["entries"] for one in own), sum(one["bytes"] for one in own))
            over()

        def failed(error: UserError) -> None:
            if error.code.startswith(("place-", "not-a-bundle", "bundle-")):
                self.fail(path, error)
            else:
                self._engine = None  # the next is asked by another
            over()

        listener = Listener(result=found, failed=failed, cancelled=over)
        before = self._engine
        self._ticket = self._engine = context.engines.ask(
            "du", {"place": path}, listener, keep=True, engine_of=before
        )

    def _tell(self) -> None:
        """Tell the list all that is known."""
        places = self._context.places
        filling = {job.place: job for job in self._context.jobs.active if job.traits.fills}
        known = {}
        for place in places.places:
            path = place.path
            held, room, job = self._held.get(path), self._room.get(path), filling.get(path)
            part = None if job is None else job.fraction()
            standing = Standing(
                entries=held[0] if held else None,
                size=held[1] if held else None,
                free=room[0] if room else None,
                total=room[1] if room else None,
                trouble=self._trouble.get(path, ""),
                silent=path in self._silent,
                filling=None if job is None else -1.0 if part is None else part,
                job="" if job is None else job.title,
            )
            if standing != Standing():
                known[path] = standing
        places.told_standing(known)
