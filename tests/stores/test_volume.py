"""A whole file system is synced only where that is as good as to sync each file."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import tempfile
import threading
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchkeeper.artifacts.report import Cancelled
from torchkeeper.stores import volume as module
from torchkeeper.stores.volume import Volume


@pytest.fixture
def disk() -> Iterator[Path]:
    """A folder on a disk: those of the other tests may be in memory."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


@pytest.fixture
def volume(disk: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Volume]:
    """Its file system, taken for one that is synced as a whole."""
    asked = ["findmnt", "-n", "-o", "FSTYPE", "-T", str(disk)]
    kind = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    monkeypatch.setattr(module, "_WHOLE", {kind.strip()})
    made = Volume(str(disk))
    yield made
    made.close()


def test_a_file_system_is_synced_as_a_whole_where_that_is_certain(
    volume: Volume, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert volume.sync(lambda: None)
    assert volume.has(str(disk))
    assert not volume.has("/proc")
    assert not volume.has(str(disk / "gone"))
    with monkeypatch.context() as old:
        old.setattr(module, "_SINCE", [99, 0])  # a Linux that tells of no error
        assert not volume.sync(lambda: None)
    monkeypatch.setattr(module, "_WHOLE", {"9p"})
    assert not volume.sync(lambda: None)


def test_an_error_is_not_forgotten_that_was_told_before(
    volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = [False, True, True]
    monkeypatch.setattr(module, "_synced", lambda _: told.pop(0))
    volume.begin()
    assert not volume.sync(lambda: None)
    assert volume.sync(lambda: None)


@pytest.mark.parametrize(("why", "told"), [(errno.EIO, OSError), (errno.ENOSYS, None)])
def test_what_could_not_be_written_is_an_error(
    volume: Volume, monkeypatch: pytest.MonkeyPatch, why: int, told: type[OSError] | None
) -> None:
    def failing(_: int) -> int:
        ctypes.set_errno(why)
        return -1

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: types.SimpleNamespace(syncfs=failing))
    if told is None:
        assert not volume.sync(lambda: None)
        return
    with pytest.raises(told, match=os.strerror(why)):
        volume.sync(lambda: None)


def test_nobody_has_to_wait_for_a_slow_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume, on = Volume(str(tmp_path)), threading.Event()
    monkeypatch.setattr(module, "_synced", lambda _: on.wait(60))

    def cancelled() -> None:
        raise Cancelled

    volume.begin()
    volume.begin()
    with pytest.raises(Cancelled):
        volume.sync(cancelled)
    volume.close()
    on.set()
