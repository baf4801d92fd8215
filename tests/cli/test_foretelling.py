"""export, import and purge say beforehand what they would do, and then do that."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.cli.conftest import Tk
from tests.pace import LONG
from tests.snapshots import snapshot
from tests.ssh.elsewhere import ANYWHERE
from torchkeeper.cli.main import run
from torchkeeper.client.engines.process import Engine


@pytest.fixture
def bundle(tk: Tk, kept_291: Path, tmp_path: Path) -> Path:
    tk("export", "--allow-secrets", kept_291, "-o", tmp_path / "b.torchcache")
    return tmp_path / "b.torchcache"


@ANYWHERE
def test_export_dry_run_foretells_the_bundle(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    out = tmp_path / "b.torchcache"
    said = tk("export", "--allow-secrets", kept_291, "-o", out, "--dry-run", "--json")
    assert (said.code, list(tmp_path.iterdir())) == (0, [])
    done = tk("export", "--allow-secrets", kept_291, "-o", out, "--json").result
    for name in ("entries", "files", "bytes", "size", "output", "left"):
        assert said.result[name] == done[name], name
    assert said.result["what"] == "missing"
    assert said.result["space"]["free"] > 0
    assert said.result["torches"][0][0] == "2.9.1+cu128"
    text = tk("export", "--allow-secrets", kept_291, "-o", out, "--dry-run")
    assert text.code == 0
    assert "would be replaced" in text.out
    assert "fxgraph      7 entries" in text.out
    assert text.out.splitlines()[-1].startswith("Would write ")


@ANYWHERE
def test_export_replaces_nothing_where_told_so(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    (tmp_path / "b").write_text("mine")
    ran = tk("export", "--allow-secrets", kept_291, "-o", tmp_path / "b", "--no-clobber")
    assert (ran.code, (tmp_path / "b").read_text()) == (1, "mine")
    assert "is there already" in ran.err
    assert (
        "stays"
        in tk(
            "export", "--allow-secrets", kept_291, "-o", tmp_path / "b", "--no-clobber", "--dry-run"
        ).out
    )
    assert tk("export", "--allow-secrets", kept_291, "-o", tmp_path / "b").code == 0


@ANYWHERE
def test_export_dry_run_of_nothing(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    ran = tk(
        "export",
        "--allow-secrets",
        kept_291,
        "-o",
        tmp_path / "b",
        "--filter",
        "kind:triton",
        "--dry-run",
    )
    assert (ran.code, ran.out) == (1, "There is nothing to export.\n")


@ANYWHERE
@pytest.mark.slow
def test_import_dry_run_foretells_and_changes_nothing(
    tk: Tk, bundle: Path, fixture_cache: Path, tmp_path: Path
) -> None:
    for path in [p for p in (fixture_cache / "aotautograd").rglob("*") if p.is_file()]:
        path.unlink()
    built, other = sorted(fixture_cache.rglob("*.main.so"))[:2]
    built.write_bytes(other.read_bytes())
    before = snapshot(fixture_cache)
    said = tk("import", bundle, "--into", fixture_cache, "--dry-run", "--json")
    assert said.code == 0
    assert snapshot(fixture_cache) == before
    outcomes = [one["outcome"] for one in said.objects[:-1]]
    assert outcomes.count("differs") == said.result["differs"]["entries"] == 1
    assert outcomes.count("new") == said.result["new"]["entries"] == said.result["entries"]
    assert outcomes.count("there") == said.result["exists"]
    assert {one["kind"] for one in said.objects[:-1] if one["outcome"] == "new"} == {"aotautograd"}
    assert [one["code"] for one in said.result["left"]] == ["key-taken"]
    assert said.result["made_by"] == {"2.9.1+cu128": 11}
    torch = said.result["judged_by"]["torch"]
    done = tk("import", bundle, "--into", fixture_cache, "--trust", "--json").result
    for name in ("entries", "files", "bytes", "exists", "left"):
        assert said.result[name] == done[name], name
    again = tk("import", bundle, "--into", fixture_cache, "--dry-run")
    assert again.code == 0
    assert "Nothing in it is new" in again.out
    assert "what is there is kept" in again.out
    assert f"; 32 without a verdict (torch {torch}, " in again.out
    nothing = f"No entry in it is known to work here with torch {torch}.\n"
    assert again.err.startswith(nothing)
    inside = tk("inspect", bundle, "--json")
    assert inside.result["verdicts"] == said.result["verdicts"]
    stale = [one["kind"] for one in inside.objects[:-1] if one["verdict"] == "stale"]
    assert len(stale) == 11 and set(stale) == {"fxgraph", "aotautograd"}
    new = tmp_path / "not" / "yet"
    assert "  new      " in tk("import", bundle, "--into", new, "--dry-run").out
    assert not new.parent.exists()


@pytest.mark.slow
def test_import_says_what_is_new_before_it_asks(
    kept_291: Path, bundle: Path, tmp_path: Path
) -> None:
    """On a real terminal; the answer is no."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "torchkeeper", "import", str(bundle)]
    with subprocess.Popen(
        [*command, "--into", str(tmp_path / "t")],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        os.close(theirs)
        os.write(ours, b"n\n")
        out, err = process.communicate(timeout=LONG)
    os.close(ours)
    # The others are objects of which nothing tells for which CPU they were built.
    assert "  new      19 entries" in out
    assert "  disk     needs" in out
    assert err.endswith("Nothing was imported.\n")
    assert process.returncode == 1
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("how", ["import", "copy"])
def test_who_can_change_the_target_is_said_before_the_question(
    how: str, bundle: Path, among: Path
) -> None:
    """And once, where the answer is yes."""
    into = among / "t"
    into.mkdir()
    into.chmod(0o777)
    words = (
        ["import", bundle, "--into", into]
        if how == "import"
        else ["copy", bundle, into, "--allow-secrets"]
    )
    for answer in ("n", "y"):
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "torchkeeper", *map(str, words)]
        with subprocess.Popen(
            command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            os.close(theirs)
            os.write(ours, f"{answer}\n".encode())
            _, err = process.communicate(timeout=LONG)
        os.close(ours)
        before, asked, after = err.partition(f"{how.capitalize()} ")
        warning = f"Everybody may write to {into}."
        assert asked and (before.count(warning), after.count(warning)) == (1, 0), err
        assert bool(list(into.iterdir())) == (answer == "y")


@ANYWHERE
@pytest.mark.slow
def test_several_files_are_placed_together(
    tk: Tk, bundle: Path, kernels: Path, tmp_path: Path
) -> None:
    more, into = tmp_path / "k.torchcache", tmp_path / "t"
    tk("export", "--allow-secrets", kernels, "-o", more)
    said = tk("import", bundle, more, bundle, "--into", into, "--dry-run", "--json")
    assert said.code == 0
    assert not into.exists()
    assert [one["outcome"] for one in said.objects[:-1] if one["kind"] == "triton"] == ["new"] * 2
    told = said.result
    assert (told["entries"], told["exists"], told["doubles"]) == (21, 0, 19)
    (tmp_path / "no").write_text("no bundle")
    bad = tk("import", bundle, tmp_path / "no", "--into", into, "--trust")
    assert (bad.code, into.exists()) == (1, False)
    done = tk("import", bundle, more, bundle, "--into", into, "--trust", "--json").result
    assert (done["entries"], done["exists"], done["doubles"]) == (21, 0, 19)


def test_commands_that_show_no_rows_want_none(fixture_cache: Path) -> None:
    asked: list[tuple[str, object]] = []
    call = Engine.call

    def heard(engine: Engine, op: str, params: Any, *more: Any) -> Any:
        asked.append((op, params.get("rows")))
        return call(engine, op, params, *more)

    with patch.object(Engine, "call", heard):
        for command in (["purge", "--dry-run"], ["purge", "--yes"], ["undo"]):
            assert run([*command[:1], str(fixture_cache), *command[1:]]) == 0
    told = {"plan_purge": [True, False], "undo": [False]}
    assert {op: [rows for one, rows in asked if one == op] for op in told} == told
