"""Where else a secret that is known stands: as it is, quoted for a URL, escaped, or encoded."""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

#: What stands in place of a secret's every byte: it is text in every encoding, as long as it was.
FILL = b"x"


class Echo(NamedTuple):
    """Where a secret stands, the bytes to stand there instead, as many, and in which form it was:
    "plain", "quoted", "escaped", "hex" or "base64".
    """

    start: int
    instead: bytes
    form: str

    @property
    def end(self) -> int:
        """Behind its last byte."""
        return self.start + len(self.instead)


class _Needle(NamedTuple):
    text: bytes
    form: str
    #: Of base64: bytes of the first group of three before the secret, and the secret.
    before: int = 0
    value: bytes = b""


def is_distinctive(value: bytes) -> bool:
    """Whether a text is so unlike any other that where it stands, it is this secret: no word that
    may be the name of something.
    """
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
        longest = max(map(len, needles), default=0)
        self._margin = 2 * longest + 16
        # The longest first: an escaped one may begin with a plain one.
        ordered = sorted(needles, key=len, reverse=True)
        self._any = re.compile(b"|".join(map(re.escape, ordered))) if ordered else None

    def __bool__(self) -> bool:
        return self._any is not None

    def find(self, pieces: Iterable[bytes]) -> Iterator[Echo]:
        """Where they stand in a stream."""
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
                echo = self._echo(window, match)
                yield echo._replace(start=echo.start + at)
                here = match.end()
            done = at + max(here, end, 0)
            kept = max(done - at - self._margin, 0)
            window, at = window[kept:], at + kept

    def _echo(self, window: bytes, match: re.Match[bytes]) -> Echo:
        needle = self._needles[match[0]]
        plain = Echo(match.start(), FILL * len(match[0]), needle.form)
        return plain if needle.form != "base64" else _recoded(window, match, needle) or plain


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
            yield _Needle(_lower(quoted), "quoted")
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
    """As Python, JSON and HTML write a text between quotes, also of what was written so before; and
    in two bytes a character.
    """
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


def _lower(quoted: bytes) -> bytes:
    return re.sub(rb"%[0-9A-F]{2}", lambda match: match[0].lower(), quoted)


_WEB = bytes.maketrans(b"+/", b"-_")
