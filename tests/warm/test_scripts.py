"""Scripts as a source: run as they are, and told of from the traces they leave."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.warm.test_phases import kept
from tests.warm.test_trace import lookup, record, written
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.warm import processes, supervise
from torchkeeper.warm.recipes.recipe import Variant
from torchkeeper.warm.sources import Work, scripts
from torchkeeper.warm.traces import trace
from torchkeeper.warm.traces.graphs import Graph

#: Puts what was recorded where PyTorch would have written it, in two pieces.
TRACING = """if True:
    import os, sys, time
    folder = os.environ["TORCH_TRACE"]
    data = open(sys.argv[1], "rb").read()
    for name in sys.argv[2:]:
        with open(os.path.join(folder, f"dedicated_log_torch_trace_{name}.log"), "wb") as file:
            file.write(data[:len(data) // 2])
            file.flush()
            time.sleep(0.5)
            file.write(data[len(data) // 2:])
    print("well", os.getcwd(), flush=True)
"""


@pytest.fixture(autouse=True)
def own_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_TRACE", raising=False)
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "place"))


def variant(where: Path, *command: object, **item: Any) -> Variant:
    told: Any = {"command": [str(one) for one in command], **item}
    return Variant(3, "recipe", "the script", "script", told, str(where))


def made(variant: Variant) -> tuple[Work, list[dict[str, Any]]]:
    told: list[dict[str, Any]] = []
    return scripts.make(variant, "cpu", lambda **what: told.append(what["graph"])), told


def ran(variant: Variant) -> tuple[Any, list[dict[str, Any]]]:
    work, told = made(variant)
    for step in work.steps:
        step.run()
    return work.counts, told


def why_not(variant: Variant) -> dict[str, Any]:
    with pytest.raises(Problem) as failure:
        ran(variant)
    return {"problem": failure.value.code, **failure.value.params}


def test_a_command_is_run_by_the_interpreter() -> None:
    for command, argv in (
        (["python", "a.py"], ["/p", "a.py"]),
        (["/usr/bin/python3.12", "-m", "a"], ["/p", "-m", "a"]),
        (["-m", "a.b", "--c"], ["/p", "-m", "a.b", "--c"]),
        (["./x/train.py", "1"], ["/p", "./x/train.py", "1"]),
        (["torchrun", "a.py"], None),
        (["pythonista"], None),
    ):
        assert processes.under("/p", command) == argv
    assert processes.file_of(["python", "a.py", "b.py"]) == "a.py"
    assert processes.file_of(["python", "-O", "a.py"]) is None


def test_a_script_is_told_while_it_runs_and_counted(
    recorded: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (file,) = (recorded / "first").iterdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "serve.py").write_text(TRACING)
    counts, told = ran(variant(tmp_path, "serve.py", file, "a", "b", folder="sub"))
    assert counts == {"graphs": 2, "hits": 0, "misses": 2, "bypasses": 0,
                      "autograd": {"hits": 0, "misses": 2}}  # fmt: skip
    assert [(one["id"], one["name"], one["outcome"], one["variant"]) for one in told] == [
        ("0/0 forward", "layer", "miss", 3),
        ("0/0 forward, process 2", "layer", "miss", 3),
    ]
    assert capfd.readouterr().out == f"well {tmp_path / 'sub'}\n"
    assert os.listdir(tmp_path / "tmp") == [], "the trace is gone"


def test_what_autograd_keeps_of_it_is_named(recorded: Path, tmp_path: Path) -> None:
    """An entry of AOTAutograd's may hold its graphs itself: no graph tells of it then."""
    (file,) = (recorded / "first").iterdir()
    [key, *_] = [one.key for one in trace.read(str(file), Report()).aot if one.key]
    work, _ = made(variant(tmp_path, "-c", TRACING, file, "a"))
    for there in (False, True):
        if there:
            (tmp_path / "place" / "aotautograd" / key).mkdir(parents=True)
        work.steps[0].run()
        assert work.made == ([("aotautograd", key)] if there else [])


def test_the_users_own_trace_stays(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = (recorded / "first").iterdir()
    own = written(tmp_path / "own", lookup("hit", key="f9"))
    monkeypatch.setenv("TORCH_TRACE", str(own))
    counts, told = ran(variant(tmp_path, "-c", TRACING, file, "a"))
    assert (counts["hits"], counts["misses"], len(told)) == (0, 1, 1), "what was there is not its"
    assert len(list(own.iterdir())) == 2


def test_what_goes_wrong(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("import sys; print('no', file=sys.stderr); sys.exit(3)\n")
    (tmp_path / "tool").write_text("no program")
    assert why_not(variant(tmp_path, "fails.py")) == {
        "problem": "script-failed", "command": "fails.py", "status": "exit code 3", "why": "no"
    }  # fmt: skip
    ended = why_not(variant(tmp_path, "-c", "import os; os.kill(os.getpid(), 11)"))
    assert ended["status"] == "SIGSEGV"
    nothing = why_not(variant(tmp_path, "-c", "pass"))
    assert nothing == {"problem": "script-nothing", "command": "pass", "compiles": 0}
    for one, code in (
        (variant(tmp_path, "serve.py"), "script-missing"),
        (variant(tmp_path, "fails.py", folder="there"), "script-folder"),
        (variant(tmp_path, "no-such-program-anywhere"), "command-missing"),
        (variant(tmp_path, "./tool"), "command-missing"),
    ):
        with pytest.raises(Problem) as failure:
            made(one)
        assert failure.value.code == code


def test_what_a_script_leaves_running_holds_nobody_up(tmp_path: Path) -> None:
    file = tmp_path / "left"
    source = (
        "import os, time\nleft = os.fork()\nif not left:\n    time.sleep(6000)\n    os._exit(0)\n"
        f"open({str(file)!r}, 'w').write(str(left))\n"
    )
    assert why_not(variant(tmp_path, "-c", source))["problem"] == "script-nothing"
    os.kill(int(file.read_text()), signal.SIGKILL)


def test_a_trace_that_grows(tmp_path: Path) -> None:
    """However it is cut, the same is told."""
    lines = b"".join(record(metadata, payload) for metadata, payload in kept("cold"))
    whole: dict[str, Graph] = {}
    folder = tmp_path / "whole"
    written(folder, lines)
    scripts.Tail(str(folder), lambda graph: whole.update({graph.id: graph}), "").look()
    assert {graph.outcome for graph in whole.values()} == {"miss"}
    pieces: dict[str, Graph] = {}
    folder = tmp_path / "pieces"
    follows = scripts.Tail(str(folder), lambda graph: pieces.update({graph.id: graph}), "")
    follows.look()
    for end in range(0, len(lines) + 997, 997):
        written(folder, lines[:end])
        follows.look()
    assert {ident: one.outcome for ident, one in pieces.items()} == dict.fromkeys(whole, "miss")
    # The last record is not known to be whole, and nothing came after it.
    assert pieces["1/0 forward"] == whole["1/0 forward"]


def test_a_strangers_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Graph] = []
    written(tmp_path, os.urandom(100_000), b"\n\n\t\n" * 1000, lookup("hit", key="f1"), b"V\n")
    (tmp_path / "dedicated_log_torch_trace_link.log").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "dedicated_log_torch_trace_pipe.log")
    follows = scripts.Tail(str(tmp_path), told.append, "step")
    follows.look()
    assert [(graph.name, graph.outcome) for graph in told] == [("step", "hit")]
    monkeypatch.setattr(scripts, "_MOST", 10)
    written(tmp_path, b"x" * 100_000, name="dedicated_log_torch_trace_more.log")
    follows.look()
    assert follows._files[str(tmp_path / "dedicated_log_torch_trace_more.log")].at == 0


def test_a_job_runs_it_without_torch(
    tmp_path: Path, recorder: type[Any], jobs: list[int], bare_python: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The interpreter needs none for it; what fails fails alone."""
    monkeypatch.setattr(sys, "executable", bare_python)
    events = b"".join(record(metadata, payload) for metadata, payload in kept("cold"))
    (tmp_path / "events.log").write_bytes(events)
    (tmp_path / "serve.py").write_text(TRACING)
    data = {"script": [{"command": ["serve.py", "events.log", "a"]}, {"command": ["-c", "3 / 0"]}]}
    asked: Any = {"name": "served", "folder": str(tmp_path), "data": data}
    heard = recorder()
    result = supervise.warm({"into": str(tmp_path / "place"), "recipes": [asked]}, heard)
    good, bad = result["variants"]
    assert (good["state"], good["graphs"], good["misses"]) == ("done", 2, 2)
    assert (bad["state"], bad["problem"]["code"]) == ("failed", "script-failed")
    assert bad["problem"]["params"]["why"] == "ZeroDivisionError: division by zero"
    (log,) = [one["log"] for one in heard.all("variant") if isinstance(one, dict) and "log" in one]
    assert any("Traceback" in line for line in log)
    told = {one["id"]: one for one in heard.all("graph")}
    assert told["1/0 backward"]["variant"] == 0
    assert "build" in dict(told["1/0 backward"]["phases"])
    assert heard.all("graph")[0]["outcome"] == "compiling"


@pytest.mark.slow
def test_a_script_warms_a_place(
    filled: Path, torch_python: str, header_folder: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """What it compiles is what the same script compiles by itself."""
    monkeypatch.setattr(sys, "executable", torch_python)
    monkeypatch.setenv("TMPDIR", str(header_folder))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "place"))
    shutil.copy(Path(__file__).parent.parent / "data" / "plain_script.py", tmp_path)
    counts, told = ran(variant(tmp_path, "plain_script.py"))
    assert counts["misses"] == counts["graphs"] == len(list(filled.glob("fxgraph/*/*")))
    assert {key.name for key in (tmp_path / "place").glob("fxgraph/*/*")} == {
        key.name for key in filled.glob("fxgraph/*/*")
    }
    assert {one["phases"][-2][0] for one in told if one["outcome"] == "miss"} == {"build"}
