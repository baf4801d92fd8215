"""Entries as lines: their order, their columns, and what is printed of them when."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from torchkeeper.artifacts.entry import COUNTED_APART, KINDS, UNREAD, Entry, entry_from_json
from torchkeeper.artifacts.vllm import rank_of
from torchkeeper.cli import output, screen
from torchkeeper.client.words import say

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import EntryRow

_RANKS: dict[str, int] = {kind: rank for rank, kind in enumerate(KINDS)}


def _by_kind(e: EntryRow) -> tuple[int, str, str]:
    return _RANKS[e["kind"]], (e["name"] or "").lower(), e["key"]


#: What entries are put in order by, given their fields.
SORTS: dict[str, Callable[[EntryRow], Any]] = {
    "kind": _by_kind,
    "key": operator.itemgetter("key"),
    "name": lambda e: (e["name"] is None, (e["name"] or "").lower()),
    "size": lambda e: -e["size"],
    "files": lambda e: -e["files"],
    "mtime": lambda e: -(e["mtime"] or 0),
    "torch": lambda e: (e["torch"] is None, e["torch"] or ""),
    "device": lambda e: (e["device"] is None, e["device"] or ""),
    "compile_s": lambda e: -(e["compile_s"] or 0),
    "path": operator.itemgetter("path"),
    "rank": lambda e: (rank_of(e["path"]).order, _by_kind(e)),
    # What is first: the next to go, 0 being never, and what was not used for longest.
    "expires": lambda e: (e["expires"] is None, not e["expires"], e["expires"] or 0),
    "used": lambda e: (e["used"] is None, e["used"] or 0),
}
#: Those that a server is asked for only when somebody wants to know.
TIMES = ("expires", "used")
#: Signs of a key that are enough for a person.
_SHORT = 12


class Column(NamedTuple):
    """What is above a column, and what a cell of it says; right: where numbers are."""

    heading: str
    cell: Callable[[Entry], str]
    right: bool = False


def short(key: str) -> str:
    """A key as a person reads it, or all of it for a program."""
    return key[:_SHORT] if screen.shown() else key


def _ago(seconds: float | None) -> str:
    return "-" if seconds is None else say.ago(seconds)


def _rank(entry: Entry) -> str:
    rank = rank_of(entry.path)
    return f"{short(rank.key)}/{rank.name}" if rank.key else rank.name


#: The columns that there are, by the names that JSON has for them, too.
COLUMNS = {
    "kind": Column("KIND", lambda e: say.kind_of(e.kind, e.name)),
    "key": Column("KEY", lambda e: short(e.key)),
    "verdict": Column("VERDICT", lambda e: e.verdict or "-"),
    "size": Column("CONTENT", lambda e: say.size(e.size), right=True),
    "files": Column("FILES", lambda e: str(e.files), right=True),
    "mtime": Column("CHANGED", lambda e: _ago(e.mtime)),
    "expires": Column("EXPIRES", lambda e: "-" if e.expires is None else say.until(e.expires)),
    "used": Column("USED", lambda e: _ago(e.used)),
    "torch": Column("TORCH", lambda e: e.torch or "-"),
    "device": Column("DEVICE", lambda e: e.device or "-"),
    "compile_s": Column(
        "COMPILE", lambda e: "-" if e.compile_s is None else say.seconds(e.compile_s), right=True
    ),
    "owner": Column("OWNER", lambda e: e.owner or "-"),
    "rank": Column("RANK", lambda e: _rank(e) or "-"),
    "path": Column("PATH", lambda e: e.path),
    "name": Column(output.NAME, lambda e: (e.name or "-") + _marks(e)),
}  # fmt: skip
PLACE = "place"
#: The names that --columns takes.
NAMES = (PLACE, *COLUMNS)
#: What a narrow terminal has no room for, the first first.
_SPARE = ("FILES", "DEVICE", "COMPILE", "TORCH", "CHANGED", "CONTENT", "USED", "EXPIRES")


def _marks(entry: Entry) -> str:
    broken = f"  [broken: {entry.problem}]" if entry.broken else ""
    broken = f"  [not read: {entry.problem}]" if entry.problem in UNREAD else broken
    orphan = f"  [orphan: {entry.orphan}]" if entry.orphan else ""
    return broken + orphan + (f"  [owner: {entry.owner}]" if entry.owner else "")


class Rows:
    """Prints entries in their order; those of a server, of which there may be millions, as they
    come: as JSON at once, as a table from HELD rows on. None of them is kept then.
    """

    #: Rows of a table that are put in order before anything is printed.
    HELD = 10_000

    def __init__(
        self,
        json: bool,
        sort: str = "kind",
        unsorted: bool = False,
        timed: bool = False,
        judged: bool = False,
        apart: bool = True,
        several: bool = False,
    ) -> None:
        """timed: with what a server says. judged: with verdicts. apart: also what is no entry.
        several: with the place of each, which is ``place``. Ranks are told where there are some.
        """
        self.apart, self.place, self.count = apart, "", 0
        self._lock = threading.Lock()
        self._json, self._several = json, several
        self._key = SORTS[sort]
        self._unsorted = unsorted
        self._held: list[tuple[Any, Any]] = []
        self._names = list(screen.now.columns) or [
            *([PLACE] if several else []), "kind", "key", *(["verdict"] if judged else []), "size",
            "files", *(["expires", "used"] if timed else ["mtime"]), "torch", "device",
            "compile_s", "name",
        ]  # fmt: skip
        self._table: output.Table | None = None
        self._ranked = False
        #: Whether rows are printed as they come, and how many may still be.
        self._flows = unsorted and json
        self._more = screen.now.limit

    def of(self, place: str) -> Callable[[list[EntryRow]], None]:
        """What takes some of a place, from any thread."""

        def take(rows: list[EntryRow]) -> None:
            with self._lock:
                self.place = place
                self.take(rows)

        return take

    def take(self, rows: list[EntryRow]) -> None:
        """Some more. What is printed is made while the engine still reads."""
        self.add(list(map(entry_from_json, rows)))

    def add(self, entries: list[Entry]) -> None:
        """The same, of entries."""
        if not self.apart:
            entries = [entry for entry in entries if entry.kind not in COUNTED_APART]
        self.count += len(entries)
        rows = [entry.to_json() for entry in entries]
        self._ranked = self._ranked or any(rank_of(entry.path).name for entry in entries)
        shown: list[Any] = [(self.place, entry) for entry in entries]
        if self._json:
            shown = self._as_json(rows)
        if self._flows:
            self._print(shown)
            return
        keys = [(self._key(row), row["path"]) for row in rows]
        self._held += zip(keys, shown, strict=True)
        if self._unsorted and self.count > self.HELD:
            self.end()
            self._flows = True

    def end(self) -> None:
        """Print what was held."""
        self._held.sort(key=operator.itemgetter(0))
        in_order = [shown for _, shown in self._held]
        self._held = []
        self._print(in_order)

    def _print(self, shown: list[Any]) -> None:
        if not self._json:
            if shown:
                table = self._made()
                table.print([self._cells(place, entry) for place, entry in shown])
            return
        if self._more is not None:
            shown = shown[: self._more]
            self._more -= len(shown)
        output.lines(shown)

    def _as_json(self, rows: list[EntryRow]) -> list[str]:
        of = {PLACE: self.place} if self._several else {}
        return output.json_lines([{**row, **of} for row in rows] if of else rows)

    def _made(self) -> output.Table:
        """The table, which has its columns when its first lines are known."""
        if self._table is None:
            names = self._names
            if self._ranked and not screen.now.columns:
                names.insert(names.index("key"), "rank")
            right = [n for n, name in enumerate(names) if name != PLACE and COLUMNS[name].right]
            heads = ["PLACE" if name == PLACE else COLUMNS[name].heading for name in names]
            self._table = output.Table(heads, frozenset(right), _SPARE, names)
        return self._table

    def _cells(self, place: str, entry: Entry) -> list[str]:
        return [place if name == PLACE else COLUMNS[name].cell(entry) for name in self._names]
