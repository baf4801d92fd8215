"""Preparing an environment: where headers belong, what goes wrong, and real headers (slow)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

import torchkeeper
from tests.warm.conftest import Filled, Recorder
from torchkeeper.artifacts import fxgraph
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled
from torchkeeper.warm import prepare, supervise

APP = Path(torchkeeper.__file__).resolve().parent
#: A torch that lacks all but what is looked at before anything is built.
TORCH = """
import sys, types, os
__version__ = "2.99"
def put(name, **what):
    module = sys.modules["torch." + name] = types.ModuleType("torch." + name)
    vars(module).update(what)
    return module
folder = os.path.join(os.environ["TMPDIR"], "torchinductor_" + os.environ["LOGNAME"])
class Config(types.ModuleType):
    cpp_cache_precompile_headers = os.environ.get("HEADERS") != "0"
    def patch(self, _): return self
    def __enter__(self): pass
    def __exit__(self, *_): pass
class Bindings:
    @staticmethod
    def load_async(source, submit_fn): codecache._precompile_header("x.h", "g++ i")
class CppCompileError(RuntimeError): pass
class Builder:
    def __init__(self, path): self.path = path
    def get_target_file_path(self): return self.path
    def build(self):
        with open(self.path, "wb") as file: file.write(b"a header")
inductor = put("_inductor", config=Config("torch._inductor.config"))
inductor.exc = put("_inductor.exc", CppCompileError=CppCompileError)
put("_inductor.cpp_builder", get_cpp_compiler=lambda: "g++")
inductor.cpu_vec_isa = put("_inductor.cpu_vec_isa")
inductor.codecache = codecache = put(
    "_inductor.codecache", _HEADER_DIR=os.path.join(folder, "precompiled_headers"),
    _HEADER_LOCK_DIR=os.path.join(folder, "precompiled_headers", "locks"),
    CppPythonBindingsCodeCache=Bindings, CppBuilder=Builder)
"""


@pytest.fixture
def stand_in(fake_torch: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts ``TORCH`` in the way, with more source after it."""
    monkeypatch.setenv("LOGNAME", "somebody")
    return lambda more="": fake_torch(TORCH + more)


def problem_of(params: Any, report: Recorder | None = None) -> Problem:
    with pytest.raises(Problem) as failure:
        prepare.prepare(params, report or Recorder())
    return failure.value


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"into": ""}, "into"), ({"into": "a\0b"}, "into"), ({"limit_s": 0}, "limit_s"),
    ],
)  # fmt: skip
def test_wrong_requests(params: dict[str, Any], field: str, jobs: list[int]) -> None:
    problem = problem_of(params)
    assert (problem.code, problem.params) == ("bad-request", {"field": field})
    assert jobs == []


@pytest.mark.parametrize(
    ("into", "folder", "user"),
    [
        (None, None, None),
        ("/t", "/t/torchinductor_me_x/precompiled_headers", None),
        ("/t/torchinductor_bob", "/t/torchinductor_bob/precompiled_headers", "bob"),
        ("/t/torchinductor_a b/", "/t/torchinductor_a b/precompiled_headers", "a b"),
        ("/t/torchinductor_me_x/precompiled_headers",
         "/t/torchinductor_me_x/precompiled_headers", None),
        ("/t/torchinductor_", "/t/torchinductor_/torchinductor_me_x/precompiled_headers", None),
    ],
)  # fmt: skip
def test_where_headers_belong(
    into: str | None, folder: str | None, user: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "me/x")
    target = prepare.target_of(into)
    assert (target.folder, target.foreign) == (folder, user)
    usual = os.path.join(tempfile.gettempdir(), "torchinductor_me_x", "precompiled_headers")
    assert prepare.headers_for(into) == (folder or usual)


def test_the_environment_is_that_of_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHKEEPER_X", "1")
    monkeypatch.setenv("LOGNAME", "me")
    before = {k: v for k, v in os.environ.items() if not k.startswith("TORCHKEEPER_")}
    cache = {"TORCHINDUCTOR_CACHE_DIR": "/h/cache"}
    assert prepare.environment(prepare.Target(), "/h") == before | cache
    assert prepare.environment(prepare.Target("/t", "bob"), "/h") == {
        **before, **cache, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), "/t"),
        **dict.fromkeys(("LOGNAME", "USER", "LNAME", "USERNAME"), "bob"),
    }  # fmt: skip


def test_a_folder_that_cannot_be_written(tmp_path: Path, jobs: list[int]) -> None:
    (tmp_path / "file").touch()
    for into in (tmp_path / "file", tmp_path / "file" / "below"):
        problem = problem_of({"into": str(into)})
        assert (problem.code, problem.params["place"]) == ("place-unwritable", str(into))
    assert jobs == []


