"""Only what an environment can use is taken from a bundle that holds entries for several."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Tk


def _graphs(tk: Tk, place: Path) -> set[str]:
    rows = tk("ls", place, "--filter", "kind:fxgraph", "--json").objects
    return {row["key"] for row in rows}


@pytest.mark.slow
@pytest.mark.torch
def test_import_and_copy_take_what_is_usable(
    tk: Tk, filled: Path, kept_291: Path, tmp_path: Path, torch_python: str
) -> None:
    bundle = tmp_path / "both.torchcache"
    made = tk("export", filled, kept_291, "-o", bundle, "--allow-secrets")
    assert made.code == 0, made.err
    here, there = _graphs(tk, filled), _graphs(tk, kept_291)
    assert here
    assert there
    only = ["--only", "usable", "--env", torch_python]
    shown = tk("import", bundle, "--into", tmp_path / "i", *only, "--dry-run", "--json")
    assert shown.code == 0, shown.err
    assert not (tmp_path / "i").exists()
    ran = tk("import", bundle, "--into", tmp_path / "i", *only, "--trust", "--json")
    assert ran.code == 0, ran.err
    assert ran.result["entries"] == shown.result["entries"]
    assert _graphs(tk, tmp_path / "i") == here
    left = {one["code"] for one in ran.result["left"]}
    assert "not-usable" in left
    # What needs nothing of another torch is there, as it is without.
    kinds = {row["kind"] for row in tk("ls", tmp_path / "i", "--json").objects}
    assert kinds >= {row["kind"] for row in tk("ls", filled, "--json").objects} - {"header", "lock"}
    assert tk("copy", bundle, tmp_path / "c", *only, "--trust").code == 0
    assert _graphs(tk, tmp_path / "c") == here
    assert tk("import", bundle, "--into", tmp_path / "all", "--trust").code == 0
    assert _graphs(tk, tmp_path / "all") == here | there


def test_without_an_environment_nobody_knows(
    tk: Tk, kept_291: Path, tmp_path: Path, bare_python: str
) -> None:
    bundle = tmp_path / "b.torchcache"
    assert tk("export", kept_291, "-o", bundle, "--allow-secrets").code == 0
    only = ["--only", "usable", "--env", bare_python, "--trust"]
    ran = tk("import", bundle, "--into", tmp_path / "i", *only)
    assert ran.code == 3
    assert not (tmp_path / "i").exists()


@pytest.mark.torch
def test_of_what_nobody_can_use_nobody_asks_whether_it_is_trusted(
    tk: Tk, kept_291: Path, tmp_path: Path, torch_python: str
) -> None:
    bundle, into = tmp_path / "b.torchcache", tmp_path / "i"
    words = ["export", kept_291, "-o", bundle, "--allow-secrets", "--filter", "kind:fxgraph"]
    assert tk(*words).code == 0
    asked = ["import", bundle, "--into", into, "--only", "usable", "--env", torch_python]
    ran, trusted = tk(*asked), tk(*asked, "--trust")
    assert (ran.code, ran.out.splitlines()[-1]) == (trusted.code, trusted.out.splitlines()[-1])
    assert "trust" not in ran.err
    assert not into.exists() or not _graphs(tk, into)
    assert "--trust" in tk(*asked[:4], "--env", torch_python).err, "of what is taken it is asked"
