"""A verification as it is kept (``client.kept.verified``): why something was no hit is in words."""

from __future__ import annotations

from collections.abc import Sequence

from torchkeeper.warm.shapes import LookedUp, VerdictOfCell, Verification


class KeptGraph(LookedUp, total=False):
    """A graph of the last run with the target. why: in words, if it was no hit and that is known.
    cell: the index of its cell, where there are several.
    """

    why: str
    cell: int


class KeptCell(VerdictOfCell):
    """A cell. why: of the first graph that was no hit, in words, if that is known."""

    why: str | None


class KeptVerification(Verification):
    """What it came to. rows: graphs of the last run with the target. cells: as many as fit."""

    rows: Sequence[KeptGraph]
    cells: Sequence[KeptCell]
