"""Whether a file of a folder is what its path says (artifacts.proofs), told by looking."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import stat
from collections.abc import Iterator

from torchkeeper.artifacts import proofs
from torchkeeper.stores.items import File

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
#: The mode of a folder as mkdtemp makes it.
_PRIVATE = stat.S_IFDIR | 0o700
#: Names that are looked at for one proof.
_MOST = 10_000


def open_quietly(path: str) -> int:
    """A handle of a file; a link is not followed. Raises OSError. Looking is not using: access
    times are what tells an unused entry.
    """
    try:
        return os.open(path, _OPEN | getattr(os, "O_NOATIME", 0))
    except PermissionError:
        return os.open(path, _OPEN)


class Proving:
    """Looks at the files of one folder, as it is now. Follows no link."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._names: dict[str, list[str]] = {}

    def __call__(self, file: File) -> bool:
        """Whether a file is what its path says, if it says something. PyTorch's locks are empty."""
        path = file.path
        if path.endswith(".lock") and file.size:
            return False
        wanted = proofs.wanted(path)
        return not wanted or any(map(self._is_there, [path] * len(wanted), wanted))

    def _is_there(self, path: str, proof: proofs.Proof) -> bool:
        if proof.also and not self._is_there(path, proof.also):
            return False
        if not proof.name:
            return self._begins(path, proof)
        named = re.compile(proof.name)
        if proof.private:
            return self._is_private(proof.folder) and not any(
                map(named.fullmatch, self._in(proof.folder.rstrip("/")))
            )
        return any(
            named.fullmatch(name) and self._begins(os.path.join(folder, name), proof)
            for folder in self._folders(proof.folder.strip("/").split("/"))
            for name in self._in(folder)
        )

    def _begins(self, path: str, proof: proofs.Proof) -> bool:
        if proof.head is None:
            return True
        with contextlib.suppress(OSError):
            handle = open_quietly(os.path.join(self._root, path))
            try:
                return bool(proof.head(os.read(handle, proofs.HEAD)))
            finally:
                os.close(handle)
        return False

    def _is_private(self, folder: str) -> bool:
        """Whether a folder, and no link to one, lets nobody but its owner in."""
        with contextlib.suppress(OSError):
            return os.lstat(os.path.join(self._root, folder.rstrip("/"))).st_mode == _PRIVATE
        return False

    def _folders(self, parts: list[str]) -> Iterator[str]:
        """The folders that a path with ``*`` means."""
        if "*" not in parts:
            yield "/".join(parts)
            return
        star = parts.index("*")
        for name in self._in("/".join(parts[:star])):
            yield from self._folders([*parts[:star], name, *parts[star + 1 :]])

    def _in(self, folder: str) -> list[str]:
        if folder not in self._names:
            here = os.path.join(self._root, folder) if folder else self._root
            found = list[str]()
            if os.path.realpath(here) == here:
                with contextlib.suppress(OSError), os.scandir(here) as entries:
                    found = [entry.name for entry in itertools.islice(entries, _MOST)]
            self._names[folder] = found
        return self._names[folder]
