"""Secrets and private facts in a stream of bytes, found piece by piece, in bounded memory; and
where else a secret that was found stands, in whatever spelling. Also many texts found at once; and
where the texts of a pickle lie, which alone can hold a secret.

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
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from torchkeeper.artifacts.installed import installed
from torchkeeper.artifacts.leakforms import FIXED, MAX_VALUE, TRIED, Fact, Leak, shown


class Sieve:
    """Finds texts, which are given in lower case, however their letters are written. Hyperscan does
    it ten times as fast as Python, and while other threads run; where it is not, as in another's
    interpreter, each text is looked for alone.
    """

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._texts = list(texts)
        self._longest = max(map(len, self._texts), default=0)
        self._one_at_a_time = threading.Lock()  # a database has room for one search

    @functools.cached_property
    def _database(self) -> Any | None:
        if not self._texts or (package := installed("hyperscan")) is None:
            return None
        made = package.Database(mode=package.HS_MODE_BLOCK)
        try:
            made.compile(
                [b"".join(b"\\x%02x" % byte for byte in text) for text in self._texts],
                ids=list(range(len(self._texts))),
                flags=[package.HS_FLAG_CASELESS] * len(self._texts),
            )
        except package.HyperscanError:
            return None  # not for this processor
        return made

    def find(self, data: bytes | memoryview, start: int, end: int) -> list[tuple[int, bytes]]:
        """Where texts begin between ``start`` and ``end``, and which, in order."""
        with memoryview(data)[start : end + self._longest] as piece:
            found = [
                (begin + start, text) for begin, text in self._find(piece) if begin < end - start
            ]
        found.sort()
        return found

    def _find(self, piece: memoryview) -> list[tuple[int, bytes]]:
        if (database := self._database) is None:
            return list(self._alone(bytes(piece).lower()))
        ends: list[tuple[int, int]] = []

        def matches(text: int, _begin: int, end: int, _flags: int, _context: object) -> None:
            ends.append((text, end))

        with self._one_at_a_time:
            database.scan(piece, matches)
        return [(end - len(self._texts[text]), self._texts[text]) for text, end in ends]

    def _alone(self, lower: bytes) -> Iterator[tuple[int, bytes]]:
        for text in self._texts:
            at = lower.find(text)
            while at >= 0:
                yield at, text
                at = lower.find(text, at + 1)


#: How far after a fixed text a match may end, and how far before it it may begin, in bytes.
AHEAD, BEHIND = 2 * MAX_VALUE, 512

#: Bytes of streams that are searched together, and below which one is.
SMALL = 256 << 10
#: Bytes of a fixed text, at most.
_LONGEST = 64


class Scanner:
    """Finds what is in one stream. own: names of this user and this machine, and whether each is a
    "user" or a "host": private facts, wherever they stand.
    """

    def __init__(self, own: Mapping[str, str] | None = None) -> None:
        self._own, self._sieve = _looked_for(tuple(sorted((own or {}).items())))
        self._window = bytearray()
        self._size = 0  # of what is in the window, behind which there may be room
        self._at = 0  # where in the stream the window begins
        self._done = 0  # up to where in the stream it has been searched

    def feed(self, piece: bytes | memoryview, last: bool = False) -> Iterator[Leak | Fact]:
        """What is found now; some of what a piece has is told with the next, or with the last."""
        before, self._size = self._size, self._size + len(piece)
        if len(self._window) < self._size:
            self._window.extend(bytes(self._size - len(self._window)))
        self._window[before : self._size] = piece
        start = self._done - self._at
        end = self._size if last else self._size - AHEAD
        if end > start:
            yield from self._search(start, end)
            self._done = self._at + end
        gone = max(self._done - self._at - BEHIND, 0)
        kept = self._window[gone : self._size]
        self._window[: len(kept)] = kept
        self._size = len(kept)
        self._at += gone

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
            yield number, self._tried(where, parts[number])

    def _search(self, start: int, end: int) -> Iterator[Leak | Fact]:
        with memoryview(self._window)[: self._size] as window:
            where = self._sieve.find(window, start, end)
        # Where there are few, copying what is near each costs less than copying all.
        few = len(where) * AHEAD < self._size
        for found in self._tried(where, None if few else self._part(0, self._size)):
            yield _moved(found, self._at)

    def _part(self, start: int, end: int) -> bytes:
        with memoryview(self._window) as window:
            return bytes(window[start:end])

    def _near(self, at: int) -> tuple[bytes, int]:
        """What is near a place, and where it begins: what a match is never larger than."""
        start = max(at - BEHIND, 0)
        return self._part(start, min(at + _LONGEST + AHEAD, self._size)), start

    def _tried(
        self, where: Iterable[tuple[int, bytes]], data: bytes | None
    ) -> Iterator[Leak | Fact]:
        """data: what the places are in; the window, of which only a part is copied, with None."""
        at = 0
        for begin, text in where:
            if begin < at:
                continue
            at = begin + 1
            near, start = (data, 0) if data is not None else self._near(begin)
            for one in self._try(near, text, begin - start):
                found = _moved(one, start)
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
    return names, Sieve([*FIXED, *names])


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
