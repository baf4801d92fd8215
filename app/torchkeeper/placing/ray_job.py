"""The one job that a target has in a Ray cluster while it is used (``placing.ray_driver``).

What it is told goes as packages, which Ray's Jobs API takes; what it says, and the bytes of
bundles, come as files among the job's logs, which Ray's log API gives. Both are numbered, so that
what was cut off is asked for again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import IO, NamedTuple, TypedDict, cast

from torchkeeper.client.words.problems import UserError, failing_as, printable, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.engine.protocol import WireError, decode, misfit
from torchkeeper.placing.ray_http import Away, Refused, Server, log, package
from torchkeeper.placing.target import Lost

#: Bytes of a part of a file that goes; messages that the driver has not taken yet; bytes of files
#: that it keeps although no unit needs them; lines of an engine at a time; bytes of what it says.
PART, _WINDOW, _KEPT, _LINES, _MOST = 8 << 20, 6, 2 << 30, 1 << 16, 8 << 20
#: Seconds between two looks at what it says, while it says something, and at most.
_SOON, _LATE = 0.1, 0.5
#: Seconds between two looks, and two words that we are alive; seconds for which a cluster that is
#: away is waited for, that a job has to begin, and to end.
TURN, _BEAT, PATIENCE, _BEGIN, _END = 0.2, 20.0, 90.0, 180.0, 30.0
#: Seconds after which a job that hears nothing of us ends.
ALONE = 300.0
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


class Said(TypedDict, total=False):
    """What the driver says: of which unit, with so many lines of its engine after it."""

    lines: int
    of: int
    more: bool
    bye: bool
    ready: str
    taken: int
    node: str
    name: str
    cpus: float
    gpus: float
    labels: Mapping[str, str]
    made: int
    sha256: str
    ended: int
    log: list[str]
    cancelled: bool
    failed: str
    lost: str
    end: bool
    parts: int


class Heard(NamedTuple):
    said: Said
    lines: list[bytes]


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
        self._waiting = dict[int, queue.SimpleQueue[Heard]]()
        #: The files that it has, the last used last, with their sizes; how many units need each.
        self._files, self._needed = dict[str, int](), dict[str, int]()
        #: Why it is gone.
        self.lost: UserError | None = None
        self._ready, self._over = threading.Event(), threading.Event()
        self._listener = threading.Thread(target=self._listen, name="ray", daemon=True)
        try:
            server.find()
            driver = Path(__file__).with_name("ray_driver.py").read_bytes()
            server.ask("PUT", package(f"{self.name}-driver"), driver)
            self._submit()
            self._node = self._begun()
        except (Away, Refused) as e:
            raise self._gone(e) from e
        self._listener.start()
        if not self._ready.wait(_BEGIN) or self.lost:
            self.end()
            raise self.lost or self._gone(tr("The job does not begin."))

    def _gone(self, why: object) -> UserError:
        return user_error("ray-away", {"target": self._target, "why": str(why)})

    def _submit(self) -> None:
        """Raises Away and Refused; a cluster that has just begun refuses for some seconds."""
        late = time.monotonic() + _END
        asked = {
            "entrypoint": _BEGIN_BY.format(name=self.name, alone=ALONE),
            "submission_id": self.name,
            "metadata": {"job_name": "torchkeeper"},
        }
        while True:
            try:
                self._server.json("POST", "/api/jobs/", asked)
                return
            except Refused as e:
                if e.status < HTTPStatus.INTERNAL_SERVER_ERROR or time.monotonic() > late:
                    raise
                time.sleep(TURN)

    def _begun(self) -> str:
        """The node that the driver is on, once that is known."""
        late = time.monotonic() + _BEGIN
        while time.monotonic() < late:
            told = self._server.json("GET", f"/api/jobs/{self.name}")
            if isinstance(node := told.get("driver_node_id"), str):
                return node
            if told.get("status") not in ("PENDING", "RUNNING"):
                raise Refused(200, printable(str(told.get("message")), 1000))
            time.sleep(TURN)
        self.end()
        raise Refused(200, tr("The job does not begin."))

    # What it says.

    def _listen(self) -> None:
        number, at, pause = 0, 0, _SOON
        heard = spoke = time.monotonic()
        while self.lost is None:
            time.sleep(pause)
            pause = min(pause * 1.5, _LATE)
            try:
                path = log(self._node, f"{self.name}/said.{number}")
                for one, end in groups(self._server.ask("GET", path, most=_MOST), at):
                    at, heard, pause = end, time.monotonic(), _SOON
                    self._hear(one)
                    if one.said.get("more"):
                        self.tell({"read": number}, waits=False)
                        number, at = number + 1, 0
                        break
                if heard - spoke > _BEAT:
                    spoke = heard
                    self._server.ask("PUT", package(f"{self.name}-alive"), b"1")
            except Lost:
                pass  # it was said to all
            except WireError as e:
                self._lose(tr("It does not say what is expected: {why}.", why=e))
            except (Away, Refused) as e:
                if self._over.is_set():
                    self._lose(tr("It was closed."))
                elif why := self._ended():
                    self._lose(why)
                elif time.monotonic() - heard > PATIENCE:
                    self._lose(e)

    def _ended(self) -> str:
        """Why the job is over; "" where it is not, or nobody can be asked."""
        try:
            told = self._server.json("GET", f"/api/jobs/{self.name}")
        except Away:
            return ""
        except Refused as e:
            return str(e) if e.status == HTTPStatus.NOT_FOUND else ""
        if told.get("status") in ("PENDING", "RUNNING"):
            return ""
        return printable(str(told.get("message") or told.get("status")), 1000)

    def _hear(self, one: Heard) -> None:
        with self._changed:
            self._taken = one.said.get("taken", self._taken)
            self._changed.notify_all()
        if "ready" in one.said:
            self._ready.set()
        if one.said.get("bye"):
            self._lose(tr("It was closed."))
        if waiting := self._waiting.get(one.said.get("of", 0)):
            waiting.put(one)

    def _lose(self, why: object) -> None:
        """It is gone: whoever waits hears of it, and Ray forgets in time what it did not take."""
        with self._changed:
            self.lost = self._gone(why)
            self._changed.notify_all()
        self._ready.set()
        for waiting in list(self._waiting.values()):
            waiting.put(Heard({"lost": str(why), "end": True}, []))
        with contextlib.suppress(Away, Refused):
            for name in ("driver", "alive", *range(self._taken, self._told + 1)):
                self._server.ask("GET", package(f"{self.name}-{name}"))

    # What it is told.

    def tell(self, what: Mapping[str, object], body: bytes = b"", waits: bool = True) -> None:
        """Tell it; waits while it has not taken what came before. Raises Lost."""
        data = json.dumps(what).encode() + b"\n" + body
        late = time.monotonic() + PATIENCE
        with self._telling:
            with self._changed:
                while waits and self.lost is None and self._told - self._taken >= _WINDOW:
                    self._changed.wait()
            while self.lost is None:
                try:
                    self._server.ask("PUT", package(f"{self.name}-{self._told}"), data)
                except Away as e:
                    if time.monotonic() > late:
                        raise Lost(self._gone(e)) from e
                    time.sleep(TURN)
                except Refused as e:
                    raise Lost(self._gone(e)) from e
                else:
                    self._told += 1
                    return
        raise Lost(self.lost)

    @contextlib.contextmanager
    def having(self, files: Iterable[str]) -> Iterator[list[str]]:
        """The digests of files, which it has while that lasts. Raises Lost and UserError."""
        found = list[str]()
        try:
            for file in files:
                with failing_as("bundle-unreadable", file=file), open(file, "rb") as source:
                    digest = hashlib.file_digest(source, "sha256").hexdigest()
                    with self._sending:
                        self._needed[digest] = self._needed.get(digest, 0) + 1
                        found.append(digest)
                        self._send(digest, source)
            yield found
        finally:
            with self._sending:
                for digest in found:
                    self._needed[digest] -= 1
                with contextlib.suppress(Lost):
                    self._drop()

    def _send(self, digest: str, source: IO[bytes]) -> None:
        """Each goes once."""
        if digest in self._files:
            self._files[digest] = self._files.pop(digest)
            return
        source.seek(0)
        self.tell({"file": digest})
        while data := source.read(PART):
            self.tell({"part": digest}, data)
        self._files[digest] = source.tell()

    def _drop(self) -> None:
        """What no unit needs goes, the oldest first, where it is much."""
        idle = [one for one in self._files if not self._needed[one]]
        while idle and sum(self._files.values()) > _KEPT:
            del self._files[idle[0]]
            self.tell({"drop": idle.pop(0)})

    @contextlib.contextmanager
    def ask(self, what: Mapping[str, object]) -> Iterator[tuple[int, Callable[[], Heard | None]]]:
        """Ask it for something: the number of that, and what gives what is said of it, or None
        after a moment. Raises Lost.
        """
        with self._changed:
            self._asked += 1
            ident = self._asked
        heard = self._waiting[ident] = queue.SimpleQueue[Heard]()

        def get() -> Heard | None:
            if self.lost and heard.empty():
                raise Lost(self.lost)
            with contextlib.suppress(queue.Empty):
                return heard.get(timeout=TURN)
            return None

        try:
            self.tell({**what, "of": ident})
            yield ident, get
        finally:
            del self._waiting[ident]
            with contextlib.suppress(Lost):
                self.tell({"done": ident}, waits=False)

    def part(self, name: str) -> bytes:
        """A file of it, of PART bytes at most. Raises Lost."""
        late = time.monotonic() + PATIENCE
        while self.lost is None:
            try:
                return self._server.ask("GET", log(self._node, f"{self.name}/{name}"), most=PART)
            except Away as e:
                if time.monotonic() > late:
                    raise Lost(self._gone(e)) from e
                time.sleep(TURN)
            except Refused as e:
                raise Lost(self._gone(e)) from e
        raise Lost(self.lost)

    def end(self) -> None:
        """Nothing of it goes on in the cluster, and no file stays. Waits, but for no cluster that
        is away: there it ends after ALONE seconds.
        """
        begun = self._ready.is_set() and self.lost is None
        with contextlib.suppress(Lost):
            if begun:
                self.tell({"end": True}, waits=False)
        self._over.set()
        if self._listener.ident:
            self._listener.join(_END)
        late = time.monotonic() + _END * begun
        with contextlib.suppress(Away, Refused):
            while self._runs():
                if time.monotonic() > late:
                    self._server.json("POST", f"/api/jobs/{self.name}/stop")
                    break
                time.sleep(TURN)

    def _runs(self) -> bool:
        """Raises Away and Refused."""
        told = self._server.json("GET", f"/api/jobs/{self.name}")
        return told.get("status") in ("PENDING", "RUNNING")


def groups(data: bytes, at: int = 0) -> Iterator[tuple[Heard, int]]:
    """What is said from there on, and where each ends; not what has not come whole. Raises
    WireError.
    """
    while (end := data.find(b"\n", at) + 1) > 0:
        said = decode(data[at:end])
        if why := misfit(Said, said, "line"):
            raise WireError(why)
        count = cast("Said", said).get("lines", 0)
        if not 0 <= count <= _LINES:
            raise WireError("too many lines at a time")
        *lines, rest = data[end:].split(b"\n", count)
        if len(lines) < count:
            return
        at = len(data) - len(rest)
        yield Heard(cast("Said", said), [line + b"\n" for line in lines]), at
