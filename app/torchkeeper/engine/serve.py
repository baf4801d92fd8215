"""The engine: a thread takes requests and cancels from standard input, another works them off."""

from __future__ import annotations

import contextlib
import contextvars
import gc
import importlib
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.artifacts.version import VERSION
from torchkeeper.engine import answers, filled, home, protocol
from torchkeeper.engine.fence import Fence
from torchkeeper.engine.protocol import TABLE, Operation, Owned
from torchkeeper.engine.session import Session
from torchkeeper.stores import places
from torchkeeper.stores.folders import owners
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.stores import shapes

#: Seconds an engine without an app has to clean up after what it was doing.
PATIENCE = 15.0
#: Seconds at most that an engine's end waits for others' folders to be swept away.
SWEEPING = 0.05
#: Characters of a text in an error that does not fit a line.
_SHORT = 4000
#: Seconds between two words about how far a request is: there may be one for each of many files.
TELLING = 0.05
#: Steps that are few enough to be told each.
FEW = 100
#: Bytes of requests that wait, of a key that is let in for some folders alone, and seconds between
#: two looks whether there are fewer.
_WAITING, _PAUSE = 4 << 20, 0.02
#: Rows in the first message that has any: somebody waits for something to look at.
FIRST_ROWS = 100


class Out:
    """The line to the app; whole lines only, from any thread."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self._lock = threading.Lock()

    def send(self, obj: Mapping[str, object]) -> None:
        line = protocol.encode(obj)
        with self._lock:
            self.stream.write(line)
            self.stream.flush()


class Request(Report):
    #: Seconds between two words about how far it is.
    telling = TELLING

    def __init__(self, out: Out, ident: int, size: int = 0) -> None:
        self._out = out
        self._ident = ident
        self.size = size
        self.cancelled = threading.Event()
        self._begun = False
        self._told = ("", 0.0)
        #: What was not told, as it came too soon after something else.
        self._untold: tuple[int, int | None, str] | None = None

    def send(self, kind: str, **body: Any) -> None:
        self._out.send({"type": kind, "id": self._ident, **body})

    def relay(self, body: Mapping[str, Any]) -> None:
        self._out.send({**body, "id": self._ident})

    def progress(self, done: int, total: int | None, unit: str) -> None:
        now = time.monotonic()
        # Of a few steps each may take long, so that none may hide behind the one before.
        few = total is not None and total <= FEW
        if few or done == total or unit != self._told[0] or now - self._told[1] >= self.telling:
            self._told, self._untold = (unit, now), None
            self.send("progress", done=done, total=total, unit=unit)
        else:
            self._untold = done, total, unit

    def rows(self, rows: Sequence[Mapping[str, object]]) -> None:
        start = 0
        while start < len(rows):
            most = protocol.MAX_ROWS if self._begun else FIRST_ROWS
            self._begun = True
            self._send_rows(rows[start : start + most])
            start += most

    def _send_rows(self, rows: Sequence[Mapping[str, object]]) -> None:
        try:
            self.send("rows", rows=rows)
        except protocol.WireError:
            # File names that are not text grow sixfold on the wire.
            if not (half := len(rows) // 2):
                raise
            self._send_rows(rows[:half])
            self._send_rows(rows[half:])

    def finding(self, **what: Any) -> None:
        self.send("finding", **what)

    def check(self) -> None:
        if self.cancelled.is_set():
            raise Cancelled
        if self._untold is not None:  # by now it may be time
            self.progress(*self._untold)


#: A request, its operation, and its parameters before they are checked.
_Asked = tuple[Request, str, Mapping[str, object]]


class _Requests(queue.Queue["_Asked | None"]):
    """What is to be answered, by one thread, and comes from another. came, done: its bytes."""

    came = done = 0

    def waiting(self) -> int:
        return self.came - self.done


def main(fenced: str = "", package: str = "engine") -> None:
    """Serve standard input and output. fenced: what may be asked (a ``Fence``), where not all.
    package: whose operations are served besides those that travel.
    """
    # A big folder is some hundred thousand small tuples, none of them garbage: looking through
    # them again and again would take a fifth of a listing.
    gc.set_threshold(2_000_000, 10, 10)
    # Paths may be two thousand folders deep, and os.makedirs and shutil.rmtree recurse.
    sys.setrecursionlimit(5000)
    folder = home.keep()
    stdin, stdout = _take_streams()
    out = Out(stdout)
    hello = {
        "type": "hello",
        "protocol": protocol.PROTOCOL,
        "version": VERSION,
        "executable": sys.executable,
        "python": sys.version.split()[0],
        "operations": sorted(TABLE),
    }
    try:
        out.send(hello)
    except BrokenPipeError:
        # The app was gone before it had an engine.
        home.leave(folder)
        os._exit(1)
    requests = _Requests()
    running: dict[int, Request] = {}
    # What a sitecustomize has set in torch's configuration is so in the main thread alone, where
    # programs run (ContextVars, in torch/utils/_config_module.py); here requests are worked off.
    context = contextvars.copy_context()
    fence = Fence.from_json(fenced) if fenced else None
    work = (_work, requests, running, fence, package)
    worker = threading.Thread(target=context.run, args=work, name="worker")
    worker.start()
    sweeper = threading.Thread(target=home.sweep, args=(folder,), name="sweeper", daemon=True)
    sweeper.start()

    def stop(*_: object) -> None:
        for request in list(running.values()):
            request.alone |= not request.cancelled.is_set()
            request.cancelled.set()
        requests.put(None)

    signal.signal(signal.SIGTERM, lambda *_: os._exit(_drain(stop, worker)))
    lines = protocol.Lines()
    try:
        while data := stdin.read1(1 << 16):  # type: ignore[attr-defined]
            for line in lines.feed(data):
                _take(line, out, requests, running, fence)
                while fence and worker.is_alive() and requests.waiting() > _WAITING:
                    time.sleep(_PAUSE)
    except protocol.WireError:
        _refuse(out)  # a line without an end: nothing can follow it
    finally:
        stop()
        worker.join(PATIENCE)
        sweeper.join(SWEEPING)
        home.leave(folder)
        if worker.is_alive():
            # It hangs in the system, on a dead mount perhaps; nobody is left to hear of it.
            os._exit(1)
    # Taking a big listing apart piece by piece would take longer than all of its rows did.
    sys.stderr.flush()
    os._exit(0)


def _drain(stop: Callable[[], None], worker: threading.Thread) -> int:
    """Let the running request clean up after itself; whoever sent SIGTERM will not wait long."""
    stop()
    worker.join(1.5)
    return 143


def _take_streams() -> tuple[BinaryIO, BinaryIO]:
    """The wire's own descriptors; 0 and 1 are then safe from whatever torch or a user prints."""
    stdin = os.fdopen(os.dup(0), "rb")
    stdout = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return stdin, stdout


