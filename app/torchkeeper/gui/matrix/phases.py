"""The phases of a compile, in their order: what each is called and does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

from PySide6.QtCore import QCoreApplication

from torchkeeper.client.words import say, tongue
from torchkeeper.client.words.phases import NAMES

#: As a job names them; what is none of them counts as the last.
PHASES = tuple(NAMES)
_OTHER = len(PHASES) - 1
_NUMBERS = {name: number for number, name in enumerate(PHASES)}

#: Seconds of each phase, in the order of PHASES.
Spent = list[float]


def _tr(text: str) -> str:
    return QCoreApplication.translate("Phases", text)


def title(name: str) -> str:
    """What a phase is called, as everywhere, with a capital."""
    text = tongue.tr(NAMES.get(name, NAMES["other"]))
    return text[:1].upper() + text[1:]


def about(name: str) -> str:
    """What is done in a phase."""
    done = {
        "dynamo": _tr("Python is traced into graphs"),
        "pre_grad": _tr("passes over the graph before gradients are worked out"),
        "joint": _tr("passes over the forward and backward graph together"),
        "partition": _tr("the joint graph is cut into forward and backward"),
        "post_grad": _tr("passes over each graph after that"),
        "codegen": _tr("Inductor lowers the graph and writes kernels"),
        "build": _tr("the C++ or Triton compiler makes machine code of them"),
    }.get(name, _tr("what PyTorch's trace has no name of its own for"))
    return f"{title(name)}: {done}"


def spent(told: Iterable[tuple[str, float]]) -> Spent:
    """Seconds of each phase, from ``[[name, seconds], …]`` as a finding has it."""
    found = [0.0] * len(PHASES)
    for name, seconds in told:
        if is_time(seconds):
            found[_NUMBERS.get(name, _OTHER)] += seconds
    return found


def is_time(value: float | None) -> TypeGuard[float]:
    """Whether it is a sensible number of seconds."""
    return value is not None and 0 <= value < 1e7


def summed(every: Iterable[Spent]) -> Spent:
    """All of them together."""
    nothing = [0.0] * len(PHASES)
    return [sum(some) for some in zip(nothing, *every, strict=True)]


def words(one: Spent, whole: float | None = None) -> list[str]:
    """A line for each phase that took time: "Codegen 1.2 s"; and what is in none of ``whole``."""
    if not one:
        return []
    lines = [
        f"{title(name)}  {say.seconds(seconds)}"
        for name, seconds in zip(PHASES, one, strict=True)
        if seconds > 0
    ]
    if whole is not None and lines and (rest := whole - sum(one)) >= 0.05:
        lines.append(_tr("Outside of graphs  {}").format(say.seconds(rest)))
    return lines
