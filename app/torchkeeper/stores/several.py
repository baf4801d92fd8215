"""Entries of several places as those of one: what two places have is taken once, and of what
differs under one name that of the place which is named first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, BinaryIO

from torchkeeper.artifacts import layout
from torchkeeper.artifacts.entry import Problem
from torchkeeper.stores.offering import current, homes

if TYPE_CHECKING:
    from torchkeeper.artifacts.builds import Native
    from torchkeeper.stores.bundles.parts import Made, Makers
    from torchkeeper.stores.describe import Described
    from torchkeeper.stores.items import File, Item, Left, Source

#: The kinds that may hold objects.
_BUILT = ("code", "aoti_eager")


class Gathered:
    """What is taken of places, in the order in which they are added, and whence its bytes come."""

    def __init__(self) -> None:
        self.chosen: list[Described] = []
        self._sources: list[Source] = []
        #: Of all places but the first: whose each file is.
        self._whose: dict[File, Source] = {}
        #: By kind and home, the sha256 of what was taken.
        self._taken: dict[tuple[str, str], str | None] = {}

    def add(self, chosen: Sequence[Described], source: Source, left: Left) -> list[Described]:
        """Take what no place before has; what differs from what one has goes to ``left``. Returns
        what was taken.
        """
        chosen = current(chosen, left)
        new = list(chosen) if not self._sources else []
        for one in chosen:
            try:
                home = one.entry.kind, layout.locate(homes(one)[0]).entry_path
            except Problem:
                home = None  # who writes it says why it cannot go
            if not self._sources:
                if home:
                    self._taken.setdefault(home, one.entry.sha256)
            elif home is None or home not in self._taken:
                new.append(one)
                if home:
                    self._taken[home] = one.entry.sha256
            elif one.entry.sha256 is None or self._taken[home] != one.entry.sha256:
                left(one.item, Problem("named-before"))
        if self._sources:
            self._whose.update((file, source) for one in new for file in one.item.files)
        self._sources.append(source)
        self.chosen += new
        return new

    def open(self, file: File) -> BinaryIO:
        """One of their files. Raises OSError."""
        return self._whose.get(file, self._sources[0]).open(file)


class SeveralMakers:
    """Who tells how the objects of several places were built. A bundle has one origin for all: the
    first that is known; of objects from elsewhere nothing is told.
    """

    def __init__(self, each: Iterable[tuple[Makers | None, Iterable[Described]]]) -> None:
        self.origin: Native | None = None
        self._of: dict[tuple[str, str], Makers] = {}
        for makers, chosen in each:
            if makers is None or makers.origin is None:
                continue
            self.origin = self.origin or makers.origin
            if makers.origin == self.origin:
                built = (one.item for one in chosen if one.item.kind in _BUILT)
                self._of |= {item.identity: makers for item in built}

    def made(self, item: Item, source: Source) -> Made | None:
        """How an item's object was built, or None."""
        makers = self._of.get(item.identity)
        return makers.made(item, source) if makers else None
