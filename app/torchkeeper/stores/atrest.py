"""Whether somebody is still at work on a file, where a lock alone does not tell."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

#: Seconds after which nobody is at work any more who may be on another machine.
_LONG = 3600.0
#: File systems without a device that no other machine sees.
_LOCAL = {"tmpfs", "ramfs", "overlay"}


def here() -> dict[str, object]:
    """What tells this process from all others: the machine since it was started, the processes it
    sees (pid_namespaces(7)), its number there, and when it began, in ticks.
    """
    pid = os.getpid()
    return {"boot": boot(), "space": _space(), "pid": pid, "since": _since(pid)}


def may_work(who: Mapping[str, object], status: os.stat_result) -> bool:
    """Whether a process that ``here`` once told may still be there. status: of a file that it
    writes to all the time, on a file system whose lock is not its own.
    """
    began, pid = who.get("boot"), who.get("pid")
    if began != boot() or not began or who.get("space") != _space() or not isinstance(pid, int):
        return not at_rest(status)
    return _since(pid) == who.get("since") is not None


def at_rest(status: os.stat_result) -> bool:
    """Whether a lock would have told who writes to a file, or nobody has for long. What may be
    shared with other machines, as NFS, does not always show their locks.
    """
    # A time that is yet to come is no sign of work: an archive may bring any.
    return is_local(status.st_dev) or abs(time.time() - status.st_mtime) > _LONG


def is_local(device: int) -> bool:
    """Whether a file system is surely of this machine only: a device of its own, which has a number
    other than 0, or memory (proc_pid_mountinfo(5)).
    """
    if os.major(device) != 0:
        return True
    named = f"{os.major(device)}:{os.minor(device)}"
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as lines:
            kinds = {line.partition(" - ")[2].split()[0] for line in lines if named in line.split()}
    except (OSError, IndexError):
        return False
    return bool(kinds) and kinds <= _LOCAL


def boot() -> str:
    """What tells this start of the machine from all others; "" where nobody can tell."""
    return _text("/proc/sys/kernel/random/boot_id").strip()


def _space() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _since(pid: int) -> str | None:
    """When a process began; None where there is none, or nobody can tell."""
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    # A zombie does nothing any more.
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else None


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""
