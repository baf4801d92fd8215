"""torchkeeper copy, as scripts use it."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Tk
from tests.snapshots import snapshot


def test_folder_to_bundle_to_folder(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    bundle, target = tmp_path / "b.torchcache", tmp_path / "t"
    foretold = tk("copy", kept_291, bundle, "--dry-run", "--json")
    assert foretold.code == 0
    assert not bundle.exists()
    made = tk("copy", kept_291, bundle, "--json")
    assert made.code == 0
    assert made.result["what"] == "bundle"
    assert made.result["entries"] == foretold.result["entries"] > 0
    assert {one["code"] for one in made.result["left"]} == {"kind-not-portable"}
    placed = tk("copy", bundle, target, "--trust")
    assert placed.code == 0
    assert "copied to" in placed.out
    assert tk("ls", target, "--json").code == 0
    again = tk("copy", bundle, target, "--trust", "--json")
    assert (again.code, again.result["entries"]) == (0, 0)
    assert again.result["exists"] == made.result["entries"]


def test_only_what_a_filter_lets_through(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    ran = tk("copy", kept_291, tmp_path / "t", "--filter", "kind:fxgraph", "--json")
    assert (ran.code, ran.result["entries"]) == (0, 7)
    assert ran.result["what"] == "folder"
    assert [path.name for path in (tmp_path / "t").iterdir()] == ["fxgraph"]


def test_a_strangers_bundle_is_not_copied_unasked(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    tk("copy", kept_291, tmp_path / "b.torchcache")
    ran = tk("copy", tmp_path / "b.torchcache", tmp_path / "t")
    assert ran.code == 2
    assert "--trust" in ran.err
    assert not (tmp_path / "t").exists()


def test_what_goes_wrong_is_said(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    before = snapshot(kept_291)
    assert tk("copy", "/nowhere", tmp_path / "t").code == 3
    onto = tk("copy", kept_291, kept_291)
    assert onto.code == 1
    assert "onto itself" in onto.err
    (tmp_path / "there.torchcache").write_bytes(b"precious")
    ran = tk("copy", kept_291, tmp_path / "there.torchcache")
    assert ran.code == 1
    assert "is there already" in ran.err
    nothing = tk("copy", kept_291, tmp_path / "t", "--filter", "kind:autotune")
    assert nothing.code == 1
    assert "nothing to copy" in nothing.out + nothing.err
    assert snapshot(kept_291) == before
