"""Whether a recipe of what a program compiled makes the same again: what is judged, and in words.

Each of its cells was run once, in a fresh process, on a copy of what the program left in its cache
and nothing else (``cli.proving``). What the program has just compiled must be found there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import user_error
from torchkeeper.client.words.tongue import Text, tr

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import CellFinding
    from torchkeeper.verdict.shapes import GraphTold

#: What says nothing of the recipe: this machine cannot run it now, or PyTorch caches none of it.
_NOT_KNOWN = frozenset({
    "device-missing", "disk-full", "place-unwritable", "torch-missing", "torch-broken",
    "threads-not-taken", "caches-disabled", "compile-disabled", "compiler-missing", "place-blank",
    "warm-killed", "warm-timeout", "nothing-cached",
})  # fmt: skip
_TRIED: Text = "Tried: {n} of {all} found what the program compiled"
_PROVED: Text = "Proved: {n} of {all} found what the program compiled, in a fresh process"
#: Graphs that a reason names.
_NAMED = 3


@dataclass(frozen=True)
class Proof:
    """What became of it. good: cells that found it; why: what is wrong; unproved: why unknown."""

    good: int = 0
    of: int = 0
    why: list[str] = field(default_factory=list)
    unproved: str = ""

    @property
    def said(self) -> str:
        """It in a line."""
        if self.unproved:
            return tr("Not proved: {why}", why=self.unproved)
        every = say.count(self.of, "combination", "combinations")
        return tr(_TRIED if self.why else _PROVED, n=self.good, all=every)

    def to_json(self) -> Mapping[str, object]:
        """As one flat JSON object."""
        proved = None if self.unproved else not self.why
        return {"proved": proved, "good": self.good, "of": self.of, "why": self.why,
                "unproved": self.unproved or None}  # fmt: skip


def looked_up(graphs: Iterable[GraphTold]) -> dict[str, str]:
    """The keys of what a program compiled or found (``explain_trace``), with the graphs' names."""
    found: dict[str, str] = {}
    for graph in graphs:
        cause = graph.get("cause")
        failed = cause is not None and cause["code"] in ("failed", "cut")
        if (key := graph.get("key")) and graph["outcome"] in ("hit", "miss") and not failed:
            found[key] = graph["name"] or graph["id"]
    return found


def is_backward(ident: str) -> bool:
    """Whether a graph of this id is of a backward pass (``Graphs`` in warm/traces/graphs.py)."""
    return " backward" in ident


def judged(
    program: Mapping[str, str], cells: Sequence[CellFinding], missed: Collection[int],
    found: Collection[str],
) -> Proof:  # fmt: skip
    """The proof. program: as of ``looked_up``. cells: as ``warm`` tells them. missed: indexes of
    those of which a graph was not found, but for backward passes, which not every program compiles.
    found: keys that hit: all of the program's must, as a cell may find another's graph.
    """
    why, unknown = list[str](), list[str]()
    for cell in cells:
        if problem := cell.get("problem"):
            error = user_error(problem["code"], problem["params"])
            if error.code in _NOT_KNOWN:
                unknown.append(f"{cell['name']}: {error.what}".rstrip("."))
            else:
                why.append(f"{cell['name']} cannot be made again: {error.what}".rstrip("."))
        # Of graphs that AOTAutograd's entries hold themselves, those alone are counted.
        elif cell["index"] in missed or not (
            cell.get("hits") or ("autograd" in cell and cell["autograd"]["hits"])
        ):
            why.append(
                f"{cell['name']} is made in another way here than in the program: its graph was "
                "not found (it, or what it uses, may have been changed after it was built)"
            )
    bad = len(why)
    if unknown and not why:
        return Proof(unproved=unknown[0])
    rest = {key: name for key, name in program.items() if key not in found}
    if rest and not why:
        names = list(dict.fromkeys(rest.values()))
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        what = say.count(len(rest), "graph", "graphs")
        why.append(
            f"{what} that the program compiled ({', '.join(names[:_NAMED])}{more}) "
            f"{'was' if len(rest) == 1 else 'were'} not asked for: something was changed after it "
            "was built, or is compiled where it cannot be heard"
        )
    return Proof(len(cells) - bad - len(unknown), len(cells), why)
