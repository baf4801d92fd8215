"""Machines of a Slurm cluster, where its commands are: each unit is a job of its own, asked by
files in a private folder that all machines see. The user's own variables tell ``sbatch`` which
account, time limit and such (``SBATCH_ACCOUNT``, ``SBATCH_TIMELIMIT``).

Not through submitit: it asks ``sacct`` how a job is, which a cluster without accounting refuses, so
that a job whose node is gone is waited for without end; it needs itself on every node, and reads as
a pickle what comes from there.
"""

from __future__ import annotations

import contextlib
import math
import os
import shlex
import subprocess
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from torchkeeper.client.engines import interpreters
from torchkeeper.client.engines.process import clean_environment
from torchkeeper.client.kept import whole
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.engine import batch, protocol
from torchkeeper.placing import sinfo
from torchkeeper.placing.shared import Asked, Shared, lost
from torchkeeper.placing.target import Heard, Lost, Node, Target, Unit
from torchkeeper.verdict.probed import Env

#: Names the folder, which all machines of the cluster see, for what goes to jobs and comes back.
FOLDER = "TORCHKEEPER_SLURM_FOLDER"
#: States of a job that waits or goes on.
_WAITING = frozenset({"PENDING", "CONFIGURING", "SUSPENDED", "STOPPED"})
_ON = _WAITING | {"RUNNING", "COMPLETING", "SIGNALING", "STAGE_OUT"}
#: Bytes of an answer of Slurm's, and seconds that it may take.
_MOST, _LIMIT = 32 << 20, 60.0
#: Seconds between two looks at what a job says, at first and at last; at all jobs; that one may be
#: over before its last words are here; that a stopped one has; that a probe waits to begin.
_TURNS, _LOOKS, _LATE, _PATIENCE, _QUEUE = (0.05, 1.0), 2.0, 5.0, 120.0, 600.0
#: Probes at a time, and nodes of a kind that are tried.
_AT_ONCE, _TRIES = 16, 2


