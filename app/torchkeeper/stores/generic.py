"""PyTorch's generic caches (torch/_inductor/cache.py, 2.13.0), without torch.

The names, signatures, files and formats are PyTorch's, so that one side reads what the other
wrote, and code made for that module runs with this one. One thing differs on purpose: what is read
is decoded by ``artifacts.plain``, which knows plain values only. Whatever else a pickle holds, and
whatever is damaged, too large or too deep, is a CacheError and never runs; so ``insert`` refuses
what ``get`` would. PyTorch lets some of these through as EOFError, TypeError or AttributeError.

The caches on disk need the package filelock, when they are first used.
"""

from __future__ import annotations

import os
import reprlib
from abc import ABC, abstractmethod
from ast import literal_eval
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from tempfile import gettempdir
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from torchkeeper.artifacts import plain
from torchkeeper.stores import places
from torchkeeper.stores.atomic import atomic_write

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor
    from typing import Self

    from filelock import FileLock

__all__ = [
    "AsyncCache",
    "Cache",
    "CacheError",
    "InMemoryCache",
    "InductorOnDiskCache",
    "Key",
    "OnDiskCache",
    "Value",
]

#: What a key may be.
Key = TypeVar("Key", str, int, tuple[Any, ...])
#: What a value may be; what it holds in turn must be plain, too.
Value = TypeVar("Value", str, int, tuple[Any, ...], bytes, dict[Any, Any], list[Any])

# ``self`` is annotated below because it is there: the signatures are compared as text.


class CacheError(ValueError):
    """A key, a value or what a cache is made from is not what it must be."""


class Cache(ABC, Generic[Key, Value]):
    """Values by key; what is once in it stays as it is."""

    @abstractmethod
    def get(self: Self, key: Key) -> Value | None:
        """The value, or None if there is none."""

    @abstractmethod
    def insert(self: Self, key: Key, value: Value) -> bool:
        """Put a value in, unless the key has one already; whether it did."""


class InMemoryCache(Cache[Key, Value]):
    """A cache in a dict. Threads may share it."""

    def __init__(self: Self) -> None:
        self._cache: dict[Key, Value] = {}
        self._lock: Lock = Lock()

    def get(self: Self, key: Key) -> Value | None:
        with self._lock:
            return self._cache.get(key)

    def insert(self: Self, key: Key, value: Value) -> bool:
        with self._lock:
            if key in self._cache:
                return False
            self._cache[key] = value
            return True

    @classmethod
    def from_env_var(cls, env_var: str) -> Self:
        """A cache with what an environment variable holds; an empty one where it is not set.

        The variable is ``key,value;key,value;…``, each a pickle as Python writes bytes (``b'…'``).
        The same pair twice is fine; raises CacheError for two values of one key, and for whatever
        else is not like this.
        """
        cache = cls()
        for pair in os.environ.get(env_var, "").split(";"):
            pair = pair.strip()
            if not pair:
                continue
            key_text, comma, value_text = pair.partition(",")
            if not comma:
                raise CacheError(f"{env_var}: no comma in {_brief(pair)}")
            key = _from_literal(env_var, key_text.strip())
            value = _from_literal(env_var, value_text.strip())
            try:
                differs = not cache.insert(key, value) and cache.get(key) != value
            except (TypeError, RecursionError) as e:
                raise CacheError(f"{env_var}: {_brief(key)} cannot be a key") from e
            if differs:
                raise CacheError(f"{env_var}: the key {_brief(key)} has more than one value")
        return cache

    @classmethod
    def from_file_path(cls, fpath: Path) -> Self:
        """A cache with the dict that is pickled in a file; an empty one where there is no file.
        Raises CacheError if the file holds anything else, OSError if it cannot be read.
        """
        cache = cls()
        if not fpath.is_file():
            return cache
        with open(fpath, "rb") as file:
            # One more than may be: the decoder says that it is too long.
            data = file.read(plain.MAX_BYTES + 1)
        try:
            found = plain.decode(data)
        except plain.NotPlain as e:
            raise CacheError(f"{fpath} cannot be unpickled: {e}") from e
        if not isinstance(found, dict):
            raise CacheError(f"{fpath} holds no dict")
        cache._cache = found
        return cache


class AsyncCache(Cache[Key, Value]):
    """A cache that can be asked from an executor's threads."""

    def get_async(self: Self, key: Key, executor: ThreadPoolExecutor) -> Future[Value | None]:
        return executor.submit(self.get, key)

    def insert_async(
        self: Self, key: Key, value: Value, executor: ThreadPoolExecutor
    ) -> Future[bool]:
        return executor.submit(self.insert, key, value)


