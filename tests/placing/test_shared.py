"""Engines that are asked by files: what a batch system would start is started here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import batch, protocol
from torchkeeper.engine.protocol import Message
from torchkeeper.placing.shared import Asked, Shared
from torchkeeper.placing.target import Lost, Unit


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Shared]:
    made = Shared(str(tmp_path / "all machines/see"), "test")
    yield made
    made.close()


@pytest.fixture
def start(disk: Shared) -> Iterator[Callable[[Asked], subprocess.Popen[bytes]]]:
    started = []

    def begin(asked: Asked) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-c", batch.BOOT, disk.code, asked.path]
        with open(asked.log, "ab") as log:
            started.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=log))
        return started[-1]

    yield begin
    for one in started:
        one.kill()
        one.wait()


def last(asked: Asked, heard: Callable[[Message], None] = lambda _: None) -> Any:
    while (told := asked.hear(heard)) is None:
        time.sleep(0.02)
    return told


def folder_of(files: int, where: Path) -> str:
    """A folder with kernels, so that a look at it takes a while."""
    for number in range(files):
        (where / f"{number:02x}").mkdir(parents=True, exist_ok=True)
        (where / f"{number:02x}" / f"f{number}.txt").write_text("x")
    return str(where)


def test_what_is_asked_is_answered_and_nothing_stays(
    disk: Shared, start: Callable[[Asked], subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    place = folder_of(3, tmp_path / "place")
    asked = Asked(disk, Unit(protocol.LIST, {"place": place}))
    heard: list[Message] = []
    process = start(asked)
    told = last(asked, heard.append)
    assert asked.result(told)["entries"] >= 0
    assert told["status"] == 0
    assert {message.type for message in heard} <= {"hello", "progress", "rows", "finding"}
    assert process.wait() == 0
    assert os.stat(asked.path).st_mode & 0o777 == 0o700
    asked.close()
    assert sorted(os.listdir(disk.path)) == ["alive", "engine.zip"]
    assert os.stat(disk.path).st_mode & 0o777 == 0o700


def test_an_error_is_raised(
    disk: Shared, start: Callable[[Asked], subprocess.Popen[bytes]]
) -> None:
    asked = Asked(disk, Unit(protocol.LIST, {"place": "/nowhere/at/all"}))
    start(asked)
    with pytest.raises(UserError) as raised:
        asked.result(last(asked))
    assert raised.value.code == "place-missing"


def test_a_file_goes_once_and_is_checked_there(
    disk: Shared, start: Callable[[Asked], subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    seed = tmp_path / "a.torchcache"
    seed.write_bytes(b"no bundle")
    unit = Unit(protocol.PROVE, {}, {"sent": str(seed), "seeds": [str(seed)]})
    first, second = Asked(disk, unit), Asked(disk, unit)
    (sent,) = Path(disk.path).glob("*.torchcache")
    for one in (first, second):
        request = json.loads(Path(one.path, batch.ASKED).read_bytes().splitlines()[1])
        assert request["params"] == {"sent": str(sent), "seeds": [str(sent)]}
    sent.write_bytes(b"something else")
    start(first)
    with pytest.raises(Lost) as raised:
        first.result(last(first))
    assert "is not there as it was sent" in raised.value.why.why


def test_a_job_that_is_started_once_more_does_nothing(
    disk: Shared, start: Callable[[Asked], subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    asked = Asked(disk, Unit(protocol.LIST, {"place": folder_of(1, tmp_path / "place")}))
    start(asked)
    last(asked)
    before = Path(asked.path, batch.TOLD).read_bytes()
    assert start(asked).wait() == 0
    assert Path(asked.path, batch.TOLD).read_bytes() == before


@pytest.fixture
def waiting(tmp_path: Path) -> Unit:
    """What goes on until it is stopped."""
    data = {"script": [{"name": "long", "command": ["sleep", "3600"]}]}
    recipe = {"name": "a", "folder": str(tmp_path), "data": data}
    return Unit(protocol.FILL, {"recipes": [recipe]}, output=str(tmp_path / "out.torchcache"))


def begin(
    start: Callable[[Asked], subprocess.Popen[bytes]], asked: Asked, told: bytes = b'"step"'
) -> Any:
    """A job, once so much is told: its recipe has begun."""
    process = start(asked)
    while told not in Path(asked.path, batch.TOLD).read_bytes():
        assert process.poll() is None, asked.tail()
        time.sleep(0.02)
    return process


def test_one_that_is_asked_to_stop_says_so(
    disk: Shared, start: Callable[[Asked], subprocess.Popen[bytes]], waiting: Unit
) -> None:
    asked = Asked(disk, waiting)
    begin(start, asked)
    asked.cancel()
    assert asked.result(last(asked))["cut"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_one_that_is_ended_is_lost(
    disk: Shared,
    start: Callable[[Asked], subprocess.Popen[bytes]],
    waiting: Unit,
    number: signal.Signals,
) -> None:
    asked = Asked(disk, waiting)
    process = begin(start, asked)
    engine = children(process.pid)
    assert engine
    os.kill(process.pid if number == signal.SIGTERM else engine[0], number)
    with pytest.raises(Lost):
        asked.result(last(asked))
    process.wait()
    assert not any(os.path.exists(f"/proc/{pid}") for pid in engine)


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(one) for one in found.split()]


def test_one_for_which_nobody_waits_ends_and_removes_all(
    disk: Shared,
    start: Callable[[Asked], subprocess.Popen[bytes]],
    waiting: Unit,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batch, "SILENCE", 1.0)
    process = begin(start, Asked(disk, waiting), b'"hello"')
    engine = children(process.pid)
    assert process.wait() == 0
    assert not os.path.exists(disk.path)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in engine)


def test_one_whose_folder_is_gone_leaves_the_others_alone(
    disk: Shared, start: Callable[[Asked], subprocess.Popen[bytes]], waiting: Unit
) -> None:
    given_up, other = Asked(disk, waiting), Asked(disk, waiting)
    process = begin(start, given_up)
    begin(start, other)
    given_up.close()
    process.wait()
    assert os.listdir(other.path)
    other.cancel()
    assert last(other)["type"] == batch.END


@pytest.mark.parametrize(
    "said",
    [
        b"no json\n",
        b"[" * 100_000 + b"\n",
        b'{"type": "never heard of"}\n',
        b'{"type": "result", "id": 1, "result": {"entries": "many"}}\n',
        b"x" * (protocol.MAX_LINE + 2),
    ],
)
def test_what_no_engine_says_is_refused(disk: Shared, said: bytes) -> None:
    asked = Asked(disk, Unit(protocol.LIST, {"place": "/"}))
    Path(asked.path, batch.TOLD).write_bytes(said)
    with pytest.raises(Lost):
        last(asked)


def test_a_bundle_that_is_not_what_was_written_is_not_taken(disk: Shared, tmp_path: Path) -> None:
    output = tmp_path / "out.torchcache"
    asked = Asked(disk, Unit(protocol.FILL, {"recipes": []}, output=str(output)))
    Path(asked.path, "output.torchcache").write_bytes(b"half")
    result = {"new": 1, "size": 9, "cut": False, "torch": "", "device": ""}
    told = [
        {"type": "result", "id": 1, "result": result},
        {"type": batch.END, "status": 0, "size": 9, "sha256": "0" * 64},
    ]
    Path(asked.path, batch.TOLD).write_bytes(b"".join(map(protocol.encode, told)))
    with pytest.raises(Lost):
        asked.result(last(asked))
    assert not output.exists()


def test_folders_of_those_of_whom_nothing_is_heard_are_removed(tmp_path: Path) -> None:
    """Of those on other machines only that tells."""
    old, young, mine, other = (
        Shared(str(tmp_path), kind) for kind in ("test", "test", "test", "other")
    )
    past = time.time() - 7200
    for one in (old, young, other):
        Path(one.path, batch.ALIVE).write_text('{"boot": "of another machine", "pid": 1}')
    for one in (old, mine, other):
        os.utime(os.path.join(one.path, batch.ALIVE), (past, past))
    (tmp_path / "torchkeeper-test-mine").mkdir()
    new = Shared(str(tmp_path), "test")
    left = {os.path.basename(one.path) for one in (young, mine, other, new)}
    assert set(os.listdir(tmp_path)) == {*left, "torchkeeper-test-mine"}


@pytest.mark.parametrize("alive", ["", "[]", "{}", "[" * 5000, '{"pid": 4194304}', "\0"])
def test_a_folder_that_does_not_say_whose_it_is_stays_for_long(tmp_path: Path, alive: str) -> None:
    strange = Shared(str(tmp_path), "test")
    Path(strange.path, batch.ALIVE).write_text(alive)
    Shared(str(tmp_path), "test")
    assert os.path.isdir(strange.path)


_WAITS = """
import sys
from torchkeeper.engine import protocol
from torchkeeper.placing.shared import Asked, Shared
from torchkeeper.placing.target import Unit

