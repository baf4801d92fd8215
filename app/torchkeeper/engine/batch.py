"""An engine that a batch system starts, with which nobody can talk: it is asked, and answers, by
files in a folder that both machines see. ``asked`` has a line about what is there, then requests;
``told`` gets what the engine says, a ``beat`` from time to time, and ``end`` last, when nothing of
it is open any more. ``alive``, in the folder above, changes as long as somebody waits.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import signal
import time
from collections.abc import Mapping
from typing import Any

from torchkeeper.engine import home, protocol
from torchkeeper.stores.atomic import remove

#: Runs ``main``; its arguments: what is put on the path, and the folder.
BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from torchkeeper.engine.batch import main; main(sys.argv[2])"
)
ASKED, TOLD, ALIVE, LOG = "asked", "told", "alive", "log"
BEAT, END = "beat", "end"
#: Seconds between two looks at what is asked, between two words of either side to show that it is
#: there, and without one until the other is given up.
TURN, BEATS, SILENCE = 0.5, 15.0, 120.0


def digest(path: str) -> str:
    """The SHA-256 of a file. Raises OSError."""
    with open(path, "rb") as file:
        sha = hashlib.sha256()
        while data := file.read(1 << 20):
            sha.update(data)
    return sha.hexdigest()


def more(path: str, at: int, most: int = 1 << 20) -> bytes:
    """What a file has from there on. Opened anew: only so another machine's file system tells what
    was added. Raises OSError.
    """
    with open(path, "rb") as file:
        file.seek(at)
        return file.read(most)


def main(folder: str) -> None:
    """Have an engine answer what is asked in a folder."""
    told = os.path.join(folder, TOLD)
    if os.path.getsize(told):
        return None  # the batch system has started it once more: whoever asked has given it up
    head, _, request = more(os.path.join(folder, ASKED), 0, 2 * protocol.MAX_LINE).partition(b"\n")
    asked: Mapping[str, Any] = json.loads(head)
    _say(told, {"type": BEAT})
    for name, expected in asked["files"].items():
        if digest(name) != expected:
            return _say(told, {"type": END, "status": None, "file": os.path.basename(name)})
    inside, kept = home.make()
    try:
        status, waits = _relay(folder, inside, request, len(head) + 1, asked["silence"])
    finally:
        remove(inside)
        os.close(kept)
    if not waits:
        remove(os.path.dirname(folder))
    if not os.path.exists(told):
        return None
    end: dict[str, object] = {"type": END, "status": status}
    if (output := asked["output"]) and os.path.exists(output):
        end |= {"size": os.path.getsize(output), "sha256": digest(output)}
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the log is below the folder, which goes now
    return _say(told, end)


def _say(told: str, what: Mapping[str, object]) -> None:
    _append(told, protocol.encode(what))


def _append(told: str, data: bytes) -> None:
    # Not made anew where whoever asked has removed it. Closed: only so another machine sees it.
    handle = os.open(told, os.O_WRONLY | os.O_APPEND)
    with open(handle, "ab", buffering=0) as file:
        file.write(data)


def _relay(folder: str, inside: str, request: bytes, at: int, silence: float) -> tuple[int, bool]:
    """Hand requests to an engine and its answers on until it ends; its exit status, and whether
    somebody waits for it.
    """
    told, alive = os.path.join(folder, TOLD), os.path.join(folder, os.pardir, ALIVE)
    (theirs, requests), (answers, said) = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        os.dup2(theirs, 0)
        os.dup2(said, 1)
        for handle in (theirs, requests, answers, said):
            os.close(handle)
        os.chdir(inside)
        from torchkeeper.engine.serve import main as serve

        serve()
    os.setpgid(child, child)
    os.close(theirs)
    os.close(said)

    def end(*_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGTERM)

    # What a batch system sends before it kills.
    signal.signal(signal.SIGTERM, end)
    lines, waits = protocol.Lines(), True
    seen, heard, beat, looked = b"", time.monotonic(), time.monotonic(), 0.0
    try:
        while True:
            ready = select.select([answers], [], [], TURN)[0]
            if ready:
                if not (data := os.read(answers, 1 << 18)):
                    break
                _append(told, data)
                beat = time.monotonic()
                if any(_answers(line) for line in lines.feed(data)):
                    os.close(requests)
                    requests = -1
            if (now := time.monotonic()) - looked < TURN or requests < 0:
                continue
            looked = now
            request += more(os.path.join(folder, ASKED), at + len(request))
            ask, _, rest = request.rpartition(b"\n")
            if ask:
                os.write(requests, ask + b"\n")
                at += len(ask) + 1
                request = rest
            if (latest := more(alive, 0)) != seen:
                seen, heard = latest, now
            if now - heard > silence:
                waits = False
                break
            if now - beat > BEATS:
                _say(told, {"type": BEAT})
                beat = now
    except (OSError, protocol.WireError) as e:
        os.write(2, f"{e}\n".encode(errors="backslashreplace"))
    if requests >= 0:  # it has ended by itself, or is to
        end()
        os.close(requests)
    return _ended(child), waits


def _answers(line: bytes) -> bool:
    """Whether a line is the last of the request."""
    said = protocol.decode(line)
    return said.get("type") in ("result", "error")


def _ended(child: int) -> int:
    """The exit status of an engine that was asked to end, and all that it has started is gone."""
    until = time.monotonic() + 2.0
    while not (found := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < until:
        time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not found[0]:
        found = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(found[1])
