"""The rows of the table: what their cells say, what they are sorted by, and work on many of them,
a few milliseconds at a time.
"""

from __future__ import annotations

import gc
import re
from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication

from torchkeeper.artifacts.entry import (
    COUNTED_APART,
    KINDS,
    VERDICTS,
    WITHOUT_VERDICT,
    Entry,
    counted,
    tally,
)
from torchkeeper.artifacts.vllm import Rank, rank_of
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable, user_error
from torchkeeper.gui.idle import STEP, Work, let_go, pieces
from torchkeeper.stores.query import Query

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Tally

_tr = partial(QCoreApplication.translate, "Entries")

COLUMNS = (
    "kind", "name", "rank", "verdict", "key", "size", "files", "mtime", "torch", "device",
    "compile_s", "expires", "used",
)  # fmt: skip
(
    KIND, NAME, RANK, VERDICT, KEY, SIZE, FILES, MTIME, TORCH, DEVICE, COMPILE, EXPIRES, USED
) = range(len(COLUMNS))  # fmt: skip
#: Their first widths in pixels; 0: as the words of kinds need.
WIDTHS = (0, 260, 176, 112, 82, 84, 54, 106, 110, 71, 112, 92, 108)
#: Those that only a server has something to say in, and those that it has nothing to say in.
SERVERS = frozenset({EXPIRES, USED})
NOT_SERVERS = frozenset({MTIME})
#: And those that only places with ranks of vLLM's or SGLang's have something to say in.
RANKED = frozenset({RANK})
#: Those that are hidden until somebody wants them.
HIDDEN_FIRST = frozenset({KEY, FILES})
#: Those that stand to the right.
NUMBERS = frozenset({SIZE, FILES, COMPILE})


def verdict_words(verdict: str) -> str:
    return {
        "usable": _tr("Usable"),
        "conditional": _tr("Conditional"),
        "unknown": _tr("Unknown"),
        "unsafe": _tr("Unsafe"),
        "stale": _tr("Stale"),
        "broken": _tr("Broken"),
    }.get(verdict, verdict)


def header_text(column: int) -> str:
    return (
        _tr("Kind"),
        _tr("Name"),
        _tr("Rank"),
        _tr("Verdict"),
        _tr("Key"),
        _tr("Content"),
        _tr("Files"),
        _tr("Last change"),
        _tr("Torch"),
        _tr("Device"),
        _tr("Compile time"),
        _tr("Expires"),
        _tr("Last used"),
    )[column]


def shown_name(entry: Entry) -> str:
    """The name to show: without one, the last part of the path."""
    return printable(entry.name or entry.path.rpartition("/")[2] or entry.key)


def rank_words(rank: Rank) -> str:
    """A rank, with the name of its key where that is known."""
    return printable(" · ".join(filter(None, (rank.name, rank.key))), 100)


#: In the order of the columns.
_TEXTS: tuple[Callable[[Entry], str], ...] = (
    lambda e: say.kind_words(say.kind_of(e.kind, e.name)),
    shown_name,
    lambda e: rank_words(rank_of(e.path)),
    lambda e: verdict_words(e.verdict) if e.verdict else "",
    lambda e: printable(e.key),
    lambda e: say.size(e.size),
    lambda e: f"{e.files:,}",
    lambda e: "" if e.mtime is None else say.ago(e.mtime),
    lambda e: printable(e.torch or ""),
    lambda e: printable(e.device or ""),
    lambda e: "" if e.compile_s is None else say.seconds(e.compile_s),
    lambda e: "" if e.expires is None else say.until(e.expires),
    lambda e: "" if e.used is None else say.ago(e.used),
)


def cell_text(entry: Entry, column: int) -> str:
    """The text of one cell; empty where nothing is known."""
    return _TEXTS[column](entry)


