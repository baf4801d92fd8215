"""When each recipe was last warmed, and what came of it; kept in the app's own cache folder.

It is a convenience: what cannot be read is not known, and what cannot be written is not kept.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Sequence
from typing import NamedTuple

from torchkeeper.client.engines import travel
from torchkeeper.client.kept import whole

#: Recipes that are remembered, the latest; bytes of the file.
MAX_KEPT = 500
MAX_BYTES = 1 << 20
_MAX_TIME = 32503680000.0  # the year 3000


class Warmed(NamedTuple):
    """at: seconds since the epoch. place: into which. done, failed: cells."""

    at: float
    place: str
    done: int
    failed: int


def file() -> str:
    """Where it is kept."""
    return os.path.join(travel.cache_folder(), "warmed.json")


def last() -> dict[str, Warmed]:
    """What is known, by the path of the recipe's file, or "builtin"."""
    try:
        kept = json.loads(whole.read(file(), MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(kept, dict):
        return {}
    found = {}
    for path, one in kept.items():
        if isinstance(one, list) and len(one) == 4 and isinstance(one[1], str):
            at, place, done, failed = one
            if all(isinstance(x, (int, float)) and 0 <= x <= _MAX_TIME for x in (at, done, failed)):
                found[path] = Warmed(float(at), place, int(done), int(failed))
    return found


def keep(recipes: Sequence[tuple[str, int, int]], place: str) -> None:
    """Note that recipes were warmed just now: path, cells that are warm, and cells that are not."""
    known = last()
    for path, done, failed in recipes:
        known[path] = Warmed(time.time(), place, done, failed)
    latest = sorted(known.items(), key=lambda pair: -pair[1].at)[:MAX_KEPT]
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(file()), mode=0o700, exist_ok=True)
        whole.write(file(), {path: list(one) for path, one in latest}, indent=None)
