"""The interpreters that could compile: which to offer, and which is the default."""

from __future__ import annotations

import glob
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from torchkeeper.link.kept import lists as kept
from torchkeeper.link.words.problems import UserError, user_error
from torchkeeper.link.words.tongue import tr

#: Names the interpreter whose torch is used unless another is chosen.
VARIABLE = "TORCHKEEPER_TORCH_PYTHON"
#: The name of the list of those that the user added.
_LIST = "interpreters"


#: Where people and tools keep their virtual and conda environments.
_USUAL = (
    ".venv", "venv", "env", "~/.venv", "~/venv", "~/.virtualenvs/*", "~/venvs/*",
    "~/.pyenv/versions/*", "~/.conda/envs/*", "~/miniconda3", "~/miniconda3/envs/*", "~/anaconda3",
    "~/anaconda3/envs/*", "~/miniforge3", "~/miniforge3/envs/*", "~/mambaforge/envs/*",
    "~/micromamba/envs/*", "/opt/conda", "/opt/conda/envs/*", "/opt/venv",
)  # fmt: skip


@dataclass(frozen=True)
class Interpreter:
    """A Python on this machine and why it is offered."""

    python: str
    label: str
    #: Whether it is the user who named it, and may take it off the list again.
    added: bool = False


def candidates() -> list[Interpreter]:
    """Interpreters worth offering, the default first. Looks at the disk; starts nothing."""
    found: list[Interpreter] = []

    def offer(python: str | None, label: str) -> None:
        if python and os.access(python, os.X_OK) and Path(python).is_file():
            # Not resolved: a virtual environment is its link, not what the link points to.
            path = os.path.abspath(python)
            if not any(_same(path, known.python) for known in found):
                found.append(Interpreter(path, label))

    offer(os.environ.get(VARIABLE), VARIABLE)
    offer(sys.executable, tr("Torchkeeper's own"))
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if prefix := os.environ.get(variable):
            offer(os.path.join(prefix, "bin", "python"), variable)
    offer(shutil.which("python3"), tr("python3 on the PATH"))
    return found


def _same(one: str, other: str) -> bool:
    """Whether two paths are names of one interpreter: python and python3 of an environment are."""
    if os.path.dirname(one) != os.path.dirname(other):
        return False
    return os.path.realpath(one) == os.path.realpath(other)


def with_torch(mine: Iterable[str] | None = None) -> list[Interpreter]:
    """``candidates``, those the user added, there or not, and those of the environments in the
    usual places that hold a torch. mine: those that were added; by default as ``added``, which
    may raise UserError.
    """
    found = candidates()
    for python in added() if mine is None else mine:
        if not any(_same(python, known.python) for known in found):
            found.append(Interpreter(python, tr("added"), added=True))
    for pattern in _USUAL:
        for prefix in sorted(glob.glob(os.path.abspath(os.path.expanduser(pattern))))[:100]:
            python = os.path.join(prefix, "bin", "python")
            packages = glob.glob(os.path.join(glob.escape(prefix), "lib/python3*/site-packages"))
            if (
                os.access(python, os.X_OK)
                and any(os.path.isfile(os.path.join(p, "torch", "version.py")) for p in packages)
                and not any(_same(python, known.python) for known in found)
            ):
                found.append(Interpreter(python, tr("virtual or conda environment")))
    return found


def chosen(python: str | None) -> str:
    """The interpreter to use: the one given, or the default. Raises UserError if there is none."""
    if python is not None:
        path = shutil.which(python) or python
        if not os.access(path, os.X_OK) or not Path(path).is_file():
            raise UserError(
                tr("{python} is not an interpreter.", python=python),
                tr("It does not exist or cannot be run."),
                tr("Give the path of a Python, such as /path/to/venv/bin/python."),
                code="interpreter-unusable",
            )
        return os.path.abspath(path)
    return candidates()[0].python


def added() -> list[str]:
    """The interpreters that the user added, in that order. Raises UserError."""
    return kept.load(_LIST, "interpreters-unreadable", "paths")


def add(python: str) -> str:
    """Put an interpreter on the list; its absolute path. Raises UserError, also where it is none.

    The folder of an environment stands for the interpreter in it.
    """
    inside = os.path.join(os.path.expanduser(python), "bin", "python")
    path = chosen(inside if os.path.isfile(inside) else os.path.expanduser(python))
    _keep([*added(), path])
    return path


def remove(python: str) -> str:
    """Take an interpreter off the list; its absolute path. Raises UserError, also if it is not."""
    there = added()
    given = os.path.expanduser(python)
    names = (python, os.path.abspath(given), os.path.join(os.path.abspath(given), "bin", "python"))
    found = next((name for name in names if name in there), None)
    if found is None:
        raise user_error("interpreter-not-added", {"python": python})
    _keep([one for one in there if one != found])
    return found


def _keep(pythons: list[str]) -> None:
    kept.save(_LIST, pythons, "interpreters-unwritable")