@pytest.mark.parametrize(
    ("more", "code", "params"),
    [
        ("", "headers-unknown", {"torch": "2.99"}),
        ("codecache._precompile_header = None; inductor.config.cpp_cache_precompile_headers = 0",
         "headers-off", {"variable": "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS"}),
        ("codecache._precompile_header = None; codecache._HEADER_DIR = '/var/x'",
         "headers-elsewhere", {"folder": "/var/x"}),
        ("codecache._precompile_header = None; sys.modules['torch._inductor.cpp_builder']"
         ".get_cpp_compiler = None", "compiler-missing", {}),
        ("import subprocess\n"
         "codecache._precompile_header = lambda *_: subprocess.run(['openssl'])",
         "openssl-missing", {}),
        ("def _get_file_checksum(): return ''.split()[-1]\n"
         "codecache._precompile_header = lambda *_: _get_file_checksum()", "openssl-missing", {}),
        ("def fail(*_): raise ValueError('what')\ncodecache._precompile_header = fail",
         "prepare-failed", {"why": "ValueError: what"}),
        ("codecache._precompile_header = lambda *_: '/no/such/header.h'", "prepare-failed",
         {"why": "PyTorch made no precompiled header"}),
        ("codecache._precompile_header = lambda *_: os.abort()", "prepare-killed",
         {"signal": "SIGABRT"}),
    ],
)  # fmt: skip
def test_what_goes_wrong(
    stand_in: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    more: str, code: str, params: dict[str, Any],
) -> None:  # fmt: skip
    monkeypatch.setenv("PATH", "/nowhere")
    stand_in(more)
    problem = problem_of({"into": str(tmp_path / "new" / "tmp")})
    assert problem.code == code
    assert problem.params == problem.params | params
    # What had to be made for it is gone again.
    assert not (tmp_path / "new").exists()


HALF = """
def build(*_):
    import time
    folder = codecache._HEADER_DIR
    os.makedirs(folder + "/" + STEM + ".h_CxxBuild")
    with open(folder + "/" + STEM + ".h.gch", "wb") as file: file.write(b"half of it")
    print("at it", flush=True)
    time.sleep(60)
codecache._precompile_header = build
"""
STEM = "c" + "a" * 51


#: A header that this process builds, or that another one has built at the same time.
BUILDS = """
def precompile(*_):
    os.makedirs(codecache._HEADER_LOCK_DIR, exist_ok=True)
    path = codecache._HEADER_DIR + "/" + STEM + ".h"
    if MINE: codecache.CppBuilder(path + ".gch").build()
    else:
        with open(path + ".gch", "wb") as file: file.write(b"another's")
    return path
codecache._precompile_header = precompile
"""


