"""Where any of many texts stands in bytes, about as fast as one of them is found.

A regular expression of alternatives takes its time for every byte. Here a few letters in a row, a
gram, stand for each text, and grams of one length make a set. A table makes all letters equal that
are at one place in a set, so that one search of the translated bytes finds whatever of the set is
there. What is found so and is no gram after all costs a look. How the grams are sorted into sets
decides how often that is; what is found does not depend on it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

#: For each gram in each case that counts: how far behind the beginning of a text it is, the text.
_Grams = Mapping[bytes, Sequence[tuple[int, bytes]]]

#: Letters that stand for a text for which nothing else does; each more makes twice as many cases.
_ENOUGH = 6


class Sieve:
    """Finds texts, however their letters are written.

    texts: in lower case, and for each whether it counts in any case; if not, it need only be found
    where its gram stands as it is given. tables: for each table the sets that share it, and of each
    set the grams, those of texts that count in any case in lower case. A text is found by the first
    gram that is in it. Those without any make a set of their own.
    """

    def __init__(
        self, texts: Mapping[bytes, bool], tables: Iterable[Iterable[Sequence[bytes]]] = ()
    ) -> None:
        waiting = dict(texts)
        sorted_ = [[_grams(some, waiting) for some in sets] for sets in tables]
        if waiting:
            size = min(_ENOUGH, *map(len, waiting))
            every = dict.fromkeys(waiting, True)
            sorted_.append([_grams(list(dict.fromkeys(text[:size] for text in waiting)), every)])
        self._tables = [_Table([one for one in sets if one]) for sets in sorted_ if any(sets)]
        self._longest = max(map(len, texts), default=0)

    def find(self, data: bytes, start: int, end: int) -> list[tuple[int, bytes]]:
        """Where texts begin between ``start`` and ``end``, and which, in order."""
        piece = data[start : end + self._longest]
        found = [
            (begin + start, text)
            for table in self._tables
            for begin, text in table.find(piece)
            if 0 <= begin < end - start
        ]
        found.sort()
        return found


class _Table:
    def __init__(self, sets: Sequence[_Grams]) -> None:
        same = list(range(256))
        for grams in sets:
            for place in zip(*grams, strict=True):
                for byte in place:
                    # All of a group are told at once which group they are of.
                    old, new = same[byte], same[place[0]]
                    same = [new if one == old else one for one in same]
        self._letters = bytes(same)
        self._sets = []
        for grams in sets:
            image = next(iter(grams)).translate(self._letters)
            # Of so few letters a pattern finds the next faster than bytes.find does.
            self._sets.append((re.compile(re.escape(image)).search, len(image), grams))

    def find(self, piece: bytes) -> Iterator[tuple[int, bytes]]:
        letters = piece.translate(self._letters)
        for search, size, grams in self._sets:
            match = search(letters)
            while match:
                at = match.start()
                for before, text in grams.get(piece[at : at + size], ()):
                    begin = at - before
                    if begin >= 0 and piece[begin : begin + len(text)].lower() == text:
                        yield begin, text
                match = search(letters, at + 1)


def _grams(grams: Sequence[bytes], waiting: dict[bytes, bool]) -> _Grams:
    """What stands for texts in a set; the texts are taken from those that wait."""
    found: dict[bytes, list[tuple[int, bytes]]] = {}
    for gram in grams:
        lower = gram.lower()
        mine = [text for text in waiting if lower in text]
        cases = [gram]
        if any(waiting[text] for text in mine):
            letters = [dict.fromkeys((bytes([byte]), bytes([byte]).upper())) for byte in lower]
            cases = [b"".join(some) for some in itertools.product(*letters)]
        for text in mine:
            del waiting[text]
            for case in cases:
                found.setdefault(case, []).append((text.find(lower), text))
    return found
