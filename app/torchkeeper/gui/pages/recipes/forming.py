"""From what a form says of a callable to a recipe."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from torchkeeper.link.recipes import tomltext

if TYPE_CHECKING:
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
    """What the fields of the form say, as they were typed.

    inputs: a line each, as ``[batch, 64] float32``, a number, true, false, a text, or any other
    value as TOML has it in one line. sizes: as ``batch = 1, 8; cached = 512``. dynamic: None as
    PyTorch decides. gradients: of GRADIENTS. calls: whether there are several, which ``inputs``
    only shows.
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
    return tomltext.text_of(data_of(form))


def text_for(programs: Sequence[str], folder: str) -> str:
    """A recipe that lies in ``folder``, for exported programs."""
    items = []
    for path in map(os.path.abspath, programs):
        beside = os.path.dirname(path) == folder
        items.append({"file": os.path.basename(path) if beside else path})
    return tomltext.text_of({"exported": items})


# Sizes.


def sizes_of(text: str) -> dict[str, list[int]]:
    """The sizes that the field names. Raises Wrong."""
    found = {}
    for part in filter(str.strip, text.split(";")):
        match = _SIZE.fullmatch(part)
        if match is None:
            raise Wrong(part.strip())
        found[match[1]] = [int(number) for number in match[2].split(",")]
    return found


def sizes_text(sizes: Mapping[str, Sequence[int]]) -> str:
    """Sizes as the field has them."""
    return "; ".join(f"{name} = {', '.join(map(str, some))}" for name, some in sizes.items())


# Inputs.


def inputs_of(text: str) -> list[Any]:
    """The inputs that the lines of the field say. Raises Wrong."""
    return [_input(line) for line in text.splitlines() if line.strip()]


def inputs_text(inputs: Sequence[Any]) -> str:
    """Inputs as the field has them, a line each."""
    return "\n".join(map(_line, inputs))


def call_text(number: int, call: Called) -> str:
    """A call as the field shows it, of several: ``2: [8, 16], scale = 2.0``."""
    parts = [_line(one) for one in call.get("inputs", ())]
    parts += [f"{name} = {_line(one)}" for name, one in call.get("keywords", {}).items()]
    parts += [tomltext.pair_of(name, one) for name, one in call.items() if name not in _CALL]
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
        try:
            return number(line)
        except ValueError:
            continue
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
    try:
        again = _input(line) if len(line.splitlines()) == 1 else None
    except Wrong:
        again = None
    same = again == value and type(again) is type(value)
    return line if same else tomltext.value_of(value)
