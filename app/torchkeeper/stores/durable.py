"""What was written is on the disk before anything says so: a power cut leaves it whole or not at
all.
"""

from __future__ import annotations

import contextlib
import errno
import os


def sync_folder(path: str) -> None:
    """Have the names in a folder on the disk, as ``os.fsync`` does for what is in a file.

    Raises OSError; nothing where the file system can do no such thing, or the folder is gone or
    may not be read.
    """
    with contextlib.suppress(FileNotFoundError, PermissionError):
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        except OSError as e:
            if e.errno not in (errno.EINVAL, errno.EROFS, errno.ENOTSUP):
                raise
        finally:
            os.close(handle)