asked = Asked(Shared(sys.argv[1], "test"), Unit(protocol.DU, {"place": "/"}))
print(asked.name, flush=True)
sys.stdin.read()
"""


def test_jobs_of_who_was_killed_are_nobodys_and_the_folder_goes(tmp_path: Path) -> None:
    above = tmp_path / "above"
    process = subprocess.Popen(
        [sys.executable, "-c", _WAITS, str(above)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout
    name = process.stdout.readline().strip()
    during = Shared(str(above), "test")
    assert not during.is_nobodys(name)
    assert len(os.listdir(above)) == 2
    process.kill()
    process.communicate()
    after = Shared(str(above), "test")
    assert after.is_nobodys(name)
    assert {os.path.join(above, one) for one in os.listdir(above)} == {during.path, after.path}
    elsewhere = Shared(str(tmp_path / "elsewhere"), "test")
    strange = ["", "job", "torchkeeper-test-0-unit-0", f"{name}/../x", f"{name},{name}"]
    assert not any(map(elsewhere.is_nobodys, [name, *strange]))
    assert not any(map(after.is_nobodys, strange))


def test_a_job_that_has_answered_is_nobodys_any_more(disk: Shared) -> None:
    asked = Asked(disk, Unit(protocol.DU, {"place": "/"}))
    assert not disk.is_nobodys(asked.name)
    asked.close()
    assert disk.is_nobodys(asked.name)


def test_many_ask_at_a_time(
    disk: Shared, start: Callable[[Asked], subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    places = [folder_of(n + 1, tmp_path / f"place{n}") for n in range(4)]
    answers: dict[int, Any] = {}

    def ask(number: int) -> None:
        asked = Asked(disk, Unit(protocol.DU, {"place": places[number]}))
        start(asked)
        answers[number] = asked.result(last(asked))
        asked.close()

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(answers) == [0, 1, 2, 3]
