"""The steps of placing entries in a folder: noted in a journal, taken, and taken back.

``["new", path]``: a temporary file or folder of ours. ``["folder", path]``: one that was missing;
``["there", path]``: but somebody else was faster. ``["file", temporary, path, stamp, aside]``: a
file that was written gets its name, and what is broken under that one goes aside, if it is not
None. ``["kernel", temporary, path, stamp, {name: stamp}]``: the same for a kernel's folder.
``["lock", path]``: the lock of a list, where there was none; ``["list", path, item, before]``: an
item comes into that list, in the place of others.
A stamp tells whether what lies there is what was placed.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Sequence
from typing import Any

from torchkeeper.artifacts.layout import JOURNAL, TRASH
from torchkeeper.stores.folders import merging
from torchkeeper.stores.folders.journal import Step
from torchkeeper.stores.folders.locks import ours
from torchkeeper.stores.items import is_group

#: What names of temporary files and folders of ours begin with. PyTorch and Triton take no name
#: that begins with a dot, or a folder of Triton's with ``tmp.``, for an entry.
_FILE, _FOLDER = ".torchkeeper-", "tmp.torchkeeper-"
_TEMPORARY = re.compile(r"\.torchkeeper-[0-9a-f]{12}\.tmp|tmp\.torchkeeper-[0-9a-f]{12}")


def temporary_file(folder: str, operation: str) -> str:
    """A path in a folder for a file until it is whole; operation: the id of its journal."""
    return os.path.join(folder, f"{_FILE}{operation}{secrets.token_hex(3)}.tmp")


def temporary_folder(folder: str, operation: str) -> str:
    """A path in a folder for a kernel until it is whole."""
    return os.path.join(folder, f"{_FOLDER}{operation}{secrets.token_hex(3)}")


def is_temporary(name: str, operation: str) -> bool:
    """Whether an operation gave a file or a folder this name until it was to get another."""
    begins = (f"{_FILE}{operation}", f"{_FOLDER}{operation}")
    return name.startswith(begins) and _TEMPORARY.fullmatch(name) is not None


def stamp_of(path: str) -> list[int]:
    """What tells a file from another that gets its name later: its number, size and time."""
    at = os.lstat(path)
    return [at.st_ino, *([] if stat.S_ISDIR(at.st_mode) else [at.st_size, at.st_mtime_ns])]


def take_back(root: str, steps: Sequence[Step]) -> int:
    """Take steps back that were taken or were about to be, the last first; returns how many files
    that were in their place are gone.

    What somebody else has put there meanwhile stays. What cannot be removed stays too; but where an
    item cannot be taken off its list, nothing before is taken back, so that the list names nothing
    that is not there: raises Problem and OSError as ``merging.take``.
    """
    gone = 0
    kept = {step[1] for step in steps if step[0] == "there" and len(step) == 2}
    for step in reversed(steps):
        undo = _UNDO.get(step[0])
        if undo is None or (step[0] == "folder" and step[1] in kept):
            continue
        with contextlib.suppress(ValueError, TypeError):
            gone += undo(root, *step[1:])
    return gone


def there(root: str, steps: Sequence[Step]) -> int:
    """How many of the files that steps have placed have something in their place."""
    count = 0
    for step in steps:
        with contextlib.suppress(ValueError, TypeError, AttributeError, IndexError):
            if step[0] == "file" and step[4] is None:
                count += os.path.isfile(_inside(root, step[2]))
            elif step[0] == "kernel":
                folder = _inside(root, step[2])
                count += sum(os.path.isfile(os.path.join(folder, _plain(n))) for n in step[4])
    return count


def settle(root: str, steps: Sequence[Step]) -> None:
    """Keep what was placed; what had to give way goes, and so does every folder that was made for
    nothing.
    """
    for step in reversed(steps):
        with contextlib.suppress(OSError, ValueError, TypeError):
            if step[0] == "file" and step[4] is not None:
                os.unlink(_inside(root, step[4], _FILE))
            elif step[0] == "folder":
                os.rmdir(_inside(root, step[1]))


def _take_new(root: str, path: object) -> int:
    """Remove a temporary file or folder."""
    here = _inside(root, path, _FILE, _FOLDER)
    if os.path.isdir(here) and not os.path.islink(here):
        shutil.rmtree(here, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            os.unlink(here)
    return 0


def _take_folder(root: str, path: object) -> int:
    """Remove a folder, if nothing is in it."""
    with contextlib.suppress(OSError):
        os.rmdir(_inside(root, path))
    return 0


def _take_file(root: str, _temporary: object, path: object, stamp: object, aside: object) -> int:
    """Take a file away from its name, and give that back to what had it."""
    here = _inside(root, path)
    gone = _unlink(here, stamp)
    if aside is not None:
        there = _inside(root, aside, _FILE)
        with contextlib.suppress(OSError):
            if os.path.lexists(here):
                os.unlink(there)  # PyTorch was faster: what was there is of no use to anybody
            else:
                os.rename(there, here)
    return gone


def _take_kernel(
    root: str, _temporary: object, path: object, stamp: object, files: dict[str, object]
) -> int:
    """Take away the files of a kernel, those that say that the others are there first."""
    folder = _inside(root, path)
    with contextlib.suppress(OSError):
        if stamp_of(folder) != stamp:
            return 0
        names = sorted(files, key=lambda name: not is_group("triton", name))
        gone = sum(_unlink(os.path.join(folder, _plain(name)), files[name]) for name in names)
        with contextlib.suppress(OSError):
            os.rmdir(folder)
        return gone
    return 0


def _take_lock(root: str, path: object) -> int:
    """Remove the lock of a list that nobody holds."""
    here = _inside(root, path)
    with ours(here) as mine, contextlib.suppress(OSError):
        if mine and here.endswith(".lock"):
            os.unlink(here)
    return 0


def _take_listed(root: str, path: object, item: dict[str, Any], before: list[Any]) -> int:
    """Take an item off a list, and give back what was there in its place."""
    here = _inside(root, path)
    if os.path.lexists(here) or before:
        merging.take(here, [item], before)
    return 0


_UNDO: dict[str, Callable[..., int]] = {
    "new": _take_new,
    "folder": _take_folder,
    "file": _take_file,
    "kernel": _take_kernel,
    "lock": _take_lock,
    "list": _take_listed,
}


def _unlink(path: str, stamp: object) -> int:
    """Remove a file that is the one of a stamp; 1 if it is gone."""
    with contextlib.suppress(OSError):
        if stamp_of(path) == stamp:
            os.unlink(path)
            return 1
    return 0


def _plain(name: str) -> str:
    if "/" in name or name in ("", ".", ".."):
        raise ValueError(name)
    return name


def _inside(root: str, path: object, *begins: str) -> str:
    """A path of a step in full, if it lies in the folder, no link is on the way, and its name
    begins as it has to. Raises ValueError: what was noted is only as good as whoever can write it.
    """
    if not isinstance(path, str):
        raise ValueError(path)
    parts = path.split("/")
    if {"", ".", "..", TRASH} & set(parts) or parts[0].startswith(JOURNAL):
        raise ValueError(path)
    if begins and not parts[-1].startswith(begins):
        raise ValueError(path)
    above = root
    for part in parts[:-1]:
        above = os.path.join(above, part)
        if os.path.islink(above):
            raise ValueError(path)
    return os.path.join(above, parts[-1])
