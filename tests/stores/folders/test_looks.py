"""A kernel's folder that looks as it did is not looked into; what that cannot tell is not left to
it.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.stores.folders.test_index import CountingReader
from torchkeeper.artifacts.entry import Entry
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import TABLE
from torchkeeper.engine.serve import perform
from torchkeeper.engine.session import Session
from torchkeeper.stores import store
from torchkeeper.stores.folders import walk_process, walking
from torchkeeper.stores.folders.folder import Folder

KEY, OTHER = "A" * 52, "B" * 52
META = {"name": "add", "target": {"backend": "cuda", "arch": 90, "warp_size": 32}}


def kernel(folder: Path, name: str = "add") -> Path:
    """A folder with all files of a kernel."""
    folder.mkdir(parents=True)
    names = [f"{name}.{end}" for end in ("json", "ttir", "cubin")]
    for one in names:
        (folder / one).write_text(json.dumps({**META, "name": name}))
    group = {"child_paths": {one: str(folder / one) for one in names}}
    (folder / f"__grp__{name}.json").write_text(json.dumps(group))
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    kernel(tmp_path / "place" / "triton" / "0" / KEY)
    kernel(tmp_path / "place" / OTHER, "mul")
    return tmp_path / "place"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "private" / "index.sqlite"


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written before a listing was not written a moment ago."""
    monkeypatch.setattr(walking, "_SETTLED", 0)


class Listed(NamedTuple):
    """The entries by their keys, the folders that were looked into, and how many were read."""

    entries: dict[str, Entry]
    into: set[str]
    read: int


@pytest.fixture
def ls(place: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Listed]:
    """Lists the place, by default by how its folders look."""
    into = set[str]()
    monkeypatch.setenv(protocol.INDEX, str(file))

    def scan(root: str, folder: str, *more: Any) -> Any:
        into.add(folder.rpartition("/")[2])
        return walk_process.scan(root, folder, *more)

    def listed(glimpsing: bool = True) -> Listed:
        time.sleep(0.02)  # more than a tick of the clock that files get their times of
        into.clear()
        reader = CountingReader()
        with reader, Folder(str(place)) as folder:
            batches = folder.entries(Session(reader), Report(), glimpsing=glimpsing)
            found = [one for batch in batches for one in batch]
            assert folder.total == len(found)
            entries = {one.entry.key: one.entry for one in found}
            assert len(entries) == len(found), "each once"
            return Listed(entries, into - {"", "triton", "0", "below"}, reader.asked)

    monkeypatch.setattr(walking, "scan", scan)
    return listed


pytestmark = pytest.mark.usefixtures("settled")


def test_what_looks_as_it_did_is_not_looked_into(ls: Callable[..., Listed]) -> None:
    first = ls()
    assert (first.into, first.read) == ({KEY, OTHER}, 2)
    assert (first.entries[KEY].device, first.entries[KEY].files) == ("cuda:90", 4)
    again = ls()
    assert again == Listed(first.entries, set(), 0)
    # Whoever wants all of it seen has it seen, and then it is known as before.
    assert ls(glimpsing=False) == Listed(first.entries, {KEY, OTHER}, 0)
    assert ls() == again


def test_a_listing_that_looked_into_all_tells_how_that_looks(ls: Callable[..., Listed]) -> None:
    ls(glimpsing=False)
    assert ls().into == set()


def _replaced(folder: Path) -> None:
    """As Triton writes: a file of the same size and time is renamed to where it was."""
    there = next(folder.glob("[!_]*.json"))
    other = there.with_name("tmp")
    other.write_text(there.read_text().replace("cuda", "hip "))
    os.utime(other, ns=(there.stat().st_atime_ns, there.stat().st_mtime_ns))
    other.rename(there)


def _group_gone(folder: Path) -> None:
    next(folder.glob("__grp__*")).unlink()


def _added(folder: Path) -> None:
    (folder / "add.llir").write_bytes(b"")


def _stranger(folder: Path) -> None:
    (folder / "notes.pdf").write_bytes(b"")


def _below(folder: Path) -> None:
    (folder / "below").mkdir()


def _elsewhere(folder: Path) -> None:
    """Another folder of the same time has taken its place."""
    times = folder.stat()
    other = kernel(folder.with_name("other"))
    folder.rename(folder.with_name("gone"))
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.rename(folder)
    shutil.rmtree(folder.with_name("gone"))


@pytest.mark.parametrize("change", [_replaced, _group_gone, _added, _stranger, _below, _elsewhere])
def test_a_change_in_a_folder_is_seen(
    place: Path, ls: Callable[..., Listed], change: Callable[[Path], None]
) -> None:
    ls()
    time.sleep(0.02)
    change(place / "triton" / "0" / KEY)
    seen = ls()
    assert seen.into == {KEY}
    assert seen.entries == ls(glimpsing=False).entries
    # With a stranger's file, or a folder, in it there is more that can change.
    assert ls().into == ({KEY} if change in (_stranger, _below) else set())


def test_what_is_gone_is_gone(place: Path, ls: Callable[..., Listed]) -> None:
    ls()
    shutil.rmtree(place / OTHER)
    assert ls().entries.keys() == {KEY}
    shutil.copytree(place / "triton" / "0" / KEY, place / OTHER)
    assert ls().read == 1, "it was forgotten"


