"""What the table shows: one place, read again whenever it may have changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtWidgets import QWidget

from torchkeeper.artifacts.entry import Entry
from torchkeeper.client.engines.questions import WANTS
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.idle import once
from torchkeeper.gui.places.model import host_of, machine_of
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.stores.names import Scheme, scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.engine.messages.places import ListParams, ListResult
    from torchkeeper.stores.shapes import Owned, Trash


#: Milliseconds without a word after which a place is said not to answer.
SILENCE_MS = 5000
#: Problems of a connection that may pass without anybody doing something.
_COMES_BACK = frozenset({"ssh-lost", "ssh-silent", "ssh-refused", "ssh-failed", "ssh-host-unknown"})


class Listing(QObject):
    """Fills the model with the entries of one place."""

    #: Loading began or ended, or another place is shown.
    changed = Signal()
    #: A listing ended with what it could not read.
    incomplete = Signal(object)
    #: The connection is back; it had broken with this error.
    healed = Signal(object)
    #: A reading is over; True where one that nobody asked for brought something new.
    over = Signal(bool)
    #: The place, a server, wants a password, or another one than it was given: why.
    locked = Signal(object)

    def __init__(self, engines: Engines, model: EntriesModel, parent: QObject) -> None:
        super().__init__(parent)
        self._engines, self._model = engines, model
        self._ticket: int | None = None
        self._again = self._all = self._quiet = False
        #: What changes with any file of a folder that is shown; empty where that is not known.
        self.mark = ""
        self._begun = 0.0
        self._unreadable: list[str] = []
        self._told: list[str] = []
        #: Seconds that the last reading took, and how many in a row failed by the engine's fault.
        self.took = 0.0
        self.failures = 0
        self.place: str | None = None
        self.error: UserError | None = None
        #: Why the connection is broken; the rows are those of ``read_at`` then.
        self.broken: UserError | None = None
        self._said: UserError | None = None
        self.read_at = 0.0
        #: What more is known of some entries of a server than its listing says.
        self.known: dict[tuple[str, str], Entry] = {}
        #: Whether a server is asked for the times of all entries, which takes it longer.
        self.times = False
        #: Whether the place is no longer there although it was.
        self.gone = False
        #: What the listing came to, None while that is not known.
        self.result: ListResult | None = None
        self.done: float = 0
        self.total: float | None = None
        self.unit = ""
        #: Whether nothing has been heard of the place for so long that it should be said.
        self.silent = False
        self._silence = once(self, self._on_silence, SILENCE_MS)

    @property
    def loading(self) -> bool:
        """Whether a listing that somebody waits for is under way."""
        return self._ticket is not None and (self._again or not self._quiet)

    @property
    def is_folder(self) -> bool:
        """Whether the place is a folder, which alone has a trash; a bundle has a format."""
        named = self.place is not None and self.scheme.is_files
        return named and self.error is None and "format" not in (self.result or {})

    @property
    def scheme(self) -> Scheme:
        """What the name of the place tells of it."""
        return scheme_of(self.place or "")

    @property
    def what(self) -> str:
        """What the place is, as PlacesModel.looked wants it; empty while that is not known."""
        if not self.scheme.is_files:
            return ""
        if self.error is not None:
            return "missing" if self.error.code == "place-missing" else ""
        return "" if self.result is None else "file" if "format" in self.result else "folder"

    @property
    def trash(self) -> Trash | None:
        """What lies in the place's trash; None where there is none, or that is not known."""
        return self.result["trash"] if self.result is not None else None

    @property
    def owners(self) -> list[Owned] | None:
        """Who else can change what lies there; None while that is not known."""
        return self.result.get("owners") if self.result is not None else None

    @property
    def can_poll(self) -> bool:
        """Whether the place may change by itself, and nothing reads it at the moment."""
        missing = self.error is not None and self.error.code == "place-missing"
        known = self.is_folder and self.result is not None
        # Every look takes a server some time, and others use it.
        if self.failures and self.scheme.elsewhere:
            back = self.broken is not None and self.broken.code in _COMES_BACK
            return back and self._ticket is None
        return not self.scheme.lazy and self._ticket is None and (missing or known)

    def show(self, place: str | None, *, times: bool = False) -> None:
        """Show another place, or none; ``times``: of a server, as after ``ask_times``."""
        self._engines.forget(self._ticket)
        self._ticket, self._again, self._all, self.silent = None, False, False, False
        self._silence.stop()
        self.place, self.error, self.result, self.gone = place, None, None, False
        self.unit, self.known = "", {}
        self.times = times and self.scheme.keeps_times
        self.mark, self._told, self.took, self.failures, self.broken = "", [], 0.0, 0, None
        self._model.clear()
        if place is None:
            self.changed.emit()
        else:
            self._read()

    def refresh(self, *, all_of_it: bool = False) -> None:
        """Read the place again, after a reading under way. all_of_it: however long that takes."""
        if self.place is None:
            return
        self._all = all_of_it
        if self._ticket is not None:
            self._again = True
            self.changed.emit()
        else:
            self._read()

    def poll(self) -> None:
        """See whether the place has changed, and say nothing where it has not."""
        if self.can_poll:
            self._read(quiet=True)

    def _read(self, quiet: bool = False) -> None:
        self._again, self._quiet = False, quiet
        if self.scheme.lazy:
            self.error = None  # its rows come while it is scanned, and are shown
        self._unreadable = []
        self._begun = time.monotonic()
        self.done, self.total, self.unit = 0, None, ""
        self._heard()
        self._model.begin()
        hears = self._rows, self._progress, self._findings, self._result, self._failed
        listener = Listener(*hears, cancelled=self._cancelled)
        assert self.place is not None
        params: ListParams = {"place": self.place, "unless": self.mark if quiet else ""}
        if self.times:
            params["times"] = True
        if self._all and not quiet:
            params["all"], self._all = True, False
        self._ticket = self._engines.ask(
            protocol.LIST, params, listener, shared=True, unasked=quiet
        )
        if not quiet:
            self.changed.emit()

    def _heard(self) -> None:
        self.silent = False
        self._silence.start()

    def _on_silence(self) -> None:
        if self.loading:
            self.silent = True
            self.changed.emit()

    def _rows(self, entries: list[Entry]) -> None:
        self._heard()
        self._model.add([self._known(entry) for entry in entries] if self.known else entries)

    def _known(self, entry: Entry) -> Entry:
        # A server lists what its keys tell; what is known of them besides stays on the screen.
        known = self.known.get(entry.identity)
        if known is None or known.size != entry.size:
            return entry
        return known._replace(expires=entry.expires, used=entry.used) if self.times else known

    def ask_times(self) -> None:
        """From now on a server says of every entry when it expires and was last used."""
        if self.scheme.keeps_times and not self.times:
            self.times = True
            self.refresh()

    def _progress(self, done: float, total: float | None, unit: str) -> None:
        self.done, self.total, self.unit = done, total, unit
        self._heard()
        if self.loading:
            self.changed.emit()

    def _findings(self, found: list[Finding]) -> None:
        for one in found:
            if "unreadable" in one:
                path, why = one["unreadable"]["path"], one["unreadable"]["why"]
                self._unreadable.append(f"{printable(path)}: {printable(why)}")

    def told_way(self, machine: str, state: object) -> None:
        """There is news of the way to a machine (``Ways.reached``)."""
        if self._ticket is not None or machine != machine_of(self.place or ""):
            return
        if state == "" and self.broken is not None:
            self._read(quiet=True)
        elif isinstance(state, UserError) and self.broken is None:
            self._lost(state, tell=True)
            self._finish(True, False)

    def _lost(self, error: UserError, tell: bool) -> None:
        """There is no way to the place; what was read stays."""
        self.failures += 1
        self.broken = error
        if not tell:
            return
        wants = error.code in WANTS and self._quiet
        if (wants or error.code in _COMES_BACK) and self.result is not None:
            at = time.strftime("%H:%M", time.localtime(self.read_at))
            then = self.tr("What is shown is as of {}. The connection is tried again by itself.")
            what, why = error.what, error.why
            if wants:
                what, why = self.tr("{} answers again, and ssh wants an answer of yours."), ""
                what = what.format(host_of(machine_of(self.place or "")))
                then = self.tr("What is shown is as of {}. “Connect now” asks for it.")
            error = UserError(what, why, then.format(at), code=error.code, params=error.params)
        self._said = error
        self.incomplete.emit(error)

    def _result(self, result: ListResult) -> None:
        self.failures = 0
        if self.broken is not None:
            self.healed.emit(self._said)
            self.broken = None
        if "same" in result and self.result is not None:
            self._model.same()
            known = self.result.copy()
            known["trash"], known["owners"] = result["trash"], result.get("owners")
            self._shown(known, result)
        else:
            # Very many entries take a moment to be put in their places.
            self._model.end(lambda: self._shown(result, result))

    def _shown(self, told: ListResult, result: ListResult) -> None:
        self.mark = result.get("mark", "")
        news = self.error is not None or told != self.result
        quiet, self.error, self.result, self.gone = self._quiet, None, told, False
        self.read_at = time.time()
        self._ended()
        if self._unreadable and not (quiet and self._unreadable == self._told):
            self._told = self._unreadable
            shown = self._unreadable[:5]
            if (more := len(self._unreadable) - len(shown)) > 0:
                shown.append(self.tr("and {} more").format(more))
            what = self.tr("Some of {} could not be read.").format(printable(str(self.place)))
            remedy = self.tr("Give yourself the right to read these folders, then refresh.")
            error = UserError(what, "\n".join(shown), remedy, code="partly-unreadable")
            self.incomplete.emit(error)
        self._finish(news or not quiet, news and quiet)

    def _failed(self, error: UserError) -> None:
        quiet, broke = self._quiet, error.code.startswith("ssh-")
        self._ended()
        if broke and (quiet or self.result is not None):
            self._model.abandon()
            self._lost(error, tell=not (quiet and self.broken) or error.code in WANTS)
            self._finish(True, False)
            return
        if quiet and not error.code.startswith("place-"):
            # The engine's trouble is not the place's: what is shown stays.
            self.failures += 1
            self._model.abandon()
            self.incomplete.emit(error)
            self._finish(False, False)
            return
        same = quiet and self.error is not None and self.error.code == error.code
        self.gone = error.code == "place-missing" and (self.gone or self.result is not None)
        self.error, self.result, self.mark = error, None, ""
        if broke:
            self._lost(error, tell=False)
        if same:
            self._model.abandon()
        else:
            # What was listed before is no longer known to be there.
            self._model.clear()
        self._finish(not same, False)
        if error.code in ("password-needed", "password-wrong") and self._ticket is None:
            self.locked.emit(error)

    def _cancelled(self) -> None:
        self._ended()
        self._model.abandon()
        self._finish(True, False)

    def _ended(self) -> None:
        self._ticket, self.silent = None, False
        self._silence.stop()
        self.took = time.monotonic() - self._begun

    def _finish(self, tell: bool, news: bool) -> None:
        again, self._again = self._again, False
        if tell:
            self.changed.emit()
        self.over.emit(news)
        if again and self._ticket is None and self.place is not None:
            self._read()


