"""Verifies a cache folder with stock PyTorch as the judge, by its counters and by which files
appear.

Each run is a fresh process with a temporary folder of its own, which is empty, and a cache folder
of its own: an empty one, or a copy of nothing but the target.

| run | has |
|---|---|
| cold | nothing |
| mega | what torch.compiler.save_cache_artifacts() returned at the end of the cold run |
| warm | a copy of the target |
| prepared | a copy of the target, and the header that PyTorch precompiles, built beforehand |
"""

from __future__ import annotations

import errno
import os
import tempfile
from dataclasses import dataclass, field
from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.duplicate import duplicate, room
from torchkeeper.stores.folder import Folder
from torchkeeper.stores.items import Item
from torchkeeper.stores.names import is_server
from torchkeeper.stores.space import space
from torchkeeper.stores.temporary import remove
from torchkeeper.warm import prepare, supervise
from torchkeeper.warm.caches import Used, alone, used
from torchkeeper.warm.graphs import DECIDED
from torchkeeper.warm.options import JUDGED, RUNS

#: Bytes that the temporary folder of a run takes: two precompiled headers of 149 MB, what is
#: built, and what compilers need meanwhile.
_WORK = 400 << 20
#: Bytes below which a disk is taken for full when something failed.
_NOTHING = 1 << 20
#: What whoever found the disk full says; a compiler then takes away what it had written.
_FULL = os.strerror(errno.ENOSPC)
#: Graphs and objects that the result names.
_MAX_GRAPHS = 500
_MAX_NAME = 100
_MAX_BUILT = 50
#: What ends a process that runs machine code which is not for its CPU, or damaged.
_CRASHES = ("SIGILL", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGABRT", "SIGTRAP")

Answer = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """What to verify, checked. runs: in the order of RUNS."""

    job: supervise.Job
    runs: tuple[str, ...]


@dataclass
class Ran:
    """What one run came to: the job's result, its graphs, and the objects that it built, as paths
    in its cache folder.
    """

    result: Answer
    graphs: list[Answer] = field(default_factory=list)
    built: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether everything hit, and nothing was built."""
        hits, misses = self.result["hits"], self.result["misses"]
        return hits > 0 and not misses and not self.result["autograd"]["misses"] and not self.built

    def to_json(self) -> Answer:
        """Its counts and seconds."""
        names = ("graphs", "hits", "misses", "bypasses", "autograd", "seconds")
        return {**{name: self.result[name] for name in names}, "rebuilt": len(self.built)}


class _Heard(Report):
    """Passes everything on, and keeps the graphs, each when it is known how its lookup ended."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.graphs: dict[str, Answer] = {}

    def progress(self, done: int, total: int | None, unit: str) -> None:
        self._report.progress(done, total, unit)

    def finding(self, **what: Any) -> None:
        if "graph" in what:
            graph = what["graph"]
            known = self.graphs.get(graph["id"])
            if graph["outcome"] not in DECIDED or (known and known["outcome"] == graph["outcome"]):
                return
            if known or len(self.graphs) < _MAX_GRAPHS:
                self.graphs[graph["id"]] = {
                    name: graph[name][:_MAX_NAME] for name in ("id", "name", "outcome")
                }
        self._report.finding(**what)

    def check(self) -> None:
        self._report.check()


def verify(params: Answer, report: Report) -> Answer:
    """Run recipes on a copy of nothing but the folder ``place``; findings ``run={"name"}``, those
    of ``warm``, and ``built={"path"}``. Where the only cache is one in the folder, as in that of a
    rank of vLLM's, the program is led to it.

    Returns ``{graphs, hits, misses, bypasses, autograd: {hits, misses}, rebuilt, built, rows,
    seconds, ratios, runs, good, device, threads, torch}``: the counts are those of the last run
    with the target; rows are its graphs, ``{id, name, outcome}``; seconds of each run, and how
    many times as long as the target they took (``warm_cold`` and so on); runs has all counts of
    each. good: with the target everything hit, at least one graph, and no object was built.

    Raises Problem as ``supervise.run``, ``caches.used`` and Folder do, and "verify-server",
    "verify-no-room", "verify-crashed"; passes Cancelled on. Neither a process nor a file is left.
    """
    asked = checked(params)
    source = Folder(asked.job.place)
    items = source.items(report)
    led = used(source.place, items)
    try:
        scratch = tempfile.mkdtemp(prefix="torchkeeper-verify-", dir=params.get("scratch"))
    except OSError as e:
        above = params.get("scratch") or tempfile.gettempdir()
        raise Problem("place-unwritable", place=above, why=e.strerror or str(e)) from e
    try:
        _check_room(scratch, room(items))
        return _told(_all_runs(asked, source, items, led, scratch, report))
    finally:
        remove(scratch)


def checked(params: Answer) -> Asked:
    """What a request asks for. Raises Problem("bad-request" | "recipe-unknown" | "verify-server").

    Without ``runs`` all are asked for; the mega run takes the cold one along, which it needs.
    """
    place = params.get("place")
    if isinstance(place, str) and is_server(place):
        raise Problem("verify-server", place=place)
    job = supervise.checked({**params, "into": place})
    runs = params.get("runs") or RUNS
    known = isinstance(runs, (list, tuple)) and set(runs) <= set(RUNS)
    if not known or not set(runs) & set(JUDGED):
        raise Problem("bad-request", field="runs")
    scratch = params.get("scratch")
    if scratch is not None and (not isinstance(scratch, str) or not os.path.isabs(scratch)):
        raise Problem("bad-request", field="scratch")
    runs = {*runs, "cold"} if "mega" in runs else set(runs)
    return Asked(job, tuple(name for name in RUNS if name in runs))


def _check_room(scratch: str, copy: int) -> None:
    free = space(scratch).free
    if free is not None and free < copy + _WORK:
        raise _no_room(scratch, copy, free)


def _no_room(scratch: str, copy: int, free: int) -> Problem:
    needed, above = (copy + _WORK) // 10**6, os.path.dirname(scratch)
    return Problem("verify-no-room", place=above, needed_mb=needed, free_mb=free // 10**6)


def _all_runs(
    asked: Asked, source: Folder, items: list[Item], led: Used, scratch: str, report: Report
) -> dict[str, Ran]:
    mega = os.path.join(scratch, "mega-cache")
    done: dict[str, Ran] = {}
    for name in asked.runs:
        if name == "prepared" and "warm" in done and not _uses_header(asked.job, done["warm"]):
            continue
        report.finding(run={"name": name})
        folder = os.path.join(scratch, name)
        cache = os.path.join(folder, "cache")
        more = {}
        try:
            os.makedirs(os.path.join(folder, "tmp"))
            if name in JUDGED:
                duplicate(source, items, cache, report)
                if name == "prepared":
                    _prepare(os.path.join(folder, "tmp"), asked.job.limit_s, report)
            elif name == "cold" and "mega" in asked.runs:
                more = {"save": mega}
            elif name == "mega":
                more = {"load": mega}
            where = led if name in JUDGED else Used()
            done[name] = _run(asked.job, folder, where, more, name, report)
        except (Problem, OSError) as e:
            free = space(scratch).free
            said = str(e.params) if isinstance(e, Problem) else str(e)
            if _FULL in said or (free is not None and free < _NOTHING):
                raise _no_room(scratch, room(items), free or 0) from e
            if isinstance(e, OSError):
                why = e.strerror or str(e)
                raise Problem("place-unwritable", place=scratch, why=why) from e
            raise
        finally:
            remove(folder)
    return done


def _uses_header(job: supervise.Job, ran: Ran) -> bool:
    """Whether there is a header to prepare for such a run."""
    return not job.portable and ran.result["device"] == "cpu"


def _prepare(temporary: str, limit_s: float | None, report: Report) -> None:
    """Have the header built where the run will look. Where none is used, there is none to build."""
    try:
        prepare.prepare({"into": temporary, "limit_s": limit_s}, report)
    except Problem as problem:
        if problem.code not in ("headers-off", "headers-unknown"):
            raise


def _run(
    job: supervise.Job, folder: str, led: Used, more: Answer, name: str, report: Report
) -> Ran:
    cache, temporary = os.path.join(folder, "cache"), os.path.join(folder, "tmp")
    inductor = os.path.normpath(os.path.join(cache, led.inductor))
    env = alone(supervise.environment(inductor, job.threads, job.portable), temporary)
    if led.triton is not None:
        env["TRITON_CACHE_DIR"] = os.path.normpath(os.path.join(cache, led.triton))
    heard = _Heard(report)
    before = objects(cache)
    try:
        result = supervise.run(job, env, folder, heard, **more)
    except Problem as problem:
        signal = problem.params.get("signal")
        if name in JUDGED and problem.code == "warm-killed" and signal in _CRASHES:
            about = {"place": job.place, "signal": signal, "step": problem.params.get("step")}
            raise Problem("verify-crashed", **about) from problem
        raise
    after = objects(cache)
    built = sorted(path for path in after if after[path] != before.get(path))
    for path in built[:_MAX_BUILT] if name in JUDGED else ():
        report.finding(built={"path": path})
    return Ran(result, list(heard.graphs.values()), built)


def objects(folder: str) -> dict[str, tuple[int, int, int]]:
    """The shared objects below a folder, by their path in it: inode, size, time of last change."""
    found = {}
    for above, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".so"):
                path = os.path.join(above, name)
                try:
                    status = os.lstat(path)
                except OSError:
                    continue
                mark = (status.st_ino, status.st_size, status.st_mtime_ns)
                found[os.path.relpath(path, folder)] = mark
    return found


def _told(done: dict[str, Ran]) -> Answer:
    judged = {name: done[name] for name in JUDGED if name in done}
    last = list(judged.values())[-1]
    return {
        **{name: last.result[name] for name in ("graphs", "hits", "misses", "bypasses")},
        "autograd": last.result["autograd"],
        "rebuilt": len(last.built),
        "built": last.built[:_MAX_BUILT],
        "rows": last.graphs,
        "seconds": {name: ran.result["seconds"] for name, ran in done.items()},
        "ratios": {
            f"{name}_{other}": done[other].result["seconds"] / max(ran.result["seconds"], 1e-9)
            for name, ran in judged.items()
            for other in ("cold", "mega")
            if other in done
        },
        "runs": {name: ran.to_json() for name, ran in done.items()},
        "good": all(ran.good for ran in judged.values()),
        **{name: last.result[name] for name in ("device", "threads", "torch")},
    }
