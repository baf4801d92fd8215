"""The parts of an overview in words: what each value of a dimension is called, its tile, and the
filter that shows its entries.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import QCoreApplication

from torchkeeper.gui.table.cells import verdict_words
from torchkeeper.gui.treemap import colours
from torchkeeper.gui.treemap.tiles import Tile
from torchkeeper.link.overviewing import AGES, DIMENSIONS, Part, Totals
from torchkeeper.link.words import say
from torchkeeper.link.words.kinds import kind_words
from torchkeeper.link.words.problems import printable
from torchkeeper.link.words.verdicts import counted_as

#: The filter of each age (engine.summing.AGES).
_AGE_FILTERS = {
    "day": "age<1d",
    "week": "age>1d age<7d",
    "month": "age>7d age<30d",
    "quarter": "age>30d age<90d",
    "older": "age>90d",
}


def _tr(text: str) -> str:
    return QCoreApplication.translate("Overview", text)


def dimension_words(dimension: str) -> str:
    """What entries are grouped by, as a choice."""
    return {
        "place": _tr("Place"),
        "kind": _tr("Kind"),
        "torch": _tr("Torch version"),
        "age": _tr("Age"),
        "verdict": _tr("Verdict"),
    }[dimension]


def value_words(dimension: str, value: str, titles: Callable[[str], str]) -> str:
    """What a value of a dimension is called; ``titles``: what places are."""
    if dimension == "place":
        return titles(value)
    if dimension == "kind":
        return kind_words(value)
    if dimension == "torch":
        return printable(value, 60) if value else _tr("Not recorded")
    if dimension == "verdict":
        return verdict_words(value) if value else _tr("Not judged")
    return {
        "day": _tr("Last 24 hours"),
        "week": _tr("Last 7 days"),
        "month": _tr("Last 30 days"),
        "quarter": _tr("Last 90 days"),
        "older": _tr("Older"),
    }.get(value, _tr("Not known"))


def usable_words(totals: Totals) -> str:
    """The share that is usable, where anything was judged."""
    share = totals.share
    if share is None:
        return ""
    # Neither is all of it said where some is missing, nor nothing where some is there.
    if 0 < share < 0.01:
        return _tr("under 1%")
    return f"{min(share, 0.99) if share < 1 else share:.0%}"


def judged_words(totals: Totals) -> str:
    """Of how many that is the share, and how many of them a program takes and should not."""
    if not totals.judged:
        return _tr("none judged")
    said = _tr("of {} judged").format(say.count(totals.judged, "entry", "entries"))
    return f"{said} · {counted_as('unsafe', totals.unsafe)}" if totals.unsafe else said


def compile_words(totals: Totals) -> str:
    """The seconds of compiling, where anything tells them."""
    return say.seconds(totals.compile_s) if totals.timed else ""


def tiles(dimension: str, parts: Sequence[Part], titles: Callable[[str], str]) -> list[Tile]:
    """A tile for each part; its key is the value."""
    made = []
    for number, (value, totals) in enumerate(parts):
        if dimension == "kind":
            shade = colours.of_kind(value)
        elif dimension == "verdict":
            shade = colours.of_verdict(value)
        elif dimension == "age":
            shade = colours.of_step(AGES.index(value), len(AGES))
        else:
            shade = colours.of_step(number, len(parts))
        details = []
        if taken := compile_words(totals):
            details.append(_tr("{} of compiling").format(taken))
        if share := usable_words(totals):
            details.append(_tr("{} usable here").format(share))
        name = value_words(dimension, value, titles)
        made.append(Tile((value,), name, totals.bytes, totals.entries, shade, "\n".join(details),
                         say.held(totals.counts)))  # fmt: skip
    return made


def apart(places: Sequence[str], titles: Callable[[str], str]) -> dict[str, str]:
    """What each place is called: its title, with the folder it is in where others have the same."""
    named = {place: titles(place) for place in places}
    times = Counter(named.values())
    return {
        place: title if times[title] < 2 else _within(place, title)
        for place, title in named.items()
    }


def _within(place: str, title: str) -> str:
    above = os.path.basename(os.path.dirname(place.rstrip("/")))
    return f"{printable(above, 60)}/{title}" if above else title


def further(within: Mapping[str, str]) -> str | None:
    """What is looked at next, once some values are chosen; None where nothing is left."""
    return next((name for name in DIMENSIONS if name not in within), None)


def filter_of(within: Mapping[str, str]) -> str:
    """The filter that shows these entries of a place."""
    words = []
    if kind := within.get("kind"):
        words.append(f"kind:{kind}")
    if (torch := within.get("torch")) and not any(map(str.isspace, torch)):
        words.append(f"torch:{torch}")
    if age := _AGE_FILTERS.get(within.get("age", "")):
        words.append(age)
    if verdict := within.get("verdict"):
        words.append(f"is:{verdict}")
    return " ".join(words)
