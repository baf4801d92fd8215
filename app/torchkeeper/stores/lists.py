"""Files that list several entries: the kernels of an eager operator (artifacts.aoti_eager).

Each is an item of its own, with its library; the list goes with the first.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from torchkeeper.artifacts import alone, aoti_eager
from torchkeeper.artifacts.aoti_eager import MAX_LIST
from torchkeeper.artifacts.layout import eager_library
from torchkeeper.stores.items import File, Item, Source

#: What stands between the path of a list and the digest of an item.
MARK = "#"

#: The files in a folder of the place.
FilesIn = Callable[[str], list[File]]


def files_in(files: list[File]) -> FilesIn:
    """The files in each folder, of these."""
    found: dict[str, list[File]] = {}

    def of(folder: str) -> list[File]:
        if not found:
            for file in files:
                found.setdefault(file.path.rpartition("/")[0], []).append(file)
        return found.get(folder, [])

    return of


def taken_apart(items: list[Item], files_in: FilesIn, source: Source) -> list[Item]:
    """The items with each list as the items it lists, and their libraries not again as code. A list
    that cannot be read stays as it is.
    """
    if not any(item.kind == "aoti_eager" for item in items):
        return items
    found: list[Item] = []
    for item in items:
        found += _parts(item, files_in, source) if item.kind == "aoti_eager" else [item]
    taken = {file.path for item in found if item.about for file in item.files}
    for item in found:
        if item.kind == "code":
            item.files = [file for file in item.files if file.path not in taken]
    return [item for item in found if item.files]


def _parts(item: Item, files_in: FilesIn, source: Source) -> list[Item]:
    (conf,) = item.files
    if not conf.regular or conf.size > MAX_LIST:
        return [item]
    try:
        with source.open(conf) as stream:
            listed = aoti_eager.items(stream.read(MAX_LIST))
    except (OSError, ValueError, TypeError, RecursionError):
        return [item]
    namespace, device = item.path.split("/")[-3:-1]
    parts: list[Item] = []
    seen: dict[str, int] = {}
    for one in listed:
        digest = aoti_eager.digest(one)
        seen[digest] = seen.get(digest, 0) + 1
        mark = MARK + digest + (f"-{seen[digest]}" if seen[digest] > 1 else "")
        files = _library(conf.path, one, files_in)
        if not parts or not files:
            files = [conf, *files]
        said = alone.alone(f"{namespace}::{item.key}", device, one)
        parts.append(Item(item.kind, item.key + mark, item.path + mark, files, said))
    return parts or [item]


def _library(conf: str, one: dict[str, object], files_in: FilesIn) -> list[File]:
    """The library an item names, and what lies beside it under the same name."""
    named = one.get("kernel_path")
    path = eager_library(conf, named) if isinstance(named, str) else None
    if path is None:
        return []
    folder, name = os.path.split(path)
    stem = name.partition(".")[0] + "."
    return sorted(f for f in files_in(folder) if f.regular and f.name.startswith(stem))
