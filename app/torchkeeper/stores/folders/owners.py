"""Who else can change what lies in a cache folder, or put another in its place. Also who may write
to a file, and what they are called.

PyTorch unpickles and runs what it finds in its cache. By default that is
``<tmp>/torchinductor_<user>`` (torch/_inductor/runtime/cache_dir_utils.py), in a folder where
everybody may make one of that name first. Whoever owns the folder, may write to it, or may rename a
folder it is in, runs code as whoever uses it.

What is found is told as objects ``{what, grave, place, root, path, who, …}``, the words for which
are in ``torchkeeper.client.words.owned``; ``root`` is what the place leads to, and ``default``
whether it is PyTorch's default, where precompiled C++ headers are whatever
TORCHINDUCTOR_CACHE_DIR names (``_HEADER_DIR`` in torch/_inductor/codecache.py):

- ``taken``: the folder is where PyTorch looks for this user's cache, among folders of everybody,
  and another user made it. ``owner``: it is another user's, which may be meant where not everybody
  may make one.
- ``link``: a link on the way, ``path``, is another user's. ``above``: so is the folder ``path`` on
  the way (``owned``), or others may write to it: they can rename what is in it.
- ``writable``: others may write to so many of its ``folders`` and ``files``, ``path`` being the
  first; ``sticky``: to the folder itself, but only add to it.
- ``entries``: so many of its ``folders`` and ``files`` are of other users, ``owners`` being
  ``[[who, how many], …]``, the most first.
- ``trash``: the trash in it, ``path``, is another user's than the folder, and is not believed
  (folders.receipts).

``grave`` is what lies among folders of everybody, as in /tmp (``among`` names it), or what
everybody may write to: there nobody has meant it. Elsewhere a group may well share a cache.
``mine`` is whether this user can change the modes.

Where others may not pass a folder above another, they cannot write to that one either.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import stat
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.artifacts.layout import JOURNAL, TRASH
from torchkeeper.stores.folders.walk_process import scan

if TYPE_CHECKING:
    from typing import Unpack

    from torchkeeper.stores import shapes
    from torchkeeper.stores.shapes import More, Owned, Writer


#: linux/posix_acl_xattr.h: a version, then entries of tag, permissions and id.
_ACL = "system.posix_acl_access"
_HEADER, _ENTRY = struct.Struct("<I"), struct.Struct("<HHI")
_VERSION = 2
_USER, _GROUP_OF_FILE, _GROUP, _MASK = 0x02, 0x04, 0x08, 0x10
_WRITE = 2
#: Links that are followed on the way to a place, as the kernel does (MAXSYMLINKS).
_HOPS = 40
#: Lists of who may write that are looked at in a place, and owners that are named.
_LISTS, _NAMED = 500, 5


class Who(NamedTuple):
    """Somebody who is neither this user nor root. kind: "all", "group" or "user". number: the id of
    the group or user, else 0. name: None where the system knows none for that id.
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
        """Whether nobody but this user and root is in a group: one of the user's own name
        (usergroups of pam_umask). That others list no members tells nothing: those whose primary
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


class Seen:
    """What a walk has seen in a place that is another user's, or that others may write to."""

    def __init__(self, root: str) -> None:
        #: The owners of files, links and folders, by their paths in the place.
        self.foreign: dict[str, int] = {}
        self.accounts = Accounts()
        #: By who may write: folders, files, and the first of them.
        self.writable: dict[Who, tuple[int, int, str]] = {}
        #: Whose the trash is, where that is another user.
        self.trash: int | None = None
        self._root = root
        self._alone: dict[int, bool] = {}
        #: Of what is foreign, the folders.
        self.folders: set[str] = set()
        self._lists = 0

    def note(self, path: str, uid: int, gid: int, mode: int) -> None:
        """Something that is another user's, or that others may write to."""
        folder = stat.S_ISDIR(mode)
        if not self.accounts.trusted(uid):
            if path == TRASH:
                self.trash = uid
            elif not path.startswith(JOURNAL):  # Torchkeeper's, and no entry
                self.foreign[path] = uid
                if folder:
                    self.folders.add(path)
        if stat.S_ISLNK(mode):
            return
        if mode & stat.S_IWOTH:
            self._count(ALL, path, folder)
        elif mode & stat.S_IWGRP:
            if gid not in self._alone:
                self._alone[gid] = self.accounts.alone(gid)
            if not self._alone[gid]:
                self._count(self.accounts.group(gid), path, folder)
            elif self._lists < _LISTS:
                self._lists += 1
                self._look(path, folder)

    def _look(self, path: str, folder: bool) -> None:
        whole = f"{self._root}/{path}"
        if has_list(whole):
            try:
                status = os.lstat(whole)
            except OSError:
                return
            for who in self.accounts.writers(whole, status):
                self._count(who, path, folder)

    def _count(self, who: Who, path: str, folder: bool) -> None:
        folders, files, first = self.writable.get(who, (0, 0, path))
        self.writable[who] = folders + folder, files + (not folder), min(first, path)

    def owner(self, paths: Iterable[str]) -> str | None:
        """Another user who owns one of some files or its folder, or "uid N"; None for nobody."""
        for path in paths:
            uid = self.foreign.get(path, self.foreign.get(path.rpartition("/")[0]))
            if uid is not None:
                return self.accounts.user(uid).name or f"uid {uid}"
        return None

    def owners(self, but: int) -> list[tuple[Who, int]]:
        """Other users than that one who own something in it, and how many."""
        counts = Counter(self.foreign.values())
        del counts[but]
        return [(self.accounts.user(uid), count) for uid, count in counts.most_common()]


