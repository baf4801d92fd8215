"""Walking a place: two processes find what one finds, whatever happens to the second."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchkeeper.artifacts.layout import TRASH
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.folders import walking
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.walking import Walk
from torchkeeper.stores.items import File, Found

COUNT = 3000


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place with so many folders that it is walked by two."""
    place = tmp_path_factory.mktemp("big")
    for number in range(COUNT):
        folder = place / f"{number % 2}" / f"ordner {number}"
        folder.mkdir(parents=True)
        (folder / "ä\n.txt").write_text("x" * (number % 50))
        (folder / os.fsdecode(b"\xff")).write_bytes(b"")
        (folder / "link").symlink_to("/etc")
    (place / TRASH / "1").mkdir(parents=True)
    (place / TRASH / "1" / "gone").write_text("")
    return place


def alone(place: Path) -> dict[str, list[File]]:
    """What one process finds, by folder."""
    found: dict[str, list[File]] = {}
    for folder, _, _ in os.walk(place):
        below = os.path.relpath(folder, place)
        below = "" if below == "." else below
        if below.partition("/")[0] == TRASH:
            continue
        with os.scandir(folder) as entries:
            found[below] = sorted(
                unread(walking.file_at(f"{below}/{e.name}" if below else e.name, os.lstat(e.path)))
                for e in entries
                if not e.is_dir(follow_symlinks=False)
            )
    return found


def unread(file: File) -> File:
    """Without when it was read: os.walk reads links."""
    assert file.used
    return file._replace(used=None)


def together(steps: Iterator[Found]) -> dict[str, list[File]]:
    found: dict[str, list[File]] = {}
    for step in steps:
        assert step.folder not in found, "each folder once"
        found[step.folder] = sorted(map(unread, step.files))
    return found


def helpers() -> list[int]:
    """The processes that help this one to walk."""
    found = []
    for line in Path("/proc/self/task").glob("*/children"):
        for pid in map(int, line.read_text().split()):
            if b"walk_process" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


@pytest.mark.slow
def test_two_find_what_one_finds(big: Path) -> None:
    walk = Walk(str(big), Report())
    helped = 0

    def steps() -> Iterator[Found]:
        nonlocal helped
        for step in walk.folders():
            helped = max(helped, len(helpers()) if len(step.names) == 3 and not helped else 0)
            yield step

    assert together(steps()) == alone(big)
    assert walk.unreadable == []
    assert helped == (1 if (os.cpu_count() or 1) > 1 else 0)
    assert helpers() == [], "it is gone when the walk is over"


def test_one_that_dies_is_not_missed(big: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    walk = Walk(str(big), Report())
    killed = False

    def steps() -> Iterator[Found]:
        nonlocal killed
        for step in walk.folders():
            if not killed and (there := helpers()):
                os.kill(there[0], signal.SIGKILL)
                killed = True
            yield step

    assert together(steps()) == alone(big)
    assert killed


def test_a_walk_that_is_left_leaves_nobody_behind(
    big: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)

    class Impatient(Report):
        looks = 0

        def check(self) -> None:
            self.looks += 1
            if self.looks > 400:
                raise Cancelled

    with pytest.raises(Cancelled):
        together(Walk(str(big), Impatient()).folders())
    assert helpers() == []


def test_what_vanishes_or_cannot_be_read_by_the_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    place = tmp_path / "place"
    for number in range(1200):
        (place / f"{number:04}").mkdir(parents=True)
        (place / f"{number:04}" / "file").write_text("")
    walk = Walk(str(place), Report())
    found = {}
    for folder, names, _ in walk.folders():
        if not folder:
            # They were seen as folders, and are something else when they are looked into.
            for number in range(0, 1200, 3):
                (place / f"{number:04}" / "file").unlink()
                (place / f"{number:04}").rmdir()
                if number % 2:
                    (place / f"{number:04}").write_text("")
        found[folder] = names
    assert sum(map(len, found.values())) == 800
    assert {why for _, why in walk.unreadable} == {"Not a directory"}
    assert len(walk.unreadable) == 200
    assert Folder(str(place)).items(Report())[0].kind == "unknown"


def test_looking_leaves_the_times_of_folders(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("")
    for path in (tmp_path, tmp_path / "folder"):
        os.utime(path, (1, 2))  # read before it was written: the next to read it is seen
    assert [item.path for item in Folder(str(tmp_path)).items(Report())] == ["folder/file"]
    assert (tmp_path / "folder").stat().st_atime == 1
