"""What runs in a Ray cluster: the driver of a job, which puts units on nodes as tasks of Ray, and
those tasks. It goes there as text, and knows Ray and the standard library only.

What it is told are values of Ray's key-value store, counted from 0: a line of JSON, and bytes after
it. What it says are counted lines of the job's log, each with some words; bytes are files beside
that. For this is what the HTTP server of a cluster takes and gives (``placing.ray_job``). What an
engine is asked and says is by files in a folder of its own (``engine.batch``).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

import ray
from ray.experimental import internal_kv as kv
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

#: Bytes of a part of a file, of what a unit says at a time, and about those of a line.
PART, SAID, LINE = 8 << 20, 64 << 10, 256 << 10
#: Seconds between two looks at what is told and said, and two lines; that an engine has to end; for
#: which it goes on alone.
LOOK, BEAT, END, SILENCE = 0.1, 5.0, 20.0, 30.0
#: Characters of what a node says of itself, and labels of it.
TEXT, LABELS = 200, 64
#: What Ray says which devices a task has by.
DEVICES = (
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK",
    "ONEAPI_DEVICE_SELECTOR", "ASCEND_RT_VISIBLE_DEVICES", "TPU_VISIBLE_CHIPS",
    "HABANA_VISIBLE_MODULES",
)  # fmt: skip
#: Runs a command that is no child of the worker: Ray kills those, and it has yet to clean up.
APART = '"$@" & wait $!'


def variables(whole: bool) -> dict[str, str]:
    """The environment of an engine: what the node has, less what Ray set for its own process, as
    the number of threads. whole: with all devices, and not only those that the task has.
    """
    with open("/proc/self/environ", "rb") as file:
        pairs = [os.fsdecode(one).partition("=") for one in file.read().split(b"\0") if one]
    before = {name: value for name, _, value in pairs}
    env = {k: v for k, v in os.environ.items() if k in before and k not in DEVICES}
    env |= {k: v for k, v in (before if whole else os.environ).items() if k in DEVICES}
    return {k: v for k, v in env.items() if not k.startswith(("RAY_", "TORCHKEEPER_"))}


def folder_of(name: str) -> str:
    return os.path.join(tempfile.gettempdir(), f"torchkeeper-ray-{name}")


def beat(folder: str) -> None:
    """Show the engine that somebody waits for it."""
    with open(os.path.join(folder, "alive"), "w") as file:
        file.write(str(time.monotonic()))


def work(unit: Any, sent: dict[str, list[Any]]) -> Iterator[Any]:
    """A task: an engine does one thing. Yields what it says, the bytes that it wrote, and how it
    ended. sent: the parts of files, by their digests.
    """
    folder = folder_of(unit["name"])
    os.mkdir(folder, 0o700)
    engine = None
    try:
        yield ""
        inside = os.path.join(folder, "unit")
        os.mkdir(inside)
        named = {}
        for count, (digest, parts) in enumerate(sent.items()):
            named[digest] = os.path.join(folder, f"{count}{unit['ends'][digest]}")
            with open(named[digest], "wb") as file:
                for ref in parts:
                    file.write(ray.get(ref))
        params = dict(unit["params"])
        for name, some in unit["files"].items():
            params[name] = named[some] if isinstance(some, str) else [named[one] for one in some]
        output = os.path.join(inside, "output.torchcache") if unit["output"] else ""
        if output:
            params["output"] = output
        digests = {path: digest for digest, path in named.items()}
        head = {"files": digests, "output": output, "silence": SILENCE}
        asked, told, log = (os.path.join(inside, one) for one in ("asked", "told", "log"))
        with open(asked, "w") as file, open(told, "w"):
            for one in (head, {"id": 1, "op": unit["op"], "params": params}):
                file.write(json.dumps(one) + "\n")
        beat(folder)
        command = [unit["python"] or sys.executable, "-c", unit["boot"], named[unit["code"]]]
        with open(log, "w") as file:
            engine = subprocess.Popen(
                ["/bin/sh", "-c", APART, "sh", *command, inside], cwd=inside,
                env=variables(unit["whole"]), stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                start_new_session=True,
            )  # fmt: skip
        over, node = False, os.getppid()
        with open(told, errors="replace") as said:
            while not over:
                over = engine.poll() is not None
                if os.getppid() != node:
                    raise ChildProcessError("Ray has ended on this node")  # its workers may go on
                beat(folder)
                while some := said.read(SAID):
                    yield some
                time.sleep(0.0 if over else LOOK)
        if output and os.path.exists(output):
            with open(output, "rb") as made:
                while part := made.read(PART):
                    yield part
        with open(log, errors="replace") as file:
            yield {"status": engine.returncode, "log": "".join(deque(file, 5))[-4000:]}
    finally:
        if engine is not None and engine.poll() is None:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                os.killpg(engine.pid, signal.SIGTERM)
                engine.wait(END)
        shutil.rmtree(folder, ignore_errors=True)


def ring(name: str) -> None:
    """A task beside the unit of this name: it is to end early."""
    path = os.path.join(folder_of(name), "unit", "asked")
    with contextlib.suppress(FileNotFoundError), open(path, "r+") as file:
        file.seek(0, os.SEEK_END)
        file.write('{"cancel":1}\n')


class Driver:
    """A job's driver. name: of the job, and what its keys and its folder begin with. alone: the
    seconds after which it ends where it is told nothing.
    """

    def __init__(self, name: str, alone: float) -> None:
        self.name, self.alone = name, alone
        self.log = os.readlink("/proc/self/fd/1")
        self.folder = os.path.join(os.path.dirname(self.log), name)
        os.mkdir(self.folder, 0o700)
        self.lines, self.spoke = 0, time.monotonic()
        self.words = deque[str]()
        self.sent: dict[str, list[Any]] = {}
        self.units: dict[int, Any] = {}
        #: The nodes of units that have begun.
        self.places: dict[int, str] = {}
        self.tasks: set[Any] = set()
        self.ends = False

    def say(self, **word: Any) -> None:
        self.words.append(json.dumps(word))

    def flush(self) -> None:
        while self.words or time.monotonic() - self.spoke > BEAT:
            some, size = list[str](), 0
            while self.words and size < LINE:
                some.append(self.words.popleft())
                size += len(some[-1])
            line = f'{{"line":{self.lines},"words":[{",".join(some)}]}}\n'
            os.write(1, line.encode())
            self.lines, self.spoke = self.lines + 1, time.monotonic()

    async def serve(self) -> None:
        count, heard = 0, time.monotonic()
        self.say(ready=True)
        while not self.ends and time.monotonic() - heard < self.alone:
            value = kv._internal_kv_get(self._key(str(count)))
            if value is None:
                self.flush()
                await asyncio.sleep(LOOK)
                continue
            kv._internal_kv_del(self._key(str(count)))
            count, heard = count + 1, time.monotonic()
            head, _, body = value.partition(b"\n")
            self.take(json.loads(head), body)
            self.say(taken=count)
        for unit in self.units.values():
            ray.cancel(unit, force=True)

    def _key(self, what: str) -> str:
        return f"gcs://_ray_pkg_{self.name}-{what}.zip"

    def take(self, told: Any, body: bytes) -> None:
        """Do what is told."""
        if digest := told.get("part"):
            self.sent.setdefault(digest, [])[told["number"] :] = [ray.put(body)]
        elif digest := told.get("drop"):
            self.sent.pop(digest, None)
        elif "nodes" in told:
            self.nodes(told["of"])
        elif "run" in told:
            task = asyncio.get_running_loop().create_task(self.follow(told["of"], told["run"]))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        elif "stop" in told:
            self.stop(told["stop"], told["force"])
        elif "done" in told:
            self.stop(told["done"], True)  # whoever asked has heard enough of it
            shutil.rmtree(os.path.join(self.folder, str(told["done"])), ignore_errors=True)
        elif "end" in told:
            self.ends = True

    def nodes(self, ident: int) -> None:
        for node in ray.nodes():
            if node["Alive"]:
                some, labels = node.get("Resources", {}), (node.get("Labels") or {}).items()
                self.say(
                    of=ident, node=node["NodeID"],
                    name=(node.get("NodeName") or node["NodeManagerAddress"])[:TEXT],
                    cpus=some.get("CPU", 0.0), gpus=some.get("GPU", 0.0),
                    labels={k[:TEXT]: v[:TEXT] for k, v in islice(labels, LABELS)},
                )  # fmt: skip
        self.say(of=ident, end=True)

    async def follow(self, ident: int, unit: Any) -> None:
        """Put a unit on its node, and say what comes of it."""
        folder, parts = os.path.join(self.folder, str(ident)), 0
        last: Any = {}
        unit["name"] = f"{self.name}-{ident}"
        try:
            where = NodeAffinitySchedulingStrategy(unit["node"], soft=False)
            task = ray.remote(work).options(
                num_returns="streaming", max_retries=0, scheduling_strategy=where,
                num_cpus=unit["cpus"], num_gpus=unit["gpus"], name="torchkeeper",
            )  # fmt: skip
            made = self.units[ident] = task.remote(
                unit, {x: self.sent.get(x, []) for x in unit["ends"]}
            )
            async for ref in made:
                self.places[ident], item = unit["node"], await ref
                if isinstance(item, bytes):
                    os.makedirs(folder, 0o700, exist_ok=True)
                    with open(os.path.join(folder, str(parts)), "wb") as file:
                        file.write(item)
                    parts += 1
                elif isinstance(item, dict):
                    last = item
                elif item:
                    self.say(of=ident, said=item)
        except ray.exceptions.TaskCancelledError:
            last["cancelled"] = True
        except ray.exceptions.RayTaskError as e:
            # It is the node that has ended, and not the unit that has failed.
            how = "lost" if isinstance(e.cause, ChildProcessError) else "failed"
            last[how] = f"{type(e.cause).__name__}: {e.cause}"[:2000]
        except ray.exceptions.RayError as e:
            last["lost"] = (str(e) or type(e).__name__)[:2000]
        except Exception as e:  # noqa: BLE001  # whoever waits for it hears of it
            last["failed"] = f"{type(e).__name__}: {e}"[:2000]
        self.units.pop(ident, None)
        self.places.pop(ident, None)
        self.say(of=ident, end=True, parts=parts, **last)

    def stop(self, ident: int, force: bool) -> None:
        if (unit := self.units.get(ident)) is None:
            return
        if force or ident not in self.places:
            ray.cancel(unit, force=force)
        else:
            where = NodeAffinitySchedulingStrategy(self.places[ident], soft=False)
            task = ray.remote(ring).options(num_cpus=0, scheduling_strategy=where)
            task.remote(f"{self.name}-{ident}")

    def leave(self) -> None:
        """Its files, keys and log are gone. Its units end with it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for key in kv._internal_kv_list(self._key("").removesuffix(".zip")):
            kv._internal_kv_del(key)
        with contextlib.suppress(OSError):
            os.unlink(self.log)


def main(name: str, alone: float) -> None:
    def end(*_: object) -> None:
        raise SystemExit

    signal.signal(signal.SIGTERM, end)
    driver = Driver(name, alone)
    try:
        asyncio.run(driver.serve())
    finally:
        driver.leave()
