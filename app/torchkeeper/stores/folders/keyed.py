"""A place that is the folder of a key of vLLM's or SGLang's: what it holds is carried as the folder
of all keys has it, which is where it is looked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from torchkeeper.artifacts import layout
from torchkeeper.artifacts.entry import Problem

if TYPE_CHECKING:
    from torchkeeper.stores.describe import Described
    from torchkeeper.stores.items import File, Source
    from torchkeeper.stores.store import Going


def from_above(root: str, chosen: Sequence[Described], source: Source) -> Going:
    """Entries of a folder, and whence their bytes come, under the paths that the folder of all
    keys has them under; as they are, where the folder is that of no key.
    """
    below = layout.below_keys(root)
    if not below:
        return chosen, source
    return [_moved(one, below) for one in chosen], _FromAbove(source, below)


class _FromAbove:
    def __init__(self, source: Source, below: str) -> None:
        self._source, self._below = source, below

    def open(self, file: File) -> BinaryIO:
        return self._source.open(file._replace(path=file.path.removeprefix(self._below)))


def _moved(one: Described, below: str) -> Described:
    """An entry at its path in the folder of all keys; as it is, where nobody looks for it there."""
    item = one.item
    files = [file._replace(path=below + file.path) for file in item.files]
    try:
        if item.kind == "aoti_eager" or not all(layout.in_tree(file.path) for file in files):
            return one
        for file in files:
            layout.checked_path(item.kind, file.path)
    except Problem:
        return one
    found, path = layout.locate(files[0].path), below + item.path
    key = found.key if found.kind == item.kind else item.key
    entry = one.entry._replace(path=path, key=key)
    made = replace(item, path=path, key=key, files=files)
    return replace(one, entry=entry, item=made, origin=one.origin or item)