def glance(place: str) -> list[Owned]:
    """What can be said of a folder, there or not, by the way to it and what is right in it."""
    try:
        root = os.path.realpath(place)
    except OSError:
        return []  # behind a link of /proc that is not for us to follow
    seen = Seen(root)
    with contextlib.suppress(OSError):  # not there, or not for us to read
        for one in scan(root, "")[-1]:
            seen.note(*one)
    return findings(place, seen)


def findings(place: str, seen: Seen) -> list[Owned]:
    """What can be said of a folder of which so much was seen, what is grave first."""
    return sorted(_Place(place, seen).findings(), key=lambda one: not one["grave"])


class _Place:
    """One folder, and the folders and links on the way to it."""

    def __init__(self, place: str, seen: Seen) -> None:
        self._place, self._seen, self._accounts = place, seen, seen.accounts
        self._way, self._root = _way(os.path.abspath(place))

    def findings(self) -> list[Owned]:
        found = [one for path in self._way if path != self._root for one in self._above(path)]
        if self._root is None:
            return found
        own = self._way[self._root]
        foreign = not self._accounts.trusted(own.st_uid)
        among = self._among(self._root)
        if foreign:
            who = self._accounts.user(own.st_uid)
            grave = bool(among) and not self._closed(self._root, but=own.st_uid)
            what = "taken" if grave and _is_own(self._place) else "owner"
            found.append(self._finding(what, self._root, who, grave))
        found += self._writable(self._root, own, foreign)
        owners = self._seen.owners(but=own.st_uid)
        if owners:
            everything = sum(count for _, count in owners)
            uids = [self._seen.foreign[path] for path in self._seen.folders]
            folders = len(uids) - uids.count(own.st_uid)
            found.append(self._finding(
                "entries", self._root, owners[0][0], bool(among) and not foreign,
                folders=folders, files=everything - folders, users=len(owners),
                owners=[(who.to_json(), count) for who, count in owners[:_NAMED]],
            ))  # fmt: skip
        trash = self._seen.trash
        if trash is not None and trash != own.st_uid:
            path, who = f"{self._root}/{TRASH}", self._accounts.user(trash)
            mine = self._accounts.me == 0  # who else may empty it is that one
            found.append(self._finding("trash", path, who, bool(among) and not foreign, mine=mine))
        return found

    def changers(self) -> Iterator[tuple[str, Who, bool]]:
        """What others can change of a file and the way to it, who, and whether it is theirs."""
        for path, status in self._way.items():
            if not self._accounts.trusted(status.st_uid) and not unmapped(status.st_uid):
                yield path, self._accounts.user(status.st_uid), True
            sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
            if sticky or self._closed(os.path.dirname(path)):
                continue
            for who in self._accounts.writers(path, status):
                narrow = self._narrow(os.path.dirname(path))
                yield path, narrow if who == ALL and narrow else who, False

    def _finding(self, what: str, path: str, who: Who, grave: bool, **more: Unpack[More]) -> Owned:
        return {"what": what, "grave": grave, "place": self._place, "root": self._root,
                "default": _is_default(self._place), "path": path, "who": who.to_json(),
                "among": self._among(path), **more}  # fmt: skip

    def _writable(self, root: str, own: os.stat_result, foreign: bool) -> list[Owned]:
        if self._closed(root):
            return []
        counts = dict(self._seen.writable)
        for who in self._accounts.writers(root, own):
            folders, files, _ = counts.get(who, (0, 0, ""))
            counts[who] = folders + 1, files, ""
        narrow = self._narrow(root)
        open_to_all = bool(self._among(root)) and not narrow
        found: dict[Who, Owned] = {}
        for who, (folders, files, first) in sorted(counts.items()):
            who = narrow if who == ALL and narrow else who
            # Of another's folder the other is to be told, or root.
            grave = (who == ALL or open_to_all) and (not foreign or self._accounts.me == 0)
            sticky = bool(own.st_mode & stat.S_ISVTX) and not first and (folders, files) == (1, 0)
            if (before := found.get(who)) is not None:
                folders, files = folders + before["folders"], files + before["files"]
            found[who] = self._finding(
                "writable", f"{root}/{first}" if first else root, who, grave, sticky=sticky,
                folders=folders, files=files, mine=self._mine(own),
            )  # fmt: skip
        return list(found.values())

    def _mine(self, status: os.stat_result) -> bool:
        return self._accounts.me in (0, status.st_uid)

    def _above(self, path: str) -> list[Owned]:
        """What of a folder or link on the way lets others lead it elsewhere."""
        status = self._way[path]
        among = self._among(path)
        foreign = not self._accounts.trusted(status.st_uid) and not unmapped(status.st_uid)
        who = self._accounts.user(status.st_uid)
        if stat.S_ISLNK(status.st_mode):
            return [self._finding("link", path, who, bool(among))] if foreign else []
        found = []
        # Elsewhere it is somebody who looks after the machine.
        of_same = self._root is not None and self._way[self._root].st_uid == status.st_uid
        if foreign and among and not of_same:
            found.append(self._finding("above", path, who, True, owned=True))
        if status.st_mode & stat.S_ISVTX or self._closed(path):
            return found
        for who in self._accounts.writers(path, status):
            narrow = self._narrow(path)
            who = narrow if who == ALL and narrow else who
            grave = who == ALL or (bool(among) and not narrow)
            mine = self._mine(status)
            found.append(self._finding("above", path, who, grave, owned=False, mine=mine))
        return found

    def _among(self, path: str) -> str:
        """The innermost folder above another where everybody may make what they want; or ""."""
        found = [folder for folder, status in self._doors(os.path.dirname(path))
                 if status.st_mode & stat.S_IWOTH and not self._closed(folder)]  # fmt: skip
        return found[-1] if found else ""

    def _doors(self, folder: str) -> Iterable[tuple[str, os.stat_result]]:
        """All that a folder on the way is in, from the top, and itself."""
        names = folder.split("/")[1:] if folder != "/" else []
        for depth in range(len(names) + 1):
            path = "/" + "/".join(names[:depth])
            status = self._way.get(path)
            if status and stat.S_ISDIR(status.st_mode):
                yield path, status

    def _closed(self, folder: str, but: int | None = None) -> bool:
        """Whether no other user, or ``but`` only to his own, gets to what is in a folder."""
        for path, status in self._doors(folder):
            group = status.st_mode & stat.S_IXGRP
            group = group and (not self._accounts.alone(status.st_gid) or has_list(path))
            if status.st_uid != but and not (group or status.st_mode & stat.S_IXOTH):
                return True
        return False

    def _narrow(self, folder: str) -> Who | None:
        """The group that alone gets there, if only one does."""
        found = None
        for _, status in self._doors(folder):
            if not status.st_mode & stat.S_IXOTH and not self._accounts.alone(status.st_gid):
                found = self._accounts.group(status.st_gid)
        return found


