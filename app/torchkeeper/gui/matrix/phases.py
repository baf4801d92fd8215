"""The phases of a compile, in their order: what each is called and does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from PySide6.QtCore import QCoreApplication

from torchkeeper.link import say

#: As a job names them (warm/traces/phases.py); what is none of them counts as the last.
PHASES = ("dynamo", "pre_grad", "joint", "partition", "post_grad", "codegen", "build", "other")
_OTHER = len(PHASES) - 1
_NUMBERS = {name: number for number, name in enumerate(PHASES)}

#: Seconds of each phase, in the order of PHASES.
Spent = list[float]


def _tr(text: str) -> str:
    return QCoreApplication.translate("Phases", text)


def title(name: str) -> str:
    """What a phase is called."""
    return {
        "dynamo": _tr("Dynamo"),
        "pre_grad": _tr("Pre-grad"),
        "joint": _tr("Joint"),
        "partition": _tr("Partition"),
        "post_grad": _tr("Post-grad"),
        "codegen": _tr("Codegen"),
        "build": _tr("Build"),
    }.get(name, _tr("Other"))


def about(name: str) -> str:
    """What is done in a phase."""
    return {
        "dynamo": _tr("Dynamo: Python is traced into graphs"),
        "pre_grad": _tr("Pre-grad: passes over the graph before gradients are worked out"),
        "joint": _tr("Joint: passes over the forward and backward graph together"),
        "partition": _tr("Partition: the joint graph is cut into forward and backward"),
        "post_grad": _tr("Post-grad: passes over each graph after that"),
        "codegen": _tr("Codegen: Inductor lowers the graph and writes kernels"),
        "build": _tr("Build: the C++ or Triton compiler makes machine code of them"),
    }.get(name, _tr("Other: what PyTorch's trace has no name of its own for"))


def spent(told: Any) -> Spent:
    """Seconds of each phase, from ``[[name, seconds], …]`` as a finding has it."""
    found = [0.0] * len(PHASES)
    for pair in told if isinstance(told, list) else ():
        if isinstance(pair, list) and len(pair) == 2 and is_time(pair[1]):
            found[_NUMBERS.get(str(pair[0]), _OTHER)] += pair[1]
    return found


def is_time(value: Any) -> bool:
    """Whether it is a sensible number of seconds."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e7


def summed(every: Iterable[Spent]) -> Spent:
    """All of them together."""
    found = [0.0] * len(PHASES)
    for one in every:
        for number, seconds in enumerate(one):
            found[number] += seconds
    return found


def words(one: Spent, whole: float | None = None) -> list[str]:
    """A line for each phase that took time: "Codegen 1.2 s"; and what is in none of ``whole``."""
    lines = [
        f"{title(name)}  {say.seconds(seconds)}"
        for name, seconds in zip(PHASES, one, strict=True)
        if seconds > 0
    ]
    if whole is not None and lines and (rest := whole - sum(one)) >= 0.05:
        lines.append(_tr("Outside of graphs  {}").format(say.seconds(rest)))
    return lines
