"""What a node says that it has done, held against what it has sent. That it is right only a proof
on another node tells; but what nobody has is not warm.

What a node sends besides the entries that its cells name stays, if a unit of such recipes can make
its kind: a compile leaves entries that nobody looks up by itself, as the code of graphs, and a node
that lies can name what it likes. What protects the place is that an entry which is there is never
replaced (``stores.copying.copy``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from torchkeeper.artifacts.entry import PORTABLE
from torchkeeper.fleet.cells import Cell
from torchkeeper.fleet.state import Done, Name

#: Entries that one unit brings at most.
MOST = 200_000
#: Entries that are named in a reason.
_NAMED = 3


def kinds_of(cells: Sequence[Cell]) -> frozenset[str]:
    """The kinds of entries that compiling cells can make."""
    alone = all(cell.row["source"] == "triton" for cell in cells)
    return frozenset({"triton"}) if alone else PORTABLE


def unmet(done: Mapping[str, Done], known: Collection[Name]) -> dict[str, str]:
    """The cells of which a node says that they are done and which are not warm, each with why.
    known: the entries that it has sent, and that there were.
    """
    found = {}
    for ident, one in done.items():
        lacking = sorted(name for name in one.named if name not in known)
        if not one.named:
            found[ident] = "The node says that it is done, and names no entry."
        elif lacking:
            some = ", ".join(f"{kind} {key}" for kind, key in lacking[:_NAMED])
            more = f" and {len(lacking) - _NAMED:,} more" if len(lacking) > _NAMED else ""
            found[ident] = (
                "The node says that it is done, but neither what it has sent nor the place has "
                f"{some}{more}."
            )
    return found
