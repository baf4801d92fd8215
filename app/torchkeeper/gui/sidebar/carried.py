"""What is dragged or lies on the clipboard: files, texts that name some, and entries."""

from __future__ import annotations

import os
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, QMimeData
from PySide6.QtGui import QDropEvent, QGuiApplication

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.table.mimedata import Rows, rows_of
from torchkeeper.stores.names import scheme_of

#: Characters of a text that are looked at, and lines of it.
_LONG, _MOST = 64_000, 500
#: How the names of bundles and mega-caches end.
BUNDLES = (".torchcache", ".bin")


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
    lines = [line.strip().strip("'\"") for line in data.text()[:_LONG].splitlines()[:_MOST]]
    servers = [line for line in lines if not scheme_of(line).local]
    paths = [os.path.expanduser(line) for line in lines if line.startswith(("/", "~"))]
    return Carried(tuple(paths), tuple(servers)) if paths or servers else None


def pasted() -> Carried | None:
    """What lies on the clipboard."""
    return carried(QGuiApplication.clipboard().mimeData())


def tr(text: str) -> str:
    """The translation of a text about it."""
    return QCoreApplication.translate("Carried", text)
