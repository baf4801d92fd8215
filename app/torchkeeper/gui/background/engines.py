"""The main thread's handle on the worker.

``Engines`` hands out tickets and brings what the engines say to whoever asked, always on the main
thread. Nothing here waits; what waits does so in the worker's thread.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QObject, QThread, QTimer, Signal

from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.asides import Work, aside
from torchkeeper.gui.background.garbage import Collector
from torchkeeper.gui.background.worker import Request, Worker
from torchkeeper.link.engines.ahead import Ahead
from torchkeeper.link.words.problems import UserError

if TYPE_CHECKING:
    from torchkeeper.gui.background.keygens import Keygens
    from torchkeeper.link.kept.history import Past
    from torchkeeper.link.kept.running import Board, Running
    from torchkeeper.link.profiles.profile import Profile

#: Seconds that a thread may run on when another has something to do; Python's own are 0.005.
SWITCH = 0.0005


class Listener(NamedTuple):
    """Who wants to hear about a request. Everything is called on the main thread."""

    rows: Callable[[list[Any]], None] | None = None
    progress: Callable[[float, float | None, str], None] | None = None
    findings: Callable[[list[dict[str, Any]]], None] | None = None
    result: Callable[[dict[str, Any]], None] | None = None
    failed: Callable[[UserError], None] | None = None
    cancelled: Callable[[], None] | None = None
    log: Callable[[list[str]], None] | None = None


class Engines(QObject):
    """The main thread's handle on the worker."""

    trouble = Signal(object)
    #: What was cut off in a place and is at its end now (folders.recovering).
    recovered = Signal(object)
    #: What was cut off there and waits for being brought to its end.
    cut_off = Signal(object)
    stopped = Signal()
    #: Jobs could not be kept in the history, and why.
    unkept = Signal(object)

    _start = Signal(object)
    _cancel = Signal(int)
    _release = Signal(int)
    _look_up = Signal(int, object)
    _reveal = Signal(int, str)
    _give = Signal(int, str, str, bool)
    _forget_password = Signal(str)
    _move_password = Signal(str, str)
    _protected = Signal(int)
    _protect = Signal(int, str, bool)
    _scratch = Signal(int, str)
    _sign = Signal(object)
    _answered = Signal(int, str)
    _discard = Signal(str)
    _shut_down = Signal()

    def __init__(self, ahead: Ahead | None = None, *, idle: bool = False) -> None:
        """ahead: an engine that was started already, to browse with.

        With ``idle``, no thread is started: nothing can be asked.
        """
        super().__init__()
        self._listeners: dict[int, Listener] = {}
        self._last = 0
        self._asked_to_stop = False
        self._thread = QThread(self)
        self._thread.setObjectName("torchkeeper-worker")
        self.worker = Worker(ahead)
        self.worker.moveToThread(self._thread)
        #: Made when something is signed.
        self._keygens: Keygens | None = None
        #: Made when the first job runs.
        self._board: Board | None = None
        self._start.connect(self.worker.start)
        self._cancel.connect(self.worker.cancel)
        self._release.connect(self.worker.release)
        self._look_up.connect(self.worker.look_up)
        self._reveal.connect(self.worker.reveal)
        self._give.connect(self.worker.give)
        self._forget_password.connect(self.worker.forget_password)
        self._move_password.connect(self.worker.move_password)
        self._protected.connect(self.worker.find_protected)
        self._protect.connect(self.worker.protect)
        self._scratch.connect(self.worker.scratch)
        self._discard.connect(self.worker.discard)
        self._shut_down.connect(self.worker.shut_down)
        self.worker.rows.connect(self._on_rows)
        self.worker.progress.connect(self._on_progress)
        self.worker.findings.connect(self._on_findings)
        self.worker.result.connect(self._on_result)
        self.worker.failed.connect(self._on_failed)
        self.worker.cancelled.connect(self._on_cancelled)
        self.worker.trouble.connect(self.trouble)
        self.worker.ended.connect(self._thread.quit)
        self._collector = Collector(self)
        self._thread.finished.connect(self._collector.end)
        self._thread.finished.connect(self.stopped)
        if not idle:
            # The main thread gets its turn soon while the worker looks through what has arrived:
            # every cell that is painted may have to wait so long for it.
            sys.setswitchinterval(SWITCH)
            self._collector.begin()
            self._thread.start()

    def ask(
        self,
        op: str,
        params: dict[str, Any],
        listener: Listener,
        *,
        python: str | None = None,
        shared: bool = False,
        aside: bool = False,
        keep: bool = False,
        engine_of: int | None = None,
        hold: Sequence[tuple[str, str]] = (),
        password: str | None = None,
        login_of: str | None = None,
        bare: bool = False,
        before: Sequence[tuple[str, dict[str, Any]]] = (),
    ) -> int:
        """Ask an engine (see Request); returns the ticket."""
        ticket = self._ticket(listener)
        self._start.emit(
            Request(ticket, op, params, python, shared, aside, keep, engine_of, tuple(hold),
                    password, login_of, bare, tuple(before))
        )  # fmt: skip
        return ticket

    def look(self, paths: Sequence[str], listener: Listener) -> int:
        """What each path is; the result is ``{"paths": [{path, what}]}``."""
        some = list(paths)
        return self._ask_aside(listener, lambda: lookups.paths(some))

    def look_at_offered(self, paths: Sequence[str], listener: Listener) -> int:
        """What each path is offered as; the result is ``{"paths": [{path, what}]}``."""
        some = list(paths)
        return self._ask_aside(listener, lambda: lookups.offered(some))

    def prepared(self, listener: Listener) -> int:
        """Whether programs find a precompiled header here: ``{"prepared"}``."""
        return self._ask_aside(listener, lookups.prepared)

    def room(self, path: str, listener: Listener) -> int:
        """How much room there is at a path; the result is as of ``lookups.room``."""
        return self._ask_aside(listener, lambda: lookups.room(path))

    def reveal(self, path: str, listener: Listener) -> int:
        """Have the file manager show a path; the result is ``{"what", "shown"}``."""
        ticket = self._ticket(listener)
        self._reveal.emit(ticket, path)
        return ticket

    def interpreters(self, listener: Listener, *, add: str = "", remove: str = "") -> int:
        """The interpreters on offer, after one was put on the list, or taken off it.

        The result is as of gui.background.finding.
        """
        return self._ask_aside(listener, lambda: lookups.interpreters(add, remove))

    def give(self, server: str, password: str, listener: Listener, *, keep: bool = False) -> int:
        """Use this password for a server from now on; ``keep`` it in the system's keyring too.

        The result is ``{"kept"}``: whether it will be known in later runs.
        """
        ticket = self._ticket(listener)
        self._give.emit(ticket, server, password, keep)
        return ticket

    def forget_password(self, server: str) -> None:
        """Forget the password of a server, in the system's keyring too."""
        self._forget_password.emit(server)

    def move_password(self, old: str, new: str) -> None:
        """A server has another name: what was the old one's password is the new one's."""
        self._move_password.emit(old, new)

    def keyring(self, listener: Listener) -> int:
        """Whether the system keeps passwords; the result is ``{"keyring"}``."""
        return self._ask_aside(listener, lookups.keyring)

    def protected(self, listener: Listener) -> int:
        """The places that are read-only; the result is ``{"protected": [name]}``."""
        ticket = self._ticket(listener)
        self._protected.emit(ticket)
        return ticket

    def protect(self, place: str, on: bool, listener: Listener) -> int:
        """Make a place read-only from now on, or no longer; the result is as of ``protected``."""
        ticket = self._ticket(listener)
        self._protect.emit(ticket, place, on)
        return ticket

    def runs(self, listener: Listener, forget: Sequence[str] = ()) -> int:
        """The runs that are kept, after those to ``forget``; the result is ``{"kept": Kept}``."""
        some = list(forget)
        return self._ask_aside(listener, lambda: lookups.runs(some))

    def keep_jobs(self, some: Sequence[Past]) -> None:
        """Keep jobs that have ended in the history, also where all ends now."""
        jobs = list(some)

        def keep() -> None:
            try:
                lookups.keep_jobs(jobs)
            except UserError as e:
                with contextlib.suppress(RuntimeError):  # the window is gone meanwhile
                    self.unkept.emit(e)

        aside(keep, sure=True)

    def tell_running(self, some: Sequence[Running]) -> None:
        """Tell other processes what runs, also that nothing does where all ends now."""
        if self._board is None:
            from torchkeeper.link.kept.running import Board

            self._board = Board()
        self._board.tell(some)
        write = self._board.write

        def tell() -> None:
            with contextlib.suppress(OSError):  # then nobody else sees them
                write()

        aside(tell, sure=not some)

    def past_jobs(self, listener: Listener, forget: Sequence[str] | None = ()) -> int:
        """The jobs of the history, after those to ``forget``, None for all; the result is as of
        ``lookups.past_jobs``.
        """
        some = None if forget is None else list(forget)
        return self._ask_aside(listener, lambda: lookups.past_jobs(some))

    def save_text(self, path: str, text: str, listener: Listener) -> int:
        """Write a text into a file, in place of what that held; the result is ``{"path"}``."""
        return self._ask_aside(listener, lambda: lookups.text_saved(path, text))

    def mark(self, place: str, listener: Listener) -> int:
        """What a place is like, so that a change is seen; the result is ``{"mark"}``."""
        return self._ask_aside(listener, lambda: lookups.mark(place))

    def verified(self, places: Sequence[str], listener: Listener) -> int:
        """The last verification of places; the result is as of ``lookups.last_verified``."""
        some = list(places)
        return self._ask_aside(listener, lambda: lookups.last_verified(some))

    def keep_verified(
        self, place: str, before: str | None, python: str, result: dict[str, Any],
        listener: Listener,
    ) -> int:  # fmt: skip
        """Keep the result of a verification; the result is ``{"verified"}``."""
        return self._ask_aside(
            listener, lambda: lookups.keep_verified(place, before, python, result)
        )

    def recipes(
        self, listener: Listener, *, add: Sequence[str] = (), remove: Sequence[str] = (),
        unless_in_folder: bool = False,
    ) -> int:  # fmt: skip
        """The recipes that are kept, after some were put on the list, and some taken off it; the
        result is ``{"recipes": [Listed]}`` (gui.recipes.known, as all that follows).
        """
        put, taken = list(add), list(remove)
        return self._ask_aside(listener, lambda: lookups.recipes(put, taken, unless_in_folder))

    def recipe_example(self, source: str, listener: Listener) -> int:
        """The text of an example of a source; the result is ``{"text"}``."""
        return self._ask_aside(listener, lambda: lookups.recipe_example(source))

    def look_at_recipe(self, text: str, path: str, listener: Listener) -> int:
        """What the text of a recipe comes to; the result is ``{"looked": Looked}``."""
        return self._ask_aside(listener, lambda: lookups.recipe_looked(text, path))

    def recipe_text(self, path: str, listener: Listener) -> int:
        """The text of a recipe's file; the result is ``{"text"}``."""
        return self._ask_aside(listener, lambda: lookups.recipe_text(path))

    def save_recipe(
        self, path: str, text: str, listener: Listener, before: str | None = None
    ) -> int:
        """Write a recipe, whole or not at all; the result is ``{"path"}``. before: what is to be
        there now; None: whatever it is.
        """
        return self._ask_aside(listener, lambda: lookups.recipe_saved(path, text, before))

    def save_beside_recipe(self, source: str, folder: str, text: str, listener: Listener) -> int:
        """Write the Python files that an example names beside it, where its text still does and
        there are none; the result is ``{"beside"}``: their paths.
        """
        return self._ask_aside(listener, lambda: lookups.recipe_beside(source, folder, text))

    def recipe_cells(self, names: Sequence[str], listener: Listener) -> int:
        """The cells that recipes make; the result is ``{"made": Made}``."""
        some = list(names)
        return self._ask_aside(listener, lambda: lookups.recipe_cells(some))

    def recipe_wire(
        self, names: Sequence[str], listener: Listener,
        warm: Sequence[tuple[str, str]] | None = None,
    ) -> int:  # fmt: skip
        """Recipes as a request has them; the result is ``{"recipes", "paths"}``, and where cells
        are left out that are ``warm`` also ``{"only", "before"}`` (``gui.recipes.known.wire``).
        """
        some = list(names)
        return self._ask_aside(listener, lambda: lookups.recipe_wire(some, warm))

    def keep_warmed(
        self, counts: Sequence[tuple[str, int, int]], place: str, listener: Listener
    ) -> int:
        """Note of recipes that they were warmed: of each its path, and how many cells are warm,
        and are not; the result is empty.
        """
        some = list(counts)
        return self._ask_aside(listener, lambda: lookups.keep_warmed(some, place))

    def profiles(self, listener: Listener) -> int:
        """The profiles that are kept; the result is ``{"profiles": [Kept]}`` (gui.profiles.known,
        as all that follows).
        """
        return self._ask_aside(listener, lookups.profiles)

    def profile_settings(self, name: str, listener: Listener) -> int:
        """What a profile sets, which a compile can be given; the result is ``{"settings"}``."""
        return self._ask_aside(listener, lambda: lookups.profile_settings(name))

    def save_profile(
        self, profile: Profile, before: Profile | None, surely: bool, listener: Listener
    ) -> int:
        """Keep a profile; before: as it is in its file, None for a new one; surely: whatever is
        there by now; the result is ``{"profile"}``.
        """
        return self._ask_aside(listener, lambda: lookups.profile_saved(profile, before, surely))

    def rename_profile(self, old: str, new: str, listener: Listener) -> int:
        """Call a profile otherwise; the result is ``{"name"}``."""
        return self._ask_aside(listener, lambda: lookups.profile_renamed(old, new))

    def remove_profile(self, name: str, listener: Listener) -> int:
        """Keep a profile no more; the result is ``{"name"}``."""
        return self._ask_aside(listener, lambda: lookups.profile_removed(name))

    def offered_profile(
        self, path: str, listener: Listener, form: str = "", container: str = ""
    ) -> int:
        """What a file makes as a profile; form: what it is read as, "" to guess; container: whose
        settings, of several in a manifest; the result is ``{"offered": Offered}``.
        """
        return self._ask_aside(listener, lambda: lookups.profile_offered(path, form, container))

    def written_profile(self, profile: Profile, form: str, secret: str, listener: Listener) -> int:
        """A profile in a format; secret: NAME/KEY of the cluster's Secret that has its password, ""
        where it goes along; the result is ``{"written": Written}``.
        """
        return self._ask_aside(listener, lambda: lookups.profile_written(profile, form, secret))

    def put_profile(self, path: str, text: str, secret: bool, listener: Listener) -> int:
        """Write an export into a file; the result is ``{"path"}``."""
        return self._ask_aside(listener, lambda: lookups.profile_put(path, text, secret))

    def scratch(self, use: str, listener: Listener) -> int:
        """A private folder that goes with the window, named by its use; the result is
        ``{"folder": path}``.
        """
        ticket = self._ticket(listener)
        self._scratch.emit(ticket, use)
        return ticket

    def keys(self, listener: Listener, file: str = "") -> int:
        """The keys to sign with; the result is as of ``lookups.keys``."""
        return self._ask_aside(listener, lambda: lookups.keys(file))

    def signing_command(self, key: str, target: str, folder: str, listener: Listener) -> int:
        """What signs a file with a key; the result is ``{"command"}``."""
        return self._ask_aside(listener, lambda: lookups.signing_command(key, target, folder))

    def sign(self, command: Sequence[str], listener: Listener) -> int:
        """Run ssh-keygen; findings are as of ``gui.background.keygens``, the result is empty."""
        if self._keygens is None:
            from torchkeeper.gui.background.keygens import Keygens

            self._keygens = made = Keygens()
            made.moveToThread(self._thread)
            self._sign.connect(made.begin)
            self._answered.connect(made.answer)
            self._cancel.connect(made.cancel)
            self._shut_down.connect(made.stop)
            made.findings.connect(self._on_findings)
            made.result.connect(self._on_result)
            made.failed.connect(self._on_failed)
            made.cancelled.connect(self._on_cancelled)
        ticket = self._ticket(listener)
        self._sign.emit(self._keygens.run_of(ticket, command))
        return ticket

    def answer(self, ticket: int, text: str) -> None:
        """Tell ssh-keygen what it asked for."""
        self._answered.emit(ticket, text)

    def signature_text(self, target: str, listener: Listener) -> int:
        """The signature that was made of a file; the result is ``{"text"}``."""
        return self._ask_aside(listener, lambda: lookups.signature_text(target))

    def public_key(self, path: str, listener: Listener) -> int:
        """The public key in a file; the result is ``{"public": PublicKey}``."""
        return self._ask_aside(listener, lambda: lookups.public_key(path))

    def signers(self, listener: Listener, change: Callable[[], object] | None = None) -> int:
        """Whose signatures are trusted, after a ``change`` by ``link.signers``; the result is as of
        ``lookups.signers``.
        """
        return self._ask_aside(listener, lambda: lookups.signers(change))

    def discard(self, folder: str) -> None:
        """Remove such a folder now."""
        self._discard.emit(folder)

    def cancel(self, ticket: int) -> None:
        """Ask for an early end; the listener hears ``cancelled`` when it has come."""
        self._cancel.emit(ticket)

    def forget(self, ticket: int | None) -> None:
        """Cancel and hear no more of it; also lets go of an engine that was kept."""
        if ticket is not None:
            self._listeners.pop(ticket, None)
            self._cancel.emit(ticket)
            self._release.emit(ticket)

    def leave(self, ticket: int, *, cancel: bool = True) -> None:
        """Hear no more of it; an engine that is kept for others stays. Without ``cancel``, it comes
        to its end: who is cancelled and does not answer soon is ended.
        """
        self._listeners.pop(ticket, None)
        if cancel:
            self._cancel.emit(ticket)

    def release(self, ticket: int) -> None:
        """Let go of the engine that was kept after a request."""
        self._release.emit(ticket)

    def stop(self) -> None:
        """Stop everything; ``stopped`` follows."""
        if not self._asked_to_stop:
            self._asked_to_stop = True
            self._listeners.clear()
            if self._thread.isRunning():
                self._shut_down.emit()
            else:
                self.stopped.emit()

    @property
    def running(self) -> bool:
        """Whether the worker's thread is alive, as far as was heard."""
        return self._collector.looks

    def join(self, seconds: float) -> bool:
        """Wait for the thread, after the event loop has ended. True when it is gone."""
        gone = self._thread.wait(int(seconds * 1000))
        if gone:
            self._collector.end()
        return gone

    def _ticket(self, listener: Listener) -> int:
        self._last += 1
        self._listeners[self._last] = listener
        return self._last

    def _ask_aside(self, listener: Listener, work: Work) -> int:
        ticket = self._ticket(listener)
        self._look_up.emit(ticket, work)
        return ticket

    def _on_rows(self, ticket: int, rows: list[Any]) -> None:
        listener = self._listeners.get(ticket)
        if listener and listener.rows:
            listener.rows(rows)
        # Not before they are shown: the worker would only take the interpreter from the painting.
        QTimer.singleShot(0, self.worker.heard.set)

    def _on_progress(self, ticket: int, done: float, total: float | None, unit: str) -> None:
        listener = self._listeners.get(ticket)
        if listener and listener.progress:
            listener.progress(done, total, unit)

    def _on_findings(self, ticket: int, findings: list[dict[str, Any]]) -> None:
        for one in findings:
            if isinstance(told := one.get("recovered"), dict):
                self.recovered.emit(told)
            elif isinstance(told := one.get("cut_off"), dict):
                self.cut_off.emit(told)
        listener = self._listeners.get(ticket)
        if listener and listener.findings:
            listener.findings(findings)

    def _on_result(self, ticket: int, result: dict[str, Any], log: list[str]) -> None:
        listener = self._listeners.pop(ticket, None)
        if listener and listener.log:
            listener.log(log)
        if listener and listener.result:
            listener.result(result)

    def _on_failed(self, ticket: int, error: UserError, log: list[str]) -> None:
        listener = self._listeners.pop(ticket, None)
        if listener and listener.log:
            listener.log(log)
        if listener and listener.failed:
            listener.failed(error)

    def _on_cancelled(self, ticket: int, log: list[str]) -> None:
        listener = self._listeners.pop(ticket, None)
        if listener and listener.log:
            listener.log(log)
        if listener and listener.cancelled:
            listener.cancelled()
