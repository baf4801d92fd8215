"""The interpreters that could compile: which to offer, and which is the default."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from torchkeeper.link.words import UserError

#: Names the interpreter whose torch is used unless another is chosen.
VARIABLE = "TORCHKEEPER_TORCH_PYTHON"


@dataclass(frozen=True)
class Interpreter:
    """A Python on this machine and why it is offered."""

    python: str
    label: str


def candidates() -> list[Interpreter]:
    """Interpreters worth offering, the default first. Looks at the disk; starts nothing."""
    found: list[Interpreter] = []

    def offer(python: str | None, label: str) -> None:
        if python and os.access(python, os.X_OK) and Path(python).is_file():
            # Not resolved: a virtual environment is its link, not what the link points to.
            path = os.path.abspath(python)
            if all(path != known.python for known in found):
                found.append(Interpreter(path, label))

    offer(os.environ.get(VARIABLE), VARIABLE)
    offer(sys.executable, "Torchkeeper's own")
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if prefix := os.environ.get(variable):
            offer(os.path.join(prefix, "bin", "python"), variable)
    offer(shutil.which("python3"), "python3 on the PATH")
    return found


def chosen(python: str | None) -> str:
    """The interpreter to use: the one given, or the default. Raises UserError if there is none."""
    if python is not None:
        path = shutil.which(python) or python
        if not os.access(path, os.X_OK) or not Path(path).is_file():
            raise UserError(
                f"{python} is not an interpreter.",
                "It does not exist or cannot be run.",
                "Give the path of a Python, such as /path/to/venv/bin/python.",
                code="interpreter-unusable",
            )
        return os.path.abspath(path)
    return candidates()[0].python