def on_server(entry: Entry) -> list[str]:
    """When a server drops an entry, and when it was last used there; nothing where unknown."""
    lines = []
    if entry.expires is not None:
        never = _tr("Never expires")
        lines.append(_tr("Expires {}").format(say.when(entry.expires)) if entry.expires else never)
    if entry.used is not None:
        lines.append(_tr("Last used {}").format(say.ago(entry.used)))
    return lines


def verdict_tip(entry: Entry) -> str:
    """The verdict and why, in a sentence or two."""
    if entry.verdict is None:
        if entry.kind in WITHOUT_VERDICT:
            from torchkeeper.client.words import verdicts  # the window starts without it

            return verdicts.none(entry.kind)
        return _tr("Not checked yet")
    said = {
        "usable": _tr("A program with this environment's defaults finds it"),
        "conditional": _tr("A program may find it"),
        "unknown": _tr("It does not record whether a program finds it"),
        "unsafe": _tr("PyTorch loads it here, and it may compute wrong results"),
        "stale": _tr("No program finds it here"),
        "broken": _tr("It is damaged, or lacks something it needs"),
    }.get(entry.verdict, entry.verdict)
    return f"{said}:\n{entry.why}" if entry.why else said


def tooltip(entry: Entry, column: int) -> str:
    """What else there is to say of one cell."""
    if column in (KIND, NAME) and (entry.problem or entry.orphan):
        wrong = filter(None, dict.fromkeys((entry.problem, entry.orphan)))  # each once
        said = [shown_name(entry), *(str(user_error(code, {})) for code in wrong)]
        return "\n\n".join(text for text in said if text)
    if column == NAME:
        return "\n".join([shown_name(entry), printable(entry.path), *on_server(entry)])
    if column == VERDICT:
        return verdict_tip(entry)
    if column == KEY:
        return f"{printable(entry.key)}\n{printable(entry.path)}"
    if column == SIZE:
        return _tr("{} bytes").format(f"{entry.size:,}")
    when = {MTIME: entry.mtime, EXPIRES: entry.expires or None, USED: entry.used}.get(column)
    if when is not None:
        return say.when(when)
    if column == USED:
        return _tr("Not checked yet, or not known: before version 7.2 a server cannot tell a look "
                   "from a use")  # fmt: skip
    if column == EXPIRES:
        return cell_text(entry, column) or _tr("Not checked yet, or the server does not say")
    return cell_text(entry, column) or _tr("Not recorded in this entry")


def accessible_text(entry: Entry, column: int) -> str:
    if column == VERDICT:
        words = cell_text(entry, column)
        return f"{words}, {entry.why}" if words and entry.why else words or _tr("no verdict")
    text = cell_text(entry, column) or _tr("not known")
    if column == NAME and entry.broken:
        text = _tr("{}, broken").format(text)
    if column == NAME and entry.orphan:
        text = _tr("{}, orphan").format(text)
    return text


@dataclass
class Totals:
    """What is shown, added up. counts: as of ``artifacts.entry.tally``. files, size, broken,
    unread, orphans: of the entries alone, where there are any; apart_size: of all else. verdicts:
    how many have which, None for those without one. torches: of what versions those are that are
    stale, None where that is not known.
    """

    counts: Tally = field(default_factory=lambda: tally(()))
    files: int = 0
    size: int = 0
    apart_size: int = 0
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
    shown = totals if counts["entries"] else others
    return replace(shown, counts=counts, apart_size=others.size)


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
Rows = Sequence[Row]

#: What is known to have no end, and what is not known: the first comes after all that has one.
_NEVER, _UNKNOWN = 1e300, float("inf")
_VERDICT_RANK = {verdict: float(rank) for rank, verdict in enumerate(VERDICTS)}


def _expires(row: Row) -> float:
    return _UNKNOWN if row.entry.expires is None else row.entry.expires or _NEVER


def _used(row: Row) -> float:
    return _UNKNOWN if row.entry.used is None else row.entry.used


def _verdict(row: Row) -> float:
    return _VERDICT_RANK.get(row.entry.verdict or "", _UNKNOWN)


