"""The commands about recipes: show, check, new, and the list that the window shows."""

from __future__ import annotations

import argparse
import functools
import os
import shlex

from torchkeeper.cli import looking, output, warming
from torchkeeper.client.recipes import files
from torchkeeper.client.recipes import files as recipes
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.warm.recipes.recipe import BUILTIN

_HELP = """\
examples:
  torchkeeper recipe new callable model.toml     an example with comments, to be changed
  torchkeeper recipe check model.toml            every fault with its line
  torchkeeper recipe show model.toml             what it compiles, one combination a line
  torchkeeper warm model.toml --into cache       compile it"""


def add_recipe(command: argparse.ArgumentParser) -> None:
    output.describe(
        command,
        "A recipe says what to compile, in a TOML file beside the model. Write one, check it,\n"
        "show what it compiles, or keep it in the list of the window.",
        _HELP,
    )
    part = functools.partial(output.add_part, command.add_subparsers(metavar="WHAT", required=True))
    show = part("show", _show, "list the combinations that recipes compile, without compiling")
    _add_names(show)
    warming.add_ways(show)
    check = part("check", _check, "name every fault of recipes with its line")
    _add_names(check)
    new = part(
        "new", _new, "write an example with comments, and the Python file it names beside it"
    )
    new.add_argument("source", metavar="SOURCE", choices=list(files.BESIDE),
                     help=f"what it compiles: {', '.join(files.BESIDE)}")  # fmt: skip
    new.add_argument("file", metavar="FILE", type=_toml, help="the recipe to write, a .toml file")
    output.flag(new, "--force", "replace the recipe if it is there; a Python file never is")
    listed = part("list", _list, "list the recipes, and folders of them, that the window shows")
    add = part("add", _add, "put a recipe, or a folder of them, into that list")
    add.add_argument("name", metavar="RECIPE", type=looking.path, help="a file or a folder")
    remove = part("remove", _remove, "take a recipe or folder out of that list; the file stays")
    remove.add_argument("name", metavar="RECIPE", type=looking.path, help="a file or a folder")
    for one in (show, check, new, listed, add, remove):
        output.add_json(one)


def _add_names(command: argparse.ArgumentParser) -> None:
    command.add_argument("recipes", metavar="RECIPE", nargs="+",
                         help="a recipe's file, or a folder of them")  # fmt: skip


def _toml(text: str) -> str:
    path = looking.path(text)
    if not path.endswith(".toml"):
        raise argparse.ArgumentTypeError("a recipe's name ends with .toml")
    return path


def _show(args: argparse.Namespace) -> int:
    return warming.cells(args, warming.ways(args))


def _check(args: argparse.Namespace) -> int:
    """1 if anything is wrong."""
    wrong = 0
    paths = [path for path in recipes.chosen(args.recipes) if path != BUILTIN]
    for path in paths:
        try:
            _, faults = recipes.looked_at(recipes.text_in(path))
        except UserError as error:
            wrong += 1
            _tell(args, path, error.what, [])
            if not args.json:
                output.complain(error)
            continue
        wrong += bool(faults)
        _tell(args, path, "", faults)
    result = {"recipes": len(paths), "wrong": wrong}
    all_of_them = say.count(len(paths), "recipe", "recipes")
    said = f"{wrong:,} of {all_of_them} {'is' if wrong == 1 else 'are'} wrong."
    output.result(args, result, said if wrong else f"{all_of_them}, nothing wrong.")
    return int(wrong > 0)


def _tell(
    args: argparse.Namespace, path: str, unreadable: str, faults: list[recipes.Fault]
) -> None:
    if args.json:
        told = [{"line": one.line, "column": one.column, "where": one.where, "text": one.text}
                for one in faults]  # fmt: skip
        output.emit({"file": path, "problem": unreadable or None, "faults": told})
        return
    for one in faults:
        where = f"{one.where}: " if one.where else ""
        # As compilers do, so that editors find the place.
        output.line(printable(f"{path}:{one.line}:{one.column}: {where}{one.text}", 1000))


def _new(args: argparse.Namespace) -> int:
    written, there = files.write(args.source, args.file, args.force)
    result = {"written": written, "there": there}
    said = [f"{printable(path)} written." for path in written]
    said += [f"{printable(path)} was there already, and stays as it is." for path in there]
    short = os.path.relpath(args.file)
    file = printable(shlex.quote(args.file if short.startswith("..") else short))
    said.append(f"Change them, then: torchkeeper warm {file} --into FOLDER")
    output.result(args, result, "\n".join(said))
    return 0


def _list(args: argparse.Namespace) -> int:
    return _listed(args, recipes.listed())


def _add(args: argparse.Namespace) -> int:
    return _listed(args, recipes.add(args.name))


def _remove(args: argparse.Namespace) -> int:
    return _listed(args, recipes.remove(args.name))


def _listed(args: argparse.Namespace, paths: list[str]) -> int:
    for path in paths:
        missing = not os.path.exists(path)
        if args.json:
            output.emit({"path": path, "exists": not missing})
        else:
            output.line(printable(path, 4000) + ("  [not there any more]" if missing else ""))
    if not paths and not args.json:
        output.note("The list is empty; “torchkeeper recipe add” puts a recipe into it.")
    return 0
