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
_GO_ON = _WAITING | {"RUNNING"}
_ON = _GO_ON | {"COMPLETING", "SIGNALING", "STAGE_OUT"}
#: Bytes of an answer of Slurm's, and seconds that it may take: they themselves wait for a minute.
_MOST, _LIMIT = 32 << 20, 90.0
#: Seconds between two looks at what a job says, at first and at last; at all jobs; that one may be
#: over before its last words are here; that a stopped one has; that a probe waits to begin; that
#: the controller may be away.
_TURNS, _LOOKS, _LATE, _PATIENCE, _QUEUE, _AWAY = (0.05, 1.0), 2.0, 5.0, 120.0, 600.0, 120.0
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
            raise user_error("slurm-partition", {"target": name})
        self._lock = threading.Lock()
        #: Held while nodes are asked; what ends that early, for each probe.
        self._asking, self._ends = threading.Lock(), set[threading.Event]()
        self._closed = False
        self._shared: Shared | None = None
        self._probed = dict[tuple[object, ...], tuple[Env | None, UserError | None]]()
        self._rows = dict[str, sinfo.Row]()
        #: When Slurm was asked of all jobs, and of each the state, and why so; when it was asked
        #: at last, infinity while it is.
        self._jobs: tuple[float, Mapping[str, tuple[str, str]]] = (0.0, {})
        self._looked, self._strays = 0.0, set[str]()

    def nodes(self) -> list[Node]:
        python, rows = self._python or interpreters.chosen(None), self.look()
        kinds = dict[tuple[object, ...], list[sinfo.Row]]()
        for row in sorted(rows, key=lambda row: row.order):
            if not row.state and row.kind not in self._probed:
                kinds.setdefault(row.kind, []).append(row)
        with self._asking, ThreadPoolExecutor(_AT_ONCE) as pool:
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
            raise user_error("slurm-no-node", {"target": self.name})
        self._rows |= {row.name: row for row in rows}
        return rows

    def _node(self, row: sinfo.Row, python: str) -> Node:
        if row.state:
            why = user_error("slurm-node-away", {"node": row.name, "state": row.state})
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
            self._ends.add(late)
            if self._closed:
                late.set()
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
        asked, done = Asked(shared, unit), False
        try:
            self._submit(node, shared, asked, stop)
            result = asked.result(self._follow(asked, heard, stop))
            done = True
            return result
        finally:
            # One that has ended may have been put back into the queue.
            if not done:
                _cancel(asked.name)
            asked.close()

    def _folder(self) -> Shared:
        with self._lock:
            if self._shared is None:
                above = os.environ.get(FOLDER) or os.path.join(whole.cache_folder(), "slurm")
                self._shared = Shared(above, "slurm")
            return self._shared

    def _submit(self, node: Node, shared: Shared, asked: Asked, stop: threading.Event) -> None:
        """Have Slurm take a job; waits while its controller is away. Raises Lost."""
        words = [node.python, "-c", batch.BOOT, shared.code, asked.path]
        script = f"#!/bin/sh\nexec {shlex.join(words)} 2>>{shlex.quote(asked.log)}\n"
        until = time.monotonic() + _AWAY
        for last in (False, True):
            try:
                _tool("sbatch", "--no-requeue", f"--job-name={asked.name}", "--chdir=/",
                      "--output=/dev/null", *self._flags(node.name), given=script)  # fmt: skip
                return
            except Lost:
                while not _cancel(asked.name):  # it may have taken one all the same
                    if stop.wait(_LOOKS) or time.monotonic() > until:
                        raise
                if last:
                    raise

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

    def _follow(self, asked: Asked, heard: Heard, stop: threading.Event) -> Mapping[str, Any]:
        """The last words of a job. Raises Lost, and UserError where it was stopped in the queue."""
        begun = news = time.monotonic()
        turn, stopped, over = _TURNS[0], 0.0, 0.0
        while True:
            before = asked.heard
            if (told := asked.hear(heard)) is not None:
                return told
            now = time.monotonic()
            begun = now if asked.heard and not before else begun
            state, why = self._state(asked.name, begun)
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
        wait: its controller may be away, and jobs go on without it. A controller that was killed
        gives numbers of jobs to others: they are known by their names.
        """
        with self._lock:
            at, jobs = self._jobs
            if time.monotonic() - max(at, self._looked) > _LOOKS:
                self._looked = math.inf
                threading.Thread(target=self._ask_all, daemon=True).start()
        if at <= since:
            return "", ""
        return jobs.get(job, ("GONE", tr("Slurm knows nothing of it any more.")))

    def _ask_all(self) -> None:
        """Ask Slurm of all jobs of this user, and cancel those that nobody waits for any more: of
        one who was killed, and of whom a controller that was killed says once more that it runs.
        """
        at, user = time.monotonic(), str(os.geteuid())
        with contextlib.suppress(Lost):
            told = _tool("squeue", "-h", "-t", "all", "-o", "%T|%r|%j", "-u", user)
            parts = [(*line.split("|", 2), "", "")[:3] for line in told.splitlines()]
            self._jobs = at, {name: (state, printable(why)) for state, why, name in parts}
            shared = self._shared
            strays = {
                name for state, _, name in parts
                if state in _GO_ON and shared and shared.is_nobodys(name)
            }  # fmt: skip
            for name in strays & self._strays:  # one that has just answered ends by itself
                _cancel(name)
            self._strays = strays
        self._looked = time.monotonic()

    def close(self) -> None:
        self._closed = True
        for one in list(self._ends):
            one.set()
        with self._asking, self._lock:
            if self._shared:
                self._shared.close()
            self._shared = None


def _cancel(job: str) -> bool:
    """Cancel a job, by its name, if it is there; whether Slurm answers."""
    try:
        _tool("scancel", f"--name={job}")
    except Lost:
        return False
    return True


def _tool(name: str, *words: str, given: str = "") -> str:
    """What a command of Slurm's says. Raises Lost."""
    env = clean_environment()
    for variable in ("SBATCH_ARRAY_INX", "SBATCH_WAIT"):  # one job each, and we wait ourselves
        env.pop(variable, None)
    try:
        ran = subprocess.run([name, *words], input=given.encode(), capture_output=True, env=env,
                             timeout=_LIMIT, check=False)  # fmt: skip
    except FileNotFoundError as e:
        raise Lost(user_error("slurm-missing", {"name": name}), True) from e
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Lost(user_error("slurm-failed", {"name": name, "why": str(e)})) from e
    if ran.returncode:
        said = " ".join(ran.stderr[:2000].decode(errors="replace").split())
        raise Lost(user_error("slurm-failed", {"name": name, "why": printable(said, 2000)}))
    return ran.stdout[:_MOST].decode(errors="replace")
