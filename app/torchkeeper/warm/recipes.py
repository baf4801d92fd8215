"""What can be compiled, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.warm import builtin

#: From a recipe's name to what makes its steps on a device, as (name, run) pairs.
RECIPES: dict[str, Callable[[str], list[tuple[str, Callable[[], Any]]]]] = {
    "builtin": builtin.steps,
}


@dataclass(frozen=True)
class Step:
    """One thing to compile and run, under a name for people."""

    name: str
    run: Callable[[], Any]


def check(names: Sequence[str]) -> None:
    """Raises Problem("recipe-unknown", recipe=…) unless every name is known. Imports no torch."""
    for name in names:
        if name not in RECIPES:
            raise Problem("recipe-unknown", recipe=name)


def steps(names: Sequence[str], device: str) -> list[Step]:
    """The steps of all the recipes, made on ``device`` and not yet run. Imports torch."""
    check(names)
    return [Step(name, run) for recipe in names for name, run in RECIPES[recipe](device)]
