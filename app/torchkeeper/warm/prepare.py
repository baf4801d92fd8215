"""Prepares an environment: has its PyTorch precompile its C++ headers where programs will look.

That is ``<temporary folder>/torchinductor_<user>/precompiled_headers``, whatever
TORCHINDUCTOR_CACHE_DIR says: the folder that is named here is therefore the temporary folder of
the programs, or already ``torchinductor_<user>`` in it, for programs of another user.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import HEADERS
from torchkeeper.artifacts.report import Report
from torchkeeper.stores import places
from torchkeeper.warm import following, sweep
from torchkeeper.warm.shapes import Header, Headers, Prepared, Preparing

if TYPE_CHECKING:
    from torchkeeper.warm.header import Request

#: What it puts before the user's name (torch/_inductor/runtime/cache_dir_utils.py).
_PREFIX = "torchinductor_"
#: Where Python looks for the temporary folder (tempfile.py), and for the user's name (getpass.py).
_TEMPORARY = ("TMPDIR", "TEMP", "TMP")
_USER = ("LOGNAME", "USER", "LNAME", "USERNAME")
_HEADERS_AT_MOST = 20
_CODES = following.Codes("prepare-failed", "prepare-killed", "prepare-timeout")


@dataclass(frozen=True)
class Target:
    """Where headers go: a temporary folder, and whose programs look there; None: as for us."""

    temporary: str | None = None
    user: str | None = None

    @property
    def folder(self) -> str | None:
        """The headers' folder, where it is not left to PyTorch."""
        if self.temporary is None:
            return None
        default = os.path.basename(places.default_folder())
        name = default if self.user is None else _PREFIX + self.user
        return os.path.join(self.temporary, name, HEADERS)

    @property
    def foreign(self) -> str | None:
        """The user, where it is another than the one who prepares."""
        own = os.path.basename(places.default_folder()).removeprefix(_PREFIX)
        return None if self.user in (None, own) else self.user


@dataclass
class _Work(following.State[Headers]):
    """What is known of the process that prepares: where it works, and what was there before."""

    folder: str | None = None
    before: dict[str, sweep.Mark] | None = None


def prepare(params: Preparing, report: Report) -> Prepared:
    """Build the headers that programs will look for and that are not there. Findings: ``header``,
    ``swept``, ``log``. Raises Problem, or passes Cancelled on; no process, and nothing
    half-written, is left then.
    """
    following.check_limit(limit := params.get("limit_s"))
    target = target_of(params.get("into"))
    made = [] if target.temporary is None else _make_writable(target.temporary)
    home = tempfile.mkdtemp(prefix="torchkeeper-prepare-")
    state = _Work()

    def clean_up(pids: Collection[int]) -> None:
        if state.folder is not None and state.before is not None:
            following.tell_swept(report, sweep.sweep(state.folder, state.before, pids))

    began = time.monotonic()
    try:
        request: Request = {"into": target.folder, "after": {"scratch": home}}
        process = following.launch("warm.header", request, environment(target, home), home)
        tell = partial(_tell, state, report)
        result = following.carry_out(process, limit, state, report, tell, _CODES, clean_up)
    finally:
        shutil.rmtree(home, ignore_errors=True)
        if state.result is None:
            for folder in reversed(made):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)  # not if something came of it
    return {**result, "seconds": time.monotonic() - began, "user": target.foreign}


def target_of(into: str | None) -> Target:
    """Where to build. Raises Problem("bad-request", field="into")."""
    if into is None:
        return Target()
    if not into or "\0" in into:
        raise Problem("bad-request", field="into")
    above, name = os.path.split(os.path.abspath(into))
    if name == HEADERS and os.path.basename(above).startswith(_PREFIX):
        above, name = os.path.split(above)
    if name.startswith(_PREFIX) and len(name) > len(_PREFIX):
        return Target(above, name[len(_PREFIX) :])
    return Target(os.path.abspath(into))


def headers_for(into: str | None) -> str:
    """The folder that a request would write to. Raises Problem("bad-request", field="into")."""
    return target_of(into).folder or os.path.join(places.default_folder(), HEADERS)


def environment(target: Target, home: str) -> dict[str, str]:
    """The environment of a program that uses ``target``; what else is written goes to ``home``."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("TORCHKEEPER_")}
    env["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(home, "cache")
    if target.temporary is not None:
        env |= dict.fromkeys(_TEMPORARY, target.temporary)
    if target.user is not None:
        env |= dict.fromkeys(_USER, target.user)
    return env


def _make_writable(folder: str) -> list[str]:
    """The folders that had to be made, the outermost first. Raises Problem("place-unwritable")."""
    missing = []
    while not os.path.lexists(folder) and folder not in missing:
        missing.append(folder)
        folder = os.path.dirname(folder)
    following.make_writable(missing[0] if missing else folder)
    return missing[::-1]


def _tell(state: _Work, report: Report, what: str, value: Any) -> None:
    """Take what the process tells. Raises whatever it may where that is not as promised."""
    if what == "progress":
        report.progress(int(value[0]), int(value[1]), "headers")
    elif what == "folder":
        folder = str(value["path"])
        if os.path.isabs(folder) and os.path.basename(folder) == HEADERS:
            state.before = {
                str(path): (int(mark[0]), int(mark[1]), int(mark[2]))
                for path, mark in value["marks"].items()
            }
            state.folder = folder
        swept = [sweep.Swept(str(one["path"]), str(one["why"])) for one in value["swept"]]
        following.tell_swept(report, swept)
    elif what == "header":
        report.finding(header=_header(value))
    elif what == "result":
        headers = [_header(one) for one in value["headers"][:_HEADERS_AT_MOST]]
        built = sum(one["built"] for one in headers)
        state.result = {
            "built": built,
            "there": len(headers) - built,
            "bytes": sum(one["bytes"] for one in headers),
            "folder": str(value["folder"]),
        }


def _header(value: Any) -> Header:
    return {
        "path": str(value["path"]),
        "built": bool(value["built"]),
        "bytes": int(value["bytes"]),
        "seconds": following.finite(value["seconds"]),
    }
