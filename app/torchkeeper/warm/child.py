"""What every process has in common that an engine starts to work with torch.

The engine (following.py) writes one JSON line with what to do to its standard input; it answers
with JSON lines, each with one thing: ``result``, ``problem``, ``failed``, or what the work tells of
itself. When its standard input closes, its engine is gone, and it ends with all it started.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib.util
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from torchkeeper.artifacts.entry import Problem

Tell = Callable[..., None]


def serve(work: Callable[[dict[str, Any], Tell], dict[str, Any]]) -> NoReturn:
    """Do the one piece of work that is asked for, tell its result, and exit: 0 done, 1 not done."""
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

    job = _request(requests)
    threading.Thread(target=_watch, args=(requests,), name="engine-watch", daemon=True).start()
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
    sys.exit(status)


def _request(handle: int) -> dict[str, Any]:
    line = b""
    while not line.endswith(b"\n"):
        data = os.read(handle, 1 << 16)
        if not data:
            sys.exit(1)
        line += data
    job: dict[str, Any] = json.loads(line)
    return job


def _watch(handle: int) -> None:
    with contextlib.suppress(OSError):
        while os.read(handle, 1 << 12):
            pass
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


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
