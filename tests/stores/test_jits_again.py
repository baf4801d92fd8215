"""What was proved of other compilers' caches is not proved again, as long as what tells is the same
file with the same bytes.
"""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stores.test_jits import DECODE, FLASHINFER, THERE, items, machine, paths, serving
from torchkeeper.artifacts.jits import known
from torchkeeper.artifacts.report import Report
from torchkeeper.engine import protocol
from torchkeeper.engine.overviewing import overview
from torchkeeper.engine.session import Session
from torchkeeper.stores.folders import index as indexing
from torchkeeper.stores.folders import walking
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.index import Index

__all__ = ["machine", "serving"]


class Counted:
    """The files that were opened to be looked at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened: list[str] = []
        really = walking.open_quietly

        def opening(path: str) -> int:
            self.opened.append(path)
            return really(path)

        monkeypatch.setattr(walking, "open_quietly", opening)

    def by(self, ask: Callable[[], object]) -> list[str]:
        self.opened.clear()
        ask()
        return list(self.opened)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "private" / "index.sqlite")


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test writes counts as written long ago."""
    monkeypatch.setattr(walking, "_SETTLED", -3_600_000_000_000)


@contextlib.contextmanager
def kept(place: Path, file: str) -> Iterator[Index]:
    index = Index(str(place), file, proofs=True)
    try:
        yield index
    finally:
        index.close()


def told(place: Path, file: str) -> set[str]:
    """The files of entries, by a listing that keeps what it proved."""
    with kept(place, file) as index:
        found = [x for x in Folder(str(place)).stream(Report(), index) if x.kind == "jit"]
        index.finish()
    return {one.path for item in found for one in item.files}


@pytest.mark.parametrize("cache", THERE)
def test_a_second_listing_opens_nothing(
    machine: Path, cache: str, file: str, counted: Counted
) -> None:
    place = machine / cache
    every = paths(place, "jit")
    assert counted.by(lambda: told(place, file))
    assert counted.by(lambda: told(place, file)) == []
    assert counted.by(lambda: told(place, file)) == []
    assert told(place, file) == every


@pytest.mark.parametrize("cache", THERE)
def test_a_users_file_in_the_place_of_a_proved_one_is_a_users_at_once(
    machine: Path, cache: str, file: str
) -> None:
    """Of the same size and time, renamed over it, written into it, or a link to the very file."""
    place = machine / cache
    every = told(place, file)
    for path in sorted({made.path or path for path in every if (made := known.proof(path))}):
        ours = place / path
        status, data, there = ours.stat(), ours.read_bytes(), every - told_by(path, every)
        away = place.parent / f"away-{cache.replace('/', '-')}"
        theirs = ours.with_name("theirs")
        theirs.write_bytes(b"x" * len(data))
        shutil.copy2(ours, away)
        os.utime(theirs, ns=(status.st_atime_ns, status.st_mtime_ns))
        if data:
            theirs.replace(ours)
            assert told(place, file) == there
            ours.write_bytes(data)
            os.utime(ours, ns=(status.st_atime_ns, status.st_mtime_ns))
            assert told(place, file) == every
            before = ours.stat().st_ctime_ns
            while ours.stat().st_ctime_ns == before:  # until the clock has gone on
                ours.write_bytes(b"y" * len(data))
                os.utime(ours, ns=(status.st_atime_ns, status.st_mtime_ns))
            assert told(place, file) == there
        else:
            theirs.unlink()
        ours.unlink()
        ours.symlink_to(away)
        assert told(place, file) == there
        ours.unlink()
        shutil.copy2(away, ours)
        assert told(place, file) == every


def told_by(path: str, every: set[str]) -> set[str]:
    """The files of which one tells."""
    return {one for one in every if (made := known.proof(one)) and (made.path or one) == path}


def test_a_link_in_the_place_of_a_folder_that_tells(machine: Path, file: str) -> None:
    place = machine / FLASHINFER
    every = told(place, file)
    build = next(iter(place.glob(f"*/*/cached_ops/{DECODE}")))
    moved = place.parent / "moved"
    build.rename(moved)
    build.symlink_to(moved)
    assert not [path for path in told(place, file) if f"/{DECODE}/" in path]
    build.unlink()
    moved.rename(build)
    assert told(place, file) == every


def test_what_was_written_a_moment_ago_is_proved_again(
    machine: Path, file: str, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be written once more within the same tick of the clock."""
    monkeypatch.setattr(walking, "_SETTLED", 3_600_000_000_000)
    place = machine / "helion"
    told(place, file)
    assert len(counted.by(lambda: told(place, file))) == 2


def test_what_has_proved_is_let_go_of_at_once(machine: Path, file: str) -> None:
    """With it go all files of a place, which a cycle would keep until somebody looks for cycles."""
    place = machine / FLASHINFER
    told(place, file)
    gc.disable()
    try:
        with kept(place, file) as index:
            proving = walking.Proving(str(place), index)
            files = [x for item in items(place) for x in item.files if item.kind == "jit"]
            assert all(map(proving.among(files), files))
            gone = weakref.ref(proving)
            del proving
            assert gone() is None
    finally:
        gc.enable()


def test_other_forms_of_a_compiler_prove_again(
    machine: Path, file: str, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = machine / "helion"
    told(place, file)
    number = known.edition() + 1
    monkeypatch.setattr(known, "edition", lambda: number)
    assert len(counted.by(lambda: told(place, file))) == 2


def test_the_vanished_are_forgotten(machine: Path, file: str) -> None:
    place = machine / "helion"
    [one, other] = sorted(told(place, file))
    (place / one).unlink()
    assert told(place, file) == {other}
    with kept(place, file) as index:
        assert index.proved(one) is None
        assert index.proved(other)


def test_an_index_that_is_damaged_proves_nothing(
    machine: Path, file: str, counted: Counted
) -> None:
    place = machine / "helion"
    every = told(place, file)
    Path(file).write_bytes(b"not a database at all" * 100)
    assert len(counted.by(lambda: told(place, file))) == len(every)
    assert counted.by(lambda: told(place, file)) == []


def test_names_that_are_no_text(machine: Path, file: str, counted: Counted) -> None:
    odd = os.fsdecode(b"odd\xff")
    place = machine / "above"
    (place / odd).mkdir(parents=True)
    (machine / "helion").rename(place / odd / "helion")
    assert len(told(place, file)) == 2
    assert counted.by(lambda: told(place, file)) == []


def test_entries_that_are_read_by_themselves_leave_what_was_proved(
    machine: Path, file: str, counted: Counted
) -> None:
    """As an overview does: it looks first, and reads then."""
    place = machine / "helion"
    told(place, file)
    index = indexing.Index(str(place), file)
    index.finish()
    assert counted.by(lambda: told(place, file)) == []


def test_an_overview_opens_nothing_once_indexed(
    machine: Path, file: str, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(protocol.INDEX, file)

    def asked() -> list[tuple[object, object]]:
        report = Rows()
        with contextlib.closing(Session()) as session:
            overview(session, {"places": [str(machine)]}, report)
        return sorted(report.jits)

    first = asked()
    assert first
    for _ in range(2):
        assert counted.by(lambda: first == asked() or pytest.fail("not the same")) == []


class Rows(Report):
    """Hears what an overview says of these entries."""

    def __init__(self) -> None:
        super().__init__()
        self.jits: list[tuple[object, object]] = []

    def rows(self, rows: Any) -> None:
        self.jits += [(x["entries"], x["bytes"]) for x in rows if x.get("kind") == "jit"]
