"""Supervising a job whose torch does as the test says: no real torch is needed."""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import time
import typing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import torchkeeper
from tests.warm.conftest import Recorder
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled
from torchkeeper.engine.protocol import WARM, misfit, traits
from torchkeeper.warm import following, prepare, processes, supervise, workers
from torchkeeper.warm.recipes.recipe import Variant

APP = str(Path(torchkeeper.__file__).resolve().parent.parent)


def problem_of(params: Any, report: Recorder | None = None) -> Problem:
    with pytest.raises(Problem) as failure:
        supervise.warm(params, report or Recorder())
    return failure.value


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"into": ""}, "into"),
        ({"into": "a\0b"}, "into"),
        ({"into": "x", "limit_s": 0}, "limit_s"),
        ({"into": "x", "limit_s": float("nan")}, "limit_s"),
        ({"into": "x", "jobs": 0}, "jobs"),
        ({"into": "x", "only": []}, "only"),
        ({"into": "x", "only": [7]}, "only"),
        ({"into": "x", "settings": {"PATH": "/"}}, "settings"),
        ({"into": "x", "settings": {"TMPDIR": "\0"}}, "settings"),
    ],
)
def test_wrong_requests(params: dict[str, Any], field: str, jobs: list[int]) -> None:
    problem = problem_of(params)
    assert (problem.code, problem.params) == ("bad-request", {"field": field})
    assert jobs == []


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({}, "params.into is missing"),
        ({"into": 3}, "params.into is a number"),
        ({"into": "x", "recipes": "builtin"}, "params.recipes is a text"),
        ({"into": "x", "recipes": [1]}, "params.recipes[0] is a number"),
        ({"into": "x", "recipes": [{"name": "a", "folder": "/"}]}, "params.recipes[0].data is"),
        ({"into": "x", "device": 0}, "params.device is a number"),
        ({"into": "x", "threads": "2"}, "params.threads is a text"),
        ({"into": "x", "threads": True}, "params.threads is a truth value"),
        ({"into": "x", "portable": 1}, "params.portable is a number"),
        ({"into": "x", "each": 1}, "params.each is a number"),
        ({"into": "x", "limit_s": True}, "params.limit_s is a truth value"),
        ({"into": "x", "jobs": True}, "params.jobs is a truth value"),
        ({"into": "x", "only": [False]}, "params.only[0] is a truth value"),
        ({"into": "x", "settings": []}, "params.settings is a list"),
        ({"into": "x", "settings": {"TMPDIR": 1}}, "params.settings.TMPDIR is a number"),
    ],
)
def test_requests_of_other_types(params: Any, why: str) -> None:
    assert misfit(traits(WARM).params, params, "params").startswith(why)


@pytest.mark.parametrize("threads", [0, -1, 1025])
def test_numbers_of_threads_that_no_program_has(threads: int, jobs: list[int]) -> None:
    problem = problem_of({"into": "x", "threads": threads})
    assert problem.code == "threads-out-of-range"
    assert problem.params == {"threads": threads, "most": 1024}
    assert jobs == []


def test_a_recipe_that_is_not_known(tmp_path: Path, jobs: list[int]) -> None:
    problem = problem_of({"into": str(tmp_path / "place"), "recipes": ["builtin", "mine"]})
    assert (problem.code, problem.params) == ("recipe-unknown", {"recipe": "mine"})
    assert jobs == []
    assert not (tmp_path / "place").exists()


def test_a_place_that_cannot_be_written(tmp_path: Path, jobs: list[int]) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        problem = problem_of({"into": str(place)})
        assert problem.code == "place-unwritable"
        assert problem.params["place"] == str(place)
        assert problem.params["why"]
    assert jobs == []


def test_no_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: list[int]) -> None:
    # An interpreter that sees no packages but its own.
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(wrapper))
    problem = problem_of({"into": str(tmp_path / "place")})
    assert problem.code == "torch-missing"
    assert problem.params["python"]


