"""A recipe: what to compile, and in which ways; and its variants, one for each item in each way
that its matrix asks for.

It is written as TOML beside the model it is for, read at home (``client.recipes.files``), sent as
the same tables in JSON, and looked at here again, because nothing that came over a wire is
believed: its sections are held to what each may hold. What each source takes is in ``items``.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeVar, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.stores.ssh import parse
from torchkeeper.warm.recipes import items, values
from torchkeeper.warm.recipes.faults import Fault, Faults, Where, said, shown
from torchkeeper.warm.recipes.tables import Called, Item, Kind, Matrix, Settings, Tables
from torchkeeper.warm.shapes import SentRecipe

BUILTIN = "builtin"
#: The sources that a recipe can name, and all that there are: each is a module of ``warm.sources``.
KINDS: tuple[Kind, ...] = ("callable", "script", "exported", "eager", "triton")
SOURCES = (BUILTIN, *KINDS)
#: Those that PyTorch's own process state is of no matter to: they need no torch in the job.
WITHOUT_TORCH = frozenset({"script", "triton"})
#: What an item names Python by, as ``module:name`` or ``file.py:name``: it has at most one of them.
REFERENCES = ("example", "factory", "function", "kernel")
#: Variants of all recipes of a request at most, and its recipes.
MOST_VARIANTS, MOST_RECIPES = 10_000, 1000
#: Bytes of all variants of a request at most, written out.
MOST_SIZE = 50_000_000
_MOST = values.MOST_ELEMENTS
SECTIONS = ("name", "about", "machine", *KINDS, "matrix", "compile", "environment", "limits")
#: The names of a matrix that are no sizes, and which of them have a meaning for each source.
AXES = {
    "callable": ("device", "dtype", "mode"),
    "exported": ("device", "dtype", "mode"),
    "eager": ("device", "dtype"),
    "script": (),
    "triton": ("targets", "num_warps", "num_stages"),
}
ALL_AXES = ("device", "dtype", "mode", "targets", "num_warps", "num_stages")
#: Names in a matrix at most.
MOST_AXES = 32
#: Seconds and bytes of memory that a variant may ask for at most: a week, a PiB.
MOST_SECONDS, MOST_MEMORY = 7 * 86_400, 2**50
LONGEST_NAME = 80
LONGEST_MACHINE = 400

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}")
#: What is ours to set: where a variant's entries go, and what is said between our processes.
_OURS = re.compile(
    r"TORCHINDUCTOR_CACHE_DIR|TRITON_(?:CACHE_DIR|HOME)|TMPDIR|TEMP|TMP|TORCH_TRACE|TORCHKEEPER_.*"
)
_MEMORY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([kMGT]i?)?B")
_UNITS = {"": 1, **{f"{unit}{i}": (1024 if i else 1000) ** n
                    for n, unit in enumerate("kMGT", 1) for i in ("", "i")}}  # fmt: skip

#: Characters of a variant's name, but for a number that tells it from others.
_LONGEST = 160
#: How the ways of a variant stand in its name: sizes and constants first, then these.
_ORDER = ("num_warps", "num_stages", "dtype", "device", "mode", "targets")
_SAID = {"num_warps": "{} warps", "num_stages": "{} stages"}

#: One value for each name of a matrix.
Way = Mapping[str, Any]
#: An item, or one of its calls.
What = TypeVar("What", "Item", "Called")


@dataclass(frozen=True)
class Recipe:
    """A recipe that nothing is wrong with. name: for people. folder: where it lies (an absolute
    path), None for the built-in one. source: one of SOURCES; items: what to compile,
    each by that source, with the name that its variants have. matrix: for each name, the values.
    compile: of ``items.COMPILE``, what it says, with Inductor's options by their full names; an
    item may have a ``compile`` of its own, which goes before that. seconds, memory: what a variant
    may take, None without.
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


@dataclass(frozen=True)
class Variant:
    """One thing to compile. index: among all variants of a request. recipe: its recipe's name, and
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
        """The variant as one JSON object, for the process that compiles it."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Variant:
        """What ``to_json`` made, which our own engine sends; other fields are passed over."""
        return cls(**{one.name: value[one.name] for one in fields(cls) if one.name in value})


def faults(data: object) -> list[Fault]:
    """Everything that is wrong with a recipe, at most ``faults.MOST``. Imports nothing of it."""
    found = Faults()
    _look(found, data)
    if not found.found:
        _look_whole(found, _built(without_faults(data), "", None))
    return found.found


def checked(data: object, name: str = "recipe", folder: str | None = None) -> Recipe:
    """A recipe from its tables. Raises Problem("recipe-wrong") for the first fault."""
    for fault in faults(data):
        raise wrong(data.get("name", name) if isinstance(data, dict) else name, fault)
    return _built(without_faults(data), name, folder)


def without_faults(data: object) -> Tables:
    """The tables of a recipe, of which ``faults`` has found nothing wrong."""
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
    ways, env = items.settings_of(data.get("compile", {})), dict(data.get("environment", {}))
    memory = bytes_of(limits["memory"]) if "memory" in limits else None
    name, about = str(data.get("name", name)), str(data.get("about", ""))
    own = source, made, folder, about, matrix, ways, env
    return Recipe(name, *own, limits.get("seconds"), memory)


