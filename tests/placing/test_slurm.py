"""A real Slurm cluster, whose machines are all this one."""

from __future__ import annotations

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

from tests.placing.slurm_cluster import Cluster, cluster
from torchkeeper.artifacts.report import Report
from torchkeeper.cli import contract
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import Message
from torchkeeper.placing import slurm
from torchkeeper.placing.machines import Machines
from torchkeeper.placing.slurm import Slurm
from torchkeeper.placing.target import Lost, Node, Unit
from torchkeeper.stores.bundles.bundle import Bundle

pytestmark = pytest.mark.slow

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def scale(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)
"""


@pytest.fixture(scope="module")
def there() -> Iterator[Cluster]:
    yield from cluster(3)


@pytest.fixture
def target(there: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slurm]:
    monkeypatch.setenv("SLURM_CONF", str(there.config))
    monkeypatch.setenv(slurm.FOLDER, str(tmp_path / "all machines/see"))
    made = Slurm("slurm", sys.executable)
    yield made
    made.close()
    assert os.listdir(tmp_path / "all machines/see") == []
    there.ended()


@pytest.fixture
def node(target: Slurm) -> Node:
    return named(target, "cpu1")


def named(target: Slurm, name: str) -> Node:
    """A node, without a probe: that loads torch."""
    target.look()
    return Node(name, sys.executable, 1, None)


def waiting(folder: Path) -> Unit:
    """What goes on until it is stopped."""
    data = {"script": [{"name": "long", "command": ["sleep", "3600"]}]}
    recipe = {"name": "a", "folder": str(folder), "data": data}
    return Unit(protocol.FILL, {"recipes": [recipe]}, output=str(folder / "cut.torchcache"))


class Running:
    """A unit that runs in a thread."""

    def __init__(self, target: Slurm, node: Node, unit: Unit) -> None:
        self.stop, self.heard = threading.Event(), threading.Event()
        self.came: Any = None

        def run() -> None:
            try:
                self.came = target.run(node, unit, self._hear, self.stop)
            except (Lost, UserError) as e:
                self.came = e

        self._thread = threading.Thread(target=run)
        self._thread.start()

    def _hear(self, message: Message) -> None:
        if "step" in message.body:
            self.heard.set()

    def begun(self) -> Running:
        """Once its recipe has begun."""
        while not self.heard.wait(0.1):
            assert self._thread.is_alive(), self.came
        return self

    def ended(self) -> Any:
        self._thread.join()
        return self.came


def test_its_nodes_are_probed_once_for_each_kind(there: Cluster, target: Slurm) -> None:
    there.says("scontrol", "update", "NodeName=cpu3", "State=DRAIN", "Reason=a bad fan")
    try:
        nodes = {one.name: one for one in target.nodes()}
        jobs = there.says("squeue", "-h", "-t", "all", "-o", "%N").split()
    finally:
        there.says("scontrol", "update", "NodeName=cpu3", "State=RESUME")
    assert list(nodes) == ["cpu1", "cpu2", "cpu3"]
    assert sorted(jobs) == ["cpu1", "cpu2"]
    for name in ("cpu1", "cpu2"):
        facts = nodes[name].facts
        assert facts
        assert facts["torch"]
        assert nodes[name].slots == 1
    assert nodes["cpu1"].labels["features"] == "a"
    assert nodes["cpu3"].facts is None
    assert nodes["cpu3"].why
    assert "a bad fan" in nodes["cpu3"].why.why


def test_a_slot_of_a_machine_with_gpus_has_one(
    there: Cluster, target: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus = Slurm("slurm:gpu", sys.executable)
    try:
        (row,) = gpus.look()
        assert (row.gpus, gpus.slots_of(row)) == (("h100", 2), 2)
        node = Node(row.name, sys.executable, 2, None)
        both = [Running(gpus, node, waiting(Path("/tmp"))).begun() for _ in range(2)]
        told = there.says("scontrol", "show", "job", "-o", "-d")
        assert told.count("GRES=gpu:h100:1(IDX:") == 2
        for one in both:
            one.stop.set()
        assert all(one.ended()["cut"] for one in both)
    finally:
        gpus.close()


def test_what_is_compiled_there_is_what_is_compiled_here(
    there: Cluster, target: Slurm, tmp_path: Path
) -> None:
    """And it is found on another machine, with nothing else."""
    recipes = tmp_path / "recipes"
    recipes.mkdir()
    (recipes / "kernels.py").write_text(KERNEL)
    signature = {"x": "*fp32", "n": "i32"}
    targets = ["cuda:80", "cuda:90", "hip:gfx942"]
    kernel = {"kernel": "kernels.py:scale", "signature": signature, "constants": {"BLOCK": 64}}
    recipe = {
        "name": "scale",
        "folder": str(recipes),
        "data": {"triton": kernel | {"targets": targets}},
    }
    made: dict[str, Any] = {}
    here = Machines("local", [""], sys.executable)
    for one, node in ((target, named(target, "cpu1")), (here, Node("", sys.executable, 1, None))):
        output, heard = tmp_path / f"{one.name}.torchcache", list[Message]()
        unit = Unit(protocol.FILL, {"recipes": [recipe]}, output=str(output))
        result = one.run(node, unit, heard.append, threading.Event())
        assert result["new"] == sum(len(message.rows) for message in heard) == 3
        assert output.stat().st_size == result["size"]
        made[one.name] = contents(output)
    assert made["slurm"] == made["local"]
    seeds = {"seeds": [str(tmp_path / "slurm.torchcache")]}
    found = target.run(
        named(target, "cpu2"),
        Unit(protocol.PROVE, {"recipes": [recipe]}, seeds),
        lambda _: None,
        threading.Event(),
    )
    assert found["good"], found


def contents(file: Path) -> dict[tuple[str, str], object]:
    with Bundle(str(file), Report()) as bundle:
        return {(item.kind, item.key): item.identity for item in bundle.items(Report())}


def test_one_that_is_stopped_brings_what_was_done(
    target: Slurm, node: Node, tmp_path: Path
) -> None:
    running = Running(target, node, waiting(tmp_path)).begun()
    running.stop.set()
    assert running.ended()["cut"]


def test_one_that_is_stopped_in_the_queue_never_begins(
    there: Cluster, target: Slurm, node: Node, tmp_path: Path
) -> None:
    first = Running(target, node, waiting(tmp_path)).begun()
    second = Running(target, node, waiting(tmp_path))
    while len(there.jobs()) < 2:
        time.sleep(0.05)
    second.stop.set()
    assert second.ended().code == "cancelled"
    first.stop.set()
    first.ended()


def down(there: Cluster, node: str) -> None:
    there.says("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=gone")


def killed(there: Cluster, node: str) -> None:
    for job in there.jobs():
        there.says("scancel", "--signal=KILL", "--full", job[0])


def preempted(there: Cluster, node: str) -> None:
    for job in there.jobs():
        there.says("scancel", job[0])


def requeued(there: Cluster, node: str) -> None:
    for job in there.jobs():
        there.says("scontrol", "update", f"JobId={job[0]}", "Requeue=1")
        there.says("scontrol", "requeue", job[0])


@pytest.mark.parametrize("end", [down, killed, preempted, requeued])
def test_one_whose_job_ends_is_lost(
    there: Cluster,
    target: Slurm,
    node: Node,
    tmp_path: Path,
    end: Callable[[Cluster, str], None],
) -> None:
    running = Running(target, node, waiting(tmp_path)).begun()
    end(there, node.name)
    try:
        came = running.ended()
    finally:
        there.says("scontrol", "update", f"NodeName={node.name}", "State=RESUME")
    assert isinstance(came, Lost), came
    there.idle()


def test_a_controller_that_is_gone_ends_no_job(
    there: Cluster, target: Slurm, node: Node, tmp_path: Path
) -> None:
    running = Running(target, node, waiting(tmp_path)).begun()
    there.leave("slurmctld")
    try:
        running.stop.set()
        assert running.ended()["cut"]
        with pytest.raises(Lost) as raised:
            target.run(node, Unit(protocol.PROBE, {}), lambda _: None, running.stop)
        why = raised.value.why
        assert why.code == "slurm-failed"
        assert "sbatch" in why.what
        assert "scontrol ping" in why.remedy
    finally:
        there.control()
        there.clear()
        there.idle()


def test_a_controller_that_is_away_for_a_while_is_waited_for(
    there: Cluster, target: Slurm, node: Node, tmp_path: Path
) -> None:
    there.leave("slurmctld")
    running = Running(target, node, Unit(protocol.DU, {"place": str(tmp_path)}))
    there.says("sinfo")  # which waits some seconds for it
    there.control()
    assert isinstance(running.ended(), dict)


def test_a_job_that_slurm_takes_never_is_lost_at_once(
    there: Cluster, target: Slurm, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SBATCH_QOS", "no such")
    monkeypatch.setenv("SBATCH_RESERVATION", "no such")
    with pytest.raises(Lost) as raised:
        target.run(node, Unit(protocol.PROBE, {}), lambda _: None, threading.Event())
    assert raised.value.why.code == "slurm-failed"


def test_a_cluster_that_cannot_be_reached_ends_a_command_with_3(
    there: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(there.config))
    there.leave("slurmctld")
    command = [sys.executable, "-m", "torchkeeper", "fleet", "nodes", "slurm"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        there.control()
        there.idle()
    assert ran.returncode == contract.UNREACHABLE
    assert "Slurm’s “sinfo” fails." in ran.stderr
    assert "scontrol ping" in ran.stderr


def test_an_interpreter_that_is_not_there_is_said(target: Slurm, tmp_path: Path) -> None:
    target.look()
    with pytest.raises(Lost) as raised:
        target.run(
            Node("cpu1", str(tmp_path / "no python"), 1, None),
            Unit(protocol.PROBE, {}),
            lambda _: None,
            threading.Event(),
        )
    assert "no python" in raised.value.why.why


WAITS = """
import sys, threading
from pathlib import Path
from torchkeeper.engine import batch
from torchkeeper.placing.slurm import Slurm
from torchkeeper.placing.target import Node
from tests.placing.test_slurm import waiting

batch.SILENCE, batch.BEATS = 6.0, 1.0
target = Slurm("slurm", sys.executable)
target.look()
target.run(Node("cpu1", sys.executable, 1, None), waiting(Path(sys.argv[1])),
           lambda message: print("said", flush=True), threading.Event())
"""


def test_jobs_of_one_who_was_killed_end_and_nothing_of_them_stays(
    there: Cluster, target: Slurm, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WAITS, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "said\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert there.jobs()
    there.idle()
    assert os.listdir(os.environ[slurm.FOLDER]) == []


def test_many_units_at_a_time(there: Cluster, target: Slurm, tmp_path: Path) -> None:
    target.look()
    nodes = [Node(f"cpu{n % 3 + 1}", sys.executable, 1, None) for n in range(12)]
    place = tmp_path / "place"
    place.mkdir()
    several = [Running(target, one, Unit(protocol.DU, {"place": str(place)})) for one in nodes]
    assert all(isinstance(one.ended(), dict) for one in several)
