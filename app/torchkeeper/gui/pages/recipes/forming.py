"""From what a form says of a callable to a recipe."""

from __future__ import annotations

import contextlib
import copy
import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from torchkeeper.client.recipes import toml
from torchkeeper.client.recipes.toml import Path
from torchkeeper.warm.recipes.items import name_of
from torchkeeper.warm.recipes.recipe import ALL_AXES
from torchkeeper.warm.recipes.tables import Called, Item, Settings, Tables

Kind = Literal["example", "factory", "function"]
#: How Python is named: by what is called, and whether the form says its inputs.
KINDS: tuple[Kind, ...] = ("example", "factory", "function")
#: What is computed: the result; its gradients, too; the result alone, as in inference.
FORWARD, BACKWARD, NO_GRAD = GRADIENTS = ("forward", "backward", "no-grad")
_SHAPE = re.compile(r"\[([^\[\]\"']*)\]\s*(\w*)")
_SIZE = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*")
_CALL = ("inputs", "keywords")
#: Characters of a line of TOML at most.
_LONGEST = 2000


@dataclass(frozen=True)
class Form:
    """What the fields of the form say, as they were typed. inputs: a line each, as ``[batch, 64]
    float32``, a number, true, false, a text, or any other value as TOML has it in one line. sizes:
    as ``batch = 1, 8; n = 512``. dynamic: None as PyTorch decides. gradients: of GRADIENTS. calls:
    whether there are several, which ``inputs`` only shows.
    """

    kind: Kind
    reference: str
    inputs: str = ""
    sizes: str = ""
    device: str = ""
    dtypes: Sequence[str] = ()
    modes: Sequence[str] = ()
    dynamic: bool | None = None
    fullgraph: bool = False
    gradients: str = FORWARD
    calls: bool = False


class Wrong(ValueError):
    """A line that nobody can read: its text."""


def data_of(form: Form) -> Tables:
    """The tables of the recipe. Raises Wrong for an input or a size."""
    item: Item = {}
    item[form.kind] = form.reference.strip()
    if form.kind != "example" and not form.calls:
        item["inputs"] = inputs_of(form.inputs)
    matrix: dict[str, list[Any]] = {**sizes_of(form.sizes)}
    compiled: Settings = {}
    if len(form.dtypes) > 1:
        matrix["dtype"] = list(form.dtypes)
    elif form.dtypes:
        compiled["dtype"] = form.dtypes[0]
    if len(form.modes) > 1:
        matrix["mode"] = list(form.modes)
    elif form.modes:
        compiled["mode"] = form.modes[0]
    if form.device.strip():
        compiled["device"] = form.device.strip()
    if form.dynamic is not None:
        compiled["dynamic"] = form.dynamic
    if form.fullgraph:
        compiled["fullgraph"] = True
    if form.gradients == BACKWARD:
        compiled["backward"] = True
    elif form.gradients == NO_GRAD:
        compiled["grad"] = False
    made: Tables = {"callable": [item]}
    if matrix:
        made["matrix"] = matrix
    if compiled:
        made["compile"] = compiled
    return made


def text_of(form: Form) -> str:
    """The recipe as TOML. Raises Wrong."""
    return toml.text_of(data_of(form))


def text_for(programs: Sequence[str], folder: str) -> str:
    """A recipe that lies in ``folder``, for exported programs."""
    paths = map(os.path.abspath, programs)
    files = (os.path.basename(x) if os.path.dirname(x) == folder else x for x in paths)
    return toml.text_of({"exported": [{"file": file} for file in files]})


def sizes_of(text: str) -> dict[str, list[int]]:
    """The sizes that the field names. Raises Wrong."""
    found = {}
    for part in filter(str.strip, text.split(";")):
        if (match := _SIZE.fullmatch(part)) is None:
            raise Wrong(part.strip())
        found[match[1]] = [int(number) for number in match[2].split(",")]
    return found


def inputs_of(text: str) -> list[Any]:
    """The inputs that the lines of the field say. Raises Wrong."""
    return [_input(line) for line in text.splitlines() if line.strip()]


def call_text(number: int, call: Called) -> str:
    """A call as the field shows it, of several: ``2: [8, 16], scale = 2.0``."""
    parts = [_line(one) for one in call.get("inputs", ())]
    parts += [f"{name} = {_line(one)}" for name, one in call.get("keywords", {}).items()]
    parts += [toml.pair_of(name, one) for name, one in call.items() if name not in _CALL]
    return f"{number}: {', '.join(parts)}"


