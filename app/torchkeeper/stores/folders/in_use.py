"""Which processes use a cache folder, as Linux tells under /proc.

What counts, and what a purge does about it unless the user insists:

- A process that has a file below the folder open or mapped uses the entry which that file
  belongs to: this entry is left out.
- A process that runs with the folder as its cache, that is with TORCHINDUCTOR_CACHE_DIR,
  TRITON_CACHE_DIR or VLLM_CACHE_ROOT at, below or above it, or, with torch, Triton or vLLM loaded
  and no such variable, with the folder as its default, may need any entry next. If it is one that
  can, because it runs Python or has torch or Triton loaded, nothing of the folder is purged. A
  shell or an editor that merely inherited the variable is named and holds nothing back.

Not counted: Torchkeeper itself (its windows, commands, engines and readers, though not a compile
that it has started), the programs it was started from where they have but the variable, and what
lies in the trash: a file that is mapped from there goes on to work, and so it does when it is
deleted.

A process that has mounts of its own, in a container say, may know the folder by another path, and
another folder by this one: there files and folders are compared themselves (stores/other_mounts).

What cannot be seen: what a process has put into its environment after its start.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import TRASH
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders.other_mounts import OtherMounts
from torchkeeper.stores.items import Item

_PROC = "/proc"
#: Characters of a name, and processes that are told of by name.
_MAX_NAME, _MAX_TOLD = 60, 200
#: Our own processes by what their command lines say (link/process.py, stores/reader.py, walking).
_OURS = (
    "from torchkeeper.engine.serve import main",
    "from torchkeeper.stores.reader_process import main",
    "from torchkeeper.stores.folders.walk_process import main",
)
_TORCH = re.compile(rb"/libtorch[^/\n]*\.so")
_TRITON = re.compile(rb"/libtriton[^/\n]*\.so")
#: vLLM sets torch's variables itself, after its start.
_VLLM = re.compile(rb"/vllm/[^\n]*\.so")
_VARIABLES = (b"_CACHE_DIR=", b"VLLM_CACHE_ROOT=")
_PYTHON = re.compile(rb"/libpython[^/\n]*\.so")
#: The end of a line of maps: a path is the sixth column, and may hold spaces.
_MAPPED = re.compile(rb"^(?:\S+ +){5}(/.*)$", re.MULTILINE)
#: What Linux says after the path of a file that was removed.
_DELETED = b" (deleted)"


@dataclass(frozen=True)
class User:
    """A process that uses the folder.

    why: "mapped", "open" or "environment", the first that holds.
    paths: the files below the folder that it has open or mapped, relative to it.
    holds_all: it may need any entry next.
    """

    pid: int
    name: str
    why: str
    paths: frozenset[str] = frozenset()
    holds_all: bool = False


@dataclass(frozen=True)
class InUse:
    """What uses a folder.

    hidden: how many processes could not be looked into, being another user's.
    sees: "all" processes, only one's "own" where the others are not even listed (hidepid), or
    "none" where the system does not tell (no /proc).
    """

    processes: list[User] = field(default_factory=list)
    hidden: int = 0
    sees: str = "all"

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

    def told(self, items: list[Item]) -> dict[str, object]:
        """The same for the wire; ``entries`` of a process are those of ``items`` it has open."""
        used = frozenset[str]().union(*(user.paths for user in self.processes))
        number = {f.path: n for n, i in enumerate(items) for f in i.files if f.path in used}
        told = [
            {"pid": user.pid, "name": user.name, "why": user.why, "holds_all": user.holds_all,
             "entries": len({number[path] for path in user.paths if path in number})}
            for user in self.processes[:_MAX_TOLD]
        ]  # fmt: skip
        return {
            "processes": told,
            "count": len(self.processes),
            "hidden": self.hidden,
            "sees": self.sees,
            "all": self.holder is not None,
        }


def users(root: str, report: Report, items: Sequence[Item] = ()) -> InUse:
    """The processes that use a folder; those that may need any entry first, then by number.

    root: its real path. items: those that matter, to be known where a process has other mounts.
    Processes that end meanwhile are left out.
    """
    try:
        names = os.listdir(_PROC)
    except OSError:
        return InUse(sees="none")
    pids = sorted(int(name) for name in names if name.isdecimal())
    if not os.path.exists(f"{_PROC}/self/maps"):
        return InUse(sees="none")
    found, hidden = [], 0
    above = set(_ancestors())
    look = _Look(os.path.realpath(root), items)
    for pid in pids:
        report.check()
        try:
            user = look.at(pid)
        except PermissionError:
            hidden += _is_program(pid)
        except OSError:
            continue  # it has ended
        else:
            # A shell that one types in has the variable, and that is all.
            if user and (pid not in above or user.paths or user.holds_all):
                found.append(user)
    found.sort(key=lambda user: (not user.holds_all, not user.paths, user.pid))
    # Number 1 is always there, unless others' processes are kept from us.
    return InUse(found, hidden, "all" if 1 in pids else "own")


def _ancestors() -> Iterator[int]:
    """This process and those it was started from."""
    pid = os.getpid()
    while pid > 0:
        yield pid
        try:
            with open(f"{_PROC}/{pid}/stat", "rb") as stream:
                pid = int(stream.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return


def _is_program(pid: int) -> bool:
    """Whether it is more than a thread of the kernel or the remains of a process."""
    try:
        return bool(_read(pid, "cmdline"))
    except PermissionError:
        return True
    except OSError:
        return False


def _read(pid: int, name: str) -> bytes:
    with open(f"{_PROC}/{pid}/{name}", "rb") as stream:
        return stream.read()


class _Look:
    """Looks into one process after the other, for one folder."""

    def __init__(self, root: str, items: Sequence[Item]) -> None:
        self._root = root
        self._others = OtherMounts(root, items)
        self._below = os.fsencode(root.rstrip("/") + "/")
        self._real: dict[str, str] = {}

    def at(self, pid: int) -> User | None:
        """What a process uses. Raises OSError where it has ended or cannot be looked into."""
        if pid == os.getpid():
            return None
        maps = _read(pid, "maps")
        if self._others.has(pid):
            opened = self._others.opened(pid)
            mapped = self._others.mapped(pid, {match[1] for match in _MAPPED.finditer(maps)})
        else:
            opened = self._opened(pid)
            mapped = self._mapped(maps)
        caches = self._runs_with(pid, maps)
        if not (opened or mapped or caches):
            return None
        arguments = [os.fsdecode(part) for part in _read(pid, "cmdline").split(b"\0")]
        if _is_ours(arguments):
            return None
        python = _runs_python(pid, maps)
        why = "mapped" if mapped else "open" if opened else "environment"
        name = _name(pid, arguments, python)
        return User(pid, name, why, frozenset(opened | mapped), caches and python)

    def _inside(self, path: bytes) -> str | None:
        if not path.startswith(self._below):
            return None
        if path.endswith(_DELETED) and not os.path.lexists(path):
            return None  # nobody else finds it any more
        inside = os.fsdecode(path[len(self._below) :])
        return None if inside.split("/", 1)[0] == TRASH else inside

    def _opened(self, pid: int) -> set[str]:
        folder = f"{_PROC}/{pid}/fd".encode()
        found = set()
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                found.add(self._inside(os.readlink(folder + b"/" + name)))
        return {path for path in found if path}

    def _mapped(self, maps: bytes) -> set[str]:
        if self._below.replace(b"\n", b"\\012") not in maps:
            return set()
        paths = (match[1].replace(b"\\012", b"\n") for match in _MAPPED.finditer(maps))
        return {inside for path in set(paths) if (inside := self._inside(path))}

    def _runs_with(self, pid: int, maps: bytes) -> bool:
        """Whether the folder is where it keeps a cache."""
        data = _read(pid, "environ")
        torch, triton, vllm = (found.search(maps) for found in (_TORCH, _TRITON, _VLLM))
        if not (torch or triton or vllm or any(name in data for name in _VARIABLES)):
            return False
        pairs = (part.partition(b"=") for part in data.split(b"\0"))
        env = {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}
        inductor, kernels = env.get("TORCHINDUCTOR_CACHE_DIR"), env.get("TRITON_CACHE_DIR")
        if torch and not inductor:
            inductor = _default_folder(pid, env)
        if triton and not torch and not kernels:
            # triton/knobs.py; under Inductor, kernels go below Inductor's own folder.
            home = env.get("TRITON_HOME") or env.get("HOME")
            kernels = os.path.join(home, ".triton", "cache") if home else None
        models = env.get("VLLM_CACHE_ROOT")
        if vllm and not models:
            models = _vllm_root(env)
        return any(self._overlaps(pid, path) for path in (inductor, kernels, models) if path)

    def _overlaps(self, pid: int, path: str) -> bool:
        if self._others.has(pid):
            return self._others.overlaps(pid, path)
        if not os.path.isabs(path):
            path = os.path.join(os.readlink(f"{_PROC}/{pid}/cwd"), path)
        if path not in self._real:
            self._real[path] = os.path.realpath(path)
        mine, theirs = self._root.rstrip("/") + "/", self._real[path].rstrip("/") + "/"
        return mine.startswith(theirs) or theirs.startswith(mine)


def _default_folder(pid: int, env: dict[str, str]) -> str:
    """Where torch keeps its cache without variables, as places.default_folder but for a process.

    torch/_inductor/runtime/cache_dir_utils.py; getpass and tempfile say what they ask in turn.
    """
    user = next((env[n] for n in ("LOGNAME", "USER", "LNAME", "USERNAME") if env.get(n)), None)
    if user is None:
        uid = os.stat(f"{_PROC}/{pid}").st_uid
        try:
            user = pwd.getpwuid(uid).pw_name
        except KeyError:
            user = f"uid_{uid}"
    folders = (env[name] for name in ("TMPDIR", "TEMP", "TMP") if env.get(name))
    temporary = next((folder for folder in folders if os.path.isdir(folder)), "/tmp")  # noqa: S108
    return os.path.join(temporary, "torchinductor_" + re.sub(r'[\\/:*?"<>|]', "_", user))


def _vllm_root(env: dict[str, str]) -> str | None:
    """Where vLLM keeps its caches without variables of its own (vllm/envs.py)."""
    if base := env.get("XDG_CACHE_HOME"):
        return os.path.join(base, "vllm")
    return os.path.join(env["HOME"], ".cache", "vllm") if env.get("HOME") else None


def _is_ours(arguments: list[str]) -> bool:
    """Whether a process is Torchkeeper: it lists a cache and hinders nobody."""
    if any(ours in argument for argument in arguments[:8] for ours in _OURS):
        return True
    program = os.path.basename(arguments[1]) if len(arguments) > 1 else ""
    return program == "torchkeeper" or "-m\0torchkeeper" in "\0".join(arguments[:6])


def _runs_python(pid: int, maps: bytes) -> bool:
    """Whether it can need an entry of a cache: it runs Python, or has torch or Triton loaded."""
    if any(pattern.search(maps) for pattern in (_TORCH, _TRITON, _PYTHON)):
        return True
    return os.path.basename(os.readlink(f"{_PROC}/{pid}/exe")).startswith(("python", "pypy"))


def _name(pid: int, arguments: list[str], python: bool) -> str:
    """What a person knows it by, "python train.py" say, of printable characters.

    No other arguments: there may be passwords among them.
    """
    name = os.path.basename(arguments[0])
    if python and len(arguments) > 2:
        if arguments[1] == "-m":
            name += f" -m {arguments[2]}"
        elif not arguments[1].startswith("-"):
            name += f" {os.path.basename(arguments[1])}"
    name = name or os.fsdecode(_read(pid, "comm")).strip()
    return "".join(c if c.isprintable() else "?" for c in name[:_MAX_NAME]) or "?"
