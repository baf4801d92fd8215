"""What kinds of entries are called: by their ids on the command line, where they are typed in
filters; by names in the window.
"""

from __future__ import annotations

from torchkeeper.link.words.tongue import Text, tr

#: The names, by id (artifacts.entry.KINDS).
_NAMES: dict[str, Text] = {
    "fxgraph": "FX graph",
    "aotautograd": "AOTAutograd",
    "code": "Code",
    "triton": "Triton kernel",
    "autotune": "Autotune",
    "pgo": "PGO profile",
    "precompile": "Precompiled",
    "aoti_eager": "AOTI eager",
    "ondisk": "Cached value",
    "header": "C++ header",
    "lock": "Lock",
    "unknown": "Unknown",
}


class _Called:
    """Whether sentences have names of kinds in them, not ids."""

    by_name = False


def use_names(on: bool) -> None:
    """Have sentences call kinds by name from now on, or by id again."""
    _Called.by_name = on


def kind_words(kind: str) -> str:
    """The name of a kind; what is none is called as it is."""
    return tr(_NAMES[kind]) if kind in _NAMES else kind


def called(kind: object) -> str:
    """What a kind is called in a sentence."""
    return kind_words(str(kind)) if _Called.by_name else str(kind)
