"""The recipe that warms again what a program was heard compiling.

Each thing that it compiled is named, if it can be made again by name and has inputs that a recipe
can say; else the recipe runs the program's own command, and says why.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torchkeeper.link.hiding import hidden, is_secret
from torchkeeper.link.noted import (
    NOT_CACHED,
    Note,
    dicts,
    given,
    lines,
    of_environment,
    variables,
)  # fmt: skip
from torchkeeper.link.references import Unnamed, reference
from torchkeeper.warm.commands import is_python
from torchkeeper.warm.recipes import recipe as recipes
from torchkeeper.warm.recipes.compiling import MODES

#: Reasons, and lines of what was compiled, that a recipe's comment has.
_MOST_LINES = 60
_ODD = {
    "hooks": "has hooks",
    "frozen": "has parameters of which only some want gradients",
    "devices": "is on several devices",
    "dtypes": "has parameters of several types",
}


@dataclass
class Recorded:
    """A recipe. data: its tables. comment: what stands before them. source: "callable" or
    "script". why: for a script, why what it compiles is not named. hidden: something that looked
    like a secret was left out of the command.
    """

    data: dict[str, Any]
    comment: str
    source: str
    why: list[str] = field(default_factory=list)
    hidden: bool = False


def recipe_of(
    notes: Sequence[Note], command: Sequence[str], out: str, env: Mapping[str, str]
) -> Recorded:
    """The recipe for the file ``out``, of what processes noted (``warm.traces.recorder``).

    command: as the user gave it, in this folder, with ``env``. Nothing is imported.
    """
    shown = hidden(command)
    secret = shown != [*command]
    if is_python(shown[0]):
        shown[0] = "python"  # whichever the recipe is warmed with
    compiled = [one for note in notes for one in dicts(note.get("compiled"))]
    told = [f"  {line}" for one in compiled for line in lines(one)]
    head = [f"Recorded by “torchkeeper run --recipe” of: {' '.join(shown)}"[:2000]]
    try:
        data = _understood(notes, os.path.dirname(out))
        head.append("It is the program's own models and functions, each with the inputs it had.")
        without = sorted({str(one["name"]) for one in compiled if _without_grad(one)})
        if without and data.get("compile", {}).get("grad") is not False:
            # A key of AOTAutograd's holds whether gradients are on (autograd_cache.py).
            head.append(f"Called without gradients, and with nothing that has any: "
                        f"{', '.join(without[:10])}. Their graphs will hit; AOTAutograd's own "
                        "entries, which take no compiler, will not.")  # fmt: skip
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
        "".join(c if c.isprintable() else "�" for c in line)[:500] for line in head
    )
    return found


def _understood(notes: Sequence[Note], folder: str) -> dict[str, Any]:
    """As ``_callables``; a program can write there what it likes."""
    try:
        return _callables(notes, folder)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as e:
        raise Unnamed(["what it noted is not understood"]) from e


def _callables(notes: Sequence[Note], folder: str) -> dict[str, Any]:
    """The recipe's tables. Raises Unnamed(why) with every reason."""
    why: list[str] = []
    items: list[dict[str, Any]] = []
    ways: list[dict[str, Any]] = []
    for note in notes:
        if note.get("unseen"):
            why.append("some compiles were begun in a way that cannot be seen")
        for one in dicts(note.get("compiled")):
            if one.get("backend") in NOT_CACHED:
                continue
            try:
                of_one, its = _items(one, note, folder)
            except Unnamed as e:
                why.append(str(e.args[0]))
                continue
            items += [item for item in of_one if item not in items]
            ways += [way for way in its if way not in ways]
    if not items and not why:
        why.append("nothing was heard of it: its Python was started without its site, or the "
                   "program cleared its environment")  # fmt: skip
    merged: dict[str, Any] = {}
    for way in ways:
        for name, value in way.items():
            if merged.setdefault(name, value) != value:
                why.append(f"it compiles in several ways: {name} is not the same for all")
    if why:
        raise Unnamed(list(dict.fromkeys(why))[:_MOST_LINES])
    settings = {name: value for name, value in merged.items() if value not in (None, False, {})}
    if merged.get("dynamic") is False:
        settings["dynamic"] = False
    calls = [
        call
        for note in notes
        for one in dicts(note.get("compiled"))
        if one.get("backend") not in NOT_CACHED
        for call in dicts(one.get("calls"))
    ]
    if all(call.get("grad") is False and not call.get("backward") for call in calls):
        settings["grad"] = False
    for note in notes:
        settings.update(of_environment(note))
    data: dict[str, Any] = {"callable": items}
    data |= _matrix(items)
    data |= {"compile": settings} if settings else {}
    copied = {k: v for note in notes for k, v in variables(note.get("environment")).items()}
    data |= {"environment": copied} if copied else {}
    if faults := recipes.faults(data):
        raise Unnamed([f"a recipe cannot say it: {'.'.join(map(str, faults[0].where))}"])
    return data