def _input(line: str) -> Any:
    line = line.strip()
    if match := _SHAPE.fullmatch(line):
        parts = [part.strip() for part in match[1].split(",") if part.strip()]
        tensor: dict[str, object] = {"shape": [int(x) if x.isdecimal() else x for x in parts]}
        if match[2]:
            tensor["dtype"] = match[2]
        return tensor
    if line.startswith(("[", "{", '"', "'")):
        return _toml(line)
    if line in ("true", "false"):
        return line == "true"
    for number in (int, float):
        with contextlib.suppress(ValueError):
            return number(line)
    return line


def _toml(line: str) -> Any:
    """Any other value. Raises Wrong."""
    try:
        found = tomllib.loads(f"value = {line}") if len(line) <= _LONGEST else {}
    except (tomllib.TOMLDecodeError, RecursionError) as e:
        raise Wrong(line) from e
    if set(found) != {"value"}:
        raise Wrong(line)
    return found["value"]


def _line(value: Any) -> str:
    """An input as it is written shortest, so that it is read as the same."""
    line = str(value)
    if isinstance(value, dict) and set(value) <= {"shape", "dtype"}:
        shape = value.get("shape")
        if isinstance(shape, list):
            line = f"[{', '.join(map(str, shape))}] {value.get('dtype', '')}".strip()
    elif isinstance(value, bool):
        line = str(value).lower()
    with contextlib.suppress(Wrong):
        again = _input(line) if len(line.splitlines()) == 1 else None
        if again == value and type(again) is type(value):
            return line
    return toml.value_of(value)


# A recipe that is there, in the form: what the form shows of it, and its text with what was changed
# there. All else in the text stays as it is.

_SHOWN = ("device", "dtype", "mode", "dynamic", "fullgraph", "backward", "grad")
#: What a switch is where nothing is said of it.
_USUAL = {"fullgraph": False, "backward": False, "grad": True}


class Unfit(Exception):
    """The form cannot show a recipe: "source" (what is compiled is no callable). Or it cannot
    change it: "shared" (one of several callables is to be without what all have), "text" (its text
    cannot be changed in parts).
    """


def names(data: Tables) -> list[str]:
    """What the callables of a recipe are called. Raises Unfit."""
    if "callable" not in data:
        raise Unfit("source")
    some = data["callable"]
    every = [some] if isinstance(some, dict) else some
    return [one.get("name") or name_of("callable", one) for one in every]


def form_of(data: Tables, at: int = 0) -> Form:
    """What the form shows of the callable of this number of a good recipe. Raises Unfit."""
    names(data)
    item: Item = _at(data, _item(data, at))
    kind = next(one for one in KINDS if one in item)
    matrix = data.get("matrix", {})
    compiled: Settings = {**data.get("compile", {}), **item.get("compile", {})}
    gradients = BACKWARD if compiled.get("backward") else FORWARD
    inputs = "\n".join(map(_line, item.get("inputs", ())))
    if calls := item.get("calls"):
        inputs = "\n".join(call_text(n, call) for n, call in enumerate(calls, 1))
    sizes = ((name, some) for name, some in matrix.items() if name not in ALL_AXES)
    return Form(
        kind=kind,
        reference=item[kind],
        inputs=inputs,
        sizes="; ".join(f"{name} = {', '.join(map(str, some))}" for name, some in sizes),
        device=compiled.get("device", ""),
        dtypes=_ways(matrix.get("dtype"), compiled.get("dtype")),
        modes=_ways(matrix.get("mode"), compiled.get("mode")),
        dynamic=compiled.get("dynamic"),
        fullgraph=compiled.get("fullgraph", False),
        gradients=gradients if compiled.get("grad", True) else NO_GRAD,
        calls=bool(calls),
    )


def _ways(several: Sequence[str] | None, one: str | None) -> Sequence[str]:
    return tuple(several) if several is not None else () if one is None else (one,)


