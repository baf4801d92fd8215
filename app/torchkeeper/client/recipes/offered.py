"""What a path is offered as, and which files may be recipes; quick to load."""

from __future__ import annotations

import contextlib
import os
import re
from collections import deque
from collections.abc import Iterable

from torchkeeper.artifacts import layout
from torchkeeper.client.kept import whole
from torchkeeper.client.paths import what

#: Bytes of a recipe at most; one of a thousand variants has a few thousand.
MOST_BYTES = 256 * 1024
_SUFFIX = ".toml"
#: TOML files that are no recipes, and folders that are no places for any.
_OTHERS = frozenset({"pyproject.toml", "ruff.toml", "uv.toml", "Cargo.toml", "Pipfile.toml"})
_NOT_ENTERED = frozenset({"__pycache__", "node_modules", "site-packages"})
#: Names in a folder that are looked at before it is taken for a place.
_MOST_NAMES = 4000
#: What is in every place and says nothing.
_NOTHING = frozenset({"unknown", "lock"})


def may_be_recipe(name: str) -> bool:
    return name.endswith(_SUFFIX) and not name.startswith(".") and name not in _OTHERS


def is_entered(name: str) -> bool:
    return not name.startswith(".") and name not in _NOT_ENTERED


def is_interpreters(names: Iterable[str]) -> bool:
    """Whether these are the files of an interpreter's folder, which has those of others."""
    return "pyvenv.cfg" in names


def kind(path: str) -> str:
    """What a path is offered as: "recipes", "exported", "folder", "file" or "missing"; on a dead
    mount never. "recipes" is a folder with one in or below it, and nothing of a cache near its top.
    """
    found = what(path)
    if found == "folder":
        return "recipes" if _has_recipes(path) else found
    kinds = {".toml": "recipes", ".pt2": "exported"} if found == "file" else {}
    return next((kind for end, kind in kinds.items() if path.endswith(end)), found)


def _has_recipes(folder: str) -> bool:
    found, left = False, _MOST_NAMES
    # The folders above come first: a cache says what it is near its top.
    queue = deque([""])
    while queue:
        below = queue.popleft()
        try:
            names = sorted(os.scandir(os.path.join(folder, below)), key=lambda one: one.name)
        except OSError:
            continue
        if is_interpreters(one.name for one in names):
            continue
        for one in names:
            left -= 1
            if left < 0:
                return False
            path = f"{below}/{one.name}" if below else one.name
            if one.is_dir(follow_symlinks=False):
                if is_entered(one.name):
                    queue.append(path)
            elif layout.locate(path).kind not in _NOTHING:
                return False
            elif not found and may_be_recipe(one.name):
                with contextlib.suppress(OSError):
                    found = _says(whole.read(os.path.join(folder, path), MOST_BYTES))
    return found


def _says(data: bytes) -> bool:
    """Whether a text names a source of recipes, whatever is wrong with it."""
    # Only now: what reads recipes takes long to load, and a window asks while it starts.
    from torchkeeper.warm.recipes.recipe import KINDS

    source = f"(?:{'|'.join(KINDS)})"
    says = re.compile(rf"(?m)^[ \t]*(?:\[\[?[ \t]*{source}\b|{source}[ \t]*=)")
    return bool(says.search(data.decode("utf-8", "replace")))
