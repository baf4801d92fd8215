"""The one job that a target has in a Ray cluster while it is used (``placing.ray_driver``).

What it is told goes as packages, which Ray's Jobs API takes; what it says are lines at the end of
its log, and the bytes of bundles are files beside that, which Ray's log API gives. All is counted,
so that what was cut off is asked for again.
"""

from __future__ import annotations

import contextlib
import json
import math
import queue
import secrets
import threading
import time
from collections.abc import Generator, Mapping
from http import HTTPStatus
from pathlib import Path

from torchkeeper.client.words.problems import UserError, failing_as, printable, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.engine.protocol import WireError
from torchkeeper.placing.ray_http import Away, Line, Refused, Server, Word, lines, log, package
from torchkeeper.placing.target import Lost

#: Bytes of a part of a file, of an answer, of what it says at a time, and of files that it keeps.
PART, _ANSWER, _MOST, _KEPT = 8 << 20, 1 << 20, 64 << 20, 2 << 30
#: Messages that it has not taken yet; lines that are asked for, at first and at most.
_WINDOW, _TAIL, _ALL = 6, 16, 1 << 20
#: Seconds between two looks at what it says, while it says something, and at most.
_SOON, _LATE = 0.1, 0.5
#: Seconds between two looks, and two words that we are alive; seconds for which a cluster that is
#: away is waited for, until its job is asked for if it is silent, that it has to begin, and to end.
TURN, _BEAT, PATIENCE, _SILENT, _BEGIN, _END = 0.2, 20.0, 90.0, 15.0, 180.0, 30.0
#: Seconds that a stopped unit has to tell what it did; after which a job that hears nothing ends.
_STOPPING, ALONE = 120.0, 180.0
#: Starts the driver, under the Python on the node's PATH that has Ray.
_BEGIN_BY = """
for python in python python3; do
  "$python" -c 'import importlib.metadata as has; has.version("ray")' 2>/dev/null &&
  exec "$python" -c "import ray; from ray.experimental import internal_kv as kv
ray.init(log_to_driver=False, logging_level='ERROR')
exec(kv._internal_kv_get('gcs://_ray_pkg_{name}-driver.zip')); main('{name}', {alone})"
done
echo 'No python on the PATH has Ray.'; exit 1
"""
_ON = ("PENDING", "RUNNING")


