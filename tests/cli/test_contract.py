"""The contract for scripts: arguments, exit codes, where things are said."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import torchkeeper
from tests.cli.conftest import Tk
from tests.snapshots import snapshot
from torchkeeper.client.engines.process import Engine


def test_version(tk: Tk) -> None:
    ran = tk("--version")
    assert (ran.code, ran.out) == (0, f"torchkeeper {torchkeeper.__version__}\n")


@pytest.mark.parametrize(
    "command",
    ["places", "ls", "du", "show", "warm", "prepare", "copy", "export", "import", "inspect",
     "purge", "undo", "trash", "server", "ttl", "check", "env", "run", "runs", "jobs", "verify",
     "shots", "overview", "recover"],
)  # fmt: skip
def test_every_command_has_help(tk: Tk, command: str) -> None:
    ran = tk(command, "--help")
    assert ran.code == 0
    assert f"usage: torchkeeper {command}" in ran.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["ls"], 2), (["ls", "/tmp", "--sort", "colour"], 2), (["frobnicate"], 2),
        (["--frobnicate"], 2), (["export", "/tmp"], 2), (["import", "x"], 2),
        (["ls", "/nowhere"], 3), (["du", "/nowhere"], 3), (["show", "/nowhere", "x"], 3),
        (["purge", "/nowhere", "--yes"], 3), (["undo", "/nowhere"], 3), (["trash", "/nowhere"], 3),
        (["inspect", "/nowhere"], 3), (["import", "/nowhere", "--into", "/tmp", "--trust"], 3),
        (["export", "/nowhere", "-o", "/tmp/x"], 3),
        (["warm", "--into", "/tmp", "--env", "/nowhere"], 3), (["check"], 2),
        (["check", "/tmp", "--env", "/nowhere"], 3), (["env", "--env", "/nowhere"], 3),
        (["verify", "/nowhere"], 3), (["verify", "redis://h"], 2),
        (["prepare", "--env", "/nowhere"], 3), (["prepare", "--into", "redis://h"], 2),
        (["warm", "--into", "redis://h"], 2), (["import", "x", "--into", "redis://h"], 2),
        (["export", "/tmp", "-o", "redis://h"], 2), (["inspect", "redis://h"], 2),
        (["undo", "redis://h"], 2), (["trash", "redis://h"], 2),
        (["recover", "redis://h"], 2), (["recover", "/nowhere"], 3),
    ],
)  # fmt: skip
def test_wrong_usage_and_unreachable(tk: Tk, arguments: list[str], code: int) -> None:
    ran = tk(*arguments)
    assert ran.code == code
    assert ran.out == ""
    assert ran.err


def test_errors_say_what_why_and_remedy(tk: Tk) -> None:
    lines = tk("ls", "/nowhere").err.splitlines()
    assert lines == [
        "torchkeeper: There is no folder /nowhere.",
        "  It was removed, or the path is mistyped.",
        "  Check the path; “torchkeeper places” lists the caches of this machine.",
    ]


def test_locks_are_no_entries_and_are_listed_when_asked_for(tk: Tk, kept_291: Path) -> None:
    ran = tk("ls", kept_291)
    *_, summary, apart = ran.out.splitlines()
    assert summary.startswith("44 entries, ")
    assert " of content" in summary
    assert apart == "and 26 locks, 0 B of content: --all lists them, too"
    kinds = [row["kind"] for row in tk("ls", kept_291, "--json").objects]
    assert (len(kinds), "lock" in kinds) == (44, False)
    for asked in (("--all",), ("--filter", "kind:lock,pgo")):
        kinds = [row["kind"] for row in tk("ls", kept_291, *asked, "--json").objects]
        assert kinds.count("lock") == 26
    total = tk("du", kept_291, "--json").objects[-1]
    assert (total["entries"], total["locks"], total["headers"]) == (44, 26, 0)
    assert total["content_bytes"] == total["bytes"] < total["disk_bytes"]
    assert total["disk_bytes"] <= total["place_disk_bytes"]


def test_filters(tk: Tk, kept_291: Path) -> None:
    found = tk("ls", kept_291, "--filter", "kind:fxgraph size>100k", "--json")
    assert found.code == 0
    assert {e["kind"] for e in found.objects} == {"fxgraph"}
    assert all(e["size"] > 100_000 for e in found.objects)
    nothing = tk("ls", kept_291, "--filter", "kind:triton")
    assert (nothing.code, nothing.out) == (0, "0 entries, 0 files, 0 B of content\n")
    wrong = tk("ls", kept_291, "--filter", "kind:nonsense")
    assert wrong.code == 2
    assert "kind:nonsense" in wrong.err


def test_sorting(tk: Tk, kept_291: Path) -> None:
    sizes = [e["size"] for e in tk("ls", kept_291, "--sort", "size", "--json").objects]
    assert sizes == sorted(sizes, reverse=True)
    paths = [e["path"] for e in tk("ls", kept_291, "--sort", "path", "--json").objects]
    assert paths == sorted(paths)


def test_relative_paths(tk: Tk, fixture_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fixture_cache.parent)
    assert tk("export", "--allow-secrets", fixture_cache.name, "-o", "out.torchcache").code == 0
    assert (fixture_cache.parent / "out.torchcache").exists()
    assert tk("import", "out.torchcache", "--into", "new", "--trust").code == 0
    assert (fixture_cache.parent / "new" / "fxgraph").is_dir()


def test_show(tk: Tk, kept_291: Path) -> None:
    (one,) = tk("show", kept_291, "f3jp4pg", "--json").objects
    assert one["name"] == "sin_matmul(f32[100, 100] ×2): mm, sin"
    assert any(name == "torch_version" for _, name, _ in one["facts"]["factors"])
    assert one["file_list"][0]["path"] == one["path"]
    module, kernel = one["needs"]
    assert module[1] == one["facts"]["code_key"]
    assert (one["missing"], [kind for kind, _ in one["needed_by"]]) == ([], ["aotautograd"])
    text = tk("show", kept_291, "f3jp4pg").out
    assert f"needs:\n    code {module[1]}\n    code {kernel[1]}\nneeded by:\n" in text
    assert "torch.ops.aten.mm" in text
    assert "key factors: (393)" in text
    kernel = tk("show", kept_291, "cmnvkzanes", "--json").objects[0]
    assert kernel["name"] == "sin_matmul(f32[100, 100] ×2): cpp_fused_sin_0"
    assert kernel["torch"] == "2.9.1+cu128"
    assert "at::vec" in json.dumps(kernel["facts"]["sources"])
    assert tk("show", kept_291, "f").code == 2
    assert tk("show", kept_291, "zzz").code == 1


def test_orphans(tk: Tk, fixture_cache: Path) -> None:
    next((fixture_cache / "fxgraph").glob("*/f3jp4pg*/*")).unlink()
    listed = tk("ls", fixture_cache, "--filter", "is:orphan -kind:lock", "--json").objects
    reasons = ["graph-gone", "code-unnamed", "code-unnamed"]
    assert [row["orphan"] for row in listed] == reasons
    every = tk("ls", fixture_cache, "--json").objects
    assert len({(row["kind"], row["path"]) for row in every}) == len(every)
    said = tk("ls", fixture_cache, "--filter", "-kind:lock").out
    assert said.count("[orphan: code-unnamed]") == 2
    assert said.endswith("; 3 orphans\n")
    text = tk("show", fixture_cache, "ab74wcgv2bkh").out
    assert "orphan:     An FX graph that it needs is not in this place." in text
    assert "needs, and is not in this place:\n    fxgraph f3jp4pg" in text
    ran = tk("purge", fixture_cache, "--filter", "is:orphan -kind:lock", "--dry-run", "--json")
    assert ran.code == 0
    assert {row["path"] for row in ran.objects if "path" in row} == {r["path"] for r in listed}


def test_du_counts_orphans(tk: Tk, fixture_cache: Path) -> None:
    (graph, *_) = sorted((fixture_cache / "fxgraph").rglob("*/*/*"))
    graph.unlink()
    for folder, _, names in os.walk(fixture_cache):
        for name in names:
            os.utime(Path(folder) / name, (1e9, 1e9))

    def orphans() -> dict[str, object]:
        rows = tk("du", fixture_cache, "--json").objects
        assert [row["kind"] for row in rows[-3:]] == ["orphans", "trash", "total"]
        return dict(rows[-3])

    before = orphans()
    assert before["whole"] is False
    assert "Of these at least " in tk("du", fixture_cache).out
    listed = tk("ls", fixture_cache, "--all", "--json", "--filter", "is:orphan").objects
    locks = sum(row["kind"] == "lock" for row in listed)
    assert (before["entries"], before["locks"]) == (0, locks)
    size = sum(row["size"] for row in listed)
    after = orphans()
    assert after.pop("disk_bytes") >= size, "whole blocks"
    assert after == {
        "kind": "orphans",
        "entries": len(listed) - locks,
        "locks": locks,
        "headers": 0,
        "unknown": 0,
        "files": sum(row["files"] for row in listed),
        "bytes": size,
        "content_bytes": size,
        "whole": True,
    }
    assert {"lock", "code", "aotautograd"} == {row["kind"] for row in listed}
    said = f"Of these {len(listed) - locks} entries and {locks} locks that nothing needs, "
    assert said in tk("du", fixture_cache).out


def test_the_kinds_of_du_are_no_more_than_the_place(tk: Tk, fixture_cache: Path) -> None:
    """A file that is in two kinds by two names is on the disk once."""
    code = max(fixture_cache.rglob("*.so"), key=lambda path: path.stat().st_size)
    folder = fixture_cache / "triton" / "0" / ("A" * 52)
    folder.mkdir(parents=True)
    os.link(code, folder / "__grp__kernel.json")
    *kinds, _, _, total = tk("du", fixture_cache, "--json").objects
    assert {"code", "triton"} <= {row["kind"] for row in kinds}
    with Engine() as engine:
        whole = engine.call("du", {"place": str(fixture_cache)})["disk_bytes"]
    assert sum(row["disk_bytes"] for row in kinds) == whole >= total["disk_bytes"]


def test_du_of_some_of_a_place(tk: Tk, kept_291: Path) -> None:
    rows = tk("du", kept_291, "--json", "--filter", "kind:fxgraph,aotautograd").objects
    assert [row["kind"] for row in rows] == ["fxgraph", "aotautograd", "total"]
    # What AOTAutograd's entries tell has the time of their graphs in it.
    listed = tk("ls", kept_291, "--json", "--filter", "kind:aotautograd").objects
    whole = sum(entry["compile_s"] for entry in listed)
    assert rows[-1]["compile_s"] == pytest.approx(whole)
    said = tk("du", kept_291, "--filter", "kind:lock").out
    assert said.splitlines()[0].split() == ["KIND", "ENTRIES", "FILES", "CONTENT", "COMPILE"]
    assert said.splitlines()[-1].split()[-1] == "-"
    assert tk("du", kept_291, "--filter", "size>1T").code == 0


def test_du_of_a_bundle(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    tk("export", "--allow-secrets", kept_291, "-o", tmp_path / "b")
    kinds = {row["kind"] for row in tk("du", tmp_path / "b", "--json").objects}
    assert kinds == {"fxgraph", "aotautograd", "code", "pgo", "total"}


def test_import_needs_trust_without_a_terminal(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    tk("export", "--allow-secrets", kept_291, "-o", tmp_path / "b")
    ran = tk("import", tmp_path / "b", "--into", tmp_path / "t")
    assert ran.code == 2
    assert "code" in ran.err
    assert "sin_matmul" in ran.out, "it shows what is inside"
    assert not (tmp_path / "t").exists()


def test_filtered_export(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    out = tmp_path / "b"
    done = tk(
        "export", "--allow-secrets", kept_291, "-o", out, "--filter", "kind:fxgraph", "--json"
    ).result
    assert (done["entries"], done["files"], done["left"]) == (7, 7, [])
    nothing = tk(
        "export",
        "--allow-secrets",
        kept_291,
        "-o",
        tmp_path / "c",
        "--filter",
        "kind:lock",
        "--json",
    )
    assert nothing.code == 1


def test_export_of_damage_fails_but_goes_on(tk: Tk, fixture_cache: Path, tmp_path: Path) -> None:
    next(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file()).write_bytes(b"x")
    ran = tk("export", "--allow-secrets", fixture_cache, "-o", tmp_path / "b", "--json")
    assert ran.code == 4
    assert "entry-broken" in {one["code"] for one in ran.result["left"]}
    assert tk("inspect", tmp_path / "b").code == 0


def test_purge_needs_an_answer(tk: Tk, fixture_cache: Path) -> None:
    before = snapshot(fixture_cache)
    ran = tk("purge", fixture_cache)
    assert ran.code == 2
    assert "--yes" in ran.err
    assert snapshot(fixture_cache) == before
    nothing = tk("purge", fixture_cache, "--yes", "--filter", "nothing-like-it")
    assert (nothing.code, nothing.out) == (0, "Nothing matches.\n")


def test_purge_now_and_trash(tk: Tk, fixture_cache: Path) -> None:
    now = tk("purge", fixture_cache, "--yes", "--now", "--filter", "kind:pgo", "--json").result
    assert (now["entries"], now["receipt"]) == (1, None)
    assert tk("undo", fixture_cache).code == 1
    tk("purge", fixture_cache, "--yes", "--filter", "kind:fxgraph")
    assert tk("trash", fixture_cache, "--json").result["entries"] == 7
    assert tk("trash", fixture_cache, "--empty").code == 2
    assert tk("trash", fixture_cache, "--empty", "--yes", "--json").result["entries"] == 7
    assert tk("trash", fixture_cache, "--json").result["entries"] == 0


def test_places_by_the_rules_of_pytorch(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    folders = {"TORCHINDUCTOR_CACHE_DIR": str(kept_291), "TRITON_CACHE_DIR": str(tmp_path / "tri"),
               "TMPDIR": str(tmp_path)}  # fmt: skip
    rows = tk("places", "--json", **folders).objects
    assert rows[0]["path"] == str(kept_291)
    assert rows[0]["reason"] == "TORCHINDUCTOR_CACHE_DIR"
    assert (rows[0]["entries"], rows[0]["locks"]) == (44, 26)
    assert {r["reason"] for r in rows} >= {"default", "TRITON_CACHE_DIR", "triton-default"}
    default = next(r for r in rows if r["reason"] == "default")
    assert default["path"].startswith(str(tmp_path / "torchinductor_"))
    assert not list(tmp_path.iterdir())


def test_unreadable_folders_are_named(tk: Tk, fixture_cache: Path) -> None:
    closed = fixture_cache / "fxgraph"
    closed.chmod(0)
    try:
        if os.access(closed, os.R_OK):
            pytest.skip("permissions do not bind this user")
        ran, summed = (tk(command, fixture_cache, "--json") for command in ("ls", "overview"))
    finally:
        closed.chmod(0o755)
    for one in (ran, summed):
        assert one.code == 4
        assert "fxgraph cannot be read" in one.err
    assert len(ran.objects) > 40
    assert 40 < summed.result["entries"] < 70


def test_names_that_are_not_text(tk: Tk, fixture_cache: Path) -> None:
    place = fixture_cache
    before = len(tk("ls", place, "--all").out.splitlines())
    name = b"caf\xe9\n\x1b[31m"
    os.close(os.open(os.path.join(os.fsencode(place), name), os.O_CREAT))
    ran = tk("ls", place, "--all")
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert len(ran.out.splitlines()) == before + 1
    assert " and 1 unknown file, 0 B of content" in ran.out.splitlines()[-1]
    (entry,) = tk("ls", place, "--json", "--filter", "kind:unknown").objects
    assert os.fsencode(entry["path"]) == name
    there = os.path.join(os.fsencode(place), name)
    assert tk("purge", place, "--yes", "--filter", "kind:unknown", "--unknown-too").code == 0
    assert not os.path.lexists(there)
    assert tk("undo", place).code == 0
    assert os.path.lexists(there)


def test_output_that_nobody_reads_to_the_end(kept_291: Path) -> None:
    import subprocess
    import sys

    command = f"{sys.executable} -m torchkeeper ls {kept_291} | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_place_that_is_removed(tk: Tk, fixture_cache: Path) -> None:
    shutil.rmtree(fixture_cache)
    assert tk("ls", fixture_cache).code == 3


def test_a_filter_may_start_with_a_dash(tk: Tk, kept_291: Path) -> None:
    found = tk("ls", kept_291, "--filter", "-kind:lock", "--json").objects
    assert found
    assert "lock" not in {e["kind"] for e in found}


def test_empty_shell_variables_are_no_places_and_no_filters(tk: Tk, fixture_cache: Path) -> None:
    before = snapshot(fixture_cache)
    assert tk("purge", "", "--yes").code == 2
    assert tk("purge", fixture_cache, "--yes", "--filter", "").code == 2
    assert snapshot(fixture_cache) == before


def test_a_folder_that_is_no_cache_is_not_purged_whole(tk: Tk, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("x")
    ran = tk("purge", tmp_path, "--yes")
    assert ran.code == 1
    assert "is not a cache" in ran.err
    named = tk("purge", tmp_path, "--yes", "--filter", "kind:unknown", "--unknown-too")
    assert (named.code, "is not a cache" in named.err) == (1, True)
    assert (tmp_path / "thesis" / "chapter1.tex").read_text() == "x"


def test_an_export_of_nothing_keeps_the_old_bundle(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    (tmp_path / "b").write_text("old")
    assert (
        tk(
            "export", "--allow-secrets", kept_291, "-o", tmp_path / "b", "--filter", "kind:triton"
        ).code
        == 1
    )
    assert (tmp_path / "b").read_text() == "old"


def test_variables_may_name_folders_relative_to_here(
    tk: Tk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    (first, *_) = tk("places", "--json", TORCHINDUCTOR_CACHE_DIR="here").objects
    assert (first["path"], first["exists"]) == (str(tmp_path / "here"), True)


@pytest.mark.parametrize("redirect", [">&-", "> /dev/full", "2>&-"])
def test_outputs_that_cannot_be_written(kept_291: Path, redirect: str) -> None:
    import subprocess
    import sys

    command = f"{sys.executable} -m torchkeeper ls {kept_291} {redirect}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr + done.stdout


@pytest.mark.slow
def test_warming_touches_nothing_that_is_not_a_caches(tk: Tk, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libm.so").write_text("GROUP ( libm.so.6 )")
    (tmp_path / "foo_CxxBuild").mkdir()
    (tmp_path / "foo_CxxBuild" / "mine").touch()
    before = snapshot(tmp_path)
    assert tk("warm", "--into", tmp_path, "--device", "no-such-device").code == 1
    assert snapshot(tmp_path, times=False) == {k: v[:2] for k, v in before.items()}
