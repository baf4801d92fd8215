"""A process with the library of faults.c preloaded, which does each request in a child of its own.

Requests and answers are JSON, one a line: ``{operation, params, fault}`` with ``fault`` as the
arguments of ``faults_arm``, and ``{signal, calls, done | problem | error, findings, left}``, of
which a child that was killed only has the signal.
"""

from __future__ import annotations

import codecs
import concurrent.futures.thread
import ctypes
import gc
import json
import os
import sys
import traceback
from typing import Any

from tests.crash import operations

#: What the operations load late, so that not every child does.
_LOADED = concurrent.futures.thread, codecs.lookup("cp437"), codecs.lookup("ascii")


def _child(request: dict[str, Any], pipe: int) -> None:
    """Do a request and write the answer into the pipe."""
    shim = ctypes.CDLL(None)
    report = operations.Heard()
    root, mode, at, log = request["fault"]
    shim.faults_arm(os.fsencode(root), mode, ctypes.c_long(at), os.fsencode(log))
    try:
        answer = operations.run(request["operation"], request["params"], report)
    except BaseException:  # noqa: BLE001  # whatever it is, the test is to see it
        answer = {"error": traceback.format_exc()}
    calls = shim.faults_disarm()
    answer |= {"calls": calls, "findings": report.findings, "left": report.left}
    with os.fdopen(pipe, "w", encoding="utf-8") as out:
        json.dump(answer, out, default=str)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    if "source" in request["params"]:
        operations.chosen(request["params"]["source"])
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(receiving)
            _child(request, sending)
        finally:
            os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, encoding="utf-8") as told:
        text = told.read()
    _, status = os.waitpid(child, 0)
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    answer: dict[str, Any] = json.loads(text) if text and ended is None else {}
    return answer | {"signal": ended}


def main() -> None:
    """Answer until there are no more requests."""
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
