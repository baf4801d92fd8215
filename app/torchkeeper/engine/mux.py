"""Many engines over one connection to another machine: the frames, and the loop that both ends run.
The far end is a program of its own (``far_end``), which ``client.engines.line`` sends there.

A frame is its kind, a channel, a length and that many bytes. A channel is a process there, a file
of the private folder there, or a connection to a server that the machine there reaches, with at
most three streams: what goes in (0), and what comes out (1, 2). Of each at most WINDOW bytes are
under way: its reader grants more once it has passed them on, so that one that nobody reads holds up
no other. What the other end says is checked: whatever it sends, this end keeps bounded room for it.

What engines say goes compressed, and what has gone before as its number (``past``): to list
something again costs what has changed. Files are compressed where the connection is what is slow.

A connection that breaks need not tell: a laptop sleeps, a router forgets. So each end says a word
from time to time, and takes the connection as lost once it has listened for long and heard nothing.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import struct
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from torchkeeper.engine import past

VERSION = 6
HEAD = struct.Struct(">BIH")
_GRANT = struct.Struct(">I")
#: Kinds of frames. DATA: of a stream, whose number is added; empty at its end. GRANT: that as many
#: bytes more may come. OPEN, ENDED: JSON about a channel. SIGNAL: the number of one for a process.
#: PACKED: as DATA, compressed; CHUNKS: and to be remembered, all of them as one; SAME: runs of what
#: is. ALIVE: the end is there.
DATA, GRANT, OPEN, ENDED, SIGNAL, PACKED, CHUNKS, SAME, ALIVE = 0, 3, 6, 7, 8, 9, 12, 15, 18
#: Bytes in a frame, of a stream under way, and waiting for the connection.
PIECE, WINDOW, ROOM = 1 << 15, 1 << 22, 1 << 18
#: Bytes that wait for a reader who does not read.
_UNREAD = 16 << 20
#: Seconds that what runs here has once nobody is left who could hear of it.
PATIENCE = 20.0
#: Seconds of listening and hearing nothing after which a connection is lost, and how many words an
#: end says in that time.
SILENCE, _WORDS = 60.0, 3
#: Seconds for which what nobody waits for may wait for more of it: what has gone before, how far
#: something is, and how more rows begin.
_SOON = 0.2
_LATE = (b'{"type":"progress",', b'{"type":"rows",')
#: How hard is compressed: what there is little of, and files.
_HARD, _FAST = 6, 1
#: Why a file is not taken.
READ_ONLY = "This key changes nothing"
#: By how many bytes a piece may be longer packed.
_LONGER = 256
#: How many pieces are not tried after one that did not become shorter.
_DENSE = 32


class Broken(Exception):
    """What came from the other end are no frames, or not those that were agreed on."""


class Silent(Exception):
    """Nothing has come from the other end for too long."""


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
        #: Bytes that may still come of streams that were dropped.
        self._astray = 0
        #: Runs of a stream that have not gone yet; and when all that is to go has to.
        self._same: tuple[_Stream, list[list[int]]] | None = None
        self._due = 0.0
        #: Seconds of silence that are too many, 0 for any; those until now; when a word is due.
        self._silence = self._quiet = self._word = 0.0
        self._woken, self._waker = os.pipe()
        self._open = True
        for handle in (into, out, self._woken, self._waker):
            os.set_blocking(handle, False)

    @functools.cached_property
    def _packer(self) -> past.Packer:  # of which an end has one
        return past.Packer(_HARD)

    @functools.cached_property
    def _unpacker(self) -> past.Unpacker:
        return past.Unpacker()

    def heed(self, silence: float) -> None:
        """Have so many seconds of silence be too many, 0 for any, and say words oneself."""
        self._silence, self._word = silence, time.monotonic() + silence / _WORDS

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
            stream = self._streams.pop(key)
            os.close(stream.handle)
            self._astray += 0 if stream.reads else stream.credit

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
        """Pass on what there is, and wait for that as long as this. Raises Broken and Silent."""
        seconds = self._alive(seconds)
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
        begun = time.monotonic()
        ready = [handle for handle, _ in poll.poll(None if seconds is None else seconds * 1000)]
        # A clock that went on while the machine slept counts as one word that was missed.
        self._quiet += min(time.monotonic() - begun, self._silence / _WORDS)
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
        if self._quiet > self._silence:
            raise Silent

    def _alive(self, seconds: float | None) -> float | None:
        """Say a word if it is time, and how long to wait at most."""
        if not self._silence:
            return seconds
        if (left := self._word - time.monotonic()) <= 0:
            left = self._silence / _WORDS
            self._word = time.monotonic() + left
            self.frame(ALIVE, 0)
        return left if seconds is None else min(seconds, left)

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
        self._quiet = 0.0
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
        if kind == ALIVE:
            return None
        if OPEN <= kind < PACKED or kind > ALIVE:
            return self.control(kind, channel, payload)
        stream = self._streams.get((channel, kind % GRANT))
        if kind >= PACKED:
            payload = self._unpacked(kind, payload, stream)
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

    def _unpacked(self, kind: int, payload: bytes, stream: _Stream | None) -> bytes:
        """What a frame stands for. A few bytes may stand for many: what was not asked for is no
        work. Raises Broken.
        """
        room = stream.credit if stream else self._astray
        try:
            if kind >= SAME:
                data = self._past.again(payload, room)
            else:  # never nothing, which would be an end
                unpacked = past.unpacked if kind < CHUNKS else self._unpacker.unpacked
                data = unpacked(payload, PIECE)
        except ValueError as e:
            raise Broken(f"of a frame {e}") from e
        if kind >= CHUNKS and len(data) > room:
            raise Broken("more has come than was asked for")
        if kind >= CHUNKS and not stream:
            self._astray -= len(data)
        if CHUNKS <= kind < SAME:
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
                packed = self._packer.packed(b"".join(new))
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
            if sum(map(len, new)) + len(chunk) > PIECE - _LONGER:
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
