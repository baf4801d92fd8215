"""A recipe: what to compile, and in which ways.

It is written as TOML beside the model it is for, read at home (``client.recipes.files``), sent as
the same tables in JSON, and looked at here again, because nothing that came over a wire is
believed. What each source takes is in ``items``; what becomes of a recipe, in ``expanding``.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.warm.recipes import compiling, items, values
from torchkeeper.warm.recipes.faults import Fault, Faults, said
from torchkeeper.warm.recipes.sections import ALL_AXES, KINDS, LONGEST_NAME, bytes_of, look
from torchkeeper.warm.recipes.tables import Item, Matrix, Settings, Tables
from torchkeeper.warm.shapes import SentRecipe

BUILTIN = "builtin"
#: Cells of all recipes of a request at most, and its recipes.
MOST_CELLS, MOST_RECIPES = 10_000, 1000
#: Bytes of all cells of a request at most, written out.
MOST_SIZE = 50_000_000
_MOST = values.MOST_ELEMENTS


@dataclass(frozen=True)
class Recipe:
    """A recipe that nothing is wrong with. name: for people. folder: where it lies (an absolute
    path), None for the built-in one. source: one of ``expanding.SOURCES``; items: what to compile,
    each by that source, with the name that its cells have. matrix: for each name, the values.
    compile: of ``compiling.COMPILE``, what it says, with Inductor's options by their full names; an
    item may have a ``compile`` of its own, which goes before that. seconds, memory: what a cell may
    take, None without.
    """

    name: str
    source: str
    items: Sequence[Item]
    folder: str | None = None
    about: str = ""
    matrix: Matrix = field(default_factory=dict)
    compile: Settings = field(default_factory=Settings)
    environment: dict[str, str] = field(default_factory=dict)
    seconds: float | None = None
    memory: int | None = None


def faults(data: object) -> list[Fault]:
    """Everything that is wrong with a recipe, at most ``faults.MOST``. Imports nothing of it."""
    found = Faults()
    look(found, data)
    if not found.found:
        _look_whole(found, _built(without_faults(data), "", None))
    return found.found


def checked(data: object, name: str = "recipe", folder: str | None = None) -> Recipe:
    """A recipe from its tables. Raises Problem("recipe-wrong") for the first fault."""
    for fault in faults(data):
        raise wrong(data.get("name", name) if isinstance(data, dict) else name, fault)
    return _built(without_faults(data), name, folder)


def without_faults(data: object) -> Tables:
    """The tables of a recipe, of which ``look`` has found nothing wrong."""
    return cast("Tables", data)


def items_of(data: Tables) -> tuple[str, Sequence[Item]]:
    """The source that a recipe names, and its items."""
    [source] = [kind for kind in KINDS if kind in data]
    told = data[source]
    return source, [told] if isinstance(told, dict) else told


def _built(data: Tables, name: str, folder: str | None) -> Recipe:
    source, told = items_of(data)
    limits = data.get("limits", {})
    made, matrix = [_item(source, one) for one in told], data.get("matrix", {})
    ways, env = compiling.built(data.get("compile", {})), dict(data.get("environment", {}))
    memory = bytes_of(limits["memory"]) if "memory" in limits else None
    name, about = str(data.get("name", name)), str(data.get("about", ""))
    own = source, made, folder, about, matrix, ways, env
    return Recipe(name, *own, limits.get("seconds"), memory)


def _item(source: str, told: Item) -> Item:
    item: Item = {**told, "name": told.get("name") or items.name_of(source, told)}
    if "compile" in told:
        item["compile"] = compiling.built(told["compile"])
    return item


def _look_whole(found: Faults, recipe: Recipe) -> None:
    """Note axes that change nothing, sizes that no shape can have, and too large a matrix."""
    used = {axis for one in recipe.items for axis in axes_of(recipe, one)}
    for axis in recipe.matrix:
        if axis not in used:
            what = "axis-unused" if axis in ALL_AXES else "size-unused"
            found.add(("matrix", axis), what, axis, at_key=True)
    largest = {axis: max(ones) for axis, ones in recipe.matrix.items() if axis not in ALL_AXES}
    for one in recipe.items:
        told = items.inputs_of(one)
        for size in {size for value in told for size in values.used(value)} & set(largest):
            if min(recipe.matrix[size]) < 0:
                found.add(("matrix", size), "not-negative", min(recipe.matrix[size]))
        if sum(values.elements(values.resolved(value, largest, None)) for value in told) > _MOST:
            found.add(("matrix",) if largest else (recipe.source,), "huge", most=_MOST)
    if (cells := many(recipe)) > MOST_CELLS:
        found.add(("matrix",), "fewer-cells", cells, most=MOST_CELLS)
    elif weight(recipe) > MOST_SIZE:
        found.add(("matrix",) if recipe.matrix else (recipe.source,), "smaller", most=MOST_SIZE)


def axes_of(recipe: Recipe, item: Item) -> list[str]:
    """The names of its recipe's matrix that change an item, in their order."""
    used = items.axes(recipe.source, item, recipe.matrix, recipe.items)
    return [axis for axis in recipe.matrix if axis in used]


def many(recipe: Recipe) -> int:
    """How many cells it has."""
    return sum(_many(recipe, one) for one in recipe.items)


def _many(recipe: Recipe, item: Item) -> int:
    ways = math.prod(len(recipe.matrix[axis]) for axis in axes_of(recipe, item))
    return ways * len(items.targets(item, recipe.matrix))


def weight(recipe: Recipe) -> int:
    """How many bytes all its cells take, about, when they are written out."""
    common = len(json.dumps([recipe.compile, recipe.environment]))
    return sum(_many(recipe, one) * (len(json.dumps(one)) + common) for one in recipe.items)


def wrong(recipe: object, fault: Fault) -> Problem:
    """The problem that a fault is, of a recipe of this name."""
    named = {**fault.params, "where": said(fault.where), "expected": fault.expected}
    return Problem("recipe-wrong", recipe=str(recipe)[:LONGEST_NAME], found=fault.found, **named)


def of_request(asked: Sequence[str | SentRecipe] | None) -> list[Recipe]:
    """The recipes of a request: "builtin", or what was read from a file. Names that several have
    are told apart. Raises Problem("bad-request", field="recipes"), ("recipe-unknown", recipe=…), or
    as ``checked``.
    """
    asked = asked or [BUILTIN]
    if len(asked) > MOST_RECIPES:
        raise Problem("bad-request", field="recipes")
    found: list[Recipe] = []
    for one in asked:
        if isinstance(one, str):
            if one != BUILTIN:
                raise Problem("recipe-unknown", recipe=one[:200])
            found.append(Recipe(BUILTIN, BUILTIN, [{"name": BUILTIN}]))
            continue
        name, folder = _sent(one["name"], 255), _sent(one["folder"], 4096)
        if not os.path.isabs(folder):
            raise Problem("bad-request", field="recipes")
        found.append(checked(one["data"], name, folder))
    return found


def _sent(text: str, longest: int) -> str:
    if not 0 < len(text) <= longest or "\0" in text:
        raise Problem("bad-request", field="recipes")
    return text