def _way(path: str) -> tuple[dict[str, os.stat_result], str | None]:
    """The folders and links on the way to an absolute path, with what it leads to, as far as they
    are there; and that, None where it is not.
    """
    found: dict[str, os.stat_result] = {}
    at, hops = "/", 0
    pending = ["/", *path.split("/")][::-1]
    while pending:
        name = pending.pop()
        if name == "..":
            at = os.path.dirname(at)
            continue
        here = os.path.join(at, name) if name not in ("", ".") else at
        if here in found and not stat.S_ISLNK(found[here].st_mode):
            at = here
            continue
        try:
            found[here] = status = os.lstat(here)
            target = os.readlink(here) if stat.S_ISLNK(status.st_mode) else None
        except OSError:
            return found, None
        if target is None:
            at = here
            continue
        hops += 1
        if hops > _HOPS:
            return found, None
        if target.startswith("/"):
            at = "/"
        pending += reversed(target.split("/"))
    return found, at


def of_program(place: str) -> list[Owned]:
    """The same of a folder that a program is to use, and what is grave about PyTorch's default one,
    from which it takes precompiled headers all the same.
    """
    from torchkeeper.stores.places import default_folder

    found = glance(place)
    if not _is_default(place):
        found += [one for one in glance(default_folder()) if one["grave"]]
    return found


def of_program_files(paths: Iterable[str]) -> list[Writer]:
    """Who else can change what runs when some files are run or read by a program: ``{path, who,
    owned}`` of each file, folder or link that it hangs on, once.
    """
    accounts = Seen("")
    found: dict[tuple[str, Who], bool] = {}
    for one in paths:
        for path, who, owned in _Place(one, accounts).changers():
            found[path, who] = found.get((path, who), False) or owned
    return [{"path": at, "who": who.to_json(), "owned": own} for (at, who), own in found.items()]


def _is_default(place: str) -> bool:
    from torchkeeper.stores.places import default_folder

    return os.path.abspath(place) == os.path.abspath(default_folder())


def _is_own(place: str) -> bool:
    """Whether PyTorch or Triton would use a folder here, by a variable or by default."""
    variables = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
    named = [folder for name in variables if (folder := os.environ.get(name))]
    return _is_default(place) or os.path.abspath(place) in map(os.path.abspath, named)
