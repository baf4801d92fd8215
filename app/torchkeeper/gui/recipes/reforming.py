"""A recipe that is there, in the form: what the form shows of it, and its text with what was
changed there. All else in the text stays as it is.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

from torchkeeper.gui.recipes.forming import (
    BACKWARD,
    FORWARD,
    KINDS,
    NO_GRAD,
    Form,
    data_of,
    inputs_text,
    sizes_of,
    sizes_text,
)
from torchkeeper.link import tomledits
from torchkeeper.link.tomllines import Path
from torchkeeper.warm.recipes.sections import ALL_AXES

_SHOWN = ("device", "dtype", "mode", "dynamic", "fullgraph", "backward", "grad")


class Unfit(Exception):
    """The form cannot show a recipe: "source" (what is compiled is no callable), "several" (there
    are more than one), or "text" (its text cannot be changed in parts).
    """


def form_of(data: dict[str, Any]) -> Form:
    """What the form shows of a recipe that nothing is wrong with. Raises Unfit."""
    item = data.get("callable")
    if item is None:
        raise Unfit("source")
    if isinstance(item, list):
        if len(item) != 1:
            raise Unfit("several")
        [item] = item
    kind = next(one for one in KINDS if one in item)
    matrix, compiled = data.get("matrix", {}), data.get("compile", {})
    gradients = BACKWARD if compiled.get("backward") else FORWARD
    return Form(
        kind=kind,
        reference=item[kind],
        inputs=inputs_text(item.get("inputs", ())),
        sizes=sizes_text({name: some for name, some in matrix.items() if name not in ALL_AXES}),
        device=compiled.get("device", ""),
        dtypes=_ways("dtype", matrix, compiled),
        modes=_ways("mode", matrix, compiled),
        dynamic=compiled.get("dynamic"),
        fullgraph=compiled.get("fullgraph", False),
        gradients=gradients if compiled.get("grad", True) else NO_GRAD,
    )


def _ways(name: str, matrix: dict[str, Any], compiled: dict[str, Any]) -> Sequence[str]:
    if name in matrix:
        return tuple(matrix[name])
    return (compiled[name],) if name in compiled else ()


def kept(data: dict[str, Any]) -> list[str]:
    """What a recipe says besides, which the form does not show, by its keys."""
    found = [name for name in data if name not in ("callable", "matrix", "compile")]
    item = _at(data, _item(data))
    found += [f"callable.{name}" for name in item if name not in (*KINDS, "inputs")]
    found += [f"matrix.{name}" for name in data.get("matrix", {}) if name == "device"]
    found += [f"compile.{name}" for name in data.get("compile", {}) if name not in _SHOWN]
    return found


def has_calls(data: dict[str, Any]) -> bool:
    """Whether it is called several times, so that the form cannot show its inputs."""
    return "calls" in _at(data, _item(data))


def changed(text: str, data: dict[str, Any], form: Form) -> str:
    """The text of a recipe, which has this data, with what the form says otherwise.

    Raises Wrong as ``data_of``, and Unfit where it could not be kept whole.
    """
    expected = copy.deepcopy(data)
    item = _item(data)
    before = form_of(data)
    try:
        if form.kind != before.kind:
            text = tomledits.rename(text, (*item, before.kind), form.kind)
            said = _at(expected, item)
            said[form.kind] = said.pop(before.kind)
        for path, value in _differences(data, before, form):
            table = _at(expected, path[:-1], make=True)
            have = table.get(path[-1])
            if value is not None:
                text = tomledits.put(text, path, value, have)
                table[path[-1]] = value
            elif have is not None:
                text = tomledits.remove(text, path)
                del table[path[-1]]
        good = _full(tomllib.loads(text)) == _full(expected)
    except (LookupError, tomllib.TOMLDecodeError) as e:
        raise Unfit("text") from e
    if not good:
        raise Unfit("text")
    return text


def _differences(data: dict[str, Any], before: Form, after: Form) -> Iterator[tuple[Path, Any]]:
    """Each key that is to be another, and its value; None for one that is to go."""
    wanted, item = data_of(after), _item(data)
    [said] = wanted["callable"]
    if after.reference.strip() != before.reference:
        yield (*item, after.kind), said[after.kind]
    if after.kind == "example" or after.inputs != before.inputs:
        yield (*item, "inputs"), said.get("inputs")
    matrix, compiled = wanted.get("matrix", {}), wanted.get("compile", {})
    sizes, now = sizes_of(before.sizes), sizes_of(after.sizes)
    for name in {**sizes, **now}:
        if sizes.get(name) != now.get(name):
            yield ("matrix", name), now.get(name)
    for name, old, new in (
        ("dtype", before.dtypes, after.dtypes),
        ("mode", before.modes, after.modes),
    ):
        if list(old) != list(new):
            # From one to the other place, where they are now several, or one.
            yield ("compile", name), compiled.get(name)
            yield ("matrix", name), matrix.get(name)
    for names, same in (
        (("device",), before.device == after.device.strip()),
        (("dynamic",), before.dynamic == after.dynamic),
        (("fullgraph",), before.fullgraph == after.fullgraph),
        (("backward", "grad"), before.gradients == after.gradients),
    ):
        for name in () if same else names:
            yield ("compile", name), compiled.get(name)


def _item(data: dict[str, Any]) -> Path:
    """Where what is compiled stands."""
    return ("callable", 0) if isinstance(data["callable"], list) else ("callable",)


def _at(data: Any, path: Path, *, make: bool = False) -> Any:
    for name in path:
        data = data.setdefault(name, {}) if make and isinstance(data, dict) else data[name]
    return data


def _full(data: dict[str, Any]) -> dict[str, Any]:
    """Without tables that say nothing."""
    return {name: one for name, one in data.items() if one != {}}
