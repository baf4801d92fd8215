"""Who else may write to a file or folder of this machine, and what they are called."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import stat
import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torchkeeper.stores import shapes

#: linux/posix_acl_xattr.h: a version, then entries of tag, permissions and id.
_ACL = "system.posix_acl_access"
_HEADER, _ENTRY = struct.Struct("<I"), struct.Struct("<HHI")
_VERSION = 2
_USER, _GROUP_OF_FILE, _GROUP, _MASK = 0x02, 0x04, 0x08, 0x10
_WRITE = 2


class Who(NamedTuple):
    """Somebody who is neither this user nor root.

    kind: "all", "group" or "user". number: the id of the group or user, else 0. name: None where
    the system knows none for that id.
    """

    kind: str
    number: int = 0
    name: str | None = None

    def to_json(self) -> shapes.Who:
        return {"kind": self.kind, "number": self.number, "name": self.name}


ALL = Who("all")


class Accounts:
    """Names of users and groups, each looked up once: a directory service may take its time."""

    def __init__(self) -> None:
        self.me = os.geteuid()
        self._users: dict[int, str | None] = {}
        self._groups: dict[int, tuple[str | None, frozenset[str]]] = {}

    def trusted(self, uid: int) -> bool:
        """Whether a user can do nothing to this one that is not possible anyway."""
        return uid in (self.me, 0)

    def user(self, uid: int) -> Who:
        if uid not in self._users:
            self._users[uid] = None
            with contextlib.suppress(KeyError):
                self._users[uid] = None if unmapped(uid) else pwd.getpwuid(uid).pw_name
        return Who("user", uid, self._users[uid])

    @property
    def myself(self) -> str | None:
        """The name of this user, if there is one."""
        return self.user(self.me).name

    def group(self, gid: int) -> Who:
        return Who("group", gid, self._group(gid)[0])

    def _group(self, gid: int) -> tuple[str | None, frozenset[str]]:
        if gid not in self._groups:
            self._groups[gid] = None, frozenset()
            with contextlib.suppress(KeyError):
                found = grp.getgrgid(gid)
                self._groups[gid] = found.gr_name, frozenset(found.gr_mem)
        return self._groups[gid]

    def alone(self, gid: int) -> bool:
        """Whether nobody but this user and root is in a group.

        Many systems give everybody a group of the same name (pam_umask calls that usergroups), and
        a umask of 002. That a group lists no members tells nothing otherwise: those whose primary
        group it is are not listed.
        """
        name, members = self._group(gid)
        mine = self.myself
        if members - {mine, "root"}:
            return False
        if gid == 0:
            return True
        if mine is None or name is None:
            return name is None and gid == self.me  # as containers have it, without any names
        return name == mine and pwd.getpwuid(self.me).pw_gid == gid

    def writers(self, path: str, status: os.stat_result) -> list[Who]:
        """Who may write to a file or folder, beside its owner and root; those in a group of this
        user's own are nobody. Empty for links, whose mode says nothing.
        """
        mode = status.st_mode
        if stat.S_ISLNK(mode) or not mode & 0o022:
            return []
        if mode & stat.S_IWOTH:
            return [ALL]
        # With a list, these bits are what its entries may have at most: without them none counts.
        listed = _listed(path)
        if listed is None:
            return [] if self.alone(status.st_gid) else [self.group(status.st_gid)]
        found: dict[Who, None] = {}
        for tag, number in listed:
            gid = status.st_gid if tag == _GROUP_OF_FILE else number
            if tag == _USER and not self.trusted(number):
                found[self.user(number)] = None
            elif tag in (_GROUP, _GROUP_OF_FILE) and not self.alone(gid):
                found[self.group(gid)] = None
        return list(found)


def unmapped(uid: int) -> bool:
    """Whether an id stands for all that have none in this container (user_namespaces(7))."""
    try:
        with open("/proc/sys/kernel/overflowuid") as file, open("/proc/self/uid_map") as mapped:
            return uid == int(file.read()) and mapped.read().split() != ["0", "0", "4294967295"]
    except (OSError, ValueError):
        return False


def _listed(path: str) -> list[tuple[int, int]] | None:
    """The tags and ids of an access control list that give the right to write; None without one."""
    try:
        data = os.getxattr(path, _ACL, follow_symlinks=False)
        (version,) = _HEADER.unpack_from(data)
        entries = list(_ENTRY.iter_unpack(data[_HEADER.size :]))
    except (OSError, AttributeError, struct.error):
        return None
    if version != _VERSION:
        return None
    most = next((perms for tag, perms, _ in entries if tag == _MASK), 7)
    return [(tag, number) for tag, perms, number in entries if perms & most & _WRITE]


def has_list(path: str) -> bool:
    """Whether a file or folder has an access control list."""
    try:
        os.getxattr(path, _ACL, follow_symlinks=False)
    except (OSError, AttributeError):
        return False
    return True
