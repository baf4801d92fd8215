"""Which cache each entry of a bundle is of, and where this machine has that: by its variables, by
what is there, and else by the defaults of those who write it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.artifacts import layout
from torchkeeper.artifacts.jits import known as jits
from torchkeeper.stores.places import default_folder, triton_folder, vllm_folder

if TYPE_CHECKING:
    from torchkeeper.stores.items import Item

#: What the caches of PyTorch, of Triton alone and of vLLM are called.
PYTORCH, TRITON, VLLM = "PyTorch", "Triton", "vLLM"


class Home(NamedTuple):
    """Where a cache is. reason: as of ``places.Place``. there: whether it exists."""

    path: str
    reason: str
    there: bool


def cache_of(item: Item) -> str:
    """What the cache is called that an entry of a bundle is of."""
    if item.kind == "jit" and (own := jits.own(item.files[0].path)):
        return own.cache.title
    if item.kind != "aoti_eager" and layout.in_tree(item.path):
        return VLLM
    # Inductor has its kernels in a folder for each device.
    return TRITON if item.kind == "triton" and "/" not in item.path else PYTORCH


def home_of(title: str, env: Mapping[str, str] = os.environ) -> Home | None:
    """Where a cache is for programs with these variables; None where nothing tells."""
    named, default = list[Home](), list[Home]()
    for path, reason in _candidates(title, env):
        if os.path.isabs(path):
            of_cache = reason.isupper() and reason != jits.COMMON
            (named if of_cache else default).append(Home(path, reason, os.path.isdir(path)))
    there = (home for home in default if home.there)
    return next(iter(named), None) or next(there, None) or next(iter(default), None)


def _candidates(title: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if title == PYTORCH:
        if named := env.get("TORCHINDUCTOR_CACHE_DIR"):
            yield named, "TORCHINDUCTOR_CACHE_DIR"
        yield default_folder(), "default"
    elif title == TRITON:
        yield triton_folder(env)
    elif title == VLLM:
        root, reason = vllm_folder(env)
        yield os.path.join(root, layout.VLLM_KEYS), reason
    for home in jits.homes(env):
        # Of several that are separated by colons, the whole is none.
        if home.cache.title == title and (":" not in home.path or os.path.isdir(home.path)):
            yield home.path, home.reason
