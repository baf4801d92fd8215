"""Recipes that another machine has told (``recorded.recipe_of``): whatever they name is called
where they are warmed, so that somebody is asked before that is another machine.
"""

from __future__ import annotations

from collections.abc import Sequence

from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.client.words.tongue import tr
from torchkeeper.warm.shapes import SentRecipe


def told_by(recipes: Sequence[str | SentRecipe]) -> list[str]:
    """The machines that have told some of these, as a request has them."""
    named = (one["data"].get("machine", "") for one in recipes if not isinstance(one, str))
    return list(dict.fromkeys(filter(None, map(str, named))))


def strange(recipes: Sequence[str | SentRecipe], machine: str) -> list[str]:
    """The same without the machine on which they are to run; "" is this one."""
    return [one for one in told_by(recipes) if one != machine]


def warning(machines: Sequence[str]) -> str:
    """What whoever runs what these have told ought to know."""
    return tr(
        "{machine} has told what this recipe runs: that can be any function and any command of the "
        "machine that runs it.", machine=printable(", ".join(machines), 400),
    )  # fmt: skip


def check(recipes: Sequence[str | SentRecipe], machine: str) -> None:
    """Raise UserError("untrusted") where another machine has told one of these."""
    if machines := strange(recipes, machine):
        what = tr("Nothing was warmed: a recipe is of another machine.")
        trust = tr("Pass trust=True if you trust that machine, or warm the recipe there.")
        raise UserError(what, warning(machines), trust, code="untrusted")
