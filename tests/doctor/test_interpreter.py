"""What an interpreter can do: compilers that fail in each way, tried out for real."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.doctor.conftest import Doctor, Found
from torchkeeper.client import diagnosing
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words import findingwords
from torchkeeper.client.words.problems import UserError

Script = Callable[[str], str]


def tried(python: str, **env: str) -> dict[str, Any]:
    """What ``toolchain`` tells of an interpreter with some variables."""
    with Engine(python, env) as engine:
        told: dict[str, Any] = engine.call("toolchain")
        return told


@pytest.fixture(scope="module")
def healthy(torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is told of the interpreter as it is, with an empty temporary folder."""
    folder = tmp_path_factory.mktemp("healthy")
    found = tried(torch_python, TMPDIR=str(folder))
    assert list(folder.iterdir()) == []  # nothing is left
    return found


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Makes a program of a few lines of shell."""

    def make(text: str) -> str:
        path = tmp_path / "program"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    return make


def interpreter(doctor: Doctor, toolchain: dict[str, Any], *checks: str) -> Found:
    """What checks of the interpreter find."""
    return doctor(only=checks or ("compiler",), toolchain=toolchain)


@pytest.mark.slow
def test_an_interpreter_that_works(doctor: Doctor, healthy: dict[str, Any]) -> None:
    assert healthy["cxx"]["state"] == "works", healthy["cxx"]
    assert healthy["torch"]["error"] is None
    assert "left" not in healthy
    found = interpreter(doctor, healthy, "torch", "compiler", "triton")
    assert found.codes == []
    assert found.result["left"] == []


#: Compilers that fail, each in its way: what it is, what is found, and what it is heard saying.
FAILING = {
    "compiler-fails": ("exit 1", "It ended with 1"),
    # As where it is installed without the library of OpenMP.
    "compiler-no-openmp": (
        'case "$*" in *-fopenmp*) echo "error: cannot find -lgomp" >&2; exit 1;; esac\n'
        'exec g++ "$@"',
        "cannot find -lgomp",
    ),
    # As where Python was installed without its headers.
    "compiler-no-python": (
        'for a; do case "$a" in -I*python3*) ;; *) set -- "$@" "$a";; esac; shift; done\n'
        'exec g++ "$@"',
        "Python.h",
    ),
    # As one that builds for another machine.
    "object-unloadable": (
        'for a; do case "$last" in -o) echo junk > "$a"; exit 0;; esac; last="$a"; done',
        "file too short",
    ),
}


@pytest.mark.slow
def test_compilers_that_do_not_work(doctor: Doctor, torch_python: str, tmp_path: Path) -> None:
    """Each is tried as the process that tries an interpreter does it, but in one of them."""
    paths = []
    for code, (shell, _) in FAILING.items():
        path = tmp_path / code
        path.write_text(f"#!/bin/sh\n{shell}\n")
        path.chmod(0o755)
        paths.append(str(path))
    work = tmp_path / "work"
    work.mkdir()
    script = (
        "import json, sys; sys.path.insert(0, sys.argv.pop(1)); "
        "from torchkeeper.doctor.trying import tried; "
        "print(json.dumps([tried(compiler) for compiler in sys.argv[1:]]))"
    )
    source = str(Path(findingwords.__file__).parents[2])
    done = subprocess.run([torch_python, "-c", script, source, *paths], cwd=work, check=True,
                          capture_output=True, text=True)  # fmt: skip
    told = json.loads(done.stdout.splitlines()[-1])
    for compiler, one, (code, (_, said)) in zip(paths, told, FAILING.items(), strict=True):
        found = interpreter(doctor, {"cxx": {"command": compiler, "version": None, **one}})
        assert found.codes == [code]
        assert found[code].severity == "error"
        assert found[code].settings == ("CXX",)
        assert said in found[code].params["said"]


@pytest.mark.slow
def test_without_a_compiler_torch_fails_and_the_doctor_says_so(
    doctor: Doctor, torch_python: str, tmp_path: Path
) -> None:
    """Of an eager kernel torch says nothing: aoti_compile_with_persistent_cache returns ""."""
    missing, place = str(tmp_path / "g++-99"), tmp_path / "cache"
    # The compiler is chosen when torch is imported: a process of its own.
    script = """if True:
        import torch
        from torch._inductor.aoti_eager import aoti_compile_with_persistent_cache
        torch.compile(lambda x, y: x @ y)(torch.rand(4, 4), torch.rand(4, 4))
        try:
            torch.compile(lambda x: x.sin() + 1)(torch.rand(64))
        except Exception as e:
            print(type(e).__name__, e)
        print("told", [aoti_compile_with_persistent_cache(
            "aten", "sin", "cpu", False, torch.ops.aten.sin.default, (torch.rand(8),), {})])
    """
    env = {**os.environ, "CXX": missing, "TORCHINDUCTOR_CACHE_DIR": str(place)}
    done = subprocess.run([torch_python, "-c", script], env=env, capture_output=True, text=True,
                          check=True)  # fmt: skip
    assert "InvalidCxxCompiler" in done.stdout
    assert "told ['']" in done.stdout

    kept = place / "aoti_eager" / "aten" / "cpu"
    kept.mkdir(parents=True, exist_ok=True)
    (kept / "sin.json").write_text('[{"meta_info": [], "kernel_path": "lib/sin.so"}]')
    found = doctor(place, only=("compiler",), toolchain=tried(torch_python, CXX=missing))
    assert set(found.codes) == {"no-compiler", "eager-silent"}
    assert found["no-compiler"].params["compiler"] == missing
    assert found["eager-silent"].place == str(place)


@pytest.mark.slow
def test_a_compiler_that_hangs_is_ended(
    doctor: Doctor, torch_python: str, script: Script, tmp_path: Path
) -> None:
    """What was told before it stays; what was not tried is not healthy."""
    with Engine(torch_python, {"CXX": script("exec sleep 1000")}) as engine:
        found = engine.call("toolchain", {"limit_s": 8})
    assert found["left"]["code"] == "toolchain-stuck"
    if "torch" not in found:
        pytest.skip("torch took longer to import than the time that it had")
    made = interpreter(doctor, found, "torch", "compiler", "header")
    assert made.codes == []
    assert made.result["checks"] == ["torch"]
    assert [one["check"] for one in made.result["left"]] == ["compiler", "header"]
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert str(tmp_path) not in running.stdout


def test_a_trial_is_cancelled_at_once(torch_python: str, script: Script) -> None:
    """With what it has started, and its folder."""
    before = {path.name for path in Path(tempfile.gettempdir()).glob("torchkeeper-doctor-*")}
    with Engine(torch_python, {"CXX": script("exec sleep 1000")}) as engine:
        ident = engine.send("toolchain")
        time.sleep(1.0)
        engine.cancel(ident)
        answers: list[Mapping[str, Any]] = []
        while not answers:
            select.select([engine], [], [], 1.0)
            answers += [one.body for one in engine.receive() if one.type in ("error", "result")]
    # What is tried sleeps for a quarter of an hour.
    assert answers[0]["error"]["code"] == "cancelled"
    after = {path.name for path in Path(tempfile.gettempdir()).glob("torchkeeper-doctor-*")}
    assert after <= before


def test_an_interpreter_without_torch(doctor: Doctor, bare_python: str) -> None:
    found = interpreter(doctor, tried(bare_python), "torch", "compiler", "gpu")
    assert found.codes == ["torch-unusable"]
    assert "No module named 'torch'" in found["torch-unusable"].params["why"]
    assert {one["code"] for one in found.result["left"]} == {"torch-not-tried"}


@pytest.mark.slow
def test_a_triton_that_cannot_be_imported(
    doctor: Doctor, torch_python: str, tmp_path: Path
) -> None:
    (tmp_path / "triton.py").write_text("raise OSError('libtriton.so: no such file')\n")
    found = interpreter(doctor, tried(torch_python, PYTHONPATH=str(tmp_path)), "triton")
    assert found.codes == ["triton-broken"]
    assert "libtriton.so: no such file" in found["triton-broken"].params["why"]


@pytest.mark.slow
def test_what_triton_needs_beside_a_gpu(
    doctor: Doctor, torch_python: str, tmp_path: Path, script: Script
) -> None:
    """What is tried is real; that there is a GPU is not: only then it matters."""
    gpu = {"built": "cuda", "version": "13.0", "seen": 1, "error": None, "devices": True}

    def found(**env: str) -> Found:
        told = tried(torch_python, **env)
        assert interpreter(doctor, told, "triton").codes == []
        return interpreter(doctor, {**told, "gpu": gpu}, "triton")

    failing = found(CC=script("echo no licence >&2; exit 1"))
    assert failing["triton-compiler-fails"].params["said"] == "no licence"
    (tmp_path / "bin").mkdir()
    assert found(PATH=str(tmp_path / "bin")).codes == ["triton-no-compiler"]


@pytest.mark.slow
def test_without_the_redis_package_torch_keeps_nothing(
    doctor: Doctor, torch_python: str, tmp_path: Path
) -> None:
    (tmp_path / "redis.py").write_text("raise ModuleNotFoundError('No module named redis')\n")
    env = {
        "PYTHONPATH": str(tmp_path), "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE": "1",
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"),
    }  # fmt: skip
    script = "import torch; torch.compile(lambda x, y: x @ y)(torch.rand(4, 4), torch.rand(4, 4))"
    done = subprocess.run([torch_python, "-c", script], env={**os.environ, **env},
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert "redis not available but required for remote cache" in done.stderr
    told = tried(torch_python, PYTHONPATH=str(tmp_path))
    values = {"TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE": "1"}
    found = doctor(only=("settings",), toolchain=told, values=values)
    assert found.codes == ["redis-missing", "server-not-named"]


@pytest.mark.slow
def test_the_header(doctor: Doctor, torch_python: str, tmp_path: Path) -> None:
    """Missing, built by the fix, found by its name; cut short, it is refused."""
    env = {"TMPDIR": str(tmp_path)}
    told = tried(torch_python, **env)
    finding = interpreter(doctor, told, "header")["header-missing"]
    assert (finding.severity, finding.fix) == ("advice", diagnosing.PREPARE)
    with Engine(torch_python, env) as engine:
        engine.call("prepare")
    told = tried(torch_python, **env)
    assert told["header"]["state"] == "there", told["header"]
    assert interpreter(doctor, told, "header").codes == []
    path = Path(told["header"]["path"])
    path.write_bytes(path.read_bytes()[: 1 << 20])
    found = interpreter(doctor, tried(torch_python, **env), "header")
    assert found["header-of-another"].severity == "warning"
    off = tried(torch_python, TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS="0", **env)
    assert off["header"]["state"] == "off"
    assert interpreter(doctor, off, "header").codes == []


def of_gpu(doctor: Doctor, **gpu: object) -> Found:
    """What is found where torch says so of its GPU."""
    told = {"built": "cuda", "version": "13.0", "seen": 0, "error": None, "devices": False, **gpu}
    return doctor(only=("gpu",), toolchain={"gpu": told})


def test_gpus_by_what_torch_says(doctor: Doctor) -> None:
    """No test has a GPU at will: these are what torch says, in its own words."""
    assert of_gpu(doctor, built=None).codes == []
    assert of_gpu(doctor, seen=2).codes == []
    assert of_gpu(doctor)["no-gpu"].severity == "advice"
    said = "RuntimeError: No CUDA GPUs are available"
    assert of_gpu(doctor, devices=True, error=said)["gpu-unseen"].severity == "error"
    said = (
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please "
        "update your GPU driver"
    )
    found = of_gpu(doctor, devices=True, error=said)["driver-old"]
    assert found.severity == "error"
    assert "11040" in findingwords.said(found).why


def test_what_was_never_tried_is_not_healthy(doctor: Doctor) -> None:
    found = doctor(only=("torch", "compiler", "header", "triton", "gpu"))
    assert found.result["checks"] == []
    assert {one["code"] for one in found.result["left"]} == {"interpreter-not-tried"}
    for _, _, error in diagnosing.left_of(found.result):
        assert isinstance(error, UserError)
        assert error.what


@pytest.mark.slow
def test_the_rules_between_settings(doctor: Doctor, facts: dict[str, Any]) -> None:
    values = {"TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE": "1",
              "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE": "0"}  # fmt: skip
    found = doctor(only=("settings",), values=values, facts=facts)
    assert found["remote-autograd-alone"].severity == "error"
    assert json.loads(json.dumps(found.result)) == found.result