def _refuse(out: Out) -> None:
    error = {"code": "request-malformed", "params": {}}
    out.send({"type": "error", "id": None, "error": error})


def _take(
    line: bytes, out: Out, requests: _Requests, running: dict[int, Request], fence: Fence | None
) -> None:
    try:
        obj = protocol.decode(line)
    except protocol.WireError:
        return _refuse(out)
    if "read" in obj and not fence:
        module = importlib.import_module("torchkeeper.engine.detached")
        return cast("None", module.forget(str(obj["read"])))
    if "answer" in obj and not fence:
        return answers.answer(obj)
    ident, op, params = obj.get("cancel", obj.get("id")), obj.get("op"), obj.get("params", {})
    if not isinstance(ident, int) or isinstance(ident, bool):
        return _refuse(out)
    if "cancel" in obj:
        if found := running.get(ident):
            found.cancelled.set()
        return None
    if not isinstance(op, str) or not isinstance(params, dict):
        return _refuse(out)
    request = running[ident] = Request(out, ident, len(line))
    requests.came += request.size
    requests.put((request, op, params))
    return None


def _work(
    requests: _Requests, running: dict[int, Request], fence: Fence | None, package: str
) -> None:
    session = Session()
    # What a window asks for first: loaded while nobody has asked yet.
    importlib.import_module("torchkeeper.engine.operations")
    while item := requests.get():
        request, op, params = item
        try:
            answer(session, request, op, params, fence, package)
        except BrokenPipeError:
            return  # the app is gone
        finally:
            requests.done += request.size
            session.remains = None
            for ident, other in list(running.items()):
                if other is request:
                    del running[ident]
    session.close()


def answer(
    session: Session,
    request: Request,
    op: str,
    params: Mapping[str, object],
    fence: Fence | None = None,
    package: str = "engine",
) -> None:
    def fail(code: str, **about: Any) -> None:
        try:
            request.send("error", error={"code": code, "params": about})
        except protocol.WireError:
            # What it is about is what was asked, and grows where it is not plain text.
            short = {k: v[:_SHORT] if isinstance(v, str) else v for k, v in about.items()}
            request.send("error", error={"code": code, "params": short})

    operation = TABLE.get(op)
    if operation is None or operation.package not in ("engine", package):
        return fail("operation-unknown", operation=op[:80])
    try:
        if why := protocol.misfit(operation.params, params, "params"):
            return fail("request-malformed", why=why)
        if fence:
            fence.check(op, params)
        request.check()
        result = perform(operation, session, params, request)
        request.send("result", result=result)
    except Cancelled:
        fail("cancelled")
    except Problem as problem:
        fail(problem.code, **problem.params)
    except BrokenPipeError:
        raise
    except (KeyError, TypeError, AttributeError) as e:
        _log_traceback()
        fail("request-malformed", why=f"{type(e).__name__}: {e}"[:200])
    except Exception as e:  # noqa: BLE001 - a bug must reach the app, not end the engine
        _log_traceback()
        fail("engine-bug", why=f"{type(e).__name__}: {e}"[:400])
    return None


def _point_out(session: Session, of: Owned, params: Mapping[str, object], report: Report) -> None:
    """Tell who else can change the place that an operation changes or runs programs with."""
    place = params.get(of.parameter) or (places.default_folder() if of.runs else None)
    if not isinstance(place, str):
        return
    found: Sequence[shapes.Owned] | None = None
    if not scheme_of(place).local:
        # What is wrong with it the operation says itself.
        with contextlib.suppress(Problem), session.store(place, report) as store:
            found = store.owners()
    elif os.path.isabs(place) and "\0" not in place and not (of.only_servers or params.get("dry")):
        found = owners.of_program(place) if of.runs else owners.glance(place)
    if found:
        report.finding(owners=found)


def perform(
    operation: Operation, session: Session, params: Mapping[str, Any], report: Report
) -> Mapping[str, Any]:
    """The result of an operation, whose parameters were checked. Raises Problem and Cancelled. The
    module of its handler is loaded at its first request, for a quick start.
    """
    module, name = operation.handler.split(".")
    package = f"torchkeeper.{operation.package}"
    handler = getattr(importlib.import_module(f"{package}.{module}"), name)
    for place in operation.owned:
        _point_out(session, place, params, report)
    result: Mapping[str, Any] = handler(session, params, report)
    if operation.fills and not params.get("dry"):
        filled.note(params.get(operation.changes))
    return result


def _log_traceback() -> None:
    import traceback

    traceback.print_exc()


if __name__ == "__main__":
    main()
