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
from typing import TypedDict

from torchkeeper.artifacts.entry import COUNTED_APART, Problem, tally
from torchkeeper.artifacts.layout import HEADERS
from torchkeeper.artifacts.report import Report
from torchkeeper.settings.known import BY_NAME
from torchkeeper.settings.masks import applied
from torchkeeper.stores import places
from torchkeeper.stores.folders import folder
from torchkeeper.warm import following, processes, sweep
from torchkeeper.warm.header import check_place
from torchkeeper.warm.options import MOST_JOBS, MOST_THREADS, PRECOMPILE
from torchkeeper.warm.processes import After
from torchkeeper.warm.recipes import recipe
from torchkeeper.warm.recipes.recipe import Variant
from torchkeeper.warm.shapes import Compiling, Summed, Warmed, Warming
from torchkeeper.warm.workers import Crew, Means, accelerator

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
#: Variants of one finding.
_VARIANTS = 200


@dataclass(frozen=True)
class Job:
    """What to compile, checked. device, threads, portable: where a variant says nothing of them,
    and it has them already; jobs: processes at a time; each: as ``workers.Means``. settings: all
    the described settings that the processes are to have, None for the engine's own.
    """

    place: str
    variants: tuple[Variant, ...]
    device: str | None
    limit_s: float | None
    threads: int | None = None
    portable: bool = False
    jobs: int = 1
    each: bool = False
    settings: Mapping[str, str] | None = None


class Request(TypedDict, total=False):
    """What a process is asked for (``job``) that is then sent one variant after another. device:
    for variants that name none. threads: what its environment has set. prove: have a source that
    has a proof of its own give that instead of compiling. load: a file with a mega-cache to be
    loaded
    before, save: one that it is to be written to.
    """

    device: str | None
    threads: int | None
    prove: bool
    load: str
    save: str
    after: After


def warm(params: Warming, report: Report) -> Warmed:
    """Compile recipes into a folder, in processes of their own.

    With ``settings`` (``settings.masks``) the folder is still ``into``, and what a recipe sets in
    its ``environment`` counts for its variants.

    Raises Problem for what holds for all variants, or of a single one where the request has no
    ``each``; passes Cancelled on. No process of the job is left, and nothing half-written is.
    """
    job = checked(params, params["into"])
    for problem in filter(None, (unbuildable(variant, job.place) for variant in job.variants)):
        raise problem  # before anything starts: what is not built for the CPU can be had alone
    made = following.make_writable(job.place)
    # Where the processes have the headers that PyTorch precompiles.
    folder_of_user = places.default_folder()
    if job.settings and (temporary := job.settings.get("TMPDIR")):
        folder_of_user = os.path.join(os.path.abspath(temporary), os.path.basename(folder_of_user))
    headers = os.path.join(folder_of_user, HEADERS)
    roots = [root for root in (job.place, headers) if root == job.place or os.path.isdir(root)]
    for root in roots:
        following.tell_swept(report, sweep.mend(root))
    before = _entries(job.place, report)
    since = time.time_ns()
    marks = {root: sweep.snapshot(root) for root in (job.place, headers)}

    def gone(pids: Collection[int], others: bool) -> None:
        for root, seen in marks.items():
            following.tell_swept(report, sweep.sweep(root, seen, pids, others))

    home = tempfile.mkdtemp(prefix="torchkeeper-warm-")
    result = None
    try:
        after: After = {"roots": list(marks), "since": since, "scratch": home}
        env = environment(job.place, settings=job.settings)
        if trace := params.get("trace"):
            os.makedirs(trace, exist_ok=True)
            env["TORCH_TRACE"] = trace
        result = run(job, env, home, report, gone, {"after": after})
    finally:
        shutil.rmtree(home, ignore_errors=True)
        if made and result is None:
            with contextlib.suppress(OSError):
                os.rmdir(job.place)  # nothing came of it
    added = Counter(kind for kind, _ in _entries(job.place, report) - before)
    counts = tally(added.elements())
    return {
        **result,
        "added": counts["entries"],
        "kinds": {kind: number for kind, number in added.items() if kind not in COUNTED_APART},
        "locks": counts["locks"],
        "headers": counts["headers"],
        "unknown": counts["unknown"],
    }


def run(
    job: Job,
    env: dict[str, str],
    home: str,
    report: Report,
    gone: Callable[[Collection[int], bool], None] = lambda _, __: None,
    more: Request | None = None,
) -> Summed:
    """Carry a job out in processes of its own, in the folder ``home``; returns what became of its
    variants, and sums. env: of the processes, but for what a variant asks for. more: of their
    request, but for device and threads. gone: hears the ids of processes that ended before their
    time, and whether others of the job are at work. Raises Problem, passes Cancelled on; no process
    is left.
    """
    most, asked = _at_a_time(job, report), more or {}

    def start(variant: Variant, beside: int) -> subprocess.Popen[bytes]:
        request: Request = {**asked, "device": job.device, "threads": variant.threads}
        return following.launch("warm.job", request, of_variant(env, variant, beside), home)

    rows = [following.told_of(variant) for variant in job.variants]
    for begin in range(0, len(rows), _VARIANTS):
        report.finding(variants=rows[begin : begin + _VARIANTS])
    crew = Crew(job.variants, Means(most, start, gone, "save" in asked, job.each), report)
    crew.work()
    if any(row["state"] == "failed" for row in crew.rows.values()):
        gone((), False)
    return following.summed(crew.rows.values(), crew.torch)


