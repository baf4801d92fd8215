"""The running processes that have torch: which there are, and what each is.

Those of this user; others' are counted, for nobody but root may look into them, and root has asked
for its own. A process in a container is seen from outside with a number of its own there.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import cast

from torchkeeper.artifacts import masking
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import TRASH, is_code_stem, is_graph_key
from torchkeeper.artifacts.report import Report
from torchkeeper.artifacts.triton import is_key
from torchkeeper.settings.origins import Versions
from torchkeeper.settings.programs import program
from torchkeeper.settings.shapes import ProcessesTold, ProcessTold
from torchkeeper.stores import processes as proc

#: Processes that torch starts to compile in (torch/_inductor/compile_worker), told of with theirs.
_WORKER = "torch/_inductor/compile_worker"
_VERSION = re.compile(r"^__version__\s*(?::[^=]+)?=\s*['\"]([^'\"\n]{1,80})['\"]", re.MULTILINE)
#: Characters of an argument, arguments of a command line, and folders, that are told.
_MAX_TEXT, _MAX_ARGUMENTS, _MAX_FOLDERS = 200, 50, 20
#: Characters of a command line that passwords are looked for in.
_MAX_LOOKED = 4 * masking.MOST


@dataclass(frozen=True)
class Folder:
    """A cache that a process really uses. path: its root, as the process calls it. kind:
    "inductor", or "triton" for Triton's own. why: "mapped" or "open". files: how many of its files.
    seen: one of them.
    """

    path: str
    kind: str
    why: str
    files: int
    seen: str


@dataclass(frozen=True)
class Process:
    """A process that runs Python. name: what a person knows it by. command: its command line
    without passwords, as far as they can be told. started: in seconds since 1970, None where not
    known. python: the interpreter that has its torch, as the process calls it. cwd: where it is.
    loaded: whether torch is in its memory; else it merely could be. torch, triton: versions of
    those files. folders: as Folder. workers: processes that compile for it. elsewhere: it has
    mounts of its own, as in a container, and its paths are not ours.
    """

    pid: int
    name: str
    command: list[str]
    started: float | None
    python: str
    cwd: str
    loaded: bool
    torch: str | None
    triton: str | None
    folders: list[Folder] = field(default_factory=list)
    workers: int = 0
    elsewhere: bool = False

    def to_json(self) -> ProcessTold:
        """As it goes over the wire."""
        return cast("ProcessTold", asdict(self))


def running(report: Report) -> ProcessesTold:
    """Rows for this user's processes that have torch. Raises Problem("processes-untold")."""
    try:
        pids = proc.listed()
    except OSError:
        pids = []
    if not os.path.exists(f"{proc.PROC}/self/maps"):
        raise Problem("processes-untold")
    found, parents, hidden = [], {}, 0
    workers: Counter[int] = Counter()
    for pid in pids:
        report.check()
        try:
            if os.stat(f"{proc.PROC}/{pid}").st_uid != os.geteuid():
                hidden += proc.is_program(pid)
                continue
            parents[pid] = int(_stat(pid)[1])
            command = proc.arguments(pid)
            if pid == os.getpid() or not command[0] or proc.is_ours(command):
                continue
            if len(command) > 1 and _WORKER in command[1]:
                workers[pid] += 1
                continue
            one = look_into(pid)
        except PermissionError:
            hidden += proc.is_program(pid)
        except (OSError, Problem):
            continue  # it has ended, or is no Python
        else:
            if one.loaded or one.torch:
                found.append(one)
    mine = {one.pid: 0 for one in found}
    for pid in workers:
        while pid and pid not in mine:
            pid = parents.get(pid, 0)
        if pid:
            mine[pid] += 1
    report.rows([replace(one, workers=mine[one.pid]).to_json() for one in found])
    return {"count": len(found), "hidden": hidden, "sees": "all" if 1 in pids else "own"}


