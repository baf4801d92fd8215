"""Damage to real bytes: flips, cuts, splices, numbers that lie, at places that matter."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from random import Random

#: Numbers that lengths, counts and offsets lie with.
NUMBERS = (
    0, 1, 2, 3, 7, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0xFFFF, 0x10000, 1 << 20, (1 << 31) - 1,
    1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, 1 << 56, (1 << 63) - 1, 1 << 63, (1 << 64) - 1,
)  # fmt: skip


def mutated(
    data: bytes, chance: Random, count: int, other: bytes = b"", points: Sequence[int] = ()
) -> bytes:
    """``data`` after some changes. other: what is spliced in. points: offsets that matter, such as
    those of lengths, one of which is taken every second time.
    """
    for _ in range(count):
        size = len(data)
        at = chance.randint(0, size)
        if points and chance.random() < 0.5:
            at = min(chance.choice(points), size)
        some = chance.randint(1, 300)
        what = chance.randrange(9)
        if what == 0:
            data = (
                data[:at] + bytes([data[at] ^ 1 << some % 8]) + data[at + 1 :]
                if at < size
                else data
            )
        elif what == 1:
            data = data[:at] + bytes([some & 255]) + data[at + 1 :]
        elif what == 2:
            data = data[:at] + data[at + some :]
        elif what == 3:
            data = data[:at] + data[at : at + some] * 2 + data[at + some :]
        elif what == 4:
            data = data[:at]
        elif what == 5:
            start = chance.randint(0, len(other))
            data = data[:at] + other[start : start + some] + data[at:]
        elif what in (6, 7):
            made = _number(chance, big=what == 6)
            data = data[:at] + made + data[at + len(made) :]
        elif what == 8:
            data = data[:at] + data[at : at + some][::-1] + data[at + some :]
    return data


def _number(chance: Random, big: bool) -> bytes:
    width = chance.choice("BHIQ")
    most = (1 << 8 * struct.calcsize(f"={width}")) - 1
    return struct.pack(f"{'>' if big else '<'}{width}", chance.choice(NUMBERS) & most)
