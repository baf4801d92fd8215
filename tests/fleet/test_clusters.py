"""The same matrix on a Ray cluster of eight nodes, and on a Slurm of five."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.conftest import CELLS, Warm, keys
from tests.fleet.test_fleet import contents
from tests.placing import clusters
from tests.placing.slurm_cluster import Cluster, cluster
from torchkeeper.placing import slurm

#: Nodes of Ray besides its head, with different labels.
LABELS = {f"n{n}": {"accelerator": f"kind{n % 3}", "zone": "ab"[n % 2]} for n in range(7)}


def held_to(warm: Warm, target: str, tmp_path: Path, proves: bool = True) -> None:
    place = tmp_path / "place"
    ran = warm(place, on=[target], python=sys.executable, slots=None, prove=proves)
    wanted = "proven" if proves else "warm"
    assert ran.result["states"][wanted] == ran.result["compiled"] == CELLS, ran.cells
    assert Counter(Counter(ran.compiled).values()) == {1: CELLS}
    assert len({row["node"] for row in ran.cells}) > 1
    if proves:
        assert all(row["proved_on"] != row["node"] for row in ran.cells)
    warm(tmp_path / "one", state=str(tmp_path / "one.state"), on=["local"])
    assert keys(place) == keys(tmp_path / "one")
    assert contents(place) == contents(tmp_path / "one")
    again = warm(place, on=[target], python=sys.executable, slots=None, prove=proves)
    assert (again.result["compiled"], again.result["states"][wanted]) == (0, CELLS)


@pytest.fixture(scope="module")
def ray() -> Iterator[clusters.Cluster]:
    if not clusters.HERE:
        pytest.skip(clusters.WHY)
    with clusters.running(0, LABELS) as made:
        yield made


@pytest.fixture(scope="module")
def slurms() -> Iterator[Cluster]:
    yield from cluster(4)


@pytest.mark.slow
def test_eight_nodes_of_ray_make_what_one_machine_makes(
    ray: clusters.Cluster, warm: Warm, tmp_path: Path
) -> None:
    held_to(warm, ray.address, tmp_path)


@pytest.mark.slow
def test_five_nodes_of_slurm_make_what_one_machine_makes(
    slurms: Cluster, warm: Warm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(slurms.config))
    monkeypatch.setenv(slurm.FOLDER, str(tmp_path / "seen by all"))
    held_to(warm, "slurm", tmp_path)


@pytest.mark.slow
def test_nodes_of_ray_that_die_cost_their_cells_another(
    ray: clusters.Cluster, warm: Warm, tmp_path: Path
) -> None:
    """Last: the cluster has two nodes less then."""
    gone = list[str]()

    def heard(message: object, _: object) -> None:
        body = getattr(message, "body", {})
        if "gathered" in body and len(gone) < 2:
            gone.append(f"n{len(gone)}")
            ray.kill(gone[-1])

    ran = warm(tmp_path / "place", heard, on=[ray.address], python=sys.executable, slots=None)
    assert ran.result["states"]["warm"] == CELLS
    assert len(gone) == 2
    assert max(Counter(ran.compiled).values()) <= 2
    assert len(keys(tmp_path / "place")) == CELLS