def test_a_broken_torch(fake_torch: Any, tmp_path: Path) -> None:
    fake_torch("raise ImportError('libcudart.so.12: cannot open')")
    report = Recorder()
    problem = problem_of({"into": str(tmp_path / "place")}, report)
    assert problem.code == "torch-broken"
    assert problem.params["why"] == "ImportError: libcudart.so.12: cannot open"
    assert any("Traceback" in line for line in report.all("log"))


def test_a_crash_of_the_interpreter(fake_torch: Any, tmp_path: Path) -> None:
    fake_torch("import os; os.abort()")
    problem = problem_of({"into": str(tmp_path / "place")})
    assert problem.code == "warm-killed"
    assert problem.params["signal"] == "SIGABRT"
    assert problem.params["why"] == "Fatal Python error: Aborted"


def test_an_exit_without_a_word(fake_torch: Any, tmp_path: Path) -> None:
    fake_torch("import os; os._exit(7)")
    problem = problem_of({"into": str(tmp_path / "place")})
    assert problem.code == "warm-failed"
    assert problem.params == {
        "why": "Its process ended by itself, with exit status 7",
        "step": None,
    }


def test_memory_that_runs_out(fake_torch: Any, tmp_path: Path) -> None:
    fake_torch("class Ate(BaseException): pass\nraise Ate('all of it')")
    problem = problem_of({"into": str(tmp_path / "place")})
    assert problem.code == "warm-failed"
    assert problem.params["why"] == "Ate: all of it"


def test_what_torch_prints_is_the_log_and_bounded(fake_torch: Any, tmp_path: Path) -> None:
    fake_torch(
        "import os, sys\n"
        "print('{\"result\": {}}')\n"
        "os.write(1, b'\\xff\\n' + b'x' * 300_000 + b'\\n')\n"
        "for i in range(6000): print('line', i, file=sys.stderr)\n"
        "sys.stdout.flush(); os._exit(3)"
    )
    report = Recorder()
    problem = problem_of({"into": str(tmp_path / "place")}, report)
    assert problem.code == "warm-failed"
    said = "Its process ended by itself, with exit status 3; its last line is: line 5999"
    assert problem.params["why"] == said
    log = report.all("log")
    assert '{"result": {}}' not in log[-1]
    assert "\\xff" in log
    assert max(map(len, log)) <= following.LOG_LINE
    assert len(log) <= following.LOG_LINES + 100
    assert log[-1] == "line 5999"


HANG = "import subprocess, sys, time; subprocess.Popen(['sleep', '6000']); print('up'); "


def test_a_hang_ends_at_its_limit(
    fake_torch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "STARTUP", 0.8)
    jobs = fake_torch(HANG + "time.sleep(6000)")
    problem = problem_of({"into": str(tmp_path / "place"), "limit_s": 0.8})
    assert (problem.code, problem.params) == ("warm-timeout", {"limit_s": 0.8})
    assert len(jobs) == 1


