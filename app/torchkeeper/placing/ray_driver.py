"""What runs in a Ray cluster: the driver of a job, which puts units on nodes as tasks of Ray, and
those tasks. It goes there as text, and knows Ray and the standard library only.

What it is told are values of Ray's key-value store, counted from 0: a line of JSON, and bytes after
it. What it says are lines of files among the job's logs, each of which has a line of JSON and so
many lines of an engine's after it as that says; bytes are files beside them. For this is what the
HTTP server of a cluster takes and gives (``placing.ray``).
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

import ray
from ray.experimental import internal_kv as kv
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

#: Bytes of a part of a file; of a file of lines, until the next begins; of lines said at a time.
PART, LINES, SAID = 8 << 20, 4 << 20, 256 << 10
#: Seconds between two looks at what is told, and two words that it is alive.
LOOK, BEAT = 0.1, 5.0
#: Seconds between two words of a unit, and those that an engine has to end.
WORD, END = 0.2, 20.0
#: Empty lines at the end of a file of lines.
PADS = 10
#: What Ray says which devices a task has by.
DEVICES = (
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK",
    "ONEAPI_DEVICE_SELECTOR", "ASCEND_RT_VISIBLE_DEVICES", "TPU_VISIBLE_CHIPS",
    "HABANA_VISIBLE_MODULES",
)  # fmt: skip
#: Runs a command in the folder $0, which is gone after it, also where whoever started it is gone.
SHELL = """exec 3<&0
{ "$@"; had=$?; cd /; rm -rf -- "$0"; exit $had; } <&3 3<&- &
exec <&- 3<&- >&- 2>&-; wait $!"""


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


def work(unit: Any, sent: dict[str, list[Any]]) -> Iterator[Any]:
    """A task: an engine does one thing. Yields what it says, and then the bytes it wrote. sent: the
    parts of files, by their digests.
    """
    folder = tempfile.mkdtemp(prefix="torchkeeper-ray-")
    engine: Any = None
    try:
        yield {"folder": folder}
        inside = os.path.join(folder, "run")
        os.mkdir(inside)
        named = {}
        for count, (digest, parts) in enumerate(sent.items()):
            named[digest] = os.path.join(folder, f"{count}{unit['ends'][digest]}")
            if _written(named[digest], parts) != digest:
                raise ValueError("a file came otherwise than it was sent")
        params = dict(unit["params"])
        for name, some in unit["files"].items():
            params[name] = named[some] if isinstance(some, str) else [named[one] for one in some]
        output = os.path.join(folder, "output.torchcache")
        if unit["output"]:
            params["output"] = output
        command = [unit["python"] or sys.executable, "-c", unit["boot"], named[unit["code"]]]
        engine = subprocess.Popen(
            ["/bin/sh", "-c", SHELL, folder, *command], cwd=inside, env=variables(unit["whole"]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        log = deque[str](maxlen=200)
        logger = threading.Thread(target=_kept, args=(engine.stderr, log), daemon=True)
        logger.start()
        asked = {"id": 1, "op": unit["op"], "params": params}
        yield from _told(engine, asked, os.path.join(folder, "stop"))
        if unit["output"] and os.path.exists(output):
            made, size = hashlib.sha256(), 0
            with open(output, "rb") as file:
                while data := file.read(PART):
                    made.update(data)
                    size += len(data)
                    yield data
            yield {"made": size, "sha256": made.hexdigest()}
        engine.stdin.close()
        code = -1  # one that does not end has answered
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = engine.wait(END)
            logger.join(END)
        yield {"ended": code, "log": [line[:1000] for line in log][-5:]}
    finally:
        if engine is not None:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                engine.stdin.close()
                engine.wait(END)
            with contextlib.suppress(OSError):
                os.killpg(engine.pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def _written(path: str, parts: list[Any]) -> str:
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        for ref in parts:
            data = ray.get(ref)
            digest.update(data)
            file.write(data)
    return digest.hexdigest()


def _kept(stream: Any, log: deque[str]) -> None:
    while line := stream.readline(16 << 10):
        log.append(line.decode(errors="backslashreplace").rstrip("\n"))


def _told(engine: Any, asked: Any, stop: str) -> Iterator[Any]:
    """What an engine says, until it has answered, or is gone."""
    said: queue.Queue[bytes] = queue.Queue(4096)

    def listen() -> None:
        while line := engine.stdout.readline((1 << 20) + 1):
            said.put(line)
        said.put(b"")

    threading.Thread(target=listen, daemon=True).start()
    with contextlib.suppress(BrokenPipeError):
        engine.stdin.write(json.dumps(asked).encode() + b"\n")
        engine.stdin.flush()
    lines, size, stopped, since = [], 0, False, time.monotonic()
    answered, node = False, os.getppid()
    while not answered:
        if os.getppid() != node:
            raise ChildProcessError("Ray has ended on this node")  # its own processes may go on
        with contextlib.suppress(queue.Empty):
            line = said.get(timeout=WORD)
            lines.append(line if line.endswith(b"\n") else line + b"\n")
            size += len(line)
            answered = not line or _answers(line)
        if lines and (answered or size > SAID or time.monotonic() - since > WORD):
            yield {"said": [one.decode(errors="replace") for one in lines if one != b"\n"]}
            lines, size, since = [], 0, time.monotonic()
        if not stopped and os.path.exists(stop):
            stopped = True
            with contextlib.suppress(BrokenPipeError):
                engine.stdin.write(b'{"cancel":1}\n')
                engine.stdin.flush()


def _answers(line: bytes) -> bool:
    with contextlib.suppress(ValueError, RecursionError):
        message = json.loads(line)
        return isinstance(message, dict) and message.get("type") in ("result", "error")
    return True  # whoever asked refuses it


def ring(folder: str) -> None:
    """A task beside the unit that has this folder: it is to end early."""
    with contextlib.suppress(FileNotFoundError), open(os.path.join(folder, "stop"), "w"):
        pass


class Driver:
    """A job's driver. name: of the job, and what its keys and its folder begin with. alone: the
    seconds after which it ends where it is told nothing.
    """

    def __init__(self, name: str, alone: float) -> None:
        self.name, self.alone = name, alone
        log = os.readlink("/proc/self/fd/1")
        self.log, self.folder = log, os.path.join(os.path.dirname(log), name)
        os.mkdir(self.folder, 0o700)
        self.number, self.size = 0, 0
        self.out = open(os.path.join(self.folder, "said.0"), "ab")  # noqa: SIM115
        self.sent: dict[str, list[Any]] = {}
        self.units: dict[int, Any] = {}
        self.places: dict[int, tuple[str, str]] = {}
        self.heard = self.spoke = time.monotonic()
        self.tasks: set[Any] = set()
        self.ends = False

    def say(self, what: Any, lines: Any = ()) -> None:
        data = "".join([json.dumps({**what, "lines": len(lines)}) + "\n", *lines]).encode()
        self.out.write(data)
        self.size += len(data)
        if self.size > LINES and "more" not in what:
            path = os.path.join(self.folder, f"said.{self.number + 1}")
            following = open(path, "ab")  # noqa: SIM115
            self.say({"more": True})
            self.out.close()
            self.out, self.number, self.size = following, self.number + 1, 0
        self.out.flush()
        self.spoke = time.monotonic()

    async def serve(self) -> None:
        count = 0
        self.say({"ready": ray.__version__, "python": sys.version.split()[0]})
        while not self.ends and time.monotonic() - self.heard < self.alone:
            if kv._internal_kv_del(self._key("alive")):
                self.heard = time.monotonic()
            value = kv._internal_kv_get(self._key(str(count)))
            if value is None:
                await asyncio.sleep(LOOK)
            else:
                kv._internal_kv_del(self._key(str(count)))
                count, self.heard = count + 1, time.monotonic()
                head, _, body = value.partition(b"\n")
                self.take(json.loads(head), body)
                self.say({"taken": count})
            if time.monotonic() - self.spoke > BEAT:
                self.say({})
        for unit in self.units.values():
            ray.cancel(unit, force=True)
        self.say({"bye": True})
        await self.retire(self.number)

    def _key(self, what: str) -> str:
        return f"gcs://_ray_pkg_{self.name}-{what}.zip"

    def take(self, told: Any, body: bytes) -> None:
        """Do what is told."""
        if digest := told.get("file"):
            self.sent[digest] = []
        elif digest := told.get("part"):
            self.sent[digest].append(ray.put(body))
        elif digest := told.get("drop"):
            self.sent.pop(digest, None)
        elif "nodes" in told:
            self.nodes(told["of"])
        elif "run" in told:
            self.begin(self.follow(told["of"], told["run"]))
        elif "stop" in told:
            self.stop(told["stop"], told["force"])
        elif "done" in told:
            self.stop(told["done"], True)  # whoever asked has heard enough of it
            for name in os.listdir(self.folder):
                if name.startswith(f"made.{told['done']}."):
                    os.unlink(os.path.join(self.folder, name))
        elif "read" in told:
            self.begin(self.retire(told["read"]))
        elif "end" in told:
            self.ends = True

    def nodes(self, ident: int) -> None:
        for node in ray.nodes():
            if node["Alive"]:
                some = node.get("Resources", {})
                self.say({
                    "of": ident, "node": node["NodeID"],
                    "name": node.get("NodeName") or node["NodeManagerAddress"],
                    "cpus": some.get("CPU", 0.0), "gpus": some.get("GPU", 0.0),
                    "labels": node.get("Labels") or {},
                })  # fmt: skip
        self.say({"of": ident, "end": True})

    async def follow(self, ident: int, unit: Any) -> None:
        """Put a unit on its node, and say what comes of it."""
        count = 0
        try:
            files = {one: self.sent[one] for one in unit["ends"]}
            where = NodeAffinitySchedulingStrategy(unit["node"], soft=False)
            task = ray.remote(work).options(
                num_returns="streaming", max_retries=0, scheduling_strategy=where,
                num_cpus=unit["cpus"], num_gpus=unit["gpus"], name="torchkeeper",
            )  # fmt: skip
            made = self.units[ident] = task.remote(unit, files)
            async for ref in made:
                item = await ref
                if isinstance(item, bytes):
                    with open(os.path.join(self.folder, f"made.{ident}.{count}"), "wb") as file:
                        file.write(item)
                    count += 1
                elif "folder" in item:
                    self.places[ident] = unit["node"], item["folder"]
                else:
                    lines = item.pop("said", ())
                    self.say({"of": ident, **item}, lines)
        except ray.exceptions.TaskCancelledError:
            self.say({"of": ident, "cancelled": True})
        except ray.exceptions.RayTaskError as e:
            # It is the node that has ended, and not the unit that has failed.
            how = "lost" if isinstance(e.cause, ChildProcessError) else "failed"
            self.say({"of": ident, how: f"{type(e.cause).__name__}: {e.cause}"[:2000]})
        except ray.exceptions.RayError as e:
            self.say({"of": ident, "lost": (str(e) or type(e).__name__)[:2000]})
        except Exception as e:  # noqa: BLE001  # whoever waits for it hears of it
            self.say({"of": ident, "failed": f"{type(e).__name__}: {e}"[:2000]})
        self.units.pop(ident, None)
        self.places.pop(ident, None)
        self.say({"of": ident, "end": True, "parts": count})

    def stop(self, ident: int, force: bool) -> None:
        if (unit := self.units.get(ident)) is None:
            return
        if force or ident not in self.places:
            ray.cancel(unit, force=force)
        else:
            node, folder = self.places[ident]
            where = NodeAffinitySchedulingStrategy(node, soft=False)
            ray.remote(ring).options(num_cpus=0, scheduling_strategy=where).remote(folder)

    def begin(self, what: Any) -> None:
        task = asyncio.get_running_loop().create_task(what)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def retire(self, number: int) -> None:
        """Remove a file of lines. Who follows it there sees that nobody listens any more only when
        there is more to send.
        """
        path = os.path.join(self.folder, f"said.{number}")
        for _ in range(PADS):
            await asyncio.sleep(WORD)
            with open(path, "ab") as file:
                file.write(b"\n")
        os.unlink(path)

    def leave(self) -> None:
        """Its files, keys and log are gone. Its units end with it."""
        self.out.close()
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
