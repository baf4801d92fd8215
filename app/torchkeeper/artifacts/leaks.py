"""Secrets and private facts in a stream of bytes, found piece by piece, in bounded memory; and
where else a secret that was found stands, in whatever spelling. Also many texts found at once,
about as fast as one of them; and where the texts of a pickle lie, which alone can hold a secret.

The time taken grows with the size alone, whatever the bytes: each pattern is bounded, and is only
tried where a fixed text of it stands (artifacts.leakforms).
"""

from __future__ import annotations

import base64
import binascii
import functools
import html
import itertools
import json
import pickletools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

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

# Where any of many texts stands in bytes, about as fast as one of them is found.
#
# A regular expression of alternatives takes its time for every byte. Here a few letters in a row, a
# gram, stand for each text, and grams of one length make a set. A table makes all letters equal
# that are at one place in a set, so that one search of the translated bytes finds whatever of the
# set is there. What is found so and is no gram after all costs a look. How the grams are sorted
# into sets decides how often that is; what is found does not depend on it.

#: For each gram in each case that counts: how far behind the beginning of a text it is, the text.
_Grams = Mapping[bytes, Sequence[tuple[int, bytes]]]

#: Letters that stand for a text for which nothing else does; each more makes twice as many cases.
_ENOUGH = 6


class Sieve:
    """Finds texts, however their letters are written. texts: in lower case, and for each whether it
    counts in any case; if not, it need only be found where its gram stands as it is given. tables:
    for each table the sets that share it, and of each set the grams, those of texts that count in
    any case in lower case. A text is found by the first gram that is in it. Those without any make
    a set of their own.
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


#: How far after a fixed text a match may end, and how far before it it may begin, in bytes.
AHEAD, BEHIND = 2 * MAX_VALUE, 512

#: Where less than this part of what is searched is text, only what is near a run of letters is: one
#: byte of so many is asked, so many letters make a run, and so many bytes are near.
_MOSTLY, _EACH, _RUN = 0.5, 61, b"\1" * 12
#: What is smaller is searched in any case.
SMALL = 256 << 10
_NEAR = 4 << 10
_PRINTABLE = bytes(byte in b"\t\n\r" or 32 <= byte < 127 for byte in range(256))
#: Bytes of a fixed text, at most.
_LONGEST = 64


class Scanner:
    """Finds what is in one stream. own: names of this user and this machine, and whether each is a
    "user" or a "host": private facts, wherever they stand.
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

    def each(self, parts: Sequence[bytes]) -> Iterator[tuple[int, Iterator[Leak | Fact]]]:
        """What is in each of some whole streams that are SMALL, by its number, as one that is fed
        with it alone finds it: the sieve has all of them at once, and what it finds is tried in the
        bytes of its own stream.
        """
        starts = list(itertools.accumulate((len(part) + 1 for part in parts), initial=0))
        joined = b"\0".join(parts)  # which is in no text that is looked for
        found = self._sieve.find(joined, 0, len(joined))
        for number, some in itertools.groupby(found, lambda one: bisect_right(starts, one[0]) - 1):
            where = [(begin - starts[number], text) for begin, text in some]
            yield number, self._tried(parts[number], where)

    def _search(self, window: bytes, start: int, end: int) -> Iterator[Leak | Fact]:
        for first, behind in _texts(window, start, end):
            for found in self._tried(window, self._sieve.find(window, first, behind)):
                yield _moved(found, self._at)

    def _tried(self, data: bytes, where: Iterable[tuple[int, bytes]]) -> Iterator[Leak | Fact]:
        at = 0
        for begin, text in where:
            if begin < at:
                continue
            at = begin + 1
            for found in self._try(data, text, begin):
                if isinstance(found, Leak) and found.what == "token":
                    at = max(at, found.end)  # nothing begins within one
                yield found

    def _try(self, data: bytes, text: bytes, at: int) -> Iterator[Leak | Fact]:
        end = at + len(text)
        if text in FIXED:
            yield from TRIED[FIXED[text]](data, at, end)
        if text in self._own and not (
            data[max(at - 1, 0) : at].isalnum() or data[end : end + 1].isalnum()
        ):
            yield Fact(self._own[text], shown(data[at:end]), at)


