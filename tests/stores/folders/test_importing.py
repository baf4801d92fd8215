"""What comes into a folder that is not there appears with it."""

from __future__ import annotations

import errno
import hashlib
import io
import os
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from tests.snapshots import below
from tests.stores.building import import_bundle
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import locate
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.folders import importing
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.importing import Arriving
from torchkeeper.stores.folders.journal import Journal, in_folder
from torchkeeper.stores.folders.placing import Plan
from torchkeeper.stores.items import File, Item, Taken

KEYS = [f"cab{letter * 49}" for letter in "abc"]
DATA = b"import torch\n"


class Source:
    """The same bytes for every file."""

    def open(self, file: File) -> BinaryIO:
        """See above."""
        return io.BytesIO(DATA)


def offered(*broken: int) -> Taken:
    """Code for one folder, sound but for some."""
    items = []
    for number, key in enumerate(KEYS):
        sha256 = "0" * 64 if number in broken else hashlib.sha256(DATA).hexdigest()
        path = f"ab/{key}.py"
        items.append(Item("code", key, path, [File(path, len(DATA), sha256=sha256)]))
    return Taken(items, Source())


def nothing(item: Item, why: Problem) -> None:
    """Nothing is left."""
    pytest.fail(f"{item.path}: {why}")


def names(root: Path) -> list[str]:
    """The paths of all that is in a folder."""
    return sorted(str(path.relative_to(root)) for path in below(root))


def files(*numbers: int) -> list[str]:
    """The paths of the folder and of some files in it."""
    return ["ab", *(f"ab/{KEYS[number]}.py" for number in numbers)]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is noted."""
    noted: list[Any] = []
    note = Journal.note

    def told(self: Journal, *some: Any) -> None:
        noted.extend(some)
        note(self, *some)

    monkeypatch.setattr(Journal, "note", told)
    return noted


def test_a_folder_comes_with_all_that_goes_there(tmp_path: Path, steps: list[Any]) -> None:
    done = import_bundle(offered(), str(tmp_path / "x"), Report(), nothing)
    assert (done.entries, done.files) == (3, 3)
    assert names(tmp_path / "x") == files(0, 1, 2)
    assert [step[0] for step in steps] == ["new", "kernel"]
    assert sorted(steps[1][4]) == [f"{key}.py" for key in KEYS]
    # What is there stays, and what comes later is beside it.
    again = import_bundle(offered(), str(tmp_path / "x"), Report(), nothing)
    assert (again.entries, again.exists) == (0, 3)


def test_an_empty_folder_that_is_there_keeps_its_mode(triton_cache: Path, tmp_path: Path) -> None:
    folder = Folder(str(triton_cache))
    items = [item for item in folder.items(Report()) if item.kind == "triton"]
    into = tmp_path / "into"
    for item, mode in zip(items, (0o700, 0o2750), strict=True):
        (into / item.path).mkdir(parents=True)
        (into / item.path).chmod(mode)
    done = import_bundle(Taken(items, folder), str(into), Report(), nothing)
    assert done.entries == 2
    assert [(into / item.path).stat().st_mode & 0o7777 for item in items] == [0o700, 0o2750]
    assert all(os.listdir(into / item.path) for item in items)


def test_where_somebody_has_begun_the_folder_both_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Arriving._rename_folder

    def late(self: Arriving, temporary: str, plan: Plan) -> bool:
        os.mkdir(plan.whole)
        Path(plan.whole, "mine").touch()
        return rename(self, temporary, plan)

    monkeypatch.setattr(Arriving, "_rename_folder", late)
    done = import_bundle(offered(), str(tmp_path), Report(), nothing)
    assert done.entries == 3
    assert names(tmp_path) == [*files(0, 1, 2), "ab/mine"]


def test_where_no_folder_can_be_renamed_files_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def only_files(path: str, other: str) -> None:
        if os.path.isdir(path):
            raise OSError(errno.ENOSYS, "")
        rename(path, other)

    monkeypatch.setattr(os, "rename", only_files)
    assert import_bundle(offered(), str(tmp_path), Report(), nothing).entries == 3
    assert names(tmp_path) == files(0, 1, 2)


@pytest.mark.parametrize("broken", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_one_that_is_left_leaves_nothing_there(tmp_path: Path, broken: tuple[int, ...]) -> None:
    left: list[str] = []
    done = import_bundle(
        offered(*broken), str(tmp_path), Report(), lambda item, why: left.append(item.key)
    )
    sound = [number for number in range(3) if number not in broken]
    assert left == [KEYS[number] for number in broken]
    assert done.entries == len(sound)
    assert names(tmp_path) == (files(*sound) if sound else [])


def test_a_cancel_takes_back_what_has_no_name_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancelled(*_: object) -> None:
        [made] = [path for path in tmp_path.iterdir() if path.is_dir()]
        for path in (made / f"{KEYS[0]}.py", made / "what.txt"):
            kind = locate(f"{made.name}/{path.name}").kind
            assert kind == ("unknown" if path.suffix == ".txt" else "lock")
        raise Cancelled

    monkeypatch.setattr(importing, "stamp_of", cancelled)
    with pytest.raises(Cancelled):
        import_bundle(offered(), str(tmp_path), Report(), nothing)
    assert names(tmp_path) == [] == in_folder(str(tmp_path))
