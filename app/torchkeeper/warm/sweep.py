"""After an abnormal end: take away what the job left half-written, and only that.

PyTorch writes its payloads beside their place and renames them (write_atomic in
torch/_inductor/codecache.py), and Triton does the same (triton/runtime/cache.py). But a C++
compiler writes ``<xx>/<key>.main.so`` and ``precompiled_headers/<hash>.h.gch`` where they
belong (CppBuilder.build in torch/_inductor/cpp_builder.py), in the meantime there is a folder
``<name>_CxxBuild`` beside them, and PyTorch later trusts whatever exists
(_worker_compile_cpp in codecache.py). So a killed compile can spoil every later one.

Others may be compiling into the same folder. What they are building they hold a lock on
(``locks/<key>.lock``), and their temporary files carry their process ids; both are left alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import shutil
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from torchkeeper.artifacts import builds
from torchkeeper.artifacts.layout import HEADERS, is_code_stem, kernel_folder, locate
from torchkeeper.artifacts.triton import is_key
from torchkeeper.stores.folders.locks import alive, take

#: What a path looked like: time of last change, size, inode.
Mark = tuple[int, int, int]

_BUILD = "_CxxBuild"
_OBJECTS = (".so", ".o")
_BUILT = (*_OBJECTS, ".gch", ".pch")
_TEMPORARY = re.compile(r"\.(\d+)\.\d+\.tmp", re.ASCII)
_PROFILE_TEMPORARY = ".pkl.tmp"
_TRITON_TEMPORARY = re.compile(r"tmp\.(?:pid_(\d+)_)?[0-9a-f-]{30,}", re.ASCII)
_STAGES = (".json", ".ttir", ".ttgir", ".llir", ".ptx", ".cubin", ".amdgcn", ".hsaco", ".spv")
#: Seconds in which a temporary folder that nobody's name is on must not change.
_STILL = 0.1


@dataclass(frozen=True)
class Swept:
    """Something that was removed: its path, and why ("temporary" or "incomplete")."""

    path: str
    why: str


@dataclass(frozen=True)
class _Found:
    """root: the cache folder it is of, with its own locks; there may be others within one."""

    path: str
    name: str
    folder: bool
    root: str = ""


def snapshot(root: str, until: int | None = None) -> dict[str, Mark]:
    """All of its concern that is there already; until: unchanged since then, in ns."""
    marks = {found.path: mark(found.path) for found in _walk(root)}
    return {path: seen for path, seen in marks.items() if until is None or seen[0] < until}


def mark(path: str) -> Mark:
    try:
        status = os.lstat(path)
    except OSError:
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def _walk(root: str) -> Iterator[_Found]:
    """The temporary files and folders, built objects and Triton kernels below ``root``. Only where
    PyTorch and Triton put them: a user's own ``lib/libm.so`` in what is named a cache is not ours.
    """
    for found in _candidates(root):
        parts = os.path.relpath(found.path, root).split("/")
        home = root
        if parts[0] == "aoti_eager" and parts[3:4] == ["lib"] and len(parts) > 4:
            # PyTorch is led to it for eager operators (torch/_inductor/aoti_eager.py).
            home, parts = os.path.join(root, *parts[:4]), parts[4:]
        if _is_a_caches(parts, found):
            yield dataclasses.replace(found, root=home)


def _is_a_caches(parts: list[str], found: _Found) -> bool:
    """Whether a known writer has such a file or folder there (artifacts.layout)."""
    path = "/".join(parts)
    if len(parts) == 1 and is_code_stem(found.name.partition(".")[0]):
        path = f"{HEADERS}/{path}"  # precompiled headers have a root of their own
    if not found.folder:
        kind = locate(path).kind
        return kind in ("code", "header") if found.name.endswith(_BUILT) else kind == "lock"
    if found.name.endswith(_BUILD):
        return locate(f"{path}/x.o").kind == "lock"
    if _TRITON_TEMPORARY.fullmatch(found.name):
        return locate(f"{path}/k.ttir").kind == "lock"
    return bool(kernel_folder(path))


def _candidates(root: str) -> Iterator[_Found]:
    pending = [root]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    name = entry.name
                    if not entry.is_dir(follow_symlinks=False):
                        if name.endswith((*_BUILT, ".tmp")):
                            yield _Found(entry.path, name, folder=False)
                    elif name.endswith(_BUILD) or _TRITON_TEMPORARY.fullmatch(name):
                        yield _Found(entry.path, name, folder=True)
                    elif not name.startswith((".", "tmp.")):
                        # Neither the trash nor what another Torchkeeper is importing.
                        pending.append(entry.path)
                        if is_key(name):
                            yield _Found(entry.path, name, folder=True)
        except OSError:
            continue  # gone or unreadable: then there is nothing of ours in it


def sweep(
    root: str, before: Mapping[str, Mark], pids: Collection[int], others: bool = False
) -> list[Swept]:
    """Remove what a job of the processes ``pids``, all dead now, left unfinished below ``root``.
    ``before`` is the snapshot from before the job. others: more of its processes are at work; what
    cannot be told from theirs stays until they have ended. Returns what was removed.
    """
    swept: list[Swept] = []
    # A folder's time changes with its files, so for those only being there counts.
    new = [
        found
        for found in _walk(root)
        if found.path not in before or not (found.folder or before[found.path] == mark(found.path))
    ]
    kernels, nameless = [], []
    for found in new:
        temporary = _TRITON_TEMPORARY.fullmatch(found.name)
        if found.name.endswith(_BUILD):
            swept += _unfinished_build(found, before)
        elif found.name.endswith(_OBJECTS) and not found.folder:
            swept += _incomplete_object(found)
        elif match := temporary or _TEMPORARY.fullmatch(found.name):
            if match[1] is None:
                nameless.append(found.path)
            elif int(match[1]) in pids or not alive(int(match[1])):
                swept += _remove(found.path, "temporary")
        elif found.name.endswith(_PROFILE_TEMPORARY):
            # torch/_dynamo/pgo.py (write_local_impl) holds <name>.lock while it writes <name>.tmp.
            with _alone(found.path.removesuffix(".tmp") + ".lock") as alone:
                if alone:
                    swept += _remove(found.path, "temporary")
        elif found.folder and not others:
            kernels.append(found.path)
    swept += _nameless(nameless)
    for path in kernels:
        if _half_a_kernel(path):
            swept += _remove(path, "incomplete")
    return swept


def mend(root: str) -> list[Swept]:
    """Remove what nobody has swept: what is certainly useless and held by no lock."""
    swept: list[Swept] = []
    for found in list(_walk(root)):
        if found.name.endswith(_BUILD):
            swept += _unfinished_build(found, {}, sure=(".gch", ".pch"))
        elif found.name.endswith(_OBJECTS) and not found.folder:
            swept += _incomplete_object(found)
    return swept


def _unfinished_build(
    found: _Found, before: Mapping[str, Mark], sure: tuple[str, ...] = _BUILT
) -> list[Swept]:
    """The build folder and what was being built, whatever it looks like: it was not done."""
    swept: list[Swept] = []
    with _alone(_lock_of(found)) as alone:
        if not alone:
            return []
        for suffix in sure:
            target = found.path.removesuffix(_BUILD) + suffix
            if os.path.lexists(target) and before.get(target) != mark(target):
                swept += _remove(target, "incomplete")
        return swept + _remove(found.path, "temporary")


def _incomplete_object(found: _Found) -> list[Swept]:
    path = found.path
    if _whole(path):
        return []
    with _alone(_lock_of(found)) as alone:
        # Looked at again: whoever held the lock until now may have finished it.
        return _remove(path, "incomplete") if alone and not _whole(path) else []


def _whole(path: str) -> bool:
    """Whether it is a complete ELF file, or nothing that we can judge."""
    try:
        with open(path, "rb") as file:
            head = file.read(builds.HEADER)
            size = os.fstat(file.fileno()).st_size
    except OSError:
        return True
    if head[:4] in (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"):
        return True  # macOS
    return builds.complete(head, size)


def _lock_of(found: _Found) -> str:
    """The lock that is held while this file is built (load_async in codecache.py)."""
    folder, name = os.path.split(found.path)
    # Headers have locks of their own, also inside the default cache folder.
    root = folder if os.path.basename(folder) == HEADERS else found.root
    stem = name.removesuffix(_BUILD).partition(".")[0]
    return os.path.join(root, "locks", f"{stem}.lock")


@contextlib.contextmanager
def _alone(lock: str) -> Iterator[bool]:
    """Whether nobody else holds the lock; while inside, nobody else gets it. Where there is none,
    whether nobody holds any lock beside it: a kernel in two parts is built under the lock of one.
    """
    if not os.path.exists(lock):
        yield _none_held(os.path.dirname(lock))
        return
    handle, free = take(lock)
    try:
        yield free
    finally:
        if handle is not None:
            os.close(handle)


def _none_held(folder: str) -> bool:
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    for name in names:
        if name.endswith(".lock"):
            handle, free = take(os.path.join(folder, name))
            if handle is not None:
                os.close(handle)
            if not free:
                return False
    return True


def _nameless(paths: list[str]) -> list[Swept]:
    """Temporary folders without an id (triton_bundler.py): those that stand still are ours."""
    marks = {path: mark(path) for path in paths}
    if marks:
        time.sleep(_STILL)
    return [
        swept
        for path, seen in marks.items()
        if os.path.isdir(path) and mark(path) == seen
        for swept in _remove(path, "temporary")
    ]


def _half_a_kernel(folder: str) -> bool:
    """Whether the group file, which Triton writes last, or a file it names is missing."""
    try:
        names = set(os.listdir(folder))
    except OSError:
        return False
    for name in names:
        writer = _TRITON_TEMPORARY.fullmatch(name)
        if writer and writer[1] and alive(int(writer[1])):
            return False
    if not (groups := [name for name in names if name.startswith("__grp__")]):
        return not names or any(name.endswith(_STAGES) for name in names)
    for group in groups:
        try:
            with open(os.path.join(folder, group), encoding="utf-8") as file:
                children = json.load(file)["child_paths"]
            if not {os.path.basename(child) for child in children.values()} <= names:
                return True
        except (OSError, ValueError, LookupError, AttributeError, TypeError):
            return True
    return False


def _remove(path: str, why: str) -> list[Swept]:
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    except OSError:
        return []
    return [Swept(path, why)]
