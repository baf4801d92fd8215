"""Files that are written and read whole or not at all; small lists of the user's in such files."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import tempfile

from torchkeeper.client.words.problems import failing_as, user_error
from torchkeeper.client.words.tongue import Text, tr
from torchkeeper.stores.atomic import atomic_write


def read(path: str, most: int) -> bytes:
    """What a file holds. Raises OSError for what is no file, and for more than ``most`` bytes."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "It is not a file", path)
        data = stream.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, "It is too large", path)
    return data


def write(path: str, value: object, indent: int | None = 1) -> None:
    """Have a value on the disk as JSON for its owner alone, or nothing of it. Raises OSError."""
    write_text(path, json.dumps(value, indent=indent), 0o600)


def write_text(path: str, text: str, mode: int | None = None, replace: bool = True) -> None:
    """As ``write``, for a text that is the user's: others may read it as any new file of his, or
    as far as ``mode`` goes. Raises FileExistsError for a file that is there without ``replace``.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as e:  # half a character, as JSON may have one
        raise OSError(errno.EILSEQ, os.strerror(errno.EILSEQ), path) from e
    with atomic_write(path, mode, replace) as stream:
        stream.write(data)


def decoded(data: bytes, code: str, file: str) -> str:
    """The text of a file. Raises UserError(code) with the line that is no UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        why = tr("Line {line} is not UTF-8", line=str(data.count(b"\n", 0, e.start) + 1))
        raise user_error(code, {"file": file, "why": why}) from e


# Small lists of the user's, in JSON: a damaged one is never taken for empty, whoever reads is told.

#: Bytes of a list; ten thousand paths have less than one.
_MOST = 4 << 20
#: That a file is no such list, by what it should be a list of.
_NOT_A_LIST: dict[str, Text] = {
    "paths": "it is not a list of paths",
    "places": "it is not a list of places",
    "settings": "it is not a list of settings",
    "targets": "it is not a list of targets",
}


def file(name: str) -> str:
    from platformdirs import user_config_dir

    return os.path.join(user_config_dir("torchkeeper"), f"{name}.json")


def cache_folder() -> str:
    """The app's own cache folder: nothing in it is missed if it goes."""
    from platformdirs import user_cache_dir

    try:
        return user_cache_dir("torchkeeper")
    except RuntimeError:
        # A user without a home folder, as in some containers.
        return os.path.join(tempfile.gettempdir(), f"torchkeeper-{os.getuid()}")


def load(name: str, code: str, of: str) -> list[str]:
    """The texts of a list, each once. of: in a word of _NOT_A_LIST. Raises UserError(code)."""
    path, kept = file(name), list[str]()
    try:
        with failing_as(code, file=path), contextlib.suppress(FileNotFoundError):
            kept = json.loads(read(path, _MOST))
    except (ValueError, RecursionError) as e:
        raise user_error(code, {"file": path, "why": tr("it is not JSON")}) from e
    if not isinstance(kept, list) or not all(isinstance(one, str) for one in kept):
        raise user_error(code, {"file": path, "why": tr(_NOT_A_LIST[of])})
    return list(dict.fromkeys(kept))


def save(name: str, texts: list[str], code: str) -> None:
    """Replace a list at once or not at all. Raises UserError(code)."""
    path = file(name)
    with failing_as(code, file=path):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        write(path, list(dict.fromkeys(texts)))
