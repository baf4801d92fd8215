"""What can be known to go wrong with a cell before anything of it is imported or compiled.

It looks at files alone. What it finds nothing wrong with may still fail; what it names, would.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tokenize

from torchkeeper.artifacts.entry import Problem
from torchkeeper.warm import commands
from torchkeeper.warm.cells import Cell

#: Bytes of a source file that is looked into.
_MOST = 2**20
#: Words of a module that may give it names which stand nowhere in it.
_HIDING = frozenset({"*", "__getattr__", "globals", "exec", "setattr", "vars"})


def problem_of(cell: Cell) -> Problem | None:
    """The problem that compiling the cell would raise, as its source does (``warm.sources``)."""
    folder = cell.folder or os.getcwd()
    for key in ("example", "factory", "function", "kernel"):
        if isinstance(name := cell.item.get(key), str):
            return _reference(name, folder)
    if cell.source == "script":
        return _script(cell, folder)
    if cell.source == "exported":
        file = os.path.join(folder, cell.item["file"])
        if not os.path.isfile(file):
            return Problem("exported-unreadable", file=file, why="There is no such file")
    return None


def _reference(name: str, folder: str) -> Problem | None:
    where, _, path = name.rpartition(":")
    first = path.partition(".")[0]
    if where.endswith(".py"):
        file = os.path.join(folder, where)
        if not os.path.isfile(file):
            return Problem("module-missing", module=where, folder=folder, missing=None)
        return _named(file, where, first)
    inside = os.path.join(folder, *where.split("."))
    for file in (f"{inside}.py", os.path.join(inside, "__init__.py")):
        if os.path.isfile(file):
            return _named(file, where, first)
    top = where.partition(".")[0]
    if os.path.exists(os.path.join(folder, top)) or _known(top):
        return None
    return Problem("module-missing", module=where, folder=folder, missing=None)


def _known(module: str) -> bool:
    """Whether this interpreter finds a module of this name; nothing is imported for a name without
    dots.
    """
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return True  # something odd, which only an import would tell


def _named(file: str, module: str, name: str) -> Problem | None:
    """Whether a name stands anywhere in a file, as a name and not in a text or comment."""
    words = set()
    try:
        if os.path.getsize(file) > _MOST:
            return None
        with tokenize.open(file) as stream:
            for token in tokenize.generate_tokens(stream.readline):
                if token.type == tokenize.NAME or token.string == "*":
                    words.add((token.string, token.line.lstrip().startswith("from ")))
    except (OSError, SyntaxError, ValueError, tokenize.TokenError):
        return None  # importing it says better what is wrong
    hiding = any(word in _HIDING and (word != "*" or imported) for word, imported in words)
    if hiding or any(word == name for word, _ in words):
        return None
    return Problem("name-missing", name=name, module=module, near="")


def _script(cell: Cell, folder: str) -> Problem | None:
    command = cell.item["command"]
    folder = os.path.join(folder, cell.item.get("folder") or ".")
    if not os.path.isdir(folder):
        return Problem("script-folder", folder=folder)
    file = commands.file_of(command)
    if file is not None:
        missing = not os.path.isfile(os.path.join(folder, file))
        return Problem("script-missing", file=file, folder=folder) if missing else None
    program = os.path.join(folder, command[0]) if os.sep in command[0] else command[0]
    if commands.under("", command) is None and shutil.which(program) is None:
        return Problem("command-missing", command=command[0])
    return None
