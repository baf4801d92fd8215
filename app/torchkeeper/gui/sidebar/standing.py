"""How a place stands: what it holds, how much room it has, and what is going on in it."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication

from torchkeeper.client.words import say

_tr = partial(QCoreApplication.translate, "Standing")

#: A file system is short of room under this many bytes, or under this share of what it has.
FEW_BYTES, SMALL_SHARE = 1_000_000_000, 0.05


class Standing(NamedTuple):
    """What is known of a place beside where it is; None for what is not. entries, size: what it
    held when somebody last looked. free, total: bytes of its file system. trouble: why it could not
    be read, in a few words. silent: its disk does not answer. filling: how much of the job that
    writes into it is done, -1 where nobody knows; job: what that is called. other: bytes of what it
    held that is no entry.
    """

    entries: int | None = None
    size: int | None = None
    free: int | None = None
    total: int | None = None
    trouble: str = ""
    silent: bool = False
    filling: float | None = None
    job: str = ""
    other: int = 0

    @property
    def low(self) -> bool:
        """Whether there is little room left."""
        least = max(FEW_BYTES, SMALL_SHARE * (self.total or 0))
        return self.free is not None and self.free < least

    @property
    def done(self) -> float | None:
        """How much of the job is done; None where nobody knows."""
        return None if self.filling is None or self.filling < 0 else self.filling

    @property
    def held(self) -> str:
        """What it holds, in a few letters."""
        return "" if self.size is None else say.size(self.size + self.other)

    @property
    def beside(self) -> str:
        """What is said of it in a few letters beside where it is."""
        if self.filling is not None:
            return _tr("filling") if self.done is None else f"{self.done:.0%}"
        if self.trouble or self.silent:
            return _tr("no answer") if self.silent else _tr("unreadable")
        # Places share a disk: what is free is said of each only where it is little.
        return _tr("{} free").format(say.size(self.free or 0)) if self.low else ""

    @property
    def lines(self) -> list[str]:
        """All of it, in sentences."""
        lines = []
        if self.size is not None and self.entries is not None:
            count = say.count(self.entries, "entry", "entries")
            lines.append(f"{count}, {say.content(self.size)}")
            if self.other:
                lines.append(_tr("{} in files that are no entries").format(say.size(self.other)))
        if self.free is not None:
            line = _tr("{} of {} free") if self.total else _tr("{} free")
            line = line.format(say.size(self.free), say.size(self.total or 0))
            lines.append(_tr("{}: little room is left").format(line) if self.low else line)
        if self.silent:
            lines.append(_tr("Its disk does not answer"))
        if self.trouble:
            lines.append(self.trouble)
        if self.filling is not None:
            lines.append(self.job if self.done is None else f"{self.job}, {self.done:.0%}")
        return lines
