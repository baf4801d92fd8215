"""The last verification of each place, as the window shows it beside the place."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QCoreApplication, QObject, Signal

from torchkeeper.client.words import say, verifying
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.idle import every, once
from torchkeeper.gui.jobs.model import Job
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.client.kept.verified import Verified

_tr = partial(QCoreApplication.translate, "Verifications")

#: Milliseconds until what was asked for in the meantime is looked up together.
_SOON_MS = 30
_MINUTE_MS = 60_000


class Beside(NamedTuple):
    """A verification, and whether the place is another since."""

    one: Verified
    changed: bool

    @property
    def good(self) -> bool:
        """Whether everything hit, and nothing was built again."""
        return bool(self.one.result["good"])

    @property
    def icon(self) -> str:
        """The name of its mark, which tells without a colour what it is."""
        return "queued" if self.changed else "done" if self.good else "error"

    @property
    def role(self) -> str:
        """The colour of its mark."""
        return "muted" if self.changed else "good" if self.good else "warning"

    @property
    def line(self) -> str:
        """What it came to, and when, in a line."""
        result, ago = self.one.result, say.ago(self.one.at)
        if self.good:
            said = _tr("everything hit, nothing was rebuilt")
            if (ratio := verifying.best(result)) is not None:
                said = _tr("{}× as fast as cold, nothing was rebuilt").format(f"{ratio:.1f}")
            text = _tr("Verified {}: {}")
        else:
            said = say.together(verifying.faults(verifying.told_by(result)[1]))
            text = _tr("Verification failed {}: {}")
        if self.changed:
            text = _tr("Changed since it was verified {}: {}")
        return text.format(ago, said)

    @property
    def more(self) -> str:
        """What else is worth a line in a tooltip."""
        result = self.one.result
        torch, threads = result["torch"], result["threads"]
        # A script does not tell them.
        made = _tr("torch {}").format(torch) if torch else ""
        used = say.count(threads, "thread", "threads") if threads else ""
        lines = [" · ".join(filter(None, (made, result["device"], used)))]
        if self.changed:
            lines.append(_tr("The place has changed since: verify it again"))
        return "\n".join(filter(None, lines))


class Verifications(QObject):
    """Knows the last verification of places, once it was asked to look."""

    changed = Signal()

    def __init__(self, engines: Engines, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engines = engines
        self.known: dict[str, Beside] = {}
        self._wanted: set[str] = set()
        self._soon = once(self, self._look, _SOON_MS)
        # What is said of a time is another a minute later.
        self._minute = every(self, self.changed.emit, _MINUTE_MS)

    def of(self, place: str) -> Beside | None:
        """The last verification of a place, as far as it was looked for."""
        return self.known.get(place)

    def look(self, places: Iterable[str]) -> None:
        """Look again what there is of places; a server has none."""
        self._wanted |= {place for place in places if place and scheme_of(place).verifiable}
        if self._wanted and not self._soon.isActive():
            self._soon.start()

    def _look(self) -> None:
        places, self._wanted = sorted(self._wanted), set()

        def found(told: dict[str, tuple[Verified, bool]]) -> None:
            every = {place: Beside(*one) for place, one in told.items()}
            before = {place: self.known.pop(place, None) for place in places}
            self.known |= every
            if self.known and not self._minute.isActive():
                self._minute.start()
            if any(before[place] != every.get(place) for place in places):
                self.changed.emit()

        self._engines.background(Listener(result=found), lookups.last_verified, list(places))

    def keep(self, job: Job) -> None:
        from torchkeeper.client.kept import verified

        place, python = str(job.place), job.asked.get("python", "")
        listener = Listener(result=lambda _: self.look([place]))
        before, result = job.asked.get("mark"), job.result
        self._engines.background(listener, verified.keep, place, before, python, result)
