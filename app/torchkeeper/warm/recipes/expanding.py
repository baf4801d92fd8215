"""A cell, one thing to compile in one way; and what becomes of recipes: a cell for each item in
each way that the matrix asks for.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

from torchkeeper.artifacts.entry import Problem
from torchkeeper.warm.recipes import items, values
from torchkeeper.warm.recipes.recipe import (
    ALL_AXES,
    MOST_CELLS,
    MOST_SIZE,
    Recipe,
    axes_of,
    many,
    weight,
)
from torchkeeper.warm.recipes.tables import Called, Item, Settings

#: What can be compiled: the names of the modules of ``warm.sources``, as a recipe says them.
SOURCES = ("builtin", "callable", "script", "exported", "eager", "triton")
#: Those that PyTorch's own process state is of no matter to: they need no torch in the job.
WITHOUT_TORCH = frozenset({"script", "triton"})
#: What an item names Python by, as ``module:name`` or ``file.py:name``: it has at most one of them.
REFERENCES = ("example", "factory", "function", "kernel")


@dataclass(frozen=True)
class Cell:
    """One thing to compile. index: among all cells of a request. recipe: its recipe's name, and
    name: its own, unique in the recipe; both for people. source: one of SOURCES. item: what it is,
    as the recipe says it, checked, by its source. folder: where the recipe lies (an absolute path):
    what it names is relative to that, and modules are looked for there; None for the built-in one.
    device, dtype, mode: None for the default of each. sizes: the names that shapes use. dynamic: as
    torch.compile takes it. backward: whether gradients are computed, too. grad: False for calls
    under torch.no_grad() or inference_mode(). training: whether a model is in training, None where
    that is as ``backward`` has it. autocast: the dtype of a torch.autocast around the calls.
    precision: of torch.set_float32_matmul_precision. options: Inductor's. environment: variables to
    set. threads, portable: as ``supervise.environment``. seconds, memory: what it may take, in
    seconds and bytes; None without a limit.
    """

    index: int
    recipe: str
    name: str
    source: str
    item: Item = field(default_factory=Item)
    folder: str | None = None
    device: str | None = None
    dtype: str | None = None
    mode: str | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    dynamic: bool | None = None
    fullgraph: bool = False
    backward: bool = False
    grad: bool = True
    training: bool | None = None
    autocast: str | None = None
    precision: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    threads: int | None = None
    portable: bool = False
    seconds: float | None = None
    memory: int | None = None

    def to_json(self) -> Mapping[str, object]:
        """The cell as one JSON object, for the process that compiles it."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Cell:
        """What ``to_json`` made, which our own engine sends; other fields are passed over."""
        return cls(**{one.name: value[one.name] for one in fields(cls) if one.name in value})


#: Characters of a cell's name, but for a number that tells it from others.
_LONGEST = 160
#: How the ways of a cell stand in its name: sizes and constants first, then these.
_ORDER = ("num_warps", "num_stages", "dtype", "device", "mode", "targets")
_SAID = {"num_warps": "{} warps", "num_stages": "{} stages"}

#: One value for each name of a matrix.
Way = Mapping[str, Any]
#: An item, or one of its calls.
What = TypeVar("What", "Item", "Called")


def cells_of(
    recipes: Sequence[Recipe],
    device: str | None = None,
    threads: int | None = None,
    portable: bool = False,
    seconds: float | None = None,
) -> list[Cell]:
    """The cells of all recipes. What is given is for those that say nothing of it."""
    count = sum(map(many, recipes))
    if count > MOST_CELLS or sum(map(weight, recipes)) > MOST_SIZE:
        raise Problem("cells-too-many", cells=count, most=MOST_CELLS)
    found: list[Cell] = []
    names: dict[str, int] = {}
    for recipe in recipes:
        again = names[recipe.name] = names.get(recipe.name, 0) + 1
        name = recipe.name if again == 1 else f"{recipe.name} ({again})"
        for cell in _cells(recipe):
            given = cell.source != "triton"
            found.append(
                replace(
                    cell,
                    index=len(found),
                    recipe=name,
                    device=cell.device or (device if given else None),
                    threads=cell.threads or threads,
                    portable=recipe.compile.get("portable", portable),
                    seconds=cell.seconds or seconds,
                )
            )
    return found


def _cells(recipe: Recipe) -> list[Cell]:
    found: list[Cell] = []
    names: dict[str, int] = {}
    for item in recipe.items:
        axes = axes_of(recipe, item)
        for ways in itertools.product(*(recipe.matrix[axis] for axis in axes)):
            way = dict(zip(axes, ways, strict=True))
            for target in items.targets(item, recipe.matrix):
                chosen = way if target is None else {**way, "targets": target}
                name = _named(item["name"], chosen)
                again = names[name] = names.get(name, 0) + 1
                name = name if again == 1 else f"{name} ({again})"
                found.append(_cell(recipe, item, chosen, name))
    return found


def _named(name: str, way: Way) -> str:
    """A name such as ``add, batch 8, bfloat16, max-autotune``."""
    said = [name, *(f"{axis} {value}" for axis, value in way.items() if axis not in ALL_AXES)]
    said += [_SAID.get(axis, "{}").format(way[axis]) for axis in _ORDER if axis in way]
    whole = ", ".join(said)
    return whole if len(whole) <= _LONGEST else whole[: _LONGEST - 1] + "…"


def _cell(recipe: Recipe, item: Item, way: Way, name: str) -> Cell:
    ways: Settings = {**recipe.compile, **item.get("compile", {})}
    for axis in ("device", "dtype", "mode"):
        if axis in way:
            ways[axis] = way[axis]
    if ways.get("options") and ways.get("mode") == "default":
        del ways["mode"]  # torch.compile refuses a mode with options, even this one
    sizes = {axis: value for axis, value in way.items() if axis not in ALL_AXES}
    made = _item(recipe, item, way, sizes, ways.get("dtype"))
    about, limits = (recipe.name, name, recipe.source, made, recipe.folder), recipe.seconds
    cell = Cell(0, *about, sizes=sizes, environment=dict(recipe.environment), **ways)
    return replace(cell, seconds=limits, memory=recipe.memory)


def _item(
    recipe: Recipe, item: Item, way: Way, sizes: Mapping[str, int], dtype: str | None
) -> Item:
    """The item of one cell, with everything written out that its source has to know."""
    source, made = recipe.source, item.copy()
    made.pop("compile", None)  # which the cell has
    if source == "triton":
        made.pop("targets", None)
        made["target"] = way.get("targets")
        made["constants"] = {**item.get("constants", {}), **sizes}
        made["num_warps"] = way.get("num_warps", item.get("num_warps"))
        made["num_stages"] = way.get("num_stages", item.get("num_stages"))
        return made
    if source == "callable":
        made.setdefault("args", {})
    if "calls" in made:
        made["calls"] = [_call(call, sizes, dtype) for call in made["calls"]]
        return made
    if source in ("callable", "eager"):
        made.setdefault("inputs", [])
    if source in ("callable", "eager", "exported"):
        made.setdefault("keywords", {})
    return _call(made, sizes, dtype)


def _call(call: What, sizes: Mapping[str, int], dtype: str | None) -> What:
    """What holds inputs, with all of them written out."""
    made = call.copy()
    if "inputs" in made:
        made["inputs"] = [values.resolved(one, sizes, dtype) for one in made["inputs"]]
    if "keywords" in made:
        made["keywords"] = {
            key: values.resolved(one, sizes, dtype) for key, one in made["keywords"].items()
        }
    return made
