"""The mega-cache format, against what PyTorch wrote and against damage."""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import DATA
from tests.stores.building import filling
from torchkeeper.artifacts import megacache
from torchkeeper.artifacts.entry import Problem


def kept() -> bytes:
    return gzip.decompress((DATA / "torch-2.9.1" / "mega-cache.bin.gz").read_bytes())


def test_reads_what_torch_wrote() -> None:
    found = megacache.artifacts(io.BytesIO(kept()))
    assert Counter(a.type for a in found) == {"inductor": 7, "aot_autograd": 4, "pgo": 4}


def test_writes_what_torch_wrote() -> None:
    data = kept()
    out = io.BytesIO()
    writer = megacache.Writer(out)
    section = ""
    for artifact in megacache.artifacts(io.BytesIO(data)):
        if artifact.type != section:
            section = artifact.type
            writer.section(section)
        payload = data[artifact.offset : artifact.offset + artifact.size]
        writer.artifact(artifact.key, filling(iter([payload[:7], payload[7:]])))
    writer.close()
    assert out.getvalue() == data


def test_an_artifact_that_fails_leaves_no_trace() -> None:
    def fails() -> Iterator[bytes]:
        yield b"half"
        raise OSError("gone")

    out, clean = io.BytesIO(), io.BytesIO()
    for stream, broken in ((out, True), (clean, False)):
        writer = megacache.Writer(stream)
        writer.section("pgo")
        if broken:
            with pytest.raises(OSError, match="gone"):
                writer.artifact("k", filling(fails()))
        writer.section("inductor")
        writer.artifact("k", filling(iter([b"whole"])))
        writer.close()
    assert out.getvalue() == clean.getvalue()
    assert [a.type for a in megacache.artifacts(out)] == ["inductor"]


def sealed(body: bytes) -> io.BytesIO:
    return io.BytesIO(struct.pack(">I", zlib.crc32(body)) + body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        struct.pack(">Q", 2),
        struct.pack(">QQ", 1, 1 << 60),
        struct.pack(">QQ", 1, 8) + b"aW5kdWN0" + struct.pack(">Q", 1 << 40),
        struct.pack(">QQ", 1, 4) + b"!!!!" + struct.pack(">Q", 0),
        struct.pack(">QQ", 1, 4) + b"cGdv" + struct.pack(">QQ", 1, 4) + b"YQ==",
        struct.pack(">QQ", 1, 4) + b"cGdv" + struct.pack(">QQ", 1, 4) + b"YWFh"
        + struct.pack(">Q", 1),
    ],
)  # fmt: skip
def test_lies_are_found(body: bytes) -> None:
    with pytest.raises(Problem, match="mega-cache-damaged"):
        megacache.artifacts(sealed(body))


@given(cut=st.integers(0, 4000), flip=st.integers(0, 4000))
def test_damage_is_found(cut: int, flip: int) -> None:
    data = bytearray(kept())
    data[flip * 250 % len(data)] ^= 1
    with pytest.raises(Problem, match="mega-cache-damaged"):
        megacache.artifacts(io.BytesIO(bytes(data)))
    with pytest.raises(Problem, match="mega-cache-damaged"):
        megacache.artifacts(io.BytesIO(kept()[: cut * 250 % len(data)]))