def checked(pid: int) -> None:
    """Raises Problem where a process cannot be asked about, with the reason. "processes-untold",
    "process-gone", "process-kernel", "process-of-other", "process-not-python".
    """
    if not os.path.exists(f"{proc.PROC}/self/maps"):
        raise Problem("processes-untold")
    try:
        found = _stat(pid)
        command = proc.read(pid, "cmdline")
        owner = os.stat(f"{proc.PROC}/{pid}").st_uid
    except PermissionError:
        raise Problem("process-of-other", pid=pid) from None
    except OSError:
        raise Problem("process-gone", pid=pid) from None
    if found[:1] in ([b"Z"], [b"X"]):
        raise Problem("process-gone", pid=pid)
    # Threads of the kernel are children of number 2.
    if not command and (pid == 2 or found[1:2] == [b"2"]):
        raise Problem("process-kernel", pid=pid)
    if owner not in (os.geteuid(), os.getuid()) and os.geteuid():
        raise Problem("process-of-other", pid=pid)


def look_into(pid: int) -> Process:
    """What a process is. Raises Problem("process-not-python"), and OSError as stores.processes."""
    maps = proc.read(pid, "maps")
    command = proc.arguments(pid)
    if not proc.is_python(pid, maps):
        raise Problem("process-not-python", pid=pid, name=proc.known_as(pid, command, False))
    env, cwd = proc.environment(pid), os.readlink(f"{proc.PROC}/{pid}/cwd")
    paths = {os.fsdecode(path.replace(b"\\012", b"\n")) for path in proc.mapped(maps)}
    torch = package(paths, "/torch/lib/libtorch")
    exe = os.readlink(f"{proc.PROC}/{pid}/exe")
    python = interpreter(pid, exe, command, env, cwd, torch)
    # What is run is known past the options of the interpreter.
    called, runs = command, program(command, cwd, "", "")
    if runs.kind in ("script", "module"):
        called = [command[0], *(["-m"] if runs.kind == "module" else []), runs.main, ""]
    loaded = torch is not None or proc.TORCH.search(maps) is not None
    if not loaded:
        torch = _installed(pid, python)
    return Process(
        pid,
        proc.known_as(pid, called, True),
        told(command),
        _started(pid),
        python,
        cwd,
        loaded,
        *versions_of(pid, torch, package(paths, "/triton/_C/libtriton")),
        list(folders(paths, opened(pid)))[:_MAX_FOLDERS],
        elsewhere=proc.mounts(pid) != proc.mounts("self"),
    )


def told(command: Sequence[str]) -> list[str]:
    """A command line as it may be shown: without passwords, and bounded."""
    parts, left = [], _MAX_LOOKED
    for part in [part for part in command if part][:_MAX_ARGUMENTS]:
        # What is cut before passwords are hidden may have half of one at its end.
        looked = len(part) <= min(masking.MOST, left)
        left -= len(part) if looked else 0
        parts.append(part if looked else "…")
    return [part[:_MAX_TEXT] for part in masking.hidden(parts)]


def package(paths: set[str], library: str) -> str | None:
    """The folder of the package of a mapped library; None if that was replaced since."""
    for path in sorted(paths):
        before, found, rest = path.partition(library)
        if found and ".so" in rest and "/" not in rest and not rest.endswith(" (deleted)"):
            return before + library[: library.index("/", 1)]
    return None


def opened(pid: int) -> set[str]:
    """The paths of the files that it has open."""
    folder = f"{proc.PROC}/{pid}/fd"
    found = set()
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):  # closed meanwhile
            found.add(os.readlink(f"{folder}/{name}"))
    return {path for path in found if path.startswith("/")}


def versions_of(pid: int, torch: str | None, triton: str | None) -> Versions:
    """The versions that the files of two packages name, read and not run."""
    if torch and triton is None:
        triton = os.path.join(os.path.dirname(torch), "triton")
    paths = torch and f"{torch}/version.py", triton and f"{triton}/__init__.py"
    return Versions(*(_version(pid, path) for path in paths))


