"""What a recipe calls a thing of a program's, so that a job finds it again."""

from __future__ import annotations

import ast
import os
import sysconfig
from collections.abc import Mapping
from typing import Any

#: What a file may call where it is only to define something.
_CALLS = ("compile", "getLogger", "TypeVar", "get", "Path", "namedtuple", "device", "dataclass")


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


def only_defines(file: str) -> bool:
    """Whether importing a file runs nothing but what defines something, as far as can be seen."""
    try:
        with open(file, "rb") as stream:
            tree = ast.parse(stream.read(4 << 20))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(map(_defines, tree.body))


def _defines(node: ast.stmt) -> bool:
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef,
                         ast.ClassDef, ast.Pass)):  # fmt: skip
        return True
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        return node.value is None or _is_cheap(node.value)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.If):
        if any(
            isinstance(one, ast.Name) and one.id in ("__name__", "TYPE_CHECKING")
            for one in ast.walk(node.test)
        ):
            return all(map(_defines, node.orelse))
        return _is_cheap(node.test) and all(map(_defines, [*node.body, *node.orelse]))
    if isinstance(node, ast.Try):
        inner = [*node.body, *node.orelse, *node.finalbody]
        return all(map(_defines, inner + [one for h in node.handlers for one in h.body]))
    return False


def _is_cheap(value: ast.expr) -> bool:
    for one in ast.walk(value):
        if isinstance(one, ast.Call):
            called = one.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name not in _CALLS:
                return False
    return True
