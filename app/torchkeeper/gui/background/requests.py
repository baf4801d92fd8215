"""What engines are asked: a request, one that is under way, and the engine that has it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QEvent, QObject, QSocketNotifier

from torchkeeper.client.engines import far
from torchkeeper.client.engines.process import GRACE, Ahead, Engine
from torchkeeper.engine.protocol import KNOW, TARGET, Ends, ends, traits
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.client.engines.probes import Identity
    from torchkeeper.client.engines.questions import Question


# PySide (6.11) keeps all connections that Python made in one table, without a lock, and gives up
# the interpreter while it takes one out. A thread that connects something just then breaks the
# table, or waits for ever: one holds the interpreter and wants a mutex of Qt's, the other the
# reverse. The main thread connects and lets go all the time; so everything that lives in another
# thread is connected before it is moved there, and what is made there later overrides the handler
# of its events.


class Arrivals(QSocketNotifier):
    """Calls back, without a connected signal, when there is something to read or the end closes."""

    def __init__(self, file: int, heard: Callable[[], None], parent: QObject) -> None:
        """file: its descriptor."""
        super().__init__(file, QSocketNotifier.Type.Read, parent)
        self._heard = heard

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.SockAct:
            self._heard()
            return True
        return super().event(event)

    def end(self) -> None:
        """Call back no more, and go."""
        self.setEnabled(False)
        self._heard = lambda: None
        self.deleteLater()


#: Seconds for which an operation that does more than look may say nothing once it is cancelled.
_TO_TAKE_BACK = 15.0
#: Parameters that name places; one that is a server may need a password first. Those that name
#: several; and those that name files where the places are.
_PLACES = ("place", "into", "source", "target")
_SEVERAL = ("nearest", "places", "also")
_FILES = ("output", "files")
#: What besides is on a machine, of one operation alone.
_ALSO = {TARGET: ("path",), KNOW: ("python",)}


class Request(NamedTuple):
    """One thing to ask an engine. engine_of: the ticket of an earlier request whose engine is asked
    (kept with ``keep``). shared: ask the browse engine instead of one of its own; aside: the one
    beside it, which no long listing holds up. keep: leave the engine running for a request that
    follows. hold: a selection too long for one line, sent ahead. password: for the server that is
    asked, in this request only; an engine of its own is told it. login_of: a server whose password
    is used for this request, where that has none. bare: no password is used but what its parameters
    have, and no keyring asked: an engine of its own knows none. before: operations that the same
    engine is asked for ahead, with their parameters; nobody hears the answers: where one fails, the
    request says what it lacks. unasked: the user is asked for nothing on its way.
    """

    ticket: int
    op: str
    params: Mapping[str, Any]
    python: str | None = None
    shared: bool = False
    aside: bool = False
    keep: bool = False
    engine_of: int | None = None
    hold: tuple[tuple[str, str], ...] = ()
    password: str | None = field(default=None, repr=False)
    login_of: str | None = None
    bare: bool = False
    before: tuple[tuple[str, Mapping[str, object]], ...] = ()
    unasked: bool = False


@dataclass
class Asked:
    """A request under way in an engine."""

    request: Request
    #: What the facts of a probe are kept by.
    known_by: Identity | None = None
    cancelled: bool = False
    progress_at: float = 0.0
    #: How far it is, where that has not been told.
    untold: tuple[float, float | None, str] | None = None

    def take(self, body: Mapping[str, Any]) -> None:
        """Take how far an engine says that it is."""
        done, total, unit = body.get("done"), body.get("total"), body.get("unit")
        if isinstance(done, (int, float)) and isinstance(total, (int, float, type(None))):
            self.untold = done, total, str(unit or "")

    def tell(self, say: Callable[[int, float, float | None, str], object]) -> None:
        """Say it, once for all that has come meanwhile."""
        if self.untold:
            say(self.request.ticket, *self.untold)
            self.progress_at, self.untold = time.monotonic(), None

    @property
    def ends(self) -> Ends:
        """What it does when it is cancelled."""
        return ends(self.request.op, self.request.params)

    @property
    def patience(self) -> float:
        """Seconds for which it may say nothing then."""
        return GRACE if self.ends is Ends.LOOKS else _TO_TAKE_BACK


@dataclass(eq=False)
class Line:
    """One engine, what it was asked, and how far it is from being gone."""

    engine: Engine
    arrivals: Arrivals
    shared: bool
    aside: bool
    ahead: Ahead | None = None
    asked: dict[int, Asked] = field(default_factory=dict)
    #: The password that the engine was told last, by server.
    told: dict[str, str] = field(default_factory=dict, repr=False)
    tickets: set[int] = field(default_factory=set)
    keep: bool = False
    #: The machine that it is on; "" is this one.
    machine: str = ""
    closing: bool = False
    deadline: float | None = None
    step: int = 0
    #: What is asked on the way of its operation and not answered, by the number of the asker.
    questions: dict[int, Question] = field(default_factory=dict)


def _named(request: Request, *params: str) -> list[str]:
    named: list[object] = []
    for name in params:
        one = request.params.get(name)
        named += one if isinstance(one, (list, tuple)) else [one]
    return list(dict.fromkeys(place for place in named if isinstance(place, str)))


def servers_of(request: Request) -> list[str]:
    places = _named(request, *_PLACES, *_SEVERAL)
    return [place for place in places if scheme_of(place).may_want_password]


def ways_of(request: Request) -> list[str]:
    """The machines through which its places are reached. Raises as ``machine_of``."""
    if traits(request.op).at_home:
        return []  # its engine has ways of its own
    servers = (scheme_of(one).way(one) for one in servers_of(request))
    return [one for one in dict.fromkeys([machine_of(request), *servers]) if one]


def machine_of(request: Request) -> str:
    """The machine whose engine is asked, by the places that are named; "" is this one. Raises
    UserError where they are on several.
    """
    if traits(request.op).at_home:
        return ""
    also = _ALSO.get(request.op, ())
    return far.machine_of(request.python, *_named(request, *_PLACES, *_SEVERAL, *_FILES, *also))


def engine_of(request: Request, machine: str, nice: int) -> Engine:
    """An engine for a request, started on its machine."""
    if traits(request.op).at_home:
        from torchkeeper.fleet.engine import FleetEngine  # few windows have a fleet

        return FleetEngine(request.python)
    return Engine(request.python or machine or None, nice=nice)
