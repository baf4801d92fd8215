"""What goes from the folder of a fleet: what its own runs have put there for cells that are not
asked for any more. Through a plan and into the trash, as of any purge.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from torchkeeper.engine.protocol import HOLD, LIST, PLAN_PURGE, PURGE, RECOVER
from torchkeeper.fleet.state import State

if TYPE_CHECKING:
    from torchkeeper.engine.messages import Select

#: Of an engine: the result of one operation, and its rows. Raises UserError.
Ask = Callable[[str, Mapping[str, object]], tuple[Any, list[Any]]]
#: Kind and key.
Name = tuple[str, str]


class Outdated(NamedTuple):
    """graphs: those that only cells have looked up which are not asked for any more. rest: what
    came with them.
    """

    graphs: frozenset[Name]
    rest: frozenset[Name]


def outdated(state: State, cells: Collection[str]) -> Outdated:
    """What a fleet has put into its place for other cells than these, by their idents. What was
    there when it came, or who says so, is another's.
    """
    now = [state.done[one] for one in cells if one in state.done]
    units = {one.unit for name, one in state.done.items() if name not in cells}
    units -= {one.unit for one in now}
    found = {one for unit in units for one in state.ours.get(unit, ())}
    looked_up = {name for one in now for name in one.named}
    stays = looked_up.union(*(state.new.get(one.unit, frozenset()) for one in now))
    graphs = frozenset(one for one in found - stays if one[0] == "fxgraph")
    return Outdated(graphs, frozenset(found - stays - graphs))


def prune(place: str, gone: Outdated, after: float, ask: Ask) -> dict[str, int]:
    """Move it to the trash of a folder, as far as nothing has used it for ``after`` seconds; how
    many entries and bytes that were. Raises UserError.
    """
    done = {"entries": 0, "bytes": 0}
    if not gone.graphs:
        return done
    ask(RECOVER, {"place": place})
    # Code first loses the graphs that name it: an orphan is what nothing needs then.
    steps: list[tuple[frozenset[Name], Select]] = [
        (gone.graphs, {"older": after}), (gone.rest, {"orphans": True})
    ]  # fmt: skip
    for names, select in steps:
        rows = ask(LIST, {"place": place})[1]
        items = [(row["kind"], row["path"]) for row in rows if (row["kind"], row["key"]) in names]
        if not items:
            continue
        for start in range(0, len(items), 1000):
            ask(HOLD, {"items": items[start : start + 1000]})
        plan, _ = ask(
            PLAN_PURGE, {"place": place, "select": {**select, "held": True}, "rows": False}
        )
        if plan["files"]:
            answer, _ = ask(PURGE, {"place": place, "plan": plan["plan"]})
            for name in done:
                done[name] += answer[name]
    return done
