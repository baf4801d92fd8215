"""Recipes to begin with: one for each source, which works, with the Python files it names."""

from __future__ import annotations

import importlib.resources
import os
from importlib.resources.abc import Traversable

from torchkeeper.client.kept import whole
from torchkeeper.client.words.problems import user_error
from torchkeeper.client.words.tongue import tr

#: The source of each recipe, and the files beside it.
BESIDE = {
    "callable": ("models.py",),
    "script": ("train.py",),
    "exported": ("export_program.py",),
    "eager": (),
    "triton": ("kernels.py",),
}


def _file(name: str) -> Traversable:
    return importlib.resources.files("torchkeeper.resources") / "recipes" / name


def text(source: str) -> str:
    """The recipe of a source, with comments that say what else it could say."""
    return _file(f"{source}.toml").read_text(encoding="utf-8")


def write_beside(source: str, folder: str) -> tuple[list[str], list[str]]:
    """Write what a recipe names beside it: paths written, and those there. Raises OSError."""
    written, there = [], []
    for name in BESIDE[source]:
        path = os.path.join(folder, name)
        try:
            whole.write_text(path, _file(name).read_text(encoding="utf-8"), replace=False)
            written.append(path)
        except FileExistsError:
            there.append(path)
    return written, there


def write(source: str, path: str, replace: bool = False) -> tuple[list[str], list[str]]:
    """Write the recipe of a source to a file, and what it names beside that: the paths that were
    written, and those of Python files that were there already, which are never touched. Raises
    UserError("recipe-exists") unless ``replace``, and UserError("recipe-unwritable").
    """
    folder = os.path.dirname(os.path.abspath(path))
    try:
        if not os.path.isdir(folder):
            os.makedirs(folder)
        named = text(source).replace(f"{source}.toml", os.path.basename(path))
        # Of a link that is to be replaced, the file that it leads to is.
        whole.write_text(os.path.realpath(path) if replace else path, named, replace=replace)
        beside, there = write_beside(source, folder)
    except FileExistsError as e:
        if not os.path.isdir(folder):
            why = tr("A folder is needed where a file is")
            raise user_error("recipe-unwritable", {"file": path, "why": why}) from e
        raise user_error("recipe-exists", {"file": path}) from e
    except OSError as e:
        raise user_error("recipe-unwritable", {"file": path, "why": e.strerror or str(e)}) from e
    return [path, *beside], there
