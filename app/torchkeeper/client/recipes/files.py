"""Recipes as files: read with every fault at its line before an engine looks again
(``warm.recipes.recipe``), found in folders, sent, kept in a list, some of their variants picked by
name; and recipes to begin with, one for each source.
"""

from __future__ import annotations

import difflib
import importlib.resources
import itertools
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable

from torchkeeper.artifacts.entry import Problem
from torchkeeper.client.kept import whole
from torchkeeper.client.recipes import offered
from torchkeeper.client.recipes.toml import Lines
from torchkeeper.client.words import problems, say
from torchkeeper.client.words.problems import UserError, failing_as, printable, user_error
from torchkeeper.client.words.tongue import Text, tr
from torchkeeper.engine.protocol import MAX_LINE
from torchkeeper.warm.recipes import faults
from torchkeeper.warm.recipes import recipe as recipes
from torchkeeper.warm.recipes.tables import Tables
from torchkeeper.warm.shapes import SentRecipe

#: What goes to an engine in one line, with room for the rest of a request.
_MOST_SENT = MAX_LINE - 64 * 1024
#: Faults that a message names.
_NAMED = 8
_LIST = "recipes"
#: A key of so many parts that tomllib would take minutes over it.
_DEEP = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}""")
_TOO_DEEP: Text = "lists or tables lie too deep in each other."
_LONG = re.compile(r"[0-9_]{4300}")
_TOO_LONG: Text = "a number has too many digits."
_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a file: line and column, from 1; where in the data, as
    ``matrix.batch[1]``, or "" of the whole; and in words what was expected and what was found.
    syntax: of what is no TOML, what its reader says.
    """

    line: int
    column: int
    where: str
    text: str
    syntax: str = ""

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        return tr("line {line}: {fault}", line=str(self.line), fault=f"{where}{self.text}")


@dataclass(frozen=True)
class RecipeFile:
    """A recipe that nothing is wrong with. path: absolute. name: what it is called."""

    path: str
    name: str
    data: Tables

    def to_wire(self) -> SentRecipe:
        return {"name": self.name, "folder": os.path.dirname(self.path), "data": self.data}


#: What is wrong with the tables of a file.
Look = Callable[[object], Sequence[faults.Fault]]


def looked_at(
    text: str, look: Look = recipes.faults
) -> tuple[Mapping[str, object] | None, list[Fault]]:
    """A recipe's data, None if it is no TOML, and everything that is wrong, by its lines. look: for
    another kind of file.
    """
    if deep := _DEEP.search(text):
        return None, [Fault(text.count("\n", 0, deep.start()) + 1, 1, "", tr(_TOO_DEEP))]
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        return None, [_syntax(str(e), text)]
    except RecursionError:
        return None, [Fault(1, 1, "", tr(_TOO_DEEP))]
    except ValueError:
        # Python takes no number of more than 4300 digits from a text.
        long = _LONG.search(text)
        line = text.count("\n", 0, long.start()) + 1 if long else 1
        return None, [Fault(line, 1, "", tr(_TOO_LONG))]
    found = look(data)
    lines, told = Lines(text if found else ""), list[Fault]()
    for fault in found:
        words = problems.expectation(fault.expected, fault.found, fault.params)
        place = lines.of(fault.where, fault.at_key)
        told.append(Fault(*place, printable(faults.said(fault.where), 120), printable(words)))
    return data, sorted(told, key=lambda one: (one.line, one.column))


def _syntax(why: str, text: str) -> Fault:
    match = _PLACE.fullmatch(why)
    what = printable((match[1] if match else why).rstrip("."))
    said = tr("this is not TOML: {why}.", why=what)
    if match and match[2]:
        return Fault(int(match[2]), int(match[3]), "", said, what)
    rows = text.rstrip("\n").split("\n")
    return Fault(len(rows), len(rows[-1]) + 1, "", said, what)


