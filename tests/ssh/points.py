"""Random points at which the line to another machine is cut, and what came of each. How: the line
drops, ssh is killed, or nothing passes any more and nobody is told.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.ssh.conftest import Machine

#: What the points follow from; ``tests.cuts`` may say another one.
seed = 0
HOWS = ("drop", "kill", "hush")
#: Bytes that connecting takes.
_CONNECTING = 8_000


class Came(NamedTuple):
    """What came of one. after: bytes; cut: whether the line was needed after that; blocked: seconds
    for which the window was, at most; slice_: of the processor, at a time.
    """

    where: str
    what: str
    number: int
    how: str
    after: int
    cut: bool
    blocked: float | None = None
    slice_: float | None = None


def points(counts: Mapping[str, int], usual: Mapping[str, int] | None = None) -> list[Any]:
    """Parameters: what is done, and a number; usual: those that are in every run."""
    return [
        pytest.param(what, n, marks=() if usual and usual.get(what) == n else pytest.mark.slow)
        for what, count in counts.items()
        for n in range(count)
    ]


def chosen(
    where: str, what: str, number: int, most: int, hows: Sequence[str] = HOWS
) -> tuple[str, int]:
    """How the line is cut at a point, and after how many bytes of so many."""
    chance = random.Random(f"{seed} {where} {what} {number}")
    how = hows[number % len(hows)]
    # While it connects ssh has minutes (``line.GIVEN_UP``), or until somebody leaves off.
    least = _CONNECTING if where == "command" and how == "hush" else 0
    return how, chance.randrange(least, most)


def came(request: pytest.FixtureRequest, *told: Any) -> None:
    """Note what came of a point, as a ``Came``."""
    print(Came(*told))
    request.node.user_properties.append(("cut", told))


def leftovers(there: Machine, own: Path, *places: Path) -> list[Path]:
    """What is left of ours among temporary files, but for what of files has come so far, and what
    is half there in places.
    """
    found = [one for at in (there.folder / "tmp", own) for one in at.glob("torchkeeper-*")]
    found = [one for one in found if not one.name.startswith("torchkeeper-parts-")]
    half = (".torchkeeper-*.tmp", "tmp.torchkeeper-*", ".torchkeeper-journal-*")
    return found + [one for place in places for name in half for one in place.rglob(name)]


def table(every: Sequence[Came]) -> str:
    """What came of all, a line each, and the longest of the window."""
    lines = [f"{'':8}{'what':14}{'':>3} {'how':6}{'bytes':>10}  cut  blocked    slice"]
    for one in sorted(every):
        times = [f"{x * 1000:6.0f} ms" if x is not None else "" for x in one[-2:]]
        lines.append(
            f"{one.where:8}{one.what:14}{one.number:>3} {one.how:6}{one.after:>10,}  "
            f"{'yes' if one.cut else 'no':4}{times[0]:>9}{times[1]:>9}".rstrip()
        )
    cut = [one for one in every if one.cut]
    hows = dict.fromkeys(one.how for one in cut)
    kinds = ", ".join(f"{sum(one.how == how for one in cut)} {how}" for how in hows)
    lines.append(f"{len(every)} points of seed {seed}, {len(cut)} of them cut something ({kinds}).")
    shown = [one for one in every if one.blocked is not None and one.slice_ is not None]
    if shown:
        blocked, slices = (max(column) for column in list(zip(*shown, strict=True))[-2:])
        lines.append(
            f"The window was blocked for {1000 * blocked:.0f} ms at most, and worked for "
            f"{1000 * slices:.0f} ms of the processor at a time at most."
        )
    return "\n".join(lines)
