"""What the own sources of a program do to settings: its script, and what that imports beside it.

Read in a process of its own, which may die of what it reads, and neither imports nor runs anything
of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torchkeeper
from torchkeeper.settings.assigned import HOWS, Assigned
from torchkeeper.settings.known import BY_NAME

#: Seconds of the processor after which the reading ends by itself.
LIMIT = 2.0
#: Seconds after which it is ended: in which nothing came, as from a dead mount, and in all.
SILENCE, LONGEST = 3.0, 20.0
#: Why a source is not read, and why the look ended before all were.
UNREAD = ("missing", "unreadable", "too-large", "not-python", "too-deep")
STOPPED = ("", "files", "time", "stuck", "crashed")
_MAX_ANSWER = 4 << 20


@dataclass(frozen=True)
class Program:
    """What a process runs. kind: "script", "module", "code" (with -c), or "none" where that is not
    to be seen. main: the path of the script, the name of the module, or the code. folders: where
    modules of its own are, the first first. starts: files that Python runs before it, where they
    are. root: what is put before each path to find it, "" for a process with our mounts.
    """

    kind: str = "none"
    main: str = ""
    folders: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()
    root: str = ""


@dataclass(frozen=True)
class Where:
    """An Assigned. main: its file is run; sure: it is read whenever the program runs."""

    file: str
    what: Assigned
    main: bool
    sure: bool


@dataclass(frozen=True)
class Looked:
    """What was found in so many sources; unread: (file, one of UNREAD); stopped: of STOPPED."""

    found: tuple[Where, ...] = ()
    files: int = 0
    unread: tuple[tuple[str, str], ...] = ()
    stopped: str = ""


def program(command: Sequence[str], cwd: str, env_path: str, root: str) -> Program:
    """What a Python's command line says that it runs. env_path: its PYTHONPATH."""
    above = [os.path.join(cwd, path) for path in env_path.split(os.pathsep) if path]
    names = ("sitecustomize.py", "usercustomize.py")
    starts = tuple(os.path.join(path, name) for path in above for name in names)
    arguments = list(command[1:])
    while arguments:
        argument = arguments.pop(0)
        if argument in ("-", "--"):
            break
        if argument.startswith("--"):
            if argument == "--check-hash-based-pycs" and arguments:
                arguments.pop(0)
            continue
        if not argument.startswith("-"):
            script = os.path.normpath(os.path.join(cwd, argument))
            return Program("script", script, (os.path.dirname(script), cwd), starts, root)
        for place, letter in enumerate(argument[1:], 2):
            if letter not in "cmWX":
                continue
            rest = argument[place:] or (arguments.pop(0) if arguments else "")
            if kind := {"c": "code", "m": "module"}.get(letter):
                return Program(kind, rest, (cwd,), starts, root)
            break
    return Program("none", "", (), starts, root)


def look_at(asked: Program) -> Looked:
    """What the sources of a program do. Takes LONGEST seconds at most, and never fails."""
    source = os.path.dirname(os.path.dirname(os.path.abspath(torchkeeper.__file__)))
    boot = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from torchkeeper.settings.program_process import main; main()"
    )
    try:
        # As stores.reader starts its own: isolated and without site.
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-c", boot, source],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
        )
    except OSError:
        return Looked(stopped="crashed")
    assert process.stdin and process.stdout
    with process.stdout, process.stdin:
        with contextlib.suppress(OSError):
            process.stdin.write(json.dumps(asdict(asked)).encode() + b"\n")
            process.stdin.flush()
        data, ended = _read(process.stdout.fileno(), time.monotonic() + LONGEST)
    process.kill()
    # What waits in the system, on a dead mount perhaps, cannot even be killed.
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(0.5)
    return _taken(data, "crashed" if ended else "stuck")


def _read(descriptor: int, latest: float) -> tuple[bytes, bool]:
    """What comes until its end, a SILENCE or the latest time, and whether it is the end."""
    data = b""
    while len(data) < _MAX_ANSWER:
        left = min(SILENCE, latest - time.monotonic())
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            return data, False
        if not (part := os.read(descriptor, 1 << 16)):
            break
        data += part
    return data, True


def _taken(data: bytes, otherwise: str) -> Looked:
    """What the process has told, line by line; what makes no sense is left out."""
    found: list[Where] = []
    unread: list[tuple[str, str]] = []
    files, stopped = 0, otherwise
    for line in data.split(b"\n"):
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(told, dict):
            continue
        file, why = str(told.get("file", "")), told.get("unread")
        if "stopped" in told:
            stopped = told["stopped"] if told["stopped"] in STOPPED else otherwise
        elif why in UNREAD:
            unread.append((file, why))
        else:
            files += 1
            rows = told.get("found")
            for row in rows if isinstance(rows, list) else []:
                if one := _assigned(row):
                    main, sure = (told.get(name) is True for name in ("main", "sure"))
                    found.append(Where(file, one, main, sure))
    return Looked(tuple(found), files, tuple(unread), stopped)


def _assigned(row: Any) -> Assigned | None:
    if not isinstance(row, dict) or row.get("name") not in BY_NAME or row.get("how") not in HOWS:
        return None
    line, value = row.get("line"), row.get("value")
    computed, top, late = (row.get(name) is True for name in ("computed", "top", "late"))
    text = value if isinstance(value, str) else None
    variable = row["variable"] if row.get("variable") in BY_NAME else ""
    number = line if isinstance(line, int) else 0
    return Assigned(row["name"], number, row["how"], text, computed, top, late, variable)
