"""Many engines over one connection to another machine: the frames, and the loop that both ends run.
The far end is a program of its own (``main``), which ``client.engines.line`` sends there.

A frame is its kind, a channel, a length and that many bytes. A channel is a process there, a file
of the private folder there, or a connection to a server that the machine there reaches, with at
most three streams: what goes in (0), and what comes out (1, 2). Of each at most WINDOW bytes are
under way: its reader grants more once it has passed them on, so that one that nobody reads holds up
no other. What the other end says is checked: whatever it sends, this end keeps bounded room for it.

What engines say goes compressed, and what has gone before as its number (``past``): to list
something again costs what has changed. Files are compressed where the connection is what is slow.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.version import SOURCE
from torchkeeper.engine import home, past, protocol
from torchkeeper.engine.fence import Fence
from torchkeeper.stores import parts

if TYPE_CHECKING:
    import socket

VERSION = 1
HEAD = struct.Struct(">BIH")
_GRANT = struct.Struct(">I")
#: Kinds of frames. DATA: of a stream, whose number is added; empty at its end. GRANT: that as many
#: bytes more may come. OPEN, ENDED: JSON about a channel. SIGNAL: the number of one for a process.
#: PACKED: as DATA, compressed; CHUNKS: and to be remembered; SAME: runs of what is.
DATA, GRANT, OPEN, ENDED, SIGNAL, PACKED, CHUNKS, SAME = 0, 3, 6, 7, 8, 9, 12, 15
#: Bytes in a frame, of a stream under way, and waiting for the connection.
PIECE, WINDOW, ROOM = 1 << 15, 1 << 22, 1 << 18
#: Processes, files and connections at a time, and bytes that wait for a reader who does not read.
_MOST, _UNREAD = 32, 16 << 20
#: The signals that a process is sent.
_SIGNALS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGKILL})
#: Seconds that what runs here has once nobody is left who could hear of it.
PATIENCE = 20.0
#: Seconds for which what nobody waits for may wait for more of it: what has gone before, how far
#: something is, and how more rows begin.
_SOON = 0.2
_LATE = (b'{"type":"progress",', b'{"type":"rows",')
#: How hard is compressed: what there is little of, and files.
_HARD, _FAST = 6, 1
#: Why a file is not taken.
READ_ONLY = "This key changes nothing"
#: How many pieces are not tried after one that did not become shorter.
_DENSE = 32
#: What a file of the private folder may be called.
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,79}")


class Broken(Exception):
    """What came from the other end are no frames, or not those that were agreed on."""


@dataclass
class _Stream:
    """One direction of a channel at this end. reads: from the handle, for the other end. credit:
    bytes that may be sent, or may still come. waiting: what is to be written, or cut into chunks.
    ended: nothing comes. said: whether an engine says it. owed: bytes that are to be granted.
    dense: for how many pieces more compressing is not tried.
    """

    channel: int
    number: int
    handle: int
    reads: bool
    credit: int = WINDOW
    waiting: bytearray = field(default_factory=bytearray)
    ended: bool = False
    said: bool = False
    owed: int = 0
    dense: int = 0


class Mux:
    """One end of a connection: what is read from the handle ``into``, and written to ``out``."""

    def __init__(self, into: int, out: int) -> None:
        self._into, self._to = into, out
        self._came, self._out = bytearray(), bytearray()
        self._streams: dict[tuple[int, int], _Stream] = {}
        self._calls: deque[Callable[[], None]] = deque()
        self._past = past.Past()
        #: Runs of a stream that have not gone yet; and when all that is to go has to.
        self._same: tuple[_Stream, list[list[int]]] | None = None
        self._due = 0.0
        self._woken, self._waker = os.pipe()
        self._open = True
        for handle in (into, out, self._woken, self._waker):
            os.set_blocking(handle, False)

    def wake(self, call: Callable[[], None] | None = None) -> None:
        """Have the loop call this, from any thread."""
        if call:
            self._calls.append(call)
        with contextlib.suppress(OSError):  # full: it wakes anyway
            os.write(self._waker, b"\0")

    def add(self, channel: int, number: int, handle: int, reads: bool, said: bool = False) -> None:
        """A stream of a channel, whose handle is closed when it ends. said: by an engine."""
        os.set_blocking(handle, False)
        self._streams[channel, number] = _Stream(channel, number, handle, reads, said=said)

    def drop(self, channel: int) -> None:
        """Close what is left of a channel."""
        for key in [key for key in self._streams if key[0] == channel]:
            os.close(self._streams.pop(key).handle)

    def frame(self, kind: int, channel: int, payload: bytes = b"", now: bool = True) -> None:
        """Send one, after all that was said before it; now: somebody waits for it."""
        self._send_same()
        if now:
            self._due = 0.0
        elif not self._out:
            self._due = time.monotonic() + _SOON
        self._out += HEAD.pack(kind, channel, len(payload)) + payload

    def _send_same(self) -> None:
        if self._same:
            (stream, runs), self._same = self._same, None
            packed = b"".join(past.RUN.pack(*run) for run in runs)
            due = self._due
            self.frame(SAME + stream.number, stream.channel, packed, now=False)
            self._due = due

    def tell(self, kind: int, channel: int, **what: object) -> None:
        self.frame(kind, channel, json.dumps(what).encode())

    def turn(self, seconds: float | None = None) -> None:
        """Pass on what there is, and wait for that as long as this. Raises Broken."""
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        if self._open:
            poll.register(self._into, select.POLLIN)
        if (self._out or self._same) and (late := self._due - time.monotonic()) > 0:
            seconds = late if seconds is None else min(seconds, late)
        elif self._out or self._same:
            self._send_same()
            poll.register(self._to, select.POLLOUT)
        handles = {}
        for key, one in self._streams.items():
            if one.reads and one.credit and len(self._out) < ROOM:
                poll.register(one.handle, select.POLLIN)
                handles[one.handle] = key
            elif not one.reads and (one.waiting or one.ended):
                poll.register(one.handle, select.POLLOUT)
                handles[one.handle] = key
        ready = [handle for handle, _ in poll.poll(None if seconds is None else seconds * 1000)]
        for handle in ready:
            if handle == self._woken:
                with contextlib.suppress(BlockingIOError):
                    os.read(handle, 1 << 12)
            elif handle == self._into:
                self._read()
            elif handle == self._to:
                self._write()
            elif (stream := self._streams.get(handles[handle])) and stream.handle == handle:
                self._forward(stream) if stream.reads else self._pour(stream)
        while self._calls:
            self._calls.popleft()()

    def _read(self) -> None:
        try:
            data = os.read(self._into, 1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._open = False
            return
        self.took(data)

    def _write(self) -> None:
        try:
            del self._out[: os.write(self._to, self._out[: 1 << 16])]
        except BlockingIOError:
            pass
        except OSError:  # whoever read it is gone; the other direction tells
            self._out.clear()
            self._open = False

    def took(self, data: bytes) -> None:
        """Take what has come over the connection. Raises Broken."""
        self._came += data
        at = 0
        while len(self._came) - at >= HEAD.size:
            kind, channel, length = HEAD.unpack_from(self._came, at)
            if length > PIECE:
                raise Broken("a frame is too long")
            if len(self._came) - at < HEAD.size + length:
                break
            at += HEAD.size
            self._frame(kind, channel, bytes(self._came[at : at + length]))
            at += length
        del self._came[:at]
        if len(self._out) > _UNREAD:
            raise Broken("what was asked for is not read")

    def _frame(self, kind: int, channel: int, payload: bytes) -> None:
        if OPEN <= kind < PACKED or kind >= SAME + GRANT:
            return self.control(kind, channel, payload)
        if kind >= PACKED:
            payload = self._unpacked(kind, payload)
        stream = self._streams.get((channel, kind % GRANT))
        if stream is None:
            return None  # it has ended meanwhile
        if stream.reads != (GRANT <= kind < OPEN):
            raise Broken("a frame is of the wrong direction")
        if not stream.reads:
            if len(payload) > stream.credit or stream.ended:
                raise Broken("more has come than was asked for")
            stream.credit -= len(payload)
            stream.waiting += payload
            stream.ended = not payload
            return None
        if len(payload) != _GRANT.size:
            raise Broken("a frame has another length than its kind")
        stream.credit += _GRANT.unpack(payload)[0]
        if stream.credit > WINDOW:
            raise Broken("more was granted than there is")
        return None

    def _unpacked(self, kind: int, payload: bytes) -> bytes:
        """What a frame stands for. Raises Broken."""
        try:
            if kind >= SAME:
                return self._past.again(payload, WINDOW)
            data = past.unpacked(payload, PIECE)  # never nothing, which would be an end
        except ValueError as e:
            raise Broken(f"of a frame {e}") from e
        if kind >= CHUNKS:
            at = 0
            for chunk in past.cut(data):
                self._past.add(chunk)
                at += len(chunk)
            if data[at:]:
                self._past.add(data[at:])
        return data

    def _forward(self, stream: _Stream) -> None:
        try:
            data = os.read(stream.handle, min(stream.credit, PIECE))
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        stream.credit -= len(data)
        if stream.said and data:
            return self._say(stream, data)
        stream.dense = max(stream.dense - 1, 0)
        if len(self._out) > PIECE and not stream.dense:  # else there is nothing to gain
            packed = past.packed(data, _FAST)
            if 0 < len(packed) < len(data):
                self.frame(PACKED + stream.number, stream.channel, packed)
                return None
            stream.dense = _DENSE
        if stream.waiting:
            self.frame(DATA + stream.number, stream.channel, bytes(stream.waiting))
        self.frame(DATA + stream.number, stream.channel, data)
        return None if data else self._close(stream)

    def _say(self, stream: _Stream, data: bytes) -> None:
        """Send more of what an engine says, as far as it is cut into chunks."""
        stream.waiting += data
        new = list[bytes]()

        def send() -> None:
            if new:
                packed = past.packed(b"".join(new), _HARD)
                now = not all(one.startswith(_LATE) for one in new)
                self.frame(CHUNKS + stream.number, stream.channel, packed, now)
                new.clear()

        at = 0
        for chunk in past.cut(bytes(stream.waiting)):
            at += len(chunk)
            if (number := self._past.number(chunk)) is not None:
                send()
                self._again(stream, number)
                self._past.add(chunk)
                continue
            if sum(map(len, new)) + len(chunk) > PIECE // 2:  # packed it may be longer
                send()
            self._send_same()
            new.append(chunk)
            self._past.add(chunk)
        send()
        del stream.waiting[:at]

    def _again(self, stream: _Stream, number: int) -> None:
        """Send what has gone under this number, with what follows of that kind."""
        if self._same and self._same[0] is not stream:
            self._send_same()
        if not (self._same or self._out):
            self._due = time.monotonic() + _SOON
        _, runs = self._same = self._same or (stream, [])
        if runs and sum(runs[-1]) == number:
            runs[-1][1] += 1
        else:
            runs.append([number, 1])
        if len(runs) * past.RUN.size >= PIECE - past.RUN.size:
            self._send_same()

    def _pour(self, stream: _Stream) -> None:
        count = len(stream.waiting)
        if count:
            try:
                count = os.write(stream.handle, stream.waiting[: 1 << 16])
            except BlockingIOError:
                return
            except OSError as e:
                self.unwritten(stream.channel, e)  # nobody reads: it is as good as read
        del stream.waiting[:count]
        stream.owed += count
        if stream.owed >= WINDOW // 2:
            stream.credit += stream.owed
            self.frame(GRANT + stream.number, stream.channel, _GRANT.pack(stream.owed))
            stream.owed = 0
        if stream.ended and not stream.waiting:
            self._close(stream)

    def _close(self, stream: _Stream) -> None:
        del self._streams[stream.channel, stream.number]
        os.close(stream.handle)
        self.closed(stream.channel)

    def control(self, kind: int, channel: int, payload: bytes) -> None:
        """A frame about a channel has come. Raises Broken."""
        raise NotImplementedError

    def closed(self, channel: int) -> None:
        """A stream has come to its end."""

    def unwritten(self, channel: int, error: OSError) -> None:
        """What came of a stream cannot be passed on."""


# The far end.


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
            with contextlib.suppress(Broken):
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
        try:
            process = subprocess.Popen(
                [python or sys.executable, *alone, "-c", home.BOOT, self._source, *fence],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                cwd=folder, start_new_session=True, bufsize=0,
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
        if not NAME.fullmatch(name):
            raise Broken("a file has a path")
        if writes and self._fence and self._fence.read_only:
            raise OSError(READ_ONLY)
        path = os.path.join(self._folder, name)
        if gone:
            parts.forget(path)
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
        import threading

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
) -> None:
    """Serve the connection on standard input and output. token: what goes before the first word, so
    that what the account prints when it starts is told from it. copy: what to keep ``data`` as, of
    which this was loaded, in the folder ``cache``; "" where it is there. serving: who is let in to
    what, where this is installed.
    """
    out = os.dup(1)
    os.dup2(2, 1)
    for name in ("SIGHUP", "SIGPIPE"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(base):
        os.environ[protocol.INDEX] = os.path.join(base, "torchkeeper", "index.sqlite")
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
        if cache is not None and copy:
            _keep(cache, copy, data)
        Far(0, out, folder, serving).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
