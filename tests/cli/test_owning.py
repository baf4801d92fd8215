"""Commands say who else can change what lies in a place, and change no exit code for it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from torchkeeper.stores.folders.owners import Accounts

#: Another user of every system.
OTHER = 1


@pytest.fixture
def opened(kept_291: Path, among: Path) -> Path:
    """A cache where everybody may write, in a folder such as /tmp."""
    place = Path(shutil.copytree(kept_291, among / "it's mine\x1b[31m"))
    place.chmod(0o777)
    return place


def test_looking_says_it_and_ends_as_before(tk: Tk, opened: Path) -> None:
    shown = str(opened).replace("\x1b", "\\x1b")
    line = f"Everybody may write to {shown}. Forbid that: chmod -R go-w '"
    before = tk("check", opened, "--json")
    assert before.code == 0
    [said] = before.result["owners"]
    assert (said["code"], said["grave"], said["who"]["kind"]) == ("writable", True, "all")
    assert said["command"].startswith("chmod -R go-w '")
    assert before.err == "", "it is in the result"
    for command in ("ls", "du"):
        ran = tk(command, opened)
        assert ran.code == 0
        assert line in ran.err
        assert "\x1b" not in ran.err + ran.out
        assert ran.err.count("\n") == 1
    ran = tk("check", opened)
    assert f"torchkeeper: Everybody may write to {shown}.\n  PyTorch runs" in ran.err
    rows = tk("places", "--json", TORCHINDUCTOR_CACHE_DIR=str(opened)).objects
    assert rows[0]["owners"][0]["command"] == said["command"]
    assert all("owners" not in row for row in rows[1:] if not row["exists"])
    named = tk("places", TORCHINDUCTOR_CACHE_DIR=str(opened)).out
    assert "TORCHINDUCTOR_CACHE_DIR  [everybody may write to it]" in named
    opened.chmod(0o755)
    assert tk("ls", opened).err == ""
    after = tk("check", opened, "--json")
    assert (after.code, after.result["owners"]) == (0, [])


def test_what_writes_or_runs_says_it_first_and_once(tk: Tk, clean_291: Path, among: Path) -> None:
    place = among / "cache"
    place.mkdir()
    place.chmod(0o777)
    warning = f"torchkeeper: Everybody may write to {place}."
    bundle = among / "b.torchcache"
    assert tk("export", clean_291, "-o", bundle).code == 0
    ran = tk("import", bundle, "--into", place, "--trust", "--json")
    assert (ran.code, ran.err.count(warning)) == (0, 1)
    ran = tk("copy", clean_291, place, "--json")
    assert (ran.code, ran.err.count(warning)) == (0, 1)
    ran = tk("run", "--into", place, "--", "true")
    assert (ran.code, ran.err.count(warning)) == (0, 1)
    ran = tk("warm", "--into", place, "--env", "/nowhere")
    assert (ran.code, ran.err.count(warning)) == (3, 0)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_cache_that_another_made_among_those_of_everybody(
    tk: Tk, clean_291: Path, among: Path
) -> None:
    place = among / "cache"
    place.mkdir(0o755)
    os.chown(place, OTHER, OTHER)
    line = f"{place} belongs to {Accounts().user(OTHER).name}."
    bundle = among / "b.torchcache"
    assert tk("export", clean_291, "-o", bundle).code == 0
    for command in (
        ("import", bundle, "--into", place, "--trust"),
        ("copy", clean_291, place),
        ("ls", place),
        ("du", place),
    ):
        ran = tk(*command)
        assert (ran.code, ran.err.count(line)) == (0, 1), command
        assert "If you do not trust that, use a folder of your own" in ran.err
    ran = tk("check", place)
    assert ran.err.count(line + "\n  Everybody may make folders in") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_another_put_there_can_be_found_and_purged(
    tk: Tk, kept_291: Path, among: Path
) -> None:
    place = Path(shutil.copytree(kept_291, among / "cache"))
    path = next((place / "fxgraph").glob("*/*/*"))
    os.chown(path, OTHER, OTHER)
    name = Accounts().user(OTHER).name
    assert name
    ran = tk("ls", place, "--filter", "is:foreign", "--json")
    [entry] = ran.objects
    assert (entry["owner"], entry["path"]) == (name, str(path.relative_to(place)))
    assert f"1 file in {place} belongs to {name}." in ran.err
    assert f"  [owner: {name}]\n" in tk("ls", place, "--filter", "is:foreign").out
    assert tk("ls", place, "--filter", f"owner:{name}", "--json").objects == [entry]
    assert tk("ls", place, "--filter", f"owner:{OTHER + 54321}", "--json").out == ""
    assert f"owner:      {name}" in tk("show", place, entry["key"]).out
    wrong = tk("purge", place, "--yes", "--filter", "-owner:root")
    assert (wrong.code, "finds what other users own" in wrong.err) == (2, True)
    command = tk("check", place, "--json").result["owners"][0]["command"].split()
    assert command[:1] == ["torchkeeper"]
    done = tk(*command[1:], "--yes", "--json").result
    assert done["entries"] == 1
    assert tk("ls", place).err == ""
    assert not path.exists()


def test_only_folders_know_whose_their_entries_are(tk: Tk, clean_291: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "b.torchcache"
    assert tk("export", clean_291, "-o", bundle).code == 0
    for asked in ("is:foreign", "-is:foreign", "owner:bob"):
        ran = tk("ls", bundle, "--filter", asked)
        assert "does not record the owners of its entries" in ran.err
        assert ran.code == 2