#: Seconds between two looks, while the place fills and otherwise.
FAST, SLOW = 2.0, 10.0
#: For this many seconds after a change the place counts as filling.
_FILLING = 30.0
#: Looking may take this part of the time at most.
_SHARE = 0.1
#: After failures the time between looks doubles, this often at most.
_DOUBLINGS = 5
#: The most seconds between two tries to connect again; the first comes after one second.
_SELDOM = 60


class Watch(QObject):
    """Looks again at what is shown while its window can be seen; less often where that is slow."""

    def __init__(self, window: QWidget, listing: Listing, filling: Callable[[], bool]) -> None:
        """filling: whether a job of ours writes into the place."""
        super().__init__(window)
        self._window, self._listing, self._filling = window, listing, filling
        self._ended = time.monotonic()
        self._news = float("-inf")
        self._spread = 1.0
        self._timer = once(self, self.look)
        listing.over.connect(self._over)
        window.installEventFilter(self)

    def _seen(self) -> bool:
        return self._window.isVisible() and not self._window.isMinimized()

    def _pause(self) -> float:
        if self._listing.broken is not None:
            return self._spread * min(1 << min(self._listing.failures - 1, 6), _SELDOM)
        fast = self._filling() or time.monotonic() - self._news < _FILLING
        pause = max(FAST if fast else SLOW, self._listing.took / _SHARE)
        return float(pause * 2 ** min(self._listing.failures, _DOUBLINGS))

    def update(self) -> None:
        """A job has begun or ended, or another place is shown: the time to look may be another."""
        left = self._ended + self._pause() - time.monotonic()
        if not self._seen() or not self._listing.can_poll:
            self._timer.stop()  # what ends this calls again
        elif not self._timer.isActive() or self._timer.remainingTime() > left * 1000:
            self._timer.start(max(0, int(left * 1000)))

    def look(self) -> None:
        """See whether the place has changed."""
        if self._seen():
            self._listing.poll()

    def _over(self, news: bool) -> None:
        self._ended = time.monotonic()
        self._spread = 0.8 + self._ended % 0.4  # windows of many users do not come at once
        if news:
            self._news = self._ended
        self._timer.stop()
        self.update()

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        kind, rested = event.type(), time.monotonic() - self._ended
        activated = kind == QEvent.Type.WindowActivate
        if activated and rested > max(min(FAST, 1.0), self._listing.took / _SHARE):
            self.look()
        if kind in (QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.WindowStateChange):
            self.update()
        return False