def _items(one: Note, note: Note, folder: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """An item for each call of a thing that was compiled, and the ways in which they were."""
    name = str(one.get("name"))
    if one.get("settings"):
        raise Unnamed(f"the program has set {', '.join(map(str, one['settings'][:5]))}")
    if one.get("backend") != "inductor":
        raise Unnamed(f"{name} is compiled by another backend, {one.get('backend')}")
    if one.get("kind") not in ("function", "model"):
        raise Unnamed(f"{name} is no function and no model, but a {one.get('type')}")
    if not one.get("there"):
        raise Unnamed(f"{name} is made inside a function, or has another name now")
    if secret := _secret(one):
        raise Unnamed(f"{name} is given what looks like a secret, {secret}, which is not kept")
    made: dict[str, Any] = {}
    if one["kind"] == "model":
        if one.get("odd"):
            raise Unnamed(f"{name} {_ODD.get(str(one['odd'][0]), 'is not as it was built')}")
        if not isinstance(one.get("args"), dict):
            raise Unnamed(f"{name} is built from more than plain values")
        made["factory"] = reference(one, note, folder)
        made |= {"args": one["args"]} if one["args"] else {}
    else:
        made["function"] = reference(one, note, folder)
    items, ways = [], []
    for call in dicts(one.get("calls")):
        _check(call, one, name)
        device = _device(one, call)
        inputs = [_told(x, device) for x in call["inputs"]]
        keywords = {key: _told(x, device) for key, x in call["keywords"].items()}
        items.append({**made, "inputs": inputs, **({"keywords": keywords} if keywords else {})})
        way = {"device": device, "backward": bool(call.get("backward"))}
        if not one.get("decorated"):
            way |= {key: one.get(key) for key in ("dynamic", "fullgraph", "options")}
            way["mode"] = one["mode"] if one.get("mode") in MODES else None
        if one["kind"] == "model":
            dtype = one.get("dtype")
            way["dtype"] = None if dtype == "float32" else dtype
        ways.append(way)
    return items, ways


def _secret(one: Note) -> str:
    """What it is given that looks like a secret, by name; empty without."""
    named = [*_table(one.get("args")), *_table(one.get("options"))]
    named += [each for call in dicts(one.get("calls")) for each in given(one, call)]
    return next((key or "an input" for key, value in named if is_secret(key, value)), "")


def _table(value: Any) -> list[tuple[str, Any]]:
    return [(str(key), one) for key, one in value.items()] if isinstance(value, dict) else []


def _check(call: Note, one: Note, name: str) -> None:
    """Raises Unnamed where a call cannot be made again by itself."""
    if call.get("symbols") and one.get("dynamic") is not True:
        raise Unnamed(f"{name} is compiled for any size after it was for another one: that takes "
                      "the program's own order of calls")  # fmt: skip
    for value in (*call["inputs"], *call["keywords"].values()):
        for odd in _odd(value):
            raise Unnamed(f"an input of {name} is a {odd}")
    trains = bool(call.get("backward"))
    if one["kind"] == "model" and one.get("mode_matters") and trains != bool(one.get("training")):
        raise Unnamed(f"{name} is in {'evaluation' if trains else 'training'} mode, "
                   f"{'with' if trains else 'without'} gradients")  # fmt: skip


def _odd(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "odd" in value:
            yield str(value["odd"])
        for form in ("list", "tuple"):
            for one in value.get(form, ()):
                yield from _odd(one)


def _without_grad(one: Note) -> bool:
    """Whether it was called as a recipe does not: without gradients where nothing has one."""
    return any(
        call.get("grad") is False
        and not one.get("wants_grad")
        and not any(tensor.get("requires_grad") for tensor in _tensors(call))
        for call in dicts(one.get("calls"))
    )


def _device(one: Note, call: Note) -> str:
    """Where a call runs: the model's device, or that of the first tensor."""
    named = [one.get("device"), *(x.get("device") for x in _tensors(call))]
    return next((str(device) for device in named if device), "cpu").removesuffix(":0")


def _tensors(call: Note) -> list[dict[str, Any]]:
    values = [*call["inputs"], *call["keywords"].values()]
    return [one for one in values if isinstance(one, dict) and "shape" in one]


def _told(value: Any, device: str) -> Any:
    """An input as the recipe has it: the device of all is said once."""
    if not isinstance(value, dict):
        return value
    for form in ("list", "tuple"):
        if form in value:
            return {form: [_told(one, device) for one in value[form]]}
    if "shape" in value and str(value.get("device")).removesuffix(":0") == device:
        return {key: one for key, one in value.items() if key != "device"}
    return dict(value)


def _matrix(items: list[dict[str, Any]]) -> dict[str, Any]:
    """A size for what alone differs between calls of one thing; the items become one."""
    if len(items) < 2:
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
) -> dict[str, Any]:
    folder = os.path.relpath(os.getcwd(), os.path.dirname(out))
    item: dict[str, Any] = {"command": [*shown]}
    data: dict[str, Any] = {"script": [item if folder == "." else {**item, "folder": folder}]}
    settings: dict[str, Any] = {}
    for note in [{"environment": dict(env)}, *notes]:
        settings.update(of_environment(note))
    data |= {"compile": settings} if settings else {}
    copied = variables(env)
    return data | ({"environment": copied} if copied else {})