#: What each column is sorted by; entries without a value come first, as the smallest. But where
#: there is none because it was not asked for yet, last.
SORT_KEYS: tuple[Key, ...] = (
    lambda r: _KIND_RANK[r.entry.kind],
    attrgetter("low"),
    lambda r: rank_of(r.entry.path).order,
    _verdict,
    attrgetter("entry.key"),
    attrgetter("entry.size"),
    attrgetter("entry.files"),
    lambda r: r.entry.mtime or -1.0,
    lambda r: say.version(r.entry.torch),
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
_PLAIN_WORD = re.compile(r"[^\s\"\-:<>=][^\s\":<>=]*")
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
    words = [term for term in after if _PLAIN_WORD.fullmatch(term)]
    for term in before:
        if _PLAIN_WORD.fullmatch(term):
            if not any(term in word for word in words):
                return False
        elif term not in after or any(x in term for x in _PASSING):
            return False
    return True


def select_rows(rows: Iterable[Row], query: Query, apart: bool = True) -> list[Row]:
    """The rows a filter lets through, in their order; apart: also those that are no entries."""
    every, found = list(rows), list[Row]()
    terms = _terms(query) or [""] * len(query.tests)
    # Sorted rows lie all over the memory. What a few of them refer to is fetched in one go, and is
    # near when it is looked at: twice as fast as row by row.
    for first in range(0, len(every), _NEAR):
        some = every[first : first + _NEAR]
        if not apart:
            some = [row for row in some if row.entry.kind not in COUNTED_APART]
        for term, test in zip(terms, query.tests, strict=True):
            if _PLAIN_WORD.fullmatch(term):
                some = _with_word(some, term)
            else:
                some = list(compress(some, test(list(map(_ENTRY, some)))))
        found += some
    return found


def _with_word(rows: list[Row], word: str) -> list[Row]:
    hays = [row.hay for row in rows]
    if word not in "\n".join(hays):
        return []
    return [row for row, hay in zip(rows, hays, strict=True) if word in hay]


#: So many rows are merged, or handed on, at once.
_BETWEEN = 1024


def bisect(rows: Rows, key: Key, value: Any, descending: bool) -> int:
    """The first row of a sorted list that does not come before a value."""
    if not descending:
        return bisect_left(rows, value, key=key)
    return bisect_left(rows, True, key=lambda row: not key(row) > value)


def bisect_after(rows: Rows, key: Key, value: Any, descending: bool, low: int = 0) -> int:
    """The first row of a sorted list, from ``low`` on, that comes after a value."""
    if not descending:
        return bisect_right(rows, value, low, key=key)
    return bisect_left(rows, True, low, key=lambda row: key(row) < value)


def merged(rows: Rows, others: Rows, key: Key, descending: bool) -> Iterator[Rows]:
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


def dealt(rows: Rows, key: Key, descending: bool) -> Iterator[Rows]:
    """Rows that are in no order, in order, a thousand or so at a time. Equal rows stay in their
    order: the same as sorting all of them, which could not be interrupted. Each goes to those of
    about its value first, and those are sorted. Sorting runs and merging them would look at every
    run for every piece: with 500,000 rows 10 ms at a time.
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


def _piecemeal(rows: Rows) -> Iterator[Rows]:
    for first in range(0, len(rows), _BETWEEN):
        yield rows[first : first + _BETWEEN]


Identity = tuple[str, str]
Shelf = dict[Identity, Row]

#: A power of two: with 200,000 rows each holds 800.
_SHELVES = 256


class Register:
    """Which row is an entry's. A dictionary that grows moves all: 25 ms at 170,000 rows."""

    def __init__(self) -> None:
        self._shelves: list[Shelf] = [{} for _ in range(_SHELVES)]

    def __len__(self) -> int:
        return sum(map(len, self._shelves))

    def shelf(self, identity: Identity) -> Shelf:
        """The dictionary that this identity belongs in."""
        return self._shelves[hash(identity) & (_SHELVES - 1)]

    def get(self, identity: Identity) -> Row | None:
        """The row of an entry; None where it is not known."""
        return self.shelf(identity).get(identity)

    def put(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.shelf(row.entry.identity)[row.entry.identity] = row

    def drop(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.shelf(row.entry.identity).pop(row.entry.identity, None)

    def rows(self) -> Iterator[list[Row]]:
        """All rows, some at a time."""
        for shelf in self._shelves:
            yield list(shelf.values())

    def let_go(self) -> Iterator[None]:
        """Free all rows in steps."""
        freed = 0
        for shelf in self._shelves:
            freed += len(shelf)
            shelf.clear()
            if freed > STEP:
                freed = 0
                yield


#: From so many rows on the garbage collector is told to leave them alone.
MANY = 5000


class Intake:
    """What a listing has brought so far, and how it differs from what was known. known: the rows of
    an earlier listing; the first puts its own there at once, a later one keeps them in ``_fresh``
    and ``new`` until its end. then: what to call when all of it is shown.
    """

    def __init__(self, number: int, known: Register) -> None:
        self.number = number
        self.first = not len(known)
        self.queue: deque[list[Entry]] = deque()
        self.complete = False
        self.then: Callable[[], None] | None = None
        self.new: list[Row] = []
        self.changed: set[Row] = set()
        self.gone: list[Row] = []
        self._known = known
        self._fresh = known if self.first else Register()
        self._named = 0
        self._count = len(known)
        self._settled = False
        self._replaced: list[tuple[Row, Entry]] = []

    def take(self) -> list[Row]:
        """Look at one batch; what is new in it."""
        new = []
        number, known, fresh = self.number, self._known, self._fresh
        for entry in self.queue.popleft():
            identity = entry.identity
            shelf = fresh.shelf(identity)
            row = shelf.get(identity) or known.get(identity)
            if row is None:
                row = shelf[identity] = Row(entry, number)
                new.append(row)
            elif row.seen != number:
                row.seen = number
                self._named += 1
                old = row.entry
                # A listing knows no verdicts.
                if (old if old.verdict is None else old._replace(verdict=None, why=None)) != entry:
                    self._replaced.append((row, entry))
        if not self.first:
            self.new += new
        self._count += len(new)
        if self._count > MANY:
            # Rows are no garbage: looking through all of them for some takes 50 ms and more.
            gc.freeze()
        return new

    def settle(self) -> Iterator[None]:
        """Let the rows be about what the listing says, and find out which are gone: once."""
        while self._replaced:
            for row, entry in self._replaced[-500:]:
                row.take(entry)
                self.changed.add(row)
            del self._replaced[-500:]
            yield
        if self._settled:
            return
        gone: list[Row] = []
        if not self.first and self._named < len(self._known):
            for some in self._known.rows():
                gone += [row for row in some if row.seen != self.number]
                yield
        self.gone, self._settled = gone, True

    def sorted(self, rows: list[Row], key: Key, descending: bool) -> Work[list[Row]]:
        """The rows in order, with those that are new; ``rows`` were sorted before if not first."""
        if self.first:
            return (yield from in_order(rows, key, descending))
        kept = rows
        if self.changed or self.gone:
            leave = self.changed.union(self.gone)
            kept = []
            for piece in pieces(rows):
                kept += [row for row in piece if row not in leave]
                yield
        found = yield from in_order([*self.changed, *self.new], key, descending, kept)
        if kept is not rows:
            yield from let_go(kept)
        return found


def in_order(loose: list[Row], key: Key, descending: bool, among: Rows = ()) -> Work[list[Row]]:
    """Rows in order, together with those of ``among``, which are."""
    found: list[Row] = []
    for piece in dealt(loose, key, descending):
        found += piece
        yield
    if not among:
        return found
    both: list[Row] = []
    for piece in merged(among, found, key, descending):
        both += piece
        yield
    return both
