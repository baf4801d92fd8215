"""The same matrix on a Slurm of five machines, where everything that can be killed is killed at
random points.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fleet import kills
from tests.fleet.conftest import CELLS, Warm
from tests.fleet.kills import POINTS
from tests.placing.slurm_cluster import Cluster, cluster
from torchkeeper.placing import slurm

#: Seconds at most that a daemon is away.
_AWAY = 8.0


@pytest.fixture(scope="module")
def there() -> Iterator[Cluster]:
    yield from cluster(4)


def process(there: Cluster, chance: random.Random, engine: Any) -> None:
    engine.kill()


def engine(there: Cluster, chance: random.Random, engine: Any) -> None:
    engine.terminate()


def job(there: Cluster, chance: random.Random, engine: Any) -> None:
    """One of the jobs, by somebody else."""
    if jobs := there.jobs():
        there.says("scancel", chance.choice(jobs)[0])


def node(there: Cluster, chance: random.Random, engine: Any) -> None:
    """A machine, with all that runs on it; it comes back."""
    name = f"cpu{chance.randrange(4) + 1}"
    there.lose(name)
    time.sleep(chance.uniform(0, _AWAY))
    there.node(name)


def daemon(there: Cluster, chance: random.Random, engine: Any) -> None:
    """The daemon of a machine; what runs there goes on."""
    name = f"cpu{chance.randrange(4) + 1}"
    there.kill(name)
    time.sleep(chance.uniform(0, _AWAY))
    there.node(name)


def controller(there: Cluster, chance: random.Random, engine: Any) -> None:
    there.kill("slurmctld")
    time.sleep(chance.uniform(0, _AWAY))
    there.control()


KILLS: list[Callable[[Cluster, random.Random, Any], None]] = [
    process, engine, job, node, daemon, controller,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("point", range(POINTS))
def test_whatever_is_killed_nothing_is_lost(
    warm: Warm, there: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: int
) -> None:
    """The seed is the point, and the kind of kill: both are in what pytest prints."""
    seen = tmp_path / "seen by all"
    monkeypatch.setenv("SLURM_CONF", str(there.config))
    monkeypatch.setenv(slurm.FOLDER, str(seen))
    does = KILLS[point % len(KILLS)]
    seed = f"slurm {does.__name__} {point}"
    print("seed:", seed)
    chance = random.Random(seed)
    place = tmp_path / "place"
    asked: Any = {"on": ["slurm"], "python": sys.executable, "slots": None}
    first = kills.cut(warm, place, chance, lambda engine: does(there, chance, engine), **asked)
    print("killed; error:", first.error, "begun:", sorted(first.compiled.values()))
    if does not in (process, engine):
        assert first.ran, first.error
        assert first.ran.result["states"]["warm"] == CELLS, first.ran.cells
    kills.hold(warm, first, place, tmp_path / "state", **asked)
    assert os.listdir(seen) == []
    there.ended()
