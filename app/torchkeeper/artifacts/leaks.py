"""Secrets and private facts in a stream of bytes, found piece by piece, in bounded memory.

The time taken grows with the size alone, whatever the bytes: each pattern is bounded, and is only
tried where a fixed text of it stands (artifacts.leakforms).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from torchkeeper.artifacts.leakforms import FIXED, MAX_VALUE, TRIED, Fact, Leak, shown

#: How far after a fixed text a match may end, and how far before it it may begin, in bytes.
AHEAD = 2 * MAX_VALUE
BEHIND = 512

#: Bytes of a fixed text, at most.
_LONGEST = 64


class Scanner:
    """Finds what is in one stream.

    own: names of this user and this machine, and whether each is a "user" or a "host": private
    facts, wherever they stand.
    """

    def __init__(self, own: Mapping[str, str] | None = None) -> None:
        self._own = {name.lower().encode(): what for name, what in (own or {}).items()}
        # What begins as a fixed text does, or the other way round, would be taken for that.
        self._own = {
            name: what
            for name, what in self._own.items()
            if len(name) <= _LONGEST
            and not any(text.startswith(name) or name.startswith(text) for text in FIXED)
        }
        self._fixed = re.compile(_any_of([*FIXED, *self._own]))
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
        lower, at, reach = window.lower(), start, end + _LONGEST
        while (match := self._fixed.search(lower, at, reach)) and match.start() < end:
            at = match.start() + 1  # the next may begin within this one
            for found in self._try(window, match):
                if isinstance(found, Leak) and found.what == "token":
                    at = max(at, found.end)  # nothing begins within one
                yield _moved(found, self._at)

    def _try(self, data: bytes, match: re.Match[bytes]) -> Iterator[Leak | Fact]:
        text, at, end = match[0], match.start(), match.end()
        if text in FIXED:
            yield from TRIED[FIXED[text]](data, at, end)
        if text in self._own and not (
            data[max(at - 1, 0) : at].isalnum() or data[end : end + 1].isalnum()
        ):
            yield Fact(self._own[text], shown(data[at:end]), at)


def _moved(found: Leak | Fact, by: int) -> Leak | Fact:
    if isinstance(found, Leak):
        return found._replace(start=found.start + by, end=found.end + by)
    return found._replace(start=found.start + by)


def _any_of(texts: Iterable[bytes]) -> bytes:
    """A regular expression for any of these texts, as a tree of their letters: so each byte is
    looked at but once or twice, however many there are.
    """
    rests: dict[bytes, list[bytes]] = {}
    for text in texts:
        rests.setdefault(text[:1], []).append(text[1:])
    branches = []
    for first, some in sorted(rests.items()):
        # Of two texts the shorter is enough: what is tried looks at what comes after.
        rest = b"" if b"" in some else some[0] if len(some) == 1 else None
        inner = re.escape(rest) if rest is not None else b"(?:%b)" % _any_of(some)
        branches.append(re.escape(first) + inner)
    return b"|".join(branches)