def _texts(window: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a window that may hold texts, in order and apart: all of it, or some. A secret
    has a run of letters in it, or a name beside it, or whatever has its name does.
    """
    shift = max(start - _NEAR, 0)
    some = window[start:end:_EACH].translate(_PRINTABLE)
    if end - start < SMALL or some.count(1) >= _MOSTLY * len(some):
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


# Where else a secret that is known stands: as it is, quoted for a URL, escaped, or encoded.

#: What stands in place of a secret's every byte: it is text in every encoding, as long as it was.
FILL = b"x"


class Echo(NamedTuple):
    """Where a secret stands, as many bytes to stand there instead, and the form that it has:
    "plain", "quoted", "escaped", "hex" or "base64".
    """

    start: int
    instead: bytes
    form: str

    @property
    def end(self) -> int:
        return self.start + len(self.instead)


class _Needle(NamedTuple):
    text: bytes
    form: str
    #: Of base64: bytes of the first group of three before the secret, and the secret.
    before: int = 0
    value: bytes = b""


def is_distinctive(value: bytes) -> bool:
    """Whether a text is so unlike any other that where it stands, it is this secret."""
    classes = sum(
        any(test(chr(byte)) for byte in value)
        for test in (str.islower, str.isupper, str.isdigit, lambda c: not c.isalnum())
    )
    return len(value) >= 8 and len(set(value)) > 3 and (classes > 1 or len(value) >= 16)


class Echoes:
    """Finds secrets in one stream after the other, those that are distinctive."""

    def __init__(self, values: Iterable[bytes]) -> None:
        needles = {
            needle.text: needle
            for value in values
            for one in dict.fromkeys((value, unquote_to_bytes(value)))
            if is_distinctive(one)
            for needle in _needles(one)
        }
        self._needles = needles
        self._margin = 2 * max(map(len, needles), default=0) + 16
        # The longest first: an escaped one may begin with a plain one.
        ordered = sorted(needles, key=len, reverse=True)
        self._any = re.compile(b"|".join(map(re.escape, ordered))) if ordered else None

    def __bool__(self) -> bool:
        return self._any is not None

    def find(self, pieces: Iterable[bytes]) -> Iterator[Echo]:
        if self._any is None:
            return
        window, at, done = b"", 0, 0
        waiting = iter(pieces)
        piece: bytes | None = next(waiting, b"")
        while piece is not None:
            window, piece = window + piece, next(waiting, None)
            end = len(window) - (self._margin if piece is not None else 0)
            here = done - at
            while (match := self._any.search(window, max(here, 0))) and match.start() < end:
                needle = self._needles[match[0]]
                echo = _recoded(window, match, needle) if needle.form == "base64" else None
                echo = echo or Echo(match.start(), FILL * len(match[0]), needle.form)
                yield echo._replace(start=echo.start + at)
                here = match.end()
            done = at + max(here, end, 0)
            kept = max(done - at - self._margin, 0)
            window, at = window[kept:], at + kept


def _recoded(window: bytes, match: re.Match[bytes], needle: _Needle) -> Echo | None:
    """The groups of base64 that hold a secret, with that replaced and all beside as it was."""
    start = match.start() - -(-needle.before * 8 // 6)
    size = -(-(needle.before + len(needle.value)) // 3) * 4
    group = window[max(start, 0) : start + size]
    web = b"-" in group or b"_" in group
    try:
        whole = base64.b64decode(group, altchars=b"-_" if web else None, validate=True)
    except (binascii.Error, ValueError):
        return None
    behind = needle.before + len(needle.value)
    if start < 0 or whole[needle.before : behind] != needle.value:
        return None
    made = whole[: needle.before] + FILL * len(needle.value) + whole[behind:]
    return Echo(start, base64.b64encode(made, altchars=b"-_" if web else None), "base64")


def _needles(value: bytes) -> Iterator[_Needle]:
    yield _Needle(value, "plain")
    for safe in ("", "/"):
        quoted = quote(value, safe=safe).encode()
        if quoted != value:
            yield _Needle(quoted, "quoted")
            lower = re.sub(rb"%[0-9A-F]{2}", lambda match: match[0].lower(), quoted)
            yield _Needle(lower, "quoted")
    text = value.decode("utf-8", "replace")
    for escaped in dict.fromkeys(_escaped(text, value)):
        if escaped not in (value, b""):
            yield _Needle(escaped, "escaped")
    yield _Needle(value.hex().encode(), "hex")
    yield _Needle(value.hex().upper().encode(), "hex")
    for before in range(3):
        # Of the first and the last character a part may be another byte's.
        whole = base64.b64encode(b"\0" * before + value)
        inner = whole[-(-before * 8 // 6) : (before + len(value)) * 8 // 6]
        yield _Needle(inner, "base64", before, value)
        yield _Needle(inner.translate(_WEB), "base64", before, value)


def _escaped(text: str, value: bytes) -> Iterator[bytes]:
    """As Python, JSON and HTML write a text between quotes, once and twice; and as UTF-16."""
    for once in (json.dumps(text), json.dumps(text, ensure_ascii=False)):
        yield once[1:-1].encode()
        yield once[1:-1].replace("/", "\\/").encode()
        yield json.dumps(once)[3:-3].encode()
    for once in (repr(text), ascii(text)):
        yield once[1:-1].encode()
        yield repr(once)[2:-2].encode()
    yield repr(value)[2:-1].encode()
    yield text.encode("unicode_escape")
    yield html.escape(text).encode()
    for encoding in ("utf-16-le", "utf-16-be"):
        yield text.encode(encoding, "replace")


_WEB = bytes.maketrans(b"+/", b"-_")


# Where the texts of a pickle lie in its bytes, without making anything of them.

#: Pickles that lie in texts of pickles are looked into so deep.
_MAX_DEPTH = 8
#: Opcodes between two calls of ``check``.
_STRIDE = 1 << 14

_SIZES = {
    ord(opcode.code): 0 if opcode.arg is None else opcode.arg.n for opcode in pickletools.opcodes
}
#: What a size below zero stands for: a text, after its length in so many bytes.
_LENGTHS = {
    pickletools.TAKEN_FROM_ARGUMENT1: 1,
    pickletools.TAKEN_FROM_ARGUMENT4: 4,
    pickletools.TAKEN_FROM_ARGUMENT4U: 4,
    pickletools.TAKEN_FROM_ARGUMENT8U: 8,
}
#: Such arguments that are numbers.
_NUMBERS = frozenset(b"\x8a\x8b")
_STOP = ord(".")
_PROTO = 0x80


class Extent(NamedTuple):
    """Where a text is."""

    start: int
    end: int


def texts_of_pickle(data: bytes, check: Callable[[], None]) -> Iterator[Extent]:
    """The texts of a pickle, in order, and after one that is a pickle itself those in it. Ends
    where the bytes are no pickle any more. ``check`` is called now and then.
    """
    open_ = [Extent(0, len(data))]
    while open_:
        at, end = open_.pop()
        inner: list[Extent] = []
        for extent in _flat(data, at, end, check):
            yield extent
            first, last = extent.start, extent.end - 1
            # A pickle says its protocol, which all do since 2.
            begins = last - first > 2 and data[first] == _PROTO and 2 <= data[first + 1] <= 5
            if begins and data[last] == _STOP and len(open_) + len(inner) < _MAX_DEPTH * 1000:
                inner.append(extent)
        open_ += reversed(inner)


def _flat(data: bytes, at: int, end: int, check: Callable[[], None]) -> Iterator[Extent]:
    steps = 0
    while at < end:
        steps += 1
        if steps % _STRIDE == 0:
            check()
        opcode = data[at]
        size = _SIZES.get(opcode)
        at += 1
        if size is None or opcode == _STOP:
            return
        if size >= 0:
            at += size
        elif size == pickletools.UP_TO_NEWLINE:
            # Names of a module and a class are two lines.
            for _ in range(2 if opcode in b"ci" else 1):
                newline = data.find(b"\n", at, end)
                if newline < 0:
                    return
                if opcode in b"SV":
                    yield Extent(at, newline)
                at = newline + 1
        else:
            width = _LENGTHS[size]
            length = int.from_bytes(data[at : at + width], "little")
            at += width
            if at + length > end:
                return
            if opcode not in _NUMBERS:
                yield Extent(at, at + length)
            at += length
