"""How a recipe has things compiled: its ``[compile]``, and what an item of it says for itself.

The settings are those that torch.compile takes, and what else is part of a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from torchkeeper.warm.options import MOST_THREADS
from torchkeeper.warm.recipes.faults import Faults, Where, shown
from torchkeeper.warm.recipes.tables import Settings
from torchkeeper.warm.recipes.values import DEVICE, DTYPES

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


def look(
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
        found.matching(value, DEVICE, where, "device")
    elif name == "dtype":
        found.one_of(value, DTYPES, where, "dtype")
    elif name == "mode":
        found.one_of(value, MODES, where, "mode")
    else:
        known = AUTOCASTS if name == "autocast" else PRECISIONS
        found.one_of(value, known, where, "one-of")


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


def built(settings: Settings) -> Settings:
    """Settings that ``look`` found nothing wrong with, the options by their full names."""
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


def said(settings: Settings) -> Iterator[str]:
    """What an item says for itself, in a few words each, as the name of its cells has it."""
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
