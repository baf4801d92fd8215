"""What the own sources of a program do to settings: its script, and what that imports beside it.

Read in a process of its own, which may die of what it reads, and neither imports nor runs anything
of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import stat
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from torchkeeper.settings.assigned import HOWS, Assigned, Imported, Unreadable, look
from torchkeeper.settings.known import BY_NAME
from torchkeeper.stores import processes

#: Seconds of the processor after which the reading ends by itself.
LIMIT = 2.0
#: Seconds after which it is ended: in which nothing came and it did not work, as on a dead mount,
#: and in all.
SILENCE, LONGEST = 2.0, 20.0
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
    try:
        process = processes.begin(__name__, {})
    except OSError:
        return Looked(stopped="crashed")
    assert process.stdin
    try:
        with contextlib.suppress(OSError):
            process.stdin.write(json.dumps(asdict(asked)).encode() + b"\n")
            process.stdin.flush()
        data, ended = _read(process, time.monotonic() + LONGEST)
    finally:
        # What waits in the system, on a dead mount perhaps, cannot even be killed.
        processes.end(process, 0.5)
    return _taken(data, "crashed" if ended else "stuck")


def _read(process: subprocess.Popen[bytes], latest: float) -> tuple[bytes, bool]:
    """What comes until its end, the latest time, or a SILENCE in which the process did not work
    either; and whether it is the end. On a busy machine even its start may take long.
    """
    assert process.stdout
    data, worked = b"", -1.0
    while len(data) < _MAX_ANSWER:
        left = min(SILENCE, latest - time.monotonic())
        if left <= 0:
            return data, False
        if not select.select([process.stdout], [], [], left)[0]:
            if not processes.is_at_work(process.pid, worked):
                return data, False
            worked = processes.processor_seconds(process.pid)
        elif part := os.read(process.stdout.fileno(), 1 << 16):
            data += part
        else:
            break
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


# The process that reads the sources; it can do nothing else. A request is one JSON line, a Program.
# The answer is a line for each source, as soon as it is read, ``{"file", "main", "sure", "found"}``
# or ``{"file", "unread"}``, and a last one ``{"stopped"}``.

#: Sources that are read, and bytes of one.
MAX_FILES, MAX_BYTES = 200, 1 << 20
#: Address space, bytes, and seconds of the processor.
_MEMORY, _SECONDS = 1 << 30, 5
#: Not a program's own, wherever they are found.
_OTHERS = ("/site-packages/", "/dist-packages/")
_NEVER = ("torch", "triton", "numpy")


def main() -> None:
    """Answer the one request."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    asked = Program(**json.loads(sys.stdin.buffer.readline()))
    reading = Reading(asked, time.process_time() + LIMIT)
    for answer in reading.answers():
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


class Reading:
    """Reads the main source of a program, and what it imports of its own, in that order."""

    def __init__(self, asked: Program, latest: float) -> None:
        self._kind, self._main, self._root = asked.kind, asked.main, asked.root
        self._folders = list(dict.fromkeys(asked.folders))
        self._starts = list(asked.starts)
        self._latest = latest
        self._waiting: deque[str] = deque()
        self._known: set[str] = set()
        #: Those that are run whenever the program is.
        self._sure: set[str] = set()

    def answers(self) -> Iterator[Mapping[str, object]]:
        """One for each source, then why it ended."""
        for path in self._starts:
            if self._is_file(path):
                self._sure.add(path)
                yield self._one(path, main=False)
        if self._kind == "code":
            yield self._source("-c", self._main.encode(errors="surrogateescape"), main=True)
        elif path := self._main_path():
            self._known.add(path)
            yield self._one(path, main=True)
        for _ in range(MAX_FILES - 1):
            if not self._waiting or time.process_time() > self._latest:
                break
            yield self._one(self._waiting.popleft(), main=False)
        late = time.process_time() > self._latest
        yield {"stopped": ("time" if late else "files") if self._waiting else ""}

    def _main_path(self) -> str:
        if self._kind == "script":
            inside = os.path.join(self._main, "__main__.py")
            return inside if self._is_file(inside) else self._main
        if self._kind == "module":
            path = self._main.replace(".", "/")
            for folder in self._folders:
                for end in ("/__main__.py", ".py"):
                    if self._is_file(found := os.path.join(folder, path) + end):
                        return found
        return ""

    def _is_file(self, path: str) -> bool:
        try:
            return "\0" not in path and os.path.isfile(self._root + path)
        except OSError:
            return False

    def _one(self, path: str, main: bool) -> Mapping[str, object]:
        try:
            # What is no file, as a pipe with nobody at its other end, is not waited for.
            descriptor = os.open(self._root + path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, "rb") as stream:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return {"file": path, "unread": "unreadable"}
                data = stream.read(MAX_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            return {"file": path, "unread": "missing"}
        except (OSError, ValueError):
            return {"file": path, "unread": "unreadable"}
        if len(data) > MAX_BYTES:
            return {"file": path, "unread": "too-large"}
        return self._source(path, data, main)

    def _source(self, path: str, data: bytes, main: bool) -> Mapping[str, object]:
        try:
            source = look(data, main)
        except Unreadable as why:
            return {"file": path, "unread": str(why)}
        sure = main or path in self._sure
        for one in source.imports:
            for file in self._files_of(one, path):
                if sure and one.top:
                    self._sure.add(file)
                if file not in self._known:
                    self._known.add(file)
                    self._waiting.append(file)
        found = [asdict(one) for one in source.assigned]
        return {"file": path, "main": main, "sure": sure, "found": found}

    def _files_of(self, one: Imported, importer: str) -> Iterator[str]:
        """The own files that an import runs: packages on the way, the module, modules of names."""
        first = one.module.partition(".")[0]
        if one.level:
            folder = importer
            for _ in range(min(one.level, 20)):
                folder = os.path.dirname(folder)
            folders = [folder]
        elif first in _NEVER:
            return
        else:
            folders = self._folders
        parts = [part for part in one.module.split(".") if part][:20]
        for folder in folders:
            there = False
            for depth in range(1, len(parts) + 1):
                base = os.path.join(folder, *parts[:depth])
                for path in self._either(base):
                    there = True
                    yield path
            base = os.path.join(folder, *parts)
            if there or one.level or not parts or os.path.isdir(self._root + base):
                for name in one.names[:200]:
                    yield from self._either(os.path.join(base, name))
            if there:
                return

    def _either(self, base: str) -> Iterator[str]:
        """A module or a package of this path, where there is one."""
        for path in (base + "/__init__.py", base + ".py"):
            if not any(other in path for other in _OTHERS) and self._is_file(path):
                yield path
                return
