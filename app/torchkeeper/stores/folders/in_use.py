"""Which processes use a cache folder, as Linux tells under /proc.

What counts, and what a purge does about it unless the user insists:

- A process that has a file below the folder open or mapped uses the entry which that file
  belongs to: this entry is left out.
- A process that runs with the folder as its cache, that is with TORCHINDUCTOR_CACHE_DIR,
  TRITON_CACHE_DIR, VLLM_CACHE_ROOT or SGLANG_CACHE_DIR at, below or above it, or, with torch,
  Triton, vLLM or SGLang loaded and no such variable, with the folder as its default, may need any
  entry next. If it is one that can, because it runs Python or has torch or Triton loaded, nothing
  of the folder is purged. A shell or an editor that merely inherited the variable is named and
  holds nothing back.

Not counted: Torchkeeper itself (its windows, commands, engines and readers, though not a compile
that it has started), the programs it was started from where they have but the variable, and what
lies in the trash: a file that is mapped from there goes on to work, and so it does when it is
deleted.

A process that has mounts of its own, in a container say, may know the folder by another path, and
another folder by this one: there files and folders are compared themselves (OtherMounts).

What cannot be seen: what a process has put into its environment after its start.
"""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.jits import known as jits
from torchkeeper.artifacts.layout import TRASH
from torchkeeper.artifacts.report import Report
from torchkeeper.stores import processes
from torchkeeper.stores.items import Item, OnDisk
from torchkeeper.stores.processes import DELETED, PROC, SGLANG, TORCH, TRITON, VLLM, mounts

if TYPE_CHECKING:
    from torchkeeper.stores import shapes


#: A file or folder whatever its path: device and inode.
_Identity = tuple[int, int]
Disk = Callable[[], OnDisk]
#: Processes that are told of by name.
_MAX_TOLD = 200
#: Those of other users, and characters of what one runs.
_MAX_UNSEEN, _MAX_NAME = 3, 60
_VARIABLES = (b"_CACHE_DIR=", b"_CACHE_ROOT=")


class OtherMounts:
    """Looks into processes with other mounts, by device and inode, through ``/proc/<pid>/root``."""

    def __init__(self, root: str, items: Sequence[Item], disk: Disk) -> None:
        self._root, self._items, self._disk = root, items, disk
        self._mine = mounts("self")
        self._foreign: dict[int, bool] = {}
        self._files = OnDisk()
        self._names: set[bytes] = set()
        self._above: set[_Identity] = set()

    def has(self, pid: int) -> bool:
        """Whether a process has other mounts. Raises OSError where that is not told."""
        if pid not in self._foreign:
            self._foreign[pid] = self._mine is not None and mounts(pid) != self._mine
            if self._foreign[pid] and not self._above:
                self._files = self._disk()
                several = {item.names for item in self._items}
                self._names = {os.fsencode(one[1:]) for names in several for one in names}
                self._above = set(_line(self._root))
        return self._foreign[pid]

    def opened(self, pid: int) -> set[str]:
        folder = f"{PROC}/{pid}/fd"
        return self._among(f"{folder}/{name}" for name in os.listdir(folder))

    def mapped(self, pid: int, paths: set[bytes]) -> set[str]:
        """The files of the items among those that it has mapped, by the paths it knows."""
        mine = (path for path in paths if path.rpartition(b"/")[2] in self._names)
        return self._among(f"{PROC}/{pid}/root{os.fsdecode(path)}" for path in mine)

    def _among(self, paths: Iterable[str]) -> set[str]:
        """The files of the items that some paths lead to."""
        found = set[_Identity]()
        for path in paths:
            with contextlib.suppress(OSError):  # closed meanwhile, removed, or without a file
                if (identity := _identity(path)) in self._files:
                    found.add(identity)
        items = self._items if found else ()
        return {file[0] for item in items for file in item.files if file[4] in found}

    def overlaps(self, pid: int, path: str) -> bool:
        """Whether a folder that it knows by a whole path is this one, in it, or above it."""
        root = f"{PROC}/{pid}/root"
        seen = root + os.path.normpath(path)
        with contextlib.suppress(OSError):
            if _identity(seen) in self._above:
                return True
        with contextlib.suppress(OSError):
            return _identity(self._root) in _line(seen, stop=root)
        return False


