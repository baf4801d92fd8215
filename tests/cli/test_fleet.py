"""Fleets from the command line: a file is run, run again, changed; what cannot be done is said."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Tk
from tests.conftest import once
from tests.pace import LONG
from tests.ssh.conftest import ITEM, KERNELS
from torchkeeper.cli import contract

_RECIPE = """\
name = "twice"
[[callable]]
function = "twice.py:twice"
inputs = [{{ shape = ["size"] }}]
[matrix]
size = {sizes}
[compile]
dynamic = false
"""
_MODEL = "def twice(x):\n    return x * 2 + 1\n"
_FILE = """\
recipes = ["recipes"]
on = ["local"]
into = "cache"
also = ["out.torchcache"]
prove = true
jobs = 2
state = "st"
report = "fleet.html"
secrets = "allow"
[compile]
threads = 1
[retention]
after = "0s"
"""


def _sizes(folder: Path, sizes: list[int]) -> None:
    (folder / "recipes" / "twice.toml").write_text(_RECIPE.format(sizes=sizes))


@pytest.fixture(scope="session")
def ran(shared: Path, torch_python: str, header_folder: Path) -> Path:
    """A folder with a fleet file that was run: two cells on this machine, each a unit of its own.
    ``said`` has what the run printed. Not to be changed.
    """

    def make(folder: Path) -> None:
        (folder / "recipes").mkdir()
        (folder / "recipes" / "twice.py").write_text(_MODEL)
        _sizes(folder, [8, 12])
        (folder / "fleet.toml").write_text(_FILE)
        env = {
            **os.environ, "TORCHKEEPER_TORCH_PYTHON": torch_python, "TMPDIR": str(header_folder),
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "torchkeeper", "fleet", "run", "fleet.toml", "--json"],
            cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=LONG,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        (folder / "said").write_text(done.stdout)

    return once(shared, "fleet-ran", make)


@pytest.fixture
def fleet(ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torch_python: str) -> Path:
    """A copy of that folder."""
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", torch_python)
    return Path(shutil.copytree(ran, tmp_path / "fleet"))


@pytest.mark.torch
def test_a_run_compiles_proves_and_publishes(tk: Tk, ran: Path) -> None:
    told = [json.loads(line) for line in (ran / "said").read_text().splitlines()]
    cells = [one["cell"] for one in told if "cell" in one]
    assert [(one["name"].split()[-1], one["state"]) for one in cells] == [
        ("8", "proven"), ("12", "proven"),
    ]  # fmt: skip
    assert all(one["hits"] >= 1 and one["misses"] == one["rebuilt"] == 0 for one in cells)
    assert [one["node"]["state"] for one in told if "node" in one] == ["ready"]
    result = told[-1]["result"]
    assert (result["compiled"], result["there"], result["cut"]) == (2, 0, False)
    assert result["pruned"] == {"entries": 0, "bytes": 0}
    assert [os.path.basename(one) for one in result["copied"]] == ["out.torchcache"]
    graphs = tk("ls", ran / "out.torchcache", "--filter", "kind:fxgraph", "--json").objects
    assert len(graphs) == 2
    page = (ran / "fleet.html").read_text()
    assert "All 2 cells are proven" in page
    assert "out.torchcache" in page


@pytest.mark.torch
def test_the_second_run_compiles_nothing_and_a_status_hits(tk: Tk, fleet: Path) -> None:
    (fleet / "fleet.html").unlink()
    again = tk("fleet", "run", "fleet.toml", "--json", cwd=fleet)
    assert again.code == 0, again.err
    assert (again.result["compiled"], again.result["there"]) == (0, 2)
    assert again.result["states"]["proven"] == 2
    assert (fleet / "fleet.html").is_file()
    status = tk("fleet", "status", "fleet.toml", "--json", cwd=fleet)
    assert status.code == 0
    assert status.objects[0] == {
        "node": "local", "hits": True, "cells": 2, "proven": 2, "warm": 0, "changed": [],
        "why": None,
    }  # fmt: skip
    said = tk("fleet", "status", "fleet.toml", cwd=fleet)
    assert "hits" in said.out
    assert "misses" not in said.err
    shown = tk("fleet", "run", "fleet.toml", "--dry-run", cwd=fleet)
    assert (shown.code, shown.out.splitlines()[-1]) == (0, "2 cells, 2 of them there.")


@pytest.mark.torch
def test_a_status_says_what_misses_and_what_has_changed(tk: Tk, fleet: Path) -> None:
    before = sorted((fleet / "cache").rglob("*"))
    text = (fleet / "recipes" / "twice.toml").read_text()
    (fleet / "recipes" / "twice.toml").write_text(text.replace("[8, 12]", "[8, 12, 16]"))
    kept = fleet / "st" / "nodes.json"
    told = json.loads(kept.read_text())
    told["local"] |= {"torch": "2.0.0"}
    kept.write_text(json.dumps(told))
    status = tk("fleet", "status", "fleet.toml", "--json", cwd=fleet)
    assert status.code == 1
    node = status.objects[0]
    assert (node["hits"], node["cells"], node["proven"]) == (False, 3, 2)
    assert node["changed"][0].startswith("torch 2.0.0 → ")
    said = tk("fleet", "status", "fleet.toml", cwd=fleet)
    assert "misses 1" in said.out
    assert "recipe twice" in said.out
    assert "fleet.toml” compiles what misses." in said.err
    (fleet / "recipes" / "twice.py").write_text(_MODEL.replace("+ 1", "+ 2"))
    node = tk("fleet", "status", "fleet.toml", "--json", cwd=fleet).objects[0]
    assert set(node["changed"][1:]) == {"recipe twice", "twice.py"}
    assert sorted((fleet / "cache").rglob("*")) == before, "it only looks"


@pytest.mark.torch
def test_what_is_not_asked_for_any_more_goes_to_the_trash_and_comes_back(
    tk: Tk, fleet: Path
) -> None:
    place = fleet / "cache"
    stranger = place / "notes.txt"
    stranger.write_text("mine")
    before = {(row["kind"], row["key"]) for row in tk("ls", place, "--json").objects}
    _sizes(fleet, [12])
    run = tk("fleet", "run", "fleet.toml", "--json", cwd=fleet)
    assert run.code == 0, run.err
    assert run.result["compiled"] == 0
    assert run.result["pruned"]["entries"] >= 1
    after = {(row["kind"], row["key"]) for row in tk("ls", place, "--json").objects}
    gone = before - after
    # A record of AOTAutograd's goes with its graph.
    assert sorted(kind for kind, _ in gone if kind in ("fxgraph", "aotautograd")) == [
        "aotautograd", "fxgraph",
    ]  # fmt: skip
    kept = tk("ls", fleet / "out.torchcache", "--filter", "kind:fxgraph", "--json").objects
    assert len(kept) == 1, "what no cell needs does not go along"
    made = (fleet / "out.torchcache").stat()
    assert stranger.read_text() == "mine"
    # The cell that is asked for has all that it had.
    status = tk("fleet", "status", "fleet.toml", "--json", cwd=fleet)
    assert (status.code, status.objects[0]["proven"]) == (0, 1)
    second = tk("fleet", "run", "fleet.toml", "--json", cwd=fleet)
    assert second.result["pruned"] == {"entries": 0, "bytes": 0}
    assert second.result["copied"] == run.result["copied"]
    assert (fleet / "out.torchcache").stat().st_mtime_ns == made.st_mtime_ns, "nothing has changed"
    while tk("undo", place).code == 0:
        pass
    assert {(row["kind"], row["key"]) for row in tk("ls", place, "--json").objects} == before


@pytest.mark.torch
def test_nothing_goes_while_a_node_is_away(tk: Tk, fleet: Path) -> None:
    text = (fleet / "fleet.toml").read_text()
    nowhere = 'on = ["local", "ssh://nobody@localhost:1"]'
    (fleet / "fleet.toml").write_text(text.replace('on = ["local"]', nowhere))
    _sizes(fleet, [12])
    run = tk("fleet", "run", "fleet.toml", "--json", cwd=fleet)
    assert run.code == 0, run.err
    assert run.result["pruned"] is None
    assert "not every node is there" in run.err
    status = tk("fleet", "status", "fleet.toml", "--json", cwd=fleet)
    assert status.code == 4
    assert [one["hits"] for one in status.objects[:-1]] == [True, False]
    nodes = tk("fleet", "nodes", "local", "ssh://nobody@localhost:1", "--json")
    assert nodes.code == 4
    assert [one["node"]["state"] for one in nodes.objects[:-1]] == ["ready", "unusable"]
    assert "takes no connection" in tk("fleet", "nodes", "ssh://nobody@localhost:1").err


def test_a_machine_without_ssh_is_told_how_it_is_written(tk: Tk) -> None:
    tk("hosts", "add", "gpu1")
    said = tk("fleet", "nodes", "gpu1")
    assert said.code == 2
    assert "If gpu1 is a machine, write ssh://gpu1." in said.err


def test_why_a_node_cannot_be_used_is_said_in_sentences(tk: Tk, tmp_path: Path) -> None:
    """What ssh says has no full stop."""
    (tmp_path / "add.toml").write_text(ITEM.format("kernels", "cuda:90"))
    (tmp_path / "kernels.py").write_text(KERNELS)
    to = ("--on", "ssh://nobody@localhost:1", "--into", tmp_path / "cache", "--dry-run")
    assert "onnection refused. Check the port" in tk("warm", tmp_path / "add.toml", *to).err


@pytest.mark.torch
def test_what_no_node_can_do_is_said_before_anything_starts(tk: Tk, fleet: Path) -> None:
    words = ["warm", fleet / "recipes", "--on", "local", "--into", fleet / "w", "--device", "xpu"]
    shown = tk(*words, "--dry-run")
    assert shown.code == 1
    assert "2 not possible" in shown.out
    # As it goes and at the end, each time once for all that have the same reason.
    assert shown.err.count("No node has xpu") == 2
    assert ", and 1 more" in shown.err
    ran = tk(*words, "--state", fleet / "s2", "--json")
    assert ran.code == 1
    assert [one["cell"]["problem"]["params"] for one in ran.objects if "cell" in one] == [
        {"what": "xpu"}, {"what": "xpu"},
    ]  # fmt: skip
    assert not (fleet / "w").exists()


def test_what_is_wrong_with_the_words(tk: Tk, tmp_path: Path) -> None:
    into = tmp_path / "w"
    for words, said in (
        (["--prove"], "--prove needs --on"),
        (["--share"], "--share needs --on"),
        (["--report", tmp_path / "r.html"], "--report needs --on"),
        (["--on", "ftp://x"], "is no target"),
        (["--on", "nogroup"], "nogroup"),
        (["--on", "local", "--sign", tmp_path / "key"], "cannot be signed"),
        (["--on", "local", "--profile", "p"], "--profile is not for --on"),
    ):
        ran = tk("warm", "--into", into, *words)
        assert (ran.code, ran.out) == (2, ""), words
        assert said in ran.err, words
    nodes = tk("fleet", "nodes", "kubernetes:cpu")
    assert (nodes.code, nodes.out) == (2, "")
    assert "sends nothing to Kubernetes" in nodes.err
    server = tk("warm", "--into", "redis://localhost")
    assert server.code == 2
    assert "it is a server" in server.err
    assert not into.exists()
    wrong = tmp_path / "fleet.toml"
    wrong.write_text("recipes = 3\n")
    ran = tk("fleet", "run", wrong)
    assert ran.code == 2
    assert "line 1" in ran.err


def test_manifests_for_kubernetes_are_printed_and_nothing_is_sent(tk: Tk, tmp_path: Path) -> None:
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "twice.py").write_text(_MODEL)
    _sizes(tmp_path, [8])
    words = ["warm", tmp_path / "recipes", "--into", "pvc:caches/model"]
    on = ["--on", "kubernetes:nvidia:NVIDIA-H100", "kubernetes:cpu"]
    ran = tk(*words, *on, "--image", "serve:1", "--dry-run")
    assert ran.code == 0, ran.err
    found = list(yaml.safe_load_all(ran.out))
    assert [one["kind"] for one in found] == ["ConfigMap", "Job", "Job"]
    assert tk(*words, *on, "--image", "serve:1", "--dry-run").out == ran.out
    told = tk(*words, *on, "--image", "serve:1", "--dry-run", "--json")
    assert [one["manifest"] for one in told.objects[:-1]] == found
    assert told.result == {"manifests": 3}
    unknown = "“tpu” is no type of device"
    for more, said in (
        (on, "needs --dry-run and --image.\n  Torchkeeper sends nothing to a cluster: it prints"),
        ([*on, "--image", "serve:1"], "needs --dry-run."),
        ([*on, "--dry-run"], "needs --image."),
        ([*on, "local", "--dry-run"], "stands alone"),
        ([*on, "--prove", "--dry-run"], "--prove is not for --on kubernetes."),
        (["--on", "kubernetes:tpu"], unknown),
        (["--on", "kubernetes:tpu", "local", "--prove"], unknown),
        (["--on", "kubernetes:tpu", "--image", "i", "--dry-run"], unknown),
        (["--image", "i"], "--image needs --on"),
    ):
        ran = tk(*words, *more)
        assert (ran.code in (1, 2), ran.out) == (True, ""), more
        assert said in ran.err


@pytest.mark.torch
@pytest.mark.slow
def test_some_that_fail_are_told_with_their_logs_and_end_with_4(
    tk: Tk, fleet: Path, header_folder: Path
) -> None:
    model = fleet / "recipes" / "twice.py"
    model.write_text(
        f"{_MODEL.splitlines()[0]}\n    assert len(x) != 16, 'no sixteen'\n    return x * 3\n"
    )
    _sizes(fleet, [12, 16])
    run = tk("fleet", "run", "fleet.toml", cwd=fleet, TMPDIR=str(header_folder))
    assert run.code == 4
    assert "no sixteen" in run.err
    assert "Nothing was signed, copied or removed" in run.err
    page = (fleet / "fleet.html").read_text()
    assert "no sixteen" in page
    assert "1 of 2 cells is proven; 1 failed" in page


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_fleet_that_is_interrupted_goes_on_with_the_same_command(
    tk: Tk, fleet: Path, header_folder: Path, torch_python: str, number: signal.Signals
) -> None:
    shutil.rmtree(fleet / "cache")
    shutil.rmtree(fleet / "st")
    text = (fleet / "fleet.toml").read_text()
    (fleet / "fleet.toml").write_text(text.replace("jobs = 2", "jobs = 1"))
    _sizes(fleet, [20, 24, 28])
    env = {**os.environ, "TMPDIR": str(header_folder), "TORCHKEEPER_TORCH_PYTHON": torch_python}
    command = ["env", "--default-signal=INT", sys.executable, "-m", "torchkeeper"]
    command += ["fleet", "run", "fleet.toml"]
    with subprocess.Popen(
        command, cwd=fleet, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        assert "node local" in process.stderr.readline()
        while not list((fleet / "st").glob("journal.jsonl")):
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(2)  # somewhere in the midst of it; where is all the same
        process.send_signal(number)
        _, rest = process.communicate(timeout=LONG)
    assert process.returncode == contract.SIGNAL + number
    [said] = [line for line in rest.splitlines() if "the same command again goes on" in line]
    assert " of 3 cells " in said
    assert "compiling" not in said
    again = tk("fleet", "run", "fleet.toml", "--json", cwd=fleet, TMPDIR=str(header_folder))
    assert again.code == 0, again.err
    assert again.result["compiled"] + again.result["there"] == 3
    assert again.result["states"]["proven"] == 3


@pytest.mark.torch
@pytest.mark.slow
def test_into_a_bundle_that_is_signed_once(tk: Tk, fleet: Path, header_folder: Path) -> None:
    key = fleet / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    words = ["warm", fleet / "recipes", "--on", "local", "--into", fleet / "b.torchcache"]
    words += ["--sign", key, "--state", fleet / "s2", "--allow-secrets", "--json"]
    first = tk(*words, TMPDIR=str(header_folder))
    assert first.code == 0, first.err
    assert first.result["signed"].startswith("SHA256:")
    assert first.result["states"]["warm"] == 2
    before = (fleet / "b.torchcache").read_bytes()
    second = tk(*words, TMPDIR=str(header_folder))
    assert (second.code, second.result["compiled"]) == (0, 0)
    assert second.result["signed"] == first.result["signed"]
    assert (fleet / "b.torchcache").read_bytes() == before