def _item(source: str, told: Item) -> Item:
    item: Item = {**told, "name": told.get("name") or items.name_of(source, told)}
    if "compile" in told:
        item["compile"] = items.settings_of(told["compile"])
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
    if (variants := many(recipe)) > MOST_VARIANTS:
        found.add(("matrix",), "fewer-variants", variants, most=MOST_VARIANTS)
    elif weight(recipe) > MOST_SIZE:
        found.add(("matrix",) if recipe.matrix else (recipe.source,), "smaller", most=MOST_SIZE)


def axes_of(recipe: Recipe, item: Item) -> list[str]:
    """The names of its recipe's matrix that change an item, in their order."""
    used = items.axes(recipe.source, item, recipe.matrix, recipe.items)
    return [axis for axis in recipe.matrix if axis in used]


def many(recipe: Recipe) -> int:
    """How many variants it has."""
    return sum(_many(recipe, one) for one in recipe.items)


def _many(recipe: Recipe, item: Item) -> int:
    ways = math.prod(len(recipe.matrix[axis]) for axis in axes_of(recipe, item))
    return ways * len(items.targets(item, recipe.matrix))


def weight(recipe: Recipe) -> int:
    """How many bytes all its variants take, about, when they are written out."""
    common = len(json.dumps([recipe.compile, recipe.environment]))
    return sum(_many(recipe, one) * (len(json.dumps(one)) + common) for one in recipe.items)


def _look(found: Faults, data: object) -> None:
    """Note what is wrong with each section of a recipe."""
    if not found.table(data, ()):
        return
    found.keys(data, SECTIONS, ())
    for name in ("name", "about"):
        if name in data:
            found.text(data[name], (name,), LONGEST_NAME if name == "name" else 400)
    if "machine" in data:
        _machine(found, data["machine"])
    kinds = [key for key in data if key in KINDS]
    if not kinds:
        found.add((), "source", known=", ".join(KINDS))
    for kind in kinds[1:]:
        found.add((kind,), "one-source", kind, at_key=True, first=kinds[0])
    sizes = _matrix(found, data.get("matrix", {}), kinds)
    for kind in kinds:
        _items(found, kind, data, sizes)
    source, matrix = (kinds[0] if kinds else None), _tabled(data.get("matrix"))
    items.look_settings(found, data.get("compile", {}), ("compile",), source, matrix)
    _environment(found, data.get("environment", {}))
    _limits(found, data.get("limits", {}))


def _machine(found: Faults, value: object) -> None:
    where: Where = ("machine",)
    if found.text(value, where, LONGEST_MACHINE):
        with contextlib.suppress(Problem):
            if parse(str(value)).machine == value:
                return
        found.add(where, "machine", shown(value))


def _each(found: Faults, kind: str, value: object) -> Iterator[tuple[Where, Mapping[str, object]]]:
    """The items of a source, and where each lies."""
    if isinstance(value, dict):
        yield (kind,), value
    elif not isinstance(value, list):
        found.add((kind,), "item", shown(value))
    elif found.items(value, (kind,), 1):
        for at, one in enumerate(value):
            if found.table(one, (kind, at)):
                yield (kind, at), one


def _items(found: Faults, kind: str, data: Mapping[str, object], sizes: Sequence[str]) -> None:
    under, matrix = _tabled(data.get("compile")), _tabled(data.get("matrix"))
    for where, item in _each(found, kind, data[kind]):
        items.look(found, kind, item, where, sizes)
        if "compile" not in items.KEYS[kind]:
            continue
        own = item.get("compile", {})
        items.look_settings(found, own, (*where, "compile"), kind, matrix, under)
        for here, call in items.calls_in(item, where):
            if at := next((one for one in ("grad", "backward") if one in call), None):
                items.look_gradients(found, {**under, **_tabled(own), **call}, (*here, at))


def _matrix(found: Faults, matrix: object, kinds: Sequence[str]) -> list[str]:
    """Note what is wrong with a matrix; returns the names of its sizes."""
    where: Where = ("matrix",)
    if not found.table(matrix, where):
        return []
    if len(matrix) > MOST_AXES:
        found.add(where, "fewer", most=MOST_AXES)
        return []
    sizes = []
    for axis, listed in matrix.items():
        here = (*where, axis)
        for kind in kinds[:1]:
            if kind == "script" or (axis in ALL_AXES and axis not in AXES[kind]):
                found.add(here, "not-for-source", axis, at_key=True, source=kind)
        if axis in items.COMPILE and axis not in ALL_AXES:
            found.add(here, "not-an-axis", axis, at_key=True)
            continue
        if axis not in ALL_AXES and not values.NAME.fullmatch(axis):
            found.add(here, "size-name", shown(axis), at_key=True)
            continue
        if axis not in ALL_AXES:
            sizes.append(axis)
        if not found.items(listed, here, 1):
            continue
        for at, value in enumerate(listed):
            _axis(found, axis, value, (*here, at))
            if any(value == other and type(value) is type(other) for other in listed[:at]):
                found.add((*here, at), "twice", shown(value))
    return sizes


