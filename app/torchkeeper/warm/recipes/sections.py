"""The sections of a recipe: what each may hold, and what is wrong with one.

The values of a matrix and of ``[compile]`` are those that torch.compile takes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from torchkeeper.warm.options import MOST_THREADS
from torchkeeper.warm.recipes import items
from torchkeeper.warm.recipes.faults import Faults, Where, shown
from torchkeeper.warm.recipes.values import DEVICE, DTYPES, NAME

#: The sources that a recipe can name, which is all but the built-in one.
KINDS = ("callable", "script", "exported", "eager", "triton")
SECTIONS = ("name", "about", *KINDS, "matrix", "compile", "environment", "limits")
#: torch.compile's modes (torch/_inductor/__init__.py, list_mode_options).
MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
COMPILE = (
    "mode", "dynamic", "fullgraph", "backward", "grad", "options", "device", "dtype", "threads",
    "portable",
)  # fmt: skip
#: Of these, what has a meaning for each source.
COMPILES = {
    "callable": COMPILE,
    "exported": COMPILE,
    "eager": ("options", "device", "dtype", "threads", "portable"),
    "script": ("threads", "portable"),
    "triton": (),
}
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


def look(found: Faults, data: Any) -> None:
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
        _items(found, kind, data[kind], sizes)
    _compile(found, data, kinds)
    _environment(found, data.get("environment", {}))
    _limits(found, data.get("limits", {}))


def _items(found: Faults, kind: str, value: Any, sizes: Sequence[str]) -> None:
    if isinstance(value, dict):
        items.look(found, kind, value, (kind,), sizes)
    elif not isinstance(value, list):
        found.add((kind,), "item", shown(value))
    elif found.items(value, (kind,), 1):
        for at, one in enumerate(value):
            if found.table(one, (kind, at)):
                items.look(found, kind, one, (kind, at), sizes)


def _matrix(found: Faults, matrix: Any, kinds: Sequence[str]) -> list[str]:
    """Note what is wrong with a matrix; returns the names of its sizes."""
    where: Where = ("matrix",)
    if not found.table(matrix, where):
        return []
    if len(matrix) > MOST_AXES:
        found.add(where, "fewer", most=MOST_AXES)
        return []
    sizes = []
    for axis, values in matrix.items():
        here = (*where, axis)
        for kind in kinds[:1]:
            if kind == "script" or (axis in ALL_AXES and axis not in AXES[kind]):
                found.add(here, "not-for-source", axis, at_key=True, source=kind)
        if axis not in ALL_AXES and not NAME.fullmatch(axis):
            found.add(here, "size-name", shown(axis), at_key=True)
            continue
        if axis not in ALL_AXES:
            sizes.append(axis)
        if not found.items(values, here, 1):
            continue
        for at, value in enumerate(values):
            _axis(found, axis, value, (*here, at))
            if any(value == other and type(value) is type(other) for other in values[:at]):
                found.add((*here, at), "twice", shown(value))
    return sizes


def _axis(found: Faults, axis: str, value: Any, where: Where) -> None:
    if axis in ("num_warps", "num_stages"):
        items.look_launch(found, axis, value, where)
    elif axis == "targets":
        found.matching(value, items.TARGET, where, "target")
    elif axis in ALL_AXES:
        _way(found, axis, value, where)
    else:
        found.whole(value, where, -items.LARGEST_SIZE, items.LARGEST_SIZE)


def _way(found: Faults, name: str, value: Any, where: Where) -> None:
    if name == "device":
        found.matching(value, DEVICE, where, "device")
    elif name == "dtype":
        found.one_of(value, DTYPES, where, "dtype")
    else:
        found.one_of(value, MODES, where, "mode")


def _compile(found: Faults, data: dict[str, Any], kinds: Sequence[str]) -> None:
    settings, where = data.get("compile", {}), ("compile",)
    if not found.table(settings, where):
        return
    found.keys(settings, COMPILE, where)
    matrix = _tabled(data.get("matrix"))
    for name, value in settings.items():
        if name not in COMPILE:
            continue
        here = (*where, name)
        if kinds and name not in COMPILES[kinds[0]]:
            no = "dynamic-eager" if (kinds[0], name) == ("eager", "dynamic") else "not-for-source"
            if no == "not-for-source" or value is True:
                found.add(here, no, name, at_key=True, source=kinds[0])
        if name in matrix:
            found.add(here, "in-matrix", name, at_key=True)
        if name in ("mode", "device", "dtype"):
            _way(found, name, value, here)
        elif name == "threads":
            found.whole(value, here, 1, MOST_THREADS)
        elif name == "options":
            _options(found, value, here)
        else:
            found.switch(value, here)
    if settings.get("grad") is False and settings.get("backward") is True:
        found.add((*where, "grad"), "grad-and-backward", "grad", at_key=True)
    modes = [settings.get("mode"), *(_listed(matrix.get("mode")))]
    moded = any(mode not in (None, "default") for mode in modes)
    if settings.get("options") and moded and "mode" in COMPILES[kinds[0] if kinds else "callable"]:
        # torch.compile refuses both (torch/__init__.py).
        found.add((*where, "options"), "mode-and-options", "options", at_key=True)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _tabled(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _options(found: Faults, value: Any, where: Where, deep: int = 0) -> None:
    if not found.table(value, where):
        return
    for name, one in value.items():
        here = (*where, name)
        if isinstance(one, dict) and deep < 4:
            _options(found, one, here, deep + 1)  # what a dotted key that is not quoted makes
        elif isinstance(one, (dict, list)):
            found.add(here, "option", shown(one))
        else:
            found.plain(one, here)


def flat(options: dict[str, Any]) -> dict[str, Any]:
    """Options by their full names: ``triton = {cudagraphs = true}`` is ``triton.cudagraphs``."""
    found: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, dict):
            found |= {f"{name}.{inner}": one for inner, one in flat(value).items()}
        else:
            found[name] = value
    return found


def _environment(found: Faults, variables: Any) -> None:
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


def _limits(found: Faults, limits: Any) -> None:
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


def bytes_of(memory: Any) -> int | None:
    """Bytes from a number, or a text such as "8 GiB" or "500 MB"; None where it is neither."""
    if isinstance(memory, str):
        match = _MEMORY.fullmatch(memory)
        memory = int(float(match[1]) * _UNITS[match[2] or ""]) if match else None
    good = isinstance(memory, int) and not isinstance(memory, bool)
    return memory if good and 0 < memory <= MOST_MEMORY else None
