"""Entries as they are dragged or lie on the clipboard, beside what they are for others."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from PySide6.QtCore import QMimeData, QObject
from PySide6.QtGui import QGuiApplication

from torchkeeper.artifacts.entry import Entry, entry_from_json
from torchkeeper.gui.idle import every
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.stores.names import scheme_of

#: What they are called among the formats of what is dragged.
FORMAT = "application/x-torchkeeper-entries"
#: Entries that are told: no more are compared. And bytes that are read.
_MOST, _LONG = 2, 1 << 20


class Rows(NamedTuple):
    """The first entries of a place, and how many there are. own: whether they are this window's."""

    place: str
    entries: tuple[Entry, ...]
    number: int
    own: bool = True


def told(place: str, entries: Sequence[Entry]) -> bytes:
    """Entries as data of FORMAT."""
    first = [entry.to_json() for entry in entries[:_MOST]]
    told = {"place": place, "entries": first, "count": len(entries), "pid": os.getpid()}
    return json.dumps(told).encode()


def rows_of(data: QMimeData) -> Rows | None:
    """The entries in what is dragged or was copied; None where there are none."""
    if not data.hasFormat(FORMAT):
        return None
    raw = bytes(data.data(FORMAT).data())
    try:
        # Any program may say that it has such.
        found = json.loads(raw) if len(raw) <= _LONG else None
        if not isinstance(found, dict) or not isinstance(found.get("place"), str):
            return None
        entries = tuple(entry_from_json(one) for one in found.get("entries") or ())
        count = found.get("count")
    except (ValueError, TypeError, RecursionError):
        return None
    if not entries or not isinstance(count, int):
        return None
    own = found.get("pid") == os.getpid()
    return Rows(found["place"], entries[:_MOST], max(count, len(entries)), own)


#: Seconds that a slice of the work may take on the main thread.
_SLICE = 0.008


def keys(entries: Sequence[Entry]) -> Iterator[str]:
    """The keys."""
    return (entry.key for entry in entries)


def paths(place: str, entries: Sequence[Entry]) -> Iterator[str]:
    """The full paths; on a server, the names of the redis keys."""
    scheme = scheme_of(place)
    return (scheme.full_path(place, entry.path) for entry in entries)


def objects(entries: Sequence[Entry]) -> Iterator[str]:
    """As ``torchkeeper ls --json`` prints them; with a verdict, in words why it is so."""
    for entry in entries:
        why = {} if entry.verdict is None else {"why": entry.why}
        yield json.dumps({**entry.to_json(), **why})


def commands(place: str, entries: Sequence[Entry]) -> Iterator[str]:
    """What shows each key in a shell; a key of several entries is shown once."""
    start = "torchkeeper show " + shlex.quote(place)
    for key in dict.fromkeys(entry.key for entry in entries):
        # A key is a file's name where there is none, and may look like an option.
        yield f"{start} {'-- ' if key.startswith('-') else ''}{shlex.quote(key)}"


class Copier(QObject):
    """Puts lines on the clipboard, without a pause however many there are."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._coming: Iterator[str] = iter(())
        self._lines: list[str] = []
        self._rows = b""
        self._timer = every(self, self._on)

    @property
    def busy(self) -> bool:
        """Whether more lines are to come."""
        return self._timer.isActive()

    def put(self, lines: Iterable[str], entries: bytes = b"") -> None:
        """Copy these lines instead of what was being copied; entries: those that they are of."""
        self._coming, self._lines, self._rows = iter(lines), [], entries
        self._on()

    def _on(self) -> None:
        end = time.perf_counter() + _SLICE
        for line in self._coming:
            self._lines.append(line)
            if len(self._lines) % 64 == 0 and time.perf_counter() > end:
                self._timer.start()
                return
        self._timer.stop()
        data = QMimeData()
        data.setText("\n".join(self._lines))
        if self._rows:
            data.setData(FORMAT, self._rows)
        QGuiApplication.clipboard().setMimeData(data)
        self._lines, self._rows = [], b""


class RowCopier(Copier):
    """Copies what is selected in a table."""

    def __init__(self, table: EntryTable, place: Callable[[], str | None]) -> None:
        """place: which one the table shows."""
        super().__init__(table)
        self._table, self._place = table, place

    def copy(self, what: str) -> None:
        """Their "key", "path", "json" (``ls --json``) or "command", each on a line."""
        chosen, place = self._table.selected(), self._place() or ""
        if what == "path":
            self.put(paths(place, chosen))
        elif what == "command":
            self.put(commands(place, chosen))
        else:  # on the Compare page, the entries themselves are pasted
            entries = told(place, chosen) if place and chosen else b""
            self.put(keys(chosen) if what == "key" else objects(chosen), entries)
