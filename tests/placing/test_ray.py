"""Units on a real Ray cluster of this machine."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.placing import clusters
from tests.placing.clusters import Cluster
from tests.proxy import between
from tests.stores.test_kinds import exported
from torchkeeper.artifacts.report import Report
from torchkeeper.client.recipes.sending import pack
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine.protocol import FILL, LIST, PLACES, PROVE, Message
from torchkeeper.placing import ray_job
from torchkeeper.placing.ray import Ray
from torchkeeper.placing.target import Lost, Node, Unit
from torchkeeper.stores.bundles.bundle import Bundle

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not clusters.HERE, reason=clusters.WHY),
]

LABELS = {
    "one": {"zone": "east", "ray.io/accelerator-type": "H100"},
    "two": {"zone": "west", "ray.io/accelerator-type": "H100"},
    "three": {"zone": "west", "ray.io/accelerator-type": "MI300X"},
}
Said = list[Message]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with clusters.running(0, LABELS) as made:
        yield made


@pytest.fixture(scope="module")
def target(cluster: Cluster, torch_python: str) -> Iterator[Ray]:
    made = Ray(cluster.address, torch_python)
    yield made
    made.close()


@pytest.fixture(scope="module")
def nodes(target: Ray) -> dict[str, Node]:
    return {node.name: node for node in target.nodes()}


def unheard(_: Message) -> None:
    pass


def script(folder: Path, *commands: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Parameters and files of a unit that runs commands as recipes do."""
    folder.mkdir(exist_ok=True)
    items = [{"name": f"{i}", "command": command} for i, command in enumerate(commands)]
    recipe: Any = {"name": "r", "folder": str(folder), "data": {"script": items}}
    zipped = str(folder / "sent.zip")
    return {"recipes": pack([recipe], zipped)}, {"sent": zipped}


def waiting(folder: Path) -> tuple[Unit, Path, Path]:
    """A unit that goes on until it is told; the file that it makes when it has begun, and the one
    that lets it go on.
    """
    folder.mkdir(exist_ok=True)
    begun, go = folder / "begun", folder / "go"
    wait = f"touch {begun}; until [ -e {go} ]; do sleep 0.1; done"
    params, files = script(folder, ["sh", "-c", wait], ["sh", "-c", wait])
    return Unit(FILL, params, files, str(folder / "made.torchcache")), begun, go


def until(holds: Callable[[], object]) -> None:
    while not holds():
        time.sleep(0.1)


def engines_of(cluster: Cluster) -> list[str]:
    """What units have left, or have now, on nodes."""
    return [
        name for name in os.listdir(cluster.folder / "in") if name.startswith("torchkeeper-ray-")
    ]


def held(cluster: Cluster) -> list[str]:
    """What of ours Ray still holds: files among its logs, and those that it has open."""
    names = [str(path) for path in cluster.folder.glob("ray/*/logs/torchkeeper-*")]
    names += [str(path) for path in cluster.folder.glob("ray/*/logs/job-driver-*")]
    for descriptors in Path("/proc").glob("[0-9]*/fd"):
        with contextlib.suppress(OSError):
            for one in descriptors.iterdir():
                with contextlib.suppress(OSError):
                    name = os.readlink(one)
                    if "logs/torchkeeper-" in name and str(cluster.folder) in name:
                        names.append(name)
    return names


def keys(cluster: Cluster) -> list[bytes]:
    """The values of ours in Ray's key-value store."""
    ask = (
        "import sys, ray; ray.init(sys.argv[1], logging_level='ERROR', log_to_driver=False); "
        "from ray.experimental import internal_kv as kv; "
        "print(*[key.decode() for key in kv._internal_kv_list('gcs://')])"
    )
    done = subprocess.run([sys.executable, "-c", ask, cluster.gcs], capture_output=True, check=True)
    return done.stdout.split()


def test_nodes_are_told_with_what_they_have(nodes: dict[str, Node], torch_python: str) -> None:
    assert set(nodes) == {"head", *LABELS}
    for name, labels in LABELS.items():
        node = nodes[name]
        assert labels.items() <= node.labels.items()
        assert (node.python, node.slots, node.why) == (torch_python, 1, None)
        assert node.facts and node.facts["torch"]
    head = nodes["head"]
    assert (head.slots, head.facts) == (0, None)
    assert head.why and head.why.code == "ray-no-room"


