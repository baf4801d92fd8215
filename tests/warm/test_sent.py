"""Recipes of another machine lie in one folder for all that need them, and in nobody else's."""

from __future__ import annotations

import fcntl
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from torchkeeper.warm import sent
from torchkeeper.warm.shapes import Compiling, SentRecipe


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiling:
    """A request, whose recipes are unpacked below a folder of the test's."""
    monkeypatch.setattr(sent, "_ABOVE", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    file = str(tmp_path / "recipes.zip")
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("a/kernels.py", "x = 1")
    return {"sent": file, "recipes": [{"name": "r", "folder": "/a", "data": {}}]}


def folder_of(recipes: Sequence[str | SentRecipe] | None) -> Path:
    [one] = recipes or ()
    assert isinstance(one, dict)
    return Path(one["folder"]).parent


def left(above: Path) -> list[str]:
    return [name for name in os.listdir(above) if name.startswith("torchkeeper-recipes-")]


def test_two_have_one_folder_and_the_last_removes_it(asked: Compiling, tmp_path: Path) -> None:
    with sent.placed(asked, True) as first:
        with sent.placed(asked, True) as second:
            assert folder_of(first) == folder_of(second)
        assert (folder_of(first) / "a/kernels.py").read_text() == "x = 1"
    assert not left(tmp_path)


def test_what_a_kill_has_left_is_used_or_removed(asked: Compiling, tmp_path: Path) -> None:
    with sent.placed(asked, True) as recipes:
        here = folder_of(recipes)
    here.mkdir(mode=0o700)  # half of it, as of one that was killed
    (here / "a").mkdir()
    other = here.parent / f"torchkeeper-recipes-{os.getuid()}-0123456789abcdef"
    other.mkdir(mode=0o700)
    with sent.placed(asked, True) as recipes:
        assert folder_of(recipes) == here
        assert (here / "a/kernels.py").read_text() == "x = 1"
        assert not other.exists()
    assert not left(tmp_path)


@pytest.mark.parametrize("what", ["link", "file", "link-to-mine"])
def test_what_somebody_has_put_there_is_not_used(
    asked: Compiling, tmp_path: Path, what: str
) -> None:
    with sent.placed(asked, True) as recipes:
        here = folder_of(recipes)
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o777)
    theirs.chmod(0o700 if what == "link-to-mine" else 0o777)
    if what == "file":
        here.write_text("x")
    else:
        here.symlink_to(theirs)
    with sent.placed(asked, True) as recipes:
        other = folder_of(recipes)
        assert other != here
        assert other.stat().st_mode & 0o077 == 0
        assert (other / "a/kernels.py").read_text() == "x = 1"
    assert not os.listdir(theirs)
    assert os.path.lexists(here)


def test_a_folder_that_came_meanwhile_is_not_taken_for_what_was_left(
    asked: Compiling, tmp_path: Path
) -> None:
    """Between that one opens what was left, and that he has its lock, another has removed it, and a
    third one has made his own there.
    """
    with sent.placed(asked, True) as recipes:
        here = folder_of(recipes)
    here.mkdir(mode=0o700)
    old = os.open(here, os.O_RDONLY | os.O_DIRECTORY)
    os.rmdir(here)
    with sent.placed(asked, True) as recipes:
        sent._let_go(str(here), old)
        assert (folder_of(recipes) / "a/kernels.py").read_text() == "x = 1"
    assert not left(tmp_path)


def test_a_folder_of_another_name_is_held_from_the_start(asked: Compiling, tmp_path: Path) -> None:
    with sent.placed(asked, True) as recipes:
        here = folder_of(recipes)
    here.write_text("x")
    made, handle = sent._taken(str(here))
    try:
        sent._sweep(str(tmp_path))
        assert os.path.isdir(made)
        other = os.open(made, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(other)
    finally:
        sent._let_go(made, handle)
