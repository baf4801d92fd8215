"""JSON files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile


def write(path: str, value: object, indent: int | None = 1) -> None:
    """Put a value into a file, in place of what that held. Raises OSError; no part of it is left.

    Only its owner may read the file.
    """
    handle, partial = tempfile.mkstemp(prefix=".partial-", dir=os.path.dirname(path))
    try:
        with open(handle, "w", encoding="utf-8") as stream:
            json.dump(value, stream, indent=indent)
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise
