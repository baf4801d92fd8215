"""A Ray cluster, reached by its HTTP server alone, so that no Ray is needed here. Ray places each
unit, moves its files, and says which node is gone; one job in it serves all (``placing.ray_job``).
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from typing import Any, cast

from torchkeeper.client.engines.travel import archive
from torchkeeper.client.words.problems import UserError, failing_as, printable, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.engine import batch, protocol
from torchkeeper.engine.protocol import PROBE, Ends, WireError
from torchkeeper.placing.ray_http import Server, Word
from torchkeeper.placing.ray_job import Job
from torchkeeper.placing.target import Answer, Heard, Lost, Node, Target, Unit, check_size
from torchkeeper.stores import atomic
from torchkeeper.verdict.probed import Env

#: The label by which Ray knows a node; those by which we know what a unit takes of it.
ID, CPUS, GPUS = "ray.io/node-id", "torchkeeper/cpus", "torchkeeper/gpus"
#: Nodes that are probed at the same time; nodes of a cluster, and labels of a node.
_AT_ONCE, MOST, _LABELS = 32, 10_000, 64


class Ray(Target):
    """A cluster. address: of its dashboard (``http://head:8265``), or one that Ray knows, where
    there is one here. python: the interpreter on its nodes; None for the one that Ray runs in.
    slots: of each node; None for as many as it has GPUs, else one. Raises UserError.
    """

    def __init__(self, address: str, python: str | None = None, slots: int | None = None) -> None:
        self.name = address
        self._server = Server(address)
        self._python, self._slots = python, slots
        self._lock = threading.Lock()
        self._job: Job | None = None
        self._probed = dict[str, Env]()

    def _running(self) -> Job:
        """The job in the cluster; a new one where it is gone. Raises UserError."""
        with self._lock:
            if self._job is None or self._job.lost:
                if self._job:
                    self._job.end()
                self._job = Job(self._server, self.name)
            return self._job

    def nodes(self) -> list[Node]:
        found = dict[str, Word]()
        try:
            with closing(self._running().ask({"nodes": True})) as words:
                for word in words:
                    if "node" in word:
                        found[word["node"]] = word
                    if len(found) > MOST:
                        why = tr("It tells of more than {most} nodes.", most=MOST)
                        raise user_error("ray-away", {"target": self.name, "why": why})
        except Lost as e:
            raise e.why from e
        told = sorted(found.values(), key=lambda one: (one.get("name", ""), one["node"]))
        names = Counter(one.get("name") for one in told)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(lambda one: self._as_node(one, names), told))

    def _as_node(self, said: Word, names: Mapping[str | None, int]) -> Node:
        ident, name = said["node"], said.get("name", "")
        # Labels are whoever's who started the node.
        told = islice(said.get("labels", {}).items(), _LABELS)
        labels = {printable(k, 200): printable(v, 200) for k, v in told}
        cpus, gpus = said.get("cpus", 0), said.get("gpus", 0)
        labels |= {ID: ident, CPUS: f"{cpus:g}", GPUS: f"{gpus:g}"}
        name = printable(name, 100) if names[name] == 1 else f"{printable(name, 100)} {ident[:56]}"
        node = Node(name, self._python or "", self._slots or int(gpus) or 1, None, labels)
        if not (cpus or gpus):
            return node._replace(slots=0, why=user_error("ray-no-room", {"node": name}))
        try:
            if (facts := self._probed.get(ident)) is None:
                done = self.run(node, Unit(PROBE, {}), lambda _: None, threading.Event())
                facts = self._probed[ident] = cast("Env", done)
        except (Lost, UserError) as e:
            return node._replace(slots=0, why=e.why if isinstance(e, Lost) else e)
        python = self._python or facts.get("executable", "")
        if facts.get("torch"):
            return node._replace(python=python, facts=facts)
        why = user_error("torch-broken", {"python": python, "why": facts.get("torch_error")})
        if not facts.get("torch_error"):
            why = user_error("environment-no-torch", {"python": python})
        return node._replace(python=python, slots=0, why=why)

    def run(self, node: Node, unit: Unit, heard: Heard, stop: threading.Event) -> Any:
        try:
            job = self._running()
        except UserError as e:
            raise Lost(e) from e
        files = dict[str, str]()

        def sent(file: str) -> str:
            with failing_as("bundle-unreadable", file=file):
                files[digest := batch.digest(file)] = file
            return digest

        looks = protocol.traits(unit.op).ends is Ends.LOOKS
        cpus, gpus = float(node.labels[CPUS]), float(node.labels[GPUS])
        asked: dict[str, object] = {
            "node": node.labels[ID], "python": node.python, "op": unit.op, "params": unit.params,
            "boot": batch.BOOT, "code": sent(str(archive())), "output": bool(unit.output),
            "files": {
                name: sent(some) if isinstance(some, str) else [sent(one) for one in some]
                for name, some in unit.files.items()
            },
            # What only looks waits for nobody.
            "whole": looks, "cpus": 0 if looks else min(1.0, cpus),
            "gpus": 0 if looks else min(1.0, _share(gpus, node.slots)),
        }  # fmt: skip
        asked["ends"] = {digest: os.path.splitext(file)[1] for digest, file in files.items()}
        lines, answer, end = protocol.Lines(), Answer(unit.op), cast("Mapping[str, Any]", {})
        with closing(job.ask({"run": asked}, stop, files)) as words:
            for word in words:
                try:
                    for line in lines.feed(word.get("said", "").encode()):
                        said = protocol.decode(line)
                        if said.get("type") == batch.END:
                            end = said
                        elif said.get("type") != batch.BEAT:
                            answer.take(protocol.message_from(said), heard)
                except WireError as e:
                    why = tr("Its engine does not speak the expected protocol: {why}.", why=e)
                    raise _lost(node, why) from e
                if word.get("end"):
                    told = _told(node, answer, end, word, stop.is_set())
                    if unit.output and "sha256" in end:
                        _fetch(job, node, unit.output, end, word)
                    return told
        raise _lost(node, tr("It was closed."))

    def close(self) -> None:
        with self._lock:
            if self._job:
                self._job.end()
            self._job = None


def _share(gpus: float, slots: int) -> float:
    """The GPUs that a unit takes; Ray takes no part of one beside a whole one."""
    share = gpus / (slots or 1)
    return share if share < 1 else float(int(share))


def _lost(node: Node, why: str) -> Lost:
    return Lost(user_error("ray-node-lost", {"node": node.name, "why": why}))


def _told(node: Node, answer: Answer, end: Mapping[str, Any], last: Word, stopped: bool) -> Any:
    """The result of a unit. end: the last of its engine's words; last: that of the driver's. Raises
    as ``Target.run``.
    """
    if answer.told is None or not end:
        if why := last.get("failed"):
            params = {"node": node.name, "why": printable(why, 2000)}
            raise user_error("ray-unit-failed", params)
        if last.get("cancelled"):
            raise user_error("cancelled", {})
        if why := last.get("lost"):
            raise _lost(node, printable(why, 2000))
        if file := end.get("file"):
            raise _lost(node, tr("{file} is not there as it was sent.", file=printable(str(file))))
        logged = [printable(line, 1000) for line in last.get("log", "").splitlines()[-5:]]
        status = tr("It exited with status {code}.", code=last.get("status"))
        why = "\n".join([status, *logged])
        if answer.greeted:
            raise _lost(node, why)
        raise Lost(user_error("ray-no-python", {"node": node.name, "why": why}))
    if answer.told.type == "error":
        error = answer.told.body["error"]
        if error["code"] == "cancelled" and not stopped:
            raise _lost(node, tr("The engine was ended before it was done."))
        raise user_error(error["code"], error.get("params", {}))
    return answer.told.body["result"]


def _fetch(job: Job, node: Node, output: str, end: Mapping[str, Any], last: Word) -> None:
    """Have what a unit wrote here. Raises Lost and UserError."""
    digest, come, size = hashlib.sha256(), 0, end.get("size")
    check_size(size if isinstance(size, int) else 0, output)
    with failing_as("output-unwritable", file=output), atomic.atomic_write(output) as file:
        for number in range(last.get("parts", 0)):
            data = job.part(last.get("of", 0), number)
            come += len(data)
            digest.update(data)
            file.write(data)
            if not isinstance(size, int) or come > size:
                break
        if come != size or digest.hexdigest() != end["sha256"]:
            raise _lost(node, tr("Its bundle came otherwise than it was sent."))
