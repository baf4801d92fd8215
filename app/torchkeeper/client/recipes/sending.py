"""The files that recipes need on another machine: the Python files in a recipe's folder and below,
and the files there that its items name. Nothing else of the folder is sent, and nothing that a link
in it leads to outside of it.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterator, Sequence

from torchkeeper.client import temporary
from torchkeeper.client.engines import ferry
from torchkeeper.client.recipes.offered import is_entered, is_interpreters
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import failing_as, user_error
from torchkeeper.warm.recipes.recipe import items_of
from torchkeeper.warm.shapes import Compiling, SentRecipe

#: Files, and bytes of them, that go with the recipes of a folder at most.
_MOST_FILES, _MOST_BYTES = 2000, 512 << 20


def send(
    machine: str, recipes: Sequence[str | SentRecipe], told: ferry.Told = lambda *_: None
) -> Compiling:
    """What a request on another machine says of recipes, whose files are there then. Raises
    UserError.
    """
    if all(isinstance(one, str) for one in recipes):
        return {"recipes": recipes}
    with temporary.folder("recipes") as scratch:
        file = os.path.join(scratch, "recipes.zip")
        there = pack(recipes, file)
        sent = ferry.send(machine, file, told)
    return {"recipes": there, "sent": sent}


def pack(recipes: Sequence[str | SentRecipe], file: str) -> list[str | SentRecipe]:
    """Write what recipes need to a zip, the same for the same files; what a request says of them
    that has it as ``sent``. Raises UserError.
    """
    folders = list(dict.fromkeys(one["folder"] for one in recipes if not isinstance(one, str)))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
        for number, folder in enumerate(folders):
            mine = [x for x in recipes if not isinstance(x, str) and x["folder"] == folder]
            _pack(zipped, str(number), folder, mine)
    named = {folder: f"/{number}" for number, folder in enumerate(folders)}
    return [
        one if isinstance(one, str) else {**one, "folder": named[one["folder"]]} for one in recipes
    ]


def digests(recipes: Sequence[str | SentRecipe], folder: str) -> dict[str, str]:
    """A hash of each file of a folder that recipes in it need, by their paths there. Raises
    UserError.
    """
    mine = [x for x in recipes if not isinstance(x, str) and x["folder"] == folder]
    found = {}
    for path in sorted(needed(folder, mine)):
        file = os.path.join(folder, path)
        with failing_as("recipe-unreadable", file=file), open(file, "rb") as source:
            found[path] = hashlib.file_digest(source, "sha256").hexdigest()
    return found


def digest(recipes: Sequence[str | SentRecipe], folder: str) -> str:
    """A hash of all of them. Raises UserError."""
    made = hashlib.sha256()
    for path, one in digests(recipes, folder).items():
        made.update(path.encode("utf-8", "surrogateescape") + b"\0" + bytes.fromhex(one))
    return made.hexdigest()


def _pack(zipped: zipfile.ZipFile, name: str, folder: str, recipes: Sequence[SentRecipe]) -> None:
    zipped.writestr(f"{name}/", b"")
    size, paths = 0, needed(folder, recipes)
    for path in paths:
        file = os.path.join(folder, path)
        with failing_as("recipe-unreadable", file=file):
            size += os.stat(file).st_size
            if size > _MOST_BYTES or len(paths) > _MOST_FILES:
                about = {"folder": folder, "most": say.size(_MOST_BYTES), "files": _MOST_FILES}
                raise user_error("recipe-folder-large", about)
            zipped.write(file, f"{name}/{path}")


def needed(folder: str, recipes: Sequence[SentRecipe]) -> list[str]:
    """The files that recipes in a folder need, by their paths in it."""
    return list(dict.fromkeys([*_modules(folder), *_named(folder, recipes)]))


def _modules(folder: str) -> Iterator[str]:
    """The Python files of a folder and below, but not those of environments and hidden folders."""
    for root, folders, names in os.walk(folder):
        if is_interpreters(names):
            folders.clear()
            continue
        folders[:] = [name for name in folders if is_entered(name)]
        for name in names:
            path = os.path.relpath(os.path.join(root, name), folder)
            if name.endswith(".py") and _lies_in(folder, path):
                yield path


def _named(folder: str, recipes: Sequence[SentRecipe]) -> Iterator[str]:
    """The files of a folder and below that items name: a graph, and words of a command."""
    for recipe in recipes:
        for item in items_of(recipe["data"])[1]:
            at = str(item.get("folder") or ".")
            for word in [item.get("file"), *(item.get("command") or ())]:
                path = os.path.normpath(os.path.join(at, str(word)))
                inside = not (os.path.isabs(path) or path.split(os.sep)[0] == os.pardir)
                if word and inside and _lies_in(folder, path):
                    yield path


def _lies_in(folder: str, path: str) -> bool:
    """Whether a path in a folder is a file, and that is in the folder, too: whoever made the folder
    may have put a link into it to what is not theirs.
    """
    real, above = (os.path.realpath(one) for one in (os.path.join(folder, path), folder))
    return os.path.isfile(real) and real.startswith(os.path.join(above, ""))
