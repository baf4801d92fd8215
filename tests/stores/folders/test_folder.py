"""A folder as a store: whatever lies in it, it is listed, and nothing is written or followed."""

from __future__ import annotations

import os
import shutil
import tracemalloc
from pathlib import Path

import pytest

from tests.snapshots import snapshot
from tests.stores.folders.test_looks import kernel
from torchkeeper.artifacts.entry import Entry, Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.describe import describe
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.index import signature
from torchkeeper.stores.items import Packed, in_order
from torchkeeper.stores.reader import Reader


def entries(place: Path) -> list[Entry]:
    folder = Folder(str(place))
    with Reader() as reader:
        batches = describe(folder.items(Report()), folder, reader, Report())
        return [one.entry for batch in batches for one in batch]


def by_problem(place: Path) -> dict[str | None, list[Entry]]:
    found: dict[str | None, list[Entry]] = {}
    for entry in entries(place):
        found.setdefault(entry.problem, []).append(entry)
    return found


def test_reading_changes_nothing_not_even_access_times(fixture_cache: Path) -> None:
    files = [p for p in fixture_cache.rglob("*") if p.is_file()]
    for path in files:
        os.utime(path, (1, 2))
    before = snapshot(fixture_cache)
    entries(fixture_cache)
    assert snapshot(fixture_cache) == before
    # The snapshot itself reads files, so access times are looked at in a fresh copy.
    for path in files:
        os.utime(path, (1, 2))
    entries(fixture_cache)
    assert {path.stat().st_atime for path in files} == {1}


def test_damage_is_named_and_hides_nothing(fixture_cache: Path) -> None:
    whole = entries(fixture_cache)
    fx = sorted(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file())
    fx[0].write_bytes(b"")
    fx[1].write_bytes(fx[1].read_bytes()[:1000])
    fx[2].write_bytes(fx[2].read_bytes().replace(b"2.9.1", b"2.9.9"))
    built = next(fixture_cache.rglob("*.main.so"))
    built.write_bytes(built.read_bytes()[:5000])
    found = by_problem(fixture_cache)
    counts = {problem: len(found[problem]) for problem in found if problem}
    assert counts == {
        "payload-empty": 1,
        "payload-unreadable": 1,
        "payload-name-mismatch": 1,
        "object-truncated": 1,
    }
    assert sum(map(len, found.values())) == len(whole)


def test_strange_names_are_listed(tmp_path: Path) -> None:
    names = [b"not \xff utf-8", b"new\nline", b"x" * 255, b"-rf", b" ", "ünïcödé".encode()]
    for name in names:
        with open(os.path.join(os.fsencode(tmp_path), name), "wb"):
            pass
    found = entries(tmp_path)
    assert {os.fsencode(e.path) for e in found} == set(names)
    assert {e.kind for e in found} == {"unknown"}


def test_links_are_shown_and_never_followed(fixture_cache: Path, tmp_path: Path) -> None:
    secret = tmp_path / "outside"
    secret.mkdir()
    (secret / "secret").write_text("secret")
    key = next((fixture_cache / "fxgraph").iterdir()).name
    before = len(entries(fixture_cache))
    (fixture_cache / "to-folder").symlink_to(secret)
    (fixture_cache / "to-file").symlink_to(secret / "secret")
    (fixture_cache / "loop").symlink_to(fixture_cache)
    (fixture_cache / "fxgraph" / key / "dangling").symlink_to("/nowhere")
    os.mkfifo(fixture_cache / "fifo")
    found = by_problem(fixture_cache)
    assert len(found["not-a-file"]) == 5
    assert sum(map(len, found.values())) == before + 5
    assert all(e.sha256 is None and e.kind == "unknown" for e in found["not-a-file"])


def test_a_payload_replaced_by_a_link_is_not_read(fixture_cache: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    payload = next(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file())
    folder = Folder(str(fixture_cache))
    items = folder.items(Report())
    shutil.move(payload, target)
    payload.symlink_to(target)
    with Reader() as reader:
        found = [d.entry for b in describe(items, folder, reader, Report()) for d in b]
    assert [e.problem for e in found if e.path.endswith(payload.name)] == ["file-unreadable"]


def test_files_that_vanish_meanwhile(fixture_cache: Path) -> None:
    folder = Folder(str(fixture_cache))
    items = folder.items(Report())
    shutil.rmtree(fixture_cache / "aotautograd")
    with Reader() as reader:
        found = [d.entry for b in describe(items, folder, reader, Report()) for d in b]
    assert len(found) == len(items) - 4
    assert not [e for e in found if e.problem]
    shutil.rmtree(fixture_cache)
    with pytest.raises(Problem, match="place-missing"):
        folder.items(Report())


def test_places_that_are_none(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for path, code in ((tmp_path / "no", "place-missing"), (file, "place-not-folder")):
        with pytest.raises(Problem, match=code):
            Folder(str(path))


def test_joins_need_no_order_of_names(fixture_cache: Path) -> None:
    found = {e.path: e for e in entries(fixture_cache)}
    for entry in found.values():
        if entry.kind == "code" and not (entry.name or "").startswith("check for"):
            assert entry.torch == "2.9.1+cu128", entry
            assert entry.device == "cpu"
        if entry.kind == "aotautograd":
            assert entry.torch == "2.9.1+cu128"


def test_several_payloads_under_one_key(fixture_cache: Path) -> None:
    payload = next(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file())
    data = payload.read_bytes().replace(b"sin_matmul", b"SIN_MATMUL") + b"\n"
    import hashlib

    from torchkeeper.artifacts.layout import payload_name

    (payload.parent / payload_name(hashlib.sha256(data).hexdigest())).write_bytes(data)
    same_key = [e for e in entries(fixture_cache) if e.key == payload.parent.name]
    assert len(same_key) == 2
    assert len({e.sha256 for e in same_key}) == 2
    assert all(e.problem is None for e in same_key)


def test_packed_items_are_the_same_in_little_memory(tmp_path: Path) -> None:
    for number in range(300):
        key = f"{'A' * 49}{number // 100}{number // 10 % 10}{number % 10}"
        kernel(tmp_path / key.translate(str.maketrans("0123456789", "ABCDEFGHIJ")), f"add{number}")
    folder = Folder(str(tmp_path))
    tracemalloc.start()
    try:
        walked = in_order(folder.stream(Report()))
        whole, _ = tracemalloc.get_traced_memory()
        packed = [Packed(item) for item in walked]
        little = tracemalloc.get_traced_memory()[0] - whole
    finally:
        tracemalloc.stop()
    for one, other in zip(packed, walked, strict=True):
        assert (one.kind, one.key, one.path, one.files) == (
            other.kind, other.key, other.path, other.files
        )  # fmt: skip
        assert (one.size, one.count, one.folders) == (other.size, other.count, other.folders)
        assert signature(one) == signature(other)
    assert little < whole / 2
