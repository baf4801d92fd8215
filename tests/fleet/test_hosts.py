"""The same matrix on six machines, each with an sshd of its own; and everything that can be killed,
killed at random points.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.conftest import CELLS, Warm, keys, warmed_alone
from tests.fleet.kills import survives
from tests.fleet.test_fleet import contents
from tests.ssh.conftest import SSHD, Machine, config, started
from torchkeeper.client.engines import line

HOSTS = 6
#: Points at which something is killed.
POINTS = 30


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Machine]]:
    if SSHD is None:
        pytest.skip("there is no OpenSSH server here")
    with contextlib.ExitStack() as ends:
        made = [ends.enter_context(started(tmp_path_factory.mktemp(f"h{n}"))) for n in range(HOSTS)]
        yield made


@pytest.fixture
def hosts(machines: list[Machine], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Their names, as the ssh of this test knows them."""
    texts = list[str]()
    for number, one in enumerate(machines):
        config(one)
        texts.append(one.config.read_text().replace("Host there", f"Host h{number}"))
    machines[0].config.write_text("".join(texts))
    path = f"{machines[0].folder}/ours:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    yield [f"ssh://h{number}" for number in range(HOSTS)]
    line.close_all()


@pytest.mark.slow
def test_six_hosts_make_what_one_machine_makes(
    warm: Warm, hosts: list[str], recipes: Path, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    ran = warm(place, on=hosts, python=sys.executable, slots=1, prove=True)
    assert ran.result["states"]["proven"] == ran.result["compiled"] == CELLS
    assert Counter(Counter(ran.compiled).values()) == {1: CELLS}
    assert len({row["node"] for row in ran.cells}) > 1
    assert all(row["proved_on"] != row["node"] for row in ran.cells), "each on another"
    assert keys(place) == warmed_alone(recipes, tmp_path / "alone")
    warm(tmp_path / "one", state=str(tmp_path / "one.state"), on=["local"])
    assert contents(place) == contents(tmp_path / "one")
    again = warm(place, on=hosts, python=sys.executable, slots=1, prove=True)
    assert (again.result["compiled"], again.result["states"]["proven"]) == (0, CELLS)


def sessions(machine: Machine) -> list[int]:
    """The processes of connections to a machine."""
    found = list[int]()
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            text = Path(f"/proc/{int(name)}/environ").read_bytes()
            if f"HOME={machine.home}\0".encode() in text:
                found.append(int(name))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("point", range(POINTS))
def test_whatever_is_killed_nothing_is_lost(
    warm: Warm, hosts: list[str], machines: list[Machine], tmp_path: Path, point: int
) -> None:
    """A node, the way to it, or our own process: what was gathered stays, the same command finishes
    it, and no cell is compiled more than once more than needed.
    """
    chance = random.Random(point)
    what = ("node", "process", "engine")[point % 3]
    after = chance.uniform(0.5, 6.0)

    def kill(engine: Any) -> None:
        time.sleep(after)
        if what == "node":
            for pid in sessions(machines[chance.randrange(2)]):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        elif what == "process":
            engine.kill()
        else:
            engine.terminate()

    said = survives(
        warm, tmp_path, kill, 0, what == "node", on=hosts[:2], python=sys.executable, slots=1
    )
    print(point, what, f"{after:.1f} s", said)
