"""torchkeeper copy, as scripts use it."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.snapshots import snapshot
from tests.ssh.elsewhere import ANYWHERE

pytestmark = ANYWHERE


def test_folder_to_bundle_to_folder(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    bundle, target = tmp_path / "b.torchcache", tmp_path / "t"
    foretold = tk("copy", "--allow-secrets", kept_291, bundle, "--dry-run", "--json")
    assert foretold.code == 0
    assert not bundle.exists()
    made = tk("copy", "--allow-secrets", kept_291, bundle, "--json")
    assert made.code == 0
    assert made.result["what"] == "bundle"
    assert made.result["entries"] == foretold.result["entries"] > 0
    assert made.result["left"] == [], "locks are no entries"
    assert made.result["stays"]["locks"] == 26
    placed = tk("copy", "--allow-secrets", bundle, target, "--trust")
    assert placed.code == 0
    assert "copied to" in placed.out
    assert tk("ls", target, "--json").code == 0
    again = tk("copy", "--allow-secrets", bundle, target, "--trust", "--json")
    assert (again.code, again.result["entries"]) == (0, 0)
    left = {one["code"] for one in again.result["left"]}
    assert left == {"object-unproven"}, "objects that do not say for which CPU they are"
    assert again.result["exists"] + len(again.result["left"]) == made.result["entries"]


def test_with_an_entry_goes_what_it_needs(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    backward = next(
        entry for entry in tk("ls", kept_291, "--json", "--filter", "kind:aotautograd").objects
        if "backward" in entry["name"]
    )  # fmt: skip
    ran = tk(
        "copy", "--allow-secrets", kept_291, tmp_path / "t", "--filter", backward["key"], "--json"
    )
    assert ran.code == 0
    kinds = Counter(entry["kind"] for entry in tk("ls", tmp_path / "t", "--json").objects)
    assert kinds["aotautograd"] == 1
    assert kinds["fxgraph"] == 2
    assert kinds["code"] > 2
    assert not [e for e in tk("ls", tmp_path / "t", "--json").objects if e["orphan"]]


def test_only_what_a_filter_lets_through(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    only = ("--filter", "kind:fxgraph", "--alone", "--json")
    ran = tk("copy", "--allow-secrets", kept_291, tmp_path / "t", *only)
    assert (ran.code, ran.result["entries"]) == (0, 7)
    assert ran.result["what"] == "folder"
    assert [path.name for path in (tmp_path / "t").glob("[!.]*")] == ["fxgraph"]


def test_a_strangers_bundle_is_not_copied_unasked(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    tk("copy", "--allow-secrets", kept_291, tmp_path / "b.torchcache")
    ran = tk("copy", "--allow-secrets", tmp_path / "b.torchcache", tmp_path / "t")
    assert ran.code == 2
    assert "--trust" in ran.err
    assert not (tmp_path / "t").exists()


def test_what_goes_wrong_is_said(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    before = snapshot(kept_291)
    assert tk("copy", "--allow-secrets", "/nowhere", tmp_path / "t").code == 3
    onto = tk("copy", "--allow-secrets", kept_291, kept_291)
    assert onto.code == 1
    assert "onto itself" in onto.err
    (tmp_path / "there.torchcache").write_bytes(b"precious")
    ran = tk("copy", "--allow-secrets", kept_291, tmp_path / "there.torchcache")
    assert ran.code == 1
    assert "is there already" in ran.err
    nothing = tk("copy", "--allow-secrets", kept_291, tmp_path / "t", "--filter", "kind:autotune")
    assert nothing.code == 1
    assert "nothing to copy" in nothing.out + nothing.err
    assert snapshot(kept_291) == before


def damage(bundle: Path, suffix: str) -> str:
    """Change a byte in a member of a bundle; returns the member's name."""
    with zipfile.ZipFile(bundle) as archive:
        member = next(i for i in archive.infolist() if i.filename.endswith(suffix))
    with bundle.open("r+b") as stream:
        stream.seek(member.header_offset + 30 + len(member.filename) + member.file_size - 1)
        (byte,) = stream.read(1)
        stream.seek(-1, os.SEEK_CUR)
        stream.write(bytes([byte ^ 1]))
    return member.filename


@pytest.mark.torch
@pytest.mark.parametrize("suffix", [".main.so", ".cubin", ".py"])
@pytest.mark.slow
def test_what_is_damaged_in_a_bundle_is_left(
    tk: Tk, warm_cache: Path, kernels: Path, tmp_path: Path, bare_python: str, suffix: str
) -> None:
    # Only objects get other names from a torch, which takes seconds to be asked.
    env = {} if suffix == ".main.so" else {"TORCHKEEPER_TORCH_PYTHON": bare_python}
    shutil.copytree(kernels, warm_cache / "triton" / "0")
    bundle = tmp_path / "b.torchcache"
    tk("copy", "--allow-secrets", warm_cache, bundle, **env)
    name = damage(bundle, suffix).removeprefix("files/")
    home = Path(name).parent if suffix == ".cubin" else Path(name).with_name(Path(name).stem)
    ran = tk("copy", "--allow-secrets", bundle, tmp_path / "t", "--trust", "--json", **env)
    assert ran.code == 4
    assert [one["code"] for one in ran.result["left"]] == ["checksum-wrong"]
    gone = {path for path in (tmp_path / "t").rglob("*") if str(path).startswith(str(home))}
    assert not gone
    assert not (tmp_path / "t" / name).exists()
    assert not list((tmp_path / "t").rglob("*.tmp"))
    assert not list((tmp_path / "t").rglob("tmp.*"))
    again = tk("copy", "--allow-secrets", bundle, tmp_path / "again.torchcache", "--json", **env)
    assert (again.code, again.result["entries"]) == (4, ran.result["entries"])
    with zipfile.ZipFile(tmp_path / "again.torchcache") as archive:
        assert archive.testzip() is None
        assert f"files/{name}" not in archive.namelist()
    # Looking at it shows the damage, as ever.
    seen = tk("inspect", bundle, "--json", **env)
    assert seen.code == 1
    assert [e["problem"] for e in seen.objects if e.get("problem")] == ["checksum-wrong"]
