"""Where the texts of a pickle lie in its bytes, without making anything of them."""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterator
from typing import NamedTuple

#: Pickles that lie in texts of pickles are looked into so deep.
MAX_DEPTH = 8
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


def is_pickle(data: bytes, start: int = 0, end: int | None = None) -> bool:
    """Whether bytes begin and end as a pickle that says its protocol, which all do since 2."""
    end = len(data) if end is None else end
    begins = end - start > 3 and data[start] == _PROTO and 2 <= data[start + 1] <= 5
    return begins and data[end - 1] == _STOP


def texts(data: bytes, check: Callable[[], None]) -> Iterator[Extent]:
    """The texts of a pickle, in order, and after one that is a pickle itself those in it. Ends
    where the bytes are no pickle any more. ``check`` is called now and then.
    """
    open_ = [Extent(0, len(data))]
    while open_:
        at, end = open_.pop()
        inner: list[Extent] = []
        for extent in _flat(data, at, end, check):
            yield extent
            if len(open_) + len(inner) < MAX_DEPTH * 1000 and is_pickle(data, *extent):
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
