"""What no known writer wrote in a place: whether it is so much that the place is no cache.

What is "unknown" is a user's own. It goes only when it was asked for by name, and nothing of a
folder goes of which it is the most: that is a folder of the user's, in which a cache lies.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from torchkeeper.stores.items import Item, allocated


class Strange(NamedTuple):
    """Bytes on the disk that strangers' files take, and all; their number, and that of all."""

    size: int
    total: int
    files: int
    of: int

    @property
    def most(self) -> bool:
        """Whether that is more than half: of the bytes, or of the files where none takes any."""
        return 2 * self.size > self.total or (not self.total and 2 * self.files > self.of)


def strange_in(items: Iterable[Item]) -> Strange:
    """What is strange among all items of a folder."""
    every = list(items)
    unknown = [file for item in every if item.kind == "unknown" for file in item.files]
    files = {file.path: file for item in every for file in item.files}
    return Strange(allocated(unknown), allocated(files.values()), len(unknown), len(files))
