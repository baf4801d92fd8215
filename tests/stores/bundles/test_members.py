"""Members of a zip are written as zipfile itself writes them, and can be taken back."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from io import BufferedRandom
from pathlib import Path

import pytest

from torchkeeper.artifacts.manifest import combined
from torchkeeper.stores.bundles import parts as writing
from torchkeeper.stores.bundles.parts import Members, info
from torchkeeper.stores.items import CHUNK
from torchkeeper.stores.pouring import Take

DATA = {"files/a": b"", "files/é": b"small", "files/c": os.urandom(2 * CHUNK + 3), "d": b"end"}


def test_the_bytes_are_those_of_zipfile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MAY_BE_BIG", 2 * CHUNK)  # one of them has room for more
    plain = io.BytesIO()
    with zipfile.ZipFile(plain, "w") as archive:
        for name, data in DATA.items():
            with archive.open(info(name), "w", force_zip64=len(data) > 2 * CHUNK) as member:
                member.write(data)
        with archive.open(info("whole"), "w", force_zip64=True) as member:
            member.write(b"written")
        archive.writestr(info("last"), b"last")

    def fails(take: Take) -> None:
        take(b"x" * CHUNK)
        raise RuntimeError

    def fill(stream: BufferedRandom) -> tuple[int, int]:
        stream.write(b"written")
        return zlib.crc32(b"written"), 7

    with (tmp_path / "z").open("w+b") as stream, zipfile.ZipFile(stream, "w") as archive:
        members = Members(archive, stream)
        for name, data in DATA.items():
            mark = members.mark()
            members.add("other", 3, lambda take: take(b"abc"))
            for size in (1, CHUNK):
                with pytest.raises(RuntimeError):
                    members.add("gone", size, fails)
            members.take_back(mark)

            def given(take: Take, data: bytes = data) -> str:
                for start in range(0, len(data), 1000):
                    take(memoryview(data)[start : start + 1000])
                return "done"

            assert members.add(name, len(data), given) == ("done", len(data))
        members.add_written("whole", fill)
        archive.writestr(info("last"), b"last")
    assert (tmp_path / "z").read_bytes() == plain.getvalue()
    with zipfile.ZipFile(tmp_path / "z") as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in DATA} == DATA


@pytest.mark.parametrize("length", [0, 1, 7, 1000, 123457])
def test_a_crc_of_two_parts(length: int) -> None:
    first, second = os.urandom(33), os.urandom(length)
    whole = zlib.crc32(first + second)
    assert combined(zlib.crc32(first), zlib.crc32(second), length) == whole
