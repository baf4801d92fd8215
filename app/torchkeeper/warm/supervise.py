"""Runs a compile job from the engine: starts it, relays what it says, ends it, cleans up."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from torchkeeper.artifacts.entry import COUNTED_APART, Problem, tally
from torchkeeper.artifacts.layout import HEADERS
from torchkeeper.artifacts.report import Report
from torchkeeper.settings.applied import applied
from torchkeeper.settings.known import BY_NAME
from torchkeeper.stores import places
from torchkeeper.stores.folders import folder
from torchkeeper.warm import processes, sweep
from torchkeeper.warm.crew import Crew, Means
from torchkeeper.warm.devices import check_place
from torchkeeper.warm.following import launch, limit_of, make_writable, tell_swept
from torchkeeper.warm.options import MOST_JOBS, MOST_THREADS, PRECOMPILE
from torchkeeper.warm.recipes import expanding, recipe
from torchkeeper.warm.recipes.cells import Cell
from torchkeeper.warm.told import summed, told_of
from torchkeeper.warm.workers import accelerator

#: What decides over OMP_NUM_THREADS (at::init_num_threads takes MKL's number where it has MKL).
_OTHER_THREADS = ("MKL_NUM_THREADS", "MKL_DOMAIN_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_DYNAMIC")
#: Processes, and threads, that one of PyTorch compiles with (torch/_inductor/config.py).
_WORKERS = "TORCHINDUCTOR_COMPILE_THREADS"
#: What decides where it writes, which is not a recipe's to say.
_PLACES = frozenset({
    "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TRITON_HOME", "TMPDIR", "TEMP", "TMP",
})  # fmt: skip
#: Bytes that a process which compiles takes, with torch and a C++ compiler, about.
_NEEDED = 3 << 29
#: Cells of one finding.
_CELLS = 200


@dataclass(frozen=True)
class Job:
    """What to compile, checked. device, threads, portable: where a cell says nothing of them, and
    it has them already; jobs: processes at a time; each: as ``crew.Means``. settings: the described
    settings that the processes are to have, and no others of them; None for the engine's own.
    """

    place: str
    cells: tuple[Cell, ...]
    device: str | None
    limit_s: float | None
    threads: int | None = None
    portable: bool = False
    jobs: int = 1
    each: bool = False
    settings: Mapping[str, str] | None = None


def warm(params: dict[str, Any], report: Report) -> dict[str, Any]:
    """Compile recipes into a folder, in processes of their own; returns what the wire promises.

    With ``settings`` in the request, texts by variable as a profile has them, the processes have
    exactly these of the described settings (``settings.applied``); but the folder is always
    ``into``, and what a recipe sets in its ``environment`` counts for its cells.

    Raises Problem for what holds for all cells, or of a single one where the request has no
    ``each``; passes Cancelled on. In any case no process of the job is left, and
    nothing half-written is.
    """
    job = checked(params)
    for problem in filter(None, (unbuildable(cell, job.place) for cell in job.cells)):
        raise problem  # before anything starts: what is not built for the CPU can be had alone
    made = make_writable(job.place)
    headers = _headers(job)
    roots = [root for root in (job.place, headers) if root == job.place or os.path.isdir(root)]
    for root in roots:
        tell_swept(report, sweep.mend(root))
    before = _entries(job.place, report)
    since = time.time_ns()
    marks = {root: sweep.snapshot(root) for root in (job.place, headers)}

    def gone(pids: Collection[int], others: bool) -> None:
        for root, seen in marks.items():
            tell_swept(report, sweep.sweep(root, seen, pids, others))

    home = tempfile.mkdtemp(prefix="torchkeeper-warm-")
    result = None
    try:
        after = {"roots": list(marks), "since": since, "scratch": home}
        env = environment(job.place, settings=job.settings)
        result = run(job, env, home, report, gone, after=after)
    finally:
        shutil.rmtree(home, ignore_errors=True)
        if made and result is None:
            with contextlib.suppress(OSError):
                os.rmdir(job.place)  # nothing came of it
    added = Counter(kind for kind, _ in _entries(job.place, report) - before)
    counts = tally(added.elements())
    kinds = {kind: number for kind, number in added.items() if kind not in COUNTED_APART}
    return {**result, "added": counts.pop("entries"), "kinds": kinds, **counts}


def run(
    job: Job,
    env: dict[str, str],
    home: str,
    report: Report,
    gone: Callable[[Collection[int], bool], None] = lambda _, __: None,
    **more: Any,
) -> dict[str, Any]:
    """Carry a job out in processes of its own, in the folder ``home``; returns what became of its
    cells, and sums.

    env: of the processes, but for what a cell asks for. more: of their request (``load``, ``save``,
    ``prove``, ``after``). gone: hears the ids of processes that ended before their time, and
    whether others of the job are at work.
    Raises Problem, or passes Cancelled on; in no case is a process of the job left.
    """
    most = _at_a_time(job, report)

    def start(cell: Cell, beside: int) -> subprocess.Popen[bytes]:
        request = {"device": job.device, "threads": cell.threads, **more}
        return _start(request, home, of_cell(env, cell, beside))

    rows = [told_of(cell) for cell in job.cells]
    for begin in range(0, len(rows), _CELLS):
        report.finding(cells=rows[begin : begin + _CELLS])
    crew = Crew(job.cells, Means(most, start, gone, "save" in more, job.each), report)
    crew.work()
    if crew.failed:
        gone((), False)
    return summed(list(crew.rows.values()), crew.torch)


def _at_a_time(job: Job, report: Report) -> int:
    """How many processes there are to be, and a finding where that is fewer than asked for."""
    wanted = min(job.jobs, len(job.cells))
    cores, free = processes.cores(), processes.available()
    room = wanted if free is None else max(free // _NEEDED, 1)
    given = min(wanted, cores, room)
    if given < wanted:
        why = "cores" if given == cores else "memory"
        report.finding(jobs={"asked": job.jobs, "given": given, "why": why})
    return given


def checked(params: dict[str, Any]) -> Job:
    """The job in a request.

    Raises Problem("bad-request", field=…), Problem("threads-out-of-range", threads=…, most=…) and
    as ``recipe.of_request`` and ``expanding.cells_of``.
    """
    place, device = params.get("into"), params.get("device")
    if not isinstance(place, str) or not place or "\0" in place:
        raise Problem("bad-request", field="into")
    if device is not None and (not isinstance(device, str) or len(device) > 40):
        raise Problem("bad-request", field="device")
    limit = limit_of(params)
    threads, portable = params.get("threads"), params.get("portable") or False
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int)):
        raise Problem("bad-request", field="threads")
    if not isinstance(portable, bool):
        raise Problem("bad-request", field="portable")
    if not isinstance(each := params.get("each", False), bool):
        raise Problem("bad-request", field="each")
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise Problem("threads-out-of-range", threads=threads, most=MOST_THREADS)
    jobs = params.get("jobs", 1)
    if isinstance(jobs, bool) or not isinstance(jobs, int) or not 1 <= jobs <= MOST_JOBS:
        raise Problem("bad-request", field="jobs")
    settings = _settings(params.get("settings"))
    recipes = recipe.of_request(params.get("recipes"))
    cells = expanding.cells_of(recipes, device, threads, portable, limit)
    if (only := params.get("only")) is not None:
        if not isinstance(only, list) or not only or not all(type(one) is int for one in only):
            raise Problem("bad-request", field="only")
        cells = [cell for cell in cells if cell.index in set(only)]
        if len(cells) != len(set(only)):
            raise Problem("bad-request", field="only")
    place = os.path.abspath(place)
    return Job(place, tuple(cells), device, limit, threads, portable, jobs, each, settings)


def _headers(job: Job) -> str:
    """Where the processes of a job have the headers that PyTorch precompiles."""
    folder = places.default_folder()
    if job.settings and (temporary := job.settings.get("TMPDIR")):
        folder = os.path.join(os.path.abspath(temporary), os.path.basename(folder))
    return os.path.join(folder, HEADERS)


def _settings(told: object) -> dict[str, str] | None:
    """The settings of a request. Raises Problem("bad-request", field="settings")."""
    if told is None:
        return None
    if not isinstance(told, dict) or not all(
        name in BY_NAME and isinstance(text, str) and "\0" not in text
        for name, text in told.items()
    ):
        raise Problem("bad-request", field="settings")
    return dict(told)


def unbuildable(cell: Cell, place: str) -> Problem | None:
    """Why PyTorch cannot build what a cell compiles into a place, where its path tells."""
    if _for_cpu(cell):
        try:
            check_place(place)
        except Problem as problem:
            return problem
    return None


def uncompilable(cell: Cell) -> Problem | None:
    """That no C++ compiler is found for a cell, as ``devices.check_compiler`` finds it with torch.
    A script may name one of its own.
    """
    if cell.source == "script" or not _for_cpu(cell):
        return None
    env = {**os.environ, **cell.environment}
    name = env.get("CXX", "clang++" if sys.platform == "darwin" else "g++")
    if "TORCH_INDUCTOR_INSTALL_GXX" in env or shutil.which(name, path=env.get("PATH")):
        return None
    return Problem("compiler-missing", cxx=env.get("CXX"))


def _for_cpu(cell: Cell) -> bool:
    """Whether PyTorch builds for the CPU what a cell compiles, as far as one can tell."""
    if cell.source == "triton":
        return False
    return cell.device == "cpu" or (cell.device is None and not accelerator())


def _entries(place: str, report: Report) -> set[tuple[str, str]]:
    return {item.identity for item in folder.survey(place, report)}


def environment(
    place: str,
    threads: int | None = None,
    portable: bool = False,
    settings: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The engine's environment, made to fill ``place``; of the described settings with these only,
    unless that is None.

    Nothing else is set unless it is asked for: PyTorch records every TORCH* variable in its
    entries, and threads, affinity and OMP_NUM_THREADS are part of its keys, as is whether headers
    are precompiled.
    """
    env = {k: v for k, v in os.environ.items() if not k.startswith("TORCHKEEPER_")}
    if settings is not None:
        env = applied(settings, env)
    return filling(set_for(env, threads, portable), place)


