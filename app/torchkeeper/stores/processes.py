"""Other processes, as Linux tells of them under /proc: what they run, hold open and have mapped.

A process that has mounts of its own, in a container say, knows files by other paths; what it calls
PATH is ``inside(pid, PATH)`` to us. Every function raises OSError where a process has ended, and
PermissionError where it is not for us to look into.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pwd
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from torchkeeper.artifacts.version import SOURCE

PROC = "/proc"
#: Characters of a name.
_MAX_NAME = 60
#: Bytes that are gathered for a pipe of ours: as many as it holds.
_PIPED = 1 << 16
#: Our own processes that hold a cache, by what their command lines say (client/engines/process.py,
#: ``begin``).
_OURS = (
    "from torchkeeper.engine.serve import main",
    "from torchkeeper.engine.far_end import main",
    "from torchkeeper.engine.detached import main",
    "from torchkeeper.stores.reader_process import main",
    "from torchkeeper.stores.folders.walk_process import main",
)
TORCH = re.compile(rb"/libtorch[^/\n]*\.so")
TRITON = re.compile(rb"/libtriton[^/\n]*\.so")
#: vLLM and SGLang set torch's variables themselves, after their start.
VLLM = re.compile(rb"/vllm/[^\n]*\.so")
SGLANG = re.compile(rb"/(?:sglang|sgl_kernel)/[^\n]*\.so")
_PYTHON = re.compile(rb"/libpython[^/\n]*\.so")
#: The end of a line of maps: a path is the sixth column, and may hold spaces.
_MAPPED = re.compile(rb"^(?:\S+ +){5}(/.*)$", re.MULTILINE)
#: What Linux says after the path of a file that was removed.
DELETED = b" (deleted)"


def begin(module: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start the ``main`` of a module of ours, which talks by pipes. Raises OSError."""
    boot = f"import sys; sys.path.insert(0, sys.argv[1]); from {module} import main; main()"
    # Isolated and without site: it starts in 0.1 s and sees no installed package.
    command = [sys.executable, "-I", "-S", "-B", "-c", boot, SOURCE]
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen(
        command, _PIPED, stdin=pipe, stdout=pipe, stderr=nowhere, cwd="/", env=env
    )


def end(process: subprocess.Popen[bytes], seconds: float | None = None) -> None:
    """End such a process; one that is not gone after so many seconds is left to itself."""
    process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    for pipe in (process.stdin, process.stdout):
        if pipe:
            with contextlib.suppress(OSError):
                pipe.close()


#: Seconds for what a forked process has at hand when it is to end.
_PATIENCE = 30.0


@contextlib.contextmanager
def forked(work: Callable[[Any], bool], each: Sequence[object]) -> Iterator[mmap.mmap]:
    """A process that knows what this one does, and has its locks: it does ``work`` for each of some
    until the block is left or this process ends. It tells a byte of each: 0, or 1 and what it said.
    """
    told, parent, pid = mmap.mmap(-1, len(each) + 1), os.getpid(), -1
    # What this process does at a signal is not for that.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    with contextlib.suppress(OSError), warnings.catch_warnings():
        # Python 3.12 warns where there are threads: of their locks none is taken.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork() if each else -1
    if not pid:
        try:
            for number, one in enumerate(each):
                told[number] = 1 + work(one)
                if told[-1] or os.getppid() != parent:
                    break
        finally:
            os._exit(0)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield told
    finally:
        told[-1] = 1
        end = time.monotonic() + _PATIENCE
        with contextlib.suppress(ChildProcessError):  # somebody else has heard of its end
            while pid > 0 and not os.waitpid(pid, os.WNOHANG)[0]:
                if time.monotonic() > end:  # it was stopped, or hangs in the system
                    os.kill(pid, signal.SIGKILL)
                time.sleep(0.001)


def read(pid: int | str, name: str) -> bytes:
    with open(f"{PROC}/{pid}/{name}", "rb") as stream:
        return stream.read()


def status(pid: int) -> list[bytes]:
    """The fields of its ``stat`` (proc(5)), from the state on."""
    # Before that is its name, in brackets, which may itself hold some.
    return read(pid, "stat").rpartition(b")")[2].split()


def processor_seconds(pid: int) -> float:
    """What a process has used of the processor; much where that cannot be told."""
    return _activity(pid)[1]


