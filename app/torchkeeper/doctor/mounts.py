"""Which file system a folder is on, as Linux tells under /proc (proc_pid_mountinfo(5))."""

from __future__ import annotations

import os
from typing import NamedTuple

_MOUNTS = "/proc/self/mountinfo"
#: File systems in memory: gone at the next start of the machine.
MEMORY = frozenset({"tmpfs", "ramfs"})
#: File systems that other machines may see, too; of "fuse.…" nobody knows.
NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "gpfs", "beegfs"}
    | {"glusterfs", "ocfs2", "gfs2", "wekafs", "orangefs", "pvfs2", "vboxsf", "virtiofs"}
)


class Mount(NamedTuple):
    """A mounted file system. source: what is mounted, a device or SERVER:/PATH."""

    point: str
    type: str
    options: frozenset[str]
    source: str

    @property
    def memory(self) -> bool:
        """Whether it is gone at the next start."""
        return self.type in MEMORY

    @property
    def network(self) -> bool:
        """Whether other machines may see it, or it is a program's own."""
        return self.type in NETWORK or self.type == "fuse" or self.type.startswith("fuse.")


def parse(text: str) -> list[Mount]:
    """All mounts that a mountinfo names, those that hide others last; other lines are left out."""
    found = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        first, last = before.split(" "), after.split(" ")
        if len(first) >= 6 and len(last) >= 3:
            options = {*first[5].split(","), *last[2].split(",")}
            found.append(Mount(_plain(first[4]), last[0], frozenset(options), _plain(last[1])))
    return found


def _plain(text: str) -> str:
    """A path as it is: blanks, tabs, line ends and backslashes stand there as octal numbers."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text


def mount_of(path: str, mounts: list[Mount] | None = None) -> Mount | None:
    """What a path is on, there or not; None where the system does not tell."""
    found = None
    real = os.path.realpath(path)
    for mount in _mounts() if mounts is None else mounts:
        if f"{real}/".startswith(mount.point.rstrip("/") + "/") and (
            found is None or len(mount.point) >= len(found.point)
        ):
            found = mount
    return found


def _mounts() -> list[Mount]:
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as stream:
            return parse(stream.read())
    except OSError:
        return []