def text_in(path: str) -> str:
    """The text of a file. Raises UserError("recipe-unreadable" | "recipe-too-large")."""
    with failing_as("recipe-unreadable", file=path):
        # What is no file, such as a pipe, might never end.
        if os.path.lexists(path) and not os.path.isfile(path):
            raise user_error("recipe-unreadable", {"file": path, "why": tr("It is not a file")})
        with open(path, "rb") as stream:
            content = stream.read(offered.MOST_BYTES + 1)
            size = os.fstat(stream.fileno()).st_size
    if len(content) > offered.MOST_BYTES:
        params = {"file": path, "size": say.size(size), "most": say.size(offered.MOST_BYTES)}
        raise user_error("recipe-too-large", params)
    return whole.decoded(content, "recipe-unreadable", path)


def read(path: str) -> RecipeFile:
    """A recipe from a file. Raises UserError as ``text_in``, "recipe-(syntax|program|wrong)"."""
    path = os.path.abspath(path)
    data = tables(path)
    stem = os.path.splitext(os.path.basename(path))[0] or "recipe"
    return RecipeFile(path, str(data.get("name", stem)), recipes.without_faults(data))


def tables(path: str, look: Look = recipes.faults, mend: str = "") -> Mapping[str, object]:
    """The data of a file that nothing is wrong with; look: as of ``looked_at``; mend: what to do
    about a fault, where it is no recipe. Raises as ``read``.
    """
    data, found = looked_at(text_in(path), look)
    if data is None:
        [fault] = found
        params = {"file": path, "line": fault.line, "column": fault.column}
        why = (fault.syntax or fault.text).rstrip(".")
        code = "recipe-program" if path.endswith(".py") else "recipe-syntax"
        raise user_error(code, {**params, "why": why[:1].upper() + why[1:]})
    if found:
        raise _wrong(path, found, mend)
    return data


def _wrong(path: str, found: Sequence[Fault], mend: str) -> UserError:
    first = found[0]
    what = tr("{file}, line {line}, is wrong.", file=printable(path), line=str(first.line))
    why = f"{first.where}: {first.text}" if first.where else first.text
    if len(found) > 1:
        faulty = say.count(len(found), "fault", "faults")
        what = tr("{file} has {faults}.", file=printable(path), faults=faulty)
        why = "\n".join(map(str, found[:_NAMED]))
        if len(found) > _NAMED:
            why += "\n" + tr("and {n} more", n=len(found) - _NAMED)
    mend = mend or tr(
        "Correct it; “torchkeeper recipe new” writes an example that says what can be said."
    )
    params = {"recipe": path, "file": path, "line": first.line}
    return UserError(what, why, mend, code="recipe-wrong", params=params)


def files(name: str) -> list[str]:
    """The recipes that a file or folder is: their absolute paths, sorted. Of a folder these are all
    ``*.toml`` in it and below, but not those of other tools, nor in linked or hidden folders.
    Raises UserError("recipe-unknown" | "recipes-none" | "recipes-too-many" | "folder-unreadable").
    """
    path = os.path.abspath(name)
    if not name or not os.path.isdir(path):
        if not os.path.lexists(path) or not name:  # an empty variable is no folder
            raise user_error("recipe-unknown", {"recipe": name})
        return [path]
    found = list(itertools.islice(_below(path), recipes.MOST_RECIPES + 1))
    if len(found) > recipes.MOST_RECIPES:
        raise user_error("recipes-too-many", {"folder": path, "most": recipes.MOST_RECIPES})
    if not found:
        raise user_error("recipes-none", {"folder": path})
    return sorted(found)


def _below(folder: str) -> Iterator[str]:
    def cannot(e: OSError) -> None:
        raise user_error("folder-unreadable", {"path": e.filename, "why": e.strerror}) from e

    for root, folders, names in os.walk(folder, onerror=cannot):
        if offered.is_interpreters(names):
            folders.clear()
            continue
        folders[:] = [name for name in folders if offered.is_entered(name)]
        yield from (os.path.join(root, name) for name in names if offered.may_be_recipe(name))


def chosen(names: Sequence[str]) -> list[str]:
    """Paths of all recipes that names mean, and "builtin", once each. Raises as ``files``."""
    found: list[str] = []
    for name in names or [recipes.BUILTIN]:
        found += [recipes.BUILTIN] if name == recipes.BUILTIN else files(name)
    return list(dict.fromkeys(found))


