"""What commands say of a fleet: its nodes, its cells as they go and at the end, why some are not
what was asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchkeeper.cli import output, screen
from torchkeeper.cli.asking import Asker
from torchkeeper.cli.telling import say_log
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.fleet.told import STATE_WORDS, alike, kind_title, met, together, where

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Fault
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.engine.messages.fleet import CellFinding, NodeFinding

#: Cells of which the reason is told before the rest is only counted.
_SHOWN = 20
_ENDED = frozenset({"proven", "warm", "partly", "failed"})


class Live:
    """Says on standard error what a fleet does. nodes, cells: as they were told last."""

    def __init__(self, json: bool, asker: Asker) -> None:
        self._json, self._asker = json, asker
        self.nodes: dict[str, NodeFinding] = {}
        self.cells: dict[str, CellFinding] = {}
        asker.on_finding, asker.aside = self, self.now

    def __call__(self, what: Finding) -> None:
        if "node" in what:
            self._node(what["node"])
        elif "cells" in what:
            for cell in what["cells"]:
                self.cells[cell["cell"]] = cell
            for some in alike(one for one in what["cells"] if one["state"] == "impossible"):
                self._say(f"not possible: {together(some)}: {_reason(some[0])}")
        elif "cell" in what:
            self._cell(what["cell"])

    def now(self) -> str:
        """How many cells are at work, and where one of them is."""
        at = [one for one in self.cells.values() if one["state"] in ("compiling", "proving")]
        if not at:
            return ""
        on = at[0].get("proved_on") if at[0]["state"] == "proving" else at[0].get("node")
        more = f" and {len(at) - 1:,} more" if len(at) > 1 else ""
        return printable(f"{STATE_WORDS[at[0]['state']]} {_named(at[0])} on {on}{more}")

    def _say(self, text: str) -> None:
        if not self._json:
            self._asker.say(printable(text, 1000))

    def _node(self, node: NodeFinding) -> None:
        before = self.nodes.get(node["name"])
        self.nodes[node["name"]] = node
        if node["state"] == "ready":
            if before is None:
                self._say(f"node {node['name']}: {kind_title(node['kind'])}, {_slots(node)}")
            return
        why = fault(node["why"])
        said = _sentences(why.what, why.why) if why else ""
        if node["state"] == "unusable":
            remedy = why.remedy if why else ""
            self._say(f"node {node['name']} cannot be used: {_sentences(said, remedy)}")
        elif node["state"] == "lost":
            self._say(f"node {node['name']} is lost, and its cells go to others: {said}")
        else:
            self._say(f"node {node['name']} was lost, and is tried again: {said}")

    def _cell(self, cell: CellFinding) -> None:
        before = self.cells.get(cell["cell"])
        self.cells[cell["cell"]] = cell
        if cell["state"] not in _ENDED or (before and before["state"] == cell["state"]):
            return
        if before and before["state"] == "proving" and cell["state"] == "warm":
            return  # its node was lost
        on = cell.get("proved_on") or cell.get("node") or "-"
        took = cell.get("found") if cell.get("proved_on") else cell.get("seconds")
        about = [f"on {on}"]
        if cell.get("proved_on"):
            about.append(say.lookups(cell.get("hits", 0), cell.get("misses", 0)))
        if took is not None:
            about.append(say.seconds(took))
        self._say(f"{STATE_WORDS[cell['state']]:<7} {_named(cell)}  {', '.join(about)}")


def fault(problem: Fault | None) -> UserError | None:
    return user_error(problem["code"], problem["params"]) if problem else None


def _named(cell: CellFinding) -> str:
    return f"{cell['recipe']}: {cell['name']}"


def _reason(cell: CellFinding) -> str:
    why = fault(cell.get("problem"))
    return _sentences(why.what, why.why) if why else ""


def _sentences(*parts: str) -> str:
    """Those that are there, in one line; what another program says has no full stop."""
    return " ".join(one if one.endswith((".", "!", "?")) else f"{one}." for one in parts if one)


def _slots(node: NodeFinding) -> str:
    return "one cell at a time" if node["slots"] == 1 else f"{node['slots']:,} cells at a time"


def table(rows: Sequence[CellFinding], proves: bool) -> None:
    """A line for each cell."""
    several = len({row["recipe"] for row in rows}) > 1
    kinds = len({where(row) for row in rows}) > 1
    shared = any(row.get("shared") for row in rows)
    head = [
        *(["RECIPE"] if several else []), "VARIANT", *(["FOR"] if kinds else []), "STATE",
        "COMPILED ON", "SECONDS", *(["FROM OTHERS"] if shared else []),
        *(["PROVEN ON", "FOUND", "HITS", "MISSES"] if proves else []),
    ]  # fmt: skip
    numbers = frozenset(
        at
        for at, name in enumerate(head)
        if name in ("SECONDS", "FROM OTHERS", "FOUND", "HITS", "MISSES")
    )
    output.table(head, [_line(row, several, kinds, shared, proves) for row in rows], numbers)


def _line(row: CellFinding, several: bool, kinds: bool, shared: bool, proves: bool) -> list[str]:
    line = [row["recipe"]] if several else []
    line.append(row["name"])
    if kinds:
        line.append(where(row))
    line += [STATE_WORDS[row["state"]], row.get("node") or "-", _took(row.get("seconds"))]
    if shared:
        line.append(f"{row.get('shared', 0):,}")
    if proves:
        line += [row.get("proved_on") or "-", _took(row.get("found"))]
        line += [f"{row[name]:,}" if name in row else "-" for name in ("hits", "misses")]
    return line


def _took(seconds: float | None) -> str:
    return "-" if seconds is None else say.seconds(seconds)


def nodes(some: Sequence[NodeFinding]) -> None:
    """A line for each node."""
    head = ["NODE", "STATE", "TORCH", "AT A TIME", "DEVICES"]
    rows = [[one["name"], one["state"], one["torch"] or "-", f"{one['slots']:,}",
             ", ".join(one["devices"]) or "-"] for one in some]  # fmt: skip
    output.table(head, rows, frozenset({3}))
    for one in some:
        if error := fault(one["why"]):
            output.warn(printable(one["name"]))
            output.complain(error)


def reasons(rows: Sequence[CellFinding], proves: bool) -> None:
    """Of cells that are not what was asked for what, why and remedy, and the end of their log, once
    for those that have the same.
    """
    short = alike(row for row in rows if not met(row, proves))
    most = len(short) if screen.now.verbose else _SHOWN
    for some in short[:most]:
        for name in [_named(row) for row in some] if screen.now.verbose else [together(some)]:
            output.warn(printable(name))
        if error := fault(some[0].get("problem")):
            output.complain(error)
        say_log(some[0].get("log") or ())
    if rest := sum(map(len, short[most:])):
        output.warn(f"and {rest:,} more; --verbose has them all")


def emit(rows: Sequence[CellFinding], some: Sequence[NodeFinding]) -> None:
    """The same as JSON: a line for each node, and one for each cell."""
    output.emit_all({"node": one} for one in some)
    output.emit_all({"cell": row} for row in rows)
    sys.stdout.flush()
