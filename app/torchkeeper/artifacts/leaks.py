"""Secrets and private facts in a stream of bytes, found piece by piece, in bounded memory.

The time taken grows with the size alone, whatever the bytes: each pattern is bounded, and is only
tried where a fixed text of it stands (artifacts.leakforms).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from torchkeeper.artifacts.leakforms import (
    ANY_CASE,
    FIXED,
    GRAMS,
    MAX_VALUE,
    TRIED,
    Fact,
    Leak,
    shown,
)
from torchkeeper.artifacts.sieve import Sieve

#: How far after a fixed text a match may end, and how far before it it may begin, in bytes.
AHEAD = 2 * MAX_VALUE
BEHIND = 512

#: Where less than this part of what is searched is text, as in tensors and objects, only what is
#: near a run of letters is: one byte of so many is asked, so many letters make a run, and so many
#: bytes are near.
_MOSTLY = 0.5
_EACH = 61
_RUN = b"\1" * 12
#: What is smaller is searched in any case.
_SMALL = 256 << 10
_NEAR = 4 << 10
_PRINTABLE = bytes(byte in b"\t\n\r" or 32 <= byte < 127 for byte in range(256))
#: Bytes of a fixed text, at most.
_LONGEST = 64


class Scanner:
    """Finds what is in one stream.

    own: names of this user and this machine, and whether each is a "user" or a "host": private
    facts, wherever they stand.
    """

    def __init__(self, own: Mapping[str, str] | None = None) -> None:
        self._own, self._sieve = _looked_for(tuple(sorted((own or {}).items())))
        self._window = b""
        self._at = 0  # where in the stream the window begins
        self._done = 0  # up to where in the stream it has been searched

    def feed(self, piece: bytes, last: bool = False) -> Iterator[Leak | Fact]:
        """What is found now; some of what a piece has is told with the next, or with the last."""
        window = self._window + piece
        start = self._done - self._at
        end = len(window) if last else len(window) - AHEAD
        if end > start:
            yield from self._search(window, start, end)
            self._done = self._at + end
        kept = max(self._done - self._at - BEHIND, 0)
        self._window = window[kept:]
        self._at += kept

    def _search(self, window: bytes, start: int, end: int) -> Iterator[Leak | Fact]:
        for first, behind in _texts(window, start, end):
            at = first
            for begin, text in self._sieve.find(window, first, behind):
                if begin < at:
                    continue
                at = begin + 1
                for found in self._try(window, text, begin):
                    if isinstance(found, Leak) and found.what == "token":
                        at = max(at, found.end)  # nothing begins within one
                    yield _moved(found, self._at)

    def _try(self, data: bytes, text: bytes, at: int) -> Iterator[Leak | Fact]:
        end = at + len(text)
        if text in FIXED:
            yield from TRIED[FIXED[text]](data, at, end)
        if text in self._own and not (
            data[max(at - 1, 0) : at].isalnum() or data[end : end + 1].isalnum()
        ):
            yield Fact(self._own[text], shown(data[at:end]), at)


def _texts(window: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a window that may hold texts, in order and apart: all of it, or some.

    A secret has a run of letters in it, or a name beside it, or whatever has its name does.
    """
    shift = max(start - _NEAR, 0)
    some = window[start:end:_EACH].translate(_PRINTABLE)
    if end - start < _SMALL or some.count(1) >= _MOSTLY * len(some):
        yield start, end
        return
    marks = window[shift : end + _NEAR].translate(_PRINTABLE)
    first = last = start
    run = marks.find(_RUN)
    while run >= 0:
        stop = marks.find(0, run)
        stop = len(marks) if stop < 0 else stop
        begin = run + shift - _NEAR
        if begin > last:
            # Apart from what is near the runs before it.
            if first < last:
                yield first, last
            first = min(begin, end)
        last = min(stop + shift + _NEAR, end)
        run = marks.find(_RUN, stop)
    if first < last:
        yield first, last


def _moved(found: Leak | Fact, by: int) -> Leak | Fact:
    if isinstance(found, Leak):
        return found._replace(start=found.start + by, end=found.end + by)
    return found._replace(start=found.start + by)


@functools.lru_cache(maxsize=8)
def _looked_for(own: tuple[tuple[str, str], ...]) -> tuple[dict[bytes, str], Sieve]:
    """Names that are looked for, with what they are, and what finds them and all fixed texts."""
    names = {name.lower().encode(): what for name, what in own}
    # What begins as a fixed text does, or the other way round, would be taken for that.
    names = {
        name: what
        for name, what in names.items()
        if len(name) <= _LONGEST
        and not any(text.startswith(name) or name.startswith(text) for text in FIXED)
    }
    fixed = {text: tried in ANY_CASE for text, tried in FIXED.items()}
    return names, Sieve({**fixed, **dict.fromkeys(names, True)}, GRAMS)
