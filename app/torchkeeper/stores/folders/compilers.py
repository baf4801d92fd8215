"""Where the entries of other compilers go in a folder that may be such a cache, or hold several."""

from __future__ import annotations

import functools
import os
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchkeeper.artifacts import proofs
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.jits import known as jits
from torchkeeper.artifacts.jits.form import Cache
from torchkeeper.artifacts.layout import JOURNAL, TRASH

if TYPE_CHECKING:
    from torchkeeper.stores.items import File, Item, Offered

#: Folders that are looked into to see whose cache a folder is.
_LOOKS = 64


class Homes:
    """Where they go in the folder ``root``. items: all that is to be placed there. The folder is
    the cache of a compiler by its name, by the variables and defaults of this process, or by what
    lies in it; what is empty becomes the cache of which alone something comes. In any other, each
    cache has a folder of its own.
    """

    def __init__(self, root: str, items: Iterable[Item]) -> None:
        self._root = root
        self._whose = {
            item.files[0].path.partition("/")[0] if item.kind == "jit" else "" for item in items
        }
        self._starts: dict[str, str] = {}
        # What comes besides, by its path; and the file that was looked at last.
        self._coming: tuple[Offered | None, dict[str, File]] = None, {}
        self._last: tuple[Offered | None, str, bytes | None] = None, "", None

    def path(self, path: str) -> str:
        """The path in the folder of what lies at a path in every place."""
        folder, _, rest = path.partition("/")
        if folder not in self._starts:
            cache = jits.of_folder(folder)
            self._starts[folder] = self._start(cache) if cache else f"{folder}/"
        return self._starts[folder] + rest

    def _start(self, cache: Cache) -> str:
        root = self._root
        if jits.is_called(cache, root) or self._named(cache):
            return ""
        names = _names(root)
        if (not names and len(self._whose) == 1) or _is_of(root, cache):
            return ""
        there = (name for name in names if jits.is_called(cache, name))
        return f"{next(there, cache.folder)}/"

    @functools.cached_property
    def _homes(self) -> list[jits.Home]:
        """What the folder is for programs with the variables of this process."""
        every = jits.homes(os.environ)
        return [home for home in every if os.path.realpath(home.path) == self._root]

    def _named(self, cache: Cache) -> set[bool]:
        """Whether a variable names the folder as this cache; nothing where it is not this cache's,
        and both where a default is the one that is named.
        """
        return {home.named for home in self._homes if home.cache is cache}

    def check(self, item: Item, offered: Offered) -> None:
        """See that what proves that files are such a compiler's is there, or comes, too. Raises
        Problem("payload-unreadable"): they would be taken there for a user's own; and
        Problem("jit-of-named" | "jit-of-default") where its compiler has such files elsewhere.
        """
        own = jits.own(item.files[0].path)
        homes = self._named(own.cache) if own and own.named is not None else set()
        if own and homes and own.named != (True in homes):  # a variable has the last word
            raise Problem("jit-of-named" if own.named else "jit-of-default")
        for file in item.files:
            proof = proofs.elsewhere(file.path)
            if proof is not None:
                path, begins = proof
                head = self._head(path, offered)
                if head is None or not begins(head):
                    raise Problem("payload-unreadable")

    def _head(self, path: str, offered: Offered) -> bytes | None:
        """How a file begins that is there, or is to come."""
        if self._last[0] is not offered or self._last[1] != path:
            there = _first(os.path.join(self._root, self.path(path)))
            head = self._first_offered(path, offered) if there is None else there
            self._last = offered, path, head
        return self._last[2]

    def _first_offered(self, path: str, offered: Offered) -> bytes | None:
        if self._coming[0] is not offered:
            items = (item for item in offered.items() if item.kind == "jit")
            self._coming = offered, {file.path: file for item in items for file in item.files}
        try:
            with offered.open(self._coming[1][path]) as stream:
                return stream.read(proofs.OTHER)
        except (OSError, KeyError):
            return None


def _first(path: str) -> bytes | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            return stream.read(proofs.OTHER)
    except OSError:
        return None


def _names(folder: str) -> list[str]:
    """What is in a folder, in order, but for what is our own; nothing where there is none."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [name for name in names if name != TRASH and not name.startswith(JOURNAL)]


def _is_of(root: str, cache: Cache) -> bool:
    """Whether a folder is this cache, by the first folders in it."""
    waiting = deque([""])
    for _ in range(_LOOKS):
        if not waiting:
            break
        inside = waiting.popleft()
        for name in _names(os.path.join(root, inside)):
            path = inside + name
            own = jits.own(path)
            if own and own.cache is cache and not own.above:
                return True
            if os.path.isdir(os.path.join(root, path)):
                waiting.append(f"{path}/")
    return False