def kept(data: Tables, at: int = 0) -> list[str]:
    """What a recipe says besides, which the form does not show, by its keys."""
    found = [name for name in data if name not in ("callable", "matrix", "compile")]
    item = _at(data, _item(data, at))
    shown = (*KINDS, "inputs", "calls", "compile")
    found += [f"callable.{name}" for name in item if name not in shown]
    found += [f"matrix.{name}" for name in data.get("matrix", {}) if name == "device"]
    found += [f"compile.{name}" for name in data.get("compile", {}) if name not in _SHOWN]
    own = item.get("compile", {})
    return found + [f"callable.compile.{name}" for name in own if name not in _SHOWN]


def own(data: Tables, at: int = 0) -> list[str]:
    """What a callable of several says of itself, which the form changes for it alone."""
    return [name for name in _at(data, _item(data, at)).get("compile", {}) if name in _SHOWN]


def changed(text: str, data: Tables, form: Form, at: int = 0) -> str:
    """The text with what the form says otherwise. Raises Wrong, and Unfit if a part were lost."""
    expected = copy.deepcopy(data)
    item = _item(data, at)
    before = form_of(data, at)
    try:
        if form.kind != before.kind:
            text = toml.rename(text, (*item, before.kind), form.kind)
            said = _at(expected, item)
            said[form.kind] = said.pop(before.kind)
        for path, value in _differences(data, before, form, at):
            table = _at(expected, path[:-1], make=True)
            have = table.get(path[-1])
            if value is not None:
                text = toml.put(text, path, value, have)
                table[path[-1]] = value
            elif have is not None:
                text = toml.remove(text, path)
                del table[path[-1]]
        good = _full(tomllib.loads(text)) == _full(expected)
    except (LookupError, tomllib.TOMLDecodeError) as e:
        raise Unfit("text") from e
    if not good:
        raise Unfit("text")
    return text


def _differences(data: Tables, before: Form, after: Form, at: int) -> Iterator[tuple[Path, Any]]:
    """Each key that is to be another, and its value; None for one that is to go."""
    wanted, item = data_of(after), _item(data, at)
    said = _at(wanted, _item(wanted))
    if after.reference.strip() != before.reference:
        yield (*item, after.kind), said[after.kind]
    if not after.calls and (after.kind == "example" or after.inputs != before.inputs):
        yield (*item, "inputs"), said.get("inputs")
    matrix, compiled = wanted.get("matrix", {}), wanted.get("compile", {})
    sizes, now = sizes_of(before.sizes), sizes_of(after.sizes)
    for name in {**sizes, **now}:
        if sizes.get(name) != now.get(name):
            yield ("matrix", name), now.get(name)
    mine, shared = _at(data, item).get("compile", {}), data.get("compile", {})

    def said_of(*names_: str) -> Iterator[tuple[Path, Any]]:
        """Where settings that belong together are said, and what they are to be there."""
        alone = any(name in mine for name in names_)
        for name in names_:
            value = compiled.get(name)
            if alone and value is None and name in shared:
                # What all have is not what this one is to have.
                if name not in _USUAL and len(names(data)) > 1:
                    raise Unfit("shared")
                if name not in _USUAL:
                    yield ("compile", name), None
                value = _USUAL.get(name)
            yield ((*item, "compile", name) if alone else ("compile", name)), value

    dtypes, modes = (before.dtypes, after.dtypes), (before.modes, after.modes)
    for name, (old, new) in (("dtype", dtypes), ("mode", modes)):
        if list(old) != list(new):
            # From one to the other place, where they are now several, or one.
            yield from said_of(name)
            yield ("matrix", name), matrix.get(name)
    for names_, same in (
        (("device",), before.device == after.device.strip()),
        (("dynamic",), before.dynamic == after.dynamic),
        (("fullgraph",), before.fullgraph == after.fullgraph),
        (("backward", "grad"), before.gradients == after.gradients),
    ):
        yield from () if same else said_of(*names_)


def _item(data: Tables, at: int = 0) -> Path:
    return ("callable",) if isinstance(data["callable"], dict) else ("callable", at)


def _at(data: Any, path: Path, *, make: bool = False) -> Any:
    for name in path:
        data = data.setdefault(name, {}) if make and isinstance(data, dict) else data[name]
    return data


def _full(data: Any) -> Any:
    """Without tables that say nothing."""
    if isinstance(data, list):
        return [_full(one) for one in data]
    if isinstance(data, dict):
        return {name: _full(one) for name, one in data.items() if one != {}}
    return data
