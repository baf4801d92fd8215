"""A place is read for as long as what it holds on the disk is worth; the rest is unread."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import resource
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.stores.building import filling
from tests.stores.folders.test_index import CountingReader
from torchkeeper.artifacts import megacache
from torchkeeper.artifacts.entry import Entry, Problem
from torchkeeper.artifacts.layout import payload_name
from torchkeeper.artifacts.report import Report
from torchkeeper.engine import protocol
from torchkeeper.engine.session import Session, chosen_of
from torchkeeper.stores import offering
from torchkeeper.stores import reader as budget
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.stores.dead import Dead, Wanted
from torchkeeper.stores.describe import describe
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.index import Index
from torchkeeper.stores.items import File
from torchkeeper.stores.reader import BASE, BATCH_ITEMS, Budget, Reader, present
from torchkeeper.stores.store import Store

#: A tuple that holds itself 2 to the power of 60 times, as a key whose hash has to be found.
ENDLESS = b"\x80\x02}N" + b"2\x86" * 60 + b"Ns."
#: A pickle of a text, which is no graph and long enough to be one.
TEXT = b"\x80\x02X\x40\0\0\0" + b"t" * 64 + b"."


def key(number: int) -> str:
    """A key as PyTorch makes them."""
    digest = hashlib.sha256(b"%d" % number).digest()
    return "f" + base64.b32encode(digest).decode().lower()[:51]


def put(place: Path, number: int, data: bytes) -> Path:
    """A graph of this content in a folder."""
    name = payload_name(hashlib.sha256(data).hexdigest())
    file = place / "fxgraph" / key(number)[1:3] / key(number) / name
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    return file


class Counted(Folder):
    """A folder that counts what is read of it."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.opened: Counter[str] = Counter()

    def open(self, file: File) -> BinaryIO:
        """As Folder.open."""
        self.opened[file.path] += 1
        return super().open(file)


@contextlib.contextmanager
def many(here: Path, place: str, count: int, data: bytes) -> Iterator[Store]:
    """So many graphs of the same content, in a folder or a mega-cache."""
    if place == "folder":
        for number in range(count):
            put(here / "many", number, data)
        yield Counted(str(here / "many"))
        return
    with (here / "many").open("w+b") as stream:
        writer = megacache.Writer(stream)
        writer.section("inductor")
        for number in range(count):
            writer.artifact(key(number), filling(iter([data])))
        writer.close()
    with Bundle(str(here / "many"), Report()) as bundle:
        yield bundle


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setenv(protocol.INDEX, str(tmp_path / "index" / "i.sqlite"))
    made = Session()
    yield made
    made.close()


def looked(session: Session, store: Store, all_of_it: bool = False) -> list[Entry]:
    """The entries of a place."""
    batches = store.entries(session, Report(), all_of_it=all_of_it)
    return [one.entry for batch in batches for one in batch]


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    for number in range(40):
        put(tmp_path / "endless", number, ENDLESS + b"%d" % number)
    return tmp_path / "endless"


