"""A whole file system is synced only where that is as good as to sync each file."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchkeeper.artifacts.report import Cancelled
from torchkeeper.stores import volume as module
from torchkeeper.stores.volume import Volume


@pytest.fixture
def volume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Volume]:
    """The file system of the tests, taken for one that is synced as a whole."""
    asked = ["stat", "-f", "-c", "%t", str(tmp_path)]
    number = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    monkeypatch.setattr(module, "_WHOLE", {int(number, 16)})
    made = Volume(str(tmp_path))
    yield made
    made.close()


def test_a_file_system_is_synced_as_a_whole_where_that_is_certain(
    volume: Volume, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert volume.sync(lambda: None)
    assert volume.has(str(tmp_path))
    assert not volume.has("/proc")
    assert not volume.has(str(tmp_path / "gone"))
    with monkeypatch.context() as old:
        old.setattr(module, "_SINCE", [99, 0])  # a Linux that tells of no error
        assert not volume.sync(lambda: None)
    monkeypatch.setattr(module, "_WHOLE", {1})
    assert not volume.sync(lambda: None)


def test_an_error_is_not_forgotten_that_was_told_before(
    volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = [False, True, True]
    monkeypatch.setattr(module, "_synced", lambda _: told.pop(0))
    volume.begin()
    assert not volume.sync(lambda: None)
    assert volume.sync(lambda: None)


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
