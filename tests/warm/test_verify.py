"""Verifying: what each run has and has not, what it comes to, and that nothing of it is left."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.cli import conftest as commands
from tests.snapshots import snapshot
from tests.warm.conftest import Filled, Recorder
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled
from torchkeeper.client.kept import verified
from torchkeeper.client.words import verifying
from torchkeeper.warm import verify as module
from torchkeeper.warm.options import RUNS
from torchkeeper.warm.ran import Ran
from torchkeeper.warm.supervise import warm
from torchkeeper.warm.verify import verify

forks, tk = commands.forks, commands.tk


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files of this process, empty."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def problem_of(params: Any, report: Recorder | None = None) -> Problem:
    with pytest.raises(Problem) as failure:
        verify(params, report or Recorder())
    return failure.value


@pytest.mark.torch
@pytest.mark.slow
def test_an_object_that_is_built_again_is_seen(
    place: Path, with_torch: list[int], temporary: Path
) -> None:
    """Everything hits, PyTorch's counters say nothing, and the file appears in the copy."""
    removed = sorted(place.glob("??/*.main.so"))[0]
    removed.unlink()
    before, mark = snapshot(place), verified.mark(str(place))
    report = Recorder()
    result = verify({"place": str(place), "runs": ["warm"]}, report)
    assert verified.checked(result) == result
    assert (result["graphs"], result["hits"], result["misses"]) == (7, 7, 0)
    assert result["autograd"] == {"hits": 4, "misses": 0}
    assert {row["outcome"] for row in result["rows"]} == {"hit"}
    assert len(result["rows"]) == 7
    assert result["built"] == [str(removed.relative_to(place))]
    assert (result["rebuilt"], result["good"]) == (1, False)
    assert report.all("built") == [{"path": result["built"][0]}]
    assert report.all("run") == [{"name": "warm"}]
    assert result["threads"] > 0
    assert result["torch"].startswith("2.")
    # The original is as it was, and nothing is left.
    assert snapshot(place) == before
    assert verified.mark(str(place)) == mark
    assert os.listdir(temporary) == []


@pytest.mark.torch
@pytest.mark.slow
def test_all_runs(place: Path, with_torch: list[int], temporary: Path) -> None:
    result = verify({"place": str(place)}, Recorder())
    runs = result["runs"]
    assert list(runs) == list(RUNS)
    assert (runs["cold"]["hits"], runs["cold"]["misses"]) == (0, 7)
    # What a mega-cache is worth on a CPU: all hits, and every object built again.
    assert (runs["mega"]["hits"], runs["mega"]["misses"]) == (7, 0)
    assert runs["mega"]["rebuilt"] == runs["cold"]["rebuilt"] > 10
    for name in ("warm", "prepared"):
        assert (runs[name]["hits"], runs[name]["misses"], runs[name]["rebuilt"]) == (7, 0, 0)
    assert result["good"]
    assert result["ratios"]["warm_cold"] > 1.5
    assert result["ratios"]["prepared_cold"] > 3
    assert os.listdir(temporary) == []


@pytest.mark.torch
@pytest.mark.slow
def test_bundles_from_the_command_line(
    built: Filled, tk: commands.Tk, torch_python: str, tmp_path: Path, temporary: Path
) -> None:
    """One that has all, and one without code, which PyTorch then builds again in silence."""
    whole, bare = tmp_path / "whole.torchcache", tmp_path / "bare.torchcache"
    env = {"TMPDIR": str(temporary)}
    assert (
        tk("export", "--allow-secrets", built.place, "-o", whole, "--env", torch_python).code == 0
    )
    assert (
        tk("export", "--allow-secrets", built.place, "-o", bare, "--filter", "-kind:code").code == 0
    )
    asked = ("--env", torch_python, "--trust", "--quick", "--json")
    ran = tk("verify", whole, *asked, timeout=600, **env)
    assert ran.code == 0, ran.err
    assert [row["outcome"] for row in ran.objects[:-1]] == ["hit"] * 7
    assert (ran.result["good"], ran.result["rebuilt"], ran.result["left"]) == (True, 0, [])
    kept = verified.last(str(whole))
    assert kept is not None
    assert kept.result["hits"] == 7
    assert not kept.before_it_changed()
    ran = tk("verify", bare, *asked, timeout=600, **env)
    assert ran.code == 1
    assert (ran.result["hits"], ran.result["misses"], ran.result["good"]) == (7, 0, False)
    assert ran.result["rebuilt"] > 10
    assert "with its code (kind:code)" in ran.err
    assert os.listdir(temporary) == []


SERVE = """
import sys, torch
torch.manual_seed(0)
model = torch.compile(torch.nn.Linear(8, 8))
for batch in sys.argv[1].split(","):
    out = model(torch.ones(int(batch), 8)).sum()
if sys.argv[2:]:
    out.backward()
"""


