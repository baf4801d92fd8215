"""Warming with real torch: what is compiled, and what is left when it does not go well."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import torchkeeper
from tests.pace import LONG
from tests.warm.bare import PLAIN
from tests.warm.conftest import Filled, Recorder
from torchkeeper.artifacts import builds
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.warm import processes
from torchkeeper.warm.supervise import warm

pytestmark = pytest.mark.torch

APP = Path(torchkeeper.__file__).resolve().parent
STEPS = ["op", "MLP, batch 8", "MLP, batch 16", "attention block"]
IDS = ["0/0 forward"] + [
    f"{compiled} {way}" for compiled in ("1/0", "1/1", "2/0") for way in ("forward", "backward")
]

ENGINE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from torchkeeper.artifacts.report import Report
from torchkeeper.warm.supervise import warm
class Printer(Report):
    def finding(self, **what): print(json.dumps(what), flush=True)
print(json.dumps({"result": warm({"into": sys.argv[2]}, Printer())}))
"""


def objects(place: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in place.glob("??/*.so")}


def assert_nothing_half_done(place: Path) -> None:
    for path in place.rglob("*"):
        assert not path.name.endswith((".tmp", "_CxxBuild")), path
        if path.suffix in (".so", ".o"):
            data = path.read_bytes()
            assert builds.complete(data[: builds.HEADER], len(data)), path


