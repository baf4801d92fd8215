"""The interpreters that could compile: which to offer, which is the default, which may be started.

To start one is to run what lies in its folder. So looking starts only:

- Torchkeeper's own, and one that was named: by ``--env``, in VARIABLE, or on the list that
  ``torchkeeper env --add`` and “Start it” in the window fill;
- one that the shell names with a whole path (``VIRTUAL_ENV``, ``CONDA_PREFIX``, ``python3`` on the
  PATH), as long as nobody but this user and root can change it.

All others are listed as found, as the ``.venv`` of the project that one stands in, and what an
earlier probe said of them is used. That others can change an interpreter is said before it is
started (``writers``).
"""

from __future__ import annotations

import contextlib
import glob
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.client.engines import far
from torchkeeper.client.kept import whole as kept
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.client.words.tongue import tr

if TYPE_CHECKING:
    from torchkeeper.stores.shapes import Writer

#: Names the interpreter whose torch is used unless another is chosen.
VARIABLE = "TORCHKEEPER_TORCH_PYTHON"
_LIST = "interpreters"
#: What an environment is called in the folder of a project.
_OF_PROJECT = (".venv", "venv", "env")
#: Where people and tools keep their virtual and conda environments.
_USUAL = (
    "~/.venv", "~/venv", "~/.virtualenvs/*", "~/venvs/*", "~/.local/share/virtualenvs/*",
    "~/.cache/pypoetry/virtualenvs/*", "$WORKON_HOME/*", "~/.pyenv/versions/*",
    "$PYENV_ROOT/versions/*", "~/.conda/envs/*", "~/miniconda3", "~/miniconda3/envs/*",
    "~/anaconda3", "~/anaconda3/envs/*", "~/miniforge3", "~/miniforge3/envs/*", "~/mambaforge",
    "~/mambaforge/envs/*", "~/micromamba/envs/*", "$MAMBA_ROOT_PREFIX/envs/*", "/opt/conda",
    "/opt/conda/envs/*", "/opt/miniconda3/envs/*", "/opt/miniforge3/envs/*", "/opt/venv",
)  # fmt: skip
#: Where conda writes down the environments that it has made, a path in each line.
_CONDA = "~/.conda/environments.txt"
#: Environments of one of these that are looked at.
_MOST = 100
#: Where an environment has its packages, and characters of its pyvenv.cfg that are read.
_PACKAGES = "lib/python3*/site-packages"
#: What a torch is seen by among packages, also one whose source lies elsewhere.
_TORCH = ("torch/version.py", "torch-*.dist-info", "torch.egg-link")
#: What every start reads: of the standard library, and of the packages.
_LIBRARY = "lib/python3*/os.py"
_STARTED = ("*.pth", "sitecustomize.py", "usercustomize.py")
_CONFIG = 64 << 10
#: Are told of an interpreter and its ``writers`` before it is started.
heeding: list[Callable[[str, list[Writer]], None]] = []


class Interpreter(NamedTuple):
    """A Python on this machine and why it is offered."""

    python: str
    label: str
    #: Whether it is the user who named it, and may take it off the list again.
    added: bool = False
    #: Whether it may be started without being named once more.
    starts: bool = False


def candidates() -> list[Interpreter]:
    """Interpreters worth offering, the default first. Looks at the disk; starts nothing."""
    found: list[Interpreter] = []

    def offer(python: str | None, label: str, named: bool = False) -> None:
        if python and os.access(python, os.X_OK) and Path(python).is_file():
            # Not resolved: a virtual environment is its link, not what the link points to.
            path = os.path.abspath(python)
            if not any(_same(path, known.python) for known in found):
                starts = named or (os.path.isabs(python) and not writers(path))
                found.append(Interpreter(path, label, starts=starts))

    if variable := os.environ.get(VARIABLE):
        offer(_resolved(variable), VARIABLE, named=True)
    offer(sys.executable, tr("Torchkeeper's own"), named=True)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if prefix := os.environ.get(variable):
            offer(os.path.join(prefix, "bin", "python"), variable)
    offer(shutil.which("python3"), tr("python3 on the PATH"))
    return found


