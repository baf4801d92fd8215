"""What can be known to go wrong with a variant before anything of it is imported or compiled.

It looks at files alone. What it finds nothing wrong with may still fail; what it names, would:
where that is not certain it says nothing.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import json
import keyword
import os
import re
import shutil
import sys
import tokenize
from collections.abc import Iterable, Iterator, Sequence

from torchkeeper.artifacts.entry import Problem
from torchkeeper.warm import processes
from torchkeeper.warm.recipes.recipe import REFERENCES, Variant

#: Sources that run what a user wrote, which may make the files that later variants are about.
_MAKERS = frozenset({"callable", "script"})
#: Bytes of a source file that is looked into.
_MOST = 2**20
#: Words of a module that may give it names which stand nowhere in it.
_HIDING = frozenset({
    "*", "__getattr__", "__dict__", "__class__", "__name__", "__import__", "globals", "locals",
    "vars", "exec", "eval", "setattr", "modules", "import_module", "_getframe", "f_globals",
    "currentframe", "f_back",
})  # fmt: skip
#: Where ``__name__`` gives no name to anybody.
_HARMLESS = re.compile(r"\s*(?:el)?if\s+__name__\s*==|.*\bgetLogger\(\s*__name__\s*\)")


def foreseen(variants: Iterable[Variant]) -> Iterator[Problem | None]:
    """What is known of each of the variants of a job, in their order. A script may write what a
    later variant of its folder names, and any code of a user's what a later one loads: of those
    nothing is known.
    """
    known: dict[str, Problem | None] = {}
    written: set[str | None] = set()
    made = False
    for variant in variants:
        if variant.folder in written or (made and variant.source == "exported"):
            yield None
            continue
        # The variants of a matrix are about the same files.
        about = [variant.item.get(x) for x in (*REFERENCES, "command", "file", "folder", "op")]
        key = json.dumps([variant.source, variant.folder, variant.environment, about])
        if key not in known:
            known[key] = problem_of(variant)
        problem = known[key]
        if problem is None and variant.source in _MAKERS:
            made = True
            if variant.source == "script":
                written.add(variant.folder)
        yield problem


def problem_of(variant: Variant) -> Problem | None:
    """The problem that compiling the variant would raise, as its source does (``warm.sources``)."""
    folder = variant.folder or os.getcwd()
    for key in REFERENCES:
        if isinstance(name := variant.item.get(key), str):
            return _reference(name, folder, variant)
    if variant.source == "script":
        return _script(variant, folder)
    if variant.source == "exported":
        file = os.path.join(folder, variant.item["file"])
        if not os.path.isfile(file):
            return Problem("exported-unreadable", file=file, why="There is no such file")
    return None


def _reference(name: str, folder: str, variant: Variant) -> Problem | None:
    where, _, path = name.rpartition(":")
    first = path.partition(".")[0]
    if where.endswith(".py"):
        file = os.path.join(folder, where)
        if not os.path.isfile(file):
            return Problem("module-missing", module=where, folder=folder, missing=None)
        return _named([file], where, first)
    top, *parts = where.split(".")
    if top in sys.modules or top in sys.stdlib_module_names:
        return None  # which may be found before what lies in the folder
    above = [os.path.join(folder, top, *parts[:depth]) for depth in range(len(parts))]
    inside = os.path.join(folder, top, *parts)
    if os.path.isfile(f"{inside}.py") or os.path.isfile(os.path.join(inside, "__init__.py")):
        if _holds(inside, first):
            return None  # a module of its own, which anything may import
        files = [f"{inside}.py", *(os.path.join(one, "__init__.py") for one in (inside, *above))]
        return _named([file for file in files if os.path.isfile(file)], where, first)
    if _holds(folder, top) or _known(top, variant):
        return None
    return Problem("module-missing", module=where, folder=folder, missing=None)


def _holds(folder: str, module: str) -> bool:
    """Whether anything of a module's name lies in a folder, such as one that was built from C++."""
    try:
        return any(name.partition(".")[0] == module for name in os.listdir(folder))
    except FileNotFoundError:
        return False
    except OSError:
        return os.path.isdir(folder)


def _known(module: str, variant: Variant) -> bool:
    """Whether a module is found here, or may be in a way that ours is not."""
    if sys.flags.isolated or sys.flags.no_site:
        return True
    if any(name.startswith("PYTHON") for name in variant.environment):
        return True
    importlib.invalidate_caches()
    try:
        return importlib.util.find_spec(module) is not None
    except Exception:  # noqa: BLE001  # something odd, which only an import would tell
        return True


def _named(files: Sequence[str], module: str, name: str) -> Problem | None:
    """Whether a name stands in one of the files, as a name or in a text."""
    words = set()
    try:
        for file in files:
            if os.path.getsize(file) > _MOST:
                return None
            with tokenize.open(file) as stream:
                for token in tokenize.generate_tokens(stream.readline):
                    if token.type == tokenize.COMMENT:
                        continue
                    if token.type != tokenize.NAME and name in token.string:
                        return None
                    if token.type == tokenize.NAME or token.string == "*":
                        if token.string in _HIDING and not _is_harmless(token):
                            return None
                        words.add(token.string)
    except (OSError, SyntaxError, ValueError, tokenize.TokenError):
        return None  # importing it says better what is wrong
    if name in words:
        return None
    names = sorted(word for word in words if not keyword.iskeyword(word))
    near = ", ".join(difflib.get_close_matches(name, names, 3)) or "—"
    return Problem("name-missing", name=name, module=module, near=near)


def _is_harmless(token: tokenize.TokenInfo) -> bool:
    if token.string == "*":
        return not token.line.lstrip().startswith("from ")
    return token.string == "__name__" and _HARMLESS.match(token.line) is not None


def _script(variant: Variant, folder: str) -> Problem | None:
    command = variant.item["command"]
    folder = os.path.join(folder, variant.item.get("folder") or ".")
    if not os.path.isdir(folder):
        return Problem("script-folder", folder=folder)
    if (file := processes.file_of(command)) is not None:
        missing = not os.path.isfile(os.path.join(folder, file))
        return Problem("script-missing", file=file, folder=folder) if missing else None
    program = os.path.join(folder, command[0]) if os.sep in command[0] else command[0]
    paths = variant.environment.get("PATH", os.environ.get("PATH"))
    if os.sep not in program and not all(map(os.path.isabs, (paths or "").split(os.pathsep))):
        return None  # what such paths mean depends on the folder
    if processes.under("", command) is not None or shutil.which(program, path=paths):
        return None
    return Problem("command-missing", command=command[0])
