"""Objects that another environment built: under the names of this one, or left out with why."""

from __future__ import annotations

import shlex
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tk
from tests.snapshots import snapshot
from tests.ssh.elsewhere import ANYWHERE
from tests.stores.building import pairs
from tests.stores.bundles.test_bundle import edit
from torchkeeper.artifacts.code import key_of
from torchkeeper.cli import leaving
from torchkeeper.client.engines import interpreters, probes
from torchkeeper.client.engines.process import Engine


def moved(cache: Path, native: Any) -> tuple[Any, int]:
    """Name all objects of a cache as torch would have done at another path; what a probe there
    would have told of how it builds, and how many have another name.
    """
    commands = [
        {**one, "extra": one["extra"].replace(" -I/", " -I/elsewhere/")}
        for one in native["commands"]
    ]
    count = 0
    for source in pairs(cache):
        old, _, _ = source.name.partition(".")
        text = source.read_text()
        [(there, here)] = [
            (there["extra"], here["extra"])
            for there, here in zip(commands, native["commands"], strict=True)
            if key_of(text, here["extra"]) == old
        ]
        count += there != here
        key = key_of(text, there)
        (cache / key[1:3]).mkdir(exist_ok=True)
        for file in (source, source.with_suffix(".so")):
            file.rename(cache / key[1:3] / file.name.replace(old, key))
    return {**native, "commands": commands}, count


def test_where_nothing_is_built_no_torch_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(probes, "environment", asked.append)
    monkeypatch.setattr(interpreters, "chosen", lambda *_: "/python")
    (tmp_path / "ab").mkdir()
    (tmp_path / "ab" / "cab.cpp").touch()
    assert leaving.maker_of(Namespace(env=None, json=False), str(tmp_path)) is None
    assert not asked
    leaving.maker_of(Namespace(env="/python", json=False), str(tmp_path))
    (tmp_path / "ab" / "cab.so").touch()
    leaving.maker_of(Namespace(env=None, json=False), str(tmp_path))
    leaving.maker_of(Namespace(env=None, json=False))
    assert asked == ["/python"] * 3


@ANYWHERE
@pytest.mark.torch
@pytest.mark.slow
def test_objects_of_a_torch_elsewhere_get_the_names_of_this_one(
    tk: Tk, filled: Path, warm_cache: Path, tmp_path: Path, torch_python: str
) -> None:
    builders, count = moved(warm_cache, probes.probe(torch_python)["native"])
    assert count >= 5
    bundle, other = tmp_path / "b.torchcache", tmp_path / "other.torchcache"
    with Engine() as engine:
        params = {"place": str(warm_cache), "output": str(bundle), "builders": builders}
        done = engine.call("export", params)
        [about] = engine.call("origin", {"files": [str(bundle)]})["files"]
    # Only kernels name folders; checks of the compiler do not.
    assert (about["unportable"], about["portable"]) == (count, 0)
    assert done["described"] == done["objects"] == len(pairs(warm_cache))
    target = tmp_path / "t"
    ran = tk("import", bundle, "--into", target, "--trust", "--env", torch_python)
    assert ran.code == 0
    assert ran.err.startswith("PyTorch precompiles a C++ header")
    assert ran.err.endswith(
        f"torchkeeper prepare --env {shlex.quote(torch_python)}\n"
        f"“torchkeeper undo {target}” takes it back.\n"
    )
    assert f"; {count} objects renamed for this environment\n" in ran.out
    wanted = {p: a[1] for p, a in snapshot(filled, times=False).items() if a[1]}
    there = {p: a[1] for p, a in snapshot(target, times=False).items() if a[1]}
    assert there == {p: c for p, c in wanted.items() if not p.endswith(".lock")}

    def lie(said: Any) -> None:
        said["native"] |= {"torch": "2.8.0", "threads": 64}
        said["made_in"]["threads"] = 64

    edit(bundle, other, lie)
    left = tk("import", other, "--into", tmp_path / "o", "--trust", "--env", torch_python)
    assert left.code == 0
    assert f"and {len(pairs(warm_cache)) - 1} more: It was built for another torch." in left.err
    assert "It was built for 2.8.0; here is 2.13.0" in left.err
    assert "OMP_NUM_THREADS=64" in left.err
    assert not list((tmp_path / "o").rglob("*.so"))
    assert (tmp_path / "o" / "fxgraph").is_dir()


@pytest.mark.slow
def test_without_a_torch_everything_works_and_it_is_said(
    tk: Tk, kept_291: Path, tmp_path: Path, bare_python: str
) -> None:
    env = {"TORCHKEEPER_TORCH_PYTHON": bare_python}
    bundle = tmp_path / "b.torchcache"
    ran = tk("export", "--allow-secrets", kept_291, "-o", bundle, **env)
    assert ran.code == 0
    assert "The bundle cannot say how 25 objects were built: that takes an interp" in ran.err
    again = tk("export", "--allow-secrets", bundle, "-o", tmp_path / "again.torchcache", **env)
    assert again.code == 0
    assert "The bundle does not say how 25 objects were built." in again.err
    inside = tk("inspect", bundle, **env)
    assert "  objects  25, without how they were built\n" in inside.out
    done = tk("import", bundle, "--into", tmp_path / "t", "--trust", "--json", **env)
    assert done.code == 0
    assert done.result["env"] is None
    assert {one["code"] for one in done.result["left"]} == {"object-unproven"}


def test_no_torch_is_asked_about_a_place_that_is_not_there(tk: Tk, tmp_path: Path) -> None:
    """To ask one takes seconds, and runs what that interpreter has in it."""
    asked, python = tmp_path / "asked", tmp_path / "python"
    python.write_text(f"#!/bin/sh\n: > {shlex.quote(str(asked))}\nexit 1\n")
    python.chmod(0o755)
    for more in ((), ("--dry-run",)):
        argv = ("export", tmp_path / "none", "-o", tmp_path / "b", *more)
        ran = tk(*argv, TORCHKEEPER_TORCH_PYTHON=str(python))
        assert ran.code == 3 and "There is no folder" in ran.err
    assert not asked.exists()
