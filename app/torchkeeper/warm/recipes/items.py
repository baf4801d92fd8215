"""What the sources of a recipe take: the keys of their items, what is wrong with one, and how it is
compiled: what it says of that for itself, and the ``[compile]`` of its recipe.

The settings of the latter are those that torch.compile takes, and what else is part of a key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal

from torchkeeper.warm.options import MOST_THREADS
from torchkeeper.warm.recipes import values
from torchkeeper.warm.recipes.faults import Faults, Where, shown
from torchkeeper.warm.recipes.tables import Called, Item, Matrix, Settings

#: The keys of an item, by source.
KEYS = {
    "callable": (
        "name", "example", "factory", "function", "args", "inputs", "keywords", "calls", "compile",
    ),
    "script": ("name", "command", "folder"),
    "exported": ("name", "file", "inputs", "keywords", "calls", "compile"),
    "eager": ("name", "op", "inputs", "keywords"),
    "triton": ("name", "kernel", "signature", "constants", "num_warps", "num_stages", "targets"),
}  # fmt: skip
#: Of these, the ones that it cannot do without.
_NEEDED = {
    "callable": (), "script": ("command",), "exported": ("file",), "eager": ("op", "inputs"),
    "triton": ("kernel", "signature"),
}  # fmt: skip
_CALLED: tuple[Literal["example", "factory", "function"], ...] = ("example", "factory", "function")
#: The keys of one of several calls, which follow each other in one process, and how many at most:
#: far beyond what Dynamo compiles of one thing (recompile_limit in torch/_dynamo/config.py).
_CALL = {
    "callable": ("args", "inputs", "keywords", "backward", "grad", "training", "autocast"),
    "exported": ("inputs", "keywords", "backward", "grad", "autocast"),
}
MOST_CALLS = 100
#: A size or a constant at most.
LARGEST_SIZE = 2**40
_NAMED = 60

_REFERENCE = re.compile(
    r"(?:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|[^\x00]+\.py):[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
)
#: An operator as PyTorch's registry names it, with its overload where it has one.
_OP = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?")
#: As GPUTarget (triton/backends/compiler.py) has it: a number for CUDA, a gfx name for ROCm.
TARGET = re.compile(r"cuda:[0-9]{2,3}|hip:gfx[0-9a-f]{3,5}")
#: Triton's types (triton/language/core.py, dtype), and what may be known of an argument:
#: that it is a multiple of 16, or equal to 1.
_TYPE = (
    r"i1|i8|i16|i32|i64|u1|u8|u16|u32|u64|fp8e4nv|fp8e4b8|fp8e4b15|fp8e5|fp8e5b16|fp16|bf16|fp32"
    r"|fp64|B"
)
SIGNATURE = re.compile(
    rf"\*k?(?:{_TYPE})(?::16)?|(?:{_TYPE})(?::(?:16|1))?"
    rf"|tensordesc<(?:{_TYPE})\[[0-9]{{1,6}}(?:, ?[0-9]{{1,6}}){{0,4}}\]>"
)

#: torch.compile's modes (torch/_inductor/__init__.py, list_mode_options).
MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
#: What torch.set_float32_matmul_precision takes, and the types of torch.autocast.
PRECISIONS = ("highest", "high", "medium")
AUTOCASTS = ("bfloat16", "float16")
#: Of a whole recipe: they are set before torch is imported, for a process.
_WHOLE = ("threads", "portable")
COMPILE = (
    "mode", "dynamic", "fullgraph", "backward", "grad", "training", "options", "device", "dtype",
    "autocast", "precision", *_WHOLE,
)  # fmt: skip
#: Of these, what has a meaning for each source.
COMPILES = {
    "callable": COMPILE,
    "exported": tuple(name for name in COMPILE if name != "training"),
    "eager": ("options", "device", "dtype", "threads", "portable"),
    "script": ("threads", "portable"),
    "triton": (),
}


def look(found: Faults, source: str, item: object, where: Where, sizes: Sequence[str]) -> None:
    """Note what is wrong with an item. sizes: the names of the matrix that shapes can use."""
    if not found.table(item, where):
        return
    found.keys(item, KEYS[source], where)
    for key in _NEEDED[source]:
        if key not in item:
            found.add((*where, key), "needed", key=key, source=source)
    if "name" in item:
        found.text(item["name"], (*where, "name"), 80)
    _inputs(found, item, where, sizes)
    if "calls" in item and "calls" in KEYS[source]:
        _calls(found, source, item, where, sizes)
    if source == "callable":
        _callable(found, item, where)
    elif source == "script":
        _script(found, item, where)
    elif source == "exported" and "file" in item:
        found.matching(item["file"], re.compile(r"[^\x00]+\.pt2"), (*where, "file"), "pt2")
    elif source == "eager" and "op" in item:
        found.matching(item["op"], _OP, (*where, "op"), "op")
    elif source == "triton":
        _kernel(found, item, where, sizes)


def _inputs(found: Faults, item: Mapping[str, object], where: Where, sizes: Sequence[str]) -> None:
    if "inputs" in item and found.items(item["inputs"], (*where, "inputs")):
        for at, one in enumerate(item["inputs"]):
            values.look(found, one, (*where, "inputs", at), sizes)
    if "keywords" in item and found.table(item["keywords"], (*where, "keywords")):
        for key, one in item["keywords"].items():
            _parameter(found, key, (*where, "keywords", key))
            values.look(found, one, (*where, "keywords", key), sizes)


def _calls(
    found: Faults, source: str, item: Mapping[str, object], where: Where, sizes: Sequence[str]
) -> None:
    for key in ("inputs", "keywords"):
        if key in item:
            found.add((*where, key), "in-calls", key, at_key=True)
    here = (*where, "calls")
    if not found.items(item["calls"], here, 1):
        return
    if len(item["calls"]) > MOST_CALLS:
        found.add(here, "fewer", most=MOST_CALLS)
        return
    for at, call in enumerate(item["calls"]):
        if not isinstance(call, dict):
            found.add((*here, at), "call", shown(call))
        elif found.table(call, (*here, at)):
            found.keys(call, _CALL[source], (*here, at))
            if source == "callable":
                _args(found, call, (*here, at), "factory" in item)
            _inputs(found, call, (*here, at), sizes)
            for key in ("backward", "grad", "training"):
                if key in call:
                    found.switch(call[key], (*here, at, key))
            if "autocast" in call:
                look_way(found, "autocast", call["autocast"], (*here, at, "autocast"))


def calls_in(
    item: Mapping[str, object], where: Where
) -> Iterator[tuple[Where, Mapping[str, object]]]:
    """The calls that an item has several of, and where each lies; none of what is none."""
    calls = item.get("calls")
    for at, call in enumerate(calls[:MOST_CALLS] if isinstance(calls, list) else ()):
        if isinstance(call, dict):
            yield (*where, "calls", at), call


def inputs_of(item: Item) -> list[object]:
    """All inputs that an item says, of all of its calls."""
    several: Sequence[Called] = item.get("calls", (item,))
    return [
        value
        for call in several
        for value in (*call.get("inputs", ()), *call.get("keywords", {}).values())
    ]


def _parameter(found: Faults, key: str, where: Where) -> None:
    if not key.isidentifier():
        found.add(where, "parameter", shown(key), at_key=True)


def _callable(found: Faults, item: Mapping[str, object], where: Where) -> None:
    called = [key for key in _CALLED if key in item]
    if not called:
        found.add(where, "called")
    for key in called:
        found.matching(item[key], _REFERENCE, (*where, key), "reference")
    for key in called[1:]:
        found.add((*where, key), "one-called", key, at_key=True, first=called[0])
    if called[:1] == ["example"]:
        for given in ("inputs", "keywords", "calls"):
            if given in item:
                found.add((*where, given), "example-returns", given, at_key=True)
    _args(found, item, where, called[:1] != ["function"])


def _args(found: Faults, item: Mapping[str, object], where: Where, takes: bool) -> None:
    """Note what is wrong with what is handed to a factory or an example, if it is one."""
    if "args" in item and not takes:
        found.add((*where, "args"), "args-of-function", "args", at_key=True)
    if "args" in item and found.table(item["args"], (*where, "args")):
        for key, value in item["args"].items():
            _parameter(found, key, (*where, "args", key))
            found.plain(value, (*where, "args", key))


def _script(found: Faults, item: Mapping[str, object], where: Where) -> None:
    command = item.get("command")
    if command is not None and found.items(command, (*where, "command"), 1):
        for at, one in enumerate(command):
            here = (*where, "command", at)
            if not isinstance(one, str) or (at == 0 and not one):
                found.add(here, "text", shown(one))
            else:
                found.plain(one, here)
    if "folder" in item:
        found.text(item["folder"], (*where, "folder"))


def _kernel(found: Faults, item: Mapping[str, object], where: Where, sizes: Sequence[str]) -> None:
    if "kernel" in item:
        found.matching(item["kernel"], _REFERENCE, (*where, "kernel"), "kernel")
    signature, constants = item.get("signature", {}), item.get("constants", {})
    if found.table(signature, (*where, "signature")):
        for key, value in signature.items():
            here = (*where, "signature", key)
            _parameter(found, key, here)
            found.matching(value, SIGNATURE, here, "signature")
            if key in sizes:
                found.add(here, "constant-or-argument", key, at_key=True)
    if found.table(constants, (*where, "constants")):
        for key, value in constants.items():
            here = (*where, "constants", key)
            _parameter(found, key, here)
            if isinstance(value, (dict, list)):
                found.add(here, "constant", shown(value))
            else:
                found.plain(value, here)
            if isinstance(signature, dict) and key in signature:
                found.add(here, "constant-or-argument", key, at_key=True)
    for key in ("num_warps", "num_stages"):
        if key in item:
            look_launch(found, key, item[key], (*where, key))
    if "targets" in item and found.items(item["targets"], (*where, "targets"), 1):
        for at, one in enumerate(item["targets"]):
            found.matching(one, TARGET, (*where, "targets", at), "target")
            if one in item["targets"][:at]:
                found.add((*where, "targets", at), "twice", shown(one))


def look_launch(found: Faults, key: str, value: object, where: Where) -> None:
    """Note what is wrong with a number of warps, a power of two, or of stages."""
    if key == "num_stages":
        found.whole(value, where, 0, 32)
    elif not isinstance(value, int) or isinstance(value, bool) or value not in (1, 2, 4, 8, 16, 32):
        found.add(where, "warps", shown(value))


def name_of(source: str, item: Item) -> str:
    """What an item without a name is called."""
    if source == "callable":
        text = next(item[key] for key in _CALLED if key in item).rpartition(":")[2]
    elif source == "script":
        text = _program(item["command"])
    elif source == "exported":
        text = os.path.splitext(os.path.basename(item["file"]))[0]
    elif source == "eager":
        text = item["op"].partition("::")[2]
    else:
        text = item["kernel"].rpartition(":")[2]
    text = "".join(one if one.isprintable() else "�" for one in text)
    calls = len(item.get("calls", ()))
    many = [f"{calls} calls"] if calls > 1 else []
    return ", ".join([text[:_NAMED] or source, *_said(item.get("compile", {})), *many])


def _program(command: Sequence[str]) -> str:
    """Of a command, what a person calls it: the file or the module that Python runs."""
    words = list(command)
    if re.fullmatch(r"python[0-9.]*", os.path.basename(words[0])):
        del words[0]
    if words[:1] == ["-m"] and len(words) > 1:
        return words[1]
    word = next((one for one in words if not one.startswith("-")), command[0])
    return os.path.basename(word) or command[0]


def targets(item: Item, matrix: Matrix) -> list[str | None]:
    """A kernel's own targets, where the matrix has none; else one None."""
    own: list[str | None] = [*item.get("targets", ())]
    return own if own and "targets" not in matrix else [None]


