"""Places that are another by a second name, or lie in another: no entry shall count twice."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from torchkeeper.artifacts.entry import Entry, Problem
from torchkeeper.artifacts.layout import TRASH
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.describe import Described

#: Kinds of what may be something else, seen from another folder.
_UNTOLD = frozenset({"unknown", "lock"})


class At(NamedTuple):
    """Where a place on the disk is, whatever it is called."""

    name: str
    real: str
    inode: tuple[int, int]

    def below(self, other: At) -> str:
        """The path of this in ``other``, "" where it does not lie there: the trash does not."""
        above = other.real.rstrip("/") + "/"
        path = self.real[len(above) :] if self.real.startswith(above) else ""
        return "" if path.partition("/")[0] == TRASH else path


def where(name: str, _: Report) -> At:
    """Where a place is. Raises Problem as stores.scheme.Scheme.opened."""
    try:
        real = os.path.realpath(name)  # fails at some links of /proc
        status = os.stat(real)
    except FileNotFoundError as e:
        raise Problem("place-missing", place=name) from e
    except (OSError, ValueError) as e:
        why = getattr(e, "strerror", None) or str(e)
        raise Problem("place-unreadable", place=name, why=why) from e
    return At(name, real, (status.st_dev, status.st_ino))


class Inner:
    """Places that lie in one, of which some are counted by themselves: those of which nothing is
    recognised from where the outer one begins.
    """

    def __init__(self, paths: Iterable[str], found: list[Described]) -> None:
        """paths: those of the places in the outer one."""
        starts = tuple(f"{path}/" for path in paths)
        known, here = set[str](), set[str]()
        for one in found if starts else ():
            path = f"{one.entry.path}/"  # a bundle is a file
            if path.startswith(starts):
                mine = {start for start in starts if path.startswith(start)}
                here |= mine
                known |= mine if one.entry.kind not in _UNTOLD else set()
        self._starts = tuple(here - known)
        #: The paths of those that are counted by themselves.
        self.apart = frozenset(start[:-1] for start in self._starts)

    def counts(self, entry: Entry) -> bool:
        """Whether an entry is counted with the outer place."""
        return not (self._starts and f"{entry.path}/".startswith(self._starts))