def compiler_that_says(folder: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a g++ in front that says of every precompiled header what it thinks of it."""
    folder.mkdir()
    (folder / "g++").write_text(
        f'#!/bin/sh\nwhile [ $# -gt 0 ]; do [ "$1" = -include ] && echo "{what} $2.gch" >&2; '
        "shift; done\n"
    )
    (folder / "g++").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


@pytest.mark.parametrize("mine", [True, False])
def test_built_by_us_or_by_another(
    stand_in: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mine: bool
) -> None:
    compiler_that_says(tmp_path / "bin", "!", monkeypatch)
    stand_in(f"STEM, MINE = {STEM!r}, {mine}\n" + BUILDS)
    result = prepare.prepare({"into": str(tmp_path)}, Recorder())
    assert (result["built"], result["there"]) == ((1, 0) if mine else (0, 1))


def test_a_header_that_the_compiler_refuses_does_not_stay(
    stand_in: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler_that_says(tmp_path / "bin", "x", monkeypatch)
    stand_in(f"STEM, MINE = {STEM!r}, True\n" + BUILDS)
    assert problem_of({"into": str(tmp_path)}).code == "header-refused"
    assert not list(tmp_path.rglob("*.gch"))


@pytest.mark.parametrize("how", ["cancel", "kill"])
def test_nothing_half_written_stays(stand_in: Any, tmp_path: Path, how: str, jobs: Any) -> None:
    stand_in(f"STEM = {STEM!r}\n" + HALF)
    headers = tmp_path / "torchinductor_somebody" / "precompiled_headers"
    headers.mkdir(parents=True)
    other = headers / ("c" + "b" * 51 + ".h.gch")
    other.write_bytes(b"another's")

    def at_it() -> bool:
        if not report.all("log"):
            return False
        assert (headers / f"{STEM}.h.gch").exists()
        if how == "kill":
            os.kill(jobs[0], signal.SIGKILL)
        return how == "cancel"

    report = Recorder(when=at_it)
    with pytest.raises((Problem, Cancelled)) as failure:
        prepare.prepare({"into": str(tmp_path)}, report)
    code = getattr(failure.value, "code", None)
    assert code == (None if how == "cancel" else "prepare-killed")
    assert list(headers.iterdir()) == [other]
    assert {path for swept in report.all("swept") for path in swept["paths"]} == {
        str(headers / f"{STEM}.h.gch"), str(headers / f"{STEM}.h_CxxBuild"),
    }  # fmt: skip


def test_what_a_dead_engine_left_is_removed_first(stand_in: Any, tmp_path: Path) -> None:
    stand_in("codecache._precompile_header = lambda *_: '/no/such/header.h'")
    headers = tmp_path / "torchinductor_somebody" / "precompiled_headers"
    (headers / f"{STEM}.h_CxxBuild").mkdir(parents=True)
    (headers / f"{STEM}.h.gch").write_bytes(b"half of it")
    report = Recorder()
    assert problem_of({"into": str(tmp_path)}, report).code == "prepare-failed"
    assert list(headers.iterdir()) == []
    assert [swept["count"] for swept in report.all("swept")] == [2]


def test_a_hang_ends_at_its_limit(fake_torch: Any, tmp_path: Path, jobs: list[int]) -> None:
    fake_torch("import time; time.sleep(60)")
    problem = problem_of({"into": str(tmp_path), "limit_s": 0.3})
    assert (problem.code, problem.params) == ("prepare-timeout", {"limit_s": 0.3})


# With real torch.


@pytest.fixture
def temporary(torch_python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty temporary folder, of this process as well, whose interpreter has torch."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(sys, "executable", torch_python)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def headers_in(folder: Path) -> dict[Path, tuple[int, int]]:
    """All files of headers, locks aside, and what tells whether they were written again."""
    return {
        path: (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in folder.glob("torchinductor_*/precompiled_headers/*")
        if path.is_file()
    }


def judged(python: str, place: Path, **more: str) -> dict[str, Any]:
    """What stock PyTorch counts when the built-in recipe runs on a cache folder."""
    judge = APP.parent.parent / "tests" / "bench" / "judge.py"
    env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(place), **more}
    done = subprocess.run(
        [python, str(judge), str(APP.parent)], env=env, capture_output=True, text=True, check=True
    )
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.mark.torch
@pytest.mark.slow
def test_programs_build_no_header_afterwards(
    place: Path, temporary: Path, torch_python: str, jobs: list[int]
) -> None:
    result = prepare.prepare({"into": str(temporary)}, Recorder())
    assert (result["built"], result["there"], result["user"]) == (1, 0, None)
    assert result["bytes"] > 50e6
    before = headers_in(temporary)
    assert {path.parent for path in before} == {Path(result["folder"])}
    objects = {path: path.stat().st_mtime_ns for path in place.rglob("*.so")}
    told = judged(torch_python, place)
    assert told["graphs"] == {"hit": 7, "miss": 0}
    assert headers_in(temporary) == before
    assert {path: path.stat().st_mtime_ns for path in place.rglob("*.so")} == objects

    again = prepare.prepare({}, Recorder())
    assert {**again, "seconds": 0} == {**result, "seconds": 0, "built": 0, "there": 1}
    assert headers_in(temporary) == before
    # What is there and cannot be used is no preparation: g++ would fail with it.
    [built] = [path for path in before if path.suffix == ".gch"]
    os.truncate(built, 50_000_000)
    mended = prepare.prepare({}, Recorder())
    assert (mended["built"], mended["there"]) == (1, 0)
    assert built.stat().st_size > 50_000_000
    assert not [path for path in temporary.iterdir() if path.name.startswith(("tmp", "torchkeep"))]


@pytest.mark.torch
@pytest.mark.slow
def test_the_same_header_for_every_kind_of_graph(
    temporary: Path, torch_python: str, tmp_path: Path, jobs: list[int]
) -> None:
    """Static and dynamic shapes, training, low precision, autotuned templates; and where the
    wrapper is in C++, its own.
    """
    script = tmp_path / "kinds.py"
    script.write_text(
        "import torch\nfrom torch import nn\nfrom torch._inductor import config\n"
        "torch.compile(lambda x: x.sin().sum(0), dynamic=True)(torch.rand(50, 50))\n"
        "torch.compile(nn.Linear(8, 8))(torch.rand(4, 8)).sum().backward()\n"
        "low = torch.compile(nn.Sequential(nn.Linear(64, 64), nn.GELU()).bfloat16())\n"
        "low(torch.rand(4, 64).bfloat16())\n"
        "if not config.cpp_wrapper:\n"
        "    with torch.no_grad(), config.patch(freezing=True, max_autotune=True):\n"
        "        torch.compile(nn.Linear(64, 128).eval())(torch.rand(32, 64))\n"
    )
    for wrapper in ("0", "1"):
        more = {"TORCHINDUCTOR_CPP_WRAPPER": wrapper}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TORCHINDUCTOR_CPP_WRAPPER", wrapper)
            assert prepare.prepare({}, Recorder())["built"] == 1
        before = headers_in(temporary)
        env = {**os.environ, **more, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / f"c{wrapper}")}
        subprocess.run([torch_python, str(script)], env=env, capture_output=True, check=True)
        assert headers_in(temporary) == before


@pytest.mark.torch
@pytest.mark.slow
def test_a_real_build_that_is_cancelled(temporary: Path, jobs: list[int]) -> None:
    """g++ is at work on the header; then the next one builds it."""
    seen: list[float] = []

    def building() -> bool:
        if not seen and list(temporary.glob("*/precompiled_headers/*.h_CxxBuild")):
            seen.append(time.monotonic())
        return bool(seen) and time.monotonic() > seen[0] + 1

    with pytest.raises(Cancelled):
        prepare.prepare({"into": str(temporary)}, Recorder(when=building))
    assert [path.suffix for path in headers_in(temporary)] == [".h"]
    assert not list(temporary.glob("*/precompiled_headers/*_CxxBuild"))
    assert prepare.prepare({"into": str(temporary)}, Recorder())["built"] == 1


@pytest.mark.torch
@pytest.mark.slow
def test_another_users_programs(
    temporary: Path, torch_python: str, tmp_path: Path, jobs: list[int]
) -> None:
    into = temporary / "torchinductor_some_body"
    result = prepare.prepare({"into": str(into)}, Recorder())
    assert result["user"] == "some_body"
    assert Path(result["folder"]) == into / "precompiled_headers"
    before = headers_in(temporary)
    code = "import torch; torch.compile(lambda x: x.sin() + 1)(torch.rand(9))"
    env = {**os.environ, "LOGNAME": "some/body"}
    subprocess.run([torch_python, "-c", code], env=env, capture_output=True, check=True)
    assert headers_in(temporary) == before


@pytest.mark.torch
@pytest.mark.slow
def test_a_compiler_that_knows_less_than_the_cpu(
    temporary: Path, torch_python: str, tmp_path: Path, jobs: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """As with an old g++ on a new CPU: PyTorch takes a lesser set of instructions then."""
    compiler = tmp_path / "old" / "g++"
    compiler.parent.mkdir()
    compiler.write_text(
        '#!/bin/sh\ncase "$*" in *-mavx512*|*-mamx*) echo unknown option; exit 1;; esac\n'
        'exec g++ "$@"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    assert prepare.prepare({}, Recorder())["built"] == 1
    before = headers_in(temporary)
    code = "import torch; torch.compile(lambda x: x.sin() + 1)(torch.rand(9))"
    subprocess.run([torch_python, "-c", code], capture_output=True, check=True)
    assert headers_in(temporary) == before


@pytest.mark.torch
@pytest.mark.slow
def test_threads_change_one_factor_of_every_graph(
    built: Filled, tmp_path: Path, with_torch: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MKL_NUM_THREADS", "1")
    threads = (os.cpu_count() or 1) + 1
    other = tmp_path / "other"
    result = supervise.warm({"into": str(other), "threads": threads}, Recorder())
    assert (result["misses"], result["bypasses"]) == (7, 0)
    usual = [_factors(path) for path in built.place.glob("fxgraph/*/*/*")]
    for path in other.glob("fxgraph/*/*/*"):
        factors = _factors(path)
        nearest = min(usual, key=lambda one: len(set(one.items()) ^ set(factors.items())))
        assert factors.keys() == nearest.keys()
        differing = [name for name in factors if factors[name][0] != nearest[name][0]]
        assert differing == ["cpp_runtime_thread_count"]
        assert factors["cpp_runtime_thread_count"][1] == str(threads)


def _factors(path: Path) -> dict[str, tuple[str, str]]:
    factors: Any = fxgraph.facts(path.read_bytes(), full=True)["factors"]
    return {name: (digest, value) for digest, name, value in factors}


@pytest.mark.torch
@pytest.mark.slow
def test_a_portable_cache_needs_no_header_anywhere(
    temporary: Path, torch_python: str, tmp_path: Path, jobs: list[int]
) -> None:
    result = supervise.warm({"into": str(tmp_path / "place"), "portable": True}, Recorder())
    assert result["misses"] == 7
    portable = {"TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0"}
    told = judged(torch_python, tmp_path / "place", **portable)
    assert told["graphs"] == {"hit": 7, "miss": 0}
    assert headers_in(temporary) == {}
