"""What a check is, and what all checks share: what was looked at, once, and a folder's mount."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.doctor.shapes import Toolchain
from torchkeeper.settings.finding import Finding
from torchkeeper.stores.dead import Dead
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.items import Item, OnDisk
from torchkeeper.stores.redis.server import Server
from torchkeeper.verdict.judging import Verdict
from torchkeeper.verdict.probed import Env


@dataclass
class FolderLook:
    """A cache folder, listed once. place: as it is named; root: where that leads. Where it does not
    exist, what is said of the disk is said of the nearest folder above. mount: None where the
    system does not tell. store: None where it is not there or cannot be read, which ``problem``
    says. dead: its entries; verdicts: of each, none without a torch. trash: bytes in its trash.
    """

    place: str
    root: str
    report: Report
    exists: bool = False
    mount: Mount | None = None
    store: Folder | None = None
    items: list[Item] = field(default_factory=list)
    dead: Dead | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    trash: int = 0
    problem: Problem | None = None

    @functools.cached_property
    def size(self) -> OnDisk:
        """What its entries take on the disk."""
        return OnDisk(self.items)


@dataclass
class ServerLook:
    """A Redis server, asked once. role: "torch" or "triton" where settings name it, else "". page:
    None where it does not answer as it should. problem: why, or that it wants no password.
    """

    place: str
    role: str
    page: Server | None = None
    problem: Problem | None = None


@dataclass
class MachineLook:
    """What is not of one place. facts, toolchain: as a probe and ``doctor.toolchain`` tell, empty
    without one. values: texts of variables; variables: names of the others that are set. reads: the
    real paths of the folders that known environments use. others: the other caches of this user,
    only listed; None where they are not asked for. index: where listings keep what they read.
    """

    facts: Env
    values: Mapping[str, str]
    toolchain: Toolchain
    reads: frozenset[str]
    folders: list[FolderLook]
    report: Report
    others: list[FolderLook] | None = None
    index: str | None = None
    variables: frozenset[str] | None = None


class Check(NamedTuple):
    """One check ``about`` a "folder", "server" or the "machine". find: says what it found; raises
    Problem where it cannot be made, and Cancelled. reads: whether it needs what is in entries.
    """

    name: str
    about: str
    find: Callable[[Any], Iterable[Finding]]
    reads: bool = False


_MOUNTS = "/proc/self/mountinfo"  # proc_pid_mountinfo(5)
#: File systems in memory: gone at the next start of the machine.
_MEMORY = frozenset({"tmpfs", "ramfs"})
#: File systems that other machines may see, too; of "fuse.…" nobody knows.
_NETWORK = frozenset(
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
        return self.type in _MEMORY

    @property
    def network(self) -> bool:
        """Whether other machines may see it, or it is a program's own."""
        return self.type in _NETWORK or self.type == "fuse" or self.type.startswith("fuse.")


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
