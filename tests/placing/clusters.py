"""A Ray cluster on this machine, of Ray's own ``cluster_utils``, in a process of its own: what is
told it are lines, and so are its answers.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.redis_server import free_port

#: Whether there is a Ray, with its dashboard, in the environment of the tests.
HERE = all(importlib.util.find_spec(name) for name in ("ray", "opencensus", "aiohttp"))
WHY = "Ray is not installed here: pip install ray[default]"


def main(port: int, head: Mapping[str, Any], others: Mapping[str, Mapping[str, str]]) -> None:
    from ray.cluster_utils import Cluster

    about = {
        "include_dashboard": True, "dashboard_host": "127.0.0.1", "dashboard_port": port,
        "dashboard_agent_listen_port": free_port(),
    }  # fmt: skip
    cluster = Cluster(initialize_head=True, head_node_args={**about, **head})
    nodes = {"head": cluster.head_node}

    def add(name: str) -> None:
        nodes[name] = cluster.add_node(num_cpus=2, node_name=name, labels=dict(others[name]))

    for name in others:
        add(name)
    cluster.wait_for_nodes()
    print("up", cluster.address, flush=True)
    for line in sys.stdin:
        does, name = line.split()
        if does == "kill":
            cluster.remove_node(nodes[name], allow_graceful=False)
        else:
            add(name)
        print("done", flush=True)
    cluster.shutdown()


class Cluster:
    """One that runs. address: of its dashboard; gcs: as Ray's own drivers know it. folder: where
    Ray has its logs.
    """

    def __init__(self, head_cpus: int, others: Mapping[str, Mapping[str, str]]) -> None:
        for last in (False, False, True):  # a node has half a minute to begin, and Ray gives it up
            self._start(head_cpus, others)
            if line := self._line():
                break
            if last:
                raise AssertionError((self.folder / "err").read_text()[-2000:])
            self.close()
        self.gcs = line.split()[-1]

    def _start(self, head_cpus: int, others: Mapping[str, Mapping[str, str]]) -> None:
        # Sockets of Ray's have long names below it.
        self.folder = Path(tempfile.mkdtemp(prefix="tkr-", dir="/tmp"))
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        (self.folder / "in").mkdir()
        own = os.path.dirname(sys.executable)
        env = {**os.environ, "RAY_TMPDIR": str(self.folder), "TMPDIR": str(self.folder / "in")}
        env |= {"RAY_USAGE_STATS_ENABLED": "0", "PATH": f"{own}:{os.environ['PATH']}"}
        # Ray's workers give way to all others, and so would what they compile.
        env["RAY_worker_niceness"] = "0"
        env["PYTHONPATH"] = str(Path(__file__).parents[2])
        arguments = json.dumps([self.port, {"num_cpus": head_cpus, "node_name": "head"}, others])
        with (self.folder / "err").open("wb") as err:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.placing.clusters", arguments], env=env, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err,
            )  # fmt: skip

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline()

    def kill(self, node: str) -> None:
        """End a node by force, as a machine that loses its power."""
        self._tell("kill", node)

    def add(self, node: str) -> None:
        """One that was killed is there again."""
        self._tell("add", node)

    def _tell(self, what: str, node: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{what} {node}\n")
        self._process.stdin.flush()
        assert self._line(), (self.folder / "err").read_text()[-2000:]

    def close(self) -> None:
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout
        self._process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def running(head_cpus: int, others: Mapping[str, Mapping[str, str]]) -> Iterator[Cluster]:
    cluster = Cluster(head_cpus, others)
    try:
        yield cluster
    finally:
        cluster.close()


if __name__ == "__main__":
    main(*json.loads(sys.argv[1]))
