"""What file systems are mounted, as Linux tells it, and what is to be known of each."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

_MOUNTS = "/proc/self/mountinfo"  # proc_pid_mountinfo(5)
#: File systems in memory: gone at the next start of the machine.
_MEMORY = frozenset({"tmpfs", "ramfs"})
#: File systems that other machines may see, too; of "fuse.…" nobody knows.
_NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "gpfs", "beegfs"}
    | {"glusterfs", "ocfs2", "gfs2", "wekafs", "orangefs", "pvfs2", "vboxsf", "virtiofs"}
)


#: Programs that show an object store as files: nothing is renamed there, only copied, no lock binds
#: anybody, and some cannot write into a file that is there.
_OBJECTS = frozenset(
    {"s3fs", "goofys", "geesefs", "gcsfuse", "mountpoint-s3", "blobfuse", "blobfuse2", "ossfs"}
    | {"obsfs", "cosfs", "tosfs", "rclone", "tigrisfs"}
)
#: Locks that bind this machine alone, by options of nfs(5), mount.cifs(8) and lustre.
_OWN_LOCKS = frozenset(
    {"nolock", "local_lock=all", "local_lock=flock", "nobrl", "localflock"} | {"localflocks"}
)
_LATE = re.compile(r"(?:acdirmax|actimeo)=(\d{1,9})")


class Mount(NamedTuple):
    """A mounted file system. source: what is mounted, a device or SERVER:/PATH."""

    point: str
    type: str
    options: frozenset[str]
    source: str

    @property
    def memory(self) -> bool:
        """Whether it is gone at the next start."""
        return self.type in _MEMORY

    @property
    def network(self) -> bool:
        """Whether other machines may see it, or it is a program's own."""
        return self.type in _NETWORK or self.type == "fuse" or self.type.startswith("fuse.")

    @property
    def objects(self) -> bool:
        """Whether it is an object store."""
        program = self.type.removeprefix("fuse.")
        return self.network and (program in _OBJECTS or self.source in _OBJECTS)

    @property
    def own_locks(self) -> str:
        """The option by which locks bind this machine alone, if there is one."""
        return next(iter(sorted(self.options & _OWN_LOCKS)), "")

    @property
    def late(self) -> int:
        """For how many seconds what others write may not be seen, where an option says so."""
        found = [int(match[1]) for one in self.options if (match := _LATE.fullmatch(one))]
        return max(found, default=0)


def mounts_in(text: str) -> list[Mount]:
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
    real = f"{os.path.realpath(path)}/"
    if mounts is None:
        try:
            with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as stream:
                mounts = mounts_in(stream.read())
        except OSError:
            mounts = []
    above = [mount for mount in mounts if real.startswith(mount.point.rstrip("/") + "/")]
    # Of several at one point the last hides the others.
    return max(reversed(above), key=lambda mount: len(mount.point), default=None)
