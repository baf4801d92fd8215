"""What the table shows, added up in short steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import COUNTED_APART, counted, tally
from torchkeeper.gui.table.ordering import Row
from torchkeeper.gui.table.slices import Work, pieces

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Tally


@dataclass
class Totals:
    """What is shown, added up. counts: as of ``artifacts.entry.tally``; files, bytes, and how many
    are broken or orphans, are of the entries alone, where there are any. verdicts: how many have
    which, None for those without one; torches: of what versions those are that are stale, None
    where that is not known.
    """

    counts: Tally = field(default_factory=lambda: tally(()))
    files: int = 0
    size: int = 0
    broken: int = 0
    unread: int = 0
    orphans: int = 0
    verdicts: Counter[str | None] = field(default_factory=Counter)
    torches: Counter[str | None] = field(default_factory=Counter)


def add_up(groups: Iterable[Sequence[Row]]) -> Work[Totals]:
    """Add up the rows of some groups; each step is the work of a few milliseconds."""
    totals, others, kinds = Totals(), Totals(), Counter[str]()
    for rows in groups:
        for piece in pieces(rows):
            entries = [row.entry for row in piece]
            kinds.update(entry.kind for entry in entries)
            totals.verdicts.update([entry.verdict for entry in entries])
            totals.torches.update([one.torch for one in entries if one.verdict == "stale"])
            for entry in entries:
                part = others if entry.kind in COUNTED_APART else totals
                part.files += entry.files
                part.size += entry.size
                part.broken += entry.broken
                part.unread += entry.put_off
                part.orphans += entry.orphan is not None
            yield
    counts = counted(kinds)
    return replace(totals if counts["entries"] else others, counts=counts)
