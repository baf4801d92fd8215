"""The steps of placing entries in a folder: noted in a journal, taken, and taken back.

``["new", path]``: a temporary file or folder of ours. ``["folder", path]``: one that was missing;
``["there", path]``: but somebody else was faster. ``["file", temporary, path, stamp, aside]``: a
file that was written gets its name, and what is broken under that one goes aside, if it is not
None. ``["kernel", temporary, path, stamp, {name: stamp}]``: the same for a kernel's folder.
``["lock", path]``: the lock of a list, where there was none; ``["list", path, item, before]``: an
item comes into that list, in the place of others.
A stamp tells whether what lies there is what was placed. No link is followed (folders.inside).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence

from torchkeeper.artifacts.layout import JOURNAL, TRASH, locate
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders import merging
from torchkeeper.stores.folders.inside import Inside
from torchkeeper.stores.folders.journal import Step
from torchkeeper.stores.folders.locks import ours
from torchkeeper.stores.items import is_group

#: Steps that are taken back at a time, and of how many in a row.
_AT_ONCE, _TOGETHER = 8, 256
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
    return _stamp(os.lstat(path))


def _stamp(at: os.stat_result) -> list[int]:
    return [at.st_ino, *([] if stat.S_ISDIR(at.st_mode) else [at.st_size, at.st_mtime_ns])]


def take_back(root: str, steps: Sequence[Step], report: Report | None = None) -> int:
    """Take steps back that were taken or were about to be, the last first; returns how many files
    that were in their place are gone. ``report`` hears how many steps are taken back, of how many.

    What somebody else has put there meanwhile stays. What cannot be removed stays too; but where an
    item cannot be taken off its list, nothing before is taken back, so that the list names nothing
    that is not there: raises Problem and OSError as ``merging.take``.
    """
    from concurrent.futures import ThreadPoolExecutor

    gone, done = 0, 0
    kept = {step[1] for step in steps if step[0] == "there" and len(step) == 2}
    todo = [step for step in reversed(steps) if step[0] in _UNDO]
    with Inside(root) as inside, ThreadPoolExecutor(_AT_ONCE) as pool:

        def undo(step: Step) -> int:
            if step[0] == "folder" and step[1] in kept:
                return 0
            with contextlib.suppress(ValueError, TypeError):
                return _UNDO[step[0]](inside, *step[1:]) or 0
            return 0

        for some in _alike(todo):
            # The file system takes a moment for each that is on the disk, many at a time or one.
            gone += sum(pool.map(undo, some) if len(some) > 1 else map(undo, some))
            done += len(some)
            if report is not None:
                report.progress(done, len(todo), "taken-back")
    return gone


def _alike(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Steps in a row that nothing comes between when they are taken back, some at a time: files of
    one kind, folders of one depth, and what had not got its name yet.
    """

    def of(step: Step) -> object:
        path = step[2] if step[0] == "file" and len(step) > 2 else step[1] if step[1:] else None
        if not isinstance(path, str):
            return object()
        if step[0] == "file":
            return "file", locate(path).kind
        if step[0] == "folder":
            return "folder", path.count("/")
        return "new" if step[0] == "new" else object()

    for _, same in itertools.groupby(steps, of):
        while some := list(itertools.islice(same, _TOGETHER)):
            yield some


def there(root: str, steps: Sequence[Step]) -> int:
    """How many of the files that steps have placed have something in their place."""
    count = 0
    with Inside(root) as inside:
        for step in steps:
            with contextlib.suppress(ValueError, TypeError, AttributeError, IndexError):
                if step[0] == "file" and step[4] is None:
                    count += _is_file(inside, _path(step[2]))
                elif step[0] == "kernel":
                    folder = _path(step[2])
                    count += sum(_is_file(inside, f"{folder}/{_plain(n)}") for n in step[4])
    return count


def _is_file(inside: Inside, path: str) -> bool:
    try:
        return stat.S_ISREG(inside.stat(path).st_mode)
    except OSError:
        return False


