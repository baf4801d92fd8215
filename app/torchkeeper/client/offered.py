"""What a path is offered as: a place, recipes, an exported program, or a bundle."""

from __future__ import annotations

import contextlib
import os
import re
from collections import deque

from torchkeeper.artifacts import layout
from torchkeeper.client.kept import whole
from torchkeeper.client.paths import what
from torchkeeper.client.recipes.files import MOST_BYTES, is_entered, is_interpreters, is_name
from torchkeeper.warm.recipes.recipe import KINDS

#: Names in a folder that are looked at before it is taken for a place.
_MOST = 4000
#: What is in every place and says nothing.
_NOTHING = frozenset({"unknown", "lock"})
_SOURCE = f"(?:{'|'.join(KINDS)})"
_SAYS = re.compile(rf"(?m)^[ \t]*(?:\[\[?[ \t]*{_SOURCE}\b|{_SOURCE}[ \t]*=)")


def kind(path: str) -> str:
    """ "recipes", "exported", "folder", "file" or "missing"; on a dead mount never. A folder is
    "recipes" where one is in or below it and nothing of a cache, as far as it is looked at.
    """
    found = what(path)
    if found == "folder":
        return "recipes" if _has_recipes(path) else found
    kinds = {".toml": "recipes", ".pt2": "exported"} if found == "file" else {}
    return next((kind for end, kind in kinds.items() if path.endswith(end)), found)


def _has_recipes(folder: str) -> bool:
    """Whether a folder holds recipes and no cache."""
    found, left = False, _MOST
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
            elif not found and is_name(one.name):
                found = _is_recipe(os.path.join(folder, path))
    return found


def _is_recipe(path: str) -> bool:
    """Whether a file says that it is one, whatever is wrong with it."""
    with contextlib.suppress(OSError):
        return bool(_SAYS.search(whole.read(path, MOST_BYTES).decode("utf-8", "replace")))
    return False
