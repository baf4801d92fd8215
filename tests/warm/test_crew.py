"""Several processes at a time, and variants that end them: real ones, of commands that need no
torch.

A command that compiles nothing has failed with "script-nothing", which here says that it ran.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from tests.pace import LONG
from tests.warm.conftest import Recorder
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import user_error
from torchkeeper.engine.protocol import Message
from torchkeeper.warm import processes, workers
from torchkeeper.warm.recipes.foreseeing import foreseen
from torchkeeper.warm.recipes.recipe import Variant
from torchkeeper.warm.supervise import checked, environment, of_variant, warm
from torchkeeper.warm.workers import Worker, group_of

Answer = dict[str, Any]
NOTHING = "script-nothing"
EAT = "import random, time\nkept = [random.randbytes(1 << 20) * 300]\ntime.sleep(60)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where recipes lie."""
    made = tmp_path / "recipes"
    made.mkdir()
    (made / "eat.py").write_text(EAT)
    for name in ("TORCH_TRACE", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    return made


def recipe(folder: Path, name: str, *commands: list[str], **more: Any) -> Any:
    items = [{"name": f"{i}", "command": command} for i, command in enumerate(commands)]
    return {"name": name, "folder": str(folder), "data": {"script": items, **more}}


def when(report: Recorder) -> dict[int, list[tuple[int, str]]]:
    """The places of what was told of each variant, among all findings of variants."""
    told: dict[int, list[tuple[int, str]]] = {}
    for place, found in enumerate(one for one in report.all("variant") if isinstance(one, dict)):
        if found["state"] != "starting":
            told.setdefault(found["index"], []).append((place, found["state"]))
    return told


def overlap(report: Recorder, first: int, second: int) -> bool:
    (a, _), (b, _) = when(report)[first]
    (c, _), (d, _) = when(report)[second]
    return a < d and c < b


@pytest.mark.slow
def test_what_ends_a_process_ends_one_variant(
    folder: Path, tmp_path: Path, jobs: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    recipes = [
        recipe(folder, "a", ["true"], ["sh", "-c", "kill -9 $PPID; sleep 60"], ["true"]),
        recipe(folder, "b", ["sleep", "60"], ["true"], limits={"seconds": 0.5}),
        recipe(folder, "c", ["eat.py"], ["true"], limits={"memory": "200 MB"}),
    ]
    report = Recorder()
    result = warm({"into": str(tmp_path / "place"), "recipes": recipes}, report)
    problems: Any = [
        (row["problem"]["code"], row["problem"]["params"]) for row in result["variants"]
    ]
    ended = ["warm-killed", "warm-timeout", "variant-memory"]
    codes = [code for code, _ in problems]
    assert codes == [NOTHING, ended[0], NOTHING, ended[1], NOTHING, ended[2], NOTHING]
    assert problems[1][1]["signal"] == "SIGKILL"
    assert problems[3][1] == {"limit_s": 0.5}
    assert problems[5][1]["limit_mb"] == 200
    assert problems[5][1]["used_mb"] > 200
    assert (result["done"], result["failed"], result["added"]) == (0, 7, 0)
    # What is over its memory in a process that others have used has a second one to itself.
    assert len(jobs) == 1 + 3 + 1
    assert report.steps[-1] == (7, 7, "variants")
    assert list(temporary.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_what_leaves_its_session_is_ended_too(folder: Path, tmp_path: Path) -> None:
    # Each is with process 1 for its parent before its variant has ended.
    away = ["sh", "-c", "setsid sleep 60 > /dev/null 2>&1 & echo $! >> escaped"]
    twice = ["sh", "-c", "(setsid sh -c 'echo $$ >> escaped; exec sleep 60' &); "
             "until [ $(wc -l < escaped) = 2 ]; do sleep 0.05; done"]  # fmt: skip
    warm({"into": str(tmp_path / "p"), "recipes": [recipe(folder, "a", away, twice)]}, Recorder())
    escaped = (folder / "escaped").read_text().split()
    assert len(escaped) == 2
    assert [processes.family(int(pid)) for pid in escaped] == [set(), set()]


def test_two_at_a_time(
    folder: Path, tmp_path: Path, jobs: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 8)
    monkeypatch.setattr(processes, "busy", lambda: False)
    monkeypatch.setattr(workers, "LONG", 0.05)
    # The first waits for a second, which only another process can begin meanwhile.
    said = ["sh", "-c", "echo compile with $TORCHINDUCTOR_COMPILE_THREADS; echo >> begun; "
            "until [ $(wc -l < begun) -ge 2 ]; do sleep 0.05; done"]  # fmt: skip
    asked: Any = {"into": str(tmp_path / "place"), "recipes": [recipe(folder, "a", *[said] * 5)]}
    report = Recorder()
    warm(asked | {"jobs": 2}, report)
    assert len(jobs) == 2
    assert overlap(report, 0, 1)
    assert "compile with 4" in report.all("log")
    assert all(0 <= found["variant"] < 5 for found in report.findings if "log" in found)

    jobs.clear()
    report = Recorder()
    warm(asked | {"only": [1, 4]}, report)
    assert len(jobs) == 1
    assert sorted(when(report)) == [1, 4]
    assert not overlap(report, 1, 4)
    assert "compile with" in report.all("log")


def test_another_process_has_to_be_worth_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "busy", lambda: False)
    variants = [Variant(index, "a", str(index), "callable", device="cpu") for index in range(20)]
    queue = workers.Queue(variants, 2)
    one = Worker(cast("Any", None), group_of(variants[0]), variant=variants.pop(0))
    queue.variants.pop(0)
    assert queue.newcomer([one]) is None
    queue.start_s = 4.0
    queue.ended(20.0, first=True)  # with a header, and all that a process does but once
    assert queue.newcomer([one]) is None
    queue.ended(2.0, first=False)
    assert queue.newcomer([one]) is queue.variants[0]
    assert queue.share([one]) == 2
    monkeypatch.setattr(processes, "busy", lambda: True)
    assert queue.newcomer([one]) is None
    monkeypatch.setattr(processes, "busy", lambda: False)
    del queue.variants[8:]
    assert queue.newcomer([one]) is None
    # Another environment needs another process in any case.
    other = Variant(20, "b", "b", "callable", device="cpu", environment={"X": "1"})
    queue.variants.append(other)
    assert queue.newcomer([one]) is other


def test_no_more_than_there_is_room_for(
    folder: Path, tmp_path: Path, jobs: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: Any = {
        "into": str(tmp_path / "place"),
        "recipes": [recipe(folder, "a", *[["true"]] * 5)],
    }
    for cores, free, why in ((1, 1 << 40, "cores"), (8, 1 << 20, "memory")):
        monkeypatch.setattr(processes, "cores", lambda cores=cores: cores)
        monkeypatch.setattr(processes, "available", lambda free=free: free)
        report = Recorder()
        warm(asked | {"jobs": 3}, report)
        assert report.all("jobs") == [{"asked": 3, "given": 1, "why": why}]
    assert len(jobs) == 2


@pytest.mark.slow
def test_a_gpu_is_used_by_one_process_at_a_time(
    folder: Path, tmp_path: Path, jobs: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 8)
    nap = ["sleep", "0.2"]
    recipes = [
        recipe(folder, "one", nap, nap, environment={"X": "1"}),
        recipe(folder, "other", nap, environment={"X": "2"}),
    ]
    report = Recorder()
    warm({"into": str(tmp_path / "p"), "recipes": recipes, "jobs": 3, "device": "cuda"}, report)
    assert not any(overlap(report, *pair) for pair in itertools.combinations(range(3), 2))
    report = Recorder()
    warm({"into": str(tmp_path / "p"), "recipes": recipes, "jobs": 3, "device": "cpu"}, report)
    assert overlap(report, 0, 1) or overlap(report, 0, 2)


def test_cancel_ends_all_at_once(
    folder: Path, tmp_path: Path, jobs: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 8)
    monkeypatch.setattr(processes, "busy", lambda: False)
    monkeypatch.setattr(workers, "LONG", 0.05)
    stubborn = ["sh", "-c", "trap '' TERM; echo up; sleep 6000 & wait; sleep 6000"]
    asked: list[float] = []

    def both() -> bool:
        if not asked and report.all("log").count("up") == 2:
            asked.append(time.monotonic())
            assert sum(len(processes.family(pid)) for pid in jobs) >= 4
        return bool(asked)

    report = Recorder(when=both)
    recipes = [recipe(folder, "a", *[stubborn] * 5)]
    with pytest.raises(Cancelled):
        warm({"into": str(tmp_path / "place"), "recipes": recipes, "jobs": 2}, report)
    assert len(jobs) == 2
    states = when(report)
    assert [states[index][-1][1] for index in range(5)] == ["cancelled"] * 5
    assert not (tmp_path / "place").exists()


def test_a_disk_that_is_full_ends_all(
    folder: Path, tmp_path: Path, fake_torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sitecustomize.py").write_text(
        "import os, subprocess\n"
        "def full(*_, **__): raise OSError(28, os.strerror(28))\n"
        "import tempfile; tempfile.mkdtemp = full\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(folder))
    with pytest.raises(Problem) as failure:
        warm({"into": str(tmp_path / "p"), "recipes": [recipe(folder, "a", ["true"], ["true"])]},
             Recorder())  # fmt: skip
    assert failure.value.code == "disk-full"
    assert failure.value.params == {"place": str(tmp_path / "p")}

    # Before anything is started: as if the place were on the device that is always full.
    with Path("/dev/full").open("wb", 0) as full, pytest.raises(Problem) as failure:
        monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full)
        warm({"into": str(tmp_path / "q")}, Recorder())
    assert failure.value.code == "disk-full"


def test_the_environment_of_a_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCHINDUCTOR_COMPILE_THREADS", raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "1")
    base = environment("/place")
    plain = Variant(0, "a", "b", "builtin")
    assert of_variant(base, plain) == base
    own = {"X": "1", "TORCHINDUCTOR_CACHE_DIR": "/mine", "TMPDIR": "/mine", "TRITON_HOME": "/mine"}
    variant = Variant(0, "a", "b", "builtin", environment=own, threads=3, portable=True)
    changed = of_variant(base, variant, 2)
    assert changed.pop("TORCHINDUCTOR_COMPILE_THREADS") == str(max(processes.cores() // 2, 1))
    assert changed == {**environment("/place", 3, True), "X": "1"}
    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "5")
    assert of_variant(environment("/place"), plain, 2)["TORCHINDUCTOR_COMPILE_THREADS"] == "5"


def test_what_takes_too_much_beside_others_is_tried_alone() -> None:
    queue = workers.Queue([Variant(n, "a", str(n), "callable") for n in range(2)], 2)
    worker = Worker(cast(Any, None), group_of(queue.variants[0]), fresh=False)
    queue.alone.add(0)
    following = queue.next(worker, [worker])
    assert following is queue.variants[1]
    # A process of its own is worth its start, for nothing else can take it.
    assert queue.newcomer([worker]) is queue.variants[0]
    queue.variants.remove(following)
    assert queue.next(worker, [worker]) is None
    assert not queue.left_for(worker)


def test_a_path_that_cannot_be_compiled_into(tmp_path: Path) -> None:
    for name in ("a b", "a'b", "a\\b"):
        place = tmp_path / name
        with pytest.raises(Problem) as failure:
            warm({"into": str(place), "recipes": ["builtin"], "device": "cpu"}, Recorder())
        assert (failure.value.code, place.exists()) == ("place-blank", False)


def test_a_path_that_is_no_good_is_told_before_anything_starts(tmp_path: Path) -> None:
    """Also where a kernel beside could be had there, and where nothing is to be compiled yet."""
    kernel = {"kernel": "k:add", "signature": {"x": "*fp32:16"}, "targets": ["cuda:90"]}
    recipe: Any = {"name": "kernel", "folder": str(tmp_path), "data": {"triton": kernel}}
    place = tmp_path / "a b"
    asked: Any = {"into": str(place), "recipes": ["builtin", recipe], "device": "cpu"}
    with pytest.raises(Problem) as failure:
        warm(asked, Recorder())
    assert (failure.value.code, place.exists()) == ("place-blank", False)
    with Engine() as engine:
        (tmp_path / "p.py").touch()
        data = {"script": {"command": ["python", "p.py"]}}
        script = {"name": "s", "folder": str(tmp_path), "data": data}
        for into, code in (("a b", "place-blank"), ("ab", None)):
            heard: list[Message] = []
            params = {**asked, "into": str(tmp_path / into), "recipes": ["builtin", script]}
            result = engine.call("variants", params, heard.append)
            rows = [row for message in heard for row in message.rows]
            assert {(row["problem"] or {}).get("code") for row in rows} == {code}
            assert result["problems"] == (len(rows) if code else 0)
    assert "ln -s '/x y' " in user_error("place-blank", {"place": "/x y"}).remedy


@pytest.mark.parametrize(("cxx", "code"), [("/nowhere/g++", "compiler-missing"), (None, None)])
def test_a_compiler_that_is_missing_is_foretold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cxx: str | None, code: str | None
) -> None:
    """Also where only the recipe names it; a script may come with a compiler of its own."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "g++").symlink_to(sys.executable)
    if cxx is not None:
        monkeypatch.setenv("CXX", cxx)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    (tmp_path / "p.py").touch()
    data = {"script": {"command": ["python", "p.py"]}}
    script = {"name": "s", "folder": str(tmp_path), "data": data}
    heard: list[Message] = []
    with Engine() as engine:
        params = {"into": str(tmp_path / "c"), "recipes": ["builtin", script], "device": "cpu"}
        engine.call("variants", params, heard.append)
    found = {row["source"]: row["problem"] for message in heard for row in message.rows}
    assert (found["builtin"] or {}).get("code") == code
    assert found["script"] is None


def test_a_thread_that_goes_on_holds_no_process_up(folder: Path) -> None:
    source = (
        "import threading, time\n"
        "from torchkeeper.warm import child\n"
        "child.LEAVE = 0.2\n"
        "def work(job, tell):\n"
        "    threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "    return job\n"
        "child.serve(work)\n"
    )
    command = [sys.executable, "-c", source]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdin
        assert started.stdout
        started.stdin.write(b'{"a": 1}\n')
        started.stdin.flush()
        assert started.stdout.readline() == b'{"result": {"a": 1}}\n'
        assert started.wait(LONG) == 0


def test_what_is_certain_to_fail_has_failed_at_once(
    folder: Path, tmp_path: Path, jobs: list[int]
) -> None:
    exported: Any = {"data": {"exported": {"file": "made.pt2"}}, "folder": str(folder)}
    recipes: Any = [
        {**exported, "name": "too early"},
        recipe(folder, "a", ["no-such-program"], ["none.py"], ["true"]),
        recipe(folder, "b", ["no-such-program"], environment={"PATH": "/usr/bin:/bin"}),
    ]
    report = Recorder()
    asked: Any = {"into": str(tmp_path / "place"), "recipes": recipes}
    result = warm(asked, report)
    codes = [row["problem"]["code"] for row in result["variants"]]
    missing = "command-missing"
    assert codes == ["exported-unreadable", missing, "script-missing", NOTHING, missing]
    states = [
        (one["index"], one["state"]) for one in report.all("variant") if isinstance(one, dict)
    ]
    assert [*states[:3], states[3]] == [
        (0, "failed"), (1, "failed"), (2, "failed"), (3, "starting")]  # fmt: skip
    assert report.steps[0] == (3, 5, "variants")
    # A variant before it may make the file.
    [variant] = checked({"recipes": [exported | {"name": "later"}]}, asked["into"]).variants
    maker = Variant(0, "a", "b", "script", {"command": ["true"]}, str(folder))
    assert None not in foreseen([replace(variant, index=1)])
    assert list(foreseen([maker, replace(variant, index=1)])) == [None, None]
    with pytest.raises(Problem) as failure:
        warm(asked | {"only": [2]}, Recorder())
    assert failure.value.code == "script-missing"
    assert warm(asked | {"only": [2], "each": True}, Recorder())["failed"] == 1


def test_files_of_two_folders_share_no_process(tmp_path: Path) -> None:
    def group(name: str, kind: str = "function") -> Any:
        return group_of(Variant(0, "a", "b", "callable", cast("Any", {kind: name}), str(tmp_path)))

    assert group("a/m.py:f") == group("a/n.py:C", "factory") == group("./a/n.py:e", "example")
    assert group("a/m.py:f") != group("b/m.py:f")
    assert group("m.py:f") == group("m:f") == group("a.m:f") != group("a/m.py:f")


def test_memory_is_that_of_a_whole_family() -> None:
    child = "import subprocess, sys; kept = b'x' * (30 << 20); "
    above = child + "subprocess.run([sys.executable, '-c', sys.argv[1]])"
    below = child + "print('up', flush=True); input()"
    command = [sys.executable, "-c", above, below]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdout
        assert started.stdout.readline() == b"up\n"
        used = processes.memory(started.pid, 1 << 20)
        assert used is not None
        assert 60 << 20 < used < 200 << 20
        assert processes.memory(started.pid, used + (20 << 20)) is None
        processes.end(started)
    assert (processes.available() or 0) > 1 << 20
