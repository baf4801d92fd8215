"""Entries that a folder keeps in one list, each on its own, as every other place has them.

That is an eager kernel: the text of its item stands where its list would (artifacts.alone).
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import replace
from typing import BinaryIO

from torchkeeper.artifacts import alone
from torchkeeper.artifacts.entry import Problem
from torchkeeper.stores.describe import Described
from torchkeeper.stores.items import File, Item, Source
from torchkeeper.stores.lists import MARK


class Singly:
    """A source of bytes that has the texts of items besides."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._texts: dict[str, bytes] = {}
        self._files: dict[str, File] = {}

    def of(self, one: Described) -> Described:
        """An entry on its own, at its paths in a cache of PyTorch alone; others as they are.

        Raises Problem as ``alone.checked`` and ``alone.paths``.
        """
        item = one.item
        if not item.about:
            return one
        path = homes(item)[0]
        files = [File(path, len(item.about), sha256=hashlib.sha256(item.about).hexdigest())]
        for file in _libraries(item):
            _, home = alone.paths(item.path, file.path)
            files.append(file._replace(path=home))
            self._files[home] = file
        alone.checked(item.about, path, [file.path for file in files[1:]])
        self._texts[path] = item.about
        made = Item(item.kind, item.key, path, files, sha256=one.entry.sha256)
        entry = one.entry._replace(size=made.size, files=len(files))
        return replace(one, entry=entry, item=made, origin=one.origin or item)

    def open(self, file: File) -> BinaryIO:
        """As the source's."""
        if file.path in self._texts:
            return io.BytesIO(self._texts[file.path])
        return self._source.open(self._files.get(file.path, file))


def homes(item: Item) -> list[str]:
    """Where the text of an item lies, and the files of its library, in a cache of PyTorch alone.

    Raises Problem as ``alone.paths``, and "name-refused" for an item without a library.
    """
    if not item.about:
        # What has come from elsewhere is so already; what is a list, nobody could take apart.
        alone.located([file.path for file in item.files])
        return [file.path for file in item.files]
    pairs = [alone.paths(item.path, file.path) for file in _libraries(item)]
    if not pairs:
        raise Problem("name-refused", kind=item.kind, name=item.path[:200])
    return [pairs[0][0], *(library for _, library in pairs)]


def _libraries(item: Item) -> list[File]:
    """The files of an item but for its list."""
    listed = item.path.partition(MARK)[0]
    return [file for file in item.files if file.path != listed]
