"""The processes that compile variants: one of them, the variants that wait, the crew."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypedDict

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.artifacts.shapes import Fault
from torchkeeper.warm import following, processes
from torchkeeper.warm.following import TURN, Codes, State, done_of, graph_of, line, told_of
from torchkeeper.warm.recipes.foreseeing import foreseen
from torchkeeper.warm.recipes.recipe import REFERENCES, Variant
from torchkeeper.warm.shapes import Became, Device

#: Where a GPU shows that torch may prefer to the CPU, without torch being asked.
_ACCELERATORS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dri")


@dataclass
class Worker:
    """One process. variant: what it is at, since ``clock``; begun: it has told that it is."""

    process: subprocess.Popen[bytes]
    group: tuple[object, ...]
    #: Its result is the version of torch, "" without one.
    state: State[str] = field(default_factory=State)
    answers: bytearray = field(default_factory=bytearray)
    log: bytearray = field(default_factory=bytearray)
    variant: Variant | None = None
    device: str | None = None
    clock: float = 0.0
    looked: float = 0.0
    begun: bool = False
    fresh: bool = True
    leaving: bool = False


class Sent(TypedDict, total=False):
    """A line for a process: the next ``variant``, as of ``Variant.to_json``, or none."""

    variant: Mapping[str, object]
    end: bool


def send(worker: Worker, what: Sent) -> None:
    """Give a process a line; one that is gone has no use for it."""
    assert worker.process.stdin
    with contextlib.suppress(BrokenPipeError):
        worker.process.stdin.write(json.dumps(what).encode() + b"\n")


def group_of(variant: Variant) -> tuple[object, ...]:
    """What variants have to have in common to share a process. The folder of a file that a variant
    names is part of it: what the file imports from beside it, may have the name of another file's
    module, and Python has one module of a name.
    """
    environment = tuple(sorted(variant.environment.items()))
    return environment, variant.threads, variant.portable, variant.folder, _beside(variant)


def _beside(variant: Variant) -> str | None:
    """The folder of the Python file that a variant names; None where that is the recipe's."""
    named = (variant.item.get(key) for key in REFERENCES)
    files = [name.rpartition(":")[0] for name in named if isinstance(name, str)]
    if not files or not files[0].endswith(".py"):
        return None
    above = variant.folder or os.getcwd()
    home = os.path.dirname(os.path.realpath(os.path.join(above, files[0])))
    return None if home == os.path.realpath(above) else home


def accelerator() -> bool:
    """Whether torch may prefer something to the CPU."""
    return sys.platform == "darwin" or any(os.path.exists(path) for path in _ACCELERATORS)


# Variants that need the same environment share a process, one after another: importing torch, and
# what it does when it first compiles, takes longer than many a variant. A process that ends before
# its time takes only its variant with it; another takes its place.

#: Seconds after which a variant is long enough for another process to be worth its start: longer
#: than a precompiled header takes, for which both would wait.
LONG = 30.0
#: How many times as long as a process takes to start what is left has to take, to be worth one.
WORTH = 4.0
#: Variants for each process, from which on as many as may be are sure to be at work.
_MANY = 8
#: A device that is none of those that have a name.
UNKNOWN = "?"