def is_at_work(pid: int, since: float) -> bool:
    """Whether it has used the processor since it had used so many seconds, or waits to get it."""
    state, seconds = _activity(pid)
    return state == b"R" or seconds > since


def _activity(pid: int) -> tuple[bytes, float]:
    """State, as proc(5) has it, and seconds of the processor."""
    try:
        fields = status(pid)
        return fields[0], (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError):
        return b"", time.monotonic()


def listed() -> list[int]:
    """The numbers of all processes that are to be seen, in order; raises OSError without /proc."""
    return sorted(int(name) for name in os.listdir(PROC) if name.isdecimal())


def is_program(pid: int) -> bool:
    """Whether it is more than a thread of the kernel or the remains of a process."""
    try:
        return bool(read(pid, "cmdline"))
    except PermissionError:
        return True
    except OSError:
        return False


def arguments(pid: int) -> list[str]:
    return [os.fsdecode(part) for part in read(pid, "cmdline").split(b"\0")]


def environment(pid: int) -> dict[str, str]:
    """What it was started with; what it has put there since is not to be seen."""
    return variables(read(pid, "environ"))


def variables(data: bytes) -> dict[str, str]:
    """The variables in what ``environ`` of a process says."""
    pairs = (part.partition(b"=") for part in data.split(b"\0"))
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs if name}


def has_overwritten(pid: int) -> bool:
    """Whether its environment is written over, as by programs with a title (setproctitle)."""
    data = read(pid, "environ")
    return bool(data) and b"=" not in data.partition(b"\0")[0]


def mapped(maps: bytes) -> set[bytes]:
    """The paths of the files that its ``maps`` names."""
    return {match[1] for match in _MAPPED.finditer(maps)}


def mounts(pid: int | str) -> str | None:
    """The mount namespace of a process; None for this one's where the system has none."""
    try:
        return os.readlink(f"{PROC}/{pid}/ns/mnt")
    except FileNotFoundError:
        if pid == "self":
            return None
        raise


def inside(pid: int, path: str) -> str:
    """Where this process finds the file that another one calls ``path``, an absolute path."""
    mine = mounts("self")
    if mine is None or mounts(pid) == mine:
        return path
    return f"{PROC}/{pid}/root{os.path.normpath(path)}"


def default_folder(pid: int, env: Mapping[str, str]) -> str:
    """Where torch keeps its cache without variables, as places.default_folder but for a process.
    torch/_inductor/runtime/cache_dir_utils.py; getpass and tempfile say what they ask in turn.
    """
    user = next((env[n] for n in ("LOGNAME", "USER", "LNAME", "USERNAME") if env.get(n)), None)
    if user is None:
        uid = os.stat(f"{PROC}/{pid}").st_uid
        try:
            user = pwd.getpwuid(uid).pw_name
        except KeyError:
            user = f"uid_{uid}"
    folders = (env[name] for name in ("TMPDIR", "TEMP", "TMP") if env.get(name))
    temporary = next((folder for folder in folders if os.path.isdir(folder)), "/tmp")  # noqa: S108
    return os.path.join(temporary, "torchinductor_" + re.sub(r'[\\/:*?"<>|]', "_", user))


def is_ours(command: list[str]) -> bool:
    """Whether a process is Torchkeeper: it lists a cache and hinders nobody."""
    if any(ours in argument for argument in command[:8] for ours in _OURS):
        return True
    program = os.path.basename(command[1]) if len(command) > 1 else ""
    return program == "torchkeeper" or "-m\0torchkeeper" in "\0".join(command[:6])


def is_python(pid: int, maps: bytes) -> bool:
    """Whether it is an interpreter of Python, or a program that has one in it."""
    if _PYTHON.search(maps):
        return True
    return os.path.basename(os.readlink(f"{PROC}/{pid}/exe")).startswith(("python", "pypy"))


def known_as(pid: int, command: list[str], python: bool) -> str:
    """What a person knows it by, "python train.py" say, of printable characters. No other
    arguments: there may be passwords among them.
    """
    name = os.path.basename(command[0])
    if python and len(command) > 2:
        if command[1] == "-m":
            name += f" -m {command[2]}"
        elif not command[1].startswith("-"):
            name += f" {os.path.basename(command[1])}"
    name = name or os.fsdecode(read(pid, "comm")).strip()
    return "".join(c if c.isprintable() else "?" for c in name[:_MAX_NAME]) or "?"
