"""The way to another machine: the system's own ssh, with the user's configuration and agent, and
over that one connection all engines there (``engine.mux``). Nothing is installed there: its python3
has the packages that travel from us (``boot``), and imports them from memory. Nothing waits unless
it says so.

ssh asks on the terminal by itself; where there is a window, that is asked (``questions``). Where
there is neither it fails, and says why.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import threading
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import IO, NamedTuple

from torchkeeper.client import terminal
from torchkeeper.client.engines import boot
from torchkeeper.client.engines.questions import Asking
from torchkeeper.client.engines.travel import archive
from torchkeeper.client.terminal import Terminal
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.engine import mux
from torchkeeper.stores.ssh import parse

#: Characters that may come before the first word, of banners and what a shell prints as it starts;
#: of that word; and of what ssh says, the last.
_BANNER, _HELLO, _SAID = 1 << 20, 1 << 14, 8000
#: Characters of each path in the first word.
_PATH = 4000
#: Lines of that which are shown, and characters of each.
_LINES, _LINE = 14, 300
#: Seconds that the connection has to end by itself.
_GRACE = 2.0
#: Seconds without a word on the way there, and without a question, after which it is given up; and
#: how often that is looked at.
GIVEN_UP, _LOOK = 300.0, 1.0
#: What ssh says where it fails, and what that is.
_FAILURES = (
    (re.compile(r"IDENTIFICATION HAS CHANGED|REVOKED HOST KEY"), "ssh-key-changed"),
    (re.compile(r"Host key verification failed|authenticity of host"), "ssh-key-unknown"),
    (re.compile(r"Permission denied|Too many authentication failures"), "ssh-denied"),
    (re.compile(r"Could not resolve hostname"), "ssh-host-unknown"),
    (re.compile(r"Connection refused"), "ssh-refused"),
    (re.compile(r"timed out|No route to host|Network is unreachable"), "ssh-silent"),
)
#: How a shell ends that knows no such command, and what it says of it.
_NO_COMMAND = 127


class Hello(NamedTuple):
    """What the machine says first. executable: its python3. home, folder: absolute paths there."""

    python: str
    executable: str
    home: str
    folder: str
    #: Whether something is there of files that broke off on their way (``stores.parts``).
    parts: bool = False


class Channel:
    """An engine on the machine, as a ``subprocess.Popen`` with pipes; or a file of the private
    folder there, with the one pipe that it has.
    """

    def __init__(self, line: Line, number: int, pipes: Mapping[int, int]) -> None:
        self._line, self._number = line, number
        self.pid = number
        self.returncode: int | None = None
        #: Why it could not be.
        self.why = ""
        self._ended = threading.Event()
        self.stdin: IO[bytes] | None = os.fdopen(pipes[0], "wb") if 0 in pipes else None
        self.stdout: IO[bytes] | None = os.fdopen(pipes[1], "rb") if 1 in pipes else None
        self.stderr: IO[bytes] | None = os.fdopen(pipes[2], "rb") if 2 in pipes else None

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if not self._ended.wait(timeout):
            raise subprocess.TimeoutExpired("ssh", timeout or 0)
        return self.returncode or 0

    def signal(self, number: int) -> None:
        """A signal to its whole group. Does not wait, and after SIGKILL hears nothing more."""
        self._line.wake(lambda: self._line.signal(self._number, number))

    def end(self, status: int, why: str = "") -> None:
        self.returncode, self.why = status, why
        self._ended.set()

    def failure(self) -> UserError | None:
        """Why it came to nothing, where that is the way, and not itself."""
        return self._line.failure


class Line(mux.Mux):
    """A connection to a machine. It begins at once, in a thread of its own."""

    def __init__(self, machine: str, silent: bool = False) -> None:
        """silent: nobody is asked for anything."""
        self.machine = machine
        self._address = parse(machine)
        self.failure: UserError | None = None
        self._hello: Hello | None = None
        self._told = threading.Event()
        #: Seconds for which nothing has come on the way there, and nobody was asked; and what had.
        self.still, self._moved = 0.0, (0, 0, b"", False)
        self._channels: dict[int, Channel] = {}
        self._next, self._lock, self._over = 0, threading.Lock(), False
        #: What waits until the other end takes frames.
        self._held = bytearray()
        self._token = f"torchkeeper-{secrets.token_hex(8)}:"
        self._said = b""
        #: Whether the machine has wanted what travels.
        self._sent = False
        if shutil.which("ssh") is None:
            raise user_error("ssh-missing", {})
        try:
            data, digest = _travels()
        except OSError as e:
            raise self._no_way("ssh-failed", e.strerror or str(e)) from e
        self._asking: Asking | Terminal | None = None
        if not silent and Asking.by:
            self._asking = Asking(machine, Asking.by)
        elif not silent and not Asking.silent and terminal.is_there():
            self._asking = Terminal(machine)
        asks = self._asking is not None
        argv = boot.command(self._address, self._token, digest, len(data), asks)
        # Ctrl-C is for us to deal with: an engine is asked to cancel, over this connection.
        shell = ["/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh", *argv]
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                shell, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0,
                env={**os.environ, **self._asking.variables} if self._asking else None,
            )  # fmt: skip
        except OSError as e:
            self._answered()
            raise self._no_way("ssh-failed", e.strerror or str(e)) from e
        if isinstance(self._asking, Terminal):
            self._asking.pid = self._process.pid
        assert self._process.stdin and self._process.stdout and self._process.stderr
        super().__init__(self._process.stdout.fileno(), self._process.stdin.fileno())
        # A master of connections that the user's configuration starts may hold it for ever.
        self._listener = threading.Thread(target=self._listen, name="line-said", daemon=True)
        self._listener.start()
        threading.Thread(target=self._run, name="line", daemon=True).start()

    def answers(self, seconds: float) -> bool:
        """Whether it is known within so many seconds what comes of it."""
        return self._told.wait(seconds)

    def hello(self, seconds: float | None = None) -> Hello:
        """What the machine said first; waits for that, and gives it up after so many seconds.
        Raises UserError.
        """
        if not self._told.wait(seconds):
            why = tr("It said nothing for {n} seconds.", n=round(seconds or 0))
            self.give_up(self._no_way("ssh-silent", why))
        self._told.wait()
        if self._hello is None:
            assert self.failure
            raise self.failure
        return self._hello

    def start(self, python: str | None) -> Channel:
        """An engine there; python: None for the machine's own python3, which sees no packages."""
        return self._begin({0: True, 1: False, 2: False}, {"python": python} if python else {})

    def file(self, name: str, writes: bool, keeps: bool = False) -> Channel:
        """A file of the private folder there; one that is written is new. keeps: also where the
        connection breaks (``stores.parts``).
        """
        asked = {"file": name, "writes": writes, "keeps": keeps}
        return self._begin({0: True} if writes else {1: False}, asked)

    def forget(self, name: str, keeps: bool = False) -> None:
        """Remove a file of the private folder there; keeps: but not what has come of it. Waits, but
        not for long.
        """
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._begin({}, {"file": name, "gone": True, "keeps": keeps}).wait(mux.PATIENCE)

    def join(self, server: str, handle: int) -> None:
        """Have a server that the machine reaches at the other end of a socket, after a line there
        that says whether it is (``stores.redis.way``).
        """
        self._begin({0: True, 1: False}, {"server": server}, {0: handle, 1: os.dup(handle)})

    def _begin(
        self, streams: Mapping[int, bool], asked: Mapping[str, object],
        joined: Mapping[int, int] | None = None,
    ) -> Channel:  # fmt: skip
        pipes = {} if joined else {number: os.pipe() for number in streams}
        with self._lock:
            self._next += 1
            number = self._next
        ours = joined or {n: pipe[0] if streams[n] else pipe[1] for n, pipe in pipes.items()}
        theirs = {n: pipe[1] if streams[n] else pipe[0] for n, pipe in pipes.items()}
        channel = Channel(self, number, theirs)

        def begin() -> None:
            if self.failure:
                for handle in ours.values():
                    os.close(handle)
                channel.end(255, self.failure.why)
                return
            self._channels[number] = channel
            self.tell(mux.OPEN, number, **asked)
            for n, reads in streams.items():
                self.add(number, n, ours[n], reads)

        self.wake(begin)
        return channel

    def signal(self, channel: int, number: int) -> None:
        """Send a signal to what runs in a channel; to be called in the loop."""
        if channel not in self._channels:
            return
        self.frame(mux.SIGNAL, channel, bytes([number]))
        if number == signal.SIGKILL:
            self.drop(channel)
            self._channels.pop(channel).end(-number)

    def frame(self, kind: int, channel: int, payload: bytes = b"", now: bool = True) -> None:
        if self._hello:
            super().frame(kind, channel, payload, now)
        else:
            self._held += mux.HEAD.pack(kind, channel, len(payload)) + payload

    def _run(self) -> None:
        why = ""
        try:
            while self._open and self._hello is None:
                begun = time.monotonic()
                self.turn(_LOOK)
                self._watch(min(time.monotonic() - begun, 2 * _LOOK))
            while self._open:
                self.turn()
        except mux.Broken as broken:
            why = str(broken)
        except mux.Silent:
            why = tr("It said nothing for {n} seconds.", n=round(self._silence))
            self.failure = self._no_way("ssh-lost", why)
        except Exception as e:  # noqa: BLE001 - a bug must reach who waits, not leave them waiting
            why = f"{type(e).__name__}: {e}"
        self._end(why)

    def _watch(self, seconds: float) -> None:
        """Count silence on the way there, say so, and give it up in the end. ssh itself may wait
        for ever; and one that asks, for its user.
        """
        before, self.still = self.still, self.still + seconds
        moved = len(self._came), len(self._out), self._said, self._sent
        if moved != self._moved:
            self._moved, self.still = moved, 0.0
        if self.still < terminal.SLOW or self._hello:
            return
        if self._asking and self._asking.asks():
            self.still = 0.0
        elif self.still > GIVEN_UP:
            why = tr("It said nothing for {n} seconds.", n=round(GIVEN_UP))
            self.give_up(self._no_way("ssh-silent", why))
        elif before < terminal.SLOW and isinstance(self._asking, Terminal):
            self._asking.say(tr("{machine} has said nothing for {n} seconds. It is given up after "
                                "{most}; Ctrl-C does so at once.", machine=self.machine,
                                n=round(terminal.SLOW), most=round(GIVEN_UP)))  # fmt: skip

    def _end(self, why: str) -> None:
        """Say what became of it to whoever waits."""
        self._answered()
        if why:
            self._process.kill()
        assert self._process.stdin
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:  # it may still be of use to others, or hear of no end
            threading.Thread(target=self._process.wait, name="line-over", daemon=True).start()
        self._listener.join(_GRACE)
        if not self.failure:
            misspoken = {"machine": self.machine, "why": f"{why[:1].upper()}{why[1:]}."}
            self.failure = user_error("ssh-misspoken", misspoken) if why else self._failed()
        self._open = False
        self._out.clear()
        for number, _ in list(self._streams):  # also of a channel that has ended, and is not read
            self.drop(number)
        for number in list(self._channels):
            self._channels.pop(number).end(255, self.failure.why)
        self._told.set()
        with self._lock:
            self._over = True
        while self._calls:
            self._calls.popleft()()
        for handle in (self._woken, self._waker):
            os.close(handle)
        assert self._process.stdout
        self._process.stdout.close()

    def wake(self, call: Callable[[], None] | None = None) -> None:
        with self._lock:
            if not self._over:
                super().wake(call)
                return
        if call:  # whoever comes now hears of it
            call()

    def _answered(self) -> None:
        if self._asking:
            self._asking.end()

    def _listen(self) -> None:
        """Keep the last that ssh says, or the account there as it starts."""
        assert self._process.stderr
        with self._process.stderr as stderr:
            while data := os.read(stderr.fileno(), 1 << 14):
                self._said = (self._said + data)[-_SAID:]

    def _failed(self) -> UserError:
        said = self._said.decode(errors="replace")
        why = shown(said)
        no_command = self._process.returncode == _NO_COMMAND
        code = "ssh-no-python" if no_command else "ssh-failed"
        code = next((code for pattern, code in _FAILURES if pattern.search(said)), code)
        return self._no_way("ssh-lost" if self._hello else code, why)

    def _no_way(self, code: str, why: str) -> UserError:
        return no_way(code, why, machine=self.machine, command=self._address.by_hand)

    def took(self, data: bytes) -> None:
        if self._hello:
            return super().took(data)
        self._came += data
        before, token, after = bytes(self._came).partition(self._token.encode())
        if len(before) > _BANNER:
            raise mux.Broken(tr("it prints too much before it begins"))
        if not token:
            return None
        line, end, rest = after.partition(b"\n")
        if line == boot.WANT and end:
            if self._sent:
                raise mux.Broken(tr("it wants the same once more"))
            with _zipping:
                zipped, self._sent = _zipped(), True
            self._out += b"%08x" % len(zipped) + zipped
            self._came[:] = rest
            return self.took(b"")
        if line.startswith(boot.OLD) and self._token.encode() in line:
            version = line[4:].split(self._token.encode())[0].decode(errors="replace")
            about = {"machine": self.machine, "version": printable(version, 20)}
            self.failure = user_error("ssh-python-old", about)
            self._open = False
            return None
        if len(line) > _HELLO:
            raise mux.Broken(tr("its first word is too long"))
        if not end:
            return None
        self._hello = _hello(line)
        self._said = b""  # what was said until then is not why it ends
        self.heed(mux.SILENCE)
        self._answered()
        self._came.clear()
        self._out += self._held
        self._told.set()
        return super().took(rest)

    def control(self, kind: int, channel: int, payload: bytes) -> None:
        if kind != mux.ENDED:
            raise mux.Broken(tr("a frame is of an unknown kind"))
        told = _object(payload)
        status, why = told.get("status", 255), told.get("why", "")
        if type(status) is not int or abs(status) > 1 << 16 or not isinstance(why, str):
            raise mux.Broken(tr("an end is of another type"))
        if (one := self._channels.pop(channel, None)) is None:
            return
        for key in [key for key in self._streams if key[0] == channel]:
            stream = self._streams[key]
            stream.ended = True  # what has come is still read
            if stream.reads:
                self._close(stream)
        one.end(status, printable(why, 300))

    def give_up(self, error: UserError) -> None:
        """End it at once, for this reason. Does not wait."""
        self.failure = error
        self._process.kill()
        self.wake(self._shut)

    def hang_up(self) -> None:
        """Have it end, and what runs there. Does not wait."""
        if self._hello is None:
            self._process.kill()  # it may still ask somebody
        self.wake(self._shut)

    def close(self) -> None:
        """The same, and wait for it, but not for long."""
        self.hang_up()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(mux.PATIENCE)
            return
        self._process.kill()

    def _shut(self) -> None:
        self._open = False


