"""What is said of cells and of their graphs."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from torchkeeper.client.words import causes, say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.matrix.cells import CellState, Graph

#: Graphs that PyTorch does not cache and that are named of a cell.
_NAMED = 20


def _tr(text: str) -> str:
    return QCoreApplication.translate("Cells", text)


def source_words(source: str) -> str:
    """What is compiled, by the kind of its source."""
    return {
        "builtin": _tr("Built in"),
        "callable": _tr("Callable"),
        "script": _tr("Script"),
        "exported": _tr("Exported program"),
        "eager": _tr("Eager operator"),
        "triton": _tr("Triton kernel"),
    }.get(source, printable(source, 40))


def state_words(state: str) -> str:
    """The state of a cell in a word."""
    return {
        "queued": _tr("queued"),
        "starting": _tr("starting"),
        "compiling": _tr("compiling"),
        "done": _tr("done"),
        "failed": _tr("failed"),
        "cancelled": _tr("cancelled"),
    }.get(state, state)


def outcome_words(outcome: str) -> str:
    """How looking for a graph ended, in a word."""
    return {
        "hit": _tr("hit"),
        "miss": _tr("miss"),
        "bypass": _tr("not cacheable"),
        "none": _tr("no cache"),
        "compiling": _tr("compiling"),
    }.get(outcome, printable(outcome, 20))


def name_of(cell: CellState, several: bool) -> str:
    """What a cell is called; of ``several`` recipes with its own, if it does not begin so."""
    name, recipe = printable(cell.name, 200), printable(cell.recipe, 80)
    if several and name and not name.startswith(recipe):
        return f"{recipe} · {name}"
    return name or recipe


def graph_name(graph: Graph) -> str:
    """What a graph is called: 1/0 forward · MLP, batch 64."""
    ident, name = printable(graph.id, 80), printable(graph.name, 200)
    return f"{ident} · {name}" if name and name != ident else ident


def reason_of(graph: Graph) -> str:
    """Why PyTorch did not cache a graph, in its own words; empty where it did not refuse to."""
    return causes.bypassed({"reason": graph.reason}) if graph.outcome == "bypass" else ""


def told(cell: CellState) -> str:
    """What came of a cell, in a line."""
    parts = [source_words(cell.source), state_words(cell.state)]
    if cell.count:
        said = _tr("{}: {} hit, {} missed").format(
            say.count(cell.count, "graph", "graphs"), f"{cell.hits:,}", f"{cell.misses:,}"
        )
        outcomes = [graph.outcome for graph in (cell.graphs or {}).values()]
        for count, text in (
            (max(cell.bypasses, outcomes.count("bypass")), _tr("{} not cacheable")),
            (outcomes.count("none"), _tr("{} without a cache")),
            (outcomes.count("compiling") * (cell.state == "compiling"), _tr("{} compiling")),
        ):
            said += f", {text.format(f'{count:,}')}" if count else ""
        parts.append(said)
    if cell.of is not None:
        parts.append(_tr("found again: {} of {}").format(f"{cell.found or 0:,}", f"{cell.of:,}"))
    parts.append(printable(cell.device, 60))
    if cell.threads:
        parts.append(say.count(cell.threads, "thread", "threads"))
    return " · ".join(filter(None, parts))


def uncached(cell: CellState) -> str:
    """Which graphs of a cell PyTorch does not cache, and why, a line each; empty for none."""
    some = [graph for graph in (cell.graphs or {}).values() if graph.outcome == "bypass"]
    # A script is told of as a whole.
    count = max(cell.bypasses, len(some))
    if not count:
        return ""
    lines = [f"{graph_name(graph)}: {reason_of(graph)}" for graph in some[:_NAMED]]
    if more := count - len(lines):
        lines.append(_tr("and {} more").format(f"{more:,}") if lines else "")
    return "\n".join([f"{causes.uncached(count)}{':' if lines[0] else '.'}", *filter(None, lines)])
