"""Answers of whoever started the engine to what an operation asks on its way (a finding
``question``): they come beside the requests, in the thread that takes those.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

#: Takes an answer, or None where there is none; never waits.
Take = Callable[["str | None"], None]

_takes: dict[int, Take] = {}
_lock = threading.Lock()


def expect(asker: int, take: Take) -> None:
    """Have the answers to one that asks go there."""
    with _lock:
        _takes[asker] = take


def forget(asker: int) -> None:
    """It asks for nothing any more."""
    with _lock:
        _takes.pop(asker, None)


def answer(told: Mapping[str, object]) -> None:
    """Pass on an answer; one that nobody waits for is none."""
    asker, text = told.get("answer"), told.get("text")
    with _lock:
        take = _takes.get(asker) if type(asker) is int else None
    if take is not None:
        take(text if isinstance(text, str) else None)
