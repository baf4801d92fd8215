"""Zip files in which everything may lie: whatever a header says can be said otherwise."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Member:
    """A member, and what its headers say of it where that is not so.

    local: its name before its bytes. said: values of its entry in the directory by their names:
    flags, method, crc, packed, size, extra, offset, attributes, system, disk.
    """

    name: bytes
    data: bytes = b""
    method: int = 0
    local: bytes | None = None
    said: dict[str, int | bytes] = field(default_factory=dict)


def packed(
    members: Sequence[Member], end: dict[str, int] | None = None, comment: bytes = b""
) -> bytes:
    """A zip of members. end: what the record at its end says otherwise: count, size, offset."""
    out, directory = bytearray(), bytearray()
    for one in members:
        data = one.data
        if one.method == 8:
            packer = zlib.compressobj(9, zlib.DEFLATED, -15)
            data = packer.compress(data) + packer.flush()
        about: dict[str, int | bytes] = {
            "flags": 0x800, "method": one.method, "crc": zlib.crc32(one.data), "packed": len(data),
            "size": len(one.data), "extra": b"", "offset": len(out), "attributes": 0o100644 << 16,
            "system": 3, "disk": 0,
        }  # fmt: skip
        local = one.name if one.local is None else one.local
        head = _numbers(about, "flags", "method"), _numbers(about, "crc", "packed", "size")
        out += struct.pack("<4s5H3I2H", b"PK\3\4", 20, *head[0], 0, 33, *head[1], len(local), 0)
        out += local + data
        about |= one.said
        extra = about["extra"]
        assert isinstance(extra, bytes)
        directory += struct.pack(
            "<4sBB5H3I5H2I", b"PK\1\2", 20, *_numbers(about, "system"), 20,
            *_numbers(about, "flags", "method"), 0, 33, *_numbers(about, "crc", "packed", "size"),
            len(one.name), len(extra), 0, *_numbers(about, "disk"), 0,
            *_numbers(about, "attributes", "offset"),
        )  # fmt: skip
        directory += one.name + extra
    last = {"count": len(members), "size": len(directory), "offset": len(out), **(end or {})}
    out += directory
    count, size, offset = last["count"] & 0xFFFF, last["size"], last["offset"]
    out += struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, size, offset, len(comment))
    return bytes(out) + comment


def _numbers(about: dict[str, int | bytes], *names: str) -> list[int]:
    return [int(number) for name in names if isinstance(number := about[name], int)]


def zip64(size: int = 0, packed_: int = 0, offset: int = 0) -> bytes:
    """The extra field of a member with large numbers."""
    return struct.pack("<HHQQQ", 1, 24, size, packed_, offset)


def headers(data: bytes) -> list[int]:
    """Where the numbers of a zip's headers stand."""
    found = []
    for magic, numbers in ((b"PK\3\4", (6, 8, 14, 18, 22, 26, 28)),
                           (b"PK\1\2", (8, 10, 16, 20, 24, 28, 30, 32, 42)),
                           (b"PK\5\6", (8, 10, 12, 16, 20))):  # fmt: skip
        at = data.find(magic)
        while at >= 0:
            found += [at, *(at + number for number in numbers)]
            at = data.find(magic, at + 4)
    return found