class Queue:
    """The variants that wait, in their order. default: the device that torch chooses where nobody
    names one. alone: the indexes of those that are only for a process which nothing else has used.
    """

    def __init__(self, variants: Sequence[Variant], most: int) -> None:
        self.variants = list(variants)
        self.default = UNKNOWN if accelerator() else "cpu"
        self.alone: set[int] = set()
        self._most = most
        #: Seconds: of a start, and of a variant in a process that had compiled before.
        self.start_s: float | None = None
        self._variant: float | None = None

    def ended(self, seconds: float, first: bool) -> None:
        """A variant took so long; first: of its process, which is slower."""
        if not first:
            self._variant = seconds

    def share(self, workers: Sequence[Worker]) -> int:
        """How many are at work soon, with one that is about to start."""
        at_work = sum(not worker.leaving for worker in workers)
        devices = {self.device(variant) for variant in self.variants}
        most = self._most if None in devices else min(self._most, len(devices))
        return max(min(most, len(self.variants) // _MANY), at_work + 1)

    def newcomer(self, workers: Sequence[Worker]) -> Variant | None:
        """What one more process is to be started for, if one is."""
        at_work = [worker for worker in workers if not worker.leaving]
        if not self.variants or len(at_work) >= self._most:
            return None
        groups = {worker.group for worker in at_work}
        # What no process that is there can take needs one in any case.
        for one in self._free(None, workers):
            if one.index in self.alone or group_of(one) not in groups:
                return one
        return self.next(None, workers) if self._worth(at_work) else None

    def _worth(self, at_work: Sequence[Worker]) -> bool:
        if processes.busy():
            return False
        if any(worker.begun and time.monotonic() - LONG > worker.clock for worker in at_work):
            return True
        if self.start_s is None or self._variant is None:
            return False
        return len(self.variants) * self._variant / len(at_work) > WORTH * self.start_s

    def next(self, worker: Worker | None, workers: Sequence[Worker]) -> Variant | None:
        """The first variant that a process can take, or a new one: no two use a GPU at a time."""
        return next(self._free(worker, workers), None)

    def left_for(self, worker: Worker) -> bool:
        """Whether a process that has compiled before can still be of use."""
        return any(self._fits(worker, variant) for variant in self.variants)

    def _fits(self, worker: Worker, variant: Variant) -> bool:
        return group_of(variant) == worker.group and variant.index not in self.alone

    def _free(self, worker: Worker | None, workers: Sequence[Worker]) -> Iterator[Variant]:
        # One that waits has its hands off the device that it had.
        taken = {one.device for one in workers if one is not worker and one.variant and one.device}
        for variant in self.variants:
            if worker is not None and not self._fits(worker, variant):
                continue
            device = self.device(variant)
            if device is None or not taken & ({device, UNKNOWN} if device != UNKNOWN else taken):
                yield variant

    def device(self, variant: Variant) -> str | None:
        """The GPU of a variant, None where it needs none; UNKNOWN while it may be any."""
        if variant.source == "triton":
            return None  # compiles for a GPU without one
        name = variant.device or self.default
        if name.startswith("cpu"):
            return None
        return name if ":" in name or name == UNKNOWN else f"{name}:0"


CODES = Codes("warm-failed", "warm-killed", "warm-timeout")
#: What holds for every variant, whichever finds it out.
FOR_ALL = ("disk-full", "place-unwritable")
#: Seconds that importing torch may take where variants have a limit; it is not part of that.
STARTUP = 60.0
#: Seconds between two looks at the memory of a variant with a limit.
_LOOK = 0.25
#: Lines of its log that a failed variant has.
_LOG = 40
#: Seconds that a process may take to say goodbye once it has nothing to do.
_LEAVE = 60.0


@dataclass(frozen=True)
class Means:
    """What a crew works with: how many processes at most; what starts one for a variant, where so
    many share the cores; and what hears the ids of those that are gone, and whether others are
    still at work. saves: they have something to do when there are no more variants. each: a single
    variant that fails does so as one of several, and raises nothing.
    """

    most: int
    start: Callable[[Variant, int], subprocess.Popen[bytes]]
    gone: Callable[[Collection[int], bool], None]
    saves: bool = False
    each: bool = False


class Crew:
    """Compiles variants; ``rows`` has what became of each, by its index."""

    def __init__(self, variants: Sequence[Variant], means: Means, report: Report) -> None:
        self.rows = {variant.index: told_of(variant) for variant in variants}
        self.torch = ""
        self._total = len(variants)
        self._queue = Queue(variants, means.most)
        self._means, self._report = means, report
        self._workers: list[Worker] = []
        self._selector = selectors.DefaultSelector()
        self._devices: list[Device] = []

    def work(self) -> None:
        """Until all are done or have failed; no process is left. Raises Problem, Cancelled."""
        try:
            self._foretell()
            self._progress()
            while self._queue.variants or self._workers:
                self._report.check()
                self._hand_out()
                for key, _ in self._selector.select(TURN):
                    self._read(key.data, key.fileobj)
                for worker in list(self._workers):
                    self._look(worker)
        except BaseException as e:
            self._end(self._workers)
            if isinstance(e, Cancelled):
                for index, row in self.rows.items():
                    if row["state"] not in ("done", "failed"):
                        self._report.finding(variant={"index": index, "state": "cancelled"})
            raise
        finally:
            self._selector.close()

    @property
    def _alone(self) -> bool:
        """Whether there is but one variant, whose failure is that of the whole."""
        return self._total == 1 and not self._means.each

    def _foretell(self) -> None:
        """What is certain to fail has failed before hours of compiling, and not after them."""
        variants = list(self._queue.variants)
        for variant, problem in zip(variants, foreseen(variants), strict=True):
            # Of a name that is missing, its import says more.
            if problem is None or problem.code == "name-missing":
                continue
            if self._alone:
                raise problem
            self._queue.variants.remove(variant)
            self._tell(variant, "failed", {"problem": _told(problem), "seconds": 0.0, "log": []})

    def _hand_out(self) -> None:
        """Something to do for those who have nothing, and more of them where it is worth it."""
        for worker in self._workers:
            if worker.variant is None and not worker.leaving:
                variant = self._queue.next(worker, self._workers)
                if variant is not None:
                    self._give(worker, variant)
                elif not self._queue.left_for(worker):
                    send(worker, {"end": True})
                    worker.leaving, worker.clock = True, time.monotonic()
        queue, workers = self._queue, self._workers
        while variant := queue.newcomer(workers):
            process = self._means.start(variant, queue.share(workers))
            worker = Worker(process, group_of(variant))
            workers.append(worker)
            assert process.stdout and process.stderr
            for pipe in (process.stdout, process.stderr):
                os.set_blocking(pipe.fileno(), False)
                self._selector.register(pipe, selectors.EVENT_READ, worker)
            self._give(worker, variant)

    def _give(self, worker: Worker, variant: Variant) -> None:
        self._queue.variants.remove(variant)
        worker.variant, worker.begun = variant, False
        worker.device = self._queue.device(variant) or worker.device
        worker.clock = time.monotonic()
        worker.state = State(lines=worker.state.lines)
        send(worker, {"variant": variant.to_json()})
        if worker.fresh:
            # It imports torch first, which takes seconds.
            self._tell(variant, "starting", {})

    def _read(self, worker: Worker, pipe: Any, drain: bool = False) -> None:
        if pipe is worker.process.stdout:
            tell = partial(self._hear, worker)
            buffer, hear = worker.answers, lambda said: following.take(said, worker.state, tell)
        else:
            buffer, hear = worker.log, lambda said: self._log(worker, said)
        while following.pump(pipe.fileno(), buffer, hear):
            if not drain or not following.select_now(pipe.fileno()):
                return
        with contextlib.suppress(KeyError):
            self._selector.unregister(pipe)

    def _log(self, worker: Worker, said: bytes) -> None:
        following.log(said, worker.state, partial(self._say, worker))

    def _say(self, worker: Worker, text: str) -> None:
        """Tell a line of a log, and which variant it belongs to."""
        variant = {} if worker.variant is None else {"variant": worker.variant.index}
        self._report.finding(log=text, **variant)

    def _hear(self, worker: Worker, what: str, value: Any) -> None:
        """Take what a process tells. Raises whatever it may where that is not as promised."""
        variant, report = worker.variant, self._report
        if what == "result":
            worker.state.result = line(value["torch"])
            self.torch = worker.state.result or self.torch
        elif what == "device":
            kind, name, why = (line(value[part]) for part in ("type", "name", "why"))
            told: Device = {"type": kind, "name": name, "why": why}
            if told not in self._devices and len(self._devices) < self._total:
                self._devices.append(told)
                report.finding(device=told)
        elif variant is None:
            return
        elif what == "begun":
            begun, worker.begun, worker.clock = worker.clock, True, time.monotonic()
            if worker.fresh:
                self._queue.start_s = worker.clock - begun
            if value["default"]:
                self._queue.default = line(value["default"])
                if worker.device == UNKNOWN:
                    worker.device = self._queue.device(variant)
            self._tell(variant, "compiling", {})
        elif what == "step":
            worker.state.step = line(value["name"])
            step = {"index": int(value["index"]), "name": worker.state.step}
            report.finding(step={**step, "variant": variant.index})
        elif what == "graph":
            report.finding(graph={**graph_of(value), "variant": variant.index})
        elif what == "variant" and value["state"] == "done":
            try:
                answer = done_of(value)
            except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as e:
                # Its process waits for the next one.
                self._failed(worker, Problem(CODES.failed, why=f"{type(e).__name__}: {e}"))
            else:
                self._queue.ended(answer["seconds"], worker.fresh)
                self._tell(variant, "done", answer)
                worker.variant, worker.fresh = None, False
                self._progress()
        elif what == "variant":
            problem = Problem(line(value["problem"]["code"]), **value["problem"]["params"])
            assert worker.process.stderr
            self._read(worker, worker.process.stderr, drain=True)
            self._failed(worker, problem)

    def _tell(self, variant: Variant, state: str, more: Became) -> None:
        self.rows[variant.index] = {**self.rows[variant.index], "state": state, **more}
        self._report.finding(variant={"index": variant.index, "state": state, **more})

    def _progress(self) -> None:
        ended = sum(row["state"] in ("done", "failed") for row in self.rows.values())
        self._report.progress(ended, self._total, "variants")

    def _failed(self, worker: Worker, problem: Problem) -> None:
        """The variant of a process has failed. Raises it if all have it."""
        variant, step = worker.variant, worker.state.step
        assert variant
        if problem.code == CODES.failed:
            problem = Problem(problem.code, **{"step": step, **problem.params})
        if problem.code in FOR_ALL or self._alone:
            raise problem
        if problem.code == "compiler-missing" and self._all_need(variant):
            raise problem
        seconds = time.monotonic() - worker.clock
        log = list(worker.state.tail)[-_LOG:]
        self._tell(variant, "failed", {"problem": _told(problem), "seconds": seconds, "log": log})
        worker.variant, worker.fresh = None, False
        self._progress()

    def _all_need(self, variant: Variant) -> bool:
        """Whether what this variant lacks, every one that is left lacks, too."""
        return all(
            one.device == variant.device
            and one.source in ("callable", "exported", "builtin", "eager")
            for one in self._queue.variants
        ) and not any(row["state"] == "done" for row in self.rows.values())

    def _look(self, worker: Worker) -> None:
        """Whether it has ended, or is to be ended."""
        process, now, variant = worker.process, time.monotonic(), worker.variant
        if process.poll() is not None:
            assert process.stdout and process.stderr
            # Whatever it said is in the pipes; a child of its may hold them open for ever.
            for pipe in (process.stderr, process.stdout):
                self._read(worker, pipe, drain=True)
            if worker.log:
                self._log(worker, bytes(worker.log))
                worker.log.clear()
            self._gone(worker)
        elif worker.leaving and (now > worker.clock + _LEAVE):
            self._gone(worker)
        elif variant is not None:
            limit = variant.seconds
            if limit is not None and not worker.begun:
                limit = max(limit, STARTUP)
            if limit is not None and now > worker.clock + limit:
                self._end([worker])
                self._failed(worker, Problem(CODES.timeout, limit_s=variant.seconds))
            elif variant.memory is not None and now > worker.looked + _LOOK:
                worker.looked = now
                if used := processes.memory(process.pid, variant.memory):
                    self._too_large(worker, variant, used)

    def _too_large(self, worker: Worker, variant: Variant, used: int) -> None:
        if worker.fresh or variant.index in self._queue.alone:
            about = {"limit_mb": (variant.memory or 0) // 10**6, "used_mb": used // 10**6}
            self._end([worker])
            self._failed(worker, Problem("variant-memory", **about))
            return
        # What others left in the process is not its own: once more, in one of its own.
        self._queue.alone.add(variant.index)
        self._queue.variants.insert(0, variant)
        worker.variant = None
        self._gone(worker)

    def _gone(self, worker: Worker) -> None:
        """It has ended, or is to: what it was at has failed, and what it left is cleaned up."""
        state = worker.state
        self._end([worker])
        if state.problem:
            raise state.problem
        if worker.variant is not None or (worker.leaving and state.result is None):
            say = partial(self._say, worker)
            why = following.why_not(state, worker.process.poll() or 0, say, CODES)
            if worker.variant is not None:
                self._failed(worker, why)
            elif self._means.saves:
                raise why

    def _end(self, workers: Sequence[Worker]) -> None:
        """End processes with all that they started, at once, and have cleaned up after them."""
        if not (workers := list(workers)):
            return
        with ThreadPoolExecutor(len(workers)) as pool:
            ended = list(pool.map(lambda worker: processes.end(worker.process), workers))
        unfinished = [worker for worker in workers if worker.state.result is None]
        for worker in workers:
            self._workers.remove(worker)
            for pipe in (worker.process.stdout, worker.process.stderr):
                with contextlib.suppress(KeyError, ValueError):
                    self._selector.unregister(pipe)  # type: ignore[arg-type]
            with contextlib.suppress(OSError):
                worker.process.__exit__(None, None, None)
        if unfinished:
            self._means.gone(set[int]().union(*ended), bool(self._workers))


def _told(problem: Problem) -> Fault:
    return {"code": problem.code, "params": problem.params}