def spent() -> float:
    """Seconds of the processor that readers which have ended took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def characters() -> int:
    """Bytes that this process has read since it began (proc_pid_io(5))."""
    return int(Path("/proc/self/io").read_text().split()[1])


@pytest.mark.slow
def test_entries_that_never_end_take_no_longer_than_the_place_is_given(
    session: Session, endless: Path, kept_291: Path
) -> None:
    before = spent()
    found = looked(session, Folder(str(endless)))
    # Each of 40 took a second at least, and on a quiet machine two.
    assert spent() - before < 2 * BASE
    problems = Counter(entry.problem for entry in found)
    # One that a machine does not let run at all is another matter, and not broken either.
    assert problems.keys() <= {"reader-stuck", "entry-unread", "reader-starved"}
    assert problems["reader-stuck"] <= 1
    assert problems["entry-unread"] > 30
    assert all(entry.put_off != entry.broken for entry in found)
    # What is left over of one place is no other's.
    assert not any(entry.problem for entry in looked(session, Folder(str(kept_291))))


@pytest.mark.slow
def test_what_was_not_read_is_remembered_until_somebody_asks_for_it(
    session: Session, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    for number in range(3):
        put(place, number, ENDLESS + b"%d" % number)
    file = put(place, 3, TEXT)
    first = looked(session, Folder(str(place)))
    again = Counted(str(place))
    assert looked(session, again) == first
    assert not again.opened
    file.write_bytes(TEXT * 2)
    assert looked(session, again) != first
    assert list(again.opened) == [file.relative_to(place).as_posix()]
    asked = Counted(str(place))
    wanted = [entry.path for entry in first if entry.problem in ("entry-unread", "reader-stuck")]
    assert len(wanted) == 3
    found = looked(session, asked, all_of_it=True)
    assert sorted(asked.opened) == sorted(wanted)
    assert [entry.problem for entry in found].count("reader-stuck") == 3
    assert sorted(looked(session, again)) == sorted(found)


def test_holes_of_a_file_are_not_hashed(session: Session, tmp_path: Path) -> None:
    place = tmp_path / "place"
    put(place, 1, TEXT)
    hollow = put(place, 2, TEXT)
    os.truncate(hollow, 4 << 30)
    if hollow.stat().st_blocks * 512 >= 4 << 30:
        pytest.skip("this file system has no holes")
    before = characters()
    found = {entry.key: entry for entry in looked(session, Folder(str(place)))}
    assert characters() - before < 64 << 20
    assert found[key(2)].problem == "file-hollow"
    assert found[key(2)].sha256 is None
    assert not found[key(2)].broken
    assert found[key(1)].sha256 is not None


def test_an_honest_cache_earns_more_than_it_takes(kept_291: Path) -> None:
    folder, mine = Folder(str(kept_291)), Budget()
    with Reader() as reader:
        list(describe(folder.items(Report()), folder, reader, Report(), budget=mine))
    # What it needs is a small part of what it brings, however busy the machine is.
    held = sum(file.size for item in folder.items(Report()) for file in item.files)
    assert held / budget.RATE + BASE - mine.left < BASE / 4
    assert mine.deaths == 0


@pytest.mark.parametrize("place", ["folder", "mega-cache"])
def test_very_many_small_entries_are_listed_and_not_all_read(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    # So that some hundred are very many.
    monkeypatch.setattr(budget, "ENTRY", 200 * budget.ENTRY)
    with many(tmp_path, place, 400, TEXT) as store:
        found = looked(session, store)
        read = [entry for entry in found if not entry.put_off]
    assert len(found) == 400
    # What they take on the disk beside their bytes earns nothing.
    assert 0 < len(read) <= BASE / budget.ENTRY + 2
    assert all(entry.problem == "payload-unreadable" for entry in read)


@pytest.mark.parametrize("place", ["folder", "mega-cache"])
def test_what_is_too_short_for_its_kind_is_neither_opened_nor_kept_nor_given_to_a_reader(
    session: Session, tmp_path: Path, place: str
) -> None:
    session.reader = reader = CountingReader()
    with many(tmp_path, place, 200, b"x") as store:
        found = looked(session, store)
        again = looked(session, store)
    assert found == again
    assert [entry.problem for entry in found] == ["payload-unreadable"] * 200
    assert (reader.asked, reader.times) == (0, 0)
    if isinstance(store, Counted):
        assert not store.opened
        index = Index(store.root, str(tmp_path / "index" / "i.sqlite"))
        assert not any(index.get(item) for item in store.items(Report()))
        index.close()


@pytest.mark.parametrize("place", ["folder", "mega-cache"])
def test_a_reader_is_asked_of_many_small_entries_at_once(
    session: Session, tmp_path: Path, place: str
) -> None:
    session.reader = reader = CountingReader()
    with many(tmp_path, place, 200, TEXT) as store:
        looked(session, store)
    assert reader.asked == 200
    assert reader.times == -(-200 // BATCH_ITEMS)


def test_a_file_with_many_names_earns_once(tmp_path: Path) -> None:
    place = tmp_path / "place"
    first = put(place, 0, os.urandom(1 << 20))
    for number in range(1, 50):
        other = place / "fxgraph" / key(number)[1:3] / key(number) / first.name
        other.parent.mkdir(parents=True)
        os.link(first, other)
    folder, mine = Folder(str(place)), Budget()
    for item in folder.items(Report()):
        mine.meet(item.files, folder)
    assert mine.left < BASE + 2 * (1 << 20) / budget.RATE


def test_nothing_that_was_not_read_is_dead_or_carried_on(session: Session, endless: Path) -> None:
    for path in endless.rglob("*"):
        os.utime(path, (1e9, 1e9))
    folder = Folder(str(endless))
    items = folder.survey(Report())
    found = [one for batch in folder.entries(session, Report(), items) for one in batch]
    unread = {one.entry.path for one in found if one.entry.put_off}
    assert unread
    dead = Dead(found, [None] * len(found), folder.whole, True)
    going = dead.chosen(Wanted(stale=True, broken=True, orphans=True, older=None, keep=None))
    assert unread.isdisjoint(found[number].entry.path for number in going)
    left: list[tuple[str, str]] = []
    chosen = chosen_of(session, folder, {}, Report())
    offering.portable(chosen, lambda item, problem: left.append((item.path, problem.code)))
    assert unread <= {path for path, code in left if code == "entry-unread"}


def test_holes_of_a_bundle_are_not_read(tmp_path: Path) -> None:
    file = tmp_path / "b"
    with file.open("w+b") as stream:
        writer = megacache.Writer(stream)
        writer.section("inductor")
        writer.artifact(key(0), filling(iter([b"x"])))
        writer.close()
    Bundle(str(file), Report()).close()
    os.truncate(file, 4 << 30)
    before = characters()
    with pytest.raises(Problem) as damage:
        Bundle(str(file), Report())
    assert damage.value.code == "bundle-damaged"
    assert characters() - before < 64 << 20


@pytest.mark.parametrize("whole", [True, False])
def test_what_takes_less_room_than_its_size_is_there_unless_it_has_a_hole(
    tmp_path: Path, whole: bool
) -> None:
    # As on a file system that compresses, or tells no room at all.
    file = tmp_path / "f"
    file.write_bytes(b"x" * 100_000)
    if not whole:
        os.truncate(file, 1 << 20)
    with file.open("rb") as stream:
        size = file.stat().st_size
        found = present(stream.fileno(), size, 0)
        assert stream.read(1) == b"x"
    assert found == (size if whole else 0)
