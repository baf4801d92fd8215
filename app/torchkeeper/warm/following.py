"""A job's process seen from the engine: starting it, relaying what it tells, why it failed."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import selectors
import subprocess
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.verdict.probed import GraphTold
from torchkeeper.warm import processes, sweep
from torchkeeper.warm.recipes.recipe import Variant
from torchkeeper.warm.shapes import Became, Proof, Summed, WarmVariant
from torchkeeper.warm.traces.graphs import checked_phases

#: Seconds between two looks at whether the user wants an end.
TURN = 0.04
#: Seconds a job has to leave once it has told its result.
EXIT = 10.0
LOG_LINE = 400
LOG_LINES = 4000
_TAIL = 100
#: Paths that are named of what was swept.
_SWEPT = 50
_LINE = 1 << 16
#: What the last lines of a log that says why its process ended begin with, or those before them.
_RAISED = ("Traceback (most recent call last):", "Fatal Python error:", "terminate called")


#: Hears what a job tells: its name, and a value of which nothing is known.
Tell = Callable[[str, Any], None]
#: What comes of a kind of job.
R = TypeVar("R")
Row = TypeVar("Row", bound=Mapping[str, object])


class Codes(NamedTuple):
    """What the problems of a kind of job are called that it does not tell itself."""

    failed: str
    killed: str
    timeout: str


@dataclass
class State(Generic[R]):
    """What is known of a running job."""

    result: R | None = None
    problem: Problem | None = None
    failed: str | None = None
    step: str | None = None
    lines: int = 0
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=_TAIL))


def make_writable(place: str) -> bool:
    """Whether the folder had to be made. Raises Problem("place-unwritable" | "disk-full")."""
    missing = not os.path.isdir(place)
    try:
        os.makedirs(place, exist_ok=True)
        with tempfile.TemporaryFile(dir=place, prefix=".torchkeeper-") as file:
            file.write(bytes(1 << 12))
    except OSError as e:
        if e.errno == errno.ENOSPC:
            raise Problem("disk-full", place=place) from e
        raise Problem("place-unwritable", place=place, why=e.strerror or str(e)) from e
    return missing


def launch(
    module: str, request: Mapping[str, object], env: dict[str, str], home: str
) -> processes.Job:
    """Start ``main`` of a module, such as "warm.job", in a process and session of its own. It runs
    under this interpreter, in the folder ``home``, and is told the request in one line.
    """
    process = processes.Job(
        processes.calling(module),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=home,
        env=env,
        start_new_session=True,
        bufsize=0,
    )
    if nice := os.getpriority(os.PRIO_PROCESS, 0):
        # Its session is another group than this one's, which may be as nice.
        processes.give_way(process.pid, nice)
    assert process.stdin
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(request).encode() + b"\n")
    return process


def check_limit(limit_s: float | None) -> None:
    """Raises Problem("bad-request", field="limit_s") for seconds that no job can take."""
    if limit_s is not None and not limit_s > 0:
        raise Problem("bad-request", field="limit_s")


def carry_out(
    process: subprocess.Popen[bytes],
    limit_s: float | None,
    state: State[R],
    report: Report,
    tell: Tell,
    codes: Codes,
    failed: Callable[[Collection[int]], None],
) -> R:
    """Relay what a job tells to its end, and end all that it started; returns its result. failed:
    hears the ids of all its processes, which are gone, before anything is raised. Raises Problem,
    as Problem(codes.timeout) after ``limit_s``, and passes Cancelled on.
    """
    assert process.stdout and process.stderr
    started, leave = time.monotonic(), 0.0
    answers, printed = bytearray(), bytearray()

    def say(text: str) -> None:
        report.finding(log=text)

    with process:
        try:
            with selectors.DefaultSelector() as selector:
                for pipe, buffer, hear in (
                    (process.stdout, answers, lambda line: take(line, state, tell)),
                    (process.stderr, printed, lambda line: log(line, state, say)),
                ):
                    os.set_blocking(pipe.fileno(), False)
                    selector.register(pipe, selectors.EVENT_READ, (buffer, hear))
                while True:
                    report.check()
                    for key, _ in selector.select(TURN):
                        if not pump(key.fd, *key.data):
                            selector.unregister(key.fileobj)
                    now = time.monotonic()
                    if process.poll() is not None:
                        # Whatever it said is in the pipes; a child of its may hold them for ever.
                        for key in list(selector.get_map().values()):
                            while pump(key.fd, *key.data) and select_now(key.fd):
                                pass
                        break
                    if not selector.get_map():
                        time.sleep(TURN)  # it closed both pipes, and lives on
                    if state.result is not None or state.problem or state.failed:
                        leave = leave or now + EXIT
                        if now > leave:
                            break
                    elif limit_s is not None and now > started + limit_s:
                        raise Problem(codes.timeout, limit_s=limit_s)
            if printed:
                log(bytes(printed), state, say)
            if process.poll() is None:
                processes.end(process)
            status = process.wait()
        except BaseException:
            failed(processes.end(process))
            raise
        # The leader is gone; what it started may not be.
        pids = processes.end(process)
        if state.result is None:
            failed(pids)
            raise why_not(state, status, say, codes)
        return state.result


def select_now(handle: int) -> bool:
    """Whether a pipe can be read without waiting."""
    with selectors.DefaultSelector() as selector:
        selector.register(handle, selectors.EVENT_READ)
        return bool(selector.select(0))


def pump(handle: int, buffer: bytearray, take: Callable[[bytes], None]) -> bool:
    """Read once from a pipe and hand on the complete lines; False at the end."""
    try:
        data = os.read(handle, 1 << 16)
    except BlockingIOError:
        return True
    buffer += data
    *lines, rest = buffer.split(b"\n")
    if rest and (len(rest) > _LINE or not data):
        lines, rest = [*lines, rest], bytearray()
    buffer[:] = rest
    for line in lines:
        take(bytes(line))
    return bool(data)


def log(line: bytes, state: State[R], say: Callable[[str], None]) -> None:
    """Take a line of a process's log: it is told, up to a bound, and the last are kept."""
    if not (text := line.decode(errors="backslashreplace").rstrip()):
        return
    text = text if len(text) <= LOG_LINE else text[: LOG_LINE - 1] + "…"
    state.tail.append(text)
    state.lines += 1
    if state.lines <= LOG_LINES:
        say(text)