class OnDiskCache(AsyncCache[Key, Value]):
    """A cache in a folder, a file for each key. Threads and processes may share it. A file's name
    is the first 32 hex digits of the sha256 of the pickled key; its content is the version's prefix
    and the pickled value. The lock for it is ``locks/<first 4 digits>.lock``.
    """

    #: The format; entries of another are removed when they are met.
    version: int = 0

    def __init__(self: Self, name: str | None = None) -> None:
        self.name = name or "on_disk_cache"

    @cached_property
    def base_dir(self: Self) -> Path:
        """The folder: ``cache/<name>`` in the temporary folder. May be set to another."""
        return Path(gettempdir()) / "cache" / self.name

    def _fpath_from_key(self: Self, key: Key) -> Path:
        try:
            pickled = plain.encode(key)
        except plain.NotPlain as e:
            raise CacheError(f"{_brief(key)} cannot be a key: {e}") from e
        return self.base_dir / sha256(pickled).hexdigest()[:32]

    def _flock_from_fpath(self: Self, fpath: Path) -> FileLock:
        from filelock import FileLock

        return FileLock(str(fpath.parent / "locks" / fpath.name[:4]) + ".lock")

    @property
    def version_prefix(self: Self) -> bytes:
        """What every file of this version begins with, 4 bytes."""
        # A subclass with a version of its own does not change the format.
        return sha256(str(OnDiskCache.version).encode()).digest()[:4]

    def get(self: Self, key: Key) -> Value | None:
        """The value, or None if there is none. Removes a value of another version.

        Raises CacheError for a key that cannot be pickled and for a file that holds no plain
        value; OSError if the folder cannot be read, or its locks cannot be written.
        """
        fpath = self._fpath_from_key(key)
        with self._flock_from_fpath(fpath):
            if not fpath.is_file():
                return None
            prefix = self.version_prefix
            with open(fpath, "rb") as file:
                current = file.read(len(prefix)) == prefix
                data = file.read(plain.MAX_BYTES + 1) if current else b""
            if not current:
                fpath.unlink()
                return None
        try:
            return cast("Value", plain.decode(data))
        except plain.NotPlain as e:
            raise CacheError(f"The value of {_brief(key)} cannot be unpickled: {e}") from e

    def insert(self: Self, key: Key, value: Value) -> bool:
        """Put a value in, unless the key has one already; whether it did. Makes the folder.

        Raises CacheError for a key that cannot be pickled and a value that is not plain, and
        OSError if it cannot be written; then nothing of it is left.
        """
        fpath = self._fpath_from_key(key)
        flock = self._flock_from_fpath(fpath)
        fpath.parent.mkdir(parents=True, exist_ok=True)
        try:
            with flock:
                if os.path.lexists(fpath):
                    return False
                pickled = plain.encode(value)
                plain.decode(pickled)  # what ``get`` would not take is not written
                # PyTorch writes it where it belongs, and leaves a part of it where it is killed.
                with atomic_write(str(fpath), replace=False) as file:
                    file.write(self.version_prefix + pickled)
        except plain.NotPlain as e:
            raise CacheError(f"{_brief(value)} cannot be the value of {_brief(key)}: {e}") from e
        except FileExistsError:
            return False
        return True


class InductorOnDiskCache(OnDiskCache[Key, Value]):
    """The one in PyTorch's default cache folder, whatever TORCHINDUCTOR_CACHE_DIR says."""

    def __init__(self: Self) -> None:
        super().__init__("inductor_on_disk_cache")

    @cached_property
    def base_dir(self: Self) -> Path:
        """The folder: ``cache/<name>`` in PyTorch's default one. May be set to another."""
        return Path(places.default_folder(), "cache", self.name)


def _from_literal(env_var: str, text: str) -> Any:
    """What is pickled in a literal of bytes. Raises CacheError."""
    try:
        data = literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as e:
        raise CacheError(f"{env_var}: {_brief(text)} is no literal of bytes") from e
    if not isinstance(data, bytes):
        raise CacheError(f"{env_var}: {_brief(text)} is no literal of bytes")
    try:
        return plain.decode(data)
    except plain.NotPlain as e:
        raise CacheError(f"{env_var}: {_brief(text)} cannot be unpickled: {e}") from e


def _brief(value: object) -> str:
    try:
        return reprlib.repr(value)
    except ValueError:  # Python writes out no number of more than 4300 digits
        return f"a {type(value).__name__} too long to be shown"
