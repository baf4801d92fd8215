"""The files of several folders, as one source of bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, BinaryIO

from torchkeeper.stores.items import OnDisk

if TYPE_CHECKING:
    from torchkeeper.stores.describe import Described
    from torchkeeper.stores.items import File, Source


class Gathered:
    """Entries of several folders. Their paths may be the same: where a file is on the disk tells in
    which folder it is.
    """

    def __init__(self, parts: Iterable[tuple[Sequence[Described], Source]]) -> None:
        self._parts = [(OnDisk(one.item for one in some), source) for some, source in parts]

    def open(self, file: File) -> BinaryIO:
        """Raises OSError, FileNotFoundError also for what is in none."""
        for disk, source in self._parts:
            if file.inode and file.inode in disk:
                try:
                    return source.open(file)
                except FileNotFoundError:
                    continue  # another folder has it by another name
        raise FileNotFoundError(file.path)
