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
from torchkeeper.client.words.problems import UserError
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import LeftFinding

T = TypeVar("T")
#: Where several machines are asked: the seconds after which a silent one is given up.
PATIENCE = 30.0
#: How many are asked at a time; one that is silent for ``SOON`` seconds counts no longer.
AT_ONCE, SOON = 32, 10.0


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


def at_once(
    machines: Sequence[str], look: Callable[[str], T]
) -> Iterator[tuple[str, T | UserError]]:
    """What a look at each machine comes to, or why there is none, as they come. ssh asks nothing
    where there are several: nobody could tell which of them it is.
    """
    if len(machines) == 1:
        try:
            yield machines[0], look(machines[0])
        except UserError as error:
            yield machines[0], error
        return
    from torchkeeper.client.engines import line, travel

    travel.archive()  # once, for all
    came: queue.SimpleQueue[tuple[str, T | BaseException]] = queue.SimpleQueue()

    slots = threading.Semaphore(AT_ONCE)

    def work(machine: str) -> None:
        try:
            if machine and not line.to(machine).answers(SOON):
                slots.release()
                try:
                    line.to(machine).hello(PATIENCE)
                finally:
                    slots.acquire()
            if machine:
                line.to(machine).hello()
            found: T | BaseException = look(machine)
        except BaseException as error:  # noqa: BLE001 - whoever waits has to hear of it
            found = error
        line.leave(machine)  # all at the same time: the command ends when the last has
        slots.release()
        came.put((machine, found))

    def start() -> None:
        for machine in machines:
            slots.acquire()
            threading.Thread(target=work, args=(machine,), name="machine", daemon=True).start()

    Asking.silent = True
    threading.Thread(target=start, name="machines", daemon=True).start()
    for _ in machines:
        machine, found = came.get()
        if isinstance(found, BaseException) and not isinstance(found, UserError):
            raise found
        yield machine, found


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

    told, failed = answers(list(machines), at)
    looked = Looked(failed=list(failed.values()))
    for one in told.values():
        looked.add(one)
    if not looked.count:
        _raise(looked.failed)
    return looked


def answers(
    machines: Sequence[str], look: Callable[[str], T]
) -> tuple[dict[str, T], dict[str, UserError]]:
    """What a look at each machine comes to, in their order, and why there is none at others. Raises
    UserError where there is none at all, which is said of the others before.
    """
    told, failed = dict[str, T](), dict[str, UserError]()
    for machine, found in at_once(machines, look):
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
