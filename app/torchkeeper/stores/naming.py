"""The entries of a bundle under the names that an environment will look for, less those it must
not load.

PyTorch computes the name of a built object anew whenever it loads a graph, and no graph names one:
to give an object and its source another name is enough for them to be found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO

from torchkeeper.artifacts import layout
from torchkeeper.artifacts.entry import Problem
from torchkeeper.stores.items import File, Item, Offered


class Named:
    """Entries of ``offered``, some of them under new names.

    names: the new key of an item, by its path in what is offered; one that no folder could hold is
    as if it were not there. why: why an item is to be left out, by the same path.
    """

    def __init__(
        self, offered: Offered, names: Mapping[str, str], why: Mapping[str, Problem]
    ) -> None:
        self._offered = offered
        self._why = why
        # By identity: two of a bundle may come to one name, or one to that of another.
        self._origins: dict[int, Item] = {}
        self._files: dict[tuple[str, str | None], File] = {}
        self._items = [self._renamed(item, names.get(item.path)) for item in offered.items()]

    def items(self) -> list[Item]:
        """The entries, those that are to be left out among them (``why_not``)."""
        return self._items

    def open(self, file: File) -> BinaryIO:
        """As what is offered has it."""
        return self._offered.open(self._files.get((file.path, file.sha256), file))

    def why_not(self, item: Item) -> Problem | None:
        """Why an item must not be placed, if it must not."""
        return self._why.get(self.origin(item).path)

    def origin(self, item: Item) -> Item:
        """An item as what is offered has it."""
        return self._origins.get(id(item), item)

    def is_renamed(self, item: Item) -> bool:
        """Whether an item has another name than where it comes from."""
        return id(item) in self._origins

    def _renamed(self, item: Item, key: str | None) -> Item:
        if key is None or key == item.key or item.kind != "code" or item.path in self._why:
            return item
        files = []
        for file in item.files:
            path = f"{key[1:3]}/{key}{file.name[len(item.key) :]}"
            try:
                path = layout.checked_path(item.kind, path)
            except Problem:
                return item
            files.append(file._replace(path=path))
        named = Item(item.kind, key, files[0].path, files, item.about, item.sha256)
        self._origins[id(named)] = item
        for new, old in zip(files, item.files, strict=True):
            self._files[new.path, new.sha256] = old
        return named
