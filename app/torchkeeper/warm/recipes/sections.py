"""The sections of a recipe: what each may hold, and what is wrong with one.

``[compile]``, and what an item says of that for itself, is in ``compiling``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from torchkeeper.warm.recipes import compiling, items
from torchkeeper.warm.recipes.faults import Faults, Where, shown
from torchkeeper.warm.recipes.tables import Kind
from torchkeeper.warm.recipes.values import NAME

#: The sources that a recipe can name, which is all but the built-in one.
KINDS: tuple[Kind, ...] = ("callable", "script", "exported", "eager", "triton")
SECTIONS = ("name", "about", *KINDS, "matrix", "compile", "environment", "limits")
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
#: Seconds and bytes of memory that a cell may ask for at most: a week, a PiB.
MOST_SECONDS, MOST_MEMORY = 7 * 86_400, 2**50
LONGEST_NAME = 80

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}")
#: What is ours to set: where a cell's entries go, and what is said between our processes.
_OURS = re.compile(
    r"TORCHINDUCTOR_CACHE_DIR|TRITON_(?:CACHE_DIR|HOME)|TMPDIR|TEMP|TMP|TORCH_TRACE|TORCHKEEPER_.*"
)
_MEMORY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([kMGT]i?)?B")
_UNITS = {"": 1, **{f"{unit}{i}": (1024 if i else 1000) ** n
                    for n, unit in enumerate("kMGT", 1) for i in ("", "i")}}  # fmt: skip


def look(found: Faults, data: object) -> None:
    """Note what is wrong with each section of a recipe."""
    if not found.table(data, ()):
        return
    found.keys(data, SECTIONS, ())
    for name in ("name", "about"):
        if name in data:
            found.text(data[name], (name,), LONGEST_NAME if name == "name" else 400)
    kinds = [key for key in data if key in KINDS]
    if not kinds:
        found.add((), "source", known=", ".join(KINDS))
    for kind in kinds[1:]:
        found.add((kind,), "one-source", kind, at_key=True, first=kinds[0])
    sizes = _matrix(found, data.get("matrix", {}), kinds)
    for kind in kinds:
        _items(found, kind, data, sizes)
    source, matrix = (kinds[0] if kinds else None), _tabled(data.get("matrix"))
    compiling.look(found, data.get("compile", {}), ("compile",), source, matrix)
    _environment(found, data.get("environment", {}))
    _limits(found, data.get("limits", {}))


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
        compiling.look(found, own, (*where, "compile"), kind, matrix, under)
        for here, call in items.calls_in(item, where):
            if at := next((one for one in ("grad", "backward") if one in call), None):
                compiling.look_gradients(found, {**under, **_tabled(own), **call}, (*here, at))


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
        if axis in compiling.COMPILE and axis not in ALL_AXES:
            found.add(here, "not-an-axis", axis, at_key=True)
            continue
        if axis not in ALL_AXES and not NAME.fullmatch(axis):
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
        compiling.look_way(found, axis, value, where)
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
