"""Runs a compile job from the engine: starts it, relays what it says, ends it, cleans up."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import torchkeeper
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores import folder, places
from torchkeeper.warm import processes, recipes, sweep

#: Seconds between two looks at whether the user wants an end.
TURN = 0.04
#: Seconds a job has to leave once it has told its result.
EXIT = 10.0
LOG_LINE = 400
LOG_LINES = 4000
_TAIL = 100
_SWEPT = 50
_LINE = 1 << 16
#: Kinds of files that no program can hit on.
_SCRATCH = ("lock", "header", "unknown")


@dataclass(frozen=True)
class Job:
    """What to compile, checked."""

    place: str
    recipes: tuple[str, ...]
    device: str | None
    limit_s: float | None


@dataclass
class _State:
    """What is known of a running job."""

    result: dict[str, Any] | None = None
    problem: Problem | None = None
    failed: str | None = None
    step: str | None = None
    lines: int = 0
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=_TAIL))


def warm(params: dict[str, Any], report: Report) -> dict[str, Any]:
    """Compile recipes into a folder, in a process of its own; returns what the wire promises.

    Raises Problem, or passes Cancelled on; in both cases no process of the job is left, and
    nothing half-written is.
    """
    job = checked(params)
    made = _make_writable(job.place)
    headers = os.path.join(places.default_folder(), "precompiled_headers")
    roots = [root for root in (job.place, headers) if root == job.place or os.path.isdir(root)]
    for root in roots:
        _tell_swept(report, sweep.mend(root))
    before = _entries(job.place, report)
    marks = {root: sweep.snapshot(root) for root in (job.place, headers)}
    home = tempfile.mkdtemp(prefix="torchkeeper-warm-")
    result = None
    try:
        result = run(
            job, environment(job.place), home, report, lambda pids: _sweep(marks, pids, report)
        )
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
    state = _State()
    request = {"recipes": job.recipes, "device": job.device, **more}
    with _start(request, home, env) as process:
        try:
            _follow(process, job, state, report)
            status = process.wait()
        except BaseException:
            failed(processes.end(process))
            raise
        # The leader is gone; what it started may not be.
        pids = processes.end(process)
        if state.result is None:
            failed(pids)
            raise _why(state, status, report)
    return state.result


def checked(params: dict[str, Any]) -> Job:
    """The job in a request.

    Raises Problem("bad-request", field=…) and Problem("recipe-unknown", recipe=…).
    """
    place, names = params.get("into"), params.get("recipes") or ["builtin"]
    device, limit = params.get("device"), params.get("limit_s")
    if not isinstance(place, str) or not place or "\0" in place:
        raise Problem("bad-request", field="into")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Problem("bad-request", field="recipes")
    if device is not None and (not isinstance(device, str) or len(device) > 40):
        raise Problem("bad-request", field="device")
    if limit is not None and (
        isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit > 0
    ):
        raise Problem("bad-request", field="limit_s")
    recipes.check(names)
    return Job(os.path.abspath(place), tuple(names), device, limit)


def _make_writable(place: str) -> bool:
    """Whether the folder had to be made. Raises Problem("place-unwritable").

    The trial leaves nothing behind.
    """
    missing = not os.path.isdir(place)
    try:
        os.makedirs(place, exist_ok=True)
        with tempfile.TemporaryFile(dir=place, prefix=".torchkeeper-") as file:
            file.write(bytes(1 << 12))
    except OSError as e:
        raise Problem("place-unwritable", place=place, why=e.strerror or str(e)) from e
    return missing


def _entries(place: str, report: Report) -> set[tuple[str, str]]:
    return {item.identity for item in folder.survey(place, report) if item.kind not in _SCRATCH}


def environment(place: str) -> dict[str, str]:
    """The engine's environment, made to fill ``place``.

    Nothing else is set: PyTorch records every TORCH* variable in its entries, and threads,
    affinity and OMP_NUM_THREADS are part of its keys.
    """
    env = {k: v for k, v in os.environ.items() if not k.startswith("TORCHKEEPER_")}
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
    boot = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); "
        "from torchkeeper.warm.job import main; main()"
    )
    # The folder or the zip that this very code came from.
    source = os.path.dirname(os.path.dirname(os.path.abspath(torchkeeper.__file__)))
    process = subprocess.Popen(
        [sys.executable, "-c", boot, source],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=home,
        env=env,
        start_new_session=True,
        bufsize=0,
    )
    assert process.stdin
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(request).encode() + b"\n")
    return process


def _follow(process: subprocess.Popen[bytes], job: Job, state: _State, report: Report) -> None:
    """Relay until the job has ended. Raises Cancelled and Problem("warm-timeout")."""
    assert process.stdout and process.stderr
    started = time.monotonic()
    leave: float | None = None
    answers, log = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for pipe, buffer, take in (
            (process.stdout, answers, lambda line: _answer(line, state, report)),
            (process.stderr, log, lambda line: _log(line, state, report)),
        ):
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, selectors.EVENT_READ, (buffer, take))
        while True:
            report.check()
            for key, _ in selector.select(TURN):
                if not _pump(key.fd, *key.data):
                    selector.unregister(key.fileobj)
            now = time.monotonic()
            if process.poll() is not None:
                # Whatever it said is in the pipes; a child of its may hold them open for ever.
                for key in list(selector.get_map().values()):
                    while _pump(key.fd, *key.data) and select_now(key.fd):
                        pass
                break
            if not selector.get_map():
                time.sleep(TURN)  # it closed both pipes, and lives on
            if state.result is not None or state.problem or state.failed:
                leave = leave or now + EXIT
                if now > leave:
                    break
            elif job.limit_s is not None and now > started + job.limit_s:
                raise Problem("warm-timeout", limit_s=job.limit_s)
    if log:
        _log(bytes(log), state, report)
    if process.poll() is None:
        processes.end(process)


def select_now(handle: int) -> bool:
    """Whether a pipe can be read without waiting."""
    with selectors.DefaultSelector() as selector:
        selector.register(handle, selectors.EVENT_READ)
        return bool(selector.select(0))


def _pump(handle: int, buffer: bytearray, take: Callable[[bytes], None]) -> bool:
    """Read once and hand on the complete lines; False at the end."""
    try:
        data = os.read(handle, 1 << 16)
    except BlockingIOError:
        return True
    buffer += data
    *lines, rest = buffer.split(b"\n")
    if len(rest) > _LINE or not data:
        lines, rest = [*lines, rest], bytearray()
    buffer[:] = rest
    for line in lines:
        take(bytes(line))
    return bool(data)


def _answer(line: bytes, state: _State, report: Report) -> None:
    """Take one line of the job. User code runs there, so that nothing of it is taken on trust."""
    try:
        answer = json.loads(line)
        [(what, value)] = answer.items()
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
                    "seconds": None if seconds is None else float(seconds),
                }
            )
        elif what == "device":
            report.finding(
                device={key: str(value[key])[:LOG_LINE] for key in ("type", "name", "why")}
            )
        elif what == "result":
            counts = ("graphs", "hits", "misses", "bypasses")
            state.result = {
                **{key: int(value[key]) for key in counts},
                "seconds": float(value["seconds"]),
                "autograd": {key: int(value["autograd"][key]) for key in ("hits", "misses")},
                "device": str(value["device"])[:LOG_LINE],
                "threads": int(value["threads"]),
                "torch": str(value["torch"])[:LOG_LINE],
            }
        elif what == "problem":
            state.problem = Problem(str(value["code"])[:LOG_LINE], **value["params"])
        elif what == "failed":
            state.failed = str(value)[:1000]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return


def _log(line: bytes, state: _State, report: Report) -> None:
    text = line.decode(errors="backslashreplace").rstrip()
    if not text:
        return
    if len(text) > LOG_LINE:
        text = text[: LOG_LINE - 1] + "…"
    state.tail.append(text)
    state.lines += 1
    if state.lines <= LOG_LINES:
        report.finding(log=text)


def _why(state: _State, status: int, report: Report) -> Problem:
    """The problem that a job without a result had; its last words go to the log."""
    if state.problem:
        return state.problem
    unsent = min(state.lines - LOG_LINES, _TAIL)
    if unsent > 0:
        for text in list(state.tail)[-unsent:]:
            report.finding(log=text)
    why = state.failed or last_words(list(state.tail))
    if status < 0:
        return Problem("warm-killed", signal=_signal_name(-status), why=why, step=state.step)
    return Problem("warm-failed", why=why or f"exit status {status}", step=state.step)


def last_words(lines: list[str]) -> str | None:
    """The line of a log that most likely says why its process ended."""
    for line in lines:
        if line.startswith(("Fatal Python error:", "terminate called")):
            return line
    for line in reversed(lines):
        # Not the frames of a traceback, and not what faulthandler lists after them.
        if line and not line.startswith(
            (" ", "\t", "Extension modules:", "Current thread", "Thread 0x")
        ):
            return line
    return None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _sweep(marks: dict[str, dict[str, sweep.Mark]], pids: Collection[int], report: Report) -> None:
    for root, before in marks.items():
        _tell_swept(report, sweep.sweep(root, before, pids))


def _tell_swept(report: Report, swept: list[sweep.Swept]) -> None:
    if swept:
        paths = [item.path for item in swept[:_SWEPT]]
        report.finding(swept={"count": len(swept), "paths": paths})
