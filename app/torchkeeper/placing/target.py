"""The one interface to machines on which engines run: who is there (``nodes``), and to have an
engine there do one thing (``run``). Bytes go there and come back in the target's own way; what is
asked, and how that is answered, is the protocol of engines, wherever it runs.
"""

from __future__ import annotations

import os
import shutil
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from torchkeeper.engine.protocol import PROTOCOL, Message, WireError, unfit

if TYPE_CHECKING:
    from torchkeeper.client.words.problems import UserError
    from torchkeeper.verdict.probed import Env

#: Hears what an engine says of a unit on its way.
Heard = Callable[[Message], None]


class Node(NamedTuple):
    """A machine, or a part of one, on which units run. name: as people know it, unique in its
    target. python: the interpreter there. slots: how many units run at a time. facts: what a probe
    of the interpreter told, None where it could not be asked, and ``why`` then. labels: what the
    target says of it.
    """

    name: str
    python: str
    slots: int
    facts: Env | None
    labels: Mapping[str, str] = {}
    why: UserError | None = None


@dataclass(frozen=True)
class Unit:
    """One request to an engine. files: for parameters that name files, those of here, which are
    there then; a parameter with a list has a list. output: the file of here that gets what the
    engine wrote as its parameter ``output``; "" where it writes none.
    """

    op: str
    params: Mapping[str, object]
    files: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    output: str = ""


class Lost(Exception):
    """The node is gone, or the way to it, and with it what ran there. why: for people. for_good: to
    ask it again is of no use.
    """

    def __init__(self, why: UserError, for_good: bool = False) -> None:
        super().__init__(why.what)
        self.why, self.for_good = why, for_good


class Answer:
    """What an engine says of a unit, its only request, whatever way the words come."""

    def __init__(self, op: str) -> None:
        self._op = op
        #: Its last word, once that has come; whether it has said that it is an engine.
        self.told: Message | None = None
        self.greeted = False

    def take(self, message: Message, heard: Heard) -> None:
        """Raises WireError for what no engine says."""
        if message.type == "hello":
            if message.body.get("protocol") != PROTOCOL:
                raise WireError("another protocol")
            self.greeted = True
        # An error of no request is of this one, which was not understood.
        if self.told or not (message.id == 1 or message.type == "error"):
            return
        why = unfit(message, self._op)
        if message.type in ("result", "error"):
            if why:
                raise WireError(why)
            self.told = message
        elif not why:  # to end for a finding would cut off what it does
            heard(message)


#: Bytes of the bundle of a unit at most, and those that stay free on the disk.
MOST_BYTES, _FREE = 64 << 30, 256 << 20


def check_size(size: int, file: str) -> None:
    """Before a bundle comes that is said to have so many bytes: whether a file of here takes it.
    Raises UserError.
    """
    from torchkeeper.client.words import say
    from torchkeeper.client.words.problems import user_error

    room = min(shutil.disk_usage(os.path.dirname(file)).free - _FREE, MOST_BYTES)
    if size > room:
        about = {"size": say.size(size), "room": say.size(max(room, 0))}
        raise user_error("fleet-too-large", about)


class Target(ABC):
    """Machines that are reached in one way. Its methods may be called from several threads."""

    #: As people name it: ``local``, ``ssh://gpu1``, ``slurm``.
    name: str
    #: Whether nobody else gives out what a node has: then one compile job does as many cells at a
    #: time as the node has slots, and its processes, which take long to start, are fewer.
    alone = False

    @abstractmethod
    def nodes(self) -> list[Node]:
        """Who is there; waits. Raises UserError where nobody can be asked at all."""

    @abstractmethod
    def run(self, node: Node, unit: Unit, heard: Heard, stop: threading.Event) -> Any:
        """The result of a unit, which is of its operation's type; waits. ``stop`` asks for an early
        end. Raises Lost, and UserError for what the engine answers; no file is left there.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of it; nothing of ours goes on there."""
