"""Members of a zip are written as zipfile itself writes them, and can be taken back."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from io import BufferedRandom
from pathlib import Path

import pytest

from tests.sampling import sampled
from torchkeeper.artifacts.manifest import combined
from torchkeeper.stores.bundles import parts as writing
from torchkeeper.stores.bundles.members import Directory
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

    with (tmp_path / "z").open("w+b") as stream:
        members = Members(stream)
        for name, data in DATA.items():
            mark = members.mark()
            members.add("other", 3, lambda take: take(b"abc"))
            for size in (1, 2 * CHUNK):
                with pytest.raises(RuntimeError):
                    members.add("gone", size, fails)
            members.take_back(mark)

            def given(take: Take, data: bytes = data) -> str:
                for start in range(0, len(data), 1000):
                    take(memoryview(data)[start : start + 1000])
                return "done"

            assert members.add(name, len(data), given) == ("done", len(data))
        members.add_written("whole", fill)
        members.add("last", 4, lambda take: take(b"last"))
        members.close()
    assert (tmp_path / "z").read_bytes() == plain.getvalue()
    with zipfile.ZipFile(tmp_path / "z") as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in DATA} == DATA


def test_what_is_far_behind_has_large_numbers_as_of_zipfile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1500)
    for most in (3, 10):
        monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", most)
        plain = io.BytesIO()
        names = [f"{'ä' * (number == 2)}{number}" for number in range(6)]
        with zipfile.ZipFile(plain, "w") as archive:
            for name in names:
                with archive.open(info(name), "w") as member:
                    member.write(b"x" * 1000)
        with (tmp_path / "z").open("w+b") as stream:
            members = Members(stream)
            for name in names:
                members.add(name, 1000, lambda take: take(b"x" * 1000))
            members.close()
        whole = (tmp_path / "z").read_bytes()
        assert whole == plain.getvalue()
        with zipfile.ZipFile(tmp_path / "z") as archive:
            assert whole.endswith(directory(archive.infolist(), archive.start_dir))


def directory(infos: list[zipfile.ZipInfo], start: int) -> bytes:
    lines = b"".join(map(writing.line_of, infos))
    return lines + writing.end_of(len(infos), len(lines), start)


class _Tail(io.BytesIO):
    """What zipfile writes to a file from a position on."""

    def __init__(self, start: int) -> None:
        super().__init__()
        self._start = start

    def tell(self) -> int:
        return self._start + super().tell()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return super().seek(offset - self._start if whence == os.SEEK_SET else offset, whence)


@sampled(
    ("count", "last"),
    [
        (count, last)
        for count in (65_535, 65_536, 0, 1)
        for last in (1 << 32, 0, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 5 << 30)
    ],
    most=4,
)
def test_the_directory_of_many_and_large_members_is_that_of_zipfile(
    count: int, last: int, tmp_path: Path
) -> None:
    members = []
    for number in range(count):
        one = info(f"files/{'é' * (number % 7 == 1)}{number}")
        one.CRC, one.file_size = number * 7919, number if number % 5 else last
        one.compress_size = one.file_size
        one.header_offset = number * 40 if number % 3 else last
        if one.file_size > zipfile.ZIP64_LIMIT:
            one.FileHeader(zip64=True)  # which makes it one of large numbers
        members.append(one)
    tail = _Tail(last + 100)
    with zipfile.ZipFile(tail, "w") as archive:
        archive.filelist.extend(members)
    assert directory(members, last + 100) == tail.getvalue()
    with (tmp_path / "z").open("wb+") as stream:
        stream.seek(last + 100)
        stream.write(tail.getvalue())
        stream.flush()
        read = [one[:5] for one in Directory(stream)]
    of = [(x.filename, x.header_offset, x.file_size, x.compress_size, x.CRC) for x in members]
    assert read == of


@pytest.mark.parametrize("length", [0, 1, 7, 1000, 123457])
def test_a_crc_of_two_parts(length: int) -> None:
    first, second = os.urandom(33), os.urandom(length)
    whole = zlib.crc32(first + second)
    assert combined(zlib.crc32(first), zlib.crc32(second), length) == whole
