"""A fleet in which something is killed at a random point, and what holds then, whatever that was:
nothing that was gathered is lost, the same command finishes it, and no cell is compiled more than
once more than it had to be.
"""

from __future__ import annotations

import contextlib
import random
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.fleet.conftest import CELLS, Run, Warm, keys
from torchkeeper.artifacts.report import Report
from torchkeeper.client.words.problems import UserError
from torchkeeper.fleet.state import State
from torchkeeper.stores.bundles.bundle import Bundle

#: Points at which something is killed.
POINTS = 30
#: What a fleet tells of cells while it warms them: that each begins, and that it is warm.
TOLD = 2 * CELLS
#: Seconds at most between what is told and the kill.
_WITHIN = 2.0

#: Kills something; gets the engine that runs the fleet.
Kill = Callable[[Any], None]


class Cut(NamedTuple):
    """What came of a fleet in which something was killed. ran: None where it failed, with error.
    compiled: how often each cell was begun.
    """

    ran: Run | None
    error: UserError | None
    compiled: Counter[str]


def cut(
    warm: Warm, place: Path, chance: random.Random, kill: Kill,
    dead: Callable[[str], bool] = lambda _: False, **asked: Any,
) -> Cut:  # fmt: skip
    """Warm the matrix, and kill something once so much has been told of it, nothing yet perhaps.
    dead: whether a node is, so that what is still tried there is compiled by nobody.
    """
    left, within = chance.randrange(TOLD), chance.uniform(0, _WITHIN)
    come, killing = threading.Event(), list[threading.Thread]()
    begun = Counter[str]()

    def begin(engine: Any) -> None:
        def at_the_point() -> None:
            come.wait()
            over.wait(within)  # or until it is over
            kill(engine)

        killing.append(threading.Thread(target=at_the_point))
        killing[0].start()
        if not left:
            come.set()

    def hear(message: Any, _: Any) -> None:
        nonlocal left
        if message.type != "finding" or "cell" not in message.body:
            return
        cell = message.body["cell"]
        if cell["state"] == "compiling" and not dead(cell["node"]):
            begun[cell["cell"]] += 1
        left -= 1
        if left <= 0:
            come.set()

    over = threading.Event()
    ran, error = None, None
    try:
        ran = warm(place, hear, begin, **asked)
    except UserError as e:
        error = e
    finally:
        come.set()
        over.set()
        for thread in killing:
            thread.join()
    return Cut(ran, error, begun)


def hold(warm: Warm, first: Cut, place: Path, state: Path, **asked: Any) -> Run:
    """What holds after such a fleet; the same command, which finishes it."""
    before = State(str(state))
    before.read()
    kept = keys(place) if place.exists() else set[tuple[str, str]]()
    for file in before.pending.values():
        with contextlib.suppress(FileNotFoundError), Bundle(file, Report()) as bundle:
            kept |= {(item.kind, item.key) for item in bundle.items(Report())}
    last = warm(place, **asked)
    assert last.result["states"]["warm"] == CELLS, last.cells
    assert kept <= keys(place)
    assert len(keys(place)) == CELLS
    assert not before.done.keys() & set(last.compiled), "what is known as done is done"
    assert max((first.compiled + Counter(last.compiled)).values()) <= 2
    assert not list((state / "bundles").iterdir())
    return last
