"""Commands of users: which of them Python runs, and what one is called."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

_PYTHON = re.compile(r"python[0-9.]*")


def is_python(word: str) -> bool:
    """Whether it is what Python is started by: ``python``, ``/usr/bin/python3.12``."""
    return _PYTHON.fullmatch(os.path.basename(word)) is not None


def under(python: str, command: Sequence[str]) -> list[str] | None:
    """A command as it is run by a certain interpreter; None for one that no Python runs.

    One that Python runs begins with ``python``, ``-m``, ``-c``, or the name of a Python file.
    """
    first = command[0]
    if is_python(first):
        return [python, *command[1:]]
    if first in ("-m", "-c") or first.endswith(".py"):
        return [python, *command]
    return None


def file_of(command: Sequence[str]) -> str | None:
    """The file that Python is to run, of a command that names one in the simplest way."""
    words = command[1:] if is_python(command[0]) else command
    return words[0] if words and words[0].endswith(".py") else None