def set_for(env: dict[str, str], threads: int | None, portable: bool) -> dict[str, str]:
    """An environment for so many threads, and without precompiled headers."""
    if threads is not None:
        env = {k: v for k, v in env.items() if k not in _OTHER_THREADS}
        # Otherwise MKL takes no more than there are cores.
        env |= {"OMP_NUM_THREADS": str(threads), "MKL_DYNAMIC": "FALSE"}
    if portable:
        env[PRECOMPILE] = "0"
    return env


def filling(env: dict[str, str], place: str) -> dict[str, str]:
    """An environment, changed so that what is compiled in it goes to ``place``, kernels too."""
    env["TORCHINDUCTOR_CACHE_DIR"] = place
    triton = env.get("TRITON_CACHE_DIR")
    if triton is not None and not os.path.abspath(triton).startswith(place.rstrip("/") + "/"):
        # Without it the kernels go to <place>/triton/<device> (triton_cache_dir in
        # torch/_inductor/runtime/cache_dir_utils.py).
        del env["TRITON_CACHE_DIR"]
    return env


def of_cell(env: Mapping[str, str], cell: Cell, jobs: int = 1) -> dict[str, str]:
    """An environment that fills a place, changed as a cell asks; where it leads to, stays.

    jobs: at a time. They share the cores by the processes that each compiles with, which is the
    one thing that is in no key.
    """
    kept = {name: value for name, value in cell.environment.items() if name not in _PLACES}
    made = {**set_for(dict(env), cell.threads, cell.portable), **kept}
    if jobs > 1:
        made.setdefault(_WORKERS, str(max(processes.cores() // jobs, 1)))
    return made


def _start(request: dict[str, Any], home: str, env: dict[str, str]) -> subprocess.Popen[bytes]:
    return launch("job", request, env, home)
