"""What jobs have told, read as an enemy may have written it (engine.detached)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchkeeper.client.engines import far
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import detached, protocol
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


def why(engine: Engine, op: str, **params: object) -> str:
    with pytest.raises(UserError) as raised:
        engine.call(op, {"job": JOB, **params})
    return raised.value.code


@pytest.mark.parametrize(
    "bad", ["", "null", "[]", "{}", "x" * 10, '{"a":' * 5000, "\0", json.dumps({"op": 1})]
)
def test_what_is_no_job_is_none(root: Path, engine: Engine, bad: str) -> None:
    (root / JOB).mkdir()
    (root / JOB / "told").write_text(f"{bad}\n{json.dumps(RESULT)}\n")
    assert listed(engine) == []
    assert why(engine, protocol.FOLLOW) == why(engine, protocol.END_JOB) == "job-unknown"


def test_nothing_is_read_through_links_and_pipes_or_beside_the_folder(
    root: Path, engine: Engine, tmp_path: Path
) -> None:
    real = told(tmp_path, RESULT)
    (root / JOB).symlink_to(real)
    (root / "fedcba9876543210").mkdir()
    os.mkfifo(root / "fedcba9876543210/told")
    (root / "0000000000000000").mkdir()
    (root / "0000000000000000/told").symlink_to(real / "told")
    told(root, RESULT, name="note")
    names = ["fedcba9876543210", "0000000000000000", "note", "../jobs/note", "", "/", "x" * 9000]
    for name in names:
        assert why(engine, protocol.FOLLOW, job=name) == "job-unknown", name
    assert listed(engine) == []


def test_a_folder_that_others_can_open_has_no_jobs(root: Path, engine: Engine) -> None:
    told(root, RESULT)
    assert [row["state"] for row in listed(engine)] == ["done"]
    root.chmod(0o755)
    assert listed(engine) == [] and why(engine, protocol.FOLLOW) == "job-unknown"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("nonsense", "job-unreadable"),
        ("[" * 9000, "job-unreadable"),
        ({"type": "other"}, "job-unreadable"),
        ({"type": "rows", "rows": 7}, "job-unreadable"),
        ({"type": "result", "result": 7}, "job-unreadable"),
        ({"type": "error", "error": {"code": "disk-full", "params": {"place": "/c"}}}, "disk-full"),
        ({"type": "error", "error": {"code": "x", "params": {"code": "y"}}}, "request-malformed"),
        ({"type": "finding", "kind": 1}, "request-malformed"),
        ({"type": "progress", "done": [], "total": {}, "unit": 7}, "request-malformed"),
        ({"type": "progress", "done": 1, "total": 2, "unit": "files"}, "job-gone"),
        ({"type": "finding", "log": 7}, "job-gone"),
    ],
)
def test_what_a_job_tells_is_checked(root: Path, engine: Engine, line: object, code: str) -> None:
    told(root, line)
    assert why(engine, protocol.FOLLOW) == code
    (root / JOB / "told").write_bytes(b"x" * (protocol.MAX_LINE + 9))
    assert why(engine, protocol.FOLLOW) == "job-unknown"
    assert engine.call(protocol.JOBS, {}) == {"jobs": 0}


def test_no_other_process_is_taken_for_one_and_ended(root: Path, engine: Engine) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        since = locks._since(other.pid)
        told(root, pid=other.pid, since=since)
        assert [row["state"] for row in listed(engine)] == ["failed"]
        assert engine.call(protocol.END_JOB, {"job": JOB}) == {"state": "failed"}
        assert other.poll() is None
    for pid in (0, -1, 1, 1 << 70):
        (root / JOB / "told").unlink()
        (root / JOB).rmdir()
        told(root, pid=pid)
        assert engine.call(protocol.END_JOB, {"job": JOB}) == {"state": "failed"}


def test_one_on_another_machine_with_the_same_home_is_not_ended_from_here(
    root: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(root, boot="another")
    os.utime(root / JOB / "told")
    state = "failed" if locks.is_local(os.stat(root).st_dev) else "running"
    assert [row["state"] for row in listed(engine)] == [state]


def test_a_result_of_another_type_is_refused(root: Path, engine: Engine) -> None:
    told(root, {"type": "result", "id": 1, "result": {"variants": 7}})
    with pytest.raises(UserError) as raised:
        engine.call(protocol.FOLLOW, {"job": JOB, "op": "warm"})
    assert raised.value.code == "protocol"


def test_what_a_machine_says_of_its_jobs_is_checked() -> None:
    good = {"job": JOB, "op": "warm", "place": "/c", "state": "running", "seconds": 5.0, "ago": 0.0,
            "done": 1, "total": 2, "unit": "variants", "problem": None}  # fmt: skip
    bad = [{**good, "place": 7}, {**good, "total": "x"}, {**good, "problem": {"code": 1}}, 7, None]
    odd = {**good, "place": "../..", "state": "\x1b[2J", "seconds": float("inf"), "ago": -1.0,
           "op": "\x1b[2J", "unit": "\n" * 900, "done": float("nan"),
           "problem": {"code": "\x1b", "params": {"x": "\x1b"}}}  # fmt: skip
    one, other = far.jobs("ssh://gpu1", [*bad, good, odd])
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
    params = {"place": str(root), "kind": "x", "path": "y"}
    with pytest.raises(UserError) as raised:
        engine.call(protocol.DETACH, {"op": protocol.SHOW, "params": params}, heard.append)
    assert raised.value.code == "entry-gone"
    (job,) = [one.finding["job"] for one in heard if "job" in one.body]
    left = {one.name for one in root.iterdir()}
    assert left == {"mine", job, *(f"{number:016x}" for number in range(32))}
    assert (root / job).stat().st_mode & 0o777 == 0o700
    assert {x.name: x.stat().st_mode & 0o777 for x in (root / job).iterdir()} == {
        "told": 0o600, "read": 0o600
    }  # fmt: skip
    with pytest.raises(UserError) as raised:
        engine.call(protocol.DETACH, {"op": "nonsense", "params": {}})
    assert raised.value.code == "operation-unknown"
