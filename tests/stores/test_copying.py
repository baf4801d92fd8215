"""Copying between places: what arrives is what PyTorch would read there."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.conftest import RunPlain
from tests.snapshots import below
from tests.stores.bundles.test_bundle import Left
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.copying import Copied, check_target, copy, newest, plan_copy
from torchkeeper.stores.describe import Described, describe
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.reader import Reader


def carry(
    source: Path | str,
    target: Path | str,
    kinds: str = "",
    replace: bool = False,
    report: Report | None = None,
) -> tuple[Copied, Left]:
    """Copy what ``source`` has of some kinds, or of all."""
    left = Left()
    store = scheme_of(str(source)).opened(str(source), Report())
    with Reader() as reader:
        items = store.items(Report())
        ones = [one for batch in store.read(items, reader, Report()) for one in batch]
    chosen = [one for one in ones if not kinds or one.entry.kind in kinds.split()]
    foretold = plan_copy(store, chosen, str(target), Report(), Left())
    done = copy(store, chosen, str(target), report or Report(), left, replace)
    assert (foretold.entries, foretold.bytes) == (done.entries, done.bytes)
    store.close()
    return done, left


def files(folder: Path) -> dict[str, bytes]:
    """What lies in a folder, but for locks."""
    found = [path for path in below(folder) if path.is_file() and path.suffix != ".lock"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_folder_to_folder(kept_291: Path, tmp_path: Path) -> None:
    done, left = carry(kept_291, tmp_path / "t")
    assert set(left.codes) == {"kind-not-portable"}
    assert done.what == "folder"
    assert files(tmp_path / "t") == files(kept_291)
    again, _ = carry(kept_291, tmp_path / "t")
    assert (again.entries, again.exists) == (0, done.entries)


def test_by_way_of_a_bundle(kept_291: Path, tmp_path: Path) -> None:
    made, _ = carry(kept_291, tmp_path / "b.torchcache")
    assert made.what == "bundle"
    carry(tmp_path / "b.torchcache", tmp_path / "c.torchcache")
    assert (tmp_path / "c.torchcache").read_bytes() == (tmp_path / "b.torchcache").read_bytes()
    carry(tmp_path / "c.torchcache", tmp_path / "t")
    assert files(tmp_path / "t") == files(kept_291)


def test_some_kinds_only(kept_291: Path, tmp_path: Path) -> None:
    carry(kept_291, tmp_path / "b.torchcache")
    for source in (kept_291, tmp_path / "b.torchcache"):
        target = tmp_path / f"from-{source.stem}"
        done, left = carry(source, target, "fxgraph pgo")
        assert left.codes == []
        assert {path.split("/")[0] for path in files(target)} == {"fxgraph", "dynamo"}
        assert done.entries == 8


def test_kernels_name_their_new_folder(triton_cache: Path, tmp_path: Path) -> None:
    done, _ = carry(triton_cache, tmp_path / "t")
    assert done.entries == 2
    for group in (tmp_path / "t").rglob("__grp__*.json"):
        for name, path in json.loads(group.read_bytes())["child_paths"].items():
            assert Path(path) == group.parent / name
            assert Path(path).exists()
    # The kernels are the same, although their group files differ.
    again, _ = carry(triton_cache, tmp_path / "t")
    assert (again.entries, again.exists) == (0, 2)


@pytest.mark.slow
def test_a_stock_process_hits_in_the_copy(
    warm_cache: Path, run_plain: RunPlain, tmp_path: Path
) -> None:
    carry(warm_cache, tmp_path / "t")
    counters = run_plain(tmp_path / "t")
    assert counters["misses"] == counters["aot_misses"] == 0
    assert counters["hits"] + counters["aot_hits"] > 0


def test_what_is_there_is_never_overwritten(kept_291: Path, tmp_path: Path) -> None:
    shutil.copytree(kept_291, tmp_path / "t")
    code = next(path for path in sorted((tmp_path / "t").rglob("*.py")))
    code.write_text("# another\n")
    _, left = carry(kept_291, tmp_path / "t")
    assert left.codes.count("key-taken") == 1
    assert code.read_text() == "# another\n"
    bundle = tmp_path / "b.torchcache"
    bundle.write_bytes(b"precious")
    with pytest.raises(Problem, match="output-exists"):
        carry(kept_291, bundle)
    assert bundle.read_bytes() == b"precious"
    carry(kept_291, bundle, replace=True)
    assert bundle.read_bytes() != b"precious"


def test_what_is_broken_stays_behind(fixture_cache: Path, tmp_path: Path) -> None:
    graph = next(p for p in sorted((fixture_cache / "fxgraph").rglob("*")) if p.is_file())
    graph.write_bytes(b"not a pickle")
    _, left = carry(fixture_cache, tmp_path / "t", "fxgraph")
    assert left.codes == ["entry-broken"]
    assert len(files(tmp_path / "t")) == 6


def test_onto_itself(fixture_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(fixture_cache)
    for target in (fixture_cache, tmp_path / "link"):
        with pytest.raises(Problem, match="copy-onto-itself"):
            carry(fixture_cache, target)


def test_into_itself(fixture_cache: Path, tmp_path: Path) -> None:
    before = files(fixture_cache)
    (tmp_path / "link").symlink_to(fixture_cache)
    for target in (fixture_cache / "new", fixture_cache / "fxgraph", tmp_path / "link" / "new"):
        with pytest.raises(Problem, match="copy-into-itself"):
            carry(fixture_cache, target)
    assert files(fixture_cache) == before
    # Beside it, and above it, is not within.
    carry(fixture_cache, f"{fixture_cache}-2", "pgo")
    carry(fixture_cache, tmp_path, "pgo")


def test_what_is_seen_before_anything_is_read(kept_291: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "thesis.odt").write_bytes(b"precious")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("content.xml", "precious")
    (tmp_path / "empty").touch()
    (tmp_path / "there.torchcache").touch()
    carry(kept_291, tmp_path / "b.torchcache", "pgo")
    (tmp_path / "b.torchcache").rename(tmp_path / "bundle")
    source = scheme_of(str(kept_291)).opened(str(kept_291), Report())

    def seen(name: str, replace: bool = False, dry: bool = False) -> str | None:
        try:
            check_target(source, str(tmp_path / name), None, Report(), replace, dry)
        except Problem as problem:
            return problem.code
        return None

    for name, code, replaced, foretold in (
        ("fifo", "place-not-folder", "place-not-folder", "place-not-folder"),
        ("loop", "place-unreadable", "place-unreadable", "place-unreadable"),
        ("thesis.odt", "not-a-bundle", "not-a-bundle", "not-a-bundle"),
        ("other.zip", "not-a-bundle", "not-a-bundle", "not-a-bundle"),
        ("empty", "output-exists", None, None),
        ("there.torchcache", "output-exists", None, None),
        ("bundle", "output-exists", None, None),
        ("new", None, None, None),
        ("new.torchcache", None, None, None),
    ):
        assert seen(name) == code, name
        assert seen(name, replace=True) == replaced, name
        assert seen(name, dry=True) == foretold, name


def test_what_is_broken_is_said_to_be_that(fixture_cache: Path) -> None:
    """And not that a newer one of its key goes."""
    graph = next(p for p in sorted((fixture_cache / "fxgraph").rglob("*")) if p.is_file())
    (graph.parent / ("c" + "a" * 50)).write_bytes(b"broken")
    os.utime(graph, (1, 1))
    store = scheme_of(str(fixture_cache)).opened(str(fixture_cache), Report())
    with Reader() as reader:
        batches = describe(store.items(Report()), store, reader, Report())
        ones = [one for batch in batches for one in batch if one.entry.kind == "fxgraph"]
    left = Left()
    assert len(ones) == 8
    assert newest(ones, left) == ones
    assert left.codes == []


class StopAfter(Report):
    """Asks for an early end after so many checks."""

    def __init__(self, checks: int) -> None:
        super().__init__()
        self._left = checks

    def check(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Cancelled


@pytest.mark.parametrize("checks", [3, 40, 90])
def test_cancelled_leaves_no_trace(kept_291: Path, tmp_path: Path, checks: int) -> None:
    store = scheme_of(str(kept_291)).opened(str(kept_291), Report())
    with Reader() as reader:
        batches = describe(store.items(Report()), store, reader, Report())
        ones: list[Described] = [one for batch in batches for one in batch]
    for target in ("t", "b.torchcache"):
        with pytest.raises(Cancelled):
            copy(store, ones, str(tmp_path / target), StopAfter(checks), Left())
    assert list(tmp_path.iterdir()) == []
