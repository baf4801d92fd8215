"""The recipe that warms again what a program was heard compiling.

Each thing that it compiled is named, if it can be made again by name and has inputs that a recipe
can say; else the recipe runs the program's own command, and says why.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torchkeeper.link.hiding import hidden
from torchkeeper.link.recipes.heard import Item, items_of
from torchkeeper.link.recipes.noted import Note, dicts, lines, of_environment, variables
from torchkeeper.link.recipes.references import Unnamed
from torchkeeper.warm.commands import is_python
from torchkeeper.warm.recipes import recipe as recipes

if TYPE_CHECKING:
    from torchkeeper.warm.recipes.tables import Item as Told
    from torchkeeper.warm.recipes.tables import Settings, Tables

#: Reasons, and lines of what was compiled, that a recipe's comment has.
_MOST_LINES = 60


@dataclass
class Recorded:
    """A recipe. data: its tables. comment: what stands before them. source: "callable" or
    "script". why: for a script, why what it compiles is not named. hidden: something that looked
    like a secret was left out of the command.
    """

    data: Tables
    comment: str
    source: str
    why: list[str] = field(default_factory=list)
    hidden: bool = False


def recipe_of(
    notes: Sequence[Note],
    command: Sequence[str],
    out: str,
    env: Mapping[str, str],
    proof: str = "",
    refuted: Sequence[str] = (),
) -> Recorded:
    """The recipe for the file ``out``, of what processes noted (``warm.traces.recorder``).

    command: as the user gave it, in this folder, with ``env``. Nothing is imported. proof: what is
    said of whether what is named was tried; refuted: why that did not find what the program
    compiled, so that it is the command.
    """
    shown = hidden(command)
    secret = shown != [*command]
    if is_python(shown[0]):
        shown[0] = "python"  # whichever the recipe is warmed with
    compiled = [one for note in notes for one in dicts(note.get("compiled"))]
    told = [f"  {line}" for one in compiled for line in lines(one)]
    head = [f"Recorded by “torchkeeper run --recipe” of: {' '.join(shown)}"[:2000]]
    try:
        if refuted:
            raise Unnamed([*refuted][:_MOST_LINES])
        data = _understood(notes, os.path.dirname(out))
        head.append("It is the program's own models and functions, each with the inputs it had.")
        head += [f"{proof}."] if proof else []
        found = Recorded(data, "", "callable")
    except Unnamed as e:
        why = e.args[0]
        found = Recorded(_script(shown, out, notes, env), "", "script", why, secret)
        head.append("It runs the command again, because what was compiled cannot be named:")
        head += [f"  {line}" for line in why]
        if found.hidden:
            head.append("Where the command has “…” something that looked like a secret is left "
                        "out: the command has to take it from elsewhere.")  # fmt: skip
    if told:
        head += ["", "Compiled were:", *told[:_MOST_LINES]]
        head += [f"  and {len(told) - _MOST_LINES:,} more"] if len(told) > _MOST_LINES else []
    # One line each, whatever a program called its things.
    found.comment = "\n".join(
        "".join(c if c.isprintable() else " " if c.isspace() else "�" for c in line)[:500]
        for line in head
    )
    return found


def _understood(notes: Sequence[Note], folder: str) -> Tables:
    """As ``_callables``; a program can write there what it likes."""
    try:
        return _callables(notes, folder)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as e:
        raise Unnamed(["what it noted is not understood"]) from e


def _callables(notes: Sequence[Note], folder: str) -> Tables:
    """The recipe's tables. Raises Unnamed(why) with every reason."""
    why: list[str] = []
    found: list[Item] = []
    for note in notes:
        if note.get("unseen"):
            why.append("some compiles were begun in a way that cannot be seen")
        named, reasons = items_of(note, folder)
        found += [one for one in named if one not in found]
        why += reasons
    if not found and not why:
        why.append("nothing was heard of it: its Python was started without its site, or the "
                   "program cleared its environment")  # fmt: skip
    if why:
        raise Unnamed(list(dict.fromkeys(why))[:_MOST_LINES])
    settings, items = _settled(found)
    for note in notes:
        settings.update(of_environment(note))
    data: dict[str, object] = {"callable": items}
    data |= _matrix(items)
    data |= {"compile": settings} if settings else {}
    copied = {k: v for note in notes for k, v in variables(note.get("environment")).items()}
    data |= {"environment": copied} if copied else {}
    if faults := recipes.faults(data):
        raise Unnamed([f"a recipe cannot say it: {'.'.join(map(str, faults[0].where))}"])
    return recipes.without_faults(data)


def _settled(found: Sequence[Item]) -> tuple[dict[str, object], list[Mapping[str, Any]]]:
    """The ways that all items have in common, and the items, each with what is its own.

    An item that says nothing of a way takes any: what is decorated has its own with it.
    """
    shared: dict[str, object] = {}
    own: list[dict[str, object]] = [{} for _ in found]
    for name in dict.fromkeys(name for one in found for name in one.ways):
        values = [one.ways[name] for one in found if name in one.ways]
        if all(value == values[0] for value in values):
            if not _is_default(name, values[0]):
                shared[name] = values[0]
            continue
        for one, settings in zip(found, own, strict=True):
            if name in one.ways and not _is_default(name, one.ways[name]):
                settings[name] = one.ways[name]
    items: list[Mapping[str, Any]] = []
    for one, settings in zip(found, own, strict=True):
        calls = one.calls[0] if len(one.calls) == 1 else {"calls": one.calls}
        items.append({**one.made, **({"compile": settings} if settings else {}), **calls})
    return shared, items


def _is_default(name: str, value: Any) -> bool:
    if name in ("fullgraph", "backward", "grad"):
        return value is (name == "grad")
    return value is None or value == {}


def _matrix(items: list[Mapping[str, Any]]) -> dict[str, object]:
    """A size for what alone differs between calls of one thing; the items become one."""
    if len(items) < 2 or any("inputs" not in one for one in items):
        return {}
    first = items[0]
    if any({**one, "inputs": 0} != {**first, "inputs": 0} for one in items):
        return {}
    places = [
        (at, dim)
        for at, value in enumerate(first["inputs"])
        if isinstance(value, dict) and "shape" in value
        for dim in range(len(value["shape"]))
    ]
    try:
        differ = [
            p for p in places if len({one["inputs"][p[0]]["shape"][p[1]] for one in items}) > 1
        ]
        sizes = [{one["inputs"][at]["shape"][dim] for at, dim in differ} for one in items]
        if not differ or any(len(size) != 1 for size in sizes):
            return {}
        name = "batch" if all(dim == 0 for _, dim in differ) else "size"
        alike = []
        for one in items:
            copy = json.loads(json.dumps(one))
            for at, dim in differ:
                copy["inputs"][at]["shape"][dim] = name
            alike.append(copy)
    except (LookupError, TypeError):
        return {}
    values = [size.pop() for size in sizes]
    if any(one != alike[0] for one in alike) or len(set(values)) != len(values):
        return {}
    items[:] = alike[:1]
    return {"matrix": {name: values}}


def _script(
    shown: Sequence[str], out: str, notes: Sequence[Note], env: Mapping[str, str]
) -> Tables:
    folder = os.path.relpath(os.getcwd(), os.path.dirname(out))
    item: Told = {"command": [*shown]}
    if folder != ".":
        item["folder"] = folder
    data: Tables = {"script": [item]}
    settings: Settings = {}
    for note in [{"environment": dict(env)}, *notes]:
        settings.update(of_environment(note))
    if settings:
        data["compile"] = settings
    if copied := variables(env):
        data["environment"] = copied
    return data
