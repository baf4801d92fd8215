"""What is told of entries, and of how much there is, as types of JSON.

Nothing is loaded for them at a start: who makes or reads such JSON imports its type under
TYPE_CHECKING; the messages of an engine (``engine.messages``) are made of them.
"""

from collections.abc import Mapping
from typing import TypedDict


class Tally(TypedDict):
    """How many entries there are, and what else, counted apart (``entry.tally``)."""

    entries: int
    locks: int
    headers: int
    unknown: int


class _Measured(TypedDict):
    bytes: int


class Measured(_Measured, total=False):
    """So many bytes, and once more by what they are (``entry.measured``)."""

    content_bytes: int
    disk_bytes: int


class Sized(Tally, Measured):
    """How many, and how much."""


class Held(Tally):
    """What a place holds (``entry.holds``); bytes: of the entries; apart_bytes: of all else."""

    bytes: int
    content_bytes: int
    apart_bytes: int


class Amount(Sized):
    """How much some entries are, with their files."""

    files: int


class Fault(TypedDict):
    """A Problem (``entry.Problem``)."""

    code: str
    params: Mapping[str, object]


class EntryRow(TypedDict):
    """An entry (``entry.Entry``), but for the words of its verdict."""

    kind: str
    key: str
    name: str | None
    size: int
    files: int
    mtime: float | None
    torch: str | None
    device: str | None
    compile_s: float | None
    path: str
    sha256: str | None
    problem: str | None
    orphan: str | None
    expires: float | None
    used: float | None
    verdict: str | None
    owner: str | None
