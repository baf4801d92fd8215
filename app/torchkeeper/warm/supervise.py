"""Runs a compile job from the engine: starts it, relays what it says, ends it, cleans up."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import HEADERS
from torchkeeper.artifacts.report import Report
from torchkeeper.stores import folder, places
from torchkeeper.warm import phases, recipes, sweep
from torchkeeper.warm.following import (
    LOG_LINE,
    Codes,
    State,
    carry_out,
    finite,
    launch,
    limit_of,
    make_writable,
    tell_swept,
)
from torchkeeper.warm.options import MOST_THREADS, PRECOMPILE

_CODES = Codes("warm-failed", "warm-killed", "warm-timeout")
#: Kinds of files that no program can hit on.
_SCRATCH = ("lock", "header", "unknown")
#: What decides over OMP_NUM_THREADS (at::init_num_threads takes MKL's number where it has MKL).
_OTHER_THREADS = ("MKL_NUM_THREADS", "MKL_DOMAIN_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_DYNAMIC")


@dataclass(frozen=True)
class Job:
    """What to compile, checked."""

    place: str
    recipes: tuple[str, ...]
    device: str | None
    limit_s: float | None
    threads: int | None = None
    portable: bool = False


def warm(params: dict[str, Any], report: Report) -> dict[str, Any]:
    """Compile recipes into a folder, in a process of its own; returns what the wire promises.

    Raises Problem, or passes Cancelled on; in both cases no process of the job is left, and
    nothing half-written is.
    """
    job = checked(params)
    made = make_writable(job.place)
    headers = os.path.join(places.default_folder(), HEADERS)
    roots = [root for root in (job.place, headers) if root == job.place or os.path.isdir(root)]
    for root in roots:
        tell_swept(report, sweep.mend(root))
    before = _entries(job.place, report)
    marks = {root: sweep.snapshot(root) for root in (job.place, headers)}
    home = tempfile.mkdtemp(prefix="torchkeeper-warm-")
    result = None
    try:
        env = environment(job.place, job.threads, job.portable)
        result = run(job, env, home, report, lambda pids: _sweep(marks, pids, report))
    finally:
        shutil.rmtree(home, ignore_errors=True)
        if made and result is None:
            with contextlib.suppress(OSError):
                os.rmdir(job.place)  # nothing came of it
    after = _entries(job.place, report)
    return {**result, "added": len(after - before)}


def run(
    job: Job,
    env: dict[str, str],
    home: str,
    report: Report,
    failed: Callable[[Collection[int]], None] = lambda _: None,
    **more: Any,
) -> dict[str, Any]:
    """Carry a job out in a process of its own, in the folder ``home``; returns what it told.

    more: of the job's request (``load``, ``save``). failed: hears the ids of all processes, which
    are gone, before anything is raised.
    Raises Problem, or passes Cancelled on; in no case is a process of the job left.
    """
    state = State()
    request = {"recipes": job.recipes, "device": job.device, "threads": job.threads, **more}

    def tell(what: str, value: Any) -> None:
        _tell(what, value, state, report)

    process = _start(request, home, env)
    return carry_out(process, job.limit_s, state, report, tell, _CODES, failed)


def checked(params: dict[str, Any]) -> Job:
    """The job in a request.

    Raises Problem("bad-request", field=…), Problem("recipe-unknown", recipe=…) and
    Problem("threads-out-of-range", threads=…, most=…).
    """
    place, names = params.get("into"), params.get("recipes") or ["builtin"]
    device = params.get("device")
    if not isinstance(place, str) or not place or "\0" in place:
        raise Problem("bad-request", field="into")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Problem("bad-request", field="recipes")
    if device is not None and (not isinstance(device, str) or len(device) > 40):
        raise Problem("bad-request", field="device")
    limit = limit_of(params)
    threads, portable = params.get("threads"), params.get("portable") or False
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int)):
        raise Problem("bad-request", field="threads")
    if not isinstance(portable, bool):
        raise Problem("bad-request", field="portable")
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise Problem("threads-out-of-range", threads=threads, most=MOST_THREADS)
    recipes.check(names)
    return Job(os.path.abspath(place), tuple(names), device, limit, threads, portable)


def _entries(place: str, report: Report) -> set[tuple[str, str]]:
    return {item.identity for item in folder.survey(place, report) if item.kind not in _SCRATCH}


def environment(place: str, threads: int | None = None, portable: bool = False) -> dict[str, str]:
    """The engine's environment, made to fill ``place``.

    Nothing else is set unless it is asked for: PyTorch records every TORCH* variable in its
    entries, and threads, affinity and OMP_NUM_THREADS are part of its keys, as is whether headers
    are precompiled.
    """
    env = {k: v for k, v in os.environ.items() if not k.startswith("TORCHKEEPER_")}
    if threads is not None:
        env = {k: v for k, v in env.items() if k not in _OTHER_THREADS}
        # Otherwise MKL takes no more than there are cores.
        env |= {"OMP_NUM_THREADS": str(threads), "MKL_DYNAMIC": "FALSE"}
    if portable:
        env[PRECOMPILE] = "0"
    return filling(env, place)


def filling(env: dict[str, str], place: str) -> dict[str, str]:
    """An environment, changed so that what is compiled in it goes to ``place``, kernels too."""
    env["TORCHINDUCTOR_CACHE_DIR"] = place
    triton = env.get("TRITON_CACHE_DIR")
    if triton is not None and not os.path.abspath(triton).startswith(place.rstrip("/") + "/"):
        # Without it the kernels go to <place>/triton/<device> (triton_cache_dir in
        # torch/_inductor/runtime/cache_dir_utils.py).
        del env["TRITON_CACHE_DIR"]
    return env


def _start(request: dict[str, Any], home: str, env: dict[str, str]) -> subprocess.Popen[bytes]:
    return launch("job", request, env, home)


def _tell(what: str, value: Any, state: State, report: Report) -> None:
    """Take what the job tells. Raises whatever it may where that is not as promised."""
    if what == "progress":
        report.progress(int(value[0]), int(value[1]), "steps")
    elif what == "step":
        state.step = str(value["name"])[:LOG_LINE]
        report.finding(step={"index": int(value["index"]), "name": state.step})
    elif what == "graph":
        seconds = value["seconds"]
        report.finding(
            graph={
                **{key: str(value[key])[:LOG_LINE] for key in ("id", "name", "outcome")},
                "seconds": None if seconds is None else finite(seconds),
                "phases": phases.checked(value.get("phases") or []),
            }
        )
    elif what == "device":
        report.finding(device={key: str(value[key])[:LOG_LINE] for key in ("type", "name", "why")})
    elif what == "result":
        counts = ("graphs", "hits", "misses", "bypasses")
        state.result = {
            **{key: int(value[key]) for key in counts},
            "seconds": finite(value["seconds"]),
            "autograd": {key: int(value["autograd"][key]) for key in ("hits", "misses")},
            "device": str(value["device"])[:LOG_LINE],
            "threads": int(value["threads"]),
            "torch": str(value["torch"])[:LOG_LINE],
        }


def _sweep(marks: dict[str, dict[str, sweep.Mark]], pids: Collection[int], report: Report) -> None:
    for root, before in marks.items():
        tell_swept(report, sweep.sweep(root, before, pids))