def _version(pid: int, path: str | None) -> str | None:
    if path is None:
        return None
    try:
        with open(proc.inside(pid, path), "rb") as stream:
            found = _VERSION.search(stream.read(1 << 16).decode(errors="replace"))
    except (OSError, ValueError):
        return None
    return found[1] if found else None


def _installed(pid: int, python: str) -> str | None:
    """The folder of the torch that an interpreter has, if it has one."""
    prefix = proc.inside(pid, os.path.dirname(os.path.dirname(python)))
    for pattern in ("lib*/python3*/site-packages/torch", "lib/python3*/dist-packages/torch"):
        for found in sorted(glob.glob(os.path.join(glob.escape(prefix), pattern))):
            if os.path.isfile(os.path.join(found, "version.py")):
                at = os.path.relpath(found, prefix)
                return os.path.join(os.path.dirname(os.path.dirname(python)), at)
    return None


def interpreter(
    pid: int, exe: str, command: list[str], env: Mapping[str, str], cwd: str, torch: str | None
) -> str:
    """The interpreter that a process runs, as the process calls it. What runs is the program of the
    system; which environment it is of says the name it was started by, where its torch lies, or
    VIRTUAL_ENV, the first of them that leads to this program.
    """
    real = _identity(proc.inside(pid, exe))
    for path in _candidates(command[0], env, cwd, torch):
        if real is not None and _identity(proc.inside(pid, path)) == real:
            return path
    return exe


def _candidates(name: str, env: Mapping[str, str], cwd: str, torch: str | None) -> Iterator[str]:
    if "/" in name:
        yield os.path.normpath(os.path.join(cwd, name))
    elif name and (found := shutil.which(name, path=env.get("PATH", ""))):
        yield os.path.abspath(found)
    above = torch or ""
    for _ in range(6):  # lib/python3.x/site-packages/torch
        above = os.path.dirname(above)
        if above in ("", "/"):
            break
        yield os.path.join(above, "bin", "python")
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if prefix := env.get(variable):
            yield os.path.join(prefix, "bin", "python")


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def folders(mapped: set[str], opened: set[str]) -> Iterator[Folder]:
    """The caches that files lie in, told by how PyTorch and Triton name what they write."""
    seen: dict[tuple[str, str], Folder] = {}
    for why, paths in (("mapped", mapped), ("open", opened - mapped)):
        for path in sorted(paths):
            if found := root_of(path.removesuffix(" (deleted)")):
                known = seen.get(found, Folder(*found, why, 0, path))
                seen[found] = replace(known, files=known.files + 1)
    yield from seen.values()


def root_of(path: str) -> tuple[str, str] | None:
    """The root of the cache that a file is of, and its kind; None for what is of none."""
    parts = path.split("/")
    if TRASH in parts or len(parts) < 4:
        return None
    above, folder, name = parts[:-2], parts[-2], parts[-1]
    stem = name.partition(".")[0]
    if is_code_stem(stem) and (folder == stem[1:3] or is_code_stem(folder)):
        return "/".join(above) or "/", "inductor"
    # Other caches name folders so as well; of Triton's files it is the libraries that are loaded.
    if is_key(folder) and name.endswith(".so"):
        if len(above) > 3 and above[-1].isdecimal() and above[-2] == "triton":
            return "/".join(above[:-2]) or "/", "inductor"
        return "/".join(above) or "/", "triton"
    if is_graph_key(folder):
        for kind, depth in (("fxgraph", 2), ("aotautograd", 1)):
            if above[-depth:][:1] == [kind]:
                return "/".join(above[:-depth]) or "/", "inductor"
    return None


def _stat(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat, from the state on."""
    return proc.read(pid, "stat").rpartition(b")")[2].split()


def _started(pid: int) -> float | None:
    """When a process was started, in seconds since 1970."""
    with (
        contextlib.suppress(OSError, ValueError, IndexError, StopIteration),
        open(f"{proc.PROC}/stat", "rb") as stream,
    ):
        begun = next(int(line.split()[1]) for line in stream if line.startswith(b"btime "))
        return begun + int(_stat(pid)[19]) / os.sysconf("SC_CLK_TCK")
    return None