def untold(state: State[R]) -> list[str]:
    """The last lines of a log that was too long to be told."""
    more = min(state.lines - LOG_LINES, _TAIL)
    return list(state.tail)[-more:] if more > 0 else []


def why_not(state: State[R], status: int, say: Callable[[str], None], codes: Codes) -> Problem:
    """The problem of a job without a result; its last words go to the log."""
    if state.problem:
        return state.problem
    for text in untold(state):
        say(text)
    why = state.failed or last_words(list(state.tail))
    if status < 0:
        signal = processes.signal_name(-status)
        return Problem(codes.killed, signal=signal, why=why, step=state.step)
    if not state.failed and not any(line.startswith(_RAISED) for line in state.tail):
        # What it said last may be no reason: it left by itself, as with os._exit.
        ended = f"Its process ended by itself, with exit status {status}"
        why = f"{ended}; its last line is: {why}" if why else ended
    return Problem(codes.failed, why=why, step=state.step)


def last_words(lines: list[str]) -> str | None:
    """The line of a log that most likely says why its process ended."""
    fatal = (one for one in lines if one.startswith(("Fatal Python error:", "terminate called")))
    # Not the frames of a traceback, and not what faulthandler lists after them.
    passed = (" ", "\t", "Extension modules:", "Current thread", "Thread 0x")
    other = (one for one in reversed(lines) if one and not one.startswith(passed))
    return next(chain(fatal, other), None)


def take(line: bytes, state: State[R], tell: Tell) -> None:
    """Take one line of a job: why it failed is for ``state``, and ``tell`` hears anything else, a
    name and a value. Strangers' code runs there: a line that is not as promised is passed over.
    """
    try:
        [(what, value)] = json.loads(line).items()
        if what == "problem":
            state.problem = Problem(str(value["code"])[:LOG_LINE], **value["params"])
        elif what == "failed":
            state.failed = str(value)[:1000]
        else:
            tell(what, value)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError):
        return


