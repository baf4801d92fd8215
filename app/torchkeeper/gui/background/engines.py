"""The main thread's handle on the worker, which brings answers to who asked. Nothing waits."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec

from PySide6.QtCore import QObject, QThread, QTimer, QTimerEvent, Signal, Slot

from torchkeeper.client.engines.process import Ahead
from torchkeeper.client.words.problems import UserError
from torchkeeper.gui.background.lookups import aside
from torchkeeper.gui.background.requests import Request
from torchkeeper.gui.background.worker import Worker

if TYPE_CHECKING:
    from torchkeeper.client.kept.history import Board, Past, Running
    from torchkeeper.client.signers import Keygen
    from torchkeeper.engine.messages.findings import Finding


# While there is a window, Python looks for garbage in the main thread alone. By itself it looks
# wherever something is made, the worker's thread included, and lets go there of widgets and
# receivers of signals. ``requests`` says what comes of that.

#: Milliseconds between looks at how much was made.
EVERY = 200
#: How much more is made than freed before the youngest is looked through: a slice of 1 ms or two.
YOUNG = 4000
#: How often a generation is looked through before the next older one is, too. Python's own figure.
_OLDER = 10

_looking: set[Collector] = set()


class Collector(QObject):
    """Looks for garbage from ``begin`` to ``end``, in its own thread."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        #: Its timer's number, 0 while it does not look.
        self.timer = 0

    def begin(self) -> None:
        """From now on Python does not look by itself."""
        _looking.add(self)
        gc.disable()
        self.timer = self.startTimer(EVERY)

    @Slot()
    def end(self) -> None:
        """From now on it does, unless another one looks."""
        if self.timer:
            self.killTimer(self.timer)
            self.timer = 0
            _looking.discard(self)
            if not _looking:
                gc.enable()

    def timerEvent(self, _event: QTimerEvent) -> None:
        young, middle, old = gc.get_count()
        if young > YOUNG:
            gc.collect(2 if old > _OLDER else 1 if middle > _OLDER else 0)


P = ParamSpec("P")

#: Seconds that a thread may run on when another has something to do; Python's own are 0.005.
SWITCH = 0.0005


class Listener(NamedTuple):
    """Who hears about a request, on the main thread. rows, result: as asked for."""

    rows: Callable[[list[Any]], None] | None = None
    progress: Callable[[float, float | None, str], None] | None = None
    findings: Callable[[list[Finding]], None] | None = None
    result: Callable[[Any], None] | None = None
    failed: Callable[[UserError], None] | None = None
    cancelled: Callable[[], None] | None = None
    log: Callable[[list[str]], None] | None = None


_NOBODY = Listener()


