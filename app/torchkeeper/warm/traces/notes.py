"""What a program notes of its compiles (``warm.traces.recorder``): how it is made to, and what it
has noted, which is its own say.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import pkgutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torchkeeper.warm.traces import recorder

#: What a process noted of its compiles.
Note = Mapping[str, Any]
#: Processes whose notes are read, and bytes of all; in how many pieces they come.
_FILES, MOST, _PIECES = 200, 32 << 20, 1000
#: How deep is looked into a note.
_DEEP = 100


def hear(env: dict[str, str], folder: str) -> str:
    """The folder, in this one, that the programs started with ``env``, which is changed, write
    their notes to. Python runs ``sitecustomize`` from the first folder of its path that has it, at
    its start.
    """
    site, notes = os.path.join(folder, "site"), os.path.join(folder, "notes")
    os.mkdir(site)
    os.mkdir(notes)
    source = pkgutil.get_data(__package__, "recorder.py")
    assert source
    Path(site, "sitecustomize.py").write_bytes(source)
    env[recorder.FOLDER], env[recorder.HERE] = notes, site
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [site, env.get("PYTHONPATH")]))
    return notes


def notes_in(folder: str) -> list[Note]:
    """What each process noted, in the order in which they wrote last; what is no such is left.
    defines: whether importing the program's main file runs nothing but what defines something.
    """
    found, left = list[Note](), MOST
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        files = [e for e in entries if e.name.endswith(".json") and e.is_file()]
        for one in sorted(files, key=lambda one: one.stat().st_mtime_ns)[:_FILES]:
            with contextlib.suppress(OSError), open(one.path, "rb") as stream:
                text = stream.read(left + 1)
                left -= len(text)
                for note in notes_of(text) if left >= 0 else ():
                    main = note.get("main")
                    defines = isinstance(main, str) and only_defines(main)
                    found.append({**note, "defines": defines})
    return found


def fits(pieces: Sequence[str]) -> bool:
    """Whether one more piece of such a text may come."""
    return len(pieces) < _PIECES and sum(map(len, pieces)) < MOST


def notes_of(text: str | bytes) -> list[Note]:
    """What a text says that processes noted: one, or several; nothing where that is not so."""
    said: object = None
    with contextlib.suppress(ValueError, RecursionError):
        said = json.loads(text)
    every = said if isinstance(said, list) else [said]
    return [
        x for x in every
        if isinstance(x, dict) and isinstance(x.get("compiled"), list) and not _is_deep(x)
    ]  # fmt: skip


def _is_deep(value: object, deep: int = _DEEP) -> bool:
    """Whether more lies within each other than any input has: who looks at it recurses."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return not deep or any(_is_deep(one, deep - 1) for one in inner)


# A recipe's job imports the file in which a model is; one that trains or serves when it is imported
# is not to be imported for a warm-up. Building a model, and settings of torch, are no such thing.

#: Bytes of a file that is looked at.
_LARGEST = 4 << 20
#: What a file may call by any name where it is only to define something.
_CALLS = frozenset({
    "compile", "getLogger", "TypeVar", "NewType", "get", "getenv", "Path", "namedtuple", "device",
    "dataclass", "field", "partial", "int", "float", "str", "bool", "len", "range", "dict", "list",
    "tuple", "set", "frozenset", "min", "max", "dirname", "abspath", "join", "is_available",
})  # fmt: skip
#: Methods of a model that make it fit.
_FITTING = frozenset({
    "eval", "train", "to", "cuda", "cpu", "half", "bfloat16", "float", "double", "requires_grad_",
})  # fmt: skip
#: What torch does that is more than to define: it reads, waits for others, or runs.
_WORKING = frozenset({
    "load", "save", "init_process_group", "run", "spawn", "download_url_to_file", "export",
    "load_state_dict_from_url", "load_url", "DataLoader", "backward", "barrier", "wait",
})  # fmt: skip
#: Statements that set something, by the module and the function; of torch those with such names.
_SETTING = frozenset({
    ("warnings", "filterwarnings"), ("warnings", "simplefilter"), ("logging", "basicConfig"),
    ("path", "append"), ("path", "insert"), ("environ", "setdefault"), ("environ", "update"),
    ("random", "seed"),
})  # fmt: skip
_SETS = ("set_", "manual_seed", "use_deterministic", "enable_", "allow_")


def only_defines(file: str) -> bool:
    """Whether importing a file runs nothing but what defines something, as far as can be seen."""
    try:
        with open(file, "rb") as stream:
            tree = ast.parse(stream.read(_LARGEST))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(map(_Names(tree).defines, tree.body))


class _Names:
    """What names of a file stand for: its own classes, and what it has from torch."""

    def __init__(self, tree: ast.Module) -> None:
        self._classes: set[str] = set()
        self._torch: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                self._classes.add(node.name)
            elif isinstance(node, ast.Import):
                self._torch |= {
                    (alias.asname or alias.name).partition(".")[0]
                    for alias in node.names
                    if _is_torch(alias.name)
                }
            elif isinstance(node, ast.ImportFrom) and _is_torch(node.module or ""):
                self._torch |= {alias.asname or alias.name for alias in node.names}

    def defines(self, node: ast.stmt) -> bool:
        """Whether a statement does no more than to define something, or to set it."""
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef,
                             ast.ClassDef, ast.Pass)):  # fmt: skip
            return True
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            return node.value is None or self._is_cheap(node.value)
        if isinstance(node, ast.Expr):
            return isinstance(node.value, ast.Constant) or self._sets(node.value)
        if isinstance(node, ast.If):
            if any(
                isinstance(one, ast.Name) and one.id in ("__name__", "TYPE_CHECKING")
                for one in ast.walk(node.test)
            ):
                return all(map(self.defines, node.orelse))
            return self._is_cheap(node.test) and all(map(self.defines, [*node.body, *node.orelse]))
        if isinstance(node, ast.Try):
            inner = [*node.body, *node.orelse, *node.finalbody]
            inner += [one for handler in node.handlers for one in handler.body]
            return all(map(self.defines, inner))
        return False

    def _is_cheap(self, value: ast.expr) -> bool:
        calls = (one for one in ast.walk(value) if isinstance(one, ast.Call))
        return all(self._is_definition(one.func) for one in calls)

    def _is_definition(self, called: ast.expr) -> bool:
        """Whether what is called makes something and runs nothing."""
        if isinstance(called, ast.Name):
            known = called.id in self._classes or called.id in self._torch
            return (known or called.id in _CALLS) and called.id not in _WORKING
        if not isinstance(called, ast.Attribute) or called.attr in _WORKING:
            return False
        return called.attr in _CALLS | _FITTING or self._root(called) in self._torch

    def _root(self, called: ast.expr) -> str:
        while isinstance(called, ast.Attribute):
            called = called.value
        return called.id if isinstance(called, ast.Name) else ""

    def _sets(self, value: ast.expr) -> bool:
        """Whether a statement by itself sets something, as ``torch.manual_seed(0)`` does."""
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            return False
        if not self._is_cheap(ast.Tuple([*value.args, *(one.value for one in value.keywords)])):
            return False
        name, of = value.func.attr, value.func.value
        within = of.attr if isinstance(of, ast.Attribute) else getattr(of, "id", "")
        if self._root(value.func) in self._torch:
            return name.startswith(_SETS)
        return (within, name) in _SETTING or (isinstance(of, ast.Name) and name in _FITTING)


def _is_torch(module: str) -> bool:
    return module.partition(".")[0] in ("torch", "torchvision")
