"""In what order rows stand, and which of them a filter lets through: plain Python lists."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from operator import attrgetter
from typing import Any

from torchkeeper.artifacts.entry import COUNTED_APART, KINDS, VERDICTS, Entry
from torchkeeper.client.words.say import version
from torchkeeper.stores.query import Query

_KIND_RANK = {kind: rank for rank, kind in enumerate(KINDS)}


class Row:
    """An entry and its text to search in. seen: the number of the last listing that named it."""

    __slots__ = ("entry", "hay", "low", "seen")

    def __init__(self, entry: Entry, seen: int = 0) -> None:
        self.seen = seen
        self.take(entry)

    def take(self, entry: Entry) -> None:
        """Be about this entry from now on."""
        self.entry = entry
        name = entry.name or ""
        low = name.lower()
        self.low = name if low == name else low
        # What plain words are looked for in; none matches across the line break. A million keys
        # of a server, which has no names, are there already.
        key = entry.key.lower()
        self.hay = f"{key}\n{self.low}" if name or key != entry.key else entry.key


Key = Callable[[Row], Any]

#: What is known to have no end, and what is not known: the first comes after all that has one.
_NEVER, _UNKNOWN = 1e300, float("inf")


def _expires(row: Row) -> float:
    return _UNKNOWN if row.entry.expires is None else row.entry.expires or _NEVER


def _used(row: Row) -> float:
    return _UNKNOWN if row.entry.used is None else row.entry.used


_VERDICT_RANK = {verdict: float(rank) for rank, verdict in enumerate(VERDICTS)}


def _verdict(row: Row) -> float:
    verdict = row.entry.verdict
    return _UNKNOWN if verdict is None else _VERDICT_RANK.get(verdict, _UNKNOWN)


#: What each column is sorted by; entries without a value come first, as the smallest. But where
#: there is none because it was not asked for yet, last.
SORT_KEYS: tuple[Key, ...] = (
    lambda r: _KIND_RANK[r.entry.kind],
    attrgetter("low"),
    _verdict,
    attrgetter("entry.key"),
    attrgetter("entry.size"),
    attrgetter("entry.files"),
    lambda r: r.entry.mtime or -1.0,
    lambda r: version(r.entry.torch),
    lambda r: r.entry.device or "",
    lambda r: -1.0 if r.entry.compile_s is None else r.entry.compile_s,
    _expires,
    _used,
)


def sort_key(column: int, descending: bool) -> Key:
    """What a column is sorted by, so that what was not asked for yet is last either way."""
    key = SORT_KEYS[column]
    if not descending or key not in (_expires, _used, _verdict):
        return key
    return lambda r: -_UNKNOWN if (value := key(r)) == _UNKNOWN else value


#: Words that need no look at the entry itself.
_PLAIN_WORD = re.compile(r"-?[^\s\"\-:<>=][^\s\":<>=]*")
#: Fields whose values change by themselves.
_PASSING = ("age", "used", "expires")
#: So many rows are filtered at once.
_NEAR = 512
_ENTRY: Callable[[Row], Entry] = attrgetter("entry")


def _terms(query: Query) -> list[str] | None:
    """The terms of a filter, one for each of its tests; None if that is not easily told."""
    terms = query.text.lower().split()
    return None if '"' in query.text or len(terms) != len(query.tests) else terms


def narrows(old: Query, new: Query) -> bool:
    """Whether what a filter lets through another did before. A no may be wrong, a yes is not."""
    before, after = _terms(old), _terms(new)
    if before is None or after is None:
        return False
    words = [term for term in after if term[0] != "-" and _PLAIN_WORD.fullmatch(term)]
    for term in before:
        if _PLAIN_WORD.fullmatch(term) and term[0] != "-":
            if not any(term in word for word in words):
                return False
        elif term not in after or any(x in term for x in _PASSING):
            return False
    return True


def select_rows(rows: Iterable[Row], query: Query, apart: bool = True) -> list[Row]:
    """The rows a filter lets through, in their order; apart: also those that are no entries."""
    every, found = list(rows), list[Row]()
    if not apart:
        every = [row for row in every if row.entry.kind not in COUNTED_APART]
    terms = _terms(query) or [""] * len(query.tests)
    # Sorted rows lie all over the memory. What a few of them refer to is fetched in one go, and is
    # near when it is looked at: twice as fast as row by row.
    for first in range(0, len(every), _NEAR):
        some = every[first : first + _NEAR]
        for term, test in zip(terms, query.tests, strict=True):
            if not _PLAIN_WORD.fullmatch(term):
                some = list(compress(some, test(list(map(_ENTRY, some)))))
            else:
                some = _with_word(some, term)
        found += some
    return found


def _with_word(rows: list[Row], term: str) -> list[Row]:
    wanted, word = term[0] != "-", term.removeprefix("-")
    hays = [row.hay for row in rows]
    if word not in "\n".join(hays):
        return [] if wanted else rows
    return [row for row, hay in zip(rows, hays, strict=True) if (word in hay) == wanted]


#: So many rows are merged, or handed on, at once.
_BETWEEN = 1024


def bisect(rows: Sequence[Row], key: Key, value: Any, descending: bool) -> int:
    """The first row of a sorted list that does not come before a value."""
    if not descending:
        return bisect_left(rows, value, key=key)
    return bisect_left(rows, True, key=lambda row: not key(row) > value)


def bisect_after(rows: Sequence[Row], key: Key, value: Any, descending: bool, low: int = 0) -> int:
    """The first row of a sorted list, from ``low`` on, that comes after a value."""
    if not descending:
        return bisect_right(rows, value, low, key=key)
    return bisect_left(rows, True, low, key=lambda row: key(row) < value)


def merged(
    rows: Sequence[Row], others: Sequence[Row], key: Key, descending: bool
) -> Iterator[Sequence[Row]]:
    """Two sorted lists as one, some thousand rows at a time; equal ones of the first come first."""
    at = beside = 0
    while at < len(rows) and beside < len(others):
        some, more = rows[at : at + _BETWEEN], others[beside : beside + _BETWEEN]
        last, other = key(some[-1]), key(more[-1])
        # All of the part that ends first; of the other, what cannot come after anything else.
        if other > last if descending else other < last:
            some = some[: bisect_after(some, key, other, descending)]
        else:
            more = more[: bisect(more, key, last, descending)]
        # Runs that are in order are found and merged by the sort itself.
        yield sorted([*some, *more], key=key, reverse=descending)
        at += len(some)
        beside += len(more)
    yield from _piecemeal(rows[at:])
    yield from _piecemeal(others[beside:])


#: One row of so many is looked at to deal rows out, and so many are to be dealt together.
_LOOK, _DEALT = 128, 1024
#: So many rows are dealt out, or handed on, in one step.
_STEP = 256


def dealt(rows: Sequence[Row], key: Key, descending: bool) -> Iterator[Sequence[Row]]:
    """Rows that are in no order, in order, a thousand or so at a time. Equal rows stay in their
    order: the same as sorting all of them, which could not be interrupted. Each goes to those of
    about its value first, and those are sorted. Sorting runs and merging them looks at every run
    for every piece: with 500,000 rows 10 ms at a time.
    """
    sample: list[Any] = []
    for first in range(0, len(rows), _LOOK * _STEP):
        sample += map(key, rows[first : first + _LOOK * _STEP : _LOOK])
        yield []
    sample.sort()
    step = _DEALT // _LOOK
    cuts = list(dict.fromkeys(sample[step::step]))
    yield []
    # Between two cuts there are those that equal neither; there may be very many that equal one,
    # and they need no sorting.
    between: list[list[Row]] = [[] for _ in range(len(cuts) + 1)]
    equal: list[list[Row]] = [[] for _ in cuts]
    for first in range(0, len(rows), _STEP):
        some = rows[first : first + _STEP]
        for row, value in zip(some, map(key, some), strict=True):
            at = bisect_left(cuts, value)
            (equal if at < len(cuts) and cuts[at] == value else between)[at].append(row)
        yield []
    places = range(len(between))
    for at in reversed(places) if descending else places:
        # Handed on they are let go of: to free all of these lists in the end takes milliseconds.
        if descending and at < len(cuts):
            yield from _piecemeal(equal[at])
            equal[at] = []
        # Few, unless the sample says nothing of the rows.
        yield from _piecemeal(sorted(between[at], key=key, reverse=descending))
        between[at] = []
        if not descending and at < len(cuts):
            yield from _piecemeal(equal[at])
            equal[at] = []


def _piecemeal(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    for first in range(0, len(rows), _BETWEEN):
        yield rows[first : first + _BETWEEN]
