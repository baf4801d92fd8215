"""Entries as they are dragged or lie on the clipboard, beside the file or the text they are for
other programs.
"""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    """Entries of a place: the first of them, and how many there are. own: whether they are from
    this window, and no other program's.
    """

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


# Selected entries as text: keys, paths, JSON, commands for a shell.

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
    return (json.dumps(_object(entry)) for entry in entries)


def _object(entry: Entry) -> Mapping[str, object]:
    row = entry.to_json()
    return row if entry.verdict is None else {**row, "why": entry.why}


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
        """Copy these lines instead of whatever was being copied; few are there at once. entries:
        those that they are of (``mimedata``).
        """
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
        self._table = table
        self._place = place

    def copy_key(self) -> None:
        """The keys of the selected entries, one a line."""
        chosen = self._table.selected()
        self.put(keys(chosen), self._told(chosen))

    def copy_path(self) -> None:
        """The paths of the selected entries, one a line."""
        self.put(paths(self._place() or "", self._table.selected()))

    def copy_json(self) -> None:
        """The selected entries as ``ls --json`` prints them."""
        chosen = self._table.selected()
        self.put(objects(chosen), self._told(chosen))

    def copy_command(self) -> None:
        """A command for each selected key."""
        self.put(commands(self._place() or "", self._table.selected()))

    def _told(self, chosen: Sequence[Entry]) -> bytes:
        """The entries themselves, for who pastes them on the Compare page."""
        place = self._place()
        return told(place, chosen) if place is not None and chosen else b""
