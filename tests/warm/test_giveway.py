"""Processes that give way to others: how nice they are, and the groups of their sessions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pace import LONG
from torchkeeper.client.engines.process import Engine
from torchkeeper.warm.processes import give_way

NICE = 7
GROUPS = Path("/proc/self/autogroup").exists()
_OWN = os.getpriority(os.PRIO_PROCESS, 0)

#: One that is nice itself starts a job.
_STARTS = """
import json, os
from torchkeeper.warm.following import launch
os.nice(7)
job = launch("engine.serve", {}, dict(os.environ), os.curdir)
try:
    print(json.dumps(job.pid), flush=True)
    input()
finally:
    job.kill()
"""


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[str]]:
    """A shell that leads a session of its own, and tells how nice what it starts is."""
    with subprocess.Popen(
        ["sh", "-c", "read word; nice; read word"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        start_new_session=True,
    ) as process:
        yield process
        process.kill()


def group_of(pid: int) -> int | None:
    """How nice the group of a session is; None where there are no such groups."""
    try:
        return int(Path(f"/proc/{pid}/autogroup").read_text().split()[-1])
    except FileNotFoundError:
        return None


def test_a_process_and_what_it_starts(sleeper: subprocess.Popen[str]) -> None:
    give_way(sleeper.pid, NICE)
    assert os.getpriority(os.PRIO_PROCESS, sleeper.pid) == NICE
    assert sleeper.stdin and sleeper.stdout
    sleeper.stdin.write("go\n")
    assert int(sleeper.stdout.readline()) == NICE
    assert group_of(sleeper.pid) == (NICE if GROUPS else None)
    assert os.getpriority(os.PRIO_PROCESS, 0) == _OWN


def test_no_process_is_made_less_nice_than_who_asks(sleeper: subprocess.Popen[str]) -> None:
    give_way(sleeper.pid, -5)
    assert os.getpriority(os.PRIO_PROCESS, sleeper.pid) == max(_OWN, 0)


def test_a_process_that_has_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", ""], start_new_session=True) as process:
        process.wait()
    give_way(process.pid, NICE)


def test_an_engine() -> None:
    with Engine(nice=NICE) as engine:
        assert os.getpriority(os.PRIO_PROCESS, engine.pid) == max(_OWN, NICE)
        assert group_of(engine.pid) == (max(_OWN, NICE) if GROUPS else None)
    with Engine() as engine:
        assert os.getpriority(os.PRIO_PROCESS, engine.pid) == _OWN


def test_the_session_of_a_job_gives_way_as_its_engine_does() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _STARTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout
        job = json.loads(starter.stdout.readline())
        assert os.getpriority(os.PRIO_PROCESS, job) == _OWN + NICE
        assert group_of(job) == (_OWN + NICE if GROUPS else None)
        starter.communicate("\n", timeout=LONG)
