"""What a recipe calls a thing of a program's, so that a job finds it again."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Mapping
from typing import Any

from torchkeeper.link.recipes.defining import only_defines


class Unnamed(Exception):
    """Why something cannot be named in a recipe."""


def reference(one: Mapping[str, Any], note: Mapping[str, Any], folder: str) -> str:
    """What a recipe in ``folder`` calls it: ``module:name`` or ``file.py:name``. Raises Unnamed."""
    module, name, file = str(one.get("module")), str(one.get("name")), one.get("file")
    if module == "__main__":
        file = note.get("main")
        if not isinstance(file, str) or not file.endswith(".py"):
            raise Unnamed(f"{name} is in no file")
        if not only_defines(file):
            raise Unnamed(
                f"{os.path.basename(file)} does more than define when it is imported: what it runs "
                'should stand under “if __name__ == "__main__":”'
            )
        module = str(note.get("main_module") or "")
    if not isinstance(file, str):
        raise Unnamed(f"{name} is in no file of Python's")
    if _installed(file):
        return f"{module}:{name}"
    if "." not in module:
        return f"{os.path.relpath(file, folder)}:{name}"
    root = file
    for _ in module.split("."):
        root = os.path.dirname(root)
    if os.path.basename(file) == "__init__.py":
        root = os.path.dirname(root)
    if root != folder:
        raise Unnamed(f"{module} can be imported from {root} only: write the recipe there")
    return f"{module}:{name}"


def _installed(file: str) -> bool:
    paths = sysconfig.get_paths()
    return any(part in file for part in ("site-packages", "dist-packages")) or file.startswith(
        (paths["stdlib"] + os.sep,)
    )
