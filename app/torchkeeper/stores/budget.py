"""How long one look at a place may take: by what it holds on the disk, and not by what is in that.

A look earns time with every file that it meets and spends it on reading. What an honest place
earns is many times what its reading takes: a reader gets through 100 MB in a second, and a file is
hashed at several hundred. Only time of a processor is spent, and numbers of bytes and entries,
never time on the clock: a slow disk or a busy machine takes nothing from an honest place.
"""

from __future__ import annotations

import os

from torchkeeper.stores.items import File, Item, Source

#: Seconds that every place has, and bytes on the disk for which it gets one more.
BASE = 3.0
RATE = 4 << 20
#: What is spent, in seconds: on any entry, on a byte that is hashed, on a reader that was ended.
ENTRY = 50e-6
BYTE = 1 / (250 << 20)
DEATH = 0.05
#: Seconds that one entry gets at least, where there is any time left.
LEAST = 0.125


class Budget:
    """The time that one look at one place has left."""

    def __init__(self) -> None:
        self.left = BASE
        #: How many readers had to be ended here.
        self.deaths = 0
        self._seen: set[tuple[int, int]] = set()

    @property
    def over(self) -> bool:
        """Whether nothing more is to be read."""
        return self.left <= 0

    def meet(self, item: Item, source: Source) -> None:
        """Earn what an entry's files hold, and spend what any entry takes; a file with several
        names earns once, and a byte no more for the block of the disk that it takes.
        """
        for file in item.files:
            if file.inode is None:
                self.brings(file.size)
            elif file.inode not in self._seen:
                self._seen.add(file.inode)
                self.brings(held(file, source))
        self.left -= ENTRY

    def brings(self, size: int) -> None:
        """So many bytes are there, of whatever they are."""
        self.left += size / RATE

    def spend(self, seconds: float) -> None:
        """Some time has gone."""
        self.left -= seconds

    def hashes(self, size: int) -> bool:
        """Whether so many bytes can be hashed; their time is spent then."""
        if (cost := size * BYTE) > max(self.left, 0):
            return False
        self.left -= cost
        return True

    def allows(self, stall: float) -> float:
        """Seconds of the processor that one entry may take, ``stall`` at most: half as many after
        each reader that had to be ended.
        """
        return max(LEAST, min(stall * 0.5 ** min(self.deaths, 10), self.left))

    def died(self) -> None:
        """A reader had to be ended."""
        self.deaths += 1
        self.left -= DEATH


def held(file: File, source: Source) -> int:
    """How many bytes of a file are really there: fewer than its size where it has holes."""
    if file.inode is None or file.allocated >= file.size:
        return file.size
    try:
        with source.open(file) as stream:
            return present(stream.fileno(), file.size, file.allocated)
    except OSError:
        return file.allocated


def present(handle: int, size: int, allocated: int) -> int:
    """How many bytes of an open file are there, which takes so many on the disk.

    One that takes less room than its size may be compressed, not written yet, or on a file system
    that tells no room (sshfs): then it has no hole (SEEK_HOLE of lseek(2)), and is all there.
    Leaves it at its beginning. Raises OSError.
    """
    if allocated >= size or not hasattr(os, "SEEK_HOLE"):
        return size
    try:
        return size if os.lseek(handle, 0, os.SEEK_HOLE) >= size else allocated
    finally:
        os.lseek(handle, 0, os.SEEK_SET)