def _resolved(python: str) -> str | None:
    """What a name stands for: without a slash, of the PATH, never of the current folder."""
    return python if os.sep in python else shutil.which(python)


def _same(one: str, other: str) -> bool:
    """Whether two paths are one interpreter: python and python3 of an environment, or links."""
    folders = os.path.realpath(os.path.dirname(one)), os.path.realpath(os.path.dirname(other))
    return folders[0] == folders[1] and os.path.realpath(one) == os.path.realpath(other)


def with_torch(mine: Iterable[str] | None = None, machine: str = "") -> list[Interpreter]:
    """``candidates``, those that were added (mine; else ``added``, which may raise UserError), and
    environments in the usual places that hold a torch. Of another machine its python3 and those
    that were added; waits for it, and raises UserError where there is no way to it.
    """
    mine = added(machine) if mine is None else mine
    if machine:
        first, label = far.python_of(machine, None), tr("the machine’s python3")
        named = [Interpreter(one, tr("added"), True, True) for one in mine if one != first]
        return [Interpreter(first, label, first in mine, True), *named]
    found = candidates()
    for python in mine:
        at = next((n for n, known in enumerate(found) if _same(python, known.python)), None)
        if at is None:
            found.append(Interpreter(python, tr("added"), added=True, starts=True))
        elif not found[at].starts:
            found[at] = found[at]._replace(added=True, starts=True)
    for prefix in dict.fromkeys(_usual()):
        python = os.path.join(prefix, "bin", "python")
        if (
            os.access(python, os.X_OK)
            and _among(glob.glob(os.path.join(glob.escape(prefix), _PACKAGES)))
            and not any(_same(python, known.python) for known in found)
        ):
            found.append(Interpreter(python, tr("virtual or conda environment")))
    return found


def _usual() -> Iterator[str]:
    """Folders that may be environments: of the project one stands in, and in the usual places."""
    for folder in _project():
        yield from (os.path.join(folder, name) for name in _OF_PROJECT)
    for pattern in _USUAL:
        expanded = os.path.expandvars(os.path.expanduser(pattern))
        if os.path.isabs(expanded):
            yield from sorted(glob.glob(expanded))[:_MOST]
    yield from [line for line in _lines(os.path.expanduser(_CONDA)) if os.path.isabs(line)][:_MOST]


def _project() -> Iterator[str]:
    """The current folder and those above it: up to the one with a repository, and as long as they
    are the user's own.
    """
    with contextlib.suppress(OSError):  # a folder that is gone
        folder = os.getcwd()
        yield folder
        while not os.path.exists(os.path.join(folder, ".git")):
            above = os.path.dirname(folder)
            if above == folder or os.stat(above).st_uid != os.getuid():
                return
            yield (folder := above)


def _among(packages: Iterable[str]) -> bool:
    """Whether one of these folders of packages has a torch."""
    return any(
        glob.glob(os.path.join(glob.escape(folder), name)) for folder in packages for name in _TORCH
    )


def holds_torch(python: str) -> bool:
    """Whether a torch lies where an interpreter looks for packages. Looks at the disk; starts
    nothing, so that a path which only a start adds is not seen.
    """
    if _same(python, sys.executable):
        return _among(filter(None, sys.path))
    prefix = os.path.dirname(os.path.dirname(os.path.abspath(python)))
    prefixes, config = [prefix], _config(os.path.join(prefix, "pyvenv.cfg"))
    if config.get("include-system-site-packages", "true").casefold() == "true":
        prefixes += [os.path.dirname(config.get("home", "")), os.path.expanduser("~/.local")]
        prefixes.append(os.path.dirname(os.path.dirname(os.path.realpath(python))))
    version = os.path.basename(os.path.realpath(python))
    names = [f"lib/{version}/site-packages", f"lib/{version}/dist-packages",
             f"local/lib/{version}/dist-packages", "lib/python3/dist-packages"]  # fmt: skip
    return _among(os.path.join(where, name) for where in prefixes if where for name in names)


