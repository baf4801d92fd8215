"""Bytes are read once: hashed, counted and handed on, however many there are."""

from __future__ import annotations

import hashlib
import io
import os
import threading
from pathlib import Path

import pytest

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.folders.walking import file_at
from torchkeeper.stores.items import CHUNK, File
from torchkeeper.stores.pouring import Pouring, Progress, drop, unchanged


def pouring(report: Report | None = None) -> Pouring:
    return Pouring(Progress(report or Report(), 1))


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 4 * CHUNK, 9 * CHUNK + 5])
def test_what_is_poured_is_what_was_there(size: int) -> None:
    data = os.urandom(size)
    taken = bytearray()
    one = pouring()
    for _ in range(2):  # the buffers serve again
        taken.clear()
        digest, count = one.pour(io.BytesIO(data), size, taken.extend)
        assert (digest, count) == (hashlib.sha256(data).hexdigest(), size)
        assert taken == data


@pytest.mark.parametrize("size", [10, 3 * CHUNK])
def test_more_or_less_than_expected_shows_in_the_count(size: int) -> None:
    data = os.urandom(2 * size)
    _, count = pouring().pour(io.BytesIO(data), size, drop)
    assert size < count <= size + CHUNK
    assert pouring().pour(io.BytesIO(data[: size // 2]), size, drop)[1] == size // 2


class Halts(Report):
    """Cancels at the third look."""

    looks = 0

    def check(self) -> None:
        self.looks += 1
        if self.looks > 3:
            raise Cancelled


def test_it_ends_when_it_is_to_and_leaves_no_thread() -> None:
    def full(_: bytes | memoryview) -> None:
        raise OSError(28, "full")

    data = io.BytesIO(bytes(20 * CHUNK))
    with pytest.raises(Cancelled):
        pouring(Halts()).pour(data, 20 * CHUNK, drop)
    with pytest.raises(OSError, match="full"):  # the target's, not the entry's
        pouring().pour(data, 20 * CHUNK, full)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("hashing")]


@pytest.mark.parametrize("size", [5, 2 * CHUNK])
def test_what_cannot_be_read_is_the_entrys_problem(size: int) -> None:
    # Memory of a process at address 0, which nobody can read.
    with open("/proc/self/mem", "rb", buffering=0) as stream, pytest.raises(Problem) as caught:
        pouring().pour(stream, size, drop)
    assert caught.value.code == "entry-vanished"


def test_a_file_that_was_written_to_is_another(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"one")
    listed: File = file_at(str(path), path.stat())
    with path.open("rb") as stream:
        assert unchanged(listed, stream)
        os.utime(path, ns=(1, 1))
        assert not unchanged(listed, stream)
    os.utime(path, ns=(1, listed.mtime_ns or 0))
    with path.open("rb") as stream:
        assert unchanged(listed, stream)
    path.rename(tmp_path / "old")
    path.write_bytes(b"two")
    os.utime(path, ns=(1, listed.mtime_ns or 0))
    with path.open("rb") as stream:
        assert not unchanged(listed, stream)
