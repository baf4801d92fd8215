"""What jobs have told, read as an enemy may have written it (engine.detached)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchkeeper.client.engines import far
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import Message
from torchkeeper.stores.folders import locks

JOB = "0123456789abcdef"
RESULT = {"type": "result", "id": 1, "result": {}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "jobs"
    made.mkdir(0o700)
    return made


@pytest.fixture
def engine(root: Path) -> Iterator[Engine]:
    with Engine(env={protocol.INDEX: str(root.parent / "index.sqlite")}) as made:
        yield made


def told(root: Path, *lines: object, name: str = JOB, **more: object) -> Path:
    """A job that has told this; lines: what is no text is JSON."""
    folder = root / name
    folder.mkdir(0o700)
    began = {"type": "began", "op": "warm", "place": "/c", "at": 1.0, **locks.here(), "pid": 1}
    said = [one if isinstance(one, str) else json.dumps(one) for one in ({**began, **more}, *lines)]
    (folder / "told").write_text("".join(f"{one}\n" for one in said))
    return folder


def listed(engine: Engine) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    engine.call(protocol.JOBS, {}, lambda message: rows.extend(message.rows))
    return rows


def why(engine: Engine, **params: object) -> str:
    with pytest.raises(UserError) as raised:
        engine.call(protocol.FOLLOW, {"job": JOB, **params})
    return raised.value.code


#: Whole files, and lines after a good one with the problem that they are.
NO_JOBS = ("", "null", "[]", "{}", "x" * 10, '{"a":' * 5000, "\0", json.dumps({"op": 1}),
           "x" * (protocol.MAX_LINE + 9))  # fmt: skip
LINES: list[tuple[object, str]] = [
    ("nonsense", "job-unreadable"),
    ("[" * 9000, "job-unreadable"),
    ("x" * (protocol.MAX_LINE + 9), "job-unreadable"),
    ({"type": "other"}, "job-unreadable"),
    ({"type": "rows", "rows": 7}, "job-unreadable"),
    ({"type": "result", "result": 7}, "job-unreadable"),
    ({"type": "error", "error": {"code": "disk-full", "params": {"place": "/c"}}}, "disk-full"),
    ({"type": "error", "error": {"code": "x", "params": {"code": "y"}}}, "request-malformed"),
    ({"type": "finding", "kind": 1}, "job-gone"),
    ({"type": "progress", "done": [], "total": {}, "unit": 7}, "job-gone"),
    ({"type": "progress", "done": 1, "total": 2, "unit": "files"}, "job-gone"),
    ({"type": "finding", "log": 7}, "job-gone"),
]


def test_what_a_job_tells_is_checked(root: Path, engine: Engine) -> None:
    for bad in NO_JOBS:
        (root / JOB).mkdir(0o700)
        (root / JOB / "told").write_text(f"{bad}\n{json.dumps(RESULT)}\n")
        assert listed(engine) == []
        assert why(engine, end=True) == "job-unknown"
        shutil.rmtree(root / JOB)
    for line, code in LINES:
        told(root, line)
        assert why(engine) == code
        listed(engine)
        shutil.rmtree(root / JOB, ignore_errors=True)  # or it was read
    # One of another type than what is followed.
    told(root, {"type": "result", "id": 1, "result": {"variants": 7}})
    with pytest.raises(UserError) as raised:
        engine.call(protocol.FOLLOW, {"job": JOB, "op": "warm"})
    assert raised.value.code == "protocol"


def test_nothing_is_read_through_links_and_pipes_or_beside_the_folder(
    root: Path, engine: Engine, tmp_path: Path
) -> None:
    real = told(tmp_path, RESULT)
    (root / JOB).symlink_to(real)
    (root / "fedcba9876543210").mkdir(0o700)
    os.mkfifo(root / "fedcba9876543210/told")
    (root / "0000000000000000").mkdir(0o700)
    (root / "0000000000000000/told").symlink_to(real / "told")
    told(root, RESULT, name="note")
    names = ["fedcba9876543210", "0000000000000000", "note", "../jobs/note", "", "/", "x" * 9000]
    for name in names:
        assert why(engine, job=name) == "job-unknown", name
    assert listed(engine) == []


def test_a_folder_that_others_can_open_has_no_jobs(root: Path, engine: Engine) -> None:
    told(root, RESULT)
    assert [row["far"] for row in listed(engine)] == [{"type": "result"}]
    root.chmod(0o755)
    assert listed(engine) == [] and why(engine) == "job-unknown"


def test_no_other_process_is_taken_for_one_and_ended(root: Path, engine: Engine) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        since = locks._since(other.pid)
        told(root, pid=other.pid, since=since)
        assert [row["lives"] for row in listed(engine)] == [False]
        assert why(engine, end=True) == "job-gone"
        assert other.poll() is None
    for pid in (0, -1, 1, 1 << 70):
        assert listed(engine) == []
        told(root, pid=pid)
        assert why(engine, end=True) == "job-gone"


def test_what_a_machine_says_of_its_jobs_is_checked() -> None:
    good = {"job": JOB, "op": "warm", "place": "/c", "lives": True, "seconds": 5.0, "ago": 0.0,
            "far": {"done": 1, "total": 2, "unit": "variants"}}  # fmt: skip
    bad = [
        {**good, "place": 7},
        {**good, "op": "purge"},
        {**good, "far": {"total": "x"}},
        {**good, "far": {"error": {}}},
        {**good, "seconds": float("inf")},
        {**good, "far": {"done": float("nan")}},
        7,
        None,
    ]
    odd = {
        **good,
        "place": "../..",
        "lives": False,
        "seconds": 1e200,
        "ago": -1.0,
        "far": {"error": {"code": "\x1b", "params": {"x": "\x1b"}}},
    }
    far_of = {"unit": "\n" * 900, "done": 1e200, "total": 1e201}
    wide = {**good, "far": far_of}
    one, other, third = far.jobs("ssh://gpu1", [*bad, good, odd, wide])
    for said, place in {"ssh://gpu1/~/c": "ssh://gpu1/~/c", "ssh://gpu2/c": "", "": ""}.items():
        assert [x.place for x in far.jobs("ssh://gpu1", [{**good, "place": said}])] == [place]
    ran = {**good, "op": "run", "place": None, "about": "python \x1b[31m" + "x" * 900}
    (run,) = far.jobs("ssh://gpu1", [ran])
    assert run.title.isprintable() and len(run.title) < 120 and run.asked == ()
    over = {**ran, "lives": False, "far": {"type": "result"}, "about": "python serve.py"}
    told = [(x.title, x.words) for x in far.jobs("ssh://gpu1", [over, {**over, "op": "warm"}])]
    assert told[0] == ("Ran python serve.py · gpu1", "Ended") and told[1][0].startswith(
        "Warm-up of"
    )
    assert third.words.isprintable() and len(third.words) < 200
    assert (one.id, one.place, one.state, one.words) == (JOB, "ssh://gpu1/c", "running",
                                                         "1 of 2 variants")  # fmt: skip
    assert (other.place, other.state, other.began) == ("", "failed", other.ended)
    assert (other.title + other.words).isprintable() and len(other.title) < 400


def test_a_job_that_is_detached_is_followed_bounded_and_swept(root: Path, engine: Engine) -> None:
    for number in range(40):
        folder = told(root, RESULT, name=f"{number:016x}")
        os.utime(folder, (time.time() - number, time.time() - number))
    (root / "ffffffffffffffff").mkdir()
    os.utime(root / "ffffffffffffffff", (1, 1))
    (root / "mine").mkdir()
    heard: list[Message] = []
    params = {"op": protocol.DU, "params": {"place": str(root.parent)}}
    result = engine.call(protocol.DETACH, params, heard.append)
    assert result["kinds"]
    (job,) = [one.finding["job"] for one in heard if "job" in one.body]
    assert job not in {row["job"] for row in listed(engine)}, "it was read to its end"
    assert {x.name for x in root.iterdir()} == {"mine", *(f"{n:016x}" for n in range(31))}
    with pytest.raises(UserError) as raised:
        engine.call(protocol.DETACH, {"op": "nonsense", "params": {}})
    assert raised.value.code == "operation-unknown"
