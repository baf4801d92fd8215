"""A program that is run: it behaves as without us, and is told of afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, Tk
from tests.conftest import DATA, RunPlain
from tests.engine.test_running import SAID
from tests.pace import LONG
from tests.redis_server import serving

#: Puts what was recorded where PyTorch would have written it.
TRACING = """if True:
    import os, shutil, sys
    os.makedirs(os.environ["TORCH_TRACE"], exist_ok=True)
    print("the program", flush=True)
    shutil.copy(sys.argv[1], os.environ["TORCH_TRACE"])
    sys.exit(int(sys.argv[2]))
"""


@pytest.fixture(autouse=True)
def own_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has its own list of runs."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("TORCH_TRACE", "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE"):
        monkeypatch.delenv(name, raising=False)


def program(source: str, *arguments: object) -> list[str]:
    return ["--", sys.executable, "-c", source, *map(str, arguments)]


def tracing(recorded: Path, change: str, code: int = 0, *more: str) -> list[str]:
    """A program with the trace of a change."""
    (trace,) = (recorded / change).iterdir()
    return program(TRACING, trace, code, *more)


def test_it_is_told_after_the_programs_own_output(tk: Tk, recorded: Path) -> None:
    ran = tk("run", "--into", recorded / "cache", *tracing(recorded, "shape", 3))
    assert ran.code == 3
    own, _, miss, why, total = ran.out.splitlines()[:5]
    assert own == "the program"
    assert miss.split()[:3] == ["miss", "0/0", "forward"]
    assert "layer(f32[16, 32], " in miss and " at changes.py:" in miss
    assert miss.endswith("s spent")
    assert why.split(maxsplit=2)[2] == SAID["shape"]
    assert total.startswith("1 graph: 0 hits, 1 miss; ")
    assert "names another cache folder" in ran.out
    assert ran.err == ""


def test_json_and_a_report(tk: Tk, recorded: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    ran = tk("run", "--into", recorded / "cache", "--json", "--report", report,
             *tracing(recorded, "same"))  # fmt: skip
    own, *lines = ran.out.splitlines()
    graph, last = map(json.loads, lines)
    assert graph.pop("schema") == last["schema"] == "torchkeeper/run/1"
    assert own == "the program"
    assert (graph["outcome"], graph["where"], graph["why"]) == ("hit", "local", "")
    result = last["result"]
    assert (result["hits"], result["local"], result["misses"]) == (1, 1, 0)
    assert [aot["outcome"] for aot in result["aotautograd"]] == ["hit"]
    written = json.loads(report.read_text())
    assert written["graphs"] == [graph]
    assert (written["saved"], written["run"]) == (result["saved"], result["run"])
    nowhere = tk("run", "--report", tmp_path / "no" / "r", *program("print('started')"))
    assert (nowhere.code, nowhere.out) == (1, "")


def test_the_program_is_as_without_us(tk: Tk, tmp_path: Path) -> None:
    source = "import json, os, sys; print(json.dumps([dict(os.environ), os.getcwd(), sys.argv]))"
    arguments = ["--filter", "x", "--json", "--", "-h"]
    ran = tk("run", *program(source, *arguments))
    env, where, argv = json.loads(ran.out.splitlines()[0])
    plain = subprocess.run(
        [sys.executable, "-c", source, *arguments], capture_output=True, text=True, check=True
    )
    assert [where, argv] == json.loads(plain.stdout)[1:]
    assert {name for name in env if env[name] != os.environ.get(name)} == {"TORCH_TRACE"}
    assert set(os.environ) <= set(env)
    assert not os.path.exists(env["TORCH_TRACE"]), "it is gone with what was in it"


def test_it_reads_and_prints_what_it_likes() -> None:
    source = "import sys; print(sys.stdin.read()[::-1]); print('wrong', file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-m", "torchkeeper", "run", *program(source)],
        input="olleh", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "wrong\n")
    assert done.stdout.startswith("hello\n\nPyTorch left no trace: ")


def test_into_a_place(tk: Tk, tmp_path: Path) -> None:
    names = ["TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"]
    source = f"import os; print([os.environ.get(name) for name in {names}])"
    place = tmp_path / "place"
    ran = tk("run", "--into", place, *program(source), TRITON_CACHE_DIR="/elsewhere")
    assert ran.out.splitlines()[0] == str([str(place), None])
    inside = str(place / "triton")
    ran = tk("run", "--into", place, *program(source), TRITON_CACHE_DIR=inside)
    assert ran.out.splitlines()[0] == str([str(place), inside])
    assert tk("places", "--protect", place).code == 0
    refused = tk("run", "--into", place, *program("print('started')"))
    assert (refused.code, refused.out) == (1, "")
    assert "read-only" in refused.err
    tk("places", "--unprotect", place)


def test_the_users_own_trace_is_left(tk: Tk, recorded: Path, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    shutil.copytree(recorded / "line", folder)
    ran = tk("run", "--json", *tracing(recorded, "dtype"), TORCH_TRACE=str(folder))
    graphs = [json.loads(line) for line in ran.out.splitlines()[1:-1]]
    names = [graph["name"] for graph in graphs]
    assert names == ["layer(f64[8, 32], f64[64, 32], f64[64])"], "not what was there before"
    assert len(list(folder.iterdir())) == 2
    missing = tmp_path / "not-there-yet"
    ran = tk("run", *program("print(1)"), TORCH_TRACE=str(missing))
    assert "most likely the program called nothing that torch.compile returned" in ran.out
    assert not missing.exists()
    ran = tk("run", *program("import no_such_module"))
    assert ran.code == 1 and "No module named" in ran.err
    assert "ended with exit code 1 before it compiled anything" in ran.out
    assert "likely" not in ran.out


def test_a_remote_cache(tk: Tk, recorded: Path, tmp_path: Path) -> None:
    on = {"TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE": "1"}
    for env, where in ((on, "remote"), ({}, "unknown")):
        ran = tk("run", "--json", "--into", tmp_path, *tracing(recorded, "same"), **env)
        assert json.loads(ran.out.splitlines()[1])["where"] == where


def test_under_an_interpreter(tk: Tk, tmp_path: Path) -> None:
    python = tmp_path / "python-of-mine"
    python.symlink_to(sys.executable)
    script = tmp_path / "train.py"
    script.write_text("import sys; print(sys.orig_argv[0], sys.argv[1:])")
    for command in (["python", script], ["/usr/bin/python3.11", script], [script]):
        ran = tk("run", "--env", python, "--", *command, "--fast")
        assert ran.out.splitlines()[0] == f"{python} ['--fast']"
    ran = tk("run", "--env", python, "--", "-m", "this")
    assert "Zen" in ran.out
    wrong = tk("run", "--env", python, "--", "torchrun", script)
    assert (wrong.code, wrong.out) == (2, "")
    assert f"{tmp_path}/torchrun" in wrong.err
    assert tk("run", "--env", "/nowhere", "--", script).code == 3


def test_what_cannot_be_run(tk: Tk, tmp_path: Path) -> None:
    assert tk("run").code == 2
    assert tk("run", "--").code == 2
    missing = tk("run", "--", "no-such-program-at-all")
    assert (missing.code, missing.out) == (127, "")
    (tmp_path / "plain.py").write_text("print(1)")
    unusable = tk("run", "--", tmp_path / "plain.py")
    assert (unusable.code, unusable.out) == (126, "")
    assert "--env" in unusable.err


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("TORCH_COMPILE_DISABLE", "turns torch.compile off"),
        ("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "turns its caches off"),
        ("", "called nothing that torch.compile returned"),
    ],
)
def test_why_there_is_nothing_to_tell(tk: Tk, variable: str, said: str) -> None:
    ran = tk("run", *program("print('done')"), **({variable: "1"} if variable else {}))
    assert ran.code == 0
    assert ran.out.startswith("done\n\n")
    assert said in ran.out
    assert tk("runs", "--json").result["runs"] == 0, "there is nothing to keep of it"


def _started(*arguments: str) -> subprocess.Popen[str]:
    # A shell that starts the tests in the background has them ignore SIGINT.
    command = ["env", "--default-signal=INT", sys.executable, "-m", "torchkeeper", "run"]
    return subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGUSR1"])
def test_signals_are_passed_on(name: str) -> None:
    source = f"""if True:
        import signal, sys, time
        signal.signal(signal.{name}, lambda *_: sys.exit(42))
        print("ready", flush=True)
        time.sleep(60)
    """
    with _started(*program(source)) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.send_signal(getattr(signal, name))
        assert "PyTorch left no trace" in process.stdout.read()
        assert process.wait(LONG) == 42


def test_what_is_typed_at_a_terminal_comes_once() -> None:
    source = """if True:
        import signal, time
        seen = []
        signal.signal(signal.SIGINT, lambda *_: seen.append(1))
        print("ready", flush=True)
        while not seen:
            time.sleep(0.05)
        time.sleep(0.5)
        print(f"{len(seen)} seen", flush=True)
    """
    # The leader of a session of its own, whose terminal this is.
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-m", "torchkeeper", "run", *program(source)])
    said = b""
    with contextlib.suppress(OSError):  # it has been closed
        while select.select([terminal], [], [], LONG)[0] and (data := os.read(terminal, 1000)):
            typed = b"ready" in said
            said += data
            if b"ready" in said and not typed:
                os.write(terminal, b"\x03")
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert b"1 seen" in said
    assert b"PyTorch left no trace" in said


def test_a_program_that_is_killed(tk: Tk) -> None:
    killed = tk("run", *program("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))
    assert killed.code == 137
    with _started(*program("import time; print(1, flush=True); time.sleep(60)")) as process:
        assert process.stdout
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONG) == 143


@pytest.mark.slow
def test_a_reader_that_goes_changes_no_exit_code(recorded: Path) -> None:
    with _started("--into", str(recorded / "cache"), *tracing(recorded, "shape", 4)) as process:
        assert process.stdout
        assert process.stdout.readline() == "the program\n"
        process.stdout.close()
        assert process.wait(LONG) == 4


def test_runs_are_kept(tk: Tk, recorded: Path) -> None:
    none = tk("runs", "--json")
    assert (none.code, none.result["runs"]) == (0, 0)
    for change in ("shape", "same"):
        secret = ("--token", "hunter2", "--url=redis://u:hunter2@h/0", "HF_TOKEN=hunter2")
        tk("run", "--into", recorded / "cache", *tracing(recorded, change, 3, *secret))
    listed = tk("runs", "--json")
    latest, first, last = listed.objects
    assert "hunter2" not in listed.out
    assert (latest["totals"]["hits"], first["totals"]["misses"], first["code"]) == (1, 1, 3)
    assert last["result"]["totals"]["graphs"] == 2
    text = tk("runs").out
    assert text.splitlines()[-1].startswith("2 runs, 2 graphs: 1 hit (1 local), 1 miss; ")
    shown = tk("runs", first["id"][:-2])
    assert SAID["shape"] in shown.out
    assert tk("runs", "last", "--json").objects[0]["id"] == latest["id"]
    assert tk("runs", "2").code == 2, "both begin so"
    assert tk("runs", "x").code == 1
    assert tk("runs", "last", "--forget", "--json").result == {"forgotten": 1}
    assert [one["id"] for one in tk("runs", "--json").objects[:-1]] == [first["id"]]
    assert tk("runs", "--forget").code == 2
    assert tk("runs", "all", "--forget").out == "1 run forgotten.\n"
    assert tk("runs", "--json").result["runs"] == 0


@pytest.mark.slow
def test_a_trace_from_elsewhere(tk: Tk, recorded: Path, tmp_path: Path) -> None:
    folder = recorded / "threads"
    told = tk("explain", "--trace", folder)
    assert told.code == 0
    assert "Not known: the trace does not say what the cache held before" in told.out
    told = tk("explain", recorded / "cache", "--trace", folder)
    assert SAID["threads"] in told.out
    *graphs, last = tk("explain", recorded / "cache", "--trace", folder, "--json").objects
    assert [graph["why"] for graph in graphs] == [SAID["threads"]]
    assert last["result"]["torch"] == "2.13.0+cpu"
    (hit, _) = tk("explain", "--trace", recorded / "same", "--json").objects
    assert (hit["outcome"], hit["where"]) == ("hit", "unknown")
    assert tk("explain", "--trace", tmp_path / "none").code == 3
    assert tk("explain", "--trace", tmp_path).code == 1, "nothing was compiled"
    assert tk("explain", recorded / "cache", "fa", "--trace", folder).code == 2
    assert tk("explain", recorded / "cache").code == 2


@pytest.mark.torch
@pytest.mark.slow
def test_each_change_of_a_real_run_is_named(
    tk: Tk, tmp_path: Path, run_plain: RunPlain, header_folder: Path, torch_python: str
) -> None:
    """A program that is compiled, run again, and then with one thing changed at a time."""
    place = tmp_path / "place"
    env = {"TMPDIR": str(header_folder)}

    def run(change: str, **more: str) -> Ran:
        command = ("--env", torch_python, "--", str(DATA / "changes.py"), change)
        return tk("run", "--into", place, "--json", *command, **env, **more)

    def graphs(ran: Ran) -> list[dict[str, object]]:
        own, *lines = ran.out.splitlines()
        assert own.startswith("sum ")
        return [json.loads(line) for line in lines[:-1]]

    (first,) = graphs(run(""))
    assert (first["outcome"], first["why"]) == ("miss", "No graph was there")
    (again,) = graphs(run(""))
    assert (again["outcome"], again["where"], again["key"]) == ("hit", "local", first["key"])
    threads = run_threads(torch_python)
    before = shutil.copytree(place, tmp_path / "before")
    for change, said in SAID.items():
        shutil.rmtree(place)
        shutil.copytree(before, place)
        trace = tmp_path / "traces" / change
        more = {"OMP_NUM_THREADS": "1"} if change == "threads" else {}
        (graph,) = graphs(run(change, TORCH_TRACE=str(trace), **more))
        said = said.replace("instead of 2", f"instead of {threads}")
        assert (graph["outcome"], graph["why"]) == ("miss", said)
        (told, _) = tk("explain", before, "--trace", trace, "--json").objects
        assert told["why"] == said


def run_threads(python: str) -> int:
    """How many threads torch takes here without being told."""
    source = "import torch; print(torch.get_num_threads())"
    done = subprocess.run([python, "-c", source], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.torch
@pytest.mark.slow
def test_hits_of_a_server_are_remote(
    tk: Tk, tmp_path: Path, header_folder: Path, torch_python: str
) -> None:
    with serving(tmp_path / "redis") as server:
        _hits_remotely(tk, tmp_path, header_folder, torch_python, server.url)


def _hits_remotely(tk: Tk, tmp_path: Path, headers: Path, python: str, url: str) -> None:
    env = {
        "TMPDIR": str(headers),
        "TORCHINDUCTOR_REDIS_URL": url,
        "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE": "1",
    }
    for place, said in (("one", ("miss", None)), ("two", ("hit", "remote")),
                        ("one", ("hit", "local"))):  # fmt: skip
        ran = tk("run", "--into", tmp_path / place, "--json", "--env", python, "--",
                 DATA / "changes.py", **env)  # fmt: skip
        graph = json.loads(ran.out.splitlines()[1])
        assert (graph["outcome"], graph["where"]) == said


@pytest.mark.torch
@pytest.mark.slow
def test_a_warm_run_hits_locally(
    tk: Tk, warm_cache: Path, header_folder: Path, torch_python: str
) -> None:
    ran = tk("run", "--into", warm_cache, "--json", "--env", torch_python, "--",
             DATA / "plain_script.py", TMPDIR=str(header_folder))  # fmt: skip
    assert ran.code == 0
    own, *lines = ran.out.splitlines()
    counters = json.loads(own)
    *graphs, last = map(json.loads, lines)
    assert {(graph["outcome"], graph["where"]) for graph in graphs} == {("hit", "local")}
    result = last["result"]
    assert result["hits"] == result["local"] == counters["hits"] == len(graphs) > 3
    assert result["saved"] > 0
    aot = [one["outcome"] for one in result["aotautograd"]]
    assert aot.count("hit") == counters["aot_hits"]
