"""A copy of a cache folder that a program may do with as it likes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.snapshots import snapshot
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.atomic import remove
from torchkeeper.stores.copying import copied, duplicate, room
from torchkeeper.stores.folders.folder import Folder


def copy_of(place: Path, target: Path, report: Report | None = None) -> Path:
    source = Folder(str(place))
    duplicate(source, source.items(Report()), str(target), report or Report())
    return target


def files(folder: Path) -> dict[str, bytes]:
    """What is to be copied of a folder: all but locks, headers and links."""
    left = ("locks", "precompiled_headers")
    paths = [
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not path.is_symlink()
        and path.parent.name not in left
        and path.suffix != ".lock"
    ]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_everything_but_locks_and_headers(fixture_cache: Path, tmp_path: Path) -> None:
    stem = "c" + "a" * 51
    for name in (f"locks/{stem}.lock", f"precompiled_headers/{stem}.h", "fxgraph/stranger"):
        path = fixture_cache / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("" if name.endswith(".lock") else "x")
    (fixture_cache / "link").symlink_to("/etc/passwd")
    (fixture_cache / "empty").touch()
    before = snapshot(fixture_cache)
    target = copy_of(fixture_cache, tmp_path / "copy")
    wanted = files(fixture_cache)
    assert files(target) == wanted
    assert sorted(os.listdir(target)) == sorted(
        {name.partition("/")[0] for name in wanted}
    )  # neither locks nor headers
    assert {"fxgraph/stranger", "empty"} < wanted.keys()
    assert not (target / "link").is_symlink()
    # Nothing is shared: whoever writes to the copy does not write to the original.
    for name in wanted:
        assert (target / name).stat().st_ino != (fixture_cache / name).stat().st_ino
    assert snapshot(fixture_cache) == before
    total = sum(map(len, wanted.values()))
    assert total <= room(Folder(str(fixture_cache)).items(Report())) < total + 4096 * len(wanted)


def test_kernels_name_their_new_folder(triton_cache: Path, tmp_path: Path) -> None:
    target = copy_of(triton_cache, tmp_path / "copy")
    groups = list(target.rglob("__grp__*.json"))
    assert groups
    for group in groups:
        for name, path in json.loads(group.read_text())["child_paths"].items():
            assert Path(path) == group.parent / name
            assert Path(path).exists()


def test_kernels_that_share_a_library(tmp_path: Path) -> None:
    """A list of two items that name one file: it is copied once, and takes room once."""
    lists = tmp_path / "place" / "aoti_eager" / "aten" / "cpu"
    library = lists / "lib" / "aa" / f"c{'a' * 51}.wrapper.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"x" * 10_000)
    item = {"kernel_path": f"lib/aa/{library.name}", "meta_info": []}
    text = json.dumps([item, {**item, "meta_info": [{"dtype": "torch.float32"}]}])
    (lists / "abs.json").write_text(text)
    items = Folder(str(tmp_path / "place")).items(Report())
    shared = [item for item in items if library.name in [file.name for file in item.files]]
    assert len(shared) == 2
    target = copy_of(tmp_path / "place", tmp_path / "copy")
    assert files(target) == files(tmp_path / "place")
    assert len(copied(items)) == 2


def test_a_damaged_group_file_stays_as_it_is(triton_cache: Path, tmp_path: Path) -> None:
    group = sorted(triton_cache.rglob("__grp__*.json"))[0]
    group.write_text("no JSON")
    target = copy_of(triton_cache, tmp_path / "copy")
    assert (target / group.relative_to(triton_cache)).read_text() == "no JSON"


def test_a_file_that_has_just_gone(fixture_cache: Path, tmp_path: Path) -> None:
    source = Folder(str(fixture_cache))
    items = source.items(Report())
    gone = next(path for path in fixture_cache.rglob("*.py"))
    gone.unlink()
    duplicate(source, items, str(tmp_path / "copy"), Report())
    assert files(tmp_path / "copy") == files(fixture_cache)


def test_where_nothing_can_be_written(fixture_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Problem) as failure:
        copy_of(fixture_cache, tmp_path / "file" / "copy")
    assert failure.value.code == "place-unwritable"


def test_a_cancel(fixture_cache: Path, tmp_path: Path) -> None:
    class Ends(Report):
        def check(self) -> None:
            if (tmp_path / "copy").exists():
                raise Cancelled

    with pytest.raises(Cancelled):
        copy_of(fixture_cache, tmp_path / "copy", Ends())
    assert files(tmp_path / "copy") == {}
    assert remove(str(tmp_path / "copy"))
    assert not os.path.lexists(tmp_path / "copy")
    assert remove(str(tmp_path / "never there"))
