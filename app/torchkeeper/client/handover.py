"""One window for each user, screen and set of settings: a second start hands over what to open. The
first holds a lock until its process ends, however it ends: whoever gets the lock is the first, and
a socket that is there then is a dead one's. The lock and the socket are in a folder that nobody
else can enter. The first speaks first: where it hangs nothing was sent yet, and it opens nothing
when it wakes up. Then one JSON object a line goes each way: what is to be opened, and that it was
taken. Nothing of Qt is loaded here, so that handing over is quick.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import struct
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from socket import socket

VERSION = 1
#: Bytes of a line, paths in it, and bytes of one of them, at most.
MOST = 256 << 10
_MOST_PATHS = 1000
_LONGEST = 4096
#: Seconds the first may take to speak, and then to take what is handed over.
PATIENCE = 1.0
#: Seconds until it listens, which it does not yet while it starts itself.
_STARTING = 4.0
#: Of the first's own words, and of what says where a window may come to the front.
_SHORT = 512


@dataclass(frozen=True)
class Handed:
    """What is to be opened: absolute paths and servers. passwords: of some of the servers. token:
    what lets a window come to the front (XDG_ACTIVATION_TOKEN, DESKTOP_STARTUP_ID).
    """

    paths: list[str]
    passwords: dict[str, str] = field(default_factory=dict)
    token: str = ""


@dataclass
class Seat:
    """The first's place. socket: where it listens. lock: None where another process holds it."""

    socket: str
    lock: int | None

    @property
    def first(self) -> bool:
        return self.lock is not None

    def leave(self) -> None:
        """Be the first no longer. Safe to call again."""
        if self.lock is not None:
            with contextlib.suppress(OSError):
                os.unlink(self.socket)
            os.close(self.lock)
            self.lock = None


def claim() -> Seat | None:
    """Become the first, or find who is; None where there is no folder for that."""
    import fcntl

    if (folder := _folder()) is None:
        return None
    # On another screen, or with other settings, is another window.
    parts = [os.environ.get(x, "") for x in ("WAYLAND_DISPLAY", "DISPLAY", "QT_QPA_PLATFORM")]
    parts.append(os.environ.get("XDG_CONFIG_HOME") or os.environ.get("HOME", ""))
    name = os.path.join(folder, f"{zlib.crc32(os.fsencode(chr(0).join(parts))):08x}")
    try:
        lock = os.open(f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return Seat(f"{name}.socket", None)
    return Seat(f"{name}.socket", lock)


def _folder() -> str | None:
    """A folder that is this user's, which nobody else can enter; None where there is none."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime):
        folder = os.path.join(runtime, "torchkeeper")
    else:
        folder = os.path.join(os.environ.get("TMPDIR") or "/tmp", f"torchkeeper-{os.getuid()}")  # noqa: S108
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        found = os.lstat(folder)
    except OSError:
        return None
    # In a folder for all, somebody else may have made one of this name.
    private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    return folder if private and found.st_uid == os.getuid() else None


def token() -> str:
    """What whoever started this process gave it, so that its window may come to the front."""
    return os.environ.get("XDG_ACTIVATION_TOKEN") or os.environ.get("DESKTOP_STARTUP_ID") or ""


def hand_over(seat: Seat, handed: Handed) -> bool:
    """Have the first open this; False where it does not answer, or has gone."""
    import socket

    said = _line(vars(handed))
    if len(said) > MOST:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(PATIENCE)
        try:
            if not _reach(line, seat.socket) or not same_user(line):
                return False
            if _heard(line).get("torchkeeper") != VERSION:
                return False
            line.sendall(said)
            return _heard(line).get("taken") is True
        except (OSError, ValueError, RecursionError):
            return False


def _reach(line: socket, path: str) -> bool:
    """Connect, as soon as the first listens."""
    until = time.monotonic() + _STARTING
    while time.monotonic() <= until:
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            line.connect(path)
            return True
        time.sleep(0.02)
    return False


def _heard(line: socket) -> dict[str, object]:
    """A line of the first's, whole within PATIENCE. Raises OSError, ValueError."""
    until = time.monotonic() + PATIENCE
    data = b""
    while not data.endswith(b"\n"):
        line.settimeout(max(0.001, until - time.monotonic()))
        piece = line.recv(_SHORT)
        data += piece
        if not piece or len(data) > _SHORT:
            raise ValueError("no line")
    said = json.loads(data)
    return said if isinstance(said, dict) else {}


def same_user(line: socket) -> bool:
    """Whether who is at the other end is the same user, where the system tells that."""
    import socket

    if (asked := getattr(socket, "SO_PEERCRED", None)) is None:
        return True  # who could enter the folder is
    ucred = line.getsockopt(socket.SOL_SOCKET, asked, struct.calcsize("3i"))
    return bool(struct.unpack("3i", ucred)[1] == os.getuid())


def _line(said: Mapping[str, object]) -> bytes:
    return json.dumps({"torchkeeper": VERSION, **said}).encode() + b"\n"


#: What the first says before anything else; and that it has taken what is to be opened.
GREETING, TAKEN = _line({}), _line({"taken": True})


def parse(line: bytes) -> Handed | None:
    """What another start hands over, checked as if an enemy had sent it; None where it is wrong."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("torchkeeper") != VERSION:
        return None
    paths, passwords = said.get("paths"), said.get("passwords", {})
    if not isinstance(paths, list) or not isinstance(passwords, dict):
        return None
    if len(paths) > _MOST_PATHS or not all(_fits(path) for path in paths):
        return None
    servers = {path for path in paths if not scheme_of(path).local}
    if not all(_named(path) if path in servers else os.path.isabs(path) for path in paths):
        return None
    if not all(place in servers and _fits(word) for place, word in passwords.items()):
        return None
    asked = said.get("token", "")
    good = isinstance(asked, str) and len(asked) <= _SHORT and asked.isascii()
    return Handed(paths, passwords, asked if good and asked.isprintable() else "")


def _fits(text: object) -> bool:
    """Whether something can be a path, or a password."""
    try:
        return isinstance(text, str) and "\0" not in text and 0 < len(os.fsencode(text)) <= _LONGEST
    except UnicodeEncodeError:  # half of a character
        return False


def _named(server: str) -> bool:
    """Whether it is the name of a server, without a password: as ``secrets.named`` makes them."""
    from torchkeeper.artifacts.entry import Problem

    try:
        return scheme_of(server).parted(server) == (server, None)
    except Problem:
        return False


def of(files: Sequence[str]) -> Handed:
    """What a start that names these is to hand over."""
    paths = [scheme_of(file).normal(file) for file in files]
    passwords: dict[str, str] = {}
    if servers := [path for path in paths if scheme_of(path).may_want_password]:
        from torchkeeper.client import secrets

        passwords = {p: word for p in servers if (word := secrets.given(p)) is not None}
    return Handed(paths, passwords, token())
