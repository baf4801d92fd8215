"""Recipes that were recorded on another machine (``recorded.recipe_of``), which has told all that
they name: that runs where they are warmed, so that somebody is asked before it is another machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.client.words.tongue import tr
from torchkeeper.warm.recipes.recipe import REFERENCES, items_of
from torchkeeper.warm.shapes import SentRecipe

#: What is named of what they run, and its characters.
_NAMED, _LONG = 4, 80


def machines(recipes: Sequence[str | SentRecipe], machine: str | None = None) -> list[str]:
    """The machines that some recipes of a request were recorded on, but for that where they are to
    run, ``machine``; "" is this one.
    """
    named = (one["data"].get("machine") for one in recipes if not isinstance(one, str))
    return list(dict.fromkeys(str(one) for one in named if one and one != machine))


def warning(recipes: Sequence[str | SentRecipe], machine: str | None = None) -> str:
    """What whoever runs them there ought to know; "" where there is nothing of that."""
    if not (strange := machines(recipes, machine)):
        return ""
    whole = (x["data"] for x in recipes if not isinstance(x, str))
    items = (item for data in whole if data.get("machine") in strange for item in items_of(data)[1])
    names = dict.fromkeys(map(_called, items))
    return tr(
        "A recipe was recorded on {machine}, and that machine says what it runs: {names}. This can "
        "be any function and any command.", machine=printable(", ".join(strange), 200),
        names=say.together([printable(one, _LONG) for one in names], _NAMED),
    )  # fmt: skip


def _called(item: Mapping[str, Any]) -> str:
    """What an item calls."""
    named = (str(item[key]) for key in (*REFERENCES, "op", "file") if key in item)
    return next(named, "") or " ".join(item.get("command", ()))


def check(recipes: Sequence[str | SentRecipe], machine: str) -> None:
    """Raise UserError("untrusted") where there is something of that."""
    if why := warning(recipes, machine):
        what = tr("Nothing was warmed: a recipe was recorded on another machine.")
        trust = tr("Pass trust=True if you trust that machine, or warm the recipe there.")
        raise UserError(what, why, trust, code="untrusted")