class Slurm(Target):
    """A cluster: ``slurm`` or ``slurm:partition``. python: the interpreter on all of its machines,
    None for the default of here. slots: of each; None for one, or as many as it has GPUs.
    """

    def __init__(self, name: str, python: str | None = None, slots: int | None = None) -> None:
        self.name, self._python, self._slots = name, python, slots
        self._partition = name.partition(":")[2]
        if self._partition and not sinfo.NAME.fullmatch(self._partition):
            raise UserError(
                tr("{name} names no partition.", name=name),
                remedy=tr("Give one, such as slurm:gpu; “sinfo” lists them."),
                code="target-unknown",
            )
        self._lock = threading.Lock()
        self._shared: Shared | None = None
        self._probed = dict[tuple[object, ...], tuple[Env | None, UserError | None]]()
        self._rows = dict[str, sinfo.Row]()
        #: When Slurm was asked of all jobs, and of each the state, and why so; when it was asked
        #: at last, infinity while it is.
        self._jobs: tuple[float, Mapping[str, tuple[str, str]]] = (0.0, {})
        self._looked = 0.0

    def nodes(self) -> list[Node]:
        python, rows = self._python or interpreters.chosen(None), self.look()
        kinds = dict[tuple[object, ...], list[sinfo.Row]]()
        for row in sorted(rows, key=lambda row: row.order):
            if not row.state and row.kind not in self._probed:
                kinds.setdefault(row.kind, []).append(row)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            probed = pool.map(self._probe, kinds.values(), [python] * len(kinds))
            self._probed |= zip(kinds, probed, strict=True)
        return [self._node(row, python) for row in rows]

    def look(self) -> list[sinfo.Row]:
        """The nodes, as Slurm tells them. Raises UserError."""
        asked = ["-p", self._partition] if self._partition else []
        try:
            told = _tool("sinfo", "-N", "-h", "-o", sinfo.FIELDS, *asked)
        except Lost as e:
            raise e.why from e
        rows = sinfo.rows_of(told, self._partition)
        if not rows:
            raise UserError(
                tr("Slurm tells of no node."),
                tr("There is no partition of that name, or none is the default."),
                tr("Name one that “sinfo” lists, such as slurm:gpu."),
                code="target-unknown",
            )
        self._rows |= {row.name: row for row in rows}
        return rows

    def _node(self, row: sinfo.Row, python: str) -> Node:
        if row.state:
            what = tr("{node} takes no jobs.", node=row.name)
            why = UserError(what, tr("Slurm says: {state}.", state=row.state), code="node-away")
            return Node(row.name, python, 0, None, row.labels, why)
        facts, failed = self._probed[row.kind]
        return Node(row.name, python, self.slots_of(row), facts, row.labels, failed)

    def slots_of(self, row: sinfo.Row) -> int:
        gpus = row.gpus[1]
        return min(self._slots or gpus or 1, gpus or self._slots or 1)

    def _probe(self, alike: list[sinfo.Row], python: str) -> tuple[Env | None, UserError | None]:
        """What nodes that are alike are, by one of them."""
        failed: UserError | None = None
        for row in alike[:_TRIES]:
            late = threading.Event()
            timer = threading.Timer(_QUEUE, late.set)
            timer.daemon = True
            timer.start()
            node = Node(row.name, python, 1, None)
            try:
                facts: Env = self.run(node, Unit(protocol.PROBE, {}), lambda _: None, late)
            except (Lost, UserError) as e:
                failed = e.why if isinstance(e, Lost) else e
                continue
            finally:
                timer.cancel()
            if facts.get("torch"):
                return facts, None
            code = "torch-broken" if facts.get("torch_error") else "environment-no-torch"
            return None, user_error(code, {"python": python, "why": facts.get("torch_error", "")})
        return None, failed

    def run(self, node: Node, unit: Unit, heard: Heard, stop: threading.Event) -> Any:
        shared = self._folder()
        asked, job, done = Asked(shared, unit), "", False
        try:
            job = self._submit(node, shared, asked)
            result = asked.result(self._follow(job, asked, heard, stop))
            done = True
            return result
        finally:
            # One that has ended may have been put back into the queue.
            if job and not done:
                with contextlib.suppress(Lost):
                    _tool("scancel", job)
            asked.close()

    def _folder(self) -> Shared:
        with self._lock:
            if self._shared is None:
                above = os.environ.get(FOLDER) or os.path.join(whole.cache_folder(), "slurm")
                self._shared = Shared(above, "slurm")
            return self._shared

    def _submit(self, node: Node, shared: Shared, asked: Asked) -> str:
        """The number of a job. Raises Lost."""
        words = [node.python, "-c", batch.BOOT, shared.code, asked.path]
        script = f"#!/bin/sh\nexec {shlex.join(words)} 2>>{shlex.quote(asked.log)}\n"
        said = _tool("sbatch", "--parsable", "--no-requeue", f"--job-name={shared.name}",
                     "--chdir=/", "--output=/dev/null", *self._flags(node.name),
                     given=script)  # fmt: skip
        job = said.strip().partition(";")[0]
        if not job.isdecimal():
            raise lost(tr("Slurm took no job."), printable(said))
        return job

    def _flags(self, name: str) -> list[str]:
        """What a job asks for: the share of a node that is a slot."""
        row = self._rows[name]
        slots, (model, gpus) = self.slots_of(row), row.gpus
        flags = ["--nodes=1", "--ntasks=1", f"--nodelist={name}", f"--partition={row.partition}"]
        if gpus:
            flags.append("--gres=" + ":".join(filter(None, ("gpu", model, str(gpus // slots)))))
        if slots == 1:
            return [*flags, "--exclusive", "--mem=0"]
        # Some of the memory may be the system's.
        share = max(row.memory * 9 // 10 // slots, 1)
        return [*flags, f"--cpus-per-task={max(row.cpus // slots, 1)}", f"--mem={share}M"]

    def _follow(
        self, job: str, asked: Asked, heard: Heard, stop: threading.Event
    ) -> Mapping[str, Any]:
        """The last words of a job. Raises Lost, and UserError where it was stopped in the queue."""
        begun = news = time.monotonic()
        turn, stopped, over = _TURNS[0], 0.0, 0.0
        while True:
            before = asked.heard
            if (told := asked.hear(heard)) is not None:
                return told
            now = time.monotonic()
            begun = now if asked.heard and not before else begun
            state, why = self._state(job, begun)
            turn = _TURNS[0] if asked.heard > before else min(turn * 1.5, _TURNS[1])
            if asked.heard > before or state in _WAITING:
                news = now
            if state == "PENDING" and asked.heard:
                raise lost(tr("The job was put back into the queue."), why)
            if stop.is_set() and not stopped:
                stopped = now
                if not asked.heard and state != "RUNNING":
                    raise user_error("cancelled", {})
                asked.cancel()
            over = over or now if state and state not in _ON else 0.0
            if over and now - max(over, news) > _LATE:
                raise lost(tr("The job has ended: {state}.", state=state), why, asked.tail())
            if now - news > batch.SILENCE:
                raise lost(tr("Nothing is heard of the job any more."), state, asked.tail())
            if stopped and now - stopped > _PATIENCE:
                raise lost(tr("The job does not stop."), asked.tail())
            (time.sleep if stopped else stop.wait)(turn)

    def _state(self, job: str, since: float) -> tuple[str, str]:
        """What Slurm says of a job, and why; "" where it has not said anything since. Does not
        wait: its controller may be away, and jobs go on without it.
        """
        with self._lock:
            at, jobs = self._jobs
            if self._shared and time.monotonic() - max(at, self._looked) > _LOOKS:
                self._looked = math.inf
                threading.Thread(
                    target=self._ask_all, args=(self._shared.name,), daemon=True
                ).start()
        if at <= since:
            return "", ""
        return jobs.get(job, ("GONE", tr("Slurm knows nothing of it any more.")))

    def _ask_all(self, name: str) -> None:
        """Ask Slurm of all jobs."""
        at = time.monotonic()
        with contextlib.suppress(Lost):
            lines = _tool("squeue", "-h", "-t", "all", "-o", "%i|%T|%r", "-n", name).splitlines()
            parts = [(*line.split("|", 2), "", "")[:3] for line in lines]
            self._jobs = at, {one: (state, printable(why)) for one, state, why in parts}
        self._looked = time.monotonic()

    def close(self) -> None:
        with self._lock:
            if self._shared:
                with contextlib.suppress(Lost):
                    _tool("scancel", f"--name={self._shared.name}")
                self._shared.close()
            self._shared = None


def _tool(name: str, *words: str, given: str = "") -> str:
    """What a command of Slurm's says. Raises Lost."""
    env = clean_environment()
    for variable in ("SBATCH_ARRAY_INX", "SBATCH_WAIT"):  # one job each, and we wait ourselves
        env.pop(variable, None)
    what = tr("Slurm’s “{name}” fails.", name=name)
    try:
        ran = subprocess.run([name, *words], input=given.encode(), capture_output=True, env=env,
                             timeout=_LIMIT, check=False)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as e:
        raise lost(what, str(e)) from e
    if ran.returncode:
        raise lost(what, printable(" ".join(ran.stderr[:2000].decode(errors="replace").split())))
    return ran.stdout[:_MOST].decode(errors="replace")
