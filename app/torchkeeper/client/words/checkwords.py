"""What the doctor's checks are called, and the order in which an engine makes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torchkeeper.client.words import say
from torchkeeper.client.words.tongue import Text, tr
from torchkeeper.doctor.checks import CHECKS
from torchkeeper.stores.names import scheme_of

#: For people, by the names of ``doctor.checks``.
NAMES: dict[str, Text] = {
    "file-system": "file system",
    "room": "room on the disk",
    "owner": "owner and rights",
    "names": "names and paths",
    "clock": "clock",
    "leftovers": "what programs left that were ended while they wrote",
    "broken": "broken entries",
    "orphaned": "orphaned entries",
    "stale": "stale entries",
    "unsafe": "entries for another machine",
    "threads": "number of threads",
    "trash": "trash",
    "reachable": "server answers",
    "exposed": "who can write to the server",
    "writes": "server takes entries",
    "memory": "memory of the server",
    "expiry": "expiry of keys",
    "torch": "torch",
    "compiler": "C++ compiler",
    "header": "precompiled header",
    "triton": "Triton",
    "gpu": "GPU",
    "settings": "settings",
    "headers-owner": "owner of the headers",
    "unread": "caches that nothing reads",
    "duplicates": "caches that are alike",
}


def name(check: str) -> str:
    """What a check is called; its own name where this version does not know it."""
    return tr(NAMES[check]) if check in NAMES else check


def listed(checks: Iterable[str]) -> str:
    """Checks, one after the other, each once."""
    return say.together(list(dict.fromkeys(map(name, checks))))


def steps(places: Sequence[str]) -> list[tuple[str, str]]:
    """Each check that ``diagnose`` makes, by name, with its place or "", as it counts them."""
    about: dict[str, list[str]] = {"folder": [], "server": [], "machine": [""]}
    for place in places:
        about[scheme_of(place).checks].append(place)
    return [
        (check.name, place)
        for what, some in about.items()
        for place in some
        for check in CHECKS
        if check.about == what
    ]
