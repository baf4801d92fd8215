"""What a cache folder is on: the kind of file system, how it is mounted, what room is left.

What PyTorch 2.13.0 does there: on a file system that is read-only or full every compile fails with
an OSError, extern kernels alone included, where it writes the generated module; from one mounted
noexec whatever has a C++ kernel fails when that is loaded ("failed to map segment from shared
object"), and nothing else does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from torchkeeper.artifacts.entry import Problem
from torchkeeper.doctor.check import FolderLook
from torchkeeper.doctor.mounts import Mount
from torchkeeper.settings.finding import Finding
from torchkeeper.stores.preconditions import space

_FOLDER = ("TORCHINDUCTOR_CACHE_DIR",)
#: Bytes and files below which a compile hardly gets through: a graph takes some kernels of 100 kB.
_FULL_BYTES, _FULL_FILES = 16 << 20, 64
#: What a while of work takes; and of what the cache has already: by so much it may grow.
_LITTLE_BYTES, _LITTLE_FILES, _SHARE = 1 << 30, 2000, 0.1
#: The share of a machine's memory that a cache should not take.
_MUCH_MEMORY = 0.25


def file_system(look: FolderLook) -> Iterator[Finding]:
    """What kind it is, and how it is mounted."""
    mount = look.mount
    if mount is None:
        raise Problem("mounts-unknown")
    about = {"type": mount.type, "point": mount.point}
    if "ro" in mount.options:
        yield Finding("folder-read-only", "error", _FOLDER, look.place, about)
    if "noexec" in mount.options:
        yield Finding("folder-noexec", "error", _FOLDER, look.place, about)
    if mount.memory:
        size, memory = look.bytes, _memory()
        much = memory is not None and size > _MUCH_MEMORY * memory
        more = {**about, "size_bytes": size, "memory_bytes": memory}
        severity = "warning" if much else "advice"
        yield Finding("folder-in-memory", severity, _FOLDER, look.place, more)
    if mount.network:
        yield _shared(look, mount)
    if mount.type == "overlay":
        yield Finding("folder-in-container", "advice", _FOLDER, look.place, about)


def _shared(look: FolderLook, mount: Mount) -> Finding:
    about = {"type": mount.type, "point": mount.point, "source": mount.source}
    local = {"nolock", "local_lock=all", "local_lock=flock", "nobrl", "localflocks"}
    if found := sorted(mount.options & local):
        # Two machines that build one object write over each other.
        more = {**about, "option": found[0]}
        return Finding("folder-locks-local", "warning", _FOLDER, look.place, more)
    return Finding("folder-on-network", "advice", _FOLDER, look.place, about)


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None


def room(look: FolderLook) -> Iterator[Finding]:
    """Bytes and files that may still be written there."""
    said = space(look.root)
    free, total = said.free, look.bytes
    writable = look.mount is None or "ro" not in look.mount.options
    if free is not None and writable:
        about = {"free_bytes": free, "size_bytes": total}
        if free < _FULL_BYTES:
            yield Finding("disk-is-full", "error", _FOLDER, look.place, about)
        elif free < max(_LITTLE_BYTES, int(_SHARE * total)):
            yield Finding("disk-nearly-full", "warning", _FOLDER, look.place, about)
    files = _files_free(look.root)
    if files is not None and writable:
        counts = {"free": files, "files": look.files}
        if files < _FULL_FILES:
            yield Finding("no-inodes", "error", _FOLDER, look.place, counts)
        elif files < max(_LITTLE_FILES, int(_SHARE * look.files)):
            yield Finding("few-inodes", "warning", _FOLDER, look.place, counts)


def _files_free(folder: str) -> int | None:
    """How many files may still be made; None where there is no limit, or it is not told."""
    here = folder
    while not os.path.lexists(here):
        here = os.path.dirname(here)
    try:
        said = os.statvfs(here)
    except OSError:
        return None
    return said.f_favail if said.f_files else None
