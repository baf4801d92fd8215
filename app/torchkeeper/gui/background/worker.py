"""What lives in the background thread: the supervisor of the engines, which alone starts, hears and
stops them (``gui.background.engines`` is its handle on the main thread).
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimerEvent, Signal, Slot

from torchkeeper.artifacts.entry import entry_from_json
from torchkeeper.client import secrets
from torchkeeper.client.engines.process import GRACE, Ahead, Engine, misspoken
from torchkeeper.client.engines.questions import Question
from torchkeeper.client.words.problems import UserError, answered, user_error
from torchkeeper.engine import protocol
from torchkeeper.gui.background.lookups import Asides, aside
from torchkeeper.gui.background.requests import (
    Arrivals,
    Asked,
    Line,
    Request,
    engine_of,
    machine_of,
    servers_of,
    ways_of,
)
from torchkeeper.gui.background.scratch import Scratch
from torchkeeper.gui.background.ways import Ways

if TYPE_CHECKING:
    from torchkeeper.client.engines.probes import Identity
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.engine.messages.fleet import QuestionFinding


#: Milliseconds between looks at engines that were asked to stop.
_TICK_MS = 50
#: How often an engine is told to end, by SIGTERM and then SIGKILL, before it is given up.
_STEPS = 4
#: Seconds between two progress messages of one request that are passed on.
_PROGRESS_EVERY = 0.05
#: Seconds that rows wait at most for those before them to be heard on the main thread.
_HEARD = 0.25
#: How far a job gives way (``nice``) to the window, and to whatever else this machine is for: it
#: has a third of what another would have, and is not starved where all is busy.
NICE = 5
#: Items of a selection that fit into one request (the wire's lines are bounded).
HOLD = 2000

#: Milliseconds that the end waits for folders to be removed.
_TO_REMOVE_MS = 20_000


class Worker(QObject):
    """Runs in a thread of its own, where nothing is connected (``requests.Arrivals`` says why)."""

    rows = Signal(int, object)
    progress = Signal(int, object, object, str)
    findings = Signal(int, object)
    result = Signal(int, object, object)
    failed = Signal(int, object, object)
    cancelled = Signal(int, object)
    trouble = Signal(object)
    ended = Signal()
    #: The password of a server is known, or that there is none.
    _unlocked = Signal(str, object)
    #: What an interpreter's facts are kept by, and those that are kept.
    _identified = Signal(object, object, object)
    #: An engine, who asks on its way, and the answer.
    _answered = Signal(object, int, object)

    def __init__(self, ahead: Ahead | None = None) -> None:
        """ahead: an engine that was started already, to browse with."""
        super().__init__()
        self._ahead = ahead
        self._lines: list[Line] = []
        self._stopping = False
        self.folders = Scratch(self)
        self.folders.idle.connect(self._nothing_left)
        #: The numbers of running timers, 0 for none.
        self._ticking = self._last_wait = 0
        # Passwords by server, None for one without; and who waits until they are known.
        self._passwords: dict[str, str | None] = {}
        self._asking: set[str] = set()
        self._locked: list[Request] = []
        self._unlocked.connect(self._unlock)
        self.ways = Ways(self)
        self.ways.reached.connect(self._arrive)
        #: Probes whose interpreters are being looked at.
        self._probing: set[int] = set()
        self._identified.connect(self._probe)
        self._answered.connect(self._answer)
        self.asides = Asides(self)
        self.asides.result.connect(self.result)
        self.asides.failed.connect(self.failed)
        self.asides.cancelled.connect(self.cancelled)
        #: Set by the main thread when it has heard the rows that were emitted last.
        self.heard = threading.Event()

    @Slot(object)
    def do(self, work: Callable[[], object]) -> None:
        """Do what the main thread asks for."""
        work()

    def start(self, request: Request) -> None:
        """Ask an engine, starting one where needed."""
        if self._stopping:
            self.cancelled.emit(request.ticket, [])
            return
        try:
            if not request.shared:
                # Only looking is shared. Loaded here: to look is all that most windows do at first.
                from torchkeeper.client import signers
                from torchkeeper.client.kept import protected

                # By name only: no disk may hold up this thread.
                protected.guard(request.op, request.params, follow=False)
                request = request._replace(params={**request.params, **signers.vouched(request.op)})
            ways = ways_of(request)
        except UserError as e:
            self.failed.emit(request.ticket, e, [])
            return
        # All are sought.
        if [one for one in ways if not self.ways.has(one, request.unasked)]:
            self._locked.append(request)
            return
        servers = [] if request.bare else servers_of(request)
        logins = self._logins(request, servers)
        if unknown := [one for one in logins.values() if one not in self._passwords]:
            self._locked.append(request)
            for server in unknown:
                self._ask_for_password(server)
            return
        if request.op == protocol.PROBE and request.python is not None:
            self._find_kept(request, request.python)
        else:
            passwords: dict[str, str | None] = dict.fromkeys(servers, request.password)
            passwords.update((one, self._passwords[login]) for one, login in logins.items())
            self._send(request, passwords)

    def _arrive(self, machine: str, way: UserError | str | int | None) -> None:
        """Go on with what waits for the way to a machine, or say that there is none."""
        if way is None or isinstance(way, int):  # it is sought
            return
        waiting = [one for one in self._locked if machine in ways_of(one)]
        self._locked = [one for one in self._locked if one not in waiting]
        for request in waiting:
            again = machine in self.ways.unasked and not request.unasked
            if isinstance(way, UserError) and not again:
                self.failed.emit(request.ticket, way, [])
            else:
                self.start(request)

    def _find_kept(self, request: Request, python: str) -> None:
        from torchkeeper.client.engines import probes

        self._probing.add(request.ticket)

        def find() -> None:
            known_by = facts = None
            with contextlib.suppress(UserError):  # the probe says what is wrong
                known_by = probes.identity(python)
                if request.params.get("again"):
                    probes.forget(known_by)
                facts = probes.kept(known_by)
            with contextlib.suppress(RuntimeError):
                self._identified.emit(request, known_by, facts)

        aside(find)

    def _probe(
        self, request: Request, known_by: Identity | None, facts: Mapping[str, object] | None
    ) -> None:
        if request.ticket not in self._probing:
            return  # it was cancelled meanwhile
        self._probing.discard(request.ticket)
        if facts is not None:
            self.result.emit(request.ticket, facts, [])
        elif self._stopping:
            self.cancelled.emit(request.ticket, [])
        else:
            self._send(request, {}, known_by)

    def _send(
        self, request: Request, passwords: dict[str, str | None], known: Identity | None = None
    ) -> None:
        line = None
        try:
            line = self._line_for(request)
            line.keep = request.keep
            self._hand_over(line, request, passwords, known)
        except UserError as e:
            self.failed.emit(request.ticket, e, [])
            if line is not None and not line.shared and not line.asked:
                self._close(line)

    def _hand_over(
        self, line: Line, request: Request, passwords: dict[str, str | None], known: Identity | None
    ) -> None:
        line.tickets.add(request.ticket)
        for server, password in passwords.items():
            if password is not None and line.told.get(server) != password:
                line.engine.send(protocol.SECRET, {"place": server, "password": password})
                line.told[server] = password
        for op, about in request.before:
            line.engine.send(op, about)
        for first in range(0, len(request.hold), HOLD):
            items = [list(item) for item in request.hold[first : first + HOLD]]
            line.engine.send(protocol.HOLD, {"items": items})
        params = dict(request.params)
        if request.hold:
            params["select"] = {"held": True}
        ahead, line.ahead = line.ahead, None
        ident = ahead.take(request.op, params) if ahead else None
        if ident is None:
            ident = line.engine.send(request.op, params)
        line.asked[ident] = Asked(request, known)

    def _logins(self, request: Request, servers: list[str]) -> dict[str, str]:
        """The servers that are not told a password of the request's own, and whose they are."""
        if request.password is not None:
            return {}
        return {server: request.login_of or server for server in servers}

    def _ask_for_password(self, server: str) -> None:
        if server in self._asking:
            return
        self._asking.add(server)

        def ask() -> None:
            password = secrets.own_password_of(server)
            with contextlib.suppress(RuntimeError):  # the window is gone meanwhile
                self._unlocked.emit(server, password)

        # A keyring may ask its user first, and no engine shall wait for the answer.
        aside(ask)

    def _unlock(self, server: str, password: str | None) -> None:
        self._asking.discard(server)
        self._passwords.setdefault(server, password)
        locked, self._locked = self._locked, []
        for request in locked:
            self.start(request)

    def give(self, ticket: int, server: str, password: str, keep: bool) -> None:
        """Use a password from now on, and ``keep`` it in the keyring; the result: whether it is."""
        self._passwords[server] = password
        secrets.give(server, password)
        if not keep:
            self.result.emit(ticket, False, [])
            return

        def store() -> None:
            kept = secrets.keep(server, password)
            with contextlib.suppress(RuntimeError):
                self.result.emit(ticket, kept, [])

        aside(store)

    def forget_password(self, server: str) -> None:
        """Forget the password of a server, in the keyring too."""
        self._passwords.pop(server, None)
        for line in self._lines:
            if line.told.pop(server, None) is not None and not line.closing:
                line.engine.send(protocol.SECRET, {"place": server, "password": None})
        aside(lambda: secrets.forget(server))

    def move_password(self, old: str, new: str) -> None:
        """The password of a server is that of another name of it from now on."""
        self._passwords.pop(new, None)

        def move() -> None:
            password = secrets.moved(old, new)
            with contextlib.suppress(RuntimeError):
                self._unlocked.emit(new, password)

        self._asking.add(new)
        aside(move)

    def find_protected(self, ticket: int) -> None:
        """Say which places are read-only."""
        from torchkeeper.client.kept import protected

        self.answer(ticket, protected.protected)

    def protect(self, ticket: int, place: str, on: bool) -> None:
        """Make a place read-only, or no longer; the result is as of ``find_protected``."""
        from torchkeeper.client.kept import protected

        self.answer(ticket, partial(protected.protect, place, on))

    def answer(self, ticket: int, work: Callable[[], object]) -> None:
        """Do the work; what it returns is the result, a UserError is told as ``failed``."""
        try:
            self.result.emit(ticket, work(), [])
        except UserError as e:
            self.failed.emit(ticket, e, [])

    def _line_for(self, request: Request) -> Line:
        machine = machine_of(request)
        for line in self._lines:
            if line.closing:
                continue
            same = line.machine == machine and request.aside == line.aside
            if request.shared and line.shared and same:
                if not any(asked.cancelled for asked in line.asked.values()):
                    return line
                # It may hang in what it was to leave; it ends when it has answered.
                line.shared = False
            if request.engine_of is not None and request.engine_of in line.tickets:
                return line
        if request.engine_of is not None:
            what, why = "The engine that made the plan has stopped.", "Nothing was changed."
            raise UserError(what, why, "Ask for a new plan.", code="engine-gone")
        if request.shared and self._ahead is not None and not machine:
            return self._take_over(self._ahead)
        engine = engine_of(request, machine, 0 if request.shared else NICE)
        return self._line_of(engine, request.shared, request.aside)

    def _take_over(self, ahead: Ahead) -> Line:
        self._ahead = None
        line = self._line_of(ahead.engine, shared=True, aside=False)
        line.ahead = ahead
        return line

    def _line_of(self, engine: Engine, shared: bool, aside: bool) -> Line:
        arrivals = Arrivals(engine.fileno(), lambda: self._hear(line), self)
        line = Line(engine, arrivals, shared, aside, machine=engine.machine)
        self._lines.append(line)
        return line

    def _hear(self, line: Line) -> None:
        if line.closing:
            self._drain(line)
            return
        found: dict[int, list[Finding]] = {}
        try:
            for message in line.engine.receive():
                asked = line.asked.get(message.id) if message.id is not None else None
                if asked is None:
                    continue
                if message.type == "finding" and "question" in message.body:
                    self._ask(line, message.finding["question"])
                    continue
                if message.type == "finding":
                    found.setdefault(asked.request.ticket, []).append(message.finding)
                    continue
                # What was found goes first, so that a result comes last.
                self._tell_found(found)
                self._pass_on(line, asked, message)
            self._tell_found(found)
        except UserError as e:
            self._tell_found(found)
            self._lost(line, e)

    def _ask(self, line: Line, told: QuestionFinding) -> None:
        """Pass on what ssh asks of an engine that has ways of its own."""
        asker = told["asker"]
        before = line.questions.pop(asker, None)

        def answer(text: str | None) -> None:  # on the main thread
            with contextlib.suppress(RuntimeError):  # the worker is gone meanwhile
                self._answered.emit(line, asker, text)

        by = before.by if before else object()
        one = Question(told["about"], told["kind"], told["text"], answer, told["again"], by)
        if one.text:
            line.questions[asker] = one
        self.ways.asks.emit(one)

    def _answer(self, line: Line, asker: int, text: str | None) -> None:
        if not line.closing:
            line.engine.answer(asker, text)

    def _tell_found(self, found: dict[int, list[Finding]]) -> None:
        for ticket, findings in found.items():
            self.findings.emit(ticket, findings)
        found.clear()

    def _pass_on(self, line: Line, asked: Asked, message: protocol.Message) -> None:
        ticket, body = asked.request.ticket, message.body
        if message.type != "progress":
            asked.tell(self.progress.emit)
        if message.type == "rows":
            try:
                # Entries are checked and built in this thread.
                entries = protocol.traits(asked.request.op).entry_rows
                rows = [entry_from_json(row) for row in message.rows] if entries else message.rows
            except ValueError as e:
                self._lost(line, misspoken(str(e)))
                return
            self.heard.clear()
            self.rows.emit(ticket, rows)
            # Both threads at once would only take the interpreter from each other all the time, and
            # make the main thread late.
            self.heard.wait(_HEARD)
        elif message.type == "progress":
            if asked.cancelled and asked.ends.changes and line.step == 0:
                # It is at it, however long that takes.
                line.deadline = time.monotonic() + asked.patience
            self._progress(asked, body)
        elif message.type == "result":
            if asked.known_by is not None:
                from torchkeeper.client.engines import probes

                probes.keep(asked.known_by, body["result"])
            self._done(line, message.id)
            self.result.emit(ticket, body["result"], _log(line))
        elif message.type == "error":
            error = body["error"]
            self._done(line, message.id)
            if not asked.cancelled and self._with_password_for_any(asked.request, error):
                self.start(asked.request)
            elif error["code"] == "cancelled":
                self.cancelled.emit(ticket, _log(line))
            else:
                why = answered(error)
                self.failed.emit(ticket, why, _log(line))

    def _with_password_for_any(self, request: Request, error: Mapping[str, Any]) -> bool:
        """Whether there is a password for any server, and this one wants one and has had none."""
        if error["code"] != "password-needed" or (password := secrets.for_any()) is None:
            return False
        wanting = [
            login
            for server, login in self._logins(request, servers_of(request)).items()
            if server == error.get("params", {}).get("server")
            and self._passwords.get(login) is None
        ]
        self._passwords |= dict.fromkeys(wanting, password)
        return bool(wanting)

    def _progress(self, asked: Asked, body: Mapping[str, Any]) -> None:
        asked.take(body)
        if time.monotonic() - asked.progress_at >= _PROGRESS_EVERY:
            asked.tell(self.progress.emit)
        else:
            self._tick_soon()

    def _done(self, line: Line, ident: int | None) -> None:
        if ident is not None:
            line.asked.pop(ident, None)
        if not line.shared and not line.keep and not line.asked:
            self._close(line)
        elif not any(asked.cancelled for asked in line.asked.values()):
            line.deadline, line.step = None, 0

    def _lost(self, line: Line, error: UserError) -> None:
        self.ways.look(line.machine)
        told = error.code.startswith("ssh-")  # of the way, which it says itself
        for asked in list(line.asked.values()):
            if asked.cancelled and not asked.ends.changes:
                self.cancelled.emit(asked.request.ticket, _log(line))
            else:
                told = True
                why = _cut_off(asked) if asked.cancelled else error
                self.failed.emit(asked.request.ticket, why, _log(line))
        if line.shared and not told and not line.asked:
            # The next request starts another; the user hears of it all the same.
            self.trouble.emit(error)
        line.asked.clear()
        self._close(line)

    def cancel(self, ticket: int) -> None:
        """Ask for an early end; then SIGTERM, then SIGKILL."""
        if ticket in self._probing:
            self._probing.discard(ticket)
            self.cancelled.emit(ticket, [])
            return
        if self.asides.cancel(ticket):
            return
        for request in self._locked:
            if request.ticket == ticket:
                self._locked.remove(request)
                self.cancelled.emit(ticket, [])
                return
        for line in self._lines:
            for ident, asked in line.asked.items():
                if asked.request.ticket == ticket and not asked.cancelled:
                    asked.cancelled = True
                    line.engine.cancel(ident)
                    if line.deadline is None:
                        line.deadline, line.step = time.monotonic() + asked.patience, 0
                    self._tick_soon()

    def release(self, ticket: int) -> None:
        """Let go of the engine that was kept after a request."""
        for line in self._lines:
            if ticket in line.tickets and not line.shared and not line.closing:
                if line.asked:
                    line.keep = False
                    self.cancel(ticket)
                else:
                    self._close(line)

    def shut_down(self) -> None:
        """Stop every engine; ``ended`` follows when all are gone."""
        self._stopping = True
        for request in self._locked:
            self.cancelled.emit(request.ticket, [])
        self._locked.clear()
        self.asides.stop()
        if self._ahead is not None:
            self._take_over(self._ahead)
        for line in list(self._lines):
            for ident, asked in line.asked.items():
                line.engine.cancel(ident)
                self.cancelled.emit(asked.request.ticket, [])
            line.asked.clear()
            self._close(line)
        self._tick_soon()

    def _close(self, line: Line) -> None:
        if line.closing:
            return
        line.closing = True
        for one in line.questions.values():
            self.ways.asks.emit(one._replace(text=""))  # nobody waits for an answer
        line.questions.clear()
        line.engine.end_input()
        line.deadline, line.step = time.monotonic() + GRACE, 0
        self._tick_soon()

    def _drain(self, line: Line) -> None:
        # What a closing engine still says is of no interest, but must not fill its pipe.
        try:
            for _ in line.engine.receive():
                pass
        except UserError:
            line.arrivals.setEnabled(False)

    def _abandon(self, line: Line) -> None:
        self._lines.remove(line)
        line.arrivals.end()
        for asked in line.asked.values():
            if asked.ends.changes:
                self.failed.emit(asked.request.ticket, _cut_off(asked), _log(line))
            else:
                self.cancelled.emit(asked.request.ticket, _log(line))

    def _tick_soon(self) -> None:
        if not self._ticking:
            self._ticking = self.startTimer(_TICK_MS)

    def timerEvent(self, event: QTimerEvent) -> None:
        if event.timerId() == self._ticking:
            self._tick()
        else:
            self._end()

    def _tick(self) -> None:
        now = time.monotonic()
        for line in list(self._lines):
            for asked in line.asked.values():
                asked.tell(self.progress.emit)
            if line.closing and line.engine.returncode is not None:
                line.arrivals.end()
                line.engine.close_and_wait()
                self._lines.remove(line)
            elif line.step >= _STEPS:
                # It waits in the system, on a dead mount perhaps, and cannot even be killed.
                self._abandon(line)
            elif line.deadline is not None and now >= line.deadline:
                (line.engine.terminate if line.step == 0 else line.engine.kill)()
                line.step += 1
                line.deadline = now + GRACE
        if self._ticking and not any(x.closing or x.deadline is not None for x in self._lines):
            self.killTimer(self._ticking)
            self._ticking = 0
        if self._stopping and not self._lines:
            self.folders.remove_all()
            if not self.folders.going:
                self._end()
            elif not self._last_wait:
                self._last_wait = self.startTimer(_TO_REMOVE_MS)

    def _nothing_left(self) -> None:
        if self._last_wait:
            self._end()

    def _end(self) -> None:
        if self._last_wait:
            self.killTimer(self._last_wait)
            self._last_wait = 0
        self.ways.close()
        self.ended.emit()


def _log(line: Line) -> list[str]:
    for _ in range(3):
        try:
            return list(line.engine.log)
        except RuntimeError:  # the reader of stderr appended meanwhile
            continue
    return []


def _cut_off(asked: Asked) -> UserError:
    about = asked.request.params
    place = about.get("into") or about.get("place") or about.get("output") or about.get("file")
    if asked.ends is protocol.Ends.BACK:
        return user_error("not-taken-back", {"place": place})
    return user_error("not-ended", {"place": place})