def test_what_is_changed_in_place_is_seen_by_whoever_looks_into_it(
    place: Path, ls: Callable[..., Listed]
) -> None:
    first = ls()
    (place / OTHER / "mul.json").write_text("{}")
    assert ls().entries == first.entries
    seen = ls(glimpsing=False)
    assert (seen.read, seen.entries[KEY]) == (1, first.entries[KEY])
    assert seen.entries[OTHER] != first.entries[OTHER]
    assert ls().entries == seen.entries, "and from then on by all"


def test_what_was_changed_a_moment_ago_is_looked_into(
    place: Path, ls: Callable[..., Listed], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock may stand still for so long that a second change leaves no trace."""
    monkeypatch.setattr(walking, "_SETTLED", 3_000_000_000_000)
    ls()
    (place / OTHER / "mul.json").write_text("{}")
    assert ls().into == {KEY, OTHER}


def test_a_file_that_was_written_a_moment_ago_is_looked_at_again(
    place: Path, ls: Callable[..., Listed]
) -> None:
    """Whoever copies files has made the last one, and writes to it."""
    ahead = time.time() + 1000
    os.utime(place / OTHER / "mul.cubin", (ahead, ahead))
    ls()
    assert ls().into == {OTHER}


def test_what_others_may_write_to_is_looked_at(place: Path, ls: Callable[..., Listed]) -> None:
    (place / OTHER / "mul.cubin").chmod(0o666)
    ls()
    assert ls().into == {OTHER}


def test_what_is_on_a_server_is_looked_into(
    ls: Callable[..., Listed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walking, "is_local", lambda _: False)
    ls()
    assert ls().into == {KEY, OTHER}


def test_a_folder_that_could_be_anybodys_is_looked_into(
    place: Path, ls: Callable[..., Listed]
) -> None:
    named = "0" * 64
    (place / OTHER).rename(place / named)
    (place / named / "mul.ttir").write_text("module {}")
    first = ls()
    assert first.entries[named].kind == "triton"
    assert ls() == Listed(first.entries, {named}, 0)


def test_another_users_folder_is_said_to_be_so(
    place: Path, ls: Callable[..., Listed], monkeypatch: pytest.MonkeyPatch
) -> None:
    ls()
    scanned = walk_process.scan

    def scan(*asked: Any) -> Any:
        folders, *files, _ = scanned(*asked)
        return folders, *files, [(OTHER, 4711, 4711, 0o40755)] if OTHER in folders else []

    monkeypatch.setattr(walk_process, "scan", scan)
    again = ls()
    assert again.into == set()
    assert (again.entries[OTHER].owner, again.entries[KEY].owner) == ("uid 4711", None)


def test_what_a_second_process_has_found_is_known_by_how_it_looks(
    tmp_path: Path, place: Path, ls: Callable[..., Listed], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(place)
    keys = {letter * 52 for letter in "ABCDEFGHIJ"}
    for number, key in enumerate(keys):
        kernel(place / "triton" / str(number) / key)
    monkeypatch.setattr(walking, "_MANY", 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    first = ls()
    assert first.entries.keys() == keys
    again = ls()
    assert (again.entries, again.into & keys, again.read) == (first.entries, set(), 0)


def test_other_users_look_for_themselves(
    place: Path, ls: Callable[..., Listed], monkeypatch: pytest.MonkeyPatch
) -> None:
    ls()
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 4711)
    assert ls().into == {KEY, OTHER}


class Ending(Report):
    """Whoever asks wants an end as soon as rows come."""

    ended = False

    def check(self) -> None:
        if self.ended:
            raise Cancelled


def test_what_is_known_is_told_until_somebody_wants_an_end(
    ls: Callable[..., Listed], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ls()
    monkeypatch.setattr(store, "_AT_ONCE", 1)
    report = Ending()
    with CountingReader() as reader, Folder(str(place)) as folder:
        batches = folder.entries(Session(reader), report, glimpsing=True)
        assert len(next(batches)) == 1
        report.ended = True
        with pytest.raises(Cancelled):
            next(batches)


class Rows(Report):
    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def rows(self, rows: Any) -> None:
        self.found |= {row["key"]: row for row in rows}


def test_who_asks_for_all_or_for_a_mark_sees_all(
    place: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(protocol.INDEX, str(file))
    session = Session()

    def size(**asked: Any) -> int:
        time.sleep(0.02)
        report = Rows()
        perform(TABLE[protocol.LIST], session, {"place": str(place), **asked}, report)
        return int(report.found[OTHER]["size"])

    before = size()
    assert size() == before
    (place / OTHER / "mul.ttir").write_bytes(b"")
    assert size() == before
    after = size(all=True)
    assert after < before
    assert size() == after
    (place / OTHER / "mul.ttir").write_bytes(b"more than there was before" * 9)
    assert size(unless="") > before
    # A filter may ask what only the files themselves tell, such as whose they are.
    (place / OTHER / "mul.ttir").write_bytes(b"")
    assert size(filter="-is:foreign") == after
    session.close()
