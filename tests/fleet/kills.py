"""Something is killed while a fleet warms a place: what holds then, whatever it is."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fleet.conftest import CELLS, Run, Warm, keys
from torchkeeper.client.words.problems import UserError


def survives(
    warm: Warm, tmp_path: Path, kill: Callable[[Any], None], at: int, outlives: bool,
    mend: Callable[[], None] = lambda: None, dead: Callable[[str], bool] = lambda _: False,
    **asked: Any,
) -> str:  # fmt: skip
    """What was gathered stays, the same command finishes it, and no cell is compiled more than once
    more than needed. kill: is called with the fleet's engine after so many findings. outlives: the
    fleet itself is to finish. mend: what is done before the command is given again. dead: whether a
    node is, so that what is still tried there is compiled by nobody. Says what came of it.
    """
    place, runs, begun = tmp_path / "place", list[Run](), Counter[str]()
    found, killers = itertools.count(), list[threading.Thread]()

    def heard(message: Any, engine: Any) -> None:
        if message.type != "finding":
            return
        cell = message.body.get("cell", {})
        if cell.get("state") == "compiling" and not dead(cell["node"]):
            begun[cell["cell"]] += 1
        if next(found) == at:
            killers.append(threading.Thread(target=kill, args=(engine,)))
            killers[0].start()

    with contextlib.suppress(UserError):
        runs.append(warm(place, heard, **asked))
    assert killers, "it was over before"
    killers[0].join()
    if outlives:
        assert runs, "a fleet outlives it"
        assert runs[0].result["states"]["warm"] == CELLS, runs[0].cells
    mend()
    gathered = keys(place) if place.exists() else set[tuple[str, str]]()
    last = warm(place, **asked)
    assert last.result["states"]["warm"] == CELLS, last.cells
    assert gathered <= keys(place)
    assert len(keys(place)) == CELLS
    total = begun + Counter(last.compiled)
    assert max(total.values()) <= 2, (Counter(begun.values()), Counter(total.values()))
    assert not os.listdir(tmp_path / "state/bundles")
    twice = sum(one - 1 for one in total.values())
    return f"{len(gathered)} gathered, {last.result['compiled']} compiled again, {twice} twice"