def writers(python: str) -> list[Writer]:
    """What of an interpreter others than this user and root can change, as
    ``owners.of_program_files``: itself, its environment, the Python that it is of with its standard
    library, and its packages with the folders they are in. Looks at the disk; starts nothing.
    """
    from torchkeeper.stores.folders import owners  # only here: it takes long to load

    path = os.path.abspath(python)
    prefix = os.path.dirname(os.path.dirname(path))
    parts = [path, os.path.join(prefix, "pyvenv.cfg")]
    # The home of a virtual environment (site.venv in the standard library).
    home = _config(parts[1]).get("home", "")
    homes = [home] if os.path.isabs(home) else []
    parts += [os.path.join(home, os.path.basename(path)) for home in homes]
    for base in (prefix, os.path.dirname(os.path.dirname(os.path.realpath(path))),
                 *map(os.path.dirname, homes)):  # fmt: skip
        parts += glob.glob(os.path.join(glob.escape(base), _LIBRARY))
    for packages in glob.glob(os.path.join(glob.escape(prefix), _PACKAGES)):
        parts.append(os.path.join(packages, "torch", "__init__.py"))
        for started in _STARTED:
            parts += glob.glob(os.path.join(glob.escape(packages), started))
    return owners.of_program_files(parts)


def starting(python: str) -> None:
    """Say who else can change an interpreter; to be called by whoever starts one, before that."""
    if heeding and python != sys.executable and (found := writers(python)):
        for heed in heeding:
            heed(python, found)


def not_started(python: str) -> UserError:
    """That an interpreter was found, and nobody has named it."""
    return user_error("environment-not-started", {"python": python, "quoted": shlex.quote(python)})


def _lines(file: str) -> list[str]:
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return [line.strip() for line in opened.read(_CONFIG).splitlines()]
    except OSError:
        return []


def _config(file: str) -> dict[str, str]:
    """What a pyvenv.cfg says; empty where there is none."""
    parts = (line.partition("=") for line in _lines(file))
    return {name.strip().casefold(): value.strip() for name, _, value in parts}


def chosen(python: str | None, machine: str = "") -> str:
    """The interpreter to use: the one given, or the default, which is what VARIABLE names, else the
    first that may be started and holds a torch, else our own; of another machine the first that
    was added there, else its python3. Raises UserError if there is none.
    """
    if machine:
        return far.python_of(machine, python or next(iter(added(machine)), None))
    if python is not None:
        path = _resolved(python)
        if path is None or not os.access(path, os.X_OK) or not Path(path).is_file():
            raise UserError(
                tr("{python} is not an interpreter.", python=python),
                tr("It does not exist or cannot be run."),
                tr("Give the path of a Python, such as /path/to/venv/bin/python."),
                code="interpreter-unusable",
            )
        return os.path.abspath(path)
    first, *others = candidates()
    if first.label != VARIABLE:
        hopeful = (one for one in (first, *others) if one.starts and holds_torch(one.python))
        first = next(hopeful, first)
    return first.python


def added(machine: str = "") -> list[str]:
    """The interpreters of a machine that the user added, in that order. Raises UserError."""
    return [one for one in _added() if _on(one, machine)]


def elsewhere() -> list[str]:
    """Those that the user added on other machines. Raises UserError."""
    return [one for one in _added() if far.is_far(one)]


def _added() -> list[str]:
    return kept.load(_LIST, "interpreters-unreadable", "paths")


def _on(python: str, machine: str) -> bool:
    return python.startswith(f"{machine}/") if machine else not far.is_far(python)


def add(python: str, machine: str = "") -> str:
    """Put an interpreter, or that in a folder of this machine, on the list; its absolute path, or
    its name on another machine. Raises UserError.
    """
    if not machine:
        python = os.path.expanduser(python)
        inside = os.path.join(python, "bin", "python")
        python = inside if os.path.isfile(inside) else python
    path = chosen(python, machine)
    kept.save(_LIST, [*_added(), path], "interpreters-unwritable")
    return path


def remove(python: str) -> str:
    """Take an interpreter off the list; its absolute path. Raises UserError, also if it is not."""
    there = _added()
    given = os.path.expanduser(python)
    names = (python, os.path.abspath(given), os.path.join(os.path.abspath(given), "bin", "python"))
    if (found := next((name for name in names if name in there), None)) is None:
        raise user_error("interpreter-not-added", {"python": python})
    kept.save(_LIST, [one for one in there if one != found], "interpreters-unwritable")
    return found
