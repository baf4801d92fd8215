"""The phases of a graph's compile in words; the same in the window and on the command line."""

from __future__ import annotations

from collections.abc import Mapping

from torchkeeper.client.words import say
from torchkeeper.client.words.tongue import Text, tr

#: What each phase is called, as a graph goes through them (warm/traces/phases.py).
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
    told = graph.get("phases")
    pairs = (
        [x for x in told if isinstance(x, list) and len(x) == 2] if isinstance(told, list) else []
    )
    return [
        (str(name), float(seconds))
        for name, seconds in pairs
        if name in NAMES and isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    ]


def line(graph: Mapping[str, object]) -> str:
    """``dynamo 1.2 s, codegen 0.4 s, build 3.1 s``; empty where nothing is known of them."""
    phases = of(graph)
    least = _LEAST * sum(seconds for _, seconds in phases)
    return ", ".join(
        f"{tr(NAMES[name])} {say.seconds(seconds)}" for name, seconds in phases if seconds > least
    )
