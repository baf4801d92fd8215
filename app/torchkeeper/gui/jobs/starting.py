"""How a job is asked for: its request, and the steps around that."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.client.recipes import sending
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.jobs.bundles import Step, Steps, Values
from torchkeeper.gui.jobs.model import Asked, Job
from torchkeeper.gui.pages.recipes import known as known_recipes
from torchkeeper.gui.places.model import Place

if TYPE_CHECKING:
    from torchkeeper.engine.messages.fleet import FleetParams

#: The request that a job is, with more parameters.
Ask = Callable[[Values], Steps[Values]]
#: Variants that are left out, each as its recipe and its name; None for none.
Warm = Sequence[tuple[str, str]] | None


def asked(_: Job, ask: Ask) -> Steps[Values]:
    """What a job does that is its request alone."""
    return (yield from ask({}))


class Start(NamedTuple):
    """How a job is asked for. keep: whether the engine stays until the job has ended. kind: the
    operation that it is as a whole, where that is not ``op``. steps: all that it does, the request
    among it.
    """

    op: str
    params: Mapping[str, object]
    python: str | None = None
    engine_of: int | None = None
    hold: tuple[tuple[str, str], ...] = ()
    before: tuple[tuple[str, Mapping[str, object]], ...] = ()
    keep: bool = False
    kind: str = ""
    steps: Callable[[Job, Ask], Steps[Values]] = asked


def fleet_of(
    recipes: Sequence[str], on: Sequence[str], into: str, options: Asked, again: bool
) -> FleetParams:
    """What is asked of a fleet, but for what its recipes hold."""
    return {
        "on": on, "into": into, "again": again, "asks": True, "named": list(recipes),
        "prove": bool(options.get("prove")), "share": bool(options.get("share")),
        "slots": options.get("slots"), "python": options.get("python") or None,
    }  # fmt: skip


def recipes_of(
    job: Job, recipes: Sequence[str], machine: str, warm: Warm, look: Callable[..., Step],
    told: object,
) -> Steps[Values]:  # fmt: skip
    """What recipes are now; for another machine, where what they need is then. warm: variants that
    are left out. look: the step that calls a function which may wait. told: who hears how far what
    they need has come.
    """
    known: known_recipes.Wired = yield look(known_recipes.wire, list(recipes), warm)
    job.asked["paths"], job.asked["before"] = known.paths, known.before
    there: Values = {}
    if machine:
        there = yield look(sending.send, machine, known.recipes, told)
    return {"recipes": known.recipes, "only": known.only, **there}


def called(file: str) -> str:
    """What a file is called in a title."""
    return printable(os.path.basename(file), 60)


def short(place: str) -> str:
    """What a place is called in a title."""
    return printable(Place(place).title, 60)