def _identity(path: str) -> _Identity:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _line(path: str, stop: str = "/") -> Iterator[_Identity]:
    """A folder and all that is above it below ``stop``, those that are not there left out."""
    while len(path) > len(stop):
        with contextlib.suppress(OSError):
            yield _identity(path)
        path = os.path.dirname(path.rstrip("/"))


@dataclass(frozen=True)
class User:
    """A process that uses the folder. why: "mapped", "open" or "environment", the first that holds.
    paths: the files below the folder that it has open or mapped, relative to it. holds_all: it may
    need any entry next.
    """

    pid: int
    name: str
    why: str
    paths: frozenset[str] = frozenset()
    holds_all: bool = False


@dataclass(frozen=True)
class InUse:
    """What uses a folder. hidden: how many processes could not be looked into, being another
    user's; unseen: some of them, first those that run Python. sees: "all" processes, only one's
    "own" where the others are not even listed (hidepid), or "none" where the system does not tell
    (no /proc).
    """

    processes: list[User] = field(default_factory=list)
    hidden: int = 0
    sees: str = "all"
    unseen: tuple[shapes.Unseen, ...] = ()

    @property
    def holder(self) -> User | None:
        """A process that may need any entry, if there is one."""
        return next((user for user in self.processes if user.holds_all), None)

    def split(self, items: list[Item]) -> tuple[list[Item], list[tuple[Item, Problem]]]:
        """(free, used) of some items: ``used`` are those with a file that is open or mapped."""
        by_path = {path: user for user in self.processes for path in user.paths}
        if not by_path:
            return items, []
        free: list[Item] = []
        used: list[tuple[Item, Problem]] = []
        for item in items:
            user = next((by_path[f.path] for f in item.files if f.path in by_path), None)
            if user is None:
                free.append(item)
            else:
                problem = Problem("entry-in-use", pid=user.pid, name=user.name, why=user.why)
                used.append((item, problem))
        return free, used

    def told(self, items: list[Item]) -> shapes.InUse:
        """The same for the wire; ``entries`` of a process are those of ``items`` it has open."""
        used = frozenset[str]().union(*(user.paths for user in self.processes))
        some = enumerate(items if used else ())
        number = {f.path: n for n, item in some for f in item.files if f.path in used}
        users: list[shapes.Using] = [
            {"pid": user.pid, "name": user.name, "why": user.why, "holds_all": user.holds_all,
             "entries": len({number[path] for path in user.paths if path in number})}
            for user in self.processes[:_MAX_TOLD]
        ]  # fmt: skip
        return {
            "processes": users,
            "count": len(self.processes),
            "hidden": self.hidden,
            "unseen": list(self.unseen),
            "sees": self.sees,
            "all": self.holder is not None,
        }


def users(root: str, report: Report, items: Sequence[Item] = (), disk: Disk | None = None) -> InUse:
    """The processes that use a folder; those that may need any entry first, then by number. root:
    its real path. items: those that matter, to be known where a process has other mounts; disk:
    gives their files. Processes that end meanwhile are left out.
    """
    try:
        pids = processes.listed()
        os.stat(f"{PROC}/self/maps")
    except OSError:
        return InUse(sees="none")
    found, hidden = [], list[int]()
    above = set(_ancestors())
    look = _Look(os.path.realpath(root), items, disk or (lambda: OnDisk(items)))
    for pid in pids:
        report.check()
        try:
            user = look.at(pid)
        except PermissionError:
            hidden += [pid] if processes.is_program(pid) else []
        except OSError:
            continue  # it has ended
        else:
            # A shell that one types in has the variable, and that is all.
            if user and (pid not in above or user.paths or user.holds_all):
                found.append(user)
    found.sort(key=lambda user: (not user.holds_all, not user.paths, user.pid))
    # Number 1 is always there, unless others' processes are kept from us.
    told = sorted(filter(None, map(_unseen, hidden)), key=lambda one: "python" not in one["name"])
    return InUse(found, len(hidden), "all" if 1 in pids else "own", tuple(told[:_MAX_UNSEEN]))


def _unseen(pid: int) -> shapes.Unseen | None:
    """What all users see of a process; None where it has ended, or is kept from us."""
    try:
        uid, (program, *_) = os.stat(f"{PROC}/{pid}").st_uid, processes.arguments(pid)
    except OSError:
        return None
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = str(uid)
    return {"pid": pid, "name": os.path.basename(program)[:_MAX_NAME], "user": user}