def wire(names: Sequence[str]) -> list[str | SentRecipe]:
    """What a request says for recipes. Raises as ``files``, ``read``, "recipes-too-large"."""
    sent = [one if one == recipes.BUILTIN else read(one).to_wire() for one in chosen(names)]
    if (size := len(json.dumps(sent))) > _MOST_SENT:
        params = {"size": say.size(size), "most": say.size(_MOST_SENT)}
        raise user_error("recipes-too-large", params)
    return sent


def listed() -> list[str]:
    """The absolute paths of the user's list. Raises UserError("recipes-unreadable")."""
    return whole.load(_LIST, "recipes-unreadable", "paths")


def add(name: str) -> list[str]:
    """Put a file or folder on the list; the list. Raises as ``listed``, "recipes-unwritable"."""
    files(name)
    path, paths = os.path.abspath(name), listed()
    if path not in paths:
        paths.append(path)
        whole.save(_LIST, paths, "recipes-unwritable")
    return paths


def remove(name: str) -> list[str]:
    """Take one off the list; the list. Raises UserError("recipe-not-listed"), as ``add``."""
    path, paths = os.path.abspath(name), listed()
    if path not in paths:
        raise user_error("recipe-not-listed", {"file": path})
    paths.remove(path)
    whole.save(_LIST, paths, "recipes-unwritable")
    return paths


def indexes(sent: Sequence[str | SentRecipe] | None, names: Sequence[str]) -> list[int]:
    """The indexes of variants of recipes as a request has them (``recipes.wire``), in their order.
    names: of variants, each as ``VARIANT`` or, where several recipes have it, ``RECIPE: VARIANT``;
    or their indexes. Raises UserError("variant-unknown"), and what ``variants_of`` raises.
    """
    try:
        variants = recipes.variants_of(recipes.of_request(sent))
    except Problem as e:
        raise user_error(e.code, e.params) from e
    found: set[int] = set()
    for name in names:
        alike = {c.index for c in variants if name in (c.name, f"{c.recipe}: {c.name}")}
        if not alike and name.isdecimal() and len(name) < 10 and int(name) < len(variants):
            alike = {int(name)}
        if not alike:
            near = difflib.get_close_matches(name, [c.name for c in variants], 3, 0.4)
            raise user_error("variant-unknown", {"variant": name, "near": "; ".join(near) or "—"})
        found |= alike
    return sorted(found)


# Recipes to begin with: one for each source, which works, with the Python files it names.

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


def write_beside(source: str, folder: str, recipe: str = "") -> tuple[list[str], list[str]]:
    """Write what a recipe, a file name, has beside it: paths written, and those there. Raises
    OSError.
    """
    example = f"{source}.toml"
    written, there = [], []
    for name in BESIDE[source]:
        path = os.path.join(folder, name)
        try:
            told = _file(name).read_text(encoding="utf-8").replace(example, recipe or example)
            whole.write_text(path, told, replace=False)
            written.append(path)
        except FileExistsError:
            there.append(path)
    return written, there


def write(source: str, path: str, replace: bool = False) -> tuple[list[str], list[str]]:
    """Write the recipe of a source to a file, and what it names beside that. Returns the paths that
    were written, and those of Python files that were there already, which are never touched. Raises
    UserError("recipe-exists") unless ``replace``, and UserError("recipe-unwritable").
    """
    folder = os.path.dirname(os.path.abspath(path))
    try:
        if not os.path.isdir(folder):
            os.makedirs(folder)
        name = os.path.basename(path)
        named = text(source).replace(f"{source}.toml", name)
        # Of a link that is to be replaced, the file that it leads to is.
        whole.write_text(os.path.realpath(path) if replace else path, named, replace=replace)
        beside, there = write_beside(source, folder, name)
    except FileExistsError as e:
        if not os.path.isdir(folder):
            why = tr("A folder is needed where a file is")
            raise user_error("recipe-unwritable", {"file": path, "why": why}) from e
        raise user_error("recipe-exists", {"file": path}) from e
    except OSError as e:
        raise user_error("recipe-unwritable", {"file": path, "why": e.strerror or str(e)}) from e
    return [path, *beside], there
