"""Entries as they are dragged or lie on the clipboard, beside the file or the text they are for
other programs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.artifacts.entry import Entry, entry_from_json

if TYPE_CHECKING:
    from PySide6.QtCore import QMimeData

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
