"""Mega-caches whose numbers lie or whose names lead elsewhere, with a checksum that is right."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from collections.abc import Iterable
from random import Random

from tests.hostile import facts, mutations, pickles, values
from tests.hostile.listing import HEX, KEY
from torchkeeper.artifacts import megacache

TYPES = ("inductor", "aot_autograd", "autotune", "pgo", "precompile", "future", "", "\0", "x" * 90)
KEYS = (f"f{KEY}", f"a{KEY}", f"aa/{HEX}.best_config", "job:0:", HEX, f"cache/{HEX}")

Section = tuple[str, list[tuple[str, bytes]]]


def summed(body: bytes) -> bytes:
    """A body with its checksum in front."""
    return struct.pack(">I", zlib.crc32(body)) + body


def packed(sections: Iterable[Section]) -> bytes:
    """As PyTorch writes it; every text is taken."""
    body = io.BytesIO()
    body.write(struct.pack(">Q", megacache.ENCODING_VERSION))
    for name, artifacts in sections:
        body.write(_text(name) + struct.pack(">Q", len(artifacts)))
        for key, payload in artifacts:
            body.write(_text(key) + struct.pack(">Q", len(payload)) + payload)
    return summed(body.getvalue())


def _text(text: str) -> bytes:
    data = base64.b64encode(text.encode("utf-8", "surrogatepass"))
    return struct.pack(">Q", len(data)) + data


def artifacts(trip: str, chance: Random, count: int) -> list[tuple[str, bytes]]:
    """Some artifacts that would make ``trip``, under keys that lead there, or elsewhere."""
    made = []
    for _ in range(count):
        key = chance.choice((*KEYS, *KEYS, values.text(chance), trip, f"../{trip}", f"{trip}/../x"))
        payload = chance.choice((*pickles.gadgets(trip), b"", b"{}", facts.source(trip))) + b"."
        made.append((key, payload))
    return made


def made(trip: str, real: bytes, chance: Random, size: int) -> bytes:
    """A hostile mega-cache."""
    if chance.random() < 0.4:
        sections = [(chance.choice(TYPES), artifacts(trip, chance, chance.randrange(4)))
                    for _ in range(size)]  # fmt: skip
        return packed(sections)
    points = lengths(real)
    damaged = mutations.mutated(real, chance, size, packed([("pgo", artifacts(trip, chance, 1))]),
                                points)  # fmt: skip
    return damaged if chance.random() < 0.2 else summed(damaged[4:])


def lengths(data: bytes) -> list[int]:
    """Where the numbers of a good mega-cache stand."""
    found, at = [4], 12
    while at < len(data):
        found.append(at)
        at += 8 + _number(data, at)
        count = _number(data, at)
        found.append(at)
        at += 8
        for _ in range(count):
            for _part in ("key", "payload"):
                found.append(at)
                at += 8 + _number(data, at)
    return found


def _number(data: bytes, at: int) -> int:
    (number,) = struct.unpack_from(">Q", data, at)
    return int(number)
