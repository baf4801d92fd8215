"""A Ray cluster, reached by its HTTP server alone, so that no Ray is needed here. Ray places each
unit, moves its files, and says which node is gone; one job in it serves all (``placing.ray_job``).
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from torchkeeper.client.engines.travel import archive
from torchkeeper.client.words.problems import UserError, failing_as, printable, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.engine import home, protocol
from torchkeeper.engine.protocol import PROBE, Ends, WireError
from torchkeeper.placing.ray_http import Server
from torchkeeper.placing.ray_job import TURN, Heard, Job, Said
from torchkeeper.placing.target import Answer, Lost, Node, Target, Unit, check_size
from torchkeeper.placing.target import Heard as Hears
from torchkeeper.stores import atomic
from torchkeeper.verdict.probed import Env

#: The label by which Ray knows a node; those by which we know what a unit takes of it.
ID, CPUS, GPUS = "ray.io/node-id", "torchkeeper/cpus", "torchkeeper/gpus"
#: Nodes that are probed at the same time; seconds that a stopped unit has to tell what it did.
_AT_ONCE, _PATIENCE = 32, 120.0


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
        try:
            found = self._found(self._running())
        except Lost as e:
            raise e.why from e
        names = Counter(one.get("name") for one in found)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(lambda one: self._as_node(one, names), found))

    def _found(self, job: Job) -> list[Said]:
        found = list[Said]()
        with job.ask({"nodes": True}) as (_, get):
            while True:
                if (heard := get()) is None:
                    continue
                if "lost" in heard.said and job.lost:
                    raise Lost(job.lost)
                if heard.said.get("end"):
                    return sorted(found, key=lambda one: (one.get("name", ""), one.get("node", "")))
                found.append(heard.said)

    def _as_node(self, said: Said, names: Mapping[str | None, int]) -> Node:
        ident, name = said.get("node", ""), said.get("name", "")
        # Labels are whoever's who started the node.
        labels = {printable(k, 200): printable(v, 200) for k, v in said.get("labels", {}).items()}
        cpus, gpus = said.get("cpus", 0), said.get("gpus", 0)
        labels |= {ID: ident, CPUS: f"{cpus:g}", GPUS: f"{gpus:g}"}
        name = printable(name if names[name] == 1 else f"{name} {ident[:8]}", 100)
        slots = self._slots or int(gpus) or 1
        node = Node(name, self._python or "", slots, None, labels)
        if not (cpus or gpus):
            return node._replace(slots=0, why=user_error("ray-no-room", {"node": name}))
        try:
            if (facts := self._probed.get(ident)) is None:
                done = self.run(node, Unit(PROBE, {}), lambda _: None, threading.Event())
                facts = self._probed[ident] = cast("Env", done)
        except Lost as e:
            return node._replace(slots=0, why=e.why)
        except UserError as e:
            return node._replace(slots=0, why=e)
        python = self._python or facts.get("executable", "")
        if facts.get("torch"):
            return node._replace(python=python, facts=facts)
        why = user_error("torch-broken", {"python": python, "why": facts.get("torch_error")})
        if not facts.get("torch_error"):
            why = user_error("environment-no-torch", {"python": python})
        return node._replace(python=python, slots=0, why=why)

    def run(self, node: Node, unit: Unit, heard: Hears, stop: threading.Event) -> Any:
        try:
            job = self._running()
        except UserError as e:
            raise Lost(e) from e
        groups = {k: [v] if isinstance(v, str) else list(v) for k, v in unit.files.items()}
        files = [str(archive()), *(file for some in groups.values() for file in some)]
        with job.having(files) as digests:
            code, *others = digests
            each = iter(others)
            named: dict[str, object] = {
                name: next(each)
                if isinstance(unit.files[name], str)
                else [next(each) for _ in some]
                for name, some in groups.items()
            }
            looks = protocol.traits(unit.op).ends is Ends.LOOKS
            cpus, gpus = float(node.labels[CPUS]), float(node.labels[GPUS])
            asked = {
                "node": node.labels[ID], "python": node.python, "op": unit.op,
                "params": unit.params, "files": named, "output": bool(unit.output),
                "boot": home.BOOT, "code": code, "whole": looks,
                "ends": {digest: os.path.splitext(file)[1]
                         for digest, file in zip(digests, files, strict=True)},
                # What only looks waits for nobody.
                "cpus": 0 if looks else min(1.0, cpus),
                "gpus": 0 if looks else min(1.0, _share(gpus, node.slots)),
            }  # fmt: skip
            with job.ask({"run": asked}) as (ident, get):
                return _Talk(job, ident, node, unit).until(get, heard, stop)

    def close(self) -> None:
        with self._lock:
            if self._job:
                self._job.end()
            self._job = None


def _share(gpus: float, slots: int) -> float:
    """The GPUs that a unit takes; Ray takes no part of one beside a whole one."""
    share = gpus / (slots or 1)
    return share if share < 1 else float(int(share))


class _Talk:
    """What comes of one unit."""

    def __init__(self, job: Job, ident: int, node: Node, unit: Unit) -> None:
        self._job, self._ident, self._node, self._unit = job, ident, node, unit
        self._answer = Answer(unit.op)
        self._all: Said = {}

    def until(self, get: Any, heard: Hears, stop: threading.Event) -> Any:
        """The result. Raises as ``Target.run``."""
        asked = 0.0
        while True:
            one: Heard | None = get()
            if stop.is_set():
                if not asked or asked > _PATIENCE:
                    self._job.tell({"stop": self._ident, "force": asked > _PATIENCE}, waits=False)
                    asked = TURN
                asked += TURN if one is None else 0
            if one is None:
                continue
            try:
                self._say(one.lines, heard)
            except WireError as e:
                raise self._lost(
                    tr("Its engine does not speak the expected protocol: {why}.", why=e)
                ) from e
            self._all.update(one.said)
            if one.said.get("end"):
                return self._result()

    def _say(self, lines: Sequence[bytes], heard: Hears) -> None:
        for line in lines:
            if len(line) > protocol.MAX_LINE:
                raise WireError("a line is too long")
            self._answer.take(protocol.message_from(protocol.decode(line)), heard)

    def _lost(self, why: str) -> Lost:
        params = {"node": self._node.name, "why": why}
        return Lost(user_error("ray-node-lost", params))

    def _result(self) -> Any:
        """What was told at the end, with the bundle in its place."""
        said, told = self._all, self._answer.told
        if told is None or not ("made" in said or "ended" in said):
            if why := said.get("failed"):
                raise user_error(
                    "ray-unit-failed", {"node": self._node.name, "why": printable(why, 2000)}
                )
            if said.get("cancelled"):
                raise user_error("cancelled", {})
            if why := said.get("lost"):
                raise self._lost(printable(why, 2000))
            logged = "\n".join(printable(line, 1000) for line in said.get("log", ())[-5:])
            code = tr("It exited with status {code}.", code=said.get("ended"))
            why = f"{code}\n{logged}" if logged else code
            if self._answer.greeted:
                raise self._lost(why)
            raise Lost(user_error("ray-no-python", {"node": self._node.name, "why": why}))
        if told.type == "error":
            error = told.body["error"]
            raise user_error(error["code"], error.get("params", {}))
        if "made" in said and self._unit.output:
            self._fetch(said.get("made", 0), said.get("parts", 0), said.get("sha256", ""))
        return told.body["result"]

    def _fetch(self, size: int, parts: int, wanted: str) -> None:
        digest, come = hashlib.sha256(), 0
        check_size(size, self._unit.output)
        with (
            failing_as("output-unwritable", file=self._unit.output),
            atomic.atomic_write(self._unit.output) as file,
        ):
            for number in range(parts):
                data = self._job.part(f"made.{self._ident}.{number}")
                come += len(data)
                digest.update(data)
                file.write(data)
                if come > size:
                    break
            if come != size or digest.hexdigest() != wanted:
                raise self._lost(tr("Its bundle came otherwise than it was sent."))
