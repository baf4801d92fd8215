"""What is at a path, for whoever cannot wait for a disk that does not answer."""

from __future__ import annotations

import os
import threading

#: Seconds that a path may take to say what it is.
PATIENCE = 0.25


def what(path: str) -> str:
    """What is there: "folder", "file" or "missing". On a dead mount this never returns."""
    return "folder" if os.path.isdir(path) else "file" if os.path.exists(path) else "missing"


def what_at_once(path: str) -> str:
    """As ``what``, or "silent" where that is not known within PATIENCE seconds."""
    said: list[str] = []
    look = threading.Thread(target=lambda: said.append(what(path)), daemon=True)
    look.start()
    look.join(PATIENCE)
    return said[0] if said else "silent"