@pytest.mark.parametrize(
    "deafness",
    ["", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "],
    ids=["listens", "ignores SIGTERM"],
)
def test_cancel_ends_everything_at_once(fake_torch: Any, tmp_path: Path, deafness: str) -> None:
    jobs = fake_torch(f"{deafness}{HANG}sys.stdout.flush(); time.sleep(6000)")
    asked: list[float] = []

    def when() -> bool:
        if report.all("log") and not asked:
            asked.append(time.monotonic())
            assert len(processes.family(jobs[0])) == 2
        return bool(asked)

    report = Recorder(when=when)
    with pytest.raises(Cancelled):
        supervise.warm({"into": str(tmp_path / "place")}, report)
    assert processes.family(jobs[0]) == set()
    assert not (tmp_path / "place").exists()


def test_a_child_in_a_session_of_its_own_ends_too(fake_torch: Any, tmp_path: Path) -> None:
    jobs = fake_torch(
        "import subprocess, time\n"
        "child = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "print(child.pid, flush=True); time.sleep(60)"
    )
    report = Recorder(when=lambda: bool(report.all("log")))
    with pytest.raises(Cancelled):
        supervise.warm({"into": str(tmp_path / "place")}, report)
    child = int(report.all("log")[0])
    assert processes.family(child) == set()
    assert len(jobs) == 1


def test_a_cancel_is_heard_all_the_time(fake_torch: Any, tmp_path: Path) -> None:
    fake_torch("import time; print('up', flush=True); time.sleep(0.5); raise ImportError('done')")
    looks: list[float] = []

    def when() -> bool:
        looks.append(time.monotonic())
        return False

    problem_of({"into": str(tmp_path / "place")}, Recorder(when=when))
    # The usual gap: on a machine that is busy with other tests a single one may be longer.
    assert statistics.median(b - a for a, b in itertools.pairwise(looks)) <= 0.05


def test_the_environment_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", "/x")
    monkeypatch.setenv("TRITON_CACHE_DIR", "/elsewhere")
    before = dict(os.environ)
    changed = supervise.environment("/place")
    assert changed == {
        **{
            k: v
            for k, v in before.items()
            if k not in ("TORCHKEEPER_TORCH_PYTHON", "TRITON_CACHE_DIR")
        },
        "TORCHINDUCTOR_CACHE_DIR": "/place",
    }
    monkeypatch.setenv("TRITON_CACHE_DIR", "/place/triton/0")
    assert supervise.environment("/place")["TRITON_CACHE_DIR"] == "/place/triton/0"
    monkeypatch.setenv("MKL_NUM_THREADS", "1")  # it would decide
    usual = supervise.environment("/place")
    assert supervise.environment("/place", threads=4, portable=True) == {
        **{name: value for name, value in usual.items() if name != "MKL_NUM_THREADS"},
        "OMP_NUM_THREADS": "4",
        "MKL_DYNAMIC": "FALSE",
        "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
    }


def test_answers_that_are_not_as_promised_are_ignored() -> None:
    work, report, variant = prepare._Work(), Recorder(), Variant(3, "mine", "one", "builtin")
    means = workers.Means(1, lambda _, __: pytest.fail("started"), lambda _, __: None)
    one = workers.Crew([variant], means, report)
    worker = workers.Worker(typing.cast("Any", None), (), variant=variant)
    for line in (
        b"",
        b"nonsense",
        b"[]",
        b"{}",
        b'{"a":1,"b":2}',
        b'{"result":{}}',
        b'{"graph":1}',
        b'{"progress":["x"]}',
        b'{"problem":{"code":"x","params":3}}',
        b'{"progress":[1e400,1]}',
        b'{"graph":{"id":"0","name":"f","outcome":"hit","seconds":1e400}}',
        b'{"graph":{"id":"0","name":"f","outcome":"hit","seconds":1,"phases":[["x",1e400]]}}',
        b'{"begun":{}}',
        b'{"variant":{"index":3,"state":"failed","problem":{"code":"x"}}}',
        b'{"header":{"path":"x","built":true,"bytes":1e400,"seconds":1}}',
        b'{"header":{"path":"x","built":true,"bytes":1,"seconds":1e400}}',
        b"[" * 9999,
    ):
        following.take(line, worker.state, partial(one._hear, worker))
        following.take(line, work, partial(prepare._tell, work, report))
    assert (worker.state.result, worker.state.problem, worker.variant) == (None, None, variant)
    assert (report.findings, report.steps) == ([], [])
    assert one.rows[3]["state"] == "queued"


def test_last_words() -> None:
    assert following.last_words([]) is None
    assert following.last_words(["ld: full", "  File x", ""]) == "ld: full"
    fatal = ["Fatal Python error: Segmentation fault", "", "Extension modules: numpy"]
    assert following.last_words(fatal) == fatal[0]


def test_nothing_here_imports_torch() -> None:
    modules = [
        "supervise",
        "job",
        "workers",
        "traces.graphs",
        "sources",
        "global_state",
        "sweep",
        "processes",
    ]
    modules += [f"sources.{name}" for name in ("builtin", "callables", "exported", "running")]
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('torch', 'triton', 'PySide6', 'redis', 'filelock')))\n"
        f"sys.path.insert(0, {APP!r})\n"
        "import torchkeeper.verdict.environment\n"
    ) + "".join(f"import torchkeeper.warm.{module}\n" for module in modules)
    subprocess.run([sys.executable, "-c", code], check=True)
