"""The process that reads a program's sources for ``settings.programs``; it can do nothing else.

A request is one JSON line, a ``programs.Program``. The answer is a line for each source, as soon as
it is read, ``{"file", "main", "sure", "found"}`` or ``{"file", "unread"}``, and a last one
``{"stopped"}``.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict

from torchkeeper.settings.assigned import Unreadable, look
from torchkeeper.settings.programs import LIMIT, Program
from torchkeeper.settings.syntax import Imported

#: Sources that are read, and bytes of one.
MAX_FILES, MAX_BYTES = 200, 1 << 20
#: Address space, bytes, and seconds of the processor.
_MEMORY, _SECONDS = 1 << 30, 5
#: Not a program's own, wherever they are found.
_OTHERS = ("/site-packages/", "/dist-packages/")
_NEVER = ("torch", "triton", "numpy")


def main() -> None:
    """Answer the one request."""
    _limit()
    asked = Program(**json.loads(sys.stdin.buffer.readline()))
    reading = Reading(asked, time.process_time() + LIMIT)
    for answer in reading.answers():
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _limit() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


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


if __name__ == "__main__":
    main()