def _ancestors() -> Iterator[int]:
    """This process and those it was started from."""
    pid = os.getpid()
    while pid > 0:
        yield pid
        try:
            pid = int(processes.status(pid)[1])
        except (OSError, ValueError, IndexError):
            return


class _Look:
    def __init__(self, root: str, items: Sequence[Item], disk: Disk) -> None:
        self._root = root
        self._others = OtherMounts(root, items, disk)
        self._below = os.fsencode(root.rstrip("/") + "/")
        self._real: dict[str, str] = {}

    def at(self, pid: int) -> User | None:
        """What a process uses. Raises OSError where it has ended or cannot be looked into."""
        if pid == os.getpid():
            return None
        maps = processes.read(pid, "maps")
        if self._others.has(pid):
            opened = self._others.opened(pid)
            mapped = self._others.mapped(pid, processes.mapped(maps))
        else:
            opened = self._opened(pid)
            mapped = self._mapped(maps)
        caches = self._runs_with(pid, maps)
        if not (opened or mapped or caches):
            return None
        arguments = processes.arguments(pid)
        if processes.is_ours(arguments):
            return None
        # Whether it can need an entry of a cache.
        python = bool(TORCH.search(maps) or TRITON.search(maps)) or processes.is_python(pid, maps)
        why = "mapped" if mapped else "open" if opened else "environment"
        name = processes.known_as(pid, arguments, python)
        return User(pid, name, why, frozenset(opened | mapped), caches and python)

    def _inside(self, path: bytes) -> str | None:
        if not path.startswith(self._below):
            return None
        if path.endswith(DELETED) and not os.path.lexists(path):
            return None  # nobody else finds it any more
        inside = os.fsdecode(path[len(self._below) :])
        return None if inside.split("/", 1)[0] == TRASH else inside

    def _opened(self, pid: int) -> set[str]:
        folder = f"{PROC}/{pid}/fd".encode()
        found = set()
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                found.add(self._inside(os.readlink(folder + b"/" + name)))
        return {path for path in found if path}

    def _mapped(self, maps: bytes) -> set[str]:
        if self._below.replace(b"\n", b"\\012") not in maps:
            return set()
        paths = (path.replace(b"\\012", b"\n") for path in processes.mapped(maps))
        return {inside for path in paths if (inside := self._inside(path))}

    def _runs_with(self, pid: int, maps: bytes) -> bool:
        """Whether the folder is where it keeps a cache."""
        torch, triton, vllm, sglang = (x.search(maps) for x in (TORCH, TRITON, VLLM, SGLANG))
        data, others = processes.read(pid, "environ"), jits.loaded(maps)
        if not (
            others or torch or triton or vllm or sglang or any(name in data for name in _VARIABLES)
        ):
            return False
        env = processes.variables(data)
        inductor, kernels = env.get("TORCHINDUCTOR_CACHE_DIR"), env.get("TRITON_CACHE_DIR")
        if torch and not inductor:
            inductor = processes.default_folder(pid, env)
        if triton and not torch and not kernels:
            # triton/knobs.py; under Inductor, kernels go below Inductor's own folder.
            home = env.get("TRITON_HOME") or env.get("HOME")
            kernels = os.path.join(home, ".triton", "cache") if home else None
        models = env.get("VLLM_CACHE_ROOT")
        if vllm and not models:
            home = env.get("HOME")
            base = env.get("XDG_CACHE_HOME") or (home and os.path.join(home, ".cache"))
            models = os.path.join(base, "vllm") if base else None  # vllm/envs.py
        servers, images = env.get("SGLANG_CACHE_DIR"), env.get("SGLANG_DIFFUSION_CACHE_ROOT")
        if sglang and not servers and (home := env.get("HOME")):
            servers = os.path.join(home, ".cache", "sglang")  # sglang/srt/environ.py
        compilers = (x.path for x in jits.homes(env, others))
        paths = filter(None, (inductor, kernels, models, servers, images, *compilers))
        return any(self._overlaps(pid, path) for path in paths)

    def _overlaps(self, pid: int, path: str) -> bool:
        if not os.path.isabs(path):
            path = os.path.join(os.readlink(f"{PROC}/{pid}/cwd"), path)
        if self._others.has(pid):
            return self._others.overlaps(pid, path)
        if path not in self._real:
            self._real[path] = os.path.realpath(path)
        mine, theirs = self._root.rstrip("/") + "/", self._real[path].rstrip("/") + "/"
        return mine.startswith(theirs) or theirs.startswith(mine)
