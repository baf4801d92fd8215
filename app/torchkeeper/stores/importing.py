"""Placing the entries of a bundle in a cache folder, without torch and without running anything.

Every file is written under a temporary name beside its own and renamed; payloads that name others
come last, so that a torch process at work meanwhile never finds one whose needs are missing.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field

from torchkeeper.artifacts import elf, layout, triton
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.bundle import Bundle
from torchkeeper.stores.folder import Folder
from torchkeeper.stores.guard import changing
from torchkeeper.stores.items import CHUNK, File, Item, is_group, portable_bytes

_ORDER = ("triton", "code", "autotune", "pgo", "fxgraph", "aotautograd")

Left = Callable[[Item, Problem], None]


@dataclass
class Imported:
    """What was placed, and what was there already."""

    entries: int = 0
    files: int = 0
    bytes: int = 0
    exists: int = 0


@dataclass
class _Trace:
    """What an import has made so far, to be taken back if it cannot be finished."""

    files: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)


def import_bundle(bundle: Bundle, place: str, report: Report, left: Left) -> Imported:
    """Place every entry of the bundle in the folder, which is made if it is missing.

    An entry that is there with the same sha256 counts as ``exists``. A damaged entry and one
    whose place is taken by something else go to ``left``; the rest goes on. When the disk is
    full, the folder cannot be written, or the user cancels, what was placed is taken back.

    Raises Problem("place-unwritable" | "disk-full" | "place-busy") and passes Cancelled on.
    """
    trace = _Trace()
    try:
        _make_folders(os.path.realpath(place), trace)
        with changing(place):
            return _import(bundle, Folder(place), trace, report, left)
    except BaseException as e:
        _take_back(trace)
        if isinstance(e, OSError):
            if e.errno in (errno.ENOSPC, errno.EDQUOT):
                raise Problem("disk-full", place=place) from e
            raise Problem("place-unwritable", place=place, why=e.strerror or str(e)) from e
        raise


def _import(bundle: Bundle, folder: Folder, trace: _Trace, report: Report, left: Left) -> Imported:
    done = Imported()
    items = sorted(bundle.items(), key=lambda item: _ORDER.index(item.kind))
    total = sum(item.size for item in items)
    written = 0
    style = _style(folder.root)
    last_of_path = {item.path: item for item in items if item.kind == "pgo"}
    for item in items:
        report.check()
        report.progress(written, total, "bytes")
        written += item.size
        if last_of_path.get(item.path, item) is not item:
            left(item, Problem("superseded"))
            continue
        try:
            new = _place(item, bundle, folder.root, style, trace, report)
        except Problem as problem:
            left(item, problem)
            continue
        if new:
            done.entries += 1
            done.files += len(item.files)
            done.bytes += item.size
        else:
            done.exists += 1
    report.progress(total, total, "bytes")
    return done


def _style(root: str) -> str | None:
    """Whose layout a folder has: "inductor", "triton", or None where nothing tells."""
    with os.scandir(root) as entries:
        names = {entry.name for entry in entries}
    if names & {"fxgraph", "aotautograd", "triton"}:
        return "inductor"
    return "triton" if any(map(layout.is_triton_key, names)) else None


def _place(
    item: Item, bundle: Bundle, root: str, style: str | None, trace: _Trace, report: Report
) -> bool:
    """Place one entry; False if it is there already.

    Raises Problem("checksum-wrong" | "key-taken" | "entry-vanished"), and OSError for what
    concerns the whole target.
    """
    if item.kind == "triton":
        return _place_kernel(item, bundle, root, style, trace, report)
    todo = []
    for file in item.files:
        target = os.path.join(root, file.path)
        known = _digest_at(target)
        if known is None:
            todo.append((file, target))
        elif known != file.sha256:
            if not _surely_broken(item, target):
                raise Problem("key-taken", path=file.path)
            todo.append((file, target))
    # Sources before objects: PyTorch takes an object that exists for finished.
    todo.sort(key=lambda pair: pair[0].name.endswith(".so"))
    mine = _Trace()
    try:
        for file, target in todo:
            _make_folders(os.path.dirname(target), trace, root)
            _write(bundle, item, file, target, report)
            mine.files.append(target)
    except Problem:
        _take_back(mine)
        raise
    finally:
        trace.files += mine.files
    return bool(todo)


def _surely_broken(item: Item, target: str) -> bool:
    """Whether what has an entry's place is of no use to anybody, so that it may be replaced.

    A payload is named after its content; an object that is not complete was never finished.
    """
    if not os.path.isfile(target) or os.path.islink(target):
        return False
    if item.kind in ("fxgraph", "aotautograd"):
        return True
    if not target.endswith(".so"):
        return False
    with open(target, "rb") as stream:
        return not elf.complete(stream.read(elf.HEADER), os.fstat(stream.fileno()).st_size)


def _place_kernel(
    item: Item, bundle: Bundle, root: str, style: str | None, trace: _Trace, report: Report
) -> bool:
    """Place a kernel's folder at once, its group files naming their new folder."""
    home = item.path
    if style == "triton":
        home = item.key
    elif style == "inductor" and home == item.key:
        home = f"triton/0/{item.key}"
    target = os.path.join(root, home)
    if os.path.islink(target) or (os.path.lexists(target) and not os.path.isdir(target)):
        raise Problem("key-taken", path=home)
    if os.path.isdir(target) and os.listdir(target):
        return _complete_kernel(item, bundle, target, trace, report)
    _make_folders(os.path.dirname(target), trace, root)
    partial = os.path.join(os.path.dirname(target), f"tmp.torchkeeper-{secrets.token_hex(6)}")
    os.mkdir(partial)
    try:
        for file in item.files:
            _write(bundle, item, file, os.path.join(partial, file.name), report, target)
        os.rename(partial, target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    trace.folders.append(target)
    trace.files += [os.path.join(target, file.name) for file in item.files]
    return True


def _complete_kernel(
    item: Item, bundle: Bundle, target: str, trace: _Trace, report: Report
) -> bool:
    """Add what a kernel's folder lacks, its group files last; False if it lacks nothing."""
    missing = []
    for file in item.files:
        known = _digest_at(os.path.join(target, file.name), item.kind)
        if known is None:
            missing.append(file)
        elif known != file.sha256:
            raise Problem("key-taken", path=item.path)
    for file in sorted(missing, key=lambda file: is_group(item.kind, file.name)):
        path = os.path.join(target, file.name)
        _write(bundle, item, file, path, report, target)
        trace.files.append(path)
    return bool(missing)


def _digest_at(path: str, kind: str = "") -> str | None:
    """The portable sha256 of what lies at a path; None if nothing does, "" if it is no file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as e:
        if e.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR):
            return ""
        raise
    with os.fdopen(handle, "rb") as stream:
        name = os.path.basename(path)
        try:
            if is_group(kind, name):
                return hashlib.sha256(portable_bytes(kind, name, stream.read())).hexdigest()
            digest = hashlib.sha256()
            while data := stream.read(CHUNK):
                digest.update(data)
        except IsADirectoryError:
            return ""
        return digest.hexdigest()


def _write(
    bundle: Bundle, item: Item, file: File, target: str, report: Report, group_folder: str = ""
) -> None:
    """Write one file under a temporary name, check it, and rename it.

    Raises Problem("checksum-wrong" | "entry-vanished"), and OSError for what concerns the target.
    """
    partial = os.path.join(os.path.dirname(target), f".torchkeeper-{secrets.token_hex(6)}.tmp")
    mode = 0o755 if file.name.endswith(".so") else 0o644
    digest = hashlib.sha256()
    size = 0
    try:
        source = bundle.open(file)
    except OSError as e:
        raise Problem("entry-vanished", why=str(e)) from e
    try:
        with source:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with os.fdopen(os.open(partial, flags, mode), "wb") as out:
                while True:
                    report.check()
                    try:
                        data = source.read(CHUNK)
                    except OSError as e:
                        raise Problem("entry-vanished", why=str(e)) from e
                    if not data:
                        break
                    size += len(data)
                    if size > file.size:
                        raise Problem("size-wrong", path=file.path)
                    digest.update(data)
                    if is_group(item.kind, file.name):
                        try:
                            data = triton.group_for(data, group_folder)
                        except (ValueError, TypeError) as e:
                            raise Problem("payload-unreadable") from e
                    out.write(data)
        if file.sha256 not in (None, digest.hexdigest()):
            raise Problem("checksum-wrong")
        os.rename(partial, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise


def _make_folders(path: str, trace: _Trace, root: str | None = None) -> None:
    """Make a folder and what is missing above it; below ``root``, links are refused."""
    missing = []
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    if root is not None:
        below = path
        while below != root and len(below) > len(root):
            if os.path.islink(below):
                raise Problem("link-in-place", path=below)
            below = os.path.dirname(below)
    for folder in reversed(missing):
        try:
            os.mkdir(folder)
        except FileExistsError:
            # PyTorch, or another import, was faster; that it is no link is checked again.
            if os.path.islink(folder) or not os.path.isdir(folder):
                raise
        else:
            trace.folders.append(folder)


def _take_back(trace: _Trace) -> None:
    for file in reversed(trace.files):
        with contextlib.suppress(OSError):
            os.unlink(file)
    for folder in reversed(trace.folders):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