def no_way(code: str, why: str, **about: str) -> UserError:
    """What is wrong with a way, with ssh's own words, as they are."""
    error, params = user_error(code, about), {**about, "why": why}
    why = why or tr("ssh ended without a word.")
    return UserError(error.what, why, error.remedy, code=error.code, params=params)


def shown(said: str) -> str:
    """What ssh says, the last lines of it."""
    lines = [line for line in said.replace("\r", "").splitlines() if line.strip(" @")]
    return "\n".join(printable(line, _LINE) for line in lines[-_LINES:])


@functools.cache
def _travels() -> tuple[bytes, str]:
    """What travels, the same to all machines, and its SHA-256. Raises OSError."""
    data = archive().read_bytes()
    return data, hashlib.sha256(data).hexdigest()


#: Many lines may want it at the same time, of which one compresses it.
_zipping = threading.Lock()


@functools.cache
def _zipped() -> bytes:
    """What travels, as it goes to a machine that has no copy."""
    return zlib.compress(_travels()[0])


def _object(data: bytes) -> dict[str, object]:
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise mux.Broken(tr("a word is no object"))
    return told


def _hello(data: bytes) -> Hello:
    """What a machine says first. Raises Broken."""
    told = _object(data)
    if told.get("version") != mux.VERSION:
        raise mux.Broken(tr("it is of another version"))
    names = Hello._fields[:-1]
    said = [told.get(name) for name in names]
    for name, one in zip(names, said, strict=True):
        if not isinstance(one, str) or len(one) > _PATH or not one.isprintable():
            raise mux.Broken(tr("its {name} is no plain text", name=name))
        if name != "python" and not (os.path.isabs(one) and one == os.path.normpath(one)):
            raise mux.Broken(tr("its {name} is no path", name=name))
    python, executable, home, folder = map(str, said)
    return Hello(python, executable, home, folder, told.get("parts") is True)


