"""What must not happen while hostile input is worked on, and how it is seen.

An audit hook (PEP 578) hears of every file that Python code opens for writing, makes or moves,
every socket, program, library and import, whoever asks for it; what is hostile is told apart by
where and when it happens. What other code did, such as a shared object that was loaded, or a reader
process, is seen by the files that it left: each payload would make one in ``trip``.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from tests.pace import LONG, within
from torchkeeper.stores.folders.receipts import PLACED

Made = TypeVar("Made")

#: Seconds of processor time that one input may take here. It is stuck where it waits for LONG.
MOST_SECONDS = 2.0
#: Bytes of memory that working on input may take on top of what there was.
MOST_MEMORY = 512 << 20
#: What nothing but hostile input names.
MODULE = "tripwire_module"
#: How a process ends in which a tripwire fires.
FIRED = 66

#: Opened for writing, the folder itself is a file without a name, gone once it is closed.
_TEMPORARY = tempfile.gettempdir()
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
#: Events with paths that are written to, and which of their arguments those are.
_CHANGES = {
    "os.mkdir": 1, "os.rename": 2, "os.remove": 1, "os.rmdir": 1, "os.link": 2, "os.symlink": 2,
    "os.truncate": 1, "os.chmod": 1, "os.chown": 1, "os.utime": 1, "os.setxattr": 1,
    "shutil.move": 2, "os.mkfifo": 1, "os.mknod": 1,
}  # fmt: skip
#: Of those, where the last arguments are the descriptors of folders, one for each path.
_BELOW = ("os.mkdir", "os.remove", "os.rmdir", "os.link", "os.rename")
#: What a file that has no name yet gets one by.
_UNNAMED = "/proc/self/fd/"
_NEVER = (
    "socket.connect", "socket.bind", "os.system", "os.exec", "os.fork", "os.posix_spawn",
    "os.startfile", "pty.spawn", "ctypes.dlopen", "pickle.find_class", "webbrowser.open",
    "ftplib.connect", "urllib.Request", "smtplib.connect",
)  # fmt: skip
#: The record of a journal that was begun, as torchkeeper.stores.folders.journal names it.
_RECORD = re.compile(r"[0-9a-f]{16}-[0-9a-f]{32}\.json")
#: What an import writes into its receipt, below the open folder of a place. Nobody hears in which
#: folder a bare name is opened: ``check_files`` sees where it came to lie.
NOTED = ("receipt.json", PLACED)
#: The programs that may be started: those that read, and those that walk a folder.
_READERS = ("torchkeeper.stores.reader_process", "torchkeeper.stores.folders.walk_process")


class Fired(BaseException):
    """A tripwire: no Exception, so that nobody who expects bad input takes it for that."""


class Stuck(BaseException):
    """An input that nothing came out of."""


class Arena:
    """A folder that hostile input may name, and the watch over it.

    trip: a folder in which each payload would make a file. inside: where the input is. target:
    where it may be unpacked to; far below, so that ``../`` leads to where it is seen. state: this
    user's, for records of what was begun and nothing else.
    """

    state: Path | None = None

    def __init__(self, root: Path) -> None:
        self.root = root
        self.trip = root / "trip"
        self.inside = root / "inside"
        self.target = root / "a" / "b" / "c" / "target"
        self.state = root / "state"
        for folder in (self.trip, self.inside, self.target.parent, self.state):
            folder.mkdir(parents=True)
        self.allowed: list[str] = [str(self.target)]
        self.sockets = False
        self.count = 0
        self.slowest = 0.0

    def held(self, work: Callable[[], Made]) -> Made:
        """What ``work`` returns, on one input; raises what it raises, Fired, Stuck, or
        AssertionError where it took too long.
        """
        self.count += 1
        began = time.thread_time()
        with _watched(self):
            made = work()
        self._check(time.thread_time() - began)
        return made

    def _check(self, took: float) -> None:
        self.slowest = max(self.slowest, took)
        assert took < MOST_SECONDS or took < within(MOST_SECONDS), f"{took:.1f} s of processor time"
        self.check()

    def check(self) -> None:
        """Raises Fired where a file is there that only a payload would have made."""
        if found := os.listdir(self.trip):
            raise Fired(f"it made {found}")

    def check_files(self) -> None:
        """Raises Fired for a file anywhere but where one may be."""
        fine = (str(self.inside), str(self.target))
        for folder, folders, files in os.walk(self.root):
            folders[:] = [one for one in folders if os.path.join(folder, one) not in fine]
            if folder == str(self._records()):
                files = [one for one in files if not _RECORD.fullmatch(one)]
            if files:
                raise Fired(f"it left {files} in {folder}")

    def hears(self, event: str, args: tuple[Any, ...]) -> str | None:
        """What is wrong with an event, or None."""
        if event == "open":
            path, _, flags = args
            if isinstance(flags, int) and flags & os.O_TMPFILE == os.O_TMPFILE:
                path = os.path.join(path, "nameless")  # it is the folder of what has no name yet
            if isinstance(flags, int) and flags & _WRITES and not self._may_write(path):
                return f"opened {path!r} for writing"
        elif event in _CHANGES:
            count = _CHANGES[event]
            folders = args[-count:] if event in _BELOW else (-1,) * count
            for path, below in zip(args[:count], folders, strict=True):
                if event == "os.link" and str(path).startswith(_UNNAMED):
                    path = os.readlink(path)
                if not self._may_write(path, below):
                    return f"{event} of {path!r}"
        elif event == "import":
            if str(args[0]).startswith(MODULE):
                return f"imported {args[0]}"
        elif event == "subprocess.Popen":
            if not any(reader in str(one) for one in args[1] for reader in _READERS):
                return f"started {args[1]!r}"
        elif event in _NEVER:
            return None if self.sockets and event == "socket.connect" else f"{event} of {args!r}"
        return None

    def _may_write(self, path: Any, below: int = -1) -> bool:
        if not isinstance(path, (str, bytes)):
            return True  # a descriptor, which was opened before
        text = os.fsdecode(path)
        if text in (os.devnull, _TEMPORARY, f"{_TEMPORARY}/nameless", *NOTED):
            return True
        # As the system would go there: links in what leads to it are followed.
        folder = os.readlink(f"/proc/self/fd/{below}") if below >= 0 else os.getcwd()
        above, name = os.path.split(os.path.join(folder, text))
        real = os.path.join(os.path.realpath(above), name)
        return self._is_record(text, real) or (
            name != ".."
            and any(real == root or real.startswith(root + "/") for root in self.allowed)
        )

    def _is_record(self, text: str, real: str) -> bool:
        """Whether it is a record of what was begun, or a folder on the way there. Nobody hears in
        which folder a bare name is opened: ``check_files`` sees where it came to lie.
        """
        if not (records := self._records()):
            return False
        if real in (str(records.parent), str(records)):
            return True
        above, name = os.path.split(real)
        return bool(_RECORD.fullmatch(name)) and (above == str(records) or text == name)

    def _records(self) -> Path | None:
        return self.state and self.state / "torchkeeper" / "begun"


_active: Arena | None = None
_thread = 0
_hooked = False


def _hook(event: str, args: tuple[Any, ...]) -> None:
    arena = _active
    if arena is None or threading.get_ident() != _thread:
        return
    if why := arena.hears(event, args):
        raise Fired(why)


@contextlib.contextmanager
def _watched(arena: Arena) -> Iterator[None]:
    global _active, _hooked, _thread  # noqa: PLW0603 - there is one hook for a process
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked = True

    def late(*_: object) -> None:
        raise Stuck

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, LONG)
    _thread = threading.get_ident()
    _active = arena
    try:
        yield
    finally:
        _active = None
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def memory_bounded(pid: int | str = "self") -> Iterator[None]:
    """Asserts that a process takes no more than MOST_MEMORY within the block."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak begins anew
    before = _status(pid, "VmRSS")
    yield
    assert _status(pid, "VmHWM") - before < MOST_MEMORY


def peak_of(pid: int) -> int:
    """The most memory that a process of one's own had so far, bytes; 0 of one that has ended."""
    return _status(pid, "VmHWM")


def _status(pid: int | str, field: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith(f"{field}:")), 0)


def guard(root: Path, allowed: list[str]) -> None:
    """Keep the watch in this process from now on; it ends at once with status FIRED."""
    arena = object.__new__(Arena)
    arena.root, arena.allowed, arena.sockets = root, allowed, False

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if why := arena.hears(event, args):
            os.write(2, f"{why}\n".encode(errors="backslashreplace"))
            os._exit(FIRED)

    sys.addaudithook(hook)