@pytest.mark.torch
@pytest.mark.slow
def test_what_pytorch_never_writes_is_no_fault(
    with_torch: list[int], temporary: Path, tmp_path: Path
) -> None:
    """A forward alone, with gradients on: its entry of AOTAutograd's waits for a backward. An entry
    that was there and was not carried is a fault, as ever.
    """
    (tmp_path / "serve.py").write_text(SERVE)
    for number, (backward, lost, unwritten, good) in enumerate((
        ("", False, 1, True),
        ("backward", False, 0, True),
        ("backward", True, 0, False),
    )):  # fmt: skip
        place = tmp_path / str(number)
        data = {"script": {"command": ["serve.py", "3", *backward.split()]}}
        asked: Any = {"recipes": [{"name": "serve", "folder": str(tmp_path), "data": data}]}
        warming: Any = {"into": str(place), **asked}
        warm(warming, Recorder())
        if lost:
            shutil.rmtree(place / "aotautograd")
        asked |= {"place": str(place), "runs": list(RUNS) if unwritten else ["warm"]}
        result = verify(asked, Recorder())
        assert result["misses"] == 0
        assert result["autograd"]["misses"] == 1 - good + unwritten
        assert result["unwritten"] == unwritten
        assert result["good"] is good
        kept = verified.checked(result)
        told = " ".join([verifying.verdict(kept), *verifying.advice(kept), *verifying.asides(kept)])
        assert ("1 AOTAutograd miss" in told and "kind:aotautograd" in told) is not good
        assert ("1 graph is traced again at each start" in told) is bool(unwritten)
        if unwritten:
            assert list(result["runs"]) == ["cold", "warm"]
            assert "Without the run “stock mega-cache”: a script compiles" in told
            # It has no kernel of its own to build.
            assert "Without the run “prepared”: this program uses no precompiled" in told
    assert os.listdir(temporary) == []


def test_a_cancel_leaves_nothing(fake_torch: Any, fixture_cache: Path, temporary: Path) -> None:
    fake_torch(
        "import os, subprocess, tempfile, time\n"
        "open(os.path.join(tempfile.gettempdir(), 'mine'), 'w').close()\n"
        "subprocess.Popen(['sleep', '6000']); print('up', flush=True); time.sleep(6000)"
    )
    seen: list[list[str]] = []

    def when() -> bool:
        if report.all("log") and not seen:
            [scratch] = temporary.iterdir()
            seen.append(sorted(str(p.relative_to(scratch)) for p in scratch.glob("*/*")))
            assert (scratch / "warm" / "tmp" / "mine").exists()
        return bool(seen)

    report = Recorder(when=when)
    with pytest.raises(Cancelled):
        verify({"place": str(fixture_cache), "runs": ["warm"]}, report)
    assert seen == [["warm/cache", "warm/tmp"]]
    assert os.listdir(temporary) == []


def test_a_crash_of_the_target_is_said_as_such(
    fake_torch: Any, fixture_cache: Path, temporary: Path
) -> None:
    fake_torch("import os; os.abort()")
    place = str(fixture_cache)
    problem = problem_of({"place": place, "runs": ["warm"]})
    assert problem.code == "verify-crashed"
    assert (problem.params["place"], problem.params["signal"]) == (place, "SIGABRT")
    # Where the target is not even there, it is not to blame.
    assert problem_of({"place": place, "runs": ["cold", "warm"]}).code == "warm-killed"
    assert os.listdir(temporary) == []