def finite(value: Any) -> float:
    """A number that a process told. Raises ValueError for one that is none, or too large."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("not a finite number")
    return number


def tell_swept(report: Report, swept: list[sweep.Swept]) -> None:
    """The finding that something half-written was removed, if something was."""
    if swept:
        report.finding(swept={"count": len(swept), "paths": [item.path for item in swept[:_SWEPT]]})


# What is told of variants on the wire, before and after it was checked.

#: Bytes of all rows of a result, which goes in one line with the rest (engine/protocol.py).
_MOST_SENT = 600_000
#: Entries that are named of a variant.
_MADE = 1000


def told_of(variant: Variant) -> WarmVariant:
    """What is told of a variant before anything is known of it."""
    return {
        "index": variant.index,
        "recipe": variant.recipe,
        "name": variant.name,
        "source": variant.source,
        "state": "queued",
    }


def graph_of(value: Any) -> GraphTold:
    """A graph as a process told it. Raises whatever it may where that is not as promised."""
    seconds, reason = value["seconds"], value.get("reason")
    told: GraphTold = {
        "id": line(value["id"]),
        "name": line(value["name"]),
        "outcome": line(value["outcome"]),
        "seconds": None if seconds is None else finite(seconds),
        "phases": checked_phases(value.get("phases") or []),
    }
    if reason:
        told["reason"] = line(reason)
    if key := value.get("key"):
        told["key"] = line(key)
    return told


def done_of(value: Any) -> Became:
    """What a variant came to, as a process told it. Raises as ``graph_of``."""
    proof, autograd = value["proof"], value["autograd"]
    told: Proof | None = None
    if proof is not None:
        told = {"found": int(proof["found"]), "of": int(proof["of"])}
        if why := proof.get("why"):
            told["why"] = line(why)
    return {
        "made": [(line(kind), line(key)) for kind, key in value["made"][:_MADE]],
        "graphs": int(value["graphs"]),
        "hits": int(value["hits"]),
        "misses": int(value["misses"]),
        "bypasses": int(value["bypasses"]),
        "autograd": {"hits": int(autograd["hits"]), "misses": int(autograd["misses"])},
        "seconds": finite(value["seconds"]),
        "proof": told,
        "device": line(value["device"]),
        "threads": int(value["threads"]),
    }


def line(value: object) -> str:
    """A text that a process told, cut."""
    return str(value)[:LOG_LINE]


def fitting(rows: Iterable[Row], most: int = _MOST_SENT) -> list[Row]:
    """Rows without logs and keys, as many as fit a line; findings have told everything."""
    left, fit = most, list[Row]()
    for row in rows:
        short = {name: value for name, value in row.items() if name not in ("log", "made")}
        left -= len(json.dumps(short)) + 2
        if left < 0:
            break
        fit.append(cast("Row", short))
    return fit


def things(counts: Iterable[tuple[str, int, int]]) -> dict[str, int]:
    """How many things were looked up, of the source, the graphs and the lookups of each: "graphs",
    or of variants that make none "eager" for operators and "triton" for kernels; only what there
    is.
    """
    found = Counter[str]()
    for source, graphs, lookups in counts:
        alone = source in ("eager", "triton")
        found[source if alone else "graphs"] += lookups if alone else graphs
    return {name: found[name] for name in ("graphs", "eager", "triton") if found[name]}


def summed(rows: Iterable[WarmVariant], torch: str) -> Summed:
    """The result of a job, of what became of its variants."""
    rows = list(rows)
    done = [row for row in rows if row["state"] == "done"]
    lookups = ((row["source"], row["graphs"], row["hits"] + row["misses"]) for row in done)
    return {
        "variants": fitting(rows),
        "graphs": sum(row["graphs"] for row in done),
        "hits": sum(row["hits"] for row in done),
        "misses": sum(row["misses"] for row in done),
        "bypasses": sum(row["bypasses"] for row in done),
        "autograd": {
            "hits": sum(row["autograd"]["hits"] for row in done),
            "misses": sum(row["autograd"]["misses"] for row in done),
        },
        "things": things(lookups),
        "seconds": sum(row["seconds"] for row in done),
        "device": done[0]["device"] if done else "",
        "threads": done[0]["threads"] if done else 0,
        "torch": torch,
        "done": len(done),
        "failed": sum(row["state"] == "failed" for row in rows),
    }
