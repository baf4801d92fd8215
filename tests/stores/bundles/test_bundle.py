"""Bundles: the same bytes twice, and every lie found before anything is written."""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import io
import json
import os
import shutil
import struct
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.conftest import DATA
from tests.snapshots import below, snapshot
from tests.stores.building import filling, import_bundle
from torchkeeper.artifacts import manifest, megacache
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.engine import bundles
from torchkeeper.engine.messages.bundles import ImportParams
from torchkeeper.engine.protocol import TABLE
from torchkeeper.engine.serve import perform
from torchkeeper.engine.session import Session
from torchkeeper.stores.bundles import export as exporting
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.stores.bundles.parts import info
from torchkeeper.stores.describe import Described, describe
from torchkeeper.stores.folders import importing, receipts
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.importing import Imported
from torchkeeper.stores.items import Item, in_order, payload_digest
from torchkeeper.stores.reader import Reader
from torchkeeper.stores.volume import Volume


class Left:
    """Collects what was not taken."""

    def __init__(self) -> None:
        self.codes: list[str] = []

    def __call__(self, item: Item, problem: Problem) -> None:
        self.codes.append(problem.code)


def described(place: Path) -> tuple[Folder, list[Described]]:
    folder = Folder(str(place))
    with Reader() as reader:
        batches = list(describe(folder.items(Report()), folder, reader, Report()))
    return folder, [one for batch in batches for one in batch]


def make(place: Path, output: Path) -> Left:
    folder, ones = described(place)
    left = Left()
    exporting.export(ones, folder, str(output), Report(), left)
    return left


def bring(file: Path, into: Path, report: Report | None = None) -> tuple[Imported, Left, Bundle]:
    left = Left()
    with Bundle(str(file), Report()) as bundle:
        done = import_bundle(bundle, str(into), report or Report(), left)
        left.codes += [refused.code for refused in bundle.refused]
        return done, left, bundle