class Job:
    """A job in the cluster, for any number of threads. target: as people name the cluster. Raises
    UserError where it does not begin.
    """

    def __init__(self, server: Server, target: str) -> None:
        self._server, self._target = server, target
        self.name = f"torchkeeper-{secrets.token_hex(8)}"
        self._telling, self._sending = threading.Lock(), threading.Lock()
        self._changed = threading.Condition()
        self._told = self._taken = self._asked = 0
        self._waiting = dict[int, queue.SimpleQueue[Word]]()
        #: The files that it has, the last used last, with their sizes.
        self._files = dict[str, int]()
        #: Why it is gone.
        self.lost: UserError | None = None
        self._ready, self._over = threading.Event(), threading.Event()
        self._listener = threading.Thread(target=self._listen, name="ray", daemon=True)
        try:
            driver = Path(__file__).with_name("ray_driver.py").read_bytes()
            # One that is not there at all is not waited for.
            self._ask("PUT", package(f"{self.name}-driver"), driver, patience=0)
            self._ask("POST", "/api/jobs/", json.dumps({
                "entrypoint": _BEGIN_BY.format(name=self.name, alone=ALONE),
                "submission_id": self.name, "metadata": {"job_name": "torchkeeper"},
            }).encode())  # fmt: skip
            late = time.monotonic() + _BEGIN
            while not isinstance(node := (told := self._status()).get("driver_node_id"), str):
                if (why := _ended(told)) or time.monotonic() > late:
                    raise Lost(self._gone(why or tr("The job does not begin.")))
                time.sleep(TURN)
            self._node = node
            self._listener.start()
            if not self._ready.wait(_BEGIN) or self.lost:
                raise Lost(self.lost or self._gone(tr("The job does not begin.")))
        except Lost as e:
            self.end()
            raise e.why from e

    def _gone(self, why: object) -> UserError:
        return user_error("ray-away", {"target": self._target, "why": str(why)})

    def _ask(
        self, method: str, path: str, body: bytes = b"", most: int = _ANSWER,
        patience: float = math.inf,
    ) -> bytes:  # fmt: skip
        """The answer of a cluster, which is waited for while it is away, or just begins and refuses
        all. Raises Lost.
        """
        late = time.monotonic() + min(patience, PATIENCE)
        while self.lost is None:
            why: object
            try:
                return self._server.ask(method, path, body, most)
            except Away as e:
                why = e
            except Refused as e:
                why, told = e, self._status()
                if told and method == "POST":
                    return b""  # it came when it was asked for first
                if e.status < HTTPStatus.INTERNAL_SERVER_ERROR or _ended(told):
                    raise Lost(self._gone(_ended(told) or e)) from e
            if time.monotonic() > late:
                raise Lost(self._gone(why))
            time.sleep(TURN)
        raise Lost(self.lost)

    def _status(self) -> Mapping[str, object]:
        """What Ray says of the job; nothing where it knows none, or nobody can be asked."""
        try:
            return self._server.json(f"/api/jobs/{self.name}")
        except Refused as e:
            gone = e.status == HTTPStatus.NOT_FOUND and self._ready.is_set()
            return {"status": "GONE", "message": str(e)} if gone else {}
        except Away:
            return {}

    # What it says.

    def _listen(self) -> None:
        count, pause = 0, _SOON
        heard = spoke = time.monotonic()
        try:
            while not self._over.wait(pause):
                pause, now = min(pause * 1.5, _LATE), time.monotonic()
                for line in self._lines(count):
                    count, heard, pause = count + 1, now, _SOON
                    for word in line["words"]:
                        self._hear(word)
                if now - spoke > _BEAT:
                    spoke = now
                    self.tell({})
                why = _ended(self._status()) if now - heard > _SILENT else ""
                if now - heard > _BEGIN:
                    why = why or tr("Nothing is heard of the job any more.")
                if why:
                    raise Lost(self._gone(why))
            self._lose(self._gone(tr("It was closed.")))
        except Lost as e:
            self._lose(e.why)
        except WireError as e:
            self._lose(self._gone(tr("It does not say what is expected: {why}.", why=e)))

    def _lines(self, count: int) -> list[Line]:
        """Its lines from there on. Raises Lost and WireError."""
        most = _TAIL
        while True:
            path = log(self._node, f"job-driver-{self.name}.log", most)
            found = lines(self._ask("GET", path, most=_MOST))
            if not found or found[0]["line"] <= count or most > _ALL:
                break
            most = 2 * (most + found[-1]["line"] - count)
        found = [one for one in found if one["line"] >= count]
        if [one["line"] for one in found] != list(range(count, count + len(found))):
            raise WireError("lines are missing")
        return found

    def _hear(self, word: Word) -> None:
        with self._changed:
            self._taken = word.get("taken", self._taken)
            self._changed.notify_all()
        if "ready" in word:
            self._ready.set()
        if waiting := self._waiting.get(word.get("of", 0)):
            waiting.put(word)

    def _lose(self, why: UserError) -> None:
        """It is gone: whoever waits hears of it, and Ray forgets in time what it did not take."""
        with self._changed:
            self.lost = why
            self._changed.notify_all()
        self._ready.set()
        first = max(self._taken, self._told - 2 * _WINDOW)
        with contextlib.suppress(Away, Refused):
            for name in ("driver", *range(first, self._told + 1)):
                self._server.ask("GET", package(f"{self.name}-{name}"))

    # What it is told.

    def tell(
        self, what: Mapping[str, object], body: bytes = b"", patience: float = math.inf
    ) -> None:
        """Tell it; with a body it waits while it has not taken what came before. Raises Lost."""
        data = json.dumps(what).encode() + b"\n" + body
        with self._changed:
            while body and self.lost is None and self._told - self._taken >= _WINDOW:
                self._changed.wait()
        with self._telling:
            path = package(f"{self.name}-{self._told}")
            self._ask("PUT", path, data, patience=patience)
            self._told += 1

    def _send(self, files: Mapping[str, str]) -> None:
        """Have it have files, by their digests; each goes once. What was not used for long goes,
        where it is much: a unit that has begun keeps its own. Raises Lost and UserError.
        """
        for digest, file in files.items():
            if (size := self._files.pop(digest, None)) is None:
                with failing_as("bundle-unreadable", file=file), open(file, "rb") as source:
                    parts = iter(lambda: source.read(PART), b"")
                    for number, data in enumerate(parts):
                        self.tell({"part": digest, "number": number}, data)
                    size = source.tell()
            self._files[digest] = size
        for digest in [one for one in self._files if one not in files]:
            if sum(self._files.values()) > _KEPT:
                del self._files[digest]
                self.tell({"drop": digest})

    def ask(
        self, what: Mapping[str, object], stop: threading.Event | None = None,
        files: Mapping[str, str] | None = None,
    ) -> Generator[Word, None, None]:  # fmt: skip
        """Ask it for something: what is said of that, until its end; to be closed. stop: asks for
        an early end. files: by their digests, which it needs for that. Raises Lost and UserError.
        """
        with self._changed:
            self._asked += 1
            ident = self._asked
        heard = self._waiting[ident] = queue.SimpleQueue[Word]()
        word, forced = Word(), math.inf
        try:
            with self._sending:
                self._send(files or {})
                self.tell({**what, "of": ident})
            while not word.get("end"):
                if stop and stop.is_set() and (forced == math.inf or time.monotonic() > forced):
                    self.tell({"stop": ident, "force": forced < math.inf})
                    forced = time.monotonic() + _STOPPING
                try:
                    yield (word := heard.get(timeout=TURN))
                except queue.Empty:
                    if self.lost:
                        raise Lost(self.lost) from None
        finally:
            del self._waiting[ident]
            with contextlib.suppress(Lost):
                self.tell({"done": ident})

    def part(self, ident: int, number: int) -> bytes:
        """A part of what a unit wrote, of PART bytes at most. Raises Lost."""
        return self._ask("GET", log(self._node, f"{self.name}/{ident}/{number}"), most=PART)

    def end(self) -> None:
        """Nothing of it goes on in the cluster, and no file stays. Waits, but for no cluster that
        is away: there it ends after ALONE seconds.
        """
        told = self._ready.is_set() and self.lost is None
        with contextlib.suppress(Lost):
            if told:
                self.tell({"end": True}, patience=0)
        self._over.set()
        if self._listener.ident:
            self._listener.join(_END)
        late = time.monotonic() + _END * told
        while self._status().get("status") in _ON:
            if time.monotonic() > late:
                with contextlib.suppress(Away, Refused):
                    self._server.ask("POST", f"/api/jobs/{self.name}/stop")
                break
            time.sleep(TURN)


def _ended(told: Mapping[str, object]) -> str:
    """Why a job is over, by what Ray says of it; "" where it is not, or that is not known."""
    if not told or told.get("status") in _ON:
        return ""
    return printable(str(told.get("message") or told.get("status")), 1000)
