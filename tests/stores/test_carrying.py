"""What is copied without being read before: the same arrives, and what is damaged does not."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.sampling import sampled
from tests.snapshots import snapshot
from tests.stores.bundles.test_bundle import Left
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.copying import copy
from torchkeeper.stores.describe import Carried, Described, describe
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.index import Index
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.reader import Reader
from torchkeeper.stores.store import Store

GLANCE = Carried(facts=False)


def chosen(
    store: Store, carried: Carried | None = GLANCE, index: Index | None = None
) -> list[Described]:
    with Reader() as reader:
        items = store.items(Report())
        batches = describe(items, store, reader, Report(), index=index, carried=carried)
        return [one for batch in batches for one in batch]


def carry(source: Path, target: Path, carried: Carried | None = GLANCE) -> Left:
    left = Left()
    store = scheme_of(str(source)).opened(str(source), Report())
    copy(store, chosen(store, carried), str(target), Report(), left)
    store.close()
    return left


@pytest.fixture
def mixed(fixture_cache: Path, kernels: Path) -> Path:
    """Entries of all kinds, some of them under names that others have elsewhere."""
    for device in "01":
        shutil.copytree(kernels, fixture_cache / "triton" / device, dirs_exist_ok=True)
    next((fixture_cache / "triton" / "1").rglob("*.cubin")).write_bytes(b"another")
    source = next(path for path in sorted(fixture_cache.rglob("*.cpp")))
    other = fixture_cache / "zz"
    other.mkdir()
    (other / source.name).write_bytes(b"// " + bytes(3 << 20))
    return fixture_cache


@sampled("carried", [GLANCE, Carried(facts=True)], most=1)
def test_the_same_arrives(mixed: Path, tmp_path: Path, carried: Carried) -> None:
    read, glanced = tmp_path / "read.torchcache", tmp_path / "glanced.torchcache"
    assert carry(mixed, read, None).codes == carry(mixed, glanced, carried).codes
    assert glanced.read_bytes() == read.read_bytes()
    assert carry(read, tmp_path / "again.torchcache", carried).codes == []
    assert (tmp_path / "again.torchcache").read_bytes() == read.read_bytes()
    carry(mixed, tmp_path / "f", carried)
    carry(read, tmp_path / "b", carried)
    carry(mixed, tmp_path / "r", None)
    seen = [snapshot(tmp_path / name, times=False) for name in "fbr"]
    # Triton's group files name the folder that they are in.
    seen = [{p: about for p, about in one.items() if "__grp__" not in p} for one in seen]
    assert seen[0] == seen[1] == seen[2]
    # All of it is there already, and nothing is written.
    before = snapshot(tmp_path / "f")
    for source in (mixed, read):
        assert set(carry(source, tmp_path / "f", carried).codes) <= {"kind-not-portable"}
    assert snapshot(tmp_path / "f") == before


def test_only_what_is_known_beforehand_has_a_digest(mixed: Path, tmp_path: Path) -> None:
    ones = chosen(Folder(str(mixed)))
    unhashed = {one.entry.kind for one in ones if one.unhashed}
    assert unhashed == {"code", "triton"}
    assert all(one.entry.sha256 for one in ones if one.entry.kind == "fxgraph")
    carry(mixed, tmp_path / "b.torchcache")
    store = scheme_of(str(tmp_path / "b.torchcache")).opened(
        str(tmp_path / "b.torchcache"), Report()
    )
    assert all(one.entry.sha256 and not one.unhashed for one in chosen(store))
    store.close()


@pytest.mark.parametrize("target", ["t", "b.torchcache"])
def test_what_changes_meanwhile_is_left(fixture_cache: Path, tmp_path: Path, target: str) -> None:
    store = Folder(str(fixture_cache))
    ones = chosen(store)
    built, cut, gone = sorted(fixture_cache.rglob("*.main.so"))[:3]
    built.write_bytes(bytes(built.stat().st_size))
    cut.write_bytes(cut.read_bytes()[:-1])
    gone.unlink()
    left = Left()
    copy(store, ones, str(tmp_path / target), Report(), left)
    codes = [code for code in left.codes if code != "kind-not-portable"]
    assert sorted(codes) == ["entry-changed", "entry-changed", "entry-vanished"]
    assert not list(tmp_path.rglob("*.tmp"))
    if target == "t":
        names = {path.name.partition(".")[0] for path in (tmp_path / "t").rglob("*.*")}
    else:
        with zipfile.ZipFile(tmp_path / target) as archive:
            assert archive.testzip() is None
            names = {name.rpartition("/")[2].partition(".")[0] for name in archive.namelist()}
    assert names.isdisjoint(path.name.partition(".")[0] for path in (built, cut, gone))


@pytest.mark.parametrize("target", ["t", "b.torchcache"])
def test_what_the_index_knows_is_compared(fixture_cache: Path, tmp_path: Path, target: str) -> None:
    """A change that neither size nor time nor inode show is found while it is copied."""
    store = Folder(str(fixture_cache))
    file = str(tmp_path / "index" / "i.sqlite")
    index = Index(store.root, file)
    chosen(store, None, index)
    index.finish()
    alone = next(path for path in sorted(fixture_cache.rglob("*.py")))
    built = next(path for path in sorted(fixture_cache.rglob("*.main.so")))
    for path in (alone, built):
        status = path.stat()
        with path.open("r+b") as stream:
            stream.seek(status.st_size - 1)
            stream.write(b"\x07")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    index = Index(store.root, file)
    ones = chosen(store, GLANCE, index)
    index.finish()
    assert not any(one.unhashed for one in ones)
    left = Left()
    copy(store, ones, str(tmp_path / target), Report(), left)
    codes = [code for code in left.codes if code != "kind-not-portable"]
    assert codes == ["entry-changed", "entry-changed"]
    if target == "t":
        assert not list((tmp_path / "t").rglob(f"{built.name.partition('.')[0]}*"))
        assert not list((tmp_path / "t").rglob(alone.name))


@pytest.mark.parametrize("carried", [GLANCE, None])
def test_two_that_have_one_place(
    fixture_cache: Path, tmp_path: Path, carried: Carried | None
) -> None:
    """A cache inside a place may hold the same entry, or another under its name."""
    inner = fixture_cache / "inductor_cache"
    shutil.copytree(fixture_cache, inner)
    built = next(path for path in sorted(inner.rglob("*.main.so")))
    data = built.read_bytes()
    built.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    left = carry(fixture_cache, tmp_path / "t", carried)
    by_nature = {"kind-not-portable", "superseded"}
    assert [code for code in left.codes if code not in by_nature] == ["key-taken"]
    assert (tmp_path / "t" / built.relative_to(inner)).read_bytes() == data
