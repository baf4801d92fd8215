"""Every process of a compile job: find them all, end them all, have them give way to others; and
what commands of users are called. Also a process that mends folders once the one that started it
is gone.

torch starts compile workers (torch/_inductor/compile_worker/subproc_pool.py), and those start
compilers. All of them stay in the job's process group; the parent links are followed as well, so
that a recipe which starts a session of its own does not escape. What does so and loses its parent
has the job's mark all the same: a variable in the environment that it was started with.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any, TypedDict

from torchkeeper.artifacts.version import SOURCE
from torchkeeper.stores import atomic, processes
from torchkeeper.warm import sweep

#: What the names of marks begin with: PyTorch writes down what begins with TORCH or TRITON
#: (torch/_inductor/codecache.py), and a mark is another for each job.
_MARK = "KEEPER_JOB_"
#: Seconds until what was asked to end is made to end.
GRACE = 0.5
#: Seconds to wait for what was killed; only a process stuck in a device driver takes longer.
PATIENCE = 5.0
_TURN = 0.01


class Job(subprocess.Popen[bytes]):
    """A process whose environment has a mark, as that of all that it starts; ``end`` finds them."""

    def __init__(self, command: list[str], env: dict[str, str], **more: Any) -> None:
        self.mark = f"{_MARK}{os.urandom(16).hex()}"
        super().__init__(command, env={**env, self.mark: "1"}, **more)


def marks() -> list[str]:
    """The marks of this process: its job's, and of a job that this one is within."""
    return [name for name in os.environ if name.startswith(_MARK)]


def unmarked() -> dict[str, str]:
    """This process's environment for one that is to outlive its job."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_MARK)}


def marked(mark: str) -> set[int]:
    """The live processes with a mark that this user may look into, but for this one."""
    wanted, found = b"\0" + mark.encode() + b"=", set()
    for pid in _listed() - {os.getpid()}:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            if wanted in b"\0" + file.read():
                found.add(pid)
    return found


def _listed() -> set[int]:
    """All processes; none where there is no /proc."""
    with contextlib.suppress(OSError):
        return set(processes.listed())
    return set()


def end_outside(names: list[str]) -> None:
    """Kill what has one of these marks and is not in this process's group, until none is left."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        left = {pid for name in names for pid in marked(name) if not _beside(pid)}
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not left:
            return
        time.sleep(_TURN)


def _beside(pid: int) -> bool:
    """Whether a process is in this one's group, or gone."""
    try:
        return os.getpgid(pid) == os.getpgrp()
    except (ProcessLookupError, PermissionError):
        return True


def _table() -> dict[int, tuple[int, int, int]] | None:
    """Parent, group and session of every live process, or None where there is no /proc."""
    table = {}
    for pid in _listed():
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = processes.status(pid)
            if fields[0] not in (b"Z", b"X"):
                table[pid] = (int(fields[1]), int(fields[2]), int(fields[3]))
    return table or None


def family(leader: int, mark: str | None = None) -> set[int]:
    """The live processes of a leader's group and session, or with the mark, and their children."""
    table = _table()
    if table is None:
        return {leader} if _lives(leader) else set()
    found = {pid for pid, (_, group, session) in table.items() if leader in (pid, group, session)}
    if mark is not None:
        found |= marked(mark) & set(table)
    while True:
        more = {pid for pid, (parent, _, _) in table.items() if parent in found} - found
        if not more:
            return found - {os.getpid()}
        found |= more


