"""From what a form says of a callable to the text of a recipe."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

#: How Python is named: by what is called, and whether the form says its inputs.
KINDS = ("example", "factory", "function")
_SHAPE = re.compile(r"\[([^\]]*)\]\s*(\w*)")
_SIZE = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*")


@dataclass(frozen=True)
class Form:
    """What the fields of the form say, as they were typed.

    inputs: a line each, as ``[batch, 64] float32``, a number, true, false, or a text. sizes: as
    ``batch = 1, 8; cached = 512``. dynamic: None as PyTorch decides.
    """

    kind: str
    reference: str
    inputs: str = ""
    sizes: str = ""
    device: str = ""
    dtypes: Sequence[str] = ()
    modes: Sequence[str] = ()
    dynamic: bool | None = None
    fullgraph: bool = False
    backward: bool = False


class Wrong(ValueError):
    """A line that nobody can read: its text."""


def data_of(form: Form) -> dict[str, Any]:
    """The tables of the recipe. Raises Wrong for an input or a size."""
    item: dict[str, Any] = {form.kind: form.reference.strip()}
    if form.kind != "example":
        item["inputs"] = [_input(line) for line in form.inputs.splitlines() if line.strip()]
    matrix: dict[str, Any] = {}
    for part in filter(str.strip, form.sizes.split(";")):
        match = _SIZE.fullmatch(part)
        if match is None:
            raise Wrong(part.strip())
        matrix[match[1]] = [int(number) for number in match[2].split(",")]
    compiled: dict[str, Any] = {}
    for name, values in (("dtype", form.dtypes), ("mode", form.modes)):
        if len(values) > 1:
            matrix[name] = list(values)
        elif values:
            compiled[name] = values[0]
    if form.device.strip():
        compiled["device"] = form.device.strip()
    if form.dynamic is not None:
        compiled["dynamic"] = form.dynamic
    compiled |= {name: True for name in ("fullgraph", "backward") if getattr(form, name)}
    made: dict[str, Any] = {"callable": [item]}
    if matrix:
        made["matrix"] = matrix
    if compiled:
        made["compile"] = compiled
    return made


def text_of(form: Form) -> str:
    """The recipe as TOML. Raises Wrong."""
    from torchkeeper.link import tomltext

    return tomltext.text_of(data_of(form))


def text_for(programs: Sequence[str], folder: str) -> str:
    """A recipe that lies in ``folder``, for exported programs."""
    from torchkeeper.link import tomltext

    items = []
    for path in map(os.path.abspath, programs):
        beside = os.path.dirname(path) == folder
        items.append({"file": os.path.basename(path) if beside else path})
    return tomltext.text_of({"exported": items})


def _input(line: str) -> Any:
    line = line.strip()
    if match := _SHAPE.fullmatch(line):
        parts = [part.strip() for part in match[1].split(",") if part.strip()]
        tensor: dict[str, Any] = {"shape": [int(x) if x.isdecimal() else x for x in parts]}
        if match[2]:
            tensor["dtype"] = match[2]
        return tensor
    if line.startswith(("[", "{")):
        raise Wrong(line)
    if line in ("true", "false"):
        return line == "true"
    for number in (int, float):
        try:
            return number(line)
        except ValueError:
            continue
    return line.strip("\"'")