class Engines(QObject):
    trouble = Signal(object)
    #: What was cut off in a place and is at its end now (folders.guard).
    recovered = Signal(object)
    #: What was cut off there and waits for being brought to its end.
    cut_off = Signal(object)
    stopped = Signal()
    #: There is news of the way to a machine, and ssh asks for something (``ways.Ways``).
    reached = Signal(str, object)
    asks = Signal(object)
    #: Jobs could not be kept in the history, and why.
    unkept = Signal(object)

    _do = Signal(object)

    def __init__(self, ahead: Ahead | None = None, *, idle: bool = False) -> None:
        """ahead: an engine that was started already, to browse with. With ``idle``, no thread is
        started: nothing can be asked.
        """
        super().__init__()
        self._listeners: dict[int, Listener] = {}
        self._last = 0
        self._asked_to_stop = False
        self._thread = QThread(self)
        self._thread.setObjectName("torchkeeper-worker")
        self.worker = Worker(ahead)
        self.worker.moveToThread(self._thread)
        self._board: Board | None = None
        self._do.connect(self.worker.do)
        self.worker.rows.connect(self._on_rows)
        self.worker.progress.connect(self._on_progress)
        self.worker.findings.connect(self._on_findings)
        self.worker.result.connect(self._on_result)
        self.worker.failed.connect(self._on_failed)
        self.worker.cancelled.connect(self._on_cancelled)
        self.worker.trouble.connect(self.trouble)
        self.worker.ways.reached.connect(self.reached)
        self.worker.ways.asks.connect(self.asks)
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
        params: Mapping[str, object],
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
        before: Sequence[tuple[str, Mapping[str, object]]] = (),
        unasked: bool = False,
    ) -> int:
        """Ask an engine (see Request); returns the ticket."""
        ticket = self._ticket(listener)
        request = Request(ticket, op, params, python, shared, aside, keep, engine_of, tuple(hold),
                          password, login_of, bare, tuple(before), unasked)  # fmt: skip
        self._do.emit(partial(self.worker.start, request))
        return ticket

    def background(
        self, listener: Listener, function: Callable[P, object], /, *args: P.args, **more: P.kwargs
    ) -> int:
        """Call a function that may wait for disks, mostly of ``lookups``. What it returns is the
        result, a UserError is told as ``failed``. What it is given is not to be changed afterwards.
        """
        return self._post(listener, self.worker.asides.begin, partial(function, *args, **more))

    def give(self, server: str, password: str, listener: Listener, *, keep: bool = False) -> int:
        """Use this password from now on, and ``keep`` it; the result: whether it is kept."""
        return self._post(listener, self.worker.give, server, password, keep)

    def forget_password(self, server: str) -> None:
        """Forget the password of a server, in the system's keyring too."""
        self._do.emit(partial(self.worker.forget_password, server))

    def move_password(self, old: str, new: str) -> None:
        """A server has another name: what was the old one's password is the new one's."""
        self._do.emit(partial(self.worker.move_password, old, new))

    def protected(self, listener: Listener) -> int:
        """The result is the names of the places that are read-only."""
        return self._post(listener, self.worker.find_protected)

    def protect(self, place: str, on: bool, listener: Listener) -> int:
        """Make a place read-only from now on, or no longer; the result is as of ``protected``."""
        return self._post(listener, self.worker.protect, place, on)

    def keep_jobs(self, some: Sequence[Past]) -> None:
        """Keep jobs that have ended in the history, also where all ends now."""
        jobs = list(some)

        def keep() -> None:
            from torchkeeper.client.kept import history

            try:
                history.keep(jobs)
            except UserError as e:
                with contextlib.suppress(RuntimeError):  # the window is gone meanwhile
                    self.unkept.emit(e)

        aside(keep, sure=True)

    def tell_running(self, some: Sequence[Running]) -> None:
        """Tell other processes what runs, also that nothing does where all ends now."""
        if self._board is None:
            from torchkeeper.client.kept.history import Board

            self._board = Board()
        self._board.tell(some)
        write = self._board.write

        def tell() -> None:
            with contextlib.suppress(OSError):  # then nobody else sees them
                write()

        aside(tell, sure=not some)

    def scratch(self, use: str, listener: Listener) -> int:
        """A private folder that goes with the window, named by its use; the result is its path."""
        return self._post(listener, self.worker.answer, partial(self.worker.folders.make, use))

    def sign(self, keygen: Keygen, listener: Listener) -> int:
        """Have a file signed; the result is the text of the signature."""
        return self._post(listener, self.worker.asides.begin, keygen.sign, keygen.end)

    def discard(self, folder: str) -> None:
        """Remove such a folder now."""
        self._do.emit(partial(self.worker.folders.remove, folder))

    def cancel(self, ticket: int) -> None:
        """Ask for an early end; the listener hears ``cancelled`` when it has come."""
        self._do.emit(partial(self.worker.cancel, ticket))

    def waits(self, ticket: int | None) -> bool:
        """Whether somebody still waits for an answer to it."""
        return ticket in self._listeners

    def forget(self, ticket: int | None) -> None:
        """Cancel and hear no more of it; also lets go of an engine that was kept."""
        if ticket is not None:
            self.leave(ticket)
            self.release(ticket)

    def leave(self, ticket: int, *, cancel: bool = True) -> None:
        """Hear no more of it; without ``cancel``, it comes to its end. A kept engine stays."""
        self._listeners.pop(ticket, None)
        if cancel:
            self.cancel(ticket)

    def release(self, ticket: int) -> None:
        """Let go of the engine that was kept after a request."""
        self._do.emit(partial(self.worker.release, ticket))

    def stop(self) -> None:
        """Stop everything; ``stopped`` follows."""
        if not self._asked_to_stop:
            self._asked_to_stop = True
            self._listeners.clear()
            if self._thread.isRunning():
                self._do.emit(self.worker.shut_down)
            else:
                self.stopped.emit()

    @property
    def running(self) -> bool:
        """Whether the worker's thread is alive, as far as was heard."""
        return bool(self._collector.timer)

    def join(self, seconds: float) -> bool:
        """Wait for the thread, after the event loop has ended. True when it is gone."""
        if gone := self._thread.wait(int(seconds * 1000)):
            self._collector.end()
        return gone

    def _ticket(self, listener: Listener) -> int:
        self._last += 1
        self._listeners[self._last] = listener
        return self._last

    def _post(self, listener: Listener, work: Callable[..., object], *given: object) -> int:
        ticket = self._ticket(listener)
        self._do.emit(partial(work, ticket, *given))
        return ticket

    def _on_rows(self, ticket: int, rows: list[Any]) -> None:
        if hear := self._listeners.get(ticket, _NOBODY).rows:
            hear(rows)
        # Not before they are shown: the worker would only take the interpreter from the painting.
        QTimer.singleShot(0, self.worker.heard.set)

    def _on_progress(self, ticket: int, done: float, total: float | None, unit: str) -> None:
        if hear := self._listeners.get(ticket, _NOBODY).progress:
            hear(done, total, unit)

    def _on_findings(self, ticket: int, findings: list[Finding]) -> None:
        for one in findings:
            if "recovered" in one:
                self.recovered.emit(one["recovered"])
            elif "cut_off" in one:
                self.cut_off.emit(one["cut_off"])
        if hear := self._listeners.get(ticket, _NOBODY).findings:
            hear(findings)

    def _over(self, ticket: int, log: list[str]) -> Listener:
        listener = self._listeners.pop(ticket, _NOBODY)
        if listener.log:
            listener.log(log)
        return listener

    def _on_result(self, ticket: int, result: object, log: list[str]) -> None:
        if hear := self._over(ticket, log).result:
            hear(result)

    def _on_failed(self, ticket: int, error: UserError, log: list[str]) -> None:
        if hear := self._over(ticket, log).failed:
            hear(error)

    def _on_cancelled(self, ticket: int, log: list[str]) -> None:
        if hear := self._over(ticket, log).cancelled:
            hear()


class Latest(QObject):
    """Asks one thing at a time: what is asked next, or the end of its owner, ends what is asked."""

    def __init__(self, engines: Engines, owner: QObject) -> None:
        super().__init__(owner)
        self._engines = engines
        self._ticket: int | None = None
        owner.destroyed.connect(self.forget)

    @property
    def busy(self) -> bool:
        """Whether an answer is to come."""
        return self._engines.waits(self._ticket)

    def ask(self, op: str, params: Mapping[str, object], heard: Listener, **more: Any) -> None:
        """Ask an engine. more: what a request has besides."""
        self.forget()
        self._ticket = self._engines.ask(op, params, heard, **more)

    def call(
        self, heard: Listener, function: Callable[P, object], /, *args: P.args, **more: P.kwargs
    ) -> None:
        """Call a function that may wait for disks."""
        self.forget()
        self._ticket = self._engines.background(heard, function, *args, **more)

    def forget(self) -> None:
        """Nobody wants to know any more."""
        if self.busy:
            self._engines.forget(self._ticket)
