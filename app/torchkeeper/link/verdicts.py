"""Verdicts in words, the same in the window and on the command line.

What entries have comes from strangers: whoever shows these words makes them printable.
"""

from __future__ import annotations

from typing import Any

from torchkeeper.link import say
from torchkeeper.link.words import CATALOGUE

#: What a factor is called; others are called as PyTorch calls them.
_NAMES = {
    "torch": "torch",
    "torch_version": "torch's sources",
    "system_info[hash]": "the system",
    "system_info[device]": "the GPU",
    "system_info[version]": "CUDA or ROCm, and Triton",
    "cpp_runtime_thread_count": "threads",
    "cuda_matmul_settings": "matmul precision",
    "deterministic_algorithms_settings": "deterministic algorithms",
    "cache_key_tag": "cache key tag",
    "default_dtype": "default dtype",
    "fxgraph": "its FX graph",
    "fxgraph cache": "the cache of FX graphs",
    "aotautograd cache": "AOTAutograd's cache",
    "gpu": "GPU",
}
_MAX_NAMED = 3


def factor(name: str) -> str:
    """What a factor is called."""
    if name in _NAMES:
        return _NAMES[name]
    if name.startswith("fxgraph "):
        return f"of its FX graph, {factor(name[8:])}"
    for prefix in ("inductor_config[", "fx_kwargs[", "inductor_config_comms["):
        if name.startswith(prefix):
            return name[len(prefix) : -1]
    return name


def difference(one: dict[str, Any]) -> str:
    """``torch 2.9.1+cu128, here 2.13.0+cpu``; only the factor's name where no values are known."""
    name, entry, here = str(one.get("factor")), one.get("entry"), one.get("here")
    if name == "payload" and entry in CATALOGUE:
        return CATALOGUE[str(entry)].what.rstrip(".").format_map(_Missing())
    said = factor(name)
    if entry is None and here is None:
        return said
    return f"{said} {'none' if entry is None else entry}, here {'none' if here is None else here}"


class _Missing(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "…"


def why(row: dict[str, Any]) -> str:
    """Why an entry has its verdict; empty where that says all."""
    verdict = row.get("verdict")
    if verdict == "conditional":
        return "if the program has " + _listed(row.get("conditions"))
    if verdict == "unknown":
        return "not known: " + _listed(row.get("reasons"))
    if verdict in ("stale", "broken"):
        return _listed(row.get("reasons"))
    return ""


def _listed(differences: object) -> str:
    every = [one for one in (differences if isinstance(differences, list) else [])
             if isinstance(one, dict)]  # fmt: skip
    said = "; ".join(difference(one) for one in every[:_MAX_NAMED])
    left = len(every) - _MAX_NAMED
    return f"{said} and {left:,} more" if left > 0 else said


def summary(answer: dict[str, Any]) -> str:
    """``312 usable, 40 stale: made by torch 2.9.1+cu128``."""
    counts = {str(k): v for k, v in answer["verdicts"].items() if isinstance(v, int) and v}
    made_by = [str(version) for version in answer.get("made_by") or {}]
    said = []
    for name, count in counts.items():
        if name == "none":
            continue
        text = f"{count:,} {name}"
        if name == "stale" and made_by:
            text += ": made by torch " + ", ".join(made_by[:_MAX_NAMED])
        said.append(text)
    # What says more than a number comes last.
    said.sort(key=lambda text: ":" in text)
    without = counts.get("none", 0)
    more = f"{say.count(without, 'other file', 'other files')} without a verdict" if without else ""
    return "; ".join(part for part in (", ".join(said), more) if part) or "no entries"