def test_the_job_sees_only_its_own_folders(
    fake_torch: Any, fixture_cache: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = {
        "TORCH_TRACE": "/trace",
        "TRITON_CACHE_DIR": "/kernels",
        "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE": "1",
        "TORCHINDUCTOR_REDIS_URL": "redis://h",
        "TRITON_REMOTE_CACHE_BACKEND": "triton.runtime.cache:RedisRemoteCacheBackend",
    }
    own = {"TORCHINDUCTOR_MAX_AUTOTUNE": "1", "TORCH_COMPILE_CACHE_KEY_TAG": "x", "CXX": "g++"}
    for name, value in {**elsewhere, **own}.items():
        monkeypatch.setenv(name, value)
    fake_torch(
        "import json, os, tempfile\n"
        "print(json.dumps([tempfile.gettempdir(), os.listdir(tempfile.gettempdir()),"
        " os.listdir(os.environ['TORCHINDUCTOR_CACHE_DIR'])]), flush=True)\n"
        "own = [n for n in os.environ if n.startswith(('TORCH', 'TRITON', 'CXX'))]\n"
        "print(' '.join(own), flush=True)\n"
        "raise ImportError('enough')"
    )
    report = Recorder()
    assert (
        problem_of({"place": str(fixture_cache), "runs": ["warm"]}, report).code == "torch-broken"
    )
    folders, names = report.all("log")[:2]
    assert str(temporary) in folders
    assert '/warm/tmp", [], [' in folders
    assert '"fxgraph"' in folders
    assert not set(elsewhere) & set(names.split())
    assert {*own, "TORCHINDUCTOR_CACHE_DIR", "TRITON_HOME"} == set(names.split())


def test_a_rank_of_vllms(fake_torch: Any, kept_291: Path, tmp_path: Path, temporary: Path) -> None:
    """A program is led to the cache in it, and of several ranks none is chosen."""
    fake_torch(
        "import os\nprint(*map(os.environ.get, ('TORCHINDUCTOR_CACHE_DIR', 'TRITON_CACHE_DIR')),"
        " flush=True)\nraise ImportError('enough')"
    )
    model = tmp_path / "1a2b3c"
    graphs = model / "rank_0_0" / "inductor_cache"
    graphs.parent.mkdir(parents=True)
    shutil.copytree(kept_291, graphs)
    kernel = model / "rank_0_0" / "triton_cache" / ("A" * 52)
    kernel.mkdir(parents=True)
    for name in ("f.json", "f.ttir", "__grp__f.json"):
        (kernel / name).write_text("{}")
    for place, inner in ((model, "rank_0_0/"), (model / "rank_0_0", ""), (graphs, None)):
        report = Recorder()
        asked = {"place": str(place), "runs": ["warm"]}
        assert problem_of(asked, report).code == "torch-broken"
        inductor, triton = report.all("log")[0].split()
        ends = [f"/warm/cache/{inner}{name}" for name in ("inductor_cache", "triton_cache")]
        if inner is None:
            ends = ["/warm/cache", "None"]
        assert inductor.endswith(ends[0])
        assert triton.endswith(ends[1])
    shutil.copytree(graphs / "fxgraph", model / "rank_1_0" / "inductor_cache" / "fxgraph")
    problem = problem_of({"place": str(model)})
    assert problem.code == "verify-which"
    assert (problem.params["folders"], problem.params["count"]) == ("rank_0_0, rank_1_0", 2)
    assert os.listdir(temporary) == []


def test_the_limit_holds_for_the_header_too(
    fake_torch: Any, temporary: Path, tmp_path: Path
) -> None:
    fake_torch("import time; time.sleep(60)")
    with pytest.raises(Problem) as failure:
        module._prepare(str(temporary), 0.3, Recorder())
    assert (failure.value.code, failure.value.params) == ("prepare-timeout", {"limit_s": 0.3})


def test_what_cannot_be_verified(
    tmp_path: Path, fixture_cache: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(fixture_cache)
    assert problem_of({"place": "redis://h"}).code == "verify-server"
    assert problem_of({"place": str(tmp_path / "missing")}).code == "place-missing"
    (tmp_path / "empty").mkdir()
    assert problem_of({"place": str(tmp_path / "empty")}).code == "nothing-to-verify"
    assert problem_of({"place": place, "recipes": ["none"]}).code == "recipe-unknown"
    for wrong in (
        {"runs": ["hot"]},
        {"runs": ["mega"]},
        {"runs": ["cold"]},
        {"scratch": "relative"},
        {"limit_s": -1.0},
    ):
        assert problem_of({"place": place, **wrong}).code == "bad-request", wrong
    _, runs = module.checked({"place": place, "runs": ["warm", "mega"]})
    assert runs == {"cold", "mega", "warm"}
    monkeypatch.setattr(module, "_WORK", 1 << 60)
    full = problem_of({"place": place})
    assert full.code == "verify-no-room"
    assert full.params["place"] == str(temporary)
    assert int(str(full.params["needed_mb"])) > int(str(full.params["free_mb"]))
    assert os.listdir(temporary) == []


def test_a_disk_that_fills_up_meanwhile(
    fake_torch: Any, fixture_cache: Path, temporary: Path
) -> None:
    fake_torch("import errno, os; raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))")
    assert problem_of({"place": str(fixture_cache)}).code == "verify-no-room"
    assert os.listdir(temporary) == []


@pytest.mark.parametrize(
    ("change", "good"),
    [
        ({}, True),
        ({"hits": 0}, False),
        ({"misses": 1}, False),
        ({"autograd": {"hits": 1, "misses": 1}}, False),
    ],
)
def test_good(change: dict[str, Any], good: bool) -> None:
    result: Any = {"hits": 2, "misses": 0, "autograd": {"hits": 2, "misses": 0}, **change}
    assert Ran(result, written=1).good is good
    assert Ran(result).good is (good or bool(result["autograd"]["misses"]))
    assert not Ran(result, built=["aa/x.so"]).good
