"""Where the values of a running process's settings come from, as far as that can be seen outside.

Seen is what it was started with, the defaults of its torch, the cache that it really uses, and what
its own sources say (``settings.programs``). Not seen is what it has put into its environment since,
what other packages do, and which lines of its sources it has come by.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from torchkeeper.artifacts.entry import Problem
from torchkeeper.settings import known, origins, processes, programs
from torchkeeper.settings.assigned import CHIEF
from torchkeeper.settings.known import BY_NAME, SETTINGS
from torchkeeper.settings.origins import FOLDER, Origin, Override, Versions, comes_to, shown
from torchkeeper.settings.programs import Where
from torchkeeper.settings.rules import About
from torchkeeper.settings.setting import Setting
from torchkeeper.settings.shapes import OfProcessTold
from torchkeeper.stores import processes as proc

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
    """Of each setting its Origin. Runs nothing of it. Raises as ``processes.checked``."""
    processes.checked(pid)
    try:
        process = processes.look_into(pid)
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
    asked: programs.Program, looked: programs.Looked, process: processes.Process, root: str
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


def _is_sure(one: Where) -> bool:
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
    process: processes.Process
    env: Mapping[str, str]
    versions: Versions
    default: str
    lost: bool

    def origin(self, setting: Setting, found: tuple[Where, ...]) -> Origin:
        """Where the value of a setting comes from."""
        version = self.versions.of(setting)
        if version is not None and not known.there(setting, version):
            return Origin(setting.name, None, "absent")
        plain = self._plain(setting, version)
        chief = CHIEF[setting.name]
        mine = [one for one in found if one.what.name == chief]
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
        text = self.env[variable] if variable else None
        value = comes_to(setting, text, version)
        if setting.name == FOLDER and variable is None:
            value = self.default
        by = "variable" if variable else "default"
        if not variable and (version is None or self.lost):
            by = "unknown"  # which torch it has is not to be seen, or its environment is not
        return Origin(setting.name, shown(setting, value), by, variable or "")

    def _override(self, one: Where, variable: str) -> Override:
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
        self, setting: Setting, plain: Origin, overrides: list[tuple[Where, Override]]
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
        """Whether two paths of the process are one folder."""
        paths = [os.path.join(self.process.cwd, path) for path in (one, other)]
        try:
            first, second = (os.stat(proc.inside(self.pid, path)) for path in paths)
        except (OSError, ValueError):
            return os.path.normpath(paths[0]) == os.path.normpath(paths[1])
        return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)
