"""What is at a path, for who cannot wait for a dead disk; and where programs are looked for."""

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


#: The user's PATH, as it was before ``only_whole`` changed it.
_given: list[str] = []


def only_whole() -> None:
    """Look for programs in folders with whole paths only, from now on: a relative or empty entry of
    the PATH is the current folder or below it, and what lies there may be somebody else's.
    """
    if (given := os.environ.get("PATH")) is not None and not _given:
        whole = [entry for entry in given.split(os.pathsep) if os.path.isabs(entry)]
        # An empty PATH would be the current folder, too.
        os.environ["PATH"] = os.pathsep.join(whole) or os.defpath
        _given.append(given)


def users_variables() -> dict[str, str]:
    """The environment as the user has it, for a program that the user names."""
    return {**os.environ, **({"PATH": _given[0]} if _given else {})}
