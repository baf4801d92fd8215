"""The cells of one fleet and its nodes, as findings tell them, and what is said of them.

Nothing here is shown as it came: whoever shows a name or a line makes it printable.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.gui.matrix.variants import LINES, Log, is_time, source_words

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Fault
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.engine.messages.fleet import CellFinding, NodeFinding

_tr = partial(QCoreApplication.translate, "Cells")

#: Cells and nodes that are kept, and cells whose logs are: those of which something came last.
MOST, _NODES, _LOGS = 200_000, 10_000, 400
#: Characters of a name.
_TEXT = 200

PROVEN, WARM, PARTLY, FAILED, IMPOSSIBLE = "proven", "warm", "partly", "failed", "impossible"
WAITING, COMPILING, PROVING = "waiting", "compiling", "proving"
#: States that somebody works on; those that are no good.
AT_WORK = frozenset({COMPILING, PROVING})
BAD = frozenset({PARTLY, FAILED, IMPOSSIBLE})
#: Those of what a node has compiled.
HAD = frozenset({PROVEN, WARM, PARTLY, PROVING})
_MARKS = {
    PROVEN: ("proven", "good"),
    WARM: ("done", "good"),
    PARTLY: ("warning", "warning"),
    FAILED: ("error", "warning"),
    IMPOSSIBLE: ("cancel", "muted"),
    WAITING: ("queued", "muted"),
    COMPILING: ("running", "accent"),
    PROVING: ("verify", "accent"),
}


@dataclass
class Cells:
    """The cells of a fleet, in their order. rows: by ident; order: the idents. changed: those that
    have changed since it was emptied. nodes: by name. gathered: what came of each node, as entries
    and bytes. has: how many cells each node has compiled; at: the cells that each is at.
    """

    rows: dict[str, CellFinding] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    changed: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    nodes: dict[str, NodeFinding] = field(default_factory=dict)
    gathered: dict[str, tuple[int, int]] = field(default_factory=dict)
    has: Counter[str] = field(default_factory=Counter)
    at: dict[str, dict[str, None]] = field(default_factory=dict)
    logs: OrderedDict[str, Log] = field(default_factory=OrderedDict)

    def __bool__(self) -> bool:
        return bool(self.rows or self.nodes)

    def hear(self, found: Finding) -> bool:
        """Note ``cells``, a ``cell``, its ``cell_log``, a ``node`` and what was ``gathered``."""
        if "cells" in found:
            self.take(found["cells"])
        elif "cell" in found:
            self.take([found["cell"]])
        elif "cell_log" in found:
            self._hear_line(found["cell_log"]["cell"], found["cell_log"]["line"])
        elif "node" in found:
            self.take_node(found["node"])
        elif "gathered" in found:
            one = found["gathered"]
            entries, size = self.gathered.get(one["node"], (0, 0))
            self.gathered[one["node"]] = entries + one["entries"], size + one["bytes"]
        else:
            return False
        return True

    def take_node(self, node: NodeFinding) -> None:
        """What is known of a node."""
        if node["name"] in self.nodes or len(self.nodes) < _NODES:
            self.nodes[node["name"]] = node

    def take(self, some: Iterable[CellFinding]) -> None:
        """What has become of cells; a new one comes last."""
        rows, order, counts = self.rows, self.order, self.counts
        for one in some:
            ident, state = one["cell"], one["state"]
            before = rows.get(ident)
            if before is None:
                if len(rows) >= MOST:
                    continue
                order.append(ident)
            else:
                counts[before["state"]] -= 1
                self._count(before, -1)
            counts[state] += 1
            rows[ident] = one
            self._count(one, 1)
            self.changed.add(ident)

    def _count(self, one: CellFinding, by: int) -> None:
        state = one["state"]
        if state in AT_WORK:
            node = _where(one)
            if by > 0:
                self.at.setdefault(node, {})[one["cell"]] = None
            else:
                self.at.get(node, {}).pop(one["cell"], None)
        if state in HAD:
            self.has[one.get("node", "")] += by

    def _hear_line(self, ident: str, line: str) -> None:
        if ident not in self.rows:
            return
        log = self.logs.setdefault(ident, Log())
        self.logs.move_to_end(ident)
        log.hear(line)
        if len(self.logs) > _LOGS:
            self.logs.popitem(last=False)
        self.changed.add(ident)

    def log_of(self, ident: str) -> Log | None:
        """What is known of what a cell says: of one that has ended, what its result says."""
        told = self.rows[ident].get("log")
        if told:
            lines, known = [line[:2000] for line in told[-LINES:]], self.logs.get(ident)
            if known is None or known.log != lines:
                self.logs[ident] = Log(log=lines)
        return self.logs.get(ident)

    def end(self) -> None:
        """Nobody is at work any more: what was begun is to be done again."""
        for ident in [one for some in self.at.values() for one in some]:
            row = self.rows[ident]
            self.take([{**row, "state": WAITING if row["state"] == COMPILING else WARM}])

    def bad(self, prove: bool) -> int:
        """How many are not what was asked for."""
        counts = self.counts
        return len(self.rows) - counts[PROVEN] - (0 if prove else counts[WARM])

    def part(self, prove: bool) -> float | None:
        """How much of it is done, from 0 to 1; None while nothing is known."""
        counts = self.counts
        if not self.rows:
            return None
        half = counts[WARM] + counts[PROVING]
        over = sum(counts[state] for state in (PROVEN, PARTLY, FAILED, IMPOSSIBLE))
        return (over + (half / 2 if prove else half)) / len(self.rows)

    @property
    def undone(self) -> int:
        """How many are to be done again: what failed, is only partly found, or still waits."""
        return sum(self.counts[state] for state in (PARTLY, FAILED, WAITING, *AT_WORK))


def _where(cell: CellFinding) -> str:
    """The node that is at a cell."""
    return cell.get("node", "") if cell["state"] == COMPILING else cell.get("proved_on", "")


def state_words(state: str) -> str:
    return {
        PROVEN: _tr("proven"),
        WARM: _tr("warm"),
        PARTLY: _tr("partly"),
        FAILED: _tr("failed"),
        IMPOSSIBLE: _tr("not possible"),
        WAITING: _tr("waiting"),
        COMPILING: _tr("compiling"),
        PROVING: _tr("proving"),
    }.get(state, printable(state, 40))


def node_words(state: str) -> str:
    """The state of a node."""
    return {
        "ready": _tr("ready"),
        "lost": _tr("lost"),
        "waiting": _tr("tried again"),
        "unusable": _tr("not usable"),
    }.get(state, printable(state, 40))


def about(state: str) -> str:
    """What a state means."""
    return {
        PROVEN: _tr("Another node found everything in the gathered cache, and built nothing"),
        WARM: _tr("Compiled, and in the place; not proven yet"),
        PARTLY: _tr("A node that tried the gathered cache did not find everything"),
        FAILED: _tr("Could not be compiled on any node that tried it"),
        IMPOSSIBLE: _tr("No node has what it needs"),
        WAITING: _tr("Waits for a node"),
        COMPILING: _tr("A node compiles it"),
        PROVING: _tr("A node looks whether it finds everything in the gathered cache"),
    }.get(state, "")


def mark(state: str) -> tuple[str, str]:
    """The icon of a state and the name of its colour."""
    return _MARKS.get(state, _MARKS[WAITING])


def name_of(cell: CellFinding, several: bool = True) -> str:
    """What the variant of a cell is called; of ``several`` recipes with its own."""
    name, recipe = printable(cell.get("name", ""), _TEXT), printable(cell.get("recipe", ""), 80)
    if several and name and not name.startswith(recipe):
        return f"{recipe} · {name}"
    return name or recipe or printable(cell["cell"], 40)


def kind_words(kind: str) -> str:
    """What a kind of nodes is called."""
    return printable(kind, _TEXT) if kind else _tr("Any node")


def more(cell: CellFinding) -> str:
    """What is said of a cell besides its state: where it is or how long it took."""
    state, cold, found = cell["state"], cell.get("seconds"), cell.get("found")
    if state in AT_WORK:
        return printable(_where(cell), 80)
    if is_time(cold) and cold and state in (PROVEN, WARM, PARTLY):
        told = say.seconds(cold)
        again = is_time(found) and found and state != WARM
        return f"{told} → {say.seconds(found)}" if again and found else told
    return ""


def short(cell: CellFinding) -> str:
    """What is said of a cell in the matrix: its state, and more of it."""
    return " · ".join(filter(None, (state_words(cell["state"]), more(cell))))


def error_of(problem: Fault | None) -> UserError | None:
    """Why a cell, or a node, is no good."""
    return user_error(problem["code"], problem["params"]) if problem else None


def told(cell: CellFinding) -> str:
    """What came of a cell, in some lines."""
    state, lines = cell["state"], []
    first = [state_words(state), source_words(cell.get("source", ""))]
    lines.append(" · ".join(filter(None, (*first, kind_words(cell.get("kind", ""))))))
    node, cold = printable(cell.get("node", ""), _TEXT), cell.get("seconds")
    if node and state not in (FAILED, WAITING, IMPOSSIBLE):
        text = _tr("Compiled on {}") if state != COMPILING else _tr("Compiling on {}")
        parts = [text.format(node)]
        parts += [say.seconds(cold)] if is_time(cold) and cold else []
        if shared := cell.get("shared"):
            parts.append(_tr("{} from other nodes").format(say.count(shared, "graph", "graphs")))
        parts += [_tr("was in the place before")] if cell.get("there") else []
        lines.append(" · ".join(parts))
    if proved := printable(cell.get("proved_on", ""), _TEXT):
        text = _tr("Proving on {}") if state == PROVING else _tr("Proven on {}")
        if state == PARTLY:
            text = _tr("Tried on {}")
        lines.append(" · ".join([text.format(proved), *_proof(cell)]))
    return "\n".join(lines)


def _proof(cell: CellFinding) -> list[str]:
    if cell["state"] not in (PROVEN, PARTLY):
        return []
    parts = [say.lookups(cell.get("hits", 0), cell.get("misses", 0))]
    if rebuilt := cell.get("rebuilt", 0):
        parts.append(_tr("{} rebuilt").format(say.count(rebuilt, "object", "objects")))
    else:
        parts.append(_tr("nothing rebuilt"))
    if is_time(found := cell.get("found")) and found:
        parts.append(_tr("{} with the cache").format(say.seconds(found)))
    return parts


def names_of(cells: Cells, idents: Sequence[str], most: int = 2) -> str:
    """Cells by their names, the first of them."""
    said = [name_of(cells.rows[ident]) for ident in idents[:most] if ident in cells.rows]
    more = len(idents) - len(said)
    return ", ".join([*said, *([_tr("and {} more").format(f"{more:,}")] if more > 0 else [])])