def _at_a_time(job: Job, report: Report) -> int:
    """How many processes there are to be, and a finding where that is fewer than asked for."""
    wanted = min(job.jobs, len(job.variants))
    cores, free = processes.cores(), processes.available()
    room = wanted if free is None else max(free // _NEEDED, 1)
    given = min(wanted, cores, room)
    if given < wanted:
        why = "cores" if given == cores else "memory"
        report.finding(jobs={"asked": job.jobs, "given": given, "why": why})
    return given


def checked(params: Compiling, place: str) -> Job:
    """The job in a request for a place. Raises Problem("bad-request" | "threads-out-of-range"), and
    as ``recipe.of_request`` and ``recipe.variants_of``.
    """
    if not place or "\0" in place:
        raise Problem("bad-request", field="into")
    device = params.get("device")
    if device is not None and len(device) > 40:
        raise Problem("bad-request", field="device")
    following.check_limit(limit := params.get("limit_s"))
    threads, portable = params.get("threads"), params.get("portable", False)
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise Problem("threads-out-of-range", threads=threads, most=MOST_THREADS)
    jobs = params.get("jobs", 1)
    if not 1 <= jobs <= MOST_JOBS:
        raise Problem("bad-request", field="jobs")
    settings = params.get("settings")
    if settings and not all(name in BY_NAME and "\0" not in x for name, x in settings.items()):
        raise Problem("bad-request", field="settings")
    recipes = recipe.of_request(params.get("recipes"))
    variants = recipe.variants_of(recipes, device, threads, portable, limit)
    if (only := params.get("only")) is not None:
        variants = [variant for variant in variants if variant.index in set(only)]
        if not only or len(variants) != len(set(only)):
            raise Problem("bad-request", field="only")
    place = os.path.abspath(place)
    each = params.get("each", False)
    return Job(place, tuple(variants), device, limit, threads, portable, jobs, each, settings)


def unbuildable(variant: Variant, place: str) -> Problem | None:
    """Why PyTorch cannot build what a variant compiles into a place, where its path tells."""
    if _for_cpu(variant):
        try:
            check_place(place)
        except Problem as problem:
            return problem
    return None


def uncompilable(variant: Variant) -> Problem | None:
    """That ``header.check_compiler`` would find none for a variant; a script may name its own."""
    if variant.source == "script" or not _for_cpu(variant):
        return None
    env = {**os.environ, **variant.environment}
    name = env.get("CXX", "clang++" if sys.platform == "darwin" else "g++")
    if "TORCH_INDUCTOR_INSTALL_GXX" in env or shutil.which(name, path=env.get("PATH")):
        return None
    return Problem("compiler-missing", cxx=env.get("CXX"))


def _for_cpu(variant: Variant) -> bool:
    """Whether PyTorch builds for the CPU what a variant compiles, as far as one can tell."""
    if variant.source == "triton":
        return False
    return variant.device == "cpu" or (variant.device is None and not accelerator())


def _entries(place: str, report: Report) -> set[tuple[str, str]]:
    return {item.identity for item in folder.Folder(place).items(report)}


def environment(
    place: str,
    threads: int | None = None,
    portable: bool = False,
    settings: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The engine's environment, made to fill ``place``; of the described settings with these only,
    unless that is None. Nothing else is set unless it is asked for: PyTorch records every TORCH*
    variable in its entries, and threads, affinity and OMP_NUM_THREADS are part of its keys, as is
    whether headers are precompiled.
    """
    env = {k: v for k, v in os.environ.items() if not k.startswith("TORCHKEEPER_")}
    env = env if settings is None else applied(settings, env)
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
        # Without it kernels go to <place>/triton/<device> (_inductor/runtime/cache_dir_utils.py).
        del env["TRITON_CACHE_DIR"]
    return env


def of_variant(env: Mapping[str, str], variant: Variant, jobs: int = 1) -> dict[str, str]:
    """An environment that fills a place, changed as a variant asks; where it leads to, stays. jobs:
    at a time. They share the cores by the processes each compiles with, which alone is in no key.
    """
    kept = {name: value for name, value in variant.environment.items() if name not in _PLACES}
    made = {**set_for(dict(env), variant.threads, variant.portable), **kept}
    if jobs > 1:
        made.setdefault(_WORKERS, str(max(processes.cores() // jobs, 1)))
    return made
