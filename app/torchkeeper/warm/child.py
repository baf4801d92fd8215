"""What every process has in common that an engine starts to work with torch.

The engine (following.py) writes one JSON line with what to do to its standard input, and lines
with more to do, where the work asks for them; it answers with JSON lines, each with one thing:
``result``, ``problem``, ``failed``, or what the work tells of itself. When its standard input
closes, its engine is gone, and it ends with all it started; what the first line says of ``after``
is seen to then (processes.py).
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import importlib.util
import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from torchkeeper.artifacts.entry import Problem
from torchkeeper.warm import processes

if TYPE_CHECKING:
    from torchkeeper.warm.workers import Sent

Tell = Callable[..., None]

#: The folder of ``home``, once it is known.
_HOME: list[str] = []
#: Seconds that a process may take to end once it has told its result.
LEAVE = 3.0
#: What the engine sends after its first line.
MORE: queue.SimpleQueue[Sent] = queue.SimpleQueue()


def serve(work: Callable[[Any, Tell], Mapping[str, object]]) -> NoReturn:
    """Do the one piece of work that is asked for, tell its result, and exit: 0 done, 1 not done."""
    _HOME.append(os.getcwd())
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    requests = os.dup(0)
    # From here on torch, compilers and recipes may print, and read, what they like.
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    # Line by line, so that the log is live and in order.
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    lock = threading.Lock()

    def tell(**what: Any) -> None:
        with lock:
            answers.write(json.dumps(what).encode() + b"\n")

    job, rest = _request(requests)
    after: processes.After = job.get("after", {})
    arguments = (requests, rest, functools.partial(processes.start, after))
    threading.Thread(target=_watch, args=arguments, name="engine-watch", daemon=True).start()
    faulthandler.enable()
    status = 1
    try:
        tell(result=work(job, tell))
        status = 0
    except Problem as e:
        tell(problem={"code": e.code, "params": e.params})
    except BaseException as e:  # noqa: BLE001  # a recipe may raise anything
        traceback.print_exc()
        tell(failed=said(e))
    sys.stdout.flush()
    sys.stderr.flush()
    # A thread that the user's code left behind is not waited for as long as it likes.
    leave = threading.Timer(LEAVE, os._exit, (status,))
    leave.daemon = True
    leave.start()
    sys.exit(status)


def home() -> str | None:
    """The folder that this process was started in, which its engine removes, whatever happens."""
    return _HOME[0] if _HOME else None


def _request(handle: int) -> tuple[Any, bytes]:
    """The first line, and what came after it."""
    line = b""
    while b"\n" not in line:
        data = os.read(handle, 1 << 16)
        if not data:
            with contextlib.suppress(OSError):
                os.rmdir(os.getcwd())  # its engine was gone before it said what to do
            sys.exit(1)
        line += data
    first, _, rest = line.partition(b"\n")
    return json.loads(first), rest


def _watch(handle: int, rest: bytes, tidy: Callable[[], None]) -> None:
    marks = processes.marks()[-1:]  # before a recipe changes it; those before are others'
    with contextlib.suppress(OSError):
        while True:
            *lines, rest = rest.split(b"\n")
            for line in lines:
                MORE.put(json.loads(line))
            data = os.read(handle, 1 << 16)
            if not data:
                break
            rest += data
    with contextlib.suppress(Exception):
        tidy()
    processes.end_outside(marks)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, and those that led to it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def said(error: BaseException) -> str:
    """An exception in one line: its kind, the first thing it says, and what a compiler said."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    parts = [type(error).__name__, *lines[:1]]
    # CppCompileError in torch/_inductor/exc.py: a title, the command, and then what matters.
    if "Output:" in lines[:-1]:
        parts.append(lines[lines.index("Output:") + 1])
    return ": ".join(parts)[:1000]


@contextlib.contextmanager
def importing_torch() -> Iterator[None]:
    """Where torch is imported. Raises Problem("torch-missing") and Problem("torch-broken")."""
    if importlib.util.find_spec("torch") is None:
        raise Problem("torch-missing", python=sys.executable)
    try:
        yield
    except Exception as e:
        traceback.print_exc()
        raise Problem("torch-broken", python=sys.executable, why=said(e)) from e