class _Lines:
    """The connections of this process: one that was forked has no threads of the other."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Have none, and nobody who makes one."""
        self.lock = threading.Lock()
        self.of = dict[str, Line]()
        #: One is made at a time to each machine: that may wait for the terminal, and others need
        #: not.
        self.making = defaultdict[str, threading.Lock](threading.Lock)
        #: How many times all were ended.
        self.ended = 0


_lines = _Lines()
os.register_at_fork(after_in_child=_lines.forget)


def to(machine: str, silent: bool = False) -> Line:
    """The one connection of this process to a machine; a new one where the last has ended. silent:
    as of a ``Line``. Raises UserError where there is no ssh, or all were ended before it began.
    """
    with _lines.lock:
        making, ended = _lines.making[machine], _lines.ended
    with making:
        if there := standing(machine):
            return there
        made = Line(machine, silent)
        with _lines.lock:
            if ended == _lines.ended:
                _lines.of[machine] = made
                return made
    made.close()
    raise user_error("cancelled", {})


def leave(machine: str) -> None:
    """End the connection to a machine, if there is one. Waits, but not for long."""
    with _lines.lock:
        line = _lines.of.pop(machine, None)
    if line and not line.failure:
        line.close()


def standing(machine: str) -> Line | None:
    """The one that there is."""
    line = _lines.of.get(machine)
    return line if line and not line.failure else None


def close_all() -> None:
    """End every connection of this process. Waits, but not for long."""
    with _lines.lock:
        _lines.ended += 1
        here = list(_lines.of.values())
        _lines.of.clear()
    for line in here:  # at the same time
        line.hang_up()
    for line in here:
        if not line.failure:
            line.close()


atexit.register(close_all)
