"""Places that are looked at in one command: those of one machine one after the other, and machines
at the same time, so that one that hangs holds up no other.
"""

from __future__ import annotations

import argparse
import queue
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, TypeVar

from torchkeeper.cli import output
from torchkeeper.cli.asking import Asker, engine_at
from torchkeeper.client.engines.questions import Asking
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.client.engines.process import Engine
    from torchkeeper.engine.messages.findings import LeftFinding

T = TypeVar("T")
#: Where several machines are asked: the seconds after which a silent one is given up; and after
#: which one is whose engine says nothing new. The longest that ends by itself is ``probes.LIMIT``.
PATIENCE, ANSWER = 30.0, 240.0
#: How many are asked at a time; one that is silent for ``SOON`` seconds counts no longer.
AT_ONCE, SOON = 32, 10.0
#: How many are named of those that are waited for.
_NAMED = 3
_HERE = "this machine"


@dataclass
class Looked:
    """What came of looking at places besides what they hold: how many were looked at, and what was
    wrong with others.
    """

    count: int = 0
    failed: list[UserError] = field(default_factory=list)
    left: list[LeftFinding] = field(default_factory=list)
    unreadable: bool = False

    def add(self, other: Looked) -> None:
        self.count += other.count
        self.failed += other.failed
        self.left += other.left
        self.unreadable = self.unreadable or other.unreadable

    @property
    def short(self) -> bool:
        """Whether not all could be looked at, or not whole."""
        return bool(self.failed) or self.unreadable


class _Turn(threading.local):
    """Whether the machine that this thread looks at is one of AT_ONCE, and what ends that."""

    over: Callable[[], None] | None = None

    def end(self) -> None:
        over, self.over = self.over, None
        if over:
            over()

    def silent(self, engine: Engine, quiet: float) -> None:
        """As of ``Engine.silent``."""
        from torchkeeper.client.engines import line

        if quiet > SOON:
            self.end()
        if quiet > ANSWER:
            about = {"machine": engine.machine or _HERE, "seconds": round(ANSWER)}
            error = user_error("machine-stuck", about)
            if way := line.standing(engine.machine):
                way.give_up(error)
            raise error


def at_once(
    machines: Sequence[str], look: Callable[[str], T], quiet: bool = False
) -> Iterator[tuple[str, T | UserError]]:
    """What a look at each machine comes to, or why there is none, as they come. ssh asks nothing
    where there are several: nobody could tell which of them it is. quiet: a terminal does not show
    which are waited for.
    """
    if len(machines) == 1:
        try:
            yield machines[0], look(machines[0])
        except UserError as error:
            yield machines[0], error
        return
    from torchkeeper.client.engines import line, travel
    from torchkeeper.client.engines.process import Engine

    travel.archive()  # once, for all
    came: queue.SimpleQueue[tuple[str, T | BaseException]] = queue.SimpleQueue()
    slots, turn = threading.Semaphore(AT_ONCE), _Turn()

    def work(machine: str) -> None:
        turn.over = slots.release
        try:
            if machine and not line.to(machine).answers(SOON):
                turn.end()
                line.to(machine).hello(PATIENCE)
            if machine:
                line.to(machine).hello()
            found: T | BaseException = look(machine)
        except BaseException as error:  # noqa: BLE001 - whoever waits has to hear of it
            found = error
        # All at the same time: the command ends when the last has.
        line.leave(machine)
        turn.end()
        came.put((machine, found))

    def start() -> None:
        for machine in machines:
            slots.acquire()
            threading.Thread(target=work, args=(machine,), name="machine", daemon=True).start()

    Asking.silent, Engine.silent = True, turn.silent
    threading.Thread(target=start, name="machines", daemon=True).start()
    waited, progress = list(machines), output.Progress(quiet)
    try:
        while waited:
            progress.update(_waits(waited, len(machines)))
            machine, found = came.get()
            waited.remove(machine)
            if isinstance(found, BaseException) and not isinstance(found, UserError):
                raise found
            yield machine, found
    finally:
        progress.clear()


def _waits(waited: Sequence[str], of: int) -> str:
    """How many have answered, and who has not where that is few."""
    text = f"{of - len(waited)} of {of} machines have answered"
    if len(waited) == of or len(waited) > _NAMED:
        return text
    return f"{text}; waiting for {', '.join(printable(one or _HERE, 60) for one in waited)}"


def at_each(
    args: argparse.Namespace, places: Sequence[str], look: Callable[[Asker, str], None]
) -> Looked:
    """Look at each place, by an engine of its machine. Raises UserError where none could be looked
    at, which is said of the others before.
    """
    machines: dict[str, list[str]] = defaultdict(list)
    for place in places:
        machines[scheme_of(place).way(place)].append(place)

    def at(way: str) -> Looked:
        # A server that only this machine reaches is asked by an engine of here.
        one, some = Looked(), machines[way]
        for machine in dict.fromkeys(scheme_of(place).machine(place) for place in some):
            one.add(ask(machine, [x for x in some if scheme_of(x).machine(x) == machine]))
        return one

    def ask(machine: str, some: list[str]) -> Looked:
        one = Looked()
        with engine_at(args, machine) as engine:
            asker = Asker(engine, args.json or len(machines) > 1)
            for place in some:
                try:
                    look(asker, place)
                    one.count += 1
                except UserError as error:
                    one.failed.append(error)
        one.left, one.unreadable = asker.left, asker.unreadable
        return one

    told, failed = answers(list(machines), at, args.json)
    looked = Looked(failed=list(failed.values()))
    for one in told.values():
        looked.add(one)
    if not looked.count:
        _raise(looked.failed)
    return looked


def answers(
    machines: Sequence[str], look: Callable[[str], T], quiet: bool
) -> tuple[dict[str, T], dict[str, UserError]]:
    """What a look at each machine comes to, in their order, and why there is none at others. Raises
    UserError where there is none at all, which is said of the others before. quiet: as of
    ``at_once``.
    """
    told, failed = dict[str, T](), dict[str, UserError]()
    for machine, found in at_once(machines, look, quiet):
        if isinstance(found, UserError):
            failed[machine] = found
        else:
            told[machine] = found
    if not told:
        _raise(list(failed.values()))
    return {machine: told[machine] for machine in machines if machine in told}, failed


def _raise(errors: list[UserError]) -> NoReturn:
    last = errors.pop()
    for other in errors:
        if other.args != last.args:
            output.complain(other)
    raise last
