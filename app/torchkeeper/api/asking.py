"""Asking an engine on behalf of a script. What commands say on standard error is logged."""

from __future__ import annotations

import contextlib
import logging
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchkeeper.api.told import Error, Progress, left_of
from torchkeeper.client.engines import asking, interpreters
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words import found, leaks, owned
from torchkeeper.client.words.problems import user_error
from torchkeeper.engine import protocol

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import Finding

log = logging.getLogger("torchkeeper")
#: Who hears how far an operation is.
OnProgress = Callable[[Progress], object]
#: Problems after which an engine is of no further use; and how those of the way to one begin.
_GONE = frozenset({"engine-gone", "protocol", "interpreter-unusable"})
_NO_WAY = "ssh-"

#: What to do about a problem, where its own words name an option of a command.
_REMEDIES = {
    "secrets-found": 'Say secrets="redact", secrets="without" or secrets="allow".',
    "output-exists": "Say replace=True, or choose another name.",
    "place-in-use": "Wait until the process has ended, or say in_use=True.",
}
#: Secrets that an error names.
_NAMED = 20


def misuse(what: str, why: str, remedy: str) -> Error:
    return Error(what, why, remedy, code="wrong-usage")


class Answer:
    """What an operation tells on its way. raised: what the listener raised, which ends it."""

    def __init__(self, listener: OnProgress | None) -> None:
        self.rows: list[Any] = []
        self.left: list[Error] = []
        self.findings: list[Finding] = []
        self.result: Any = None
        self.raised: BaseException | None = None
        self._listener = listener

    def take(self, message: protocol.Message) -> None:
        """One more message. Raises KeyboardInterrupt where the listener raises anything: that is
        how a request is cancelled and what it has done is taken back.
        """
        self.rows += message.rows
        if message.type == "finding":
            self._found(message.finding)
        if message.type == "progress" and self._listener and self.raised is None:
            body = message.body
            told = Progress(body.get("done", 0), body.get("total"), str(body.get("unit", "")))
            try:
                self._listener(told)
            except BaseException as error:
                self.raised = error
                raise KeyboardInterrupt from error

    def worded(self, error: Error) -> Error:
        """An error with the remedy that a script has, and with the secrets that were found."""
        if (remedy := _REMEDIES.get(error.code)) is None:
            return error
        secrets = [leaks.line(one["secret"]) for one in self.findings if "secret" in one]
        why = "\n".join([error.why, *secrets[:_NAMED]])
        return Error(error.what, why, remedy, code=error.code, params=error.params)

    def _found(self, what: Finding) -> None:
        if "left" in what:
            self.left.append(left_of(what["left"]))
        elif "unreadable" in what:
            self.left.append(user_error("folder-unreadable", what["unreadable"]))
        elif "owners" in what:
            for one in owned.grave(what["owners"]):
                log.warning("%s", one.error)
        elif line := found.alike(what):
            log.warning("%s", line)
        else:
            self.findings.append(what)
            if line := found.logged(what):
                log.info("%s", line)


class Asker:
    """Asks one engine at a time, which is started when it is needed, and ends with ``close``, with
    this object, or with the program. From any thread: who comes second waits. start: starts it;
    otherwise it is that of ``python``.
    """

    def __init__(
        self, listener: OnProgress | None = None, python: str | None = None,
        start: Callable[[], Engine] | None = None,
    ) -> None:  # fmt: skip
        self._listener, self._start = listener, start or (lambda: Engine(python))
        #: Held over several requests that belong together.
        self.lock = threading.RLock()
        self._busy = self._ends = False
        self._unlock: Callable[[str], bool] = lambda _: False
        self._end: weakref.finalize[..., Any] | None = None
        self._engine: Engine | None = None

    def ask(self, op: str, *, only_signed: bool = False, **params: object) -> Answer:
        """What one operation tells. only_signed: as of ``asking.ask``. Raises Error; what the
        listener raises; and KeyboardInterrupt, after what was done is taken back.
        """
        answer = Answer(self._listener)
        try:
            with self.turn() as engine:
                answer.result = asking.ask(
                    lambda name, params: engine.call(name, params, answer.take),
                    op, params, self._unlock, only_signed,
                )  # fmt: skip
                if answer.raised is not None:  # it was done by then
                    raise KeyboardInterrupt
        except Error as error:
            raise answer.worded(error) from None
        except KeyboardInterrupt:
            if answer.raised is None:
                raise
            raise answer.raised from None
        return answer

    @contextlib.contextmanager
    def turn(self) -> Iterator[Engine]:
        """The engine, for one thread; it ends with whatever is no answer of its own. Raises Error
        where none can be started, and in a listener.
        """
        with self.lock:
            if self._busy:
                why = "It is asked by who is told of its progress."
                raise misuse("The place is busy.", why, "Ask it after that.")
            self._busy, self._ends = True, False
            try:
                if self._engine is None:
                    self._engine = self._start()
                    self._unlock = asking.any_password(self._engine.call)
                    self._end = weakref.finalize(self, self._engine.close_and_wait)
                yield self._engine
            except Error as error:
                gone = error.code in _GONE or error.code.startswith(_NO_WAY)
                self._ends = self._ends or gone
                raise
            except BaseException:
                self._ends = True
                raise
            finally:
                self._busy = False
                if self._ends:
                    self.close()

    def close(self) -> None:
        """End the engine; it is started again when something is asked. In a listener: once what is
        asked has come to its end.
        """
        with self.lock:
            self._ends = True
            if self._busy:
                return
            if self._end is not None:
                self._end()
            self._engine = self._end = None


interpreters.heeding.append(
    lambda python, writers: log.warning("%s", owned.of_interpreter(python, writers))
)