def axes(source: str, item: Item, matrix: Matrix, beside: Sequence[Item]) -> Collection[str]:
    """The names of a matrix that change an item. beside: all items of the recipe. What an example
    or a factory makes of device, dtype and sizes is its own affair: it gets those that it has
    parameters for, so that all of them count.
    """
    in_inputs = {name for one in inputs_of(item) for name in values.used(one)}
    if source == "callable":
        called = next(key for key in _CALLED if key in item)
        return {"device", "mode"} | (in_inputs if called == "function" else set(matrix))
    if source == "exported":
        return {"device", "mode"} | in_inputs
    if source == "eager":
        return {"device"} | in_inputs
    if source == "script":
        return ()
    others = set(matrix) - {name for one in beside for name in one.get("constants", {})}
    return {"targets", "num_warps", "num_stages"} | others | set(item.get("constants", {}))


def look_settings(
    found: Faults,
    settings: object,
    where: Where,
    source: str | None,
    matrix: Mapping[str, object],
    under: Mapping[str, object] | None = None,
) -> None:
    """Note what is wrong with settings. source: of the recipe, None where it has none. under: for
    those of an item, the recipe's own, which they go before, one by one.
    """
    if not found.table(settings, where):
        return
    found.keys(settings, COMPILE, where)
    for name, value in settings.items():
        if name not in COMPILE:
            continue
        here = (*where, name)
        if under is not None and name in _WHOLE:
            found.add(here, "whole-recipe", name, at_key=True)
        elif source and name not in COMPILES[source]:
            no = "dynamic-eager" if (source, name) == ("eager", "dynamic") else "not-for-source"
            if no == "not-for-source" or value is True:
                found.add(here, no, name, at_key=True, source=source)
        if name in matrix:
            found.add(here, "in-matrix", name, at_key=True)
        if name in ("mode", "device", "dtype", "autocast", "precision"):
            look_way(found, name, value, here)
        elif name == "threads":
            found.whole(value, here, 1, MOST_THREADS)
        elif name == "options":
            _options(found, value, here)
        else:
            found.switch(value, here)
    # What does not go together, at what these settings say of it.
    all_of = {**(under or {}), **settings}
    if at := next((one for one in ("grad", "backward") if one in settings), None):
        look_gradients(found, all_of, (*where, at))
    listed = matrix.get("mode")
    modes = [all_of.get("mode"), *(listed if isinstance(listed, list) else [])]
    moded = any(mode not in (None, "default") for mode in modes)
    at = next((one for one in ("options", "mode") if one in settings), None)
    if at and all_of.get("options") and moded and "mode" in COMPILES[source or "callable"]:
        # torch.compile refuses both (torch/__init__.py).
        found.add((*where, at), "mode-and-options", at, at_key=True)