def settle(root: str, steps: Sequence[Step]) -> None:
    """Keep what was placed; what had to give way goes, and folders that were made for nothing."""
    with Inside(root) as inside:
        for step in reversed(steps):
            with contextlib.suppress(OSError, ValueError, TypeError):
                if step[0] == "file" and step[4] is not None:
                    inside.unlink(_path(step[4], _FILE))
                elif step[0] == "folder":
                    inside.remove_folder(_path(step[1]))


def _take_new(inside: Inside, path: object) -> None:
    here = _path(path, _FILE, _FOLDER)
    with contextlib.suppress(OSError):
        if inside.is_folder(here):
            inside.remove_tree(here)
        else:
            inside.unlink(here)


def _take_folder(inside: Inside, path: object) -> None:
    """Remove a folder, if nothing is in it."""
    with contextlib.suppress(OSError):
        inside.remove_folder(_path(path))


def _take_file(
    inside: Inside, _temporary: object, path: object, stamp: object, aside: object
) -> int:
    """Take a file away from its name, and give that back to what had it."""
    here = _path(path)
    gone = _unlink(inside, here, stamp)
    if aside is not None:
        there = _path(aside, _FILE)
        with contextlib.suppress(OSError):
            if inside.there(here):
                inside.unlink(there)  # PyTorch was faster: what was there is of no use to anybody
            else:
                inside.rename(there, here)
    return gone


def _take_kernel(
    inside: Inside, _temporary: object, path: object, stamp: object, files: dict[str, object]
) -> int:
    """Take away the files of a kernel, those that say that the others are there first."""
    folder = _path(path)
    with contextlib.suppress(OSError):
        if _stamp(inside.stat(folder)) != stamp:
            return 0
        names = sorted(files, key=lambda name: not is_group("triton", name))
        gone = sum(_unlink(inside, f"{folder}/{_plain(name)}", files[name]) for name in names)
        with contextlib.suppress(OSError):
            inside.remove_folder(folder)
        return gone
    return 0


def _take_lock(inside: Inside, path: object) -> None:
    """Remove the lock of a list that nobody holds."""
    here = _path(path)
    if here.endswith(".lock") and _is_file(inside, here):
        with ours(os.path.join(inside.root, here)) as mine, contextlib.suppress(OSError):
            if mine:
                inside.unlink(here)


def _take_listed(
    inside: Inside, path: object, item: merging.Listed, before: list[merging.Listed]
) -> None:
    """Take an item off a list, and give back what was there in its place."""
    here = _path(path)
    # PyTorch locks a list by its path; that no link is on it is seen before.
    if inside.there(here) or (before and inside.is_folder(os.path.dirname(here))):
        merging.take(os.path.join(inside.root, here), [item], before)


_UNDO: dict[str, Callable[..., int | None]] = {
    "new": _take_new,
    "folder": _take_folder,
    "file": _take_file,
    "kernel": _take_kernel,
    "lock": _take_lock,
    "list": _take_listed,
}


def _unlink(inside: Inside, path: str, stamp: object) -> int:
    """Remove a file that is the one of a stamp; 1 if it is gone."""
    with contextlib.suppress(OSError):
        if _stamp(inside.stat(path)) == stamp:
            inside.unlink(path)
            return 1
    return 0


def _plain(name: str) -> str:
    if "/" in name or name in ("", ".", ".."):
        raise ValueError(name)
    return name


def _path(path: object, *begins: str) -> str:
    """A path of a step, if it is one in the folder, and its name begins as it has to. Raises
    ValueError: what was noted is only as good as whoever can write it.
    """
    if not isinstance(path, str):
        raise ValueError(path)
    parts = path.split("/")
    if {"", ".", "..", TRASH} & set(parts) or parts[0].startswith(JOURNAL):
        raise ValueError(path)
    if begins and not parts[-1].startswith(begins):
        raise ValueError(path)
    return path