def start_of(pid: int) -> int | None:
    """When a process began, in ticks since the machine did; None for one that is not there. With
    it an id is never that of another process.
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = processes.status(pid)
        return None if fields[0] in (b"Z", b"X") else int(fields[19])
    return None


def numbered(members: set[int]) -> list[tuple[int, int]]:
    """Processes by their ids and starts, those that are gone left out."""
    return [(pid, start) for pid in sorted(members) if (start := start_of(pid)) is not None]


def end_these(some: Sequence[Sequence[int]], grace: float = GRACE) -> list[tuple[int, int]]:
    """End processes, each by its id and its start, and nothing else; those that are still there."""
    wanted = {(pid, start) for pid, start in some}
    begun, number = time.monotonic(), signal.SIGTERM
    while left := [one for one in numbered({pid for pid, _ in wanted}) if one in wanted]:
        if (passed := time.monotonic() - begun) > grace + PATIENCE:
            break
        for pid, start in left if number == signal.SIGTERM or passed >= grace else ():
            if start_of(pid) == start:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        number = signal.SIGKILL
        time.sleep(_TURN)
    return left


def memory(leader: int, limit: int) -> int | None:
    """Bytes that a job and all it started hold, where that is more than ``limit``; else None. What
    processes share counts once (Pss), slow to ask: only if it may matter. None without a /proc.
    """
    members = family(leader)
    if sum(map(_resident, members)) <= limit:
        return None
    used = sum(map(_proportional, members))
    return used if used > limit else None


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _proportional(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            return next(int(x.split()[1]) for x in file if x.startswith(b"Pss:")) * 1024
    except (OSError, ValueError, IndexError, StopIteration):
        return _resident(pid)


def available() -> int | None:
    """Bytes of memory that are free, here and in the container (cgroup v2); None if not told."""
    found = []
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/meminfo", "rb") as file:
            found += [int(x.split()[1]) * 1024 for x in file if x.startswith(b"MemAvailable:")]
        with open("/sys/fs/cgroup/memory.max", "rb") as file:
            most = int(file.read())
        with open("/sys/fs/cgroup/memory.current", "rb") as file:
            found.append(max(most - int(file.read()), 0))
    return min(found, default=None)


def cores() -> int:
    """How many this process may use."""
    told = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if told else os.cpu_count() or 1


def busy() -> bool:
    """Whether more wants to run than there are cores, so that one more would only share them."""
    try:
        return os.getloadavg()[0] > 1.25 * cores()
    except OSError:
        return False


def signal_name(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def _signal(leader: int, members: set[int], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
    for pid in members:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def end(process: subprocess.Popen[bytes], grace: float = GRACE) -> set[int]:
    """End a job and all it started; their ids. g++ takes away what it wrote at SIGTERM."""
    leader, mark = process.pid, getattr(process, "mark", None)
    seen: set[int] = {leader}
    number = signal.SIGTERM
    begun = time.monotonic()
    while time.monotonic() < begun + grace + PATIENCE:
        members = family(leader, mark)
        seen |= members
        if not members:
            break
        if number == signal.SIGTERM:
            _signal(leader, members, number)
            number = signal.SIGKILL
        elif time.monotonic() >= begun + grace:
            _signal(leader, members, number)
        time.sleep(_TURN)
        process.poll()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE)
    return seen


_PYTHON = re.compile(r"python[0-9.]*")


def is_python(word: str) -> bool:
    """Whether it is what Python is started by: ``python``, ``/usr/bin/python3.12``."""
    return _PYTHON.fullmatch(os.path.basename(word)) is not None


def under(python: str, command: Sequence[str]) -> list[str] | None:
    """A command as it is run by a certain interpreter; None for one that no Python runs. One that
    Python runs begins with ``python``, ``-m``, ``-c``, or the name of a Python file.
    """
    first = command[0]
    if is_python(first):
        return [python, *command[1:]]
    return [python, *command] if first in ("-m", "-c") or first.endswith(".py") else None


def file_of(command: Sequence[str]) -> str | None:
    """The file that Python is to run, of a command that names one in the simplest way."""
    words = command[1:] if is_python(command[0]) else command
    return words[0] if words and words[0].endswith(".py") else None


# Having a process use the processors only as far as nobody else wants them.

#: Seconds between two groups of sessions that one user may make nicer (sched(7) does not say so;
#: Linux, kernel/sched/autogroup.c does), and how often that is tried.
_GIVEWAY_TURN = 0.1
_TRIES = 3


def give_way(pid: int, nice: int) -> None:
    """Make a process, and all that it starts from now on, this nice: 0 to 19, of setpriority(2).
    pid: a process that leads a session of its own. Where Linux schedules sessions as groups,
    niceness counts only within one (sched(7), "The autogroup feature"): so its group is made as
    nice. A process that may not be made so stays as it is; nothing is raised.
    """
    nice = max(nice, os.getpriority(os.PRIO_PROCESS, 0))
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, nice)
    for _ in range(_TRIES):
        try:
            with open(f"/proc/{pid}/autogroup", "w") as group:
                group.write(str(nice))
        except BlockingIOError:
            time.sleep(_GIVEWAY_TURN)
            continue
        except OSError:
            pass  # there are no such groups here
        return


# A process that mends folders, and removes one, once the one that started it is gone.
#
# A job whose engine was killed has nobody to clean up after it, and cannot do so itself: until its
# very end it holds the locks of what it builds, and writes in its folder for temporary files.

#: Seconds to wait for the end of the process before.
_PATIENCE = 10.0
_MENDING_TURN = 0.02


class After(TypedDict, total=False):
    """What is to be seen to. roots: folders to be mended. since: in nanoseconds since the epoch:
    what is unfinished in them and has changed after that is the job's. scratch: a folder that goes.
    """

    roots: Sequence[str]
    since: int
    scratch: str


def calling(module: str) -> list[str]:
    """The command that has this interpreter call ``main`` of a module, such as "warm.job"."""
    # The folder or the zip that this very code came from.
    path = "import sys; sys.path.insert(0, sys.argv.pop(1))"
    return [sys.executable, "-c", f"{path}; from torchkeeper.{module} import main; main()", SOURCE]


def start(what: After) -> None:
    """Have it seen to once this process and its group are gone; does not wait."""
    subprocess.Popen(
        [*calling("warm.processes"), str(os.getpid()), json.dumps(what)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env=unmarked(),
        start_new_session=True,
    )


def main() -> None:
    """Wait, mend, exit. The arguments: the id of the process, and as of ``start``."""
    leader = sys.argv[1]
    what: After = json.loads(sys.argv[2])
    deadline = time.monotonic() + _PATIENCE
    while _lives(int(leader)) and time.monotonic() < deadline:
        time.sleep(_MENDING_TURN)
    for root in what.get("roots", []):
        if os.path.isdir(root):
            sweep.mend(root)
            # Nobody remembers what was there before, but what has not changed since then was.
            sweep.sweep(root, sweep.snapshot(root, what["since"]), ())
    if "scratch" in what:
        atomic.remove(what["scratch"])


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
