"""Why a graph was compiled, and its phases, in words for the window and the command line. What
traces and entries hold comes from strangers: it is made printable here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from torchkeeper.client.words import explaining, say
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.tongue import Text, several, tr
from torchkeeper.settings import known

if TYPE_CHECKING:
    from torchkeeper.engine.messages.verdicts import ExplainTraceResult
    from torchkeeper.verdict.probed import AotTold, CauseTold, GraphTold

    #: Of one run, or of several.
    Totals = ExplainTraceResult | Mapping[str, float]


#: What is said of a cause by its code (``Near.cause`` in engine/running.py).
_CAUSES: dict[str, Text] = {
    "cut": "Its record in the trace is not whole",
    "guards": "An entry with this key was there, but its guards did not hold",
    "refused": "An entry with this key was there, but PyTorch did not take it: it is damaged, or "
    "what it needs is gone",
    "unrecorded": "Not known: the trace does not hold the key factors of this graph",
    "later": "Not known yet: the graph is being compiled",
    "unknown": "Not known: the trace does not say what the cache held before",
    "nothing": "No graph was there",
    "nothing-now": "The place that it was compared with has no other graph",
    "unread": "Not known: the graphs that were there do not tell their key factors",
}
_WHERE: dict[str, Text] = {
    "local": "local",
    "remote": "remote",
    "unknown": "local or remote not known",
}


def cause(graph: GraphTold) -> str:
    """Why a graph was not taken from a cache; empty for a hit."""
    found = graph.get("cause")
    return why(found, graph.get("reason")) if found else ""


def why(found: CauseTold, reason: str | None) -> str:
    """A cause in words; reason: why PyTorch says that it did not look it up."""
    code = found["code"]
    if code == "bypass":
        return bypassed({"reason": reason})
    if code == "differs":
        return explaining.sentence(found)
    if code == "failed":
        why = found.get("text") or tr("PyTorch does not say why")
        return printable(tr("Compiling it failed: {why}", why=why))
    if code == "said":  # by PyTorch or Triton, where they say it themselves
        return printable(found.get("text", ""))
    return tr(_CAUSES[code]) if code in _CAUSES else printable(code)


def bypassed(graph: Mapping[str, object]) -> str:
    """Why PyTorch did not cache a graph, in its own words."""
    return printable(str(graph.get("reason") or tr("PyTorch gives no reason")))


def uncached(count: int) -> str:
    """``PyTorch does not cache 2 graphs of it, which every program compiles again``."""
    return several(
        count,
        "PyTorch does not cache {n} graph of it, which every program compiles again",
        "PyTorch does not cache {n} graphs of it, which every program compiles again",
    )


def seconds(graph: Mapping[str, object]) -> str:
    """``2.3 s spent`` or ``2.3 s saved``; empty where it is not known."""
    if not isinstance(taken := graph.get("seconds"), (int, float)):
        return ""
    saved = graph.get("outcome") == "hit"
    return tr("{time} saved" if saved else "{time} spent", time=say.seconds(taken))


def named(graph: Mapping[str, object]) -> str:
    """What a graph is called: its function, and where that is."""
    name, source = str(graph.get("name") or ""), str(graph.get("source") or "")
    if name and source:
        return printable(tr("{name} at {source}", name=name, source=source), 120)
    return printable(name or source, 120)


def place(graph: Mapping[str, object]) -> str:
    """Where a hit came from, in a word; empty for what is no hit."""
    if (where := graph.get("where")) is None:
        return ""
    return tr(_WHERE[str(where)]) if str(where) in _WHERE else printable(str(where), 20)


def summary(totals: Totals) -> str:
    """``5 graphs: 3 hits (2 local, 1 remote), 2 misses; 2.3 s spent, 34 s saved``."""
    where = [tr("{n} local", n=int(totals["local"]))] if totals["local"] else []
    where += [tr("{n} remote", n=int(totals["remote"]))] if totals["remote"] else []
    if unknown := int(totals["unknown"]):
        where.append(tr("{n} not known which", n=unknown) if where else tr(_WHERE["unknown"]))
    hits, misses, uncached = (int(totals[name]) for name in ("hits", "misses", "bypasses"))
    return tr(
        "{graphs}: {outcomes}; {spent} spent, {saved} saved",
        graphs=say.count(int(totals["graphs"]), "graph", "graphs"),
        outcomes=say.lookups(hits, misses, uncached, ", ".join(where)),
        spent=say.seconds(totals["spent"]),
        saved=say.seconds(totals["saved"]),
    )


def as_graphs() -> str:
    """What is said of an AOTAutograd lookup of which its graphs tell all."""
    return tr("as its graphs")


def autograd(found: AotTold, graphs: Sequence[GraphTold]) -> str:
    """Why an AOTAutograd lookup missed, through its FX graphs: PyTorch records no factors of it."""
    if found["outcome"] == "hit":
        return ""
    own = [graph for graph in graphs if graph.get("process") == found["process"]]
    mine = [graph for graph in own if graph["id"] in found["graphs"]]
    if found["outcome"] == "bypass":
        if any(graph.get("reason") == found["reason"] for graph in mine):
            return as_graphs()
        return tr("bypassed: {why}", why=bypassed({"reason": found["reason"]}))
    if any(graph["outcome"] != "hit" for graph in mine):
        return as_graphs()
    if found["dropped"]:
        return tr(
            "found, but not used: another rank did not find it, and then PyTorch compiles on all "
            "ranks"
        )
    if found["there"]:
        return tr(
            "missed, although its key was there and its graphs hit; the reason is not recorded"
        )
    if mine:
        return tr(
            "missed, although its graphs hit: it was never written, or one of its own factors "
            "differs, which PyTorch does not record"
        )
    return tr("missed; PyTorch does not record its key factors, and no graph followed")


_NOT_ASKED: Text = (
    "{compiles}, but no lookup in a cache: the program turns the caches off, or its backend is "
    "not inductor."
)
_ENDED: Text = (
    "PyTorch left no trace: the program ended with exit code {code} before it compiled anything, "
    "and its own message says why."
)
_OFF: Text = "Nothing was compiled: {name} is set, which turns torch.compile off."


def nothing(result: ExplainTraceResult, env: Mapping[str, str], code: int = 0) -> str:
    """Why a trace tells of no lookup, as far as that can be seen. code: how the program ended."""
    if code and not result["compiles"]:
        return tr(_ENDED, code=str(code))
    for name in ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE"):
        if known.on(env, name):
            return tr(_OFF, name=name)
    if known.on(env, master := "TORCHINDUCTOR_FORCE_DISABLE_CACHES"):
        name = known.decides(env, master) or master
        return tr("PyTorch used no cache: {name} is set, which turns its caches off.", name=name)
    if not known.on(env, graphs := "TORCHINDUCTOR_FX_GRAPH_CACHE"):
        name = known.decides(env, graphs) or graphs
        setting = f"{name}={env.get(name, '')}"
        return tr("PyTorch used no cache: {setting} turns it off.", setting=setting)
    if result["compiles"]:
        return tr(_NOT_ASKED, compiles=say.count(result["compiles"], "compile", "compiles"))
    if result["files"]:
        return tr("PyTorch compiled nothing: the trace has no records of compiles.")
    return tr(
        "PyTorch left no trace: most likely the program called nothing that torch.compile "
        "returned, or it changes the environment of the processes that it starts."
    )


# The phases of a graph's compile in words; the same in the window and on the command line.

#: What each phase is called, as a graph goes through them (warm/traces/graphs.py).
NAMES: dict[str, Text] = {
    "dynamo": "dynamo",
    "pre_grad": "pre-grad",
    "joint": "joint",
    "partition": "partition",
    "post_grad": "post-grad",
    "codegen": "codegen",
    "build": "build",
    "other": "other",
}
#: What is of the whole less than this is not worth a word.
_LEAST = 0.02


def of(graph: Mapping[str, object]) -> list[tuple[str, float]]:
    """The phases that an engine tells of a graph, by their names, and seconds; none it has not."""
    told, found = graph.get("phases"), []
    for pair in told if isinstance(told, list) else ():
        match pair:
            case [str() as name, int() | float() as seconds] if name in NAMES:
                if not isinstance(seconds, bool):
                    found.append((name, float(seconds)))
    return found


def line(graph: Mapping[str, object]) -> str:
    """``dynamo 1.2 s, codegen 0.4 s, build 3.1 s``; empty where nothing is known of them."""
    phases = of(graph)
    least = _LEAST * sum(seconds for _, seconds in phases)
    return ", ".join(
        f"{tr(NAMES[name])} {say.seconds(seconds)}" for name, seconds in phases if seconds > least
    )
