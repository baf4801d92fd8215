"""A fleet on a Ray cluster of eight nodes: everything that can be killed is, at random points."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fleet import kills
from tests.fleet.conftest import CELLS, Warm
from tests.fleet.kills import POINTS
from tests.fleet.test_clusters import LABELS
from tests.placing import clusters
from tests.proxy import Proxy, between

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not clusters.HERE, reason=clusters.WHY),
]

#: What is killed: a node or two, the way to the head, our process by KILL and by TERM, the head.
WHAT = ("node", "network", "process", "engine", "head")


class Way:
    """A cluster, and a way to its head that can be cut; another cluster where its head is gone."""

    def __init__(self, proxy: Proxy, cluster: clusters.Cluster) -> None:
        self.proxy, self.cluster = proxy, cluster
        self.address = proxy.url.replace("redis", "http").removesuffix("/0")
        self.gone = list[str]()

    def dead(self, node: str) -> bool:
        return "head" in self.gone or node.rpartition("/")[2] in self.gone

    def mend(self) -> None:
        self.proxy.refusing = False
        if "head" in self.gone:
            self.cluster.close()
            self.cluster = clusters.Cluster(0, LABELS)
            self.proxy.target = self.cluster.port
        else:
            for name in self.gone:
                self.cluster.add(name)
        self.gone.clear()


@pytest.fixture(scope="module")
def way() -> Iterator[Way]:
    cluster = clusters.Cluster(0, LABELS)
    with between(cluster.port) as proxy:
        made = Way(proxy, cluster)
        try:
            yield made
        finally:
            made.cluster.close()


@pytest.mark.parametrize("seed", range(POINTS))
def test_whatever_is_killed_nothing_is_lost(
    way: Way, warm: Warm, tmp_path: Path, seed: int
) -> None:
    """A fleet outlives its nodes, and a network that comes back."""
    chance = random.Random(seed)
    what, away = WHAT[seed % len(WHAT)], chance.uniform(0.5, 9.0)
    nodes = chance.sample(sorted(LABELS), chance.choice((1, 2)))

    def kill(engine: Any) -> None:
        if what == "network":
            way.proxy.drop()
            time.sleep(away)
            way.proxy.refusing = False
        elif what == "process":
            engine.kill()
        elif what == "engine":
            engine.terminate()
        else:
            way.gone += nodes if what == "node" else ["head"]
            for name in way.gone:
                way.cluster.kill(name)

    print(f"seed {seed}: {what}")
    begun, place = time.monotonic(), tmp_path / "place"
    asked: Any = {"on": [way.address], "python": sys.executable, "slots": None}
    try:
        first = kills.cut(warm, place, chance, kill, way.dead, **asked)
        if what in ("node", "network"):
            assert first.ran, "a fleet outlives it"
            assert first.ran.result["states"]["warm"] == CELLS
        way.mend()
        last = kills.hold(warm, first, place, tmp_path / "state", **asked)
    finally:
        way.mend()
    print(f"{last.result['compiled']} compiled again; {time.monotonic() - begun:.0f} s")