def test_what_one_node_compiles_another_proves(
    target: Ray, nodes: dict[str, Node], tmp_path: Path
) -> None:
    made, said = str(tmp_path / "made.torchcache"), Said()
    unit = Unit(FILL, {"recipes": ["builtin"], "threads": 1}, {"seeds": []}, made)
    result = target.run(nodes["one"], unit, said.append, threading.Event())
    assert result["new"] > 0 and not result["cut"]
    assert result["size"] == os.path.getsize(made)
    with Bundle(made, Report()) as bundle:
        assert len(list(bundle.items(Report()))) == result["new"]
    assert {"progress", "finding", "rows"} <= {message.type for message in said}
    unit = Unit(PROVE, {"recipes": ["builtin"], "threads": 1}, {"seeds": [made]})
    proven = target.run(nodes["three"], unit, unheard, threading.Event())
    assert proven["good"]
    # With what was there nothing is new, and nothing comes.
    again = str(tmp_path / "again.torchcache")
    unit = Unit(FILL, {"recipes": ["builtin"], "threads": 1}, {"seeds": [made]}, again)
    assert target.run(nodes["two"], unit, unheard, threading.Event())["new"] == 0
    assert not os.path.exists(again)


def test_the_variables_of_a_node_are_those_of_the_engine(
    target: Ray, nodes: dict[str, Node], tmp_path: Path
) -> None:
    # Ray sets OMP_NUM_THREADS for its own workers, which would change what is compiled.
    params, files = script(tmp_path / "r", ["sh", "-c", f"env > {tmp_path}/env"])
    unit = Unit(FILL, params, files, str(tmp_path / "made.torchcache"))
    target.run(nodes["one"], unit, unheard, threading.Event())
    names = {line.partition("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert "PATH" in names
    assert not {name for name in names if name.startswith("RAY_")}
    threads = (nodes["one"].facts or {}).get("threads")
    assert threads == os.cpu_count()


def test_one_that_is_stopped_tells_what_it_did(
    target: Ray, cluster: Cluster, nodes: dict[str, Node], tmp_path: Path
) -> None:
    unit, begun, _ = waiting(tmp_path)
    stop = threading.Event()
    with ThreadPoolExecutor() as pool:
        running = pool.submit(target.run, nodes["one"], unit, unheard, stop)
        until(begun.exists)
        stop.set()
        assert running.result()["cut"]
    until(lambda: not engines_of(cluster))


def test_one_that_has_not_begun_is_stopped_at_once(
    target: Ray, nodes: dict[str, Node], tmp_path: Path
) -> None:
    units = [waiting(tmp_path / name) for name in "abc"]
    stops = [threading.Event() for _ in units]
    with ThreadPoolExecutor() as pool:
        # The node has two CPUs.
        running = [
            pool.submit(target.run, nodes["one"], unit, unheard, stop)
            for (unit, _, _), stop in zip(units[:2], stops, strict=False)
        ]
        until(lambda: units[0][1].exists() and units[1][1].exists())
        third = pool.submit(target.run, nodes["one"], units[2][0], unheard, stops[2])
        stops[2].set()
        with pytest.raises(UserError) as caught:
            third.result()
        assert caught.value.code == "cancelled"
        for _, _, go in units[:2]:
            go.touch()
        assert [one.result()["cut"] for one in running] == [False, False]
    assert not units[2][1].exists()


def test_what_cannot_be_done_is_said(target: Ray, nodes: dict[str, Node], tmp_path: Path) -> None:
    unit = Unit(LIST, {"place": str(tmp_path / "none")})
    with pytest.raises(UserError) as caught:
        target.run(nodes["one"], unit, unheard, threading.Event())
    assert caught.value.code == "place-missing"
    bare = nodes["one"]._replace(python="/usr/bin/false")
    with pytest.raises(Lost) as lost:
        target.run(bare, unit, unheard, threading.Event())
    assert lost.value.why.code == "ray-no-python"
    nowhere = nodes["one"]._replace(labels={**nodes["one"].labels, "ray.io/node-id": "0" * 56})
    with pytest.raises(Lost) as lost:
        target.run(nowhere, unit, unheard, threading.Event())
    assert lost.value.why.code == "ray-node-lost"


def _big(kernels: Path, bundle: Path, folder: Path) -> None:
    """A bundle of kernels, each of which has 20 MiB that cannot be made smaller."""
    kernel = next(path.parent for path in kernels.glob("*/*.cubin"))
    for count in range(11):
        copy = folder / (kernel.name[:-2] + "ABCDEFGHIJK"[count] + "A")
        shutil.copytree(kernel, copy)
        with next(copy.glob("*.cubin")).open("ab") as file:
            file.write(os.urandom(20 << 20))
    assert exported(folder, bundle) == []


def _facts(bundle: Bundle) -> list[tuple[str, str, int]]:
    return sorted((item.kind, item.key, item.size) for item in bundle.items(Report()))


BIG = """if True:
    import resource, sys, threading, time
    from torchkeeper.engine.protocol import EXPORT
    from torchkeeper.placing.ray import Ray
    from torchkeeper.placing.target import Unit
    target = Ray(sys.argv[1])
    target.run(node := target.nodes()[1], Unit("places", {}), print, threading.Event())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.monotonic()
    unit = Unit(EXPORT, {"secrets": "allow"}, {"place": sys.argv[2]}, sys.argv[3])
    target.run(node, unit, lambda _: None, threading.Event())
    took = time.monotonic() - begun
    print(before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, took, file=sys.stderr)
    target.close()
"""


def test_a_network_that_is_away_for_a_moment_is_waited_for(
    cluster: Cluster, nodes: dict[str, Node], tmp_path: Path, torch_python: str
) -> None:
    unit, begun, go = waiting(tmp_path)
    with between(cluster.port) as proxy, ThreadPoolExecutor() as pool:
        target = Ray(proxy.url.replace("redis", "http").removesuffix("/0"), torch_python)
        running = pool.submit(target.run, nodes["two"], unit, unheard, threading.Event())
        until(begun.exists)
        proxy.drop()
        go.touch()
        until(lambda: not engines_of(cluster))  # it has ended there
        assert not running.done()
        proxy.refusing = False
        assert not running.result()["cut"]
        target.close()


def test_a_network_that_stays_away_is_a_loss(
    cluster: Cluster, nodes: dict[str, Node], tmp_path: Path, torch_python: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(ray_job, "PATIENCE", 2.0)
    monkeypatch.setattr(ray_job, "ALONE", 15.0)
    monkeypatch.setattr(ray_job, "_BEAT", 1.0)
    unit, begun, _ = waiting(tmp_path)
    with between(cluster.port) as proxy, ThreadPoolExecutor() as pool:
        target = Ray(proxy.url.replace("redis", "http").removesuffix("/0"), torch_python)
        running = pool.submit(target.run, nodes["two"], unit, unheard, threading.Event())
        until(begun.exists)
        proxy.drop()
        with pytest.raises(Lost):
            running.result()
        target.close()
    # The cluster hears nothing of us any more, and ends what we began.
    until(lambda: not engines_of(cluster))


def test_nothing_stays_after_the_end(
    cluster: Cluster, nodes: dict[str, Node], tmp_path: Path, torch_python: str
) -> None:
    target = Ray(cluster.address, torch_python)
    unit, begun, _ = waiting(tmp_path)
    with ThreadPoolExecutor() as pool:
        running = pool.submit(target.run, nodes["three"], unit, unheard, threading.Event())
        until(begun.exists)
        assert target._job
        name = target._job.name
        target.close()
        with pytest.raises(Lost):
            running.result()
    until(lambda: not engines_of(cluster))
    until(lambda: not [one for one in held(cluster) if name in one])
    assert not [one for one in keys(cluster) if name in one.decode()]


def test_a_node_that_dies_is_a_loss_and_the_others_go_on(
    cluster: Cluster, target: Ray, nodes: dict[str, Node], tmp_path: Path
) -> None:
    unit, begun, _ = waiting(tmp_path)
    with ThreadPoolExecutor() as pool:
        running = pool.submit(target.run, nodes["three"], unit, unheard, threading.Event())
        until(begun.exists)
        cluster.kill("three")
        with pytest.raises(Lost) as caught:
            running.result()
    assert caught.value.why.code == "ray-node-lost"
    until(lambda: not engines_of(cluster))
    assert target.run(nodes["two"], Unit(PLACES, {}), unheard, threading.Event()) == {}
    until(lambda: "three" not in {node.name for node in target.nodes()})


def test_big_bundles_go_and_come_in_parts(cluster: Cluster, kernels: Path, tmp_path: Path) -> None:
    big, back = tmp_path / "big.torchcache", tmp_path / "back.torchcache"
    _big(kernels, big, tmp_path / "kernels")
    size = big.stat().st_size
    assert size > 200 << 20
    done = subprocess.run(
        [sys.executable, "-c", BIG, cluster.address, str(big), str(back)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    first, last, seconds = done.stderr.split()
    before, after, took = int(first), int(last), float(seconds)
    print(f"{size >> 20} MiB there and back in {took:.1f} s; memory {before} to {after} KiB")
    with Bundle(str(big), Report()) as one, Bundle(str(back), Report()) as other:
        assert _facts(one) == _facts(other)
    # A part in each direction, and what they are made of.
    assert (after - before) << 10 < 64 << 20


def test_a_head_that_dies_is_a_loss(
    cluster: Cluster, target: Ray, nodes: dict[str, Node], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(ray_job, "PATIENCE", 3.0)
    unit, begun, _ = waiting(tmp_path)
    with ThreadPoolExecutor() as pool:
        running = pool.submit(target.run, nodes["two"], unit, unheard, threading.Event())
        until(begun.exists)
        cluster.kill("head")
        with pytest.raises(Lost):
            running.result()
    with pytest.raises(UserError) as caught:
        target.nodes()
    assert caught.value.code == "ray-away"
    until(lambda: not engines_of(cluster))
