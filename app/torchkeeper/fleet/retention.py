"""What no cell of a fleet needs any more of what its own runs have put into the place: it goes from
a folder, through a plan and into the trash, as of any purge, and not along to other places.

What the place had before, or got from anybody else, stays, and so does what that needs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from torchkeeper.artifacts.entry import UNREAD
from torchkeeper.engine.protocol import DETAIL, HOLD, LIST, PLAN_PURGE, PURGE, RECOVER
from torchkeeper.fleet.state import Name, State

if TYPE_CHECKING:
    from torchkeeper.engine.messages import Select

#: Of an engine: the result of one operation, its rows, and what it found. Raises UserError.
Ask = Callable[[str, Mapping[str, object]], tuple[Any, list[Any], Sequence[Any]]]
#: Kinds of what a program looks up; the rest is needed by these.
_LOOKED_UP = frozenset({"fxgraph", "aotautograd", "triton", "aoti_eager"})
#: Keys that an entry names of those that it needs, and entries that are asked for theirs: where
#: there are as many, not all are known.
_MOST_KEYS, _MOST_ASKED = 500, 5000


class Outdated(NamedTuple):
    """graphs: those that are looked up, by no cell that is asked for. rest: what came with any."""

    graphs: frozenset[Name]
    rest: frozenset[Name]


def outdated(state: State, cells: Collection[str]) -> Outdated:
    """What a fleet has put into its place that none of these cells looks up, by their idents. What
    was there when it came, or who says so, is another's.
    """
    now = [state.done[one] for one in cells if one in state.done]
    stays = {name for one in now for name in one.named}
    # Of one that names nothing, all that came with it may be its.
    stays.update(*(state.new.get(one.unit, frozenset()) for one in now if not one.named))
    found = frozenset().union(*state.ours.values()) - stays
    graphs = frozenset(one for one in found if one[0] in _LOOKED_UP)
    return Outdated(graphs, found - graphs)


def without(state: State, cells: Collection[str], gone: Outdated) -> frozenset[Name]:
    """What of a place does not go along to others: what ``unneeded`` has left, and what came with
    such cells alone. What the rest needs of it goes along all the same.
    """
    units = {state.done[one].unit for one in cells if one in state.done}
    theirs = frozenset().union(*(state.new.get(unit, frozenset()) for unit in units))
    return gone.graphs | (gone.rest - theirs)


def unneeded(place: str, gone: Outdated, rows: Sequence[Any], ask: Ask) -> Outdated:
    """The same without what entries need that stay: graphs of which a record of AOTAutograd's tells
    that is not the fleet's, records of graphs that stay, and kernels of such graphs. rows: of the
    place. Raises UserError.
    """
    graphs = set(gone.graphs)
    if not graphs:
        return gone
    records = [row for row in rows if row["kind"] == "aotautograd"]
    if len(records) > _MOST_ASKED:
        return Outdated(frozenset(), gone.rest)
    keys = [_needs(place, row, "fx_keys", ask) for row in records]
    own = [_name(row) in graphs for row in records]
    for row, mine, some in zip(records, own, keys, strict=True):
        if not mine and (row["problem"] in UNREAD or len(some) >= _MOST_KEYS):
            return Outdated(frozenset(), gone.rest)  # nobody knows all that it needs
    for mine, some in zip(own, keys, strict=True):
        if not mine:
            graphs -= {("fxgraph", key) for key in some}
    for row, mine, some in zip(records, own, keys, strict=True):
        # One that holds its graphs itself tells of none: its cell has looked it up.
        if mine and any(("fxgraph", key) not in graphs for key in some):
            graphs.discard(_name(row))
    if any(kind == "triton" for kind, _ in graphs):
        graphs -= {("triton", key) for key in _kernels(place, graphs, rows, ask)}
    return Outdated(frozenset(graphs), gone.rest)


def _kernels(place: str, graphs: Collection[Name], rows: Sequence[Any], ask: Ask) -> Iterator[str]:
    """The kernels of graphs that stay; where not all are known, each that there is."""
    stay = [row for row in rows if row["kind"] == "fxgraph" and _name(row) not in graphs]
    known = len(stay) <= _MOST_ASKED
    for row in stay if known else ():
        some = _needs(place, row, "triton_keys", ask)
        known = known and len(some) < _MOST_KEYS and not row["problem"]
        yield from some
    if not known:
        yield from (key for kind, key in graphs if kind == "triton")


def _name(row: Any) -> Name:
    return str(row["kind"]), str(row["key"])


def _needs(place: str, row: Any, what: str, ask: Ask) -> Sequence[str]:
    found = ask(DETAIL, {"place": place, "kind": row["kind"], "path": row["path"]})[2]
    return next((one["detail"]["needs"].get(what, ()) for one in found if "detail" in one), ())


def prune(place: str, gone: Outdated, after: float, ask: Ask) -> tuple[dict[str, int], set[Name]]:
    """Move it to the trash of a folder, as far as nothing has used it for ``after`` seconds; how
    many entries and bytes that were, and which. Raises UserError.
    """
    done, went = {"entries": 0, "bytes": 0}, set[Name]()
    rows = ask(LIST, {"place": place})[1] if gone.graphs else []
    gone = unneeded(place, gone, rows, ask)
    if not gone.graphs:
        return done, went
    ask(RECOVER, {"place": place})
    # Code first loses the graphs that name it: an orphan is what nothing needs then.
    steps: list[tuple[frozenset[Name], Select]] = [
        (gone.graphs, {"older": after}), (gone.rest, {"orphans": True})
    ]  # fmt: skip
    for names, select in steps:
        before = [row for row in rows if _name(row) in names]
        if not before:
            continue
        hold(before, ask)
        asked = {"place": place, "select": {**select, "held": True}, "rows": False}
        plan = ask(PLAN_PURGE, asked)[0]
        if plan["files"]:
            answer = ask(PURGE, {"place": place, "plan": plan["plan"]})[0]
            for name in done:
                done[name] += answer[name]
            rows = ask(LIST, {"place": place})[1]
            went |= {_name(row) for row in before} - {_name(row) for row in rows}
    return done, went


def hold(rows: Sequence[Any], ask: Ask) -> None:
    """Have an engine know which entries are meant by ``held``. Raises UserError."""
    items = [(row["kind"], row["path"]) for row in rows]
    for start in range(0, len(items), 1000):
        ask(HOLD, {"items": items[start : start + 1000]})
