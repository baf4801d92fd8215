"""What is dragged or lies on the clipboard: entries, files, and texts that name some."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, QMimeData, QObject
from PySide6.QtGui import QDropEvent, QGuiApplication

from torchkeeper.artifacts.entry import Entry, entry_from_json
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.idle import every
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.stores.names import scheme_of

#: What they are called among the formats of what is dragged.
FORMAT = "application/x-torchkeeper-entries"
#: Entries that are told: no more are compared. And bytes that are read.
_MOST, _LONG = 2, 1 << 20
#: Seconds that a slice of the work may take on the main thread.
_SLICE = 0.008
#: Characters of a text that are looked at, and lines of it.
_CHARACTERS, _LINES = 64_000, 500
#: How the names of bundles and mega-caches end.
BUNDLES = (".torchcache", ".bin")


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


def keys(entries: Sequence[Entry]) -> Iterator[str]:
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


def files_of(event: QDropEvent) -> list[str]:
    """The paths of the files of this machine that are dragged."""
    return [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]


class Carried(NamedTuple):
    """Paths, and addresses of servers; or entries, which another window has as a file as well."""

    paths: tuple[str, ...]
    servers: tuple[str, ...] = ()
    rows: Rows | None = None

    @property
    def words(self) -> str:
        """What it is, in a few words: the name of the one, or how many."""
        if self.rows is not None and self.only_rows:
            return say.count(self.rows.number, "entry", "entries")
        every = (*self.servers, *self.paths)
        if len(every) == 1:
            # Of a server its address, which has no password in it.
            return printable(Place(every[0]).title, 60)
        return say.count(len(every), "file", "files")

    @property
    def only_rows(self) -> bool:
        """Whether it is entries and nothing else."""
        return self.rows is not None and not self.paths and not self.servers


def no_bundle(path: str) -> str:
    """Why a file is not imported that is not called like one to be."""
    name = printable(os.path.basename(path.rstrip("/")), 60)
    return tr("{} is no bundle: its name does not end in .torchcache or .bin").format(name)


def carried(data: QMimeData | None) -> Carried | None:
    """What is dragged or was copied; None where nothing of it is on this machine."""
    if data is None:
        return None
    rows = rows_of(data)
    if rows is not None and (rows.own or not data.hasUrls()):
        return Carried((), (), rows)
    if data.hasUrls():
        paths = [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
        servers = [url.toString() for url in data.urls() if not scheme_of(url.toString()).local]
        return Carried(tuple(paths), tuple(servers), rows) if paths or servers else None
    if not data.hasText():
        return None
    lines = [line.strip().strip("'\"") for line in data.text()[:_CHARACTERS].splitlines()[:_LINES]]
    servers = [line for line in lines if not scheme_of(line).local]
    paths = [os.path.expanduser(line) for line in lines if line.startswith(("/", "~"))]
    return Carried(tuple(paths), tuple(servers)) if paths or servers else None


def pasted() -> Carried | None:
    return carried(QGuiApplication.clipboard().mimeData())


#: The translation of a text about it.
tr = partial(QCoreApplication.translate, "Carried")