def look_gradients(found: Faults, settings: Mapping[str, object], where: Where) -> None:
    """Note at the key ``where`` that something is to go backward without gradients."""
    if settings.get("grad") is False and settings.get("backward") is True:
        found.add(where, "grad-and-backward", str(where[-1]), at_key=True)


def look_way(found: Faults, name: str, value: object, where: Where) -> None:
    """Note what is wrong with a device, a dtype, a mode, an autocast or a precision."""
    if name == "device":
        found.matching(value, values.DEVICE, where, "device")
    elif name == "dtype":
        found.one_of(value, values.DTYPES, where, "dtype")
    elif name == "mode":
        found.one_of(value, MODES, where, "mode")
    else:
        found.one_of(value, AUTOCASTS if name == "autocast" else PRECISIONS, where, "one-of")


def _options(found: Faults, value: object, where: Where, deep: int = 0) -> None:
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


def settings_of(settings: Settings) -> Settings:
    """Settings that ``look_settings`` found nothing wrong with, the options by their full names."""
    made = settings.copy()
    if "options" in made:
        made["options"] = _flat(made["options"])
    return made


def _flat(options: Mapping[str, object]) -> dict[str, object]:
    """Options by their full names: ``triton = {cudagraphs = true}`` is ``triton.cudagraphs``."""
    found: dict[str, object] = {}
    for name, value in options.items():
        if isinstance(value, dict):
            found |= {f"{name}.{inner}": one for inner, one in _flat(value).items()}
        else:
            found[name] = value
    return found


def _said(settings: Settings) -> Iterator[str]:
    """What an item says for itself, in a few words each, as the name of its variants has it."""
    texts = settings.get("dtype"), settings.get("device"), settings.get("mode")
    yield from (text for text in texts if text is not None)
    switches = (
        (settings.get("dynamic"), "static", "dynamic"),
        (settings.get("fullgraph"), "", "fullgraph"),
        (settings.get("backward"), "forward", "backward"),
        (settings.get("grad"), "no grad", "grad"),
        (settings.get("training"), "evaluation", "training"),
    )
    for switch, off, on in switches:
        if switch is not None and (word := on if switch else off):
            yield word
    if "autocast" in settings:
        yield f"autocast {settings['autocast']}"
    if "precision" in settings:
        yield f"{settings['precision']} precision"
    if settings.get("options"):
        yield "options"
