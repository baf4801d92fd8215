"""Temporary folders of our own, which may hold gigabytes and are to leave nothing."""

from __future__ import annotations

import os
import shutil
import time

#: How often it is tried to remove one, and seconds in between.
_TRIES = 20
_BETWEEN = 0.05


def remove(folder: str) -> bool:
    """Remove a folder and all that is in it; whether it is gone. A process that is being ended may
    still write there, so it is tried for a second. Raises nothing.
    """
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.lexists(folder):
            return True
        time.sleep(_BETWEEN)
    return False