@pytest.fixture(scope="module")
def good(kept_291: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("bundle") / "good.torchcache"
    make(kept_291, output)
    return output


def test_its_entries_come_in_the_order_in_which_they_are_read(good: Path) -> None:
    with Bundle(str(good), Report()) as bundle:
        assert bundle.items() == in_order(bundle.items())
        assert len(bundle.items()) > 30


def test_its_files_are_read_in_any_order(good: Path) -> None:
    with Bundle(str(good), Report()) as bundle:
        files = [file for item in bundle.items() for file in item.files]
        for order in (files, files[::-1], Random(1).sample(files, len(files))):
            for file in order:
                with bundle.open(file) as stream:
                    data = stream.read(file.size + 1)
                assert hashlib.sha256(data).hexdigest() == file.sha256


def test_who_asks_again_for_what_has_not_changed_gets_what_was_read(
    good: Path, tmp_path: Path
) -> None:
    file = tmp_path / "b.torchcache"
    file.write_bytes(good.read_bytes())
    session = Session()
    with session.store(str(file), Report()) as first, session.store(str(file), Report()) as second:
        assert second is not first  # what is open belongs to whoever has opened it
    with session.store(str(file), Report()) as third:
        assert third is second
        items = third.items(Report())
        with third.open(items[-1].files[0]) as stream:
            assert len(stream.read(items[-1].files[0].size + 1)) == items[-1].files[0].size
    os.utime(file, ns=(1, 1))
    with session.store(str(file), Report()) as fourth:
        assert fourth is not third
    file.write_bytes(b"something else")
    with pytest.raises(Problem):
        session.store(str(file), Report())
    file.unlink()
    with pytest.raises(Problem) as caught:
        session.store(str(file), Report())
    assert caught.value.code == "place-missing"


def test_round_trip(kept_291: Path, good: Path, tmp_path: Path) -> None:
    done, left, bundle = bring(good, tmp_path / "t")
    assert left.codes == []
    assert bundle.made_in
    assert bundle.made_in["torch"] == "2.9.1+cu128"
    before = {p: a[1] for p, a in snapshot(kept_291, times=False).items() if a[1]}
    after = {p: a[1] for p, a in snapshot(tmp_path / "t", times=False).items() if a[1]}
    assert after == {p: c for p, c in before.items() if not p.endswith(".lock")}
    assert done.files == len(after)
    assert done.bytes == sum((tmp_path / "t" / p).stat().st_size for p in after)
    make(tmp_path / "t", tmp_path / "again.torchcache")
    assert (tmp_path / "again.torchcache").read_bytes() == good.read_bytes()


def test_importing_twice_changes_nothing(good: Path, tmp_path: Path) -> None:
    first, _, _ = bring(good, tmp_path / "t")
    before = snapshot(tmp_path / "t")
    again, left, _ = bring(good, tmp_path / "t")
    assert (again.entries, again.exists, left.codes) == (0, first.entries, [])
    assert snapshot(tmp_path / "t") == before


def test_what_is_in_the_zip(good: Path) -> None:
    with zipfile.ZipFile(good) as archive:
        names = archive.namelist()
        assert {"manifest.json", "mega-cache.bin"} <= set(names)
        assert all(n.startswith("files/") for n in set(names) - {"manifest.json", "mega-cache.bin"})
        assert {i.date_time for i in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        said = json.loads(archive.read("manifest.json"))
        mega = megacache.artifacts(io.BytesIO(archive.read("mega-cache.bin")))
        for entry in said["entries"]:
            for file in entry["files"]:
                assert archive.getinfo(file["path"]).file_size == file["size"]
    order = [(e["kind"], e["key"], e["sha256"]) for e in said["entries"]]
    assert order == sorted(order)
    assert len(mega) == 12


def test_kernels_travel_without_their_folder(
    kernels: Path, triton_cache: Path, tmp_path: Path
) -> None:
    make(kernels, tmp_path / "a.torchcache")
    with zipfile.ZipFile(tmp_path / "a.torchcache") as archive:
        for name in archive.namelist():
            assert str(kernels).encode() not in archive.read(name) or "__grp__" not in name
    done, _, _ = bring(tmp_path / "a.torchcache", tmp_path / "t")
    assert done.entries == 2
    for group in (tmp_path / "t").rglob("__grp__*.json"):
        for name, path in json.loads(group.read_bytes())["child_paths"].items():
            assert Path(path) == group.parent / name
            assert Path(path).exists()
    # A copy of the folder has the same payloads, although its group files name the old folder.
    make(triton_cache, tmp_path / "b.torchcache")
    assert (tmp_path / "a.torchcache").read_bytes() == (tmp_path / "b.torchcache").read_bytes()
    # Into a cache of PyTorch's, they go where Inductor looks.
    (tmp_path / "inductor" / "fxgraph").mkdir(parents=True)
    bring(tmp_path / "a.torchcache", tmp_path / "inductor")
    assert len(list((tmp_path / "inductor" / "triton" / "0").iterdir())) == 2


def test_a_kernel_that_was_moved_as_it_is_finds_its_files_again(
    kernels: Path, triton_cache: Path, tmp_path: Path
) -> None:
    make(kernels, tmp_path / "a.torchcache")
    groups = sorted(triton_cache.rglob("__grp__*.json"))
    for group in groups:
        told = json.loads(group.read_bytes())
        gone = {name: f"/gone/{name}" for name in told["child_paths"]}
        group.write_text(json.dumps({**told, "child_paths": gone}))
    for outcome in ((2, 0), (0, 2)):
        done, left, _ = bring(tmp_path / "a.torchcache", triton_cache)
        assert (done.entries, done.exists, left.codes) == (*outcome, [])
    for group in groups:
        found = json.loads(group.read_bytes())["child_paths"]
        assert all(Path(path) == group.parent / name for name, path in found.items())
        names = {path.name for path in (kernels / group.parent.name).iterdir()}
        assert {path.name for path in group.parent.iterdir()} == names


def test_another_payload_goes_beside_it(good: Path, fixture_cache: Path) -> None:
    fx = next(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file())
    other = fx.with_name("b" * 51)
    fx.rename(other)
    done, left, _ = bring(good, fixture_cache)
    assert done.entries == 1
    assert left.codes == []
    assert fx.exists()
    assert other.exists()


def test_another_object_under_the_same_name_is_kept(good: Path, fixture_cache: Path) -> None:
    built, other = sorted(fixture_cache.rglob("*.main.so"))[:2]
    mine = other.read_bytes()
    built.write_bytes(mine)
    _, left, _ = bring(good, fixture_cache)
    assert left.codes == ["key-taken"]
    assert built.read_bytes() == mine


def test_what_is_surely_broken_is_replaced(
    good: Path, kernels: Path, fixture_cache: Path, triton_cache: Path, tmp_path: Path
) -> None:
    before = snapshot(fixture_cache, times=False)
    built = next(fixture_cache.rglob("*.main.so"))
    built.write_bytes(built.read_bytes()[:-100])
    payload = next(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file())
    payload.write_bytes(payload.read_bytes()[:-1])
    done, left, _ = bring(good, fixture_cache)
    assert (done.entries, left.codes) == (2, [])
    assert done.receipt
    kept = Path(receipts.at(str(fixture_cache), done.receipt) or "", receipts.FILES)
    gave_way = [kept / path.relative_to(fixture_cache) for path in (built, payload)]
    assert sorted(path for path in kept.rglob("*") if path.is_file()) == sorted(gave_way)
    shutil.rmtree(kept.parent.parent)
    assert snapshot(fixture_cache, times=False) == before
    make(kernels, tmp_path / "k.torchcache")
    bring(tmp_path / "k.torchcache", tmp_path / "t")
    gone = [next((tmp_path / "t").rglob(name)) for name in ("*.cubin", "__grp__*.json")]
    for path in gone:
        path.unlink()
    done, left, _ = bring(tmp_path / "k.torchcache", tmp_path / "t")
    assert left.codes == []
    assert done.entries >= 1
    assert all(path.exists() for path in gone)


def rewrite(source: Path, target: Path, change: Callable[[dict[str, bytes]], object]) -> None:
    """A copy of a bundle with its members changed."""
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)


def edit(source: Path, target: Path, change: Callable[[Any], None]) -> None:
    """A copy of a bundle with its manifest changed, and without what that names no longer."""

    def apply(members: dict[str, bytes]) -> None:
        said = json.loads(members["manifest.json"])
        change(said)
        named = {file["path"] for entry in said["entries"] for file in entry["files"]}
        for name in [one for one in members if one.startswith("files/")]:
            if name not in named:
                del members[name]
        members["manifest.json"] = json.dumps(said).encode()

    rewrite(source, target, apply)


def first_code(said: Any) -> Any:
    return next(e for e in said["entries"] if e["kind"] == "code" and len(e["files"]) == 2)


def _set_path(path: str) -> Callable[[Any], None]:
    def change(said: Any) -> None:
        first_code(said)["files"][0]["path"] = path

    return change


LIES: dict[str, tuple[Callable[[Any], None], str]] = {
    "dots": (_set_path("files/../../../tmp/evil.cpp"), "name-refused"),
    "absolute": (_set_path("/tmp/evil.cpp"), "name-refused"),
    "files and absolute": (_set_path("files//tmp/evil.cpp"), "name-refused"),
    "not under files": (_set_path("mega-cache.bin"), "name-refused"),
    "trash": (_set_path("files/.torchkeeper-trash/x"), "name-refused"),
    "missing": (_set_path("files/aa/" + "c" + "a" * 51 + ".cpp"), "promised-but-missing"),
    "size": (lambda s: first_code(s)["files"][0].update(size=5), "size-wrong"),
    "sha256": (lambda s: first_code(s)["files"][1].update(sha256="0" * 64), "checksum-wrong"),
    "kind": (lambda s: first_code(s).update(kind="triton"), "name-refused"),
    "key": (lambda s: first_code(s).update(key="c" + "z" * 51), "name-refused"),
}


@pytest.mark.parametrize("name", LIES)
def test_lies_of_a_manifest(name: str, good: Path, tmp_path: Path) -> None:
    change, code = LIES[name]
    edit(good, tmp_path / "evil.torchcache", change)
    done, left, _ = bring(tmp_path / "evil.torchcache", tmp_path / "t")
    whole, _, _ = bring(good, tmp_path / "whole")
    assert left.codes == [code]
    assert done.entries == whole.entries - 1
    assert not list((tmp_path / "t").rglob("*.tmp"))
    assert {p.name for p in tmp_path.iterdir()} == {"evil.torchcache", "t", "whole"}


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said.update(format_version=True),
        lambda said: said.update(format_version=-1),
        lambda said: first_code(said).update(size=10**30),
        lambda said: first_code(said)["files"][0].update(size=10**30),
    ],
)
def test_numbers_that_are_none(change: Callable[[Any], None], good: Path, tmp_path: Path) -> None:
    edit(good, tmp_path / "evil.torchcache", change)
    with pytest.raises(Problem, match="bundle-damaged"):
        bring(tmp_path / "evil.torchcache", tmp_path / "t")


def test_what_would_be_a_users_own_file_is_not_placed(good: Path, tmp_path: Path) -> None:
    """Nobody would find it there, and no purge remove it."""
    key, data = "0a" * 32, b"{}"
    sha256 = hashlib.sha256(data).hexdigest()
    path = f"files/cache/{key}"

    def add(members: dict[str, bytes]) -> None:
        said = json.loads(members["manifest.json"])
        files = [{"path": path, "size": len(data), "sha256": sha256}]
        entry = {"kind": "autotune", "key": key, "path": path, "files": files}
        said["entries"].append({**entry, "size": len(data), "sha256": sha256})
        members["manifest.json"] = json.dumps(said).encode()
        members[path] = data

    rewrite(good, tmp_path / "evil.torchcache", add)
    _, left, _ = bring(tmp_path / "evil.torchcache", tmp_path / "t")
    assert left.codes == ["payload-unreadable"]
    assert not (tmp_path / "t/cache").exists()


@pytest.mark.parametrize("name", ["files/xy/cxyz.py", "manifest.json.si'", "x", "files/x/"])
def test_what_a_manifest_does_not_name_is_in_no_bundle(
    good: Path, tmp_path: Path, name: str
) -> None:
    with_more = tmp_path / "more.torchcache"
    rewrite(good, with_more, lambda members: members.update({name: b"import os"}))
    with pytest.raises(Problem) as caught:
        bring(with_more, tmp_path / "t")
    assert (caught.value.code, caught.value.params) == (
        "bundle-more",
        {"part": name, "file": str(with_more)},
    )
    assert not (tmp_path / "t").exists()


