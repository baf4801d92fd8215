"""What was cut off: looking says so and what completes it, recover does it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.snapshots import snapshot
from tests.stores.folders.test_recovering import begin, write
from torchkeeper.artifacts.layout import JOURNAL
from torchkeeper.stores.folders import receipts
from torchkeeper.stores.items import File, located

pytestmark = pytest.mark.usefixtures("private_folders")


def cut_off(place: Path) -> Path:
    """A purge that was cut off when it had moved one file, which is where it moved it."""
    name = receipts.new_name()
    begin(place, "purge", receipt=name, now=False)
    moved = next(place.glob("fxgraph/*/*/*"))
    bin_ = receipts.make(str(place), name, located([File(str(moved.relative_to(place)), 0)]))
    path = Path(bin_) / "files" / moved.relative_to(place)
    write(path)
    moved.replace(path)
    return moved


def test_it_is_said_and_completed_when_that_is_asked_for(tk: Tk, fixture_cache: Path) -> None:
    nothing = tk("recover", fixture_cache)
    assert (nothing.code, nothing.out) == (0, "Nothing was cut off there.\n")
    moved = cut_off(fixture_cache)
    before = snapshot(fixture_cache)
    for command in (("ls",), ("du",), ("trash",), ("purge", "--dry-run")):
        ran = tk(command[0], fixture_cache, *command[1:])
        assert ran.code == 0
        assert f"“torchkeeper recover {fixture_cache}” completes it now." in ran.err
    ran = tk("recover", fixture_cache, "--dry-run", "--json")
    [told] = json.loads(ran.out)["result"]["recovered"]
    assert (told["what"], told["outcome"]) == ("purge", "waiting")
    assert snapshot(fixture_cache) == before and not moved.exists()
    ran = tk("recover", fixture_cache)
    assert ran.code == 0 and "1 entry was put back." in ran.err
    assert moved.exists() and not list(fixture_cache.glob(".torchkeeper*"))


def test_a_purge_plans_what_is_there_when_that_is_whole_again(tk: Tk, fixture_cache: Path) -> None:
    moved = cut_off(fixture_cache)
    whole = sum(1 for _ in fixture_cache.glob("fxgraph/*/*/*")) + 1
    ran = tk("purge", fixture_cache, "--filter", "kind:fxgraph", "--yes", "--json")
    assert json.loads(ran.out.splitlines()[-1])["result"]["entries"] == whole
    assert not moved.exists() and not list(fixture_cache.glob(f"{JOURNAL}*"))


def test_what_a_copy_brought_is_left_until_somebody_says_how(
    tk: Tk, fixture_cache: Path, tmp_path: Path
) -> None:
    cut_off(fixture_cache)
    copy = tmp_path / "copy"
    shutil.copytree(fixture_cache, copy)
    ran = tk("recover", copy)
    assert ran.code == 1 and "does not trust the record" in ran.err and "--forget" in ran.err
    assert list(copy.glob(f"{JOURNAL}*"))
    ran = tk("recover", copy, "--forget")
    assert ran.code != 0 and "--yes" in ran.err, "nobody could answer"
    assert list(copy.glob(f"{JOURNAL}*"))
    assert tk("recover", copy, "--forget", "--yes").code == 0
    assert not list(copy.glob(f"{JOURNAL}*"))
    # What had been moved is in the trash all the same.
    assert tk("undo", copy).code == 0


def test_a_journal_that_says_nothing_yet_goes_without_a_word(tk: Tk, fixture_cache: Path) -> None:
    empty = fixture_cache / f"{JOURNAL}0-1795662246486140223-258196.jsonl"
    empty.touch(mode=0o600)
    ran = tk("recover", fixture_cache)
    assert ran.code == 0 and "Nothing was cut off there." in ran.err + ran.out
    assert not empty.exists()