def _axis(found: Faults, axis: str, value: object, where: Where) -> None:
    if axis in ("num_warps", "num_stages"):
        items.look_launch(found, axis, value, where)
    elif axis == "targets":
        found.matching(value, items.TARGET, where, "target")
    elif axis in ALL_AXES:
        items.look_way(found, axis, value, where)
    else:
        found.whole(value, where, -items.LARGEST_SIZE, items.LARGEST_SIZE)


def _tabled(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _environment(found: Faults, variables: object) -> None:
    where: Where = ("environment",)
    if not found.table(variables, where):
        return
    for name, value in variables.items():
        here = (*where, name)
        if not _VARIABLE.fullmatch(name):
            found.add(here, "variable", shown(name), at_key=True)
        elif _OURS.fullmatch(name):
            found.add(here, "variable-ours", name, at_key=True)
        if not isinstance(value, str):
            found.add(here, "quoted", shown(value))
        else:
            found.plain(value, here)


def _limits(found: Faults, limits: object) -> None:
    where: Where = ("limits",)
    if not found.table(limits, where):
        return
    found.keys(limits, ("seconds", "memory"), where)
    if "seconds" in limits:
        here = (*where, "seconds")
        value = limits["seconds"]
        if found.number(value, here) and not 0 < value <= MOST_SECONDS:
            found.add(here, "seconds", shown(value), most=MOST_SECONDS)
    if "memory" in limits and bytes_of(limits["memory"]) is None:
        found.add((*where, "memory"), "memory", shown(limits["memory"]))


def bytes_of(memory: object) -> int | None:
    """Bytes from a number, or a text such as "8 GiB" or "500 MB"; None where it is neither."""
    if isinstance(memory, str):
        match = _MEMORY.fullmatch(memory)
        memory = int(float(match[1]) * _UNITS[match[2] or ""]) if match else None
    if not isinstance(memory, int) or isinstance(memory, bool):
        return None
    return memory if 0 < memory <= MOST_MEMORY else None


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


def variants_of(
    recipes: Sequence[Recipe],
    device: str | None = None,
    threads: int | None = None,
    portable: bool = False,
    seconds: float | None = None,
) -> list[Variant]:
    """The variants of all recipes. What is given is for those that say nothing of it."""
    count = sum(map(many, recipes))
    if count > MOST_VARIANTS or sum(map(weight, recipes)) > MOST_SIZE:
        raise Problem("variants-too-many", variants=count, most=MOST_VARIANTS)
    found: list[Variant] = []
    names: dict[str, int] = {}
    for recipe in recipes:
        again = names[recipe.name] = names.get(recipe.name, 0) + 1
        name = recipe.name if again == 1 else f"{recipe.name} ({again})"
        for variant in _variants(recipe):
            given = variant.source != "triton"
            found.append(
                replace(
                    variant,
                    index=len(found),
                    recipe=name,
                    device=variant.device or (device if given else None),
                    threads=variant.threads or threads,
                    portable=recipe.compile.get("portable", portable),
                    seconds=variant.seconds or seconds,
                )
            )
    return found


def _variants(recipe: Recipe) -> list[Variant]:
    found: list[Variant] = []
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
                found.append(_variant(recipe, item, chosen, name))
    return found


def _named(name: str, way: Way) -> str:
    """A name such as ``add, batch 8, bfloat16, max-autotune``."""
    said = [name, *(f"{axis} {value}" for axis, value in way.items() if axis not in ALL_AXES)]
    said += [_SAID.get(axis, "{}").format(way[axis]) for axis in _ORDER if axis in way]
    whole = ", ".join(said)
    return whole if len(whole) <= _LONGEST else whole[: _LONGEST - 1] + "…"


def _variant(recipe: Recipe, item: Item, way: Way, name: str) -> Variant:
    ways: Settings = {**recipe.compile, **item.get("compile", {})}
    for axis in ("device", "dtype", "mode"):
        if axis in way:
            ways[axis] = way[axis]
    if ways.get("options") and ways.get("mode") == "default":
        del ways["mode"]  # torch.compile refuses a mode with options, even this one
    sizes = {axis: value for axis, value in way.items() if axis not in ALL_AXES}
    made = _written_out(recipe, item, way, sizes, ways.get("dtype"))
    about, limits = (recipe.name, name, recipe.source, made, recipe.folder), recipe.seconds
    variant = Variant(0, *about, sizes=sizes, environment=dict(recipe.environment), **ways)
    return replace(variant, seconds=limits, memory=recipe.memory)


def _written_out(
    recipe: Recipe, item: Item, way: Way, sizes: Mapping[str, int], dtype: str | None
) -> Item:
    """The item of one variant, with everything written out that its source has to know."""
    source, made = recipe.source, item.copy()
    made.pop("compile", None)  # which the variant has
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
