"""Recipes that came from another machine: a zip, in which each has the name that the request gives
instead of a path. Kernels hold the path of their source, so that lies where it does on every
machine: the same recipes make the same bytes everywhere. Whoever needs the folder holds a lock on
it; the last one removes it, and what a kill has left is used, or removed, by the next.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Sequence

from torchkeeper.artifacts.entry import Problem
from torchkeeper.stores import parts
from torchkeeper.warm.shapes import Compiling, SentRecipe

#: Where it lies if that can be, whatever TMPDIR says, and what it is called.
_ABOVE, _PREFIX = "/tmp", "torchkeeper-recipes-"  # noqa: S108  # only this user can open it
#: In it, that all of it is there.
_WHOLE = ".whole"
#: How often another is asked for because somebody has just removed it.
_TRIES = 100
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def placed(params: Compiling, keeps: bool = False) -> Iterator[Sequence[str | SentRecipe] | None]:
    """The recipes of a request, whose folders are there meanwhile. keeps: another request needs the
    zip, too. Raises Problem("place-unwritable").
    """
    recipes = params.get("recipes")
    if (file := params.get("sent")) is None:
        yield recipes
        return
    with contextlib.ExitStack() as ends:
        folder = _ABOVE
        try:
            with zipfile.ZipFile(file) as zipped:
                folder = ends.enter_context(_unpacked(zipped))
            if not keeps:
                parts.forget(file)
        except (OSError, zipfile.BadZipFile) as e:
            raise Problem("place-unwritable", place=folder, why=str(e)) from e
        yield [
            one if isinstance(one, str) else {**one, "folder": folder + one["folder"]}
            for one in recipes or ()
        ]


@contextlib.contextmanager
def _unpacked(zipped: zipfile.ZipFile) -> Iterator[str]:
    path = _named(zipped)
    _sweep(os.path.dirname(path))
    folder, handle = _filled(path, zipped)
    try:
        yield folder
    finally:
        _let_go(folder, handle)


def _filled(path: str, zipped: zipfile.ZipFile) -> tuple[str, int]:
    """The folder with all that is in the zip, and the handle that keeps it. Raises OSError."""
    while True:
        folder, handle = _taken(path)
        if not os.path.exists(whole := os.path.join(folder, _WHOLE)):
            zipped.extractall(folder)
            with open(whole, "wb"):
                pass
        # For a moment nobody has it.
        fcntl.flock(handle, fcntl.LOCK_SH)
        if _is(folder, handle):
            return folder, handle
        os.close(handle)


def _let_go(folder: str, handle: int) -> None:
    """Remove a folder that nobody else has."""
    with contextlib.suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Since it was opened another may have come in its place, which somebody has.
        if _is(folder, handle):
            # At once: who waits for it sees that it is another one.
            os.rename(folder, gone := f"{folder}-{secrets.token_hex(4)}")
            shutil.rmtree(gone, ignore_errors=True)
    os.close(handle)


def _sweep(above: str) -> None:
    """Remove what was left by those that were killed."""
    mine = f"{_PREFIX}{os.getuid()}-"
    for name in [one for one in os.listdir(above) if one.startswith(mine)]:
        with contextlib.suppress(OSError):
            handle = os.open(path := os.path.join(above, name), _OPEN)
            if os.fstat(handle).st_uid == os.geteuid():
                _let_go(path, handle)
            else:
                os.close(handle)


def _named(zipped: zipfile.ZipFile) -> str:
    """Its path, which goes by what is in it, and not by when that was packed."""
    made = hashlib.sha256()
    for name in sorted(zipped.namelist()):
        digest = hashlib.sha256(zipped.read(name)).digest()
        made.update(name.encode("utf-8", "surrogateescape") + b"\0" + digest)
    above = _ABOVE if os.access(_ABOVE, os.W_OK) else tempfile.gettempdir()
    return os.path.join(above, f"{_PREFIX}{os.getuid()}-{made.hexdigest()[:16]}")


def _taken(folder: str) -> tuple[str, int]:
    """The folder, which nobody else has, and the handle that keeps it. Raises OSError."""
    for _ in range(_TRIES):
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        try:
            handle = os.open(folder, _OPEN)
        except FileNotFoundError:
            continue
        except OSError:
            break  # somebody has put something else there
        found = os.fstat(handle)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            os.close(handle)
            break
        # Two wait for each other only while one of them unpacks.
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is(folder, handle):
                return folder, handle
        fcntl.flock(handle, fcntl.LOCK_SH)
        if _is(folder, handle) and os.path.exists(os.path.join(folder, _WHOLE)):
            return folder, handle
        os.close(handle)
    made = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getuid()}-")
    handle = os.open(made, _OPEN)
    fcntl.flock(handle, fcntl.LOCK_EX)  # nobody takes it for what was left
    return made, handle


def _is(folder: str, handle: int) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(os.stat(folder), os.fstat(handle))
    return False