def test_what_was_packed_again_has_folders_and_is_taken(good: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.torchcache"
    rewrite(good, again, lambda members: members.update({"files/": b"", "files/xy/": b""}))
    done, left, _ = bring(again, tmp_path / "t")
    plain, others, _ = bring(good, tmp_path / "whole")
    assert (done, left.codes) == (plain, others.codes)


def test_members_come_in_any_order_packed_or_not(good: Path, tmp_path: Path) -> None:
    again = tmp_path / "x.torchcache"
    with zipfile.ZipFile(good) as archive, zipfile.ZipFile(again, "w") as other:
        infos = archive.infolist()
        Random(3).shuffle(infos)
        for number, one in enumerate(infos):
            packed = number % 2 and one.filename != "mega-cache.bin"
            how = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
            other.writestr(one.filename, archive.read(one), how)
    done, left, _ = bring(again, tmp_path / "a")
    plain, others, _ = bring(good, tmp_path / "b")
    assert (done, left.codes) == (plain, others.codes)
    assert snapshot(tmp_path / "a").keys() == snapshot(tmp_path / "b").keys()


@pytest.mark.slow
def test_a_bundle_of_many_files_takes_little_memory(tmp_path: Path) -> None:
    """Of 16,000 files less than 300 bytes each while it is read, and 150 when it is open."""
    names = ["__grp__k.json", *(f"k.{end}" for end in ("json", "ttir", "ttgir", "llir", "ptx"))]
    names += ["k.cubin", "k.source"]
    digest = hashlib.sha256(b"").hexdigest()
    entries = []
    with zipfile.ZipFile(tmp_path / "x.torchcache", "w") as archive:
        for number in range(2000):
            key = base64.b32encode(hashlib.sha256(str(number).encode()).digest()).decode()[:52]
            files = tuple(manifest.ListedFile(f"files/{key}/{x}", 0, digest) for x in sorted(names))
            whole = payload_digest([(name, digest) for name in names])
            path = f"files/{key}"
            entries.append(manifest.Listed("triton", key, whole, 0, path, files))
        entries.sort(key=lambda entry: entry.key)
        for entry in entries:
            for file in entry.files:
                archive.writestr(info(file.path), b"")
        said = manifest.Manifest("torchkeeper 1", None, entries)
        archive.writestr(info(manifest.NAME), b"".join(said.pieces()))
    del entries, said
    tracemalloc.start()
    try:
        with Bundle(str(tmp_path / "x.torchcache"), Report()) as bundle:
            now, most = tracemalloc.get_traced_memory()
            assert (len(bundle.items()), bundle.refused) == (2000, [])
            assert sum(item.count for item in bundle.items()) == 16_000
    finally:
        tracemalloc.stop()
    assert (most / 16_000 < 300, now / 16_000 < 150) == (True, True), (most, now)


def test_an_entry_listed_twice_counts_once(good: Path, tmp_path: Path) -> None:
    edit(good, tmp_path / "x.torchcache", lambda s: s["entries"].append(first_code(s)))
    _, left, _ = bring(tmp_path / "x.torchcache", tmp_path / "t")
    assert left.codes == ["listed-twice"]


def test_the_digest_of_an_entry_is_checked(good: Path, tmp_path: Path) -> None:
    edit(good, tmp_path / "x.torchcache", lambda s: first_code(s).update(sha256="0" * 64))
    _, left, _ = bring(tmp_path / "x.torchcache", tmp_path / "t")
    assert left.codes == ["checksum-wrong"]


def test_many_small_bombs_are_one(good: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.torchcache"
    with zipfile.ZipFile(good) as archive:
        manifest = archive.read("manifest.json")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("manifest.json", manifest)
        for number in range(20):
            archive.writestr(f"files/{number}", bytes(6 << 20))
    with pytest.raises(Problem, match="bundle-damaged"):
        Bundle(str(file), Report())
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("manifest.json", manifest)
    with pytest.raises(Problem, match="bundle-damaged"):
        Bundle(str(file), Report())


def test_an_export_of_nothing_keeps_what_is_there(kept_291: Path, tmp_path: Path) -> None:
    folder, _ = described(kept_291)
    (tmp_path / "old").write_text("old")
    done = exporting.export([], folder, str(tmp_path / "old"), Report(), Left())
    assert done.entries == 0
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


def test_names_no_place_can_hold_are_left(fixture_cache: Path, tmp_path: Path) -> None:
    profile = next((fixture_cache / "dynamo").glob("*.pkl"))
    profile.rename(profile.with_name(os.fsdecode(b"code_state_caf\xe9_0_.pkl")))
    left = make(fixture_cache, tmp_path / "o")
    assert left.codes.count("name-refused") == 1
    assert bring(tmp_path / "o", tmp_path / "t")[1].codes == []


def test_payloads_the_manifest_does_not_know_stay_out(good: Path, tmp_path: Path) -> None:
    def drop(said: Any) -> None:
        said["entries"] = [e for e in said["entries"] if e["kind"] != "fxgraph"]

    edit(good, tmp_path / "x.torchcache", drop)
    _, left, _ = bring(tmp_path / "x.torchcache", tmp_path / "t")
    assert left.codes == ["not-in-manifest"] * 7
    assert not (tmp_path / "t" / "fxgraph").exists()


def test_payloads_that_are_missing_are_said(good: Path, tmp_path: Path) -> None:
    rewrite(good, tmp_path / "x.torchcache", lambda members: members.pop("mega-cache.bin"))
    _, left, _ = bring(tmp_path / "x.torchcache", tmp_path / "t")
    assert left.codes == ["promised-but-missing"] * 12


class Begins(Report):
    """Begins each kernel as Triton does, as soon as the import is at work on it."""

    def __init__(self, source: Path, target: Path) -> None:
        self.source, self.target = source, target

    def check(self) -> None:
        if any(self.target.glob("tmp.torchkeeper-*/*")):
            for folder in self.source.iterdir():
                mine = self.target / folder.name
                if folder.is_dir() and not mine.exists():
                    mine.mkdir()
                    some = next(path for path in folder.iterdir() if path.suffix == ".ttir")
                    shutil.copyfile(some, mine / some.name)


def test_a_kernel_that_is_begun_meanwhile_is_completed(kernels: Path, tmp_path: Path) -> None:
    make(kernels, tmp_path / "a.torchcache")
    target = tmp_path / "t"
    done, left, _ = bring(tmp_path / "a.torchcache", target, Begins(kernels, target))
    assert (done.entries, left.codes) == (2, [])
    names = {path.relative_to(kernels).as_posix() for path in kernels.glob("*/*")}
    came = {path.relative_to(target).as_posix() for path in target.glob("[!.]*/*")}
    assert came == names


def test_damaged_bundles(good: Path, tmp_path: Path) -> None:
    data = good.read_bytes()
    file = tmp_path / "x.torchcache"
    for size in (0, 3, 4, 100, len(data) // 2, len(data) - 1):
        file.write_bytes(data[:size])
        with pytest.raises(Problem) as caught:
            Bundle(str(file), Report())
        assert caught.value.code in ("bundle-damaged", "not-a-bundle")
    flipped = bytearray(data)
    with zipfile.ZipFile(good) as archive:
        member = next(i for i in archive.infolist() if i.filename.endswith(".so"))
    flipped[member.header_offset + 30 + len(member.filename) + 500] ^= 1
    file.write_bytes(flipped)
    _, left, _ = bring(file, tmp_path / "t")
    assert len(left.codes) == 1
    assert left.codes[0] in ("checksum-wrong", "entry-vanished")
    folders = [path for path in below(tmp_path / "t") if path.is_dir()]
    assert all(any(folder.iterdir()) for folder in folders), "no folder is made for nothing"


def test_zip_tricks(good: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.torchcache"
    with zipfile.ZipFile(good) as archive:
        manifest = archive.read("manifest.json")
    for names in (["manifest.json", "manifest.json"], ["../x"], ["/x"], ["a\\b"], ["a/../../b"]):
        with zipfile.ZipFile(file, "w") as archive, pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda *_, **__: None)
            for name in names:
                archive.writestr(name, manifest)
        with pytest.raises(Problem, match="bundle-damaged"):
            Bundle(str(file), Report())
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("manifest.json", manifest)
        with archive.open("files/bomb", "w", force_zip64=True) as member:
            for _ in range(300):
                member.write(bytes(1 << 20))
    with pytest.raises(Problem) as caught:
        Bundle(str(file), Report())
    assert "far too much data" in str(caught.value.params["why"])


def test_a_hostile_mega_cache(tmp_path: Path) -> None:
    out = io.BytesIO()
    writer = megacache.Writer(out)
    trip = tmp_path / "tripped"
    command = f"touch {trip}"
    payload = b"cposix\nsystem\n(S'" + command.encode() + b"'\ntR."
    writer.section("inductor")
    writer.artifact("f" + "a" * 51, filling(iter([payload])))
    writer.artifact("../../../evil", filling(iter([payload])))
    writer.section("autotune")
    writer.artifact(str(tmp_path / "absolute.best_config"), filling(iter([b"{}"])))
    writer.section("future")
    writer.artifact("k", filling(iter([b"x"])))
    writer.close()
    file = tmp_path / "mega.bin"
    file.write_bytes(out.getvalue())
    with Bundle(str(file), Report()) as bundle, Reader() as reader:
        batches = list(describe(bundle.items(), bundle, reader, Report()))
    assert [one.entry.problem for batch in batches for one in batch] == ["payload-unreadable"]
    _, left, _ = bring(file, tmp_path / "t")
    assert sorted(left.codes) == ["name-refused", "name-refused", "type-unknown"]
    assert {p.name for p in tmp_path.iterdir()} == {"mega.bin", "t"}


def test_a_raw_mega_cache_that_is_replaced_after_a_look_is_not_taken(
    tmp_path: Path,
) -> None:
    file, into, seen = tmp_path / "mega.bin", tmp_path / "into", []
    with contextlib.closing(Session()) as session:
        for payload in (b"one", b"two"):
            with file.open("w+b") as out:
                writer = megacache.Writer(out)
                writer.section("inductor")
                writer.artifact("f" + "a" * 51, filling(iter([payload])))
                writer.close()
            told = bundles.signature(session, {"file": str(file)}, Report())
            seen.append({str(file): told["manifest"]})
        asked: ImportParams = {"files": [str(file)], "into": str(into), "manifests": seen[0]}
        with pytest.raises(Problem, match="bundle-changed"):
            bundles.import_(session, asked, Report())
        assert not into.exists()
        asked["manifests"] = seen[1]
        done = bundles.import_(session, asked, Report())
    assert done["entries"] == 1


def test_a_raw_mega_cache_that_lies(tmp_path: Path) -> None:
    data = gzip.decompress((DATA / "torch-2.9.1" / "mega-cache.bin.gz").read_bytes())
    file = tmp_path / "m"
    file.write_bytes(data[:-10])
    with pytest.raises(Problem, match="mega-cache-damaged"):
        Bundle(str(file), Report())
    body = struct.pack(">QQ", 1, 1 << 62)
    file.write_bytes(struct.pack(">I", zlib.crc32(body)) + body)
    with pytest.raises(Problem, match="mega-cache-damaged"):
        Bundle(str(file), Report())


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"", "not-a-bundle"), (b"hello", "not-a-bundle"), (b"PK\x03\x04", "bundle-damaged")],
)
def test_files_that_are_no_bundles(content: bytes, code: str, tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(content)
    with pytest.raises(Problem, match=code):
        Bundle(str(file), Report())
    with pytest.raises(Problem, match="file-missing"):
        Bundle(str(tmp_path / "none"), Report())
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(Problem, match="bundle-unreadable"):
        Bundle(str(tmp_path / "fifo"), Report())


class Stops(Report):
    """Cancels after some checks."""

    def __init__(self, after: int) -> None:
        self.left = after

    def check(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Cancelled


@pytest.mark.parametrize("after", [0, 1, 10, 50, 100])
def test_a_cancelled_import_leaves_no_trace(good: Path, tmp_path: Path, after: int) -> None:
    with pytest.raises(Cancelled):
        bring(good, tmp_path / "new" / "t", Stops(after))
    assert list(tmp_path.iterdir()) == []
    target = tmp_path / "t"
    target.mkdir()
    (target / "mine").write_text("mine")
    before = snapshot(target, times=False)
    with pytest.raises(Cancelled):
        bring(good, target, Stops(after))
    assert snapshot(target, times=False) == before


@pytest.mark.parametrize(("whole", "has"), [(True, True), (True, False), (False, True)])
def test_every_file_is_on_the_disk_before_it_has_its_name(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bool, has: bool
) -> None:
    """That the whole file system was synced is enough, where that is certain and has the file."""
    synced = set[int]()

    def fsync(handle: int) -> None:
        synced.add(os.fstat(handle).st_ino)

    monkeypatch.setattr(importing, "MANY", 1)
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Volume, "sync", lambda _self, _meanwhile: whole)
    monkeypatch.setattr(Volume, "has", lambda _self, _folder: has)
    bring(good, tmp_path / "t")
    files = [path.stat().st_ino for path in (tmp_path / "t").rglob("*") if path.is_file()]
    apart = [number for number in files if number in synced]
    # A list is written by itself.
    assert len(apart) <= 2 if whole and has else apart == files


def test_who_waits_for_the_disk_is_told_and_can_cancel(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told()

    def sync(_: Volume, meanwhile: Callable[[], None]) -> bool:
        before = told.count
        time.sleep(0.1)
        meanwhile()
        assert told.count > before
        told.stops = True
        meanwhile()
        return True

    monkeypatch.setattr(importing, "MANY", 1)
    monkeypatch.setattr(Volume, "sync", sync)
    with pytest.raises(Cancelled):
        bring(good, tmp_path / "t", told)
    assert list(tmp_path.iterdir()) == []


class Told(Report):
    """Counts what is told, and cancels when it is to."""

    count, stops = 0, False

    def progress(self, done: int, total: int | None, unit: str) -> None:
        """One more."""
        self.count += 1

    def check(self) -> None:
        if self.stops:
            raise Cancelled


def test_one_that_was_closed_is_read_again_only_if_it_has_changed(
    good: Path, tmp_path: Path
) -> None:
    file = tmp_path / "b"
    shutil.copy(good, file)
    bundle = Bundle(str(file), Report())
    first = bundle.items()[0].files[0]
    bundle.close()
    assert bundle.again()
    with bundle.open(first) as stream:
        assert hashlib.sha256(stream.read()).hexdigest() == first.sha256
    bundle.close()
    shutil.copy(good, file)
    assert not bundle.again()
    file.unlink()
    with pytest.raises(Problem, match="file-missing"):
        bundle.again()


def test_one_that_was_looked_into_is_not_read_again(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, file = Session(), tmp_path / "b"
    shutil.copy(good, file)
    read: list[str] = []
    once = Bundle._read

    def counted(self: Bundle, report: Report) -> None:
        read.append(self.path)
        once(self, report)

    monkeypatch.setattr(Bundle, "_read", counted)

    def ask(operation: str, **params: Any) -> Any:
        return perform(TABLE[operation], session, params, Report())

    def asked() -> int:
        read.clear()
        signature = ask("signature", file=str(file), signers=None)
        with zipfile.ZipFile(file) as archive:
            manifest = hashlib.sha256(archive.read("manifest.json")).hexdigest()
        assert (signature["status"], signature["manifest"]) == ("none", manifest)
        ask("origin", files=[str(file)])
        return len(read)

    assert asked() == 1
    assert asked() == 0
    assert ask("import", files=[str(file)], into=str(tmp_path / "x"))["entries"]
    assert read == []
    assert asked() == 1, "it is kept for one only"
    assert ask("copy", place=str(file), into=str(tmp_path / "y"))["entries"]
    assert len(read) == 1
    # Of one that has changed since nothing is known.
    asked()
    shutil.copy(good, file)
    assert asked() == 1
    for number in range(20):
        shutil.copy(good, tmp_path / f"{number}")
        ask("signature", file=str(tmp_path / f"{number}"), signers=None)
    assert len(session.bundles) == 8
    session.close()


@pytest.mark.parametrize("after", [0, 5, 40])
def test_a_cancelled_export_leaves_no_trace(kept_291: Path, tmp_path: Path, after: int) -> None:
    folder, ones = described(kept_291)
    output = tmp_path / "out.torchcache"
    output.write_text("the old one")
    with pytest.raises(Cancelled):
        exporting.export(ones, folder, str(output), Stops(after), Left())
    assert [p.name for p in tmp_path.iterdir()] == ["out.torchcache"]
    assert output.read_text() == "the old one"


def test_what_changes_during_an_export_is_left(fixture_cache: Path, tmp_path: Path) -> None:
    folder, ones = described(fixture_cache)
    fx = sorted(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file())
    fx[0].unlink()
    fx[1].write_bytes(b"something else")
    next(fixture_cache.rglob("*.main.so")).write_bytes(b"rebuilt")
    left = Left()
    done = exporting.export(ones, folder, str(tmp_path / "o"), Report(), left)
    codes = [code for code in left.codes if code != "kind-not-portable"]
    assert sorted(codes) == ["entry-changed", "entry-changed", "entry-vanished"]
    with Bundle(str(tmp_path / "o"), Report()) as bundle:
        assert len(bundle.items()) == done.entries
        assert not bundle.refused


def test_broken_entries_are_not_exported(fixture_cache: Path, tmp_path: Path) -> None:
    next(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file()).write_bytes(b"x")
    assert "entry-broken" in make(fixture_cache, tmp_path / "o").codes


def test_targets_that_cannot_be_written(good: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Problem, match="place-unwritable"):
        bring(good, tmp_path / "file" / "t")
    folder, ones = described(tmp_path)
    with pytest.raises(Problem, match="output-unwritable"):
        exporting.export(ones, folder, str(tmp_path / "none" / "o"), Report(), Left())


def test_only_files_are_replaced(kept_291: Path, tmp_path: Path) -> None:
    folder, ones = described(kept_291)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    for output in ("folder", "fifo"):
        with pytest.raises(Problem, match="output-unwritable"):
            exporting.export(ones, folder, str(tmp_path / output), Report(), Left())
    assert (tmp_path / "fifo").is_fifo()


def test_links_in_the_target_are_not_followed(good: Path, tmp_path: Path) -> None:
    outside, target = tmp_path / "outside", tmp_path / "t"
    outside.mkdir()
    target.mkdir()
    (target / "fxgraph").symlink_to(outside)
    _, left, _ = bring(good, target)
    assert left.codes == ["link-in-place"] * 7
    assert list(outside.iterdir()) == []


def test_a_full_disk_takes_nothing(good: Path, tmp_path: Path) -> None:
    """On a real file system that is really full, where the tests may mount one."""
    import subprocess

    disk = tmp_path / "disk"
    disk.mkdir()
    size = good.stat().st_size // 2
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a small file system")
    try:
        with pytest.raises(Problem, match="disk-full"):
            bring(good, disk / "cache")
        assert list(disk.iterdir()) == []
        shutil.copy(good, tmp_path / "copy")
        folder, ones = described(tmp_path)
        with pytest.raises(Problem, match="output-full"):
            make_from = Bundle(str(good), Report())
            with make_from, Reader() as reader:
                batches = describe(make_from.items(), make_from, reader, Report())
                ones = [one for batch in batches for one in batch]
                exporting.export(ones, make_from, str(disk / "o"), Report(), Left())
        assert list(disk.iterdir()) == []
        del folder
    finally:
        subprocess.run(["umount", str(disk)], check=True)
