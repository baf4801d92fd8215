"""What an import would do is what it does: the comparison and the import, side by side."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.snapshots import snapshot
from tests.stores.bundles.test_bundle import Left, Stops, bring, edit, first_code, make
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.stores.folders.importing import import_bundles
from torchkeeper.stores.folders.placing import OUTCOMES, Compared, Counts, compare
from torchkeeper.stores.items import Item
from torchkeeper.stores.preconditions import space


@pytest.fixture(scope="module")
def good(kept_291: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("bundle") / "good.torchcache"
    make(kept_291, output)
    return output


@pytest.fixture(scope="module")
def kernel_bundle(kernels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("bundle") / "kernels.torchcache"
    make(kernels, output)
    return output


class Marks:
    """Collects what is said of each entry."""

    def __init__(self) -> None:
        self.homes: dict[str, list[tuple[str, str]]] = {name: [] for name in OUTCOMES}
        self.codes: list[str] = []

    def __call__(
        self, bundle: Bundle, item: Item, home: str, outcome: str, problem: Problem | None
    ) -> None:
        self.homes[outcome].append((item.kind, home))
        if problem:
            self.codes.append(problem.code)


def look(into: Path, *files: Path, report: Report | None = None) -> tuple[list[Compared], Marks]:
    marks = Marks()
    bundles = [Bundle(str(file), Report()) for file in files]
    try:
        return compare(bundles, str(into), report or Report(), marks), marks
    finally:
        for bundle in bundles:
            bundle.close()


def total(found: list[Compared], outcome: str) -> tuple[int, int, int]:
    whole: list[Counts] = [getattr(one.whole, outcome) for one in found]
    return (
        sum(w.entries for w in whole),
        sum(w.files for w in whole),
        sum(w.bytes for w in whole),
    )


def agrees(into: Path, *files: Path) -> Marks:
    """Compare, then import, and hold that the one foretold the other."""
    before = snapshot(into) if into.exists() else None
    found, marks = look(into, *files)
    assert (snapshot(into) if into.exists() else None) == before, "looking changes nothing"
    placed: list[tuple[str, str]] = []
    left = Left()
    bundles = [Bundle(str(file), Report()) for file in files]
    done = import_bundles(
        bundles,
        str(into),
        Report(),
        lambda _, item, problem: left(item, problem),
        lambda item, home: placed.append((item.kind, home)),
    )
    for bundle in bundles:
        bundle.close()
    assert total(found, "new") == (done.entries, done.files, done.bytes)
    assert total(found, "there")[0] == done.exists
    assert total(found, "twice")[0] == done.doubles
    assert sorted(marks.homes["new"]) == sorted(placed)
    assert Counter(marks.codes) == Counter(left.codes)
    return marks


def test_into_an_empty_folder_all_is_new(good: Path, tmp_path: Path) -> None:
    marks = agrees(tmp_path / "not" / "yet", good)
    assert marks.homes["new"]
    assert not marks.homes["there"] + marks.homes["differs"] + marks.homes["left"]


def test_where_all_is_there_nothing_is_new(good: Path, fixture_cache: Path) -> None:
    found, _ = look(fixture_cache, good)
    assert total(found, "new") == (0, 0, 0)
    assert total(found, "there")[0] > 40
    assert found[0].needed == 0
    agrees(fixture_cache, good)


def _miss(cache: Path) -> None:
    shutil.rmtree(cache / "aotautograd")
    next(cache.rglob("*.main.so")).unlink()


def _differ(cache: Path) -> None:
    built, other = sorted(cache.rglob("*.main.so"))[:2]
    built.write_bytes(other.read_bytes())
    next((cache / "dynamo").glob("*.pkl")).write_bytes(b"another profile")


def _break(cache: Path) -> None:
    built = next(cache.rglob("*.main.so"))
    built.write_bytes(built.read_bytes()[:-100])
    next(p for p in (cache / "fxgraph").rglob("*") if p.is_file()).write_bytes(b"cut")


def _link(cache: Path) -> None:
    (cache / "fxgraph").rename(cache.parent / "elsewhere")
    (cache / "fxgraph").mkdir()
    (cache / "fxgraph").rmdir()
    (cache / "fxgraph").symlink_to(cache.parent / "nowhere-yet")
    (cache.parent / "nowhere-yet").mkdir()


def _folder_for_a_file(cache: Path) -> None:
    built = next(cache.rglob("*.main.so"))
    built.unlink()
    built.mkdir()


@pytest.mark.parametrize(
    ("change", "outcome", "count"),
    [(_miss, "new", 5), (_differ, "differs", 2), (_break, "new", 2), (_link, "left", 7),
     (_folder_for_a_file, "differs", 1)],
)  # fmt: skip
def test_foretells_what_an_import_does(
    good: Path, fixture_cache: Path, change: Callable[[Path], None], outcome: str, count: int
) -> None:
    change(fixture_cache)
    marks = agrees(fixture_cache, good)
    assert len(marks.homes[outcome]) == count


def test_kernels_go_where_the_folder_has_them(kernel_bundle: Path, tmp_path: Path) -> None:
    inductor = tmp_path / "inductor"
    (inductor / "fxgraph").mkdir(parents=True)
    marks = agrees(inductor, kernel_bundle)
    assert all(home.startswith("triton/0/") for _, home in marks.homes["new"])
    for path in [*inductor.rglob("*.cubin"), *inductor.rglob("__grp__*.json")]:
        path.unlink()
    marks = agrees(inductor, kernel_bundle)
    assert len(marks.homes["new"]) == 2
    found, _ = look(inductor, kernel_bundle)
    assert (total(found, "new")[0], total(found, "there")[0]) == (0, 2)
    next(inductor.rglob("*.cubin")).write_bytes(b"other")
    marks = agrees(inductor, kernel_bundle)
    assert len(marks.homes["differs"]) == 1


def test_the_same_file_twice_is_new_once(good: Path, kernel_bundle: Path, tmp_path: Path) -> None:
    again, more = tmp_path / "again.torchcache", tmp_path / "more.torchcache"
    shutil.copy(good, again)
    shutil.copy(kernel_bundle, more)
    found, _ = look(tmp_path / "t", good, again, kernel_bundle, more)
    assert total(found[:1], "new")[0] == total(found[1:2], "twice")[0]
    assert total(found[2:3], "new")[0] == total(found[3:], "twice")[0] == 2
    agrees(tmp_path / "t", good, again, kernel_bundle, more)


def test_what_is_damaged_in_the_bundle_is_not_counted_as_new(good: Path, tmp_path: Path) -> None:
    def lie(said: object) -> None:
        entry = first_code(said)
        entry["files"][0]["sha256"] = "0" * 64
        parts = sorted((f["path"].rpartition("/")[2], f["sha256"]) for f in entry["files"])
        from torchkeeper.stores.items import payload_digest

        entry["sha256"] = payload_digest(parts)

    bad = tmp_path / "bad.torchcache"
    edit(good, bad, lie)
    marks = agrees(tmp_path / "t", bad)
    assert marks.codes == ["checksum-wrong"]


@pytest.mark.parametrize("after", [0, 3, 40])
def test_looking_can_be_cancelled(good: Path, tmp_path: Path, after: int) -> None:
    with pytest.raises(Cancelled):
        look(tmp_path / "t", good, report=Stops(after))
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_target(good: Path, tmp_path: Path) -> None:
    (tmp_path / "t").touch()
    with pytest.raises(Problem, match="place-not-folder"):
        look(tmp_path / "t", good)


def test_progress_ends_at_all_bytes(good: Path, tmp_path: Path) -> None:
    class Heard(Report):
        def __init__(self) -> None:
            self.said: list[tuple[int, int | None, str]] = []

        def progress(self, done: int, total: int | None, unit: str) -> None:
            self.said.append((done, total, unit))

    for work in (look, lambda into, file, report: bring(file, into, report)):
        heard = Heard()
        work(tmp_path / "t", good, report=heard)
        done = [done for done, _, _ in heard.said]
        assert done == sorted(done)
        assert heard.said[-1][0] == heard.said[-1][1] > 0  # type: ignore[operator]
        assert {unit for _, _, unit in heard.said} == {"bytes"}


def test_what_was_replaced_comes_back_when_all_is_taken_back(
    good: Path, fixture_cache: Path
) -> None:
    _break(fixture_cache)
    _miss(fixture_cache)
    before = snapshot(fixture_cache, times=False)
    ended = False
    for after in range(0, 400, 13):
        try:
            bring(good, fixture_cache, Stops(after))
        except Cancelled:
            assert snapshot(fixture_cache, times=False) == before
        else:
            ended = True
            break
    assert ended, "no import was let finish"
    assert not list(fixture_cache.rglob("*.tmp"))


def test_space_of_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    there, missing = space(str(tmp_path)), space(str(tmp_path / "a" / "b"))
    assert there["exists"]
    assert not missing["exists"]
    assert there["free"]
    assert there["why"] is missing["why"] is None
    (tmp_path / "file").touch()
    assert space(str(tmp_path / "file" / "b"))["why"] == "Not a directory"


def test_space_that_may_not_be_used(tmp_path: Path) -> None:
    """On a real file system that is read-only, where the tests may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        disk.chmod(0o500)
        if os.access(disk, os.W_OK):
            pytest.skip("permissions do not bind this user, who may not mount either")
        assert space(str(disk))["why"] == "Permission denied"
        return
    try:
        found = space(str(disk / "below"))
        assert (found["why"], found["free"]) == ("Read-only file system", 1 << 20)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("replace", [False, True])
def test_a_file_is_replaced_only_if_that_is_wanted(
    kept_291: Path, tmp_path: Path, replace: bool
) -> None:
    from tests.stores.bundles.test_bundle import described
    from torchkeeper.stores.bundles import export as exporting

    folder, ones = described(kept_291)
    output = tmp_path / "o"
    exporting.export(ones, folder, str(output), Report(), Left(), replace=replace)
    whole = output.read_bytes()
    output.write_text("mine")
    if replace:
        exporting.export(ones, folder, str(output), Report(), Left(), replace=True)
        assert output.read_bytes() == whole
        return
    with pytest.raises(Problem, match="output-exists"):
        exporting.export(ones, folder, str(output), Report(), Left(), replace=False)

    class Late(Report):
        """A file of that name appears while the bundle is written."""

        def finding(self, **what: object) -> None:
            output.write_text("mine")

    output.unlink()
    with pytest.raises(Problem, match="output-exists"):
        exporting.export(ones, folder, str(output), Late(), Left(), replace=False)
    assert output.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["o"]
