"""Selected entries as text: keys, paths, JSON, commands for a shell."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from PySide6.QtCore import QMimeData, QObject
from PySide6.QtGui import QGuiApplication

from torchkeeper.artifacts.entry import Entry
from torchkeeper.gui.later import every
from torchkeeper.gui.table import mimedata
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.stores.names import scheme_of

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
            data.setData(mimedata.FORMAT, self._rows)
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
        return mimedata.told(place, chosen) if place is not None and chosen else b""
