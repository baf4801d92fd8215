"""One run of a verification: one cell in a fresh process with a cache folder of its own."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.warm import supervise
from torchkeeper.warm.caches import Used, alone
from torchkeeper.warm.options import JUDGED
from torchkeeper.warm.recipes.cells import Cell
from torchkeeper.warm.traces.graphs import DECIDED

if TYPE_CHECKING:
    from torchkeeper.warm.shapes import Proof, Run, Summed, VerifiedGraph

#: Graphs and objects that are named.
MAX_GRAPHS = 500
MAX_BUILT = 50
_MAX_NAME = 100
#: What ends a process that runs machine code which is not for its CPU, or damaged.
_CRASHES = ("SIGILL", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGABRT", "SIGTRAP")
#: Sources that have a proof of their own: counters of FX graphs say nothing of them.
PROVED = ("eager", "triton")


@dataclass
class Ran:
    """What one run came to: the job's result, its graphs, and the objects that it built, as paths
    in its cache folder. proof: what the source's own proof found, where that was asked for.
    """

    result: Summed
    graphs: list[VerifiedGraph] = field(default_factory=list)
    built: list[str] = field(default_factory=list)
    proof: Proof | None = None

    @property
    def good(self) -> bool:
        """Whether everything hit, and nothing was built."""
        hits, misses = self.result["hits"], self.result["misses"]
        return hits > 0 and not misses and not self.result["autograd"]["misses"] and not self.built

    def to_json(self) -> Run:
        """Its counts and seconds."""
        return {
            "graphs": self.result["graphs"],
            "hits": self.result["hits"],
            "misses": self.result["misses"],
            "bypasses": self.result["bypasses"],
            "autograd": self.result["autograd"],
            "seconds": self.result["seconds"],
            "rebuilt": len(self.built),
        }


class Heard(Report):
    """Passes on what a job tells, but for what it says of its one cell, and keeps the graphs, each
    when it is known how its lookup ended. quiet: progress is told by somebody else.
    """

    def __init__(self, report: Report, quiet: bool = False) -> None:
        self._report, self._quiet = report, quiet
        self.graphs: dict[str, VerifiedGraph] = {}

    def progress(self, done: int, total: int | None, unit: str) -> None:
        if not self._quiet:
            self._report.progress(done, total, unit)

    def finding(self, **what: Any) -> None:
        if "graph" in what:
            graph = what["graph"]
            known = self.graphs.get(graph["id"])
            if graph["outcome"] not in DECIDED or (known and known["outcome"] == graph["outcome"]):
                return
            if known or len(self.graphs) < MAX_GRAPHS:
                self.graphs[graph["id"]] = {
                    "id": graph["id"][:_MAX_NAME],
                    "name": graph["name"][:_MAX_NAME],
                    "outcome": graph["outcome"],
                }
        if "cells" in what or isinstance(what.get("cell"), dict):
            return
        self._report.finding(**what)

    def check(self) -> None:
        self._report.check()


def run(
    job: supervise.Job, home: str, temporary: str, led: Used, name: str, heard: Heard,
    trace: str | None = None, more: supervise.Request | None = None,
) -> Ran:  # fmt: skip
    """Run the one cell of a job on ``home/cache``, with a folder for temporary files.

    led: where in that folder a program is led to. name: of the run, one of RUNS. trace: a folder
    for PyTorch's. more: as for ``supervise.run``. Raises Problem as that does, and
    "verify-crashed"; passes Cancelled on.
    """
    [cell] = job.cells
    cache = os.path.join(home, "cache")
    inductor = os.path.normpath(os.path.join(cache, led.inductor))
    env = supervise.environment(inductor, job.threads, job.portable, job.settings)
    env = alone(env, temporary)
    if led.triton is not None:
        env["TRITON_CACHE_DIR"] = os.path.normpath(os.path.join(cache, led.triton))
    if trace is not None:
        env["TORCH_TRACE"] = trace
    prove = name in JUDGED and cell.source in PROVED
    if prove:
        more = {**(more or {}), "prove": True}
    before = objects(cache)
    try:
        result = supervise.run(job, env, home, heard, more=more)
    except Problem as problem:
        signal = problem.params.get("signal")
        if name in JUDGED and problem.code == "warm-killed" and signal in _CRASHES:
            about = {"place": job.place, "signal": signal, "step": problem.params.get("step")}
            raise Problem("verify-crashed", **about) from problem
        raise
    after = objects(cache)
    built = sorted(path for path in after if after[path] != before.get(path))
    for path in built[:MAX_BUILT] if name in JUDGED else ():
        heard.finding(built={"path": path})
    [row] = result["cells"]
    ran = Ran(result, list(heard.graphs.values()), built)
    return _proved(ran, cell, row["proof"]) if prove and row["proof"] else ran


def _proved(ran: Ran, cell: Cell, proof: Proof) -> Ran:
    """A run that was a proof, told as lookups: what was found is a hit."""
    found, of = proof["found"], proof["of"]
    ran.proof = proof
    ran.result = {**ran.result, "graphs": of, "hits": found, "misses": of - found}
    outcome = "hit" if found == of else "miss"
    ran.graphs = [{"id": cell.source, "name": cell.name[:_MAX_NAME], "outcome": outcome}]
    if why := proof.get("why"):
        ran.graphs[0]["why"] = {"code": "said", "text": why}
    return ran


def objects(folder: str) -> dict[str, tuple[int, int, int]]:
    """The shared objects below a folder, by their path in it: inode, size, time of last change."""
    return files(folder, ".so")


def files(folder: str, ending: str = "") -> dict[str, tuple[int, int, int]]:
    """The files below a folder, as ``objects``, less locks."""
    found = {}
    for above, _, names in os.walk(folder):
        for name in names:
            if name.endswith(ending) and not name.endswith(".lock"):
                path = os.path.join(above, name)
                try:
                    status = os.lstat(path)
                except OSError:
                    continue
                mark = (status.st_ino, status.st_size, status.st_mtime_ns)
                found[os.path.relpath(path, folder)] = mark
    return found
