"""Caches whose objects are named after commands of our own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from torchkeeper.artifacts.code import key_of
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders.importing import Imported, Placed, import_bundles
from torchkeeper.stores.items import Item, Offered

#: How an environment builds, as its probe tells it.
NATIVE: dict[str, Any] = {
    "torch": "2.9.1+cu128", "torch_key": "ab12", "python": "cpython-311-x86_64-linux-gnu",
    "compiler": "g++ (Debian 12.2.0-14) 12.2.0", "libc": "glibc 2.36", "threads": 2,
    "cpu_flags": ["avx2", "fma"],
    "commands": [
        {"what": "kernel", "isa": "avx2", "extra": "None g++ i -I/home/me/torch/include -O3",
         "portable": "None {cxx} i -I{torch}/include -O3"},
        {"what": "kernel", "isa": "none", "extra": "None g++ i -I/home/me/torch/include -O1",
         "portable": "None {cxx} i -I{torch}/include -O1"},
    ],
}  # fmt: skip


def filling(payload: Iterable[bytes]) -> Callable[[Callable[[bytes], object]], None]:
    """What fills an artifact of a mega-cache with some pieces."""

    def fill(write: Callable[[bytes], object]) -> None:
        for data in payload:
            write(data)

    return fill


def import_bundle(
    offered: Offered,
    place: str,
    report: Report,
    left: Callable[[Item, Problem], None],
    placed: Placed | None = None,
) -> Imported:
    """``import_bundles`` of one."""
    return import_bundles([offered], place, report, lambda _, item, why: left(item, why), placed)


def pairs(cache: Path) -> list[Path]:
    """The sources of which an object was built."""
    return sorted(p for p in cache.glob("*/*.cpp") if p.with_suffix(".so").exists())


def rename(cache: Path, command: str) -> dict[str, str]:
    """Name every object and its source as PyTorch does under a command; the new keys by the old.

    What is renamed is the real thing, source and object.
    """
    keys = {}
    for source in pairs(cache):
        old = source.name.partition(".")[0]
        key = key_of(source.read_text(), command)
        (cache / key[1:3]).mkdir(exist_ok=True)
        for file in (source, source.with_suffix(".so")):
            file.rename(cache / key[1:3] / f"{key}{file.name[len(old) :]}")
        keys[old] = key
    return keys
