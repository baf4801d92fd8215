"""The running processes that have torch: which there are, what each is, and where the values of its
settings come from, as far as that can be seen outside.

Those of this user; others' are counted, for nobody but root may look into them, and root has asked
for its own. A process in a container is seen from outside with a number of its own there.
"""

from __future__ import annotations

import contextlib
import glob
import math
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
from torchkeeper.settings import known, origins, programs
from torchkeeper.settings.assigned import CHIEF
from torchkeeper.settings.finding import About
from torchkeeper.settings.known import BY_NAME, SETTINGS, Setting
from torchkeeper.settings.origins import FOLDER, Origin, Override, Versions, comes_to, shown
from torchkeeper.settings.shapes import OfProcessTold, ProcessesTold, ProcessTold
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
    "inductor", or "triton" for Triton's own. why: "mapped" or "open". files: how many of its files;
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
            parents[pid] = int(proc.status(pid)[1])
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
        found = proc.status(pid)
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
    torch, triton = package(paths, "/torch/lib/libtorch"), package(paths, "/triton/_C/libtriton")
    python = interpreter(pid, os.readlink(f"{proc.PROC}/{pid}/exe"), command, env, cwd, torch)
    # What is run is known past the options of the interpreter.
    called, runs = command, programs.program(command, cwd, "", "")
    if runs.kind in ("script", "module"):
        called = [command[0], *(["-m"] if runs.kind == "module" else []), runs.main, ""]
    loaded = torch is not None or proc.TORCH.search(maps) is not None
    if not loaded:
        torch = _installed(pid, python)
    if torch and triton is None:
        triton = os.path.join(os.path.dirname(torch), "triton")
    files = torch and f"{torch}/version.py", triton and f"{triton}/__init__.py"
    versions = Versions(*(_version(pid, path) for path in files))
    return Process(
        pid,
        proc.known_as(pid, called, True),
        told(command),
        _started(pid),
        python,
        cwd,
        loaded,
        *versions,
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


def _version(pid: int, path: str | None) -> str | None:
    """The version that a file of a package names, read and not run."""
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


def _started(pid: int) -> float | None:
    """When a process was started, in seconds since 1970."""
    with (
        contextlib.suppress(OSError, ValueError, IndexError, StopIteration),
        open(f"{proc.PROC}/stat", "rb") as stream,
    ):
        begun = next(int(line.split()[1]) for line in stream if line.startswith(b"btime "))
        return begun + int(proc.status(pid)[19]) / os.sysconf("SC_CLK_TCK")
    return None


# Where the values of its settings come from. Seen is what it was started with, the defaults of its
# torch, the cache that it really uses, and what its own sources say (``settings.programs``), but
# not its environment of now, what other packages do, and which lines of its sources have been run.

#: Of assigned.HOWS, what is done to a variable.
_VARIABLE = ("variable", "variable-default", "unset")
#: What is told of one setting, and of sources that were not read; and characters of a path in it:
#: all of it goes over the wire in one line.
_MAX_OVERRIDES, _MAX_UNREAD, _MAX_PATH = 5, 20, 300
#: Seconds by which a file has to be newer than a process.
_SAME_TIME = 2.0
#: Which kind of folder each of these settings names.
_KINDS = {FOLDER: "inductor", "TRITON_CACHE_DIR": "triton"}


def of_process(pid: int) -> OfProcessTold:
    """Of each setting its Origin. Runs nothing of it. Raises as ``checked``."""
    checked(pid)
    try:
        process = look_into(pid)
        env, command = proc.environment(pid), proc.arguments(pid)
        lost = proc.has_overwritten(pid)
        root = proc.inside(pid, "/").rstrip("/")
        default = proc.default_folder(pid, env)
    except PermissionError:
        raise Problem("process-of-other", pid=pid) from None
    except OSError:
        raise Problem("process-gone", pid=pid) from None
    versions = Versions(process.torch, process.triton)
    asked = programs.program(command, process.cwd, env.get("PYTHONPATH", ""), root)
    start = env.get("PWD")
    if asked.kind == "script" and start and not os.path.exists(root + asked.main):
        # It is somewhere else by now than where it was started.
        asked = programs.program(command, start, env.get("PYTHONPATH", ""), root)
    looked = programs.look_at(asked)
    unread = [(_file(name, process.cwd), why) for name, why in looked.unread]
    seeing = _Seeing(pid, process, env, versions, default, lost)
    found = origins.with_kernels([seeing.origin(one, looked.found) for one in SETTINGS])
    told = origins.findings(env, found, About(versions.torch, versions.triton))
    return {
        "process": process.to_json(),
        "settings": [one.to_json() for one in origins.fitting(found)],
        "findings": [one.to_json() for one in told],
        "lost": lost,
        "looked": {
            "kind": asked.kind,
            "main": "" if asked.kind == "code" else asked.main,
            "files": looked.files,
            "unread": unread[:_MAX_UNREAD],
            "changed": _changed(asked, looked, process, root),
            "stopped": looked.stopped,
        },
    }


def _changed(
    asked: programs.Program, looked: programs.Looked, process: Process, root: str
) -> list[str]:
    """Sources that are newer than the process: it runs what they said before."""
    main = [asked.main] if asked.kind == "script" else []
    found = []
    for name in dict.fromkeys([*main, *(one.file for one in looked.found)]):
        with contextlib.suppress(OSError):
            newer = os.stat(root + name).st_mtime - (process.started or math.inf)
            # The start is known to a hundredth of a second, and by another clock.
            if newer > _SAME_TIME:
                found.append(_file(name, process.cwd))
    return found[:_MAX_UNREAD]


def _file(path: str, cwd: str) -> str:
    """A path as short as a person in the process's folder would write it."""
    below = cwd.rstrip("/") + "/"
    path = path[len(below) :] if path.startswith(below) else path
    return path if len(path) <= _MAX_PATH else f"…{path[-_MAX_PATH:]}"


def _is_sure(one: programs.Where) -> bool:
    """Whether it is done in any case, and has its effect from there on and for good."""
    what = one.what
    if not (one.sure and what.top):
        return False
    if what.how == "assigned":
        return True
    # Attributes are read from variables once, as torch is imported.
    late = bool(BY_NAME[what.variable or what.name].config) and what.late
    return what.how in _VARIABLE and not late


@dataclass(frozen=True)
class _Seeing:
    """What is known of one process."""

    pid: int
    process: Process
    env: Mapping[str, str]
    versions: Versions
    default: str
    lost: bool

    def origin(self, setting: Setting, found: tuple[programs.Where, ...]) -> Origin:
        version = self.versions.of(setting)
        if version is not None and not known.there(setting, version):
            return Origin(setting.name, None, "absent")
        plain = self._plain(setting, version)
        mine = [one for one in found if one.what.name == CHIEF[setting.name]]
        # Code may set a variable as well, and by that what its attribute comes to.
        here = [one.what.variable for one in mine if one.what.how == "variable" and _is_sure(one)]
        decided = plain.variable or (here[0] if here else "")
        overrides = [(one, self._override(one, decided)) for one in mine]
        told = [override for _, override in overrides]
        if len(told) > _MAX_OVERRIDES:
            told = [one for one in told if one.wins is not False] or told
        plain = replace(plain, overrides=tuple(told[-_MAX_OVERRIDES:]))
        if setting.name in _KINDS and (seen := self._folder_seen(setting, plain, overrides)):
            return seen
        count = [(one, over) for one, over in overrides if over.wins is not False]
        if not count:
            return plain
        # What is done for certain, and of that what is last: the script after what it imports.
        # Of what is as good, the last: max takes the first.
        one, over = max(reversed(count), key=lambda both: (both[1].wins is True, both[0].main))
        value = over.value
        if one.what.how in _VARIABLE and not over.computed:
            value = shown(setting, comes_to(setting, value, version))
        sure, otherwise = over.wins is True, None if over.wins else plain.value
        by_code = replace(plain, value=value, by="code", where=over.where, computed=over.computed)
        return replace(by_code, sure=sure, otherwise=otherwise)

    def _plain(self, setting: Setting, version: str | None) -> Origin:
        """What the variables that it was started with, or the defaults of its torch, make it."""
        variable = known.decides(self.env, setting.name, version)
        value = comes_to(setting, self.env[variable] if variable else None, version)
        if setting.name == FOLDER and variable is None:
            value = self.default
        by = "variable" if variable else "default"
        if not variable and (version is None or self.lost):
            by = "unknown"  # which torch it has is not to be seen, or its environment is not
        return Origin(setting.name, shown(setting, value), by, variable or "")

    def _override(self, one: programs.Where, variable: str) -> Override:
        what = one.what
        wins: bool | None = None
        if what.how in ("assigned", "patched", "options") and variable:
            # A variable that forces wins; one that is but a default does not.
            wins = False if BY_NAME[variable].forces else None
        elif what.how == "variable-default" and what.variable in self.env:
            wins = False
        elif what.how in _VARIABLE and variable not in ("", what.variable):
            same = BY_NAME[variable].same
            # Of two that mean the same, the other one decides.
            wins = False if same.index(variable) < same.index(what.variable) else None
        if wins is None and _is_sure(one):
            wins = True
        where = f"{_file(one.file, self.process.cwd)}:{what.line}"
        return Override(where, what.how, what.value, what.computed, wins)

    def _folder_seen(
        self, setting: Setting, plain: Origin, overrides: list[tuple[programs.Where, Override]]
    ) -> Origin | None:
        """The folder that it really uses, where it has files of one open or mapped."""
        kind = _KINDS[setting.name]
        used = [folder for folder in self.process.folders if folder.kind == kind]
        if not used:
            return None
        if plain.value and any(self._same(folder.path, plain.value) for folder in used):
            return replace(plain, seen=used[0].seen)
        folder = max(used, key=lambda one: one.files)
        may = [over for _, over in overrides if over.wins is not False]
        says = [over for over in may if over.value and self._same(over.value, folder.path)]
        says = says or [over for over in may if over.computed]
        where = says[0].where if says else ""
        by = "unknown" if self.lost and not where else "code"
        return replace(plain, value=folder.path, by=by, where=where, seen=folder.seen)

    def _same(self, one: str, other: str) -> bool:
        """Whether two paths of the process, which may have ended meanwhile, are one folder."""
        paths = [os.path.join(self.process.cwd, path) for path in (one, other)]
        try:
            first, second = (os.stat(proc.inside(self.pid, path)) for path in paths)
        except (OSError, ValueError):
            return os.path.normpath(paths[0]) == os.path.normpath(paths[1])
        return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)
