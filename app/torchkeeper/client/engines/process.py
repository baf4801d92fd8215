"""One engine process: start it, send requests, take its messages, stop it; also one that is asked
before anybody can hear the answer. Nothing waits unless its name says so: the window drives many
engines from one event loop (``fileno``, ``receive``), the command line uses ``call``.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar, NoReturn

from torchkeeper.artifacts.version import SOURCE
from torchkeeper.client.engines import far, interpreters
from torchkeeper.client.engines.travel import archive
from torchkeeper.client.kept import whole
from torchkeeper.client.temporary import Ended, Interrupts
from torchkeeper.client.words.problems import UserError, answered
from torchkeeper.client.words.tongue import tr
from torchkeeper.engine import home, protocol
from torchkeeper.engine.protocol import Ends, Message, traits
from torchkeeper.stores import atomic

if TYPE_CHECKING:
    from torchkeeper.client.engines.joining import Joining
    from torchkeeper.client.engines.line import Channel

#: Seconds between asking an engine to end and the next step: SIGTERM, then SIGKILL.
GRACE = 2.0
#: Seconds to wait for a cancelled request where nobody can be asked for more patience.
CANCEL = 10.0
#: Seconds of silence that a wait counts for at most: this process may be stopped meanwhile.
_COUNTED = 2.0
#: What is kept of an engine's standard error.
LOG_LINE = 16 << 10
LOG_LINES = 2000

#: Left out of an engine's environment: ours, Qt's, and what would change what it compiles.
_NOT_PASSED_ON = ("QT_", "TORCHKEEPER_", "PYTEST_", "COV_")
#: Variables that name folders, and may do so relative to the current one.
_FOLDERS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TRITON_HOME", "TMPDIR")


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The user's environment less what belongs to Qt and to us, plus ``extra``."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(_NOT_PASSED_ON)}
    # An engine runs in a folder of its own; these are meant from where the user is.
    env |= {name: os.path.abspath(env[name]) for name in _FOLDERS if env.get(name)}
    return {**env, **(extra or {})}


def begin(argv: list[str], cwd: str, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a process that leads a session of its own, and talks by pipes. Raises OSError."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        argv, stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, env=env, start_new_session=True
    )


def misspoken(why: str) -> UserError:
    return UserError(
        tr("The engine does not speak the expected protocol."),
        why,
        tr("Look at the log; reinstall Torchkeeper if this happens again."),
        code="protocol",
    )


def encoded(request: Mapping[str, object]) -> bytes:
    """The line of a request. Raises UserError."""
    try:
        return protocol.encode(request)
    except protocol.WireError as e:
        raise UserError(
            tr("The request is too long for an engine."),
            f"{str(e).capitalize()}.",
            tr("Ask about fewer files or entries at once."),
            code="request-too-long",
        ) from e


class Engine:
    """An engine under ``python``, else under the app's own interpreter. It leads a process group,
    which ``kill`` ends with a compile job's compilers, and ends when its standard input closes, so
    that it never outlives a window that was killed. nice: how far it, and what it starts, gives way
    to others (warm.processes). Where ``python`` is on another machine (``far.machine_of``), so is
    it. Raises UserError when the interpreter cannot be started.
    """

    #: Hears for how many seconds an engine has said nothing new to who waits in ``call``; what it
    #: raises ends that engine.
    silent: ClassVar[Callable[[Engine, float], None] | None] = None
    #: How our own interpreter is started.
    _alone: ClassVar[tuple[str, ...]] = ("-I", "-S")
    #: What it is told to serve (``engine.serve.main``).
    _serves: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, python: str | None = None, env: Mapping[str, str] | None = None, *, nice: int = 0
    ) -> None:
        self.python = python or sys.executable
        self._start(python, env, nice)

    def _start(
        self, python: str | None, env: Mapping[str, str] | None = None, nice: int = 0
    ) -> None:
        self._of = os.getpid()
        self._home, self._kept = "", -1
        self._joining: Joining | None = None
        #: Another machine that it is on, and what places are called there.
        self._far: far.Names | None = None
        self._channel: Channel | None = None
        self._process: subprocess.Popen[bytes] | Channel
        if machine := far.machine_of(python):
            self._far = far.Names(machine)
            self._process = self._channel = self._far.start(self.python)
        else:
            self._process = self._begin(python, dict(env or {}))
            if nice:
                from torchkeeper.warm.processes import give_way

                give_way(self._process.pid, nice)
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        os.set_blocking(self._stdout.fileno(), False)
        self._lines = protocol.Lines()
        self._next_id, self._asked = 0, dict[int, str]()
        #: Whether nothing was asked for that changes something.
        self._looks = True
        #: The name of the job there that goes on if the connection breaks.
        self.job = ""
        #: What asked for an early end of a call that came to a result all the same.
        self.interrupted: KeyboardInterrupt | None = None
        self._ended = False
        #: Whether it is under our own interpreter, and on this machine.
        self._own = python is None
        #: Whether it has said hello; another's interpreter may be no Python at all.
        self._greeted = self._own
        self.log: deque[str] = deque(maxlen=LOG_LINES)
        self._logger = threading.Thread(
            target=self._keep_log, name="engine-log", args=(self._process.stderr,), daemon=True
        )
        self._logger.start()

    def _begin(self, python: str | None, more: dict[str, str]) -> subprocess.Popen[bytes]:
        """An engine on this machine."""
        # Our own looks only at files and needs no package. Another's is not isolated: that would
        # hide the user site and PYTHONPATH, where clusters keep torch.
        if python is None:
            more.setdefault(protocol.INDEX, os.path.join(whole.cache_folder(), "index.sqlite"))
            source, alone = Path(SOURCE).resolve(), [*self._alone]
        else:
            interpreters.starting(python)
            source, alone = archive(), []
        try:
            self._home, self._kept = home.make()
        except OSError as e:
            raise UserError(
                tr("There is no folder for temporary files."),
                e.strerror or str(e),
                tr("Make the temporary folder writable, or name another in TMPDIR."),
                code="no-temporary-folder",
            ) from e
        argv = [self.python, *alone, "-c", home.BOOT, str(source), *self._serves]
        try:
            return begin(argv, self._home, clean_environment(more))
        except OSError as e:
            atomic.remove(self._home)
            os.close(self._kept)
            raise UserError(
                tr("The interpreter {python} cannot be started.", python=self.python),
                e.strerror or str(e),
                tr("Choose a Python interpreter that runs on this machine."),
                code="interpreter-unusable",
            ) from e

    def _keep_log(self, stderr: IO[bytes]) -> None:
        with stderr:
            # A line may be of any length, and what is kept is bounded.
            while line := stderr.readline(LOG_LINE):
                self.log.append(line.decode(errors="backslashreplace").rstrip("\n"))

    @property
    def machine(self) -> str:
        """Another machine that it is on, such as ``ssh://gpu1``; else ""."""
        return self._far.machine if self._far else ""

    @property
    def pid(self) -> int:
        """The process id, which is also the process group's."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.poll()

    def fileno(self) -> int:
        """The descriptor that becomes readable when ``receive`` has something."""
        return self._stdout.fileno()

    def send(self, op: str, params: Mapping[str, object] | None = None) -> int:
        """Send a request; its id. Only ``receive`` notices a dead engine. Raises UserError, also in
        a process that was forked from the one that started it: each would get the other's answers.
        """
        if self._of != os.getpid():
            raise UserError(
                tr("This process has no engine of its own."),
                tr("It was forked from the process that started one."),
                tr("Open the place again in this process."),
                code="engine-forked",
            )
        sent = self._far.asked(op, params or {}) if self._far else dict(params or {})
        self._next_id += 1
        self._looks = self._looks and protocol.ends(op, params or {}) is Ends.LOOKS
        # What is followed, or detached, has the result of what is done.
        self._asked[self._next_id] = str(sent.get("op")) if op == protocol.FOLLOW else op
        if self._far and op in far.DETACHED:
            op, sent = protocol.DETACH, {"op": op, "params": sent}
        self._write({"id": self._next_id, "op": op, "params": sent})
        return self._next_id

    def cancel(self, ident: int) -> None:
        """Ask for an early end of one request."""
        self._write({"cancel": ident})

    def answer(self, asker: int, text: str | None) -> None:
        """Answer what an operation asks on its way (a finding ``question``); None: there is none.
        What is typed goes nowhere else.
        """
        self._write({"answer": asker, "text": text})

    def _write(self, obj: Mapping[str, object]) -> None:
        line = encoded(obj)
        if b'"ssh://' in line and self._own and self._joining is None:
            from torchkeeper.client.engines.joining import Joining  # few engines need it

            with contextlib.suppress(OSError):  # the engine says that there is no way
                self._joining = Joining(self._kept)
        with contextlib.suppress(OSError, ValueError):
            self._stdin.write(line)
            self._stdin.flush()

    def receive(self) -> Iterator[Message]:
        """The messages that have arrived, without waiting; each is taken apart only when it is
        asked for, so that the first need not wait for the others. Raises UserError when the engine
        has ended or does not speak the protocol; it is of no further use then.
        """
        try:
            data = os.read(self._stdout.fileno(), 1 << 18)
        except BlockingIOError:
            return
        if not data:
            raise self._gone()
        try:
            for line in self._lines.feed(data):
                message = protocol.message_from(protocol.decode(line))
                if self._far and self._names(message) and self._far.is_named(line):
                    message = message._replace(body=self._far.named(message.body))
                self._check(message)
                if message.type != "finding" or self._fits(message):
                    yield message
        except protocol.WireError as e:
            self.kill()
            if not self._greeted:
                # A library that prints as it is loaded does it, too.
                why = tr("It says something else when it starts: {why}.", why=e)
                raise self._no_python(why) from e
            raise misspoken(str(e)) from e

    def _check(self, message: Message) -> None:
        if message.type == "hello" and message.body.get("protocol") != protocol.PROTOCOL:
            self.kill()
            theirs, ours = message.body.get("protocol"), protocol.PROTOCOL
            raise UserError(
                tr("The engine is of another version of Torchkeeper."),
                tr("It speaks protocol {theirs}, not {ours}.", theirs=theirs, ours=ours),
                tr("Install the same version of Torchkeeper on both sides."),
                code="protocol",
            )
        self._greeted = self._greeted or message.type == "hello"
        if message.type in ("result", "error") and message.id is not None:
            if why := protocol.unfit(message, self._asked.pop(message.id, "")):
                raise protocol.WireError(why)
            if self.job:
                self._write({"read": self.job})
                self.job = ""

    def _names(self, message: Message) -> bool:
        """Whether it may name a place: rows of entries do not."""
        op = self._asked.get(message.id or 0, "")
        return not (message.type == "rows" and traits(op).entry_rows)

    def _fits(self, finding: Message) -> bool:
        """Whether a finding fits its type; if not, it is logged: to end would cut off a change."""
        if why := protocol.unfit(finding, ""):
            self.log.append(tr("Left out: {why}.", why=why))
        elif "job" in finding.body:
            self.job = finding.body["job"]
        return not why

    def _no_python(self, why: str) -> UserError:
        return UserError(
            tr("{python} does not answer as a Python does.", python=self.python),
            why,
            tr("Give the path of a Python 3.10 or newer, such as /path/to/venv/bin/python."),
            code="interpreter-unusable",
        )

    def _gone(self) -> UserError:
        error = self._why_gone()
        if not self.job:
            return error
        goes_on = far.goes_on(self.machine, self.job)
        return UserError(error.what, error.why, goes_on, code=error.code, params=error.params)

    def _why_gone(self) -> UserError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        self._logger.join(GRACE)
        code = self._process.returncode
        if self._channel and (failure := self._channel.failure()):
            return failure
        if code is not None and code < 0:
            try:
                why = tr("It was ended by {signal}.", signal=signal.Signals(-code).name)
            except ValueError:
                why = tr("It was ended by signal {number}.", number=-code)
            if code == -signal.SIGKILL:
                why += " " + tr("The usual cause is that the machine ran out of memory.")
        elif self._channel and self._channel.why:
            why = f"{self._channel.why}."
        else:
            why = tr("It exited with status {code}.", code=code)
        if self.log:
            why += "\n" + "\n".join(list(self.log)[-5:])
        # Whoever kills it says nothing of what it is.
        if not self._greeted and code not in (-signal.SIGKILL, -signal.SIGTERM):
            return self._no_python(why)
        what = tr("The engine stopped before it was done.")
        return UserError(what, why, tr("The whole log is with the job."), code="engine-gone")

    def call(
        self,
        op: str,
        params: Mapping[str, object] | None = None,
        on_message: Callable[[Message], None] | None = None,
        on_interrupt: Callable[[bool], None] | None = None,
    ) -> Any:
        """Send a request and wait for its result, which is of the operation's type. Messages on the
        way go to ``on_message``. Raises UserError for an error. Passes on KeyboardInterrupt after
        the engine has cancelled, or at once where it comes again; an Ended, for which nobody waits,
        after CANCEL seconds at most. ``on_interrupt`` hears of each, and whether the engine was
        ended then before it was done. Where the way to a machine breaks, what only looks is asked
        once more, if it is the first that is asked and nothing was heard of it.
        """
        once_more = not self._next_id and protocol.ends(op, params or {}) is Ends.LOOKS
        interrupted: KeyboardInterrupt | None = None
        latest = math.inf
        quiet, said = 0.0, Message("", None, {})

        def give_up(interrupt: KeyboardInterrupt) -> NoReturn:
            self.kill()
            if on_interrupt:
                on_interrupt(True)
            raise interrupt

        def cancel(interrupt: KeyboardInterrupt) -> None:
            nonlocal interrupted, latest
            if interrupted:
                give_up(interrupt)
            if on_interrupt:
                on_interrupt(False)
            interrupted = self.interrupted = interrupt
            if isinstance(interrupt, Ended):
                latest = time.monotonic() + CANCEL
            self.cancel(ident)

        with Interrupts() as interrupts:
            ident = self.send(op, params)
            while True:
                begun = time.monotonic()
                try:
                    with interrupts.let_in():
                        select.select([self._stdout], [], [], 1.0)
                except KeyboardInterrupt as interrupt:
                    cancel(interrupt)
                # Nothing has begun there where ssh still asks, or has just been told to leave off.
                unbegun = self._channel is not None and not self._greeted
                if interrupted and (unbegun or time.monotonic() > latest):
                    give_up(interrupted)
                quiet += min(time.monotonic() - begun, _COUNTED)
                try:
                    for message in self.receive():
                        if message != said:
                            quiet, said = 0.0, message
                        if message.id != ident:
                            continue
                        if message.type == "result":
                            return message.body["result"]
                        if message.type == "error":
                            if interrupted:
                                raise interrupted
                            raise answered(message.body["error"])
                        once_more = once_more and message.type == "progress"
                        if on_message:
                            try:
                                with interrupts.let_in():
                                    on_message(message)
                            except KeyboardInterrupt as interrupt:
                                cancel(interrupt)
                except UserError as e:
                    if e.code != "ssh-lost" or interrupted or not once_more:
                        raise
                    once_more = False
                    self.close_and_wait()
                    self._start(self.python)
                    ident = self.send(op, params)
                if Engine.silent:
                    try:
                        Engine.silent(self, quiet)
                    except UserError:
                        self.kill()
                        raise

    def end_input(self) -> None:
        """Close the engine's input: it cancels what it does and ends. Does not wait."""
        with contextlib.suppress(OSError, ValueError):
            self._stdin.close()

    def terminate(self) -> None:
        """SIGTERM to the whole group. Does not wait."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL to the whole group. Does not wait."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        # The group may outlive its leader, so it is signalled even after the leader has ended.
        if self._ended or self._of != os.getpid():
            return
        if self._channel:
            self._channel.signal(number)
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _wait(self, seconds: float) -> None:
        """Wait for its end, and take what it says: else it does not end. Raises TimeoutExpired."""
        end = time.monotonic() + seconds
        while self._process.poll() is None and (left := end - time.monotonic()) > 0:
            if select.select([self._stdout], [], [], min(left, 0.05))[0]:
                with contextlib.suppress(BlockingIOError):
                    if not os.read(self._stdout.fileno(), 1 << 18):
                        break
        self._process.wait(max(end - time.monotonic(), 0))

    def close_and_wait(self) -> None:
        """End the engine: ask, SIGTERM, SIGKILL, each after GRACE seconds. Safe to call twice. In a
        process that was forked from the one that started it nothing happens. One on another machine
        that has looked, and has answered, ends by itself: to hear of that takes a round trip.
        """
        if self._ended or self._of != os.getpid():
            return
        self.end_input()
        if self._channel and self._looks and not self._asked:
            self._let_go()
            return
        for step in (self.terminate, self.kill, self.kill):
            try:
                self._wait(GRACE)
                break
            except subprocess.TimeoutExpired:
                step()
        # What the leader left running ends too: nothing is orphaned.
        self.kill()
        # What waits in the system, on a dead mount perhaps, cannot even be killed.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        self._let_go()
        self._logger.join(GRACE)
        if self._joining:
            self._joining.close()
        if self._home:
            atomic.remove(self._home)
            os.close(self._kept)

    def _let_go(self) -> None:
        self._ended = True
        self._stdout.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close_and_wait()


class Ahead:
    """An engine that is asked before anybody is there who could hear: answers wait in its pipe."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._asked: list[tuple[int, str, Mapping[str, object]]] = []

    def ask(self, op: str, params: Mapping[str, object]) -> None:
        self._asked.append((self.engine.send(op, params), op, dict(params)))

    def take(self, op: str, params: Mapping[str, object]) -> int | None:
        """The id of such a request, or None. All others, which nobody will hear, are cancelled."""
        taken = None
        for ident, asked_op, asked_params in self._asked:
            if taken is None and (asked_op, asked_params) == (op, params):
                taken = ident
            else:
                self.engine.cancel(ident)
        self._asked.clear()
        return taken
