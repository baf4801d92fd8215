"""The end of a connection at which engines run: a program of its own (``main``), which
``client.engines.line`` sends there. What goes over the connection: ``mux``.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.version import SOURCE
from torchkeeper.engine import home, protocol
from torchkeeper.engine.fence import Fence
from torchkeeper.engine.mux import (
    CHUNKS,
    DATA,
    ENDED,
    OPEN,
    PATIENCE,
    READ_ONLY,
    SIGNAL,
    SILENCE,
    VERSION,
    Broken,
    Mux,
    Silent,
    _Stream,
)
from torchkeeper.stores import parts, processes

if TYPE_CHECKING:
    import socket

#: Processes, files and connections at a time.
_MOST = 32
#: The signals that a process is sent.
_SIGNALS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGKILL})
#: What a file of the private folder may be called.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,79}")


@dataclass
class _Running:
    """A process there; kept: the handle that keeps its folder."""

    process: subprocess.Popen[bytes]
    folder: str
    kept: int


class Serving(NamedTuple):
    """A far end that is installed there, and lets in to some folders alone. source: the folder or
    zip that engines run from. servers: what may be reached. The others are as of a ``Fence``.
    """

    source: str
    only: tuple[str, ...]
    read_only: bool
    pythons: tuple[str, ...]
    servers: tuple[str, ...] = ()


class Far(Mux):
    """The end at which engines run, until the connection ends. folder: the private one."""

    def __init__(self, into: int, out: int, folder: str, serving: Serving | None) -> None:
        super().__init__(into, out)
        self._folder = folder
        self._source = serving.source if serving else SOURCE
        #: Whether this process has what an engine of the machine's own python3 has (``boot``).
        self._alike = not serving and SOURCE.startswith(processes.PROC)
        self._fence: Fence | None = None
        if serving:
            private = os.path.realpath(folder)
            self._fence = Fence(serving.only, private, serving.read_only, serving.pythons)
        self._servers = serving.servers if serving else None
        self._joined: set[int] = set()
        self._running: dict[int, _Running] = {}
        self._files: dict[int, str | None] = {}

    def run(self) -> None:
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        try:
            with contextlib.suppress(Broken, Silent):
                while self._open:
                    self.turn()
                    self._reap()
        finally:
            self._end()

    def _end(self) -> None:
        """End what runs here: engines end with their input, once they have cleaned up."""
        self._open = False
        self._out.clear()
        for key in [key for key in self._streams if not key[1]]:
            self._close(self._streams[key])
        for patience, number in ((PATIENCE, signal.SIGTERM), (2.0, signal.SIGKILL), (2.0, None)):
            end = time.monotonic() + patience
            while self._running and (left := end - time.monotonic()) > 0:
                self._drain(left)
                self._reap()
            for one in self._running.values():
                if number is not None:
                    _signal(one, number)

    def _drain(self, seconds: float) -> None:
        """Take what the engines say, and nobody hears: else they do not end."""
        handles = {one.handle: one for one in self._streams.values()}
        for handle in select.select([*handles, self._woken], [], [], min(seconds, 1.0))[0]:
            with contextlib.suppress(OSError):
                if not os.read(handle, 1 << 16) and handle in handles:
                    self._close(handles[handle])

    def _reap(self) -> None:
        for channel, one in list(self._running.items()):
            if (status := one.process.poll()) is None:
                continue
            # Its leader is gone; what that left running goes, too, and so do the pipes it holds.
            _signal(one, signal.SIGKILL)
            if self._open and any(key[0] == channel for key in self._streams if key[1]):
                continue  # what it said last is still to be passed on
            del self._running[channel]
            self.drop(channel)
            shutil.rmtree(one.folder, ignore_errors=True)
            os.close(one.kept)
            self.tell(ENDED, channel, status=status)

    def control(self, kind: int, channel: int, payload: bytes) -> None:
        if kind == SIGNAL:
            if len(payload) != 1 or payload[0] not in _SIGNALS:
                raise Broken("a signal is none that is sent")
            if channel in self._running:
                _signal(self._running[channel], signal.Signals(payload[0]))
                if payload[0] == signal.SIGKILL:
                    self.drop(channel)  # nobody hears it any more
            elif channel in self._files and payload[0] == signal.SIGKILL:
                del self._files[channel]
                self.drop(channel)
                self.tell(ENDED, channel, status=-signal.SIGKILL)
            return
        if kind != OPEN:
            raise Broken("a frame of an unknown kind")
        python, name, server, how = _asked(payload)
        if channel in {*self._running, *self._joined, *(key[0] for key in self._streams)}:
            raise Broken("a channel is begun twice")
        try:
            if len(self._running) + len(self._files) + len(self._joined) >= _MOST:
                raise OSError("Too much is open at once")
            if server is not None:
                self._join(channel, server)
            elif name is None:
                self._begin(channel, python)
            else:
                self._file(channel, name, **how)
        except OSError as e:
            self.tell(ENDED, channel, why=e.strerror or str(e))

    def _begin(self, channel: int, python: str | None) -> None:
        if self._fence and python and python not in self._fence.pythons:
            raise OSError("It is not among the interpreters that this key may start")
        folder, kept = home.make()
        # As an engine of the own machine: one that only looks at files needs no package.
        alone = [] if python else ["-I", "-S"]
        fence = [self._fence.to_json()] if self._fence else []
        copied = self._alike and not python and threading.active_count() == 1
        try:
            process = subprocess.Popen(
                [python or sys.executable, *alone, "-c", home.BOOT, self._source, *fence],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                cwd=folder, start_new_session=True, bufsize=0,
                preexec_fn=_serve if copied else None, restore_signals=not copied,  # noqa: PLW1509
            )  # fmt: skip
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(kept)
            raise
        self._running[channel] = _Running(process, folder, kept)
        for number, pipe in enumerate((process.stdin, process.stdout, process.stderr)):
            assert pipe
            self.add(channel, number, os.dup(pipe.fileno()), number > 0, said=number == 1)
            pipe.close()

    def _file(
        self, channel: int, name: str, writes: bool, keeps: bool = False, gone: bool = False
    ) -> None:
        if not _NAME.fullmatch(name):
            raise Broken("a file has a path")
        if writes and self._fence and self._fence.read_only:
            raise OSError(READ_ONLY)
        path = os.path.join(self._folder, name)
        if gone:
            (parts.leave if keeps else parts.forget)(path)
            return self.tell(ENDED, channel, status=0)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL if writes else os.O_RDONLY
        handle = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        if writes and keeps and not self._fence:
            parts.keep(path)
        self._files[channel] = None
        self.add(channel, int(not writes), handle, reads=not writes)
        return None

    def _join(self, channel: int, server: str) -> None:
        """Connect to a server, in a thread: it may take long to find its host."""
        from torchkeeper.stores.redis import connecting  # few connections need it
        from torchkeeper.stores.redis.address import parse

        self._joined.add(channel)

        def joins(found: socket.socket | None, code: str = "", **params: object) -> None:
            told = json.dumps({"code": code, "params": params}).encode() + b"\n"
            self.frame(DATA + 1, channel, told)
            if found is None:
                self._joined.discard(channel)
                return self.tell(ENDED, channel)
            self.add(channel, 0, os.dup(found.fileno()), reads=False)
            self.add(channel, 1, found.detach(), reads=True)
            self._streams[channel, 1].credit -= len(told)
            return None

        def connect() -> None:
            try:
                address = parse(server).address
                if address.way or (self._servers is not None and server not in self._servers):
                    raise Problem("not-served", what=server)
                found = connecting.plain(address, server, lambda: None)
                self.wake(lambda: joins(found))
            except Problem as problem:
                code, params = problem.code, problem.params
                self.wake(lambda: joins(None, code, **params))

        threading.Thread(target=connect, name="connect", daemon=True).start()

    def _unpacked(self, kind: int, payload: bytes, stream: _Stream | None) -> bytes:
        if kind >= CHUNKS:
            raise Broken("what engines say comes from here")
        return super()._unpacked(kind, payload, stream)

    def closed(self, channel: int) -> None:
        if channel in self._joined:
            self._joined.discard(channel)
            self.drop(channel)
            if self._open:
                self.tell(ENDED, channel, status=0)
        if channel in self._files and self._open:
            why = self._files.pop(channel)
            self.tell(ENDED, channel, **({"why": why} if why else {"status": 0}))

    def unwritten(self, channel: int, error: OSError) -> None:
        if channel in self._files:
            self._files[channel] = error.strerror or str(error)


def _asked(
    payload: bytes,
) -> tuple[str | None, str | None, str | None, dict[str, bool]]:
    """The interpreter, the file and the server that a channel is begun with, None where none is
    named, and what is done with the file. Raises Broken.
    """
    try:
        asked = json.loads(payload)
        python, name, server = (asked.get(one) for one in ("python", "file", "server"))
        how = {one: asked.get(one, False) for one in ("writes", "keeps", "gone")}
        fit = all(isinstance(one, str | None) for one in (python, name, server))
    except (ValueError, RecursionError, AttributeError):
        fit, how = False, {}
    if not (fit and "\0" not in (python or "") and all(x in (True, False) for x in how.values())):
        raise Broken("a channel is begun with something else")
    return python, name, server, how


def _signal(one: _Running, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(one.process.pid, number)


def _serve() -> NoReturn:
    """Be an engine, instead of what this new process was to run: all that it imports is here. What
    the other process holds open is closed, which also tells that one that this has begun.
    """
    try:
        serve = importlib.import_module("torchkeeper.engine.serve")
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        gc.enable()  # Popen has switched it off
        for name in os.listdir(f"{processes.PROC}/self/fd"):
            if int(name) > 2:
                with contextlib.suppress(OSError):  # the list itself
                    os.close(int(name))
        serve.main()
    except BaseException as e:  # noqa: BLE001 - to go on is for the other process
        os.write(2, f"{type(e).__name__}: {e}\n".encode(errors="replace"))
    os._exit(1)


#: What is kept of what travels: by its hash, and until it is whole with something random.
_KEPT = re.compile(r"[0-9a-f]{64}\.zip(?:\.[0-9a-f]{16})?")
#: How many of these stay: users come from several machines, with several versions.
_COPIES = 3


def _keep(folder: int, name: str, data: bytes) -> None:
    """Keep what travels for the next connection, and remove what was kept longest ago."""
    part = f"{name}.{os.urandom(8).hex()}"
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(part, flags, 0o600, dir_fd=folder), "wb") as file:
            file.write(data)
        os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:  # a disk that is full, or what is no file has that name
        with contextlib.suppress(OSError):
            os.unlink(part, dir_fd=folder)
    ages = {}
    for one in filter(_KEPT.fullmatch, os.listdir(folder)):
        with contextlib.suppress(OSError):
            ages[one] = os.stat(one, dir_fd=folder, follow_symlinks=False).st_mtime
    for one in sorted(ages, key=lambda one: (one != name, -ages[one]))[_COPIES:]:
        with contextlib.suppress(OSError):
            os.unlink(one, dir_fd=folder)


def main(
    token: str,
    cache: int | None = None,
    copy: str = "",
    data: bytes = b"",
    serving: Serving | None = None,
    silence: float = SILENCE,
) -> None:
    """Serve the connection on standard input and output. token: what goes before the first word, so
    that what the account prints when it starts is told from it. copy: what to keep ``data`` as, of
    which this was loaded, in the folder ``cache``; "" where it is there. serving: who is let in to
    what, where this is installed. silence: after how many seconds without a word it ends, and what
    runs here, but for jobs that are detached.
    """
    out = os.dup(1)
    os.dup2(2, 1)
    for name in ("SIGHUP", "SIGPIPE"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(base):
        os.environ[protocol.INDEX] = os.path.join(base, "torchkeeper", "index.sqlite")
        if serving is None:
            os.environ[protocol.FILLED] = os.path.join(base, "torchkeeper", "filled")
    folder = tempfile.mkdtemp(prefix="torchkeeper-far-")
    try:
        told = {
            "version": VERSION,
            "python": sys.version.split()[0],
            "executable": sys.executable,
            "home": os.path.expanduser("~"),
            "folder": folder,
            "parts": serving is None and bool(parts.there()),
        }
        os.write(out, f"\n{token}{json.dumps(told)}\n".encode())
        if serving is None:  # each engine has these, and the first word is on its way
            for name in ("operations", "serve"):
                importlib.import_module(f"torchkeeper.engine.{name}")
        if cache is not None and copy:
            _keep(cache, copy, data)
        far = Far(0, out, folder, serving)
        far.heed(silence)
        far.run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if serving is None:  # as in ``serve.main``: to take all apart would take longer
        sys.stderr.flush()
        os._exit(0)