def decided(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The graphs as they were told last: each is told again as more of it is known."""
    return list(
        {found["graph"]["id"]: found["graph"] for found in findings if "graph" in found}.values()
    )


def without_kernels(place: Path) -> list[Path]:
    """Take away the objects of kernels, most of which PyTorch builds again with g++: some are of
    another cache, and nobody looks for them.
    """
    removed = sorted(place.glob("??/*.main.so"))
    for path in removed:
        path.unlink()
    return removed


def test_cold(built: Filled) -> None:
    result = built.result
    assert result["misses"] == result["graphs"] == 7
    assert (result["hits"], result["bypasses"], result["device"]) == (0, 0, "cpu")
    assert result["added"] == sum(result["kinds"].values()) >= 7 + 4
    # What a listing of the folder counts is what was added, with the locks that are named apart.
    every = Counter(item.kind for item in Folder(str(built.place)).items(Report()))
    added = {**result["kinds"], "lock": result["locks"]}
    assert added.pop("code") <= every.pop("code"), "some of which were there before"
    assert added == every
    assert (result["headers"], result["unknown"]) == (0, 0)
    assert 0 < result["seconds"] < 300
    [device] = [found["device"] for found in built.findings if "device" in found]
    assert device == {"type": "cpu", "name": "CPU", "why": "no-accelerator"}
    assert [found["step"]["name"] for found in built.findings if "step" in found] == STEPS
    graphs = decided(built.findings)
    assert [graph["id"] for graph in graphs] == IDS
    assert {graph["outcome"] for graph in graphs} == {"miss"}
    assert all(graph["seconds"] > 0 for graph in graphs)
    assert [graphs[0]["name"], graphs[1]["name"]] == ["sin_matmul", "MLP, batch 8"]
    assert len(list(built.place.glob("fxgraph/*/*/*"))) == 7
    assert len(list(built.place.glob("aotautograd/*/*"))) == 4
    assert_nothing_half_done(built.place)


@pytest.mark.slow
def test_a_plain_script_hits_what_was_warmed(
    place: Path, torch_python: str, tmp_path: Path, with_torch: list[int]
) -> None:
    """So neither the job nor its handler changes a key. Every day: of the variants of recipes, in
    test_variants_job.py.
    """
    script = tmp_path / "plain.py"
    script.write_text(PLAIN)
    before = objects(place)
    done = subprocess.run(
        [torch_python, str(script)],
        env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(place)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == [7, 0, 4]
    assert objects(place) == before


@pytest.mark.slow
def test_from_a_zip_everything_hits(
    place: Path, torch_python: str, tmp_path: Path, with_torch: list[int]
) -> None:
    """Every day: what ``builtin`` has is warmed from the zip that travels."""
    archive = tmp_path / "engine.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.write(APP / "__init__.py", "torchkeeper/__init__.py")
        for package in ("artifacts", "stores", "settings", "verdict", "warm", "doctor", "engine"):
            for file in (APP / package).rglob("*.py"):
                made.write(file, f"torchkeeper/{file.relative_to(APP).as_posix()}")
    script = tmp_path / "engine.py"
    script.write_text(ENGINE)
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [torch_python, str(script), str(archive), str(place)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    result = said[-1]["result"]
    assert (result["hits"], result["misses"], result["graphs"], result["added"]) == (7, 0, 7, 0)
    graphs = decided(said)
    assert [graph["id"] for graph in graphs] == IDS
    assert {graph["outcome"] for graph in graphs} == {"hit"}


@pytest.mark.parametrize(
    "grace",
    [
        pytest.param(processes.GRACE, id="asked to end"),
        pytest.param(0.0, id="killed at once", marks=pytest.mark.slow),
    ],
)
def test_cancel_while_a_kernel_is_linked(
    place: Path, with_torch: list[int], monkeypatch: pytest.MonkeyPatch, grace: float
) -> None:
    without_kernels(place)
    before = objects(place)
    end = processes.end
    monkeypatch.setattr(processes, "end", lambda process: end(process, grace))
    built: list[bool] = []

    def when() -> bool:
        if not built and set(objects(place)) - set(before):
            built.append(True)
        return bool(built)

    report = Recorder(when=when)
    with pytest.raises(Cancelled):
        warm({"into": str(place)}, report)
    assert processes.family(with_torch[0]) == set()
    assert_nothing_half_done(place)
    assert set(before.items()) <= set(objects(place).items())


@pytest.mark.slow
def test_a_killed_job_has_failed_and_the_next_one_works(place: Path, with_torch: list[int]) -> None:
    """Every day: test_killed.py kills real ones, and test_sweep.py mends what they leave."""
    removed = without_kernels(place)
    killed: list[list[Path]] = []

    def kill() -> bool:
        # While g++ runs, so that there is something of the job left to end.
        if not killed and (builders := list(place.glob("??/*_CxxBuild"))):
            killed.append(builders)
            os.kill(with_torch[0], signal.SIGKILL)
        return False

    report = Recorder(when=kill)
    with pytest.raises(Problem) as failure:
        warm({"into": str(place)}, report)
    assert failure.value.code == "warm-killed"
    assert failure.value.params["signal"] == "SIGKILL"
    assert failure.value.params["step"] in STEPS
    assert processes.family(with_torch[0]) == set()
    assert report.all("swept")
    assert_nothing_half_done(place)

    # An engine that was killed too could not sweep; what it left is mended by the next job.
    for path in removed:
        path.write_bytes(b"\x7fELF cut short")
    again = Recorder()
    result = warm({"into": str(place)}, again)
    assert (result["hits"], result["misses"]) == (7, 0)
    swept = [Path(path) for one in again.all("swept") for path in one["paths"]]
    assert sorted(swept) == removed
    assert_nothing_half_done(place)
    assert any(path.exists() for path in removed)


@pytest.mark.slow
def test_the_job_ends_with_its_engine(
    place: Path, torch_python: str, tmp_path: Path, with_torch: list[int]
) -> None:
    script = tmp_path / "engine.py"
    script.write_text(ENGINE)
    engine = subprocess.Popen(
        [torch_python, str(script), str(APP.parent), str(place)], stdout=subprocess.PIPE, text=True
    )
    with engine:
        assert engine.stdout
        while "step" not in (line := engine.stdout.readline()):
            assert line, "the engine ended"
        [job] = [pid for pid in processes.family(engine.pid) if os.getsid(pid) == pid]
        engine.kill()
    deadline = time.monotonic() + LONG
    while processes.family(job) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert processes.family(job) == set()


@pytest.mark.slow
def test_disabled_caches_are_said_before_compiling(
    with_torch: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
    report = Recorder()
    with pytest.raises(Problem) as failure:
        warm({"into": str(tmp_path / "place")}, report)
    assert failure.value.code == "caches-disabled"
    assert failure.value.params == {"variable": "TORCHINDUCTOR_FORCE_DISABLE_CACHES"}
    assert report.all("step") == []


@pytest.mark.slow
def test_no_compiler_is_said_before_compiling(
    with_torch: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "/nowhere/g++")
    report = Recorder()
    with pytest.raises(Problem) as failure:
        warm({"into": str(tmp_path / "place"), "device": "cpu"}, report)
    assert failure.value.code == "compiler-missing"
    assert failure.value.params == {"cxx": "/nowhere/g++"}
    assert report.all("step") == []


@pytest.mark.slow
def test_a_compiler_that_fails(
    with_torch: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every day: test_supervise.py has what any failure comes to."""
    compiler = tmp_path / "g++"
    compiler.write_text(
        "#!/bin/sh\n"
        'case "$*" in *c++-header*|*main.cpp*) echo no space left; exit 1;; esac\n'
        'exec g++ "$@"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    report = Recorder()
    with pytest.raises(Problem) as failure:
        warm({"into": str(tmp_path / "place"), "device": "cpu"}, report)
    assert failure.value.code == "warm-failed"
    why = failure.value.params["why"]
    assert why == "InductorError: CppCompileError: C++ compile error: no space left"
    assert any("no space left" in line for line in report.all("log"))
    assert_nothing_half_done(tmp_path / "place")


def test_no_torch_is_imported_here(built: Filled) -> None:
    assert "torch" not in sys.modules
