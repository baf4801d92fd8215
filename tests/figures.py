"""The house in figures: ``python -m tests.figures`` prints each beside the most that it may be.

A figure does not grow unseen: tests/test_house.py holds that. Who has made one smaller lowers its
bound; who adds what users get raises one by that, and says so in the commit.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import torchkeeper
from torchkeeper.engine.protocol import TABLE

APP = Path(torchkeeper.__file__).parent
#: The most that each figure may be.
MOST = {
    "files": 589,
    "lines": 131_663,
    "lines of code": 96_528,
    "lines of code in the longest file": 497,
    "lines of the longest function": 160,
    "files in the largest circle of imports": 0,
    "files in circles of imports": 0,
    "dict[str, Any]": 0,
    "questions for the kind of place outside of stores": 3,
    "requests that name their operation by a string": 0,
}
_KIND_OF_PLACE = re.compile(r"isinstance\([^)]*\b(?:Folder|Redis|Bundle)\b|\bis_server\(")
_ASKS = {"ask", "call", "send", "request", "_ask", "_ask_engine", "_call", "_further"}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Module(NamedTuple):
    """Of one that was read: its source and lines of code, the lines of its longest function, how
    many requests name their operation by a string, and what it imports, under TYPE_CHECKING and in
    functions too. Its tree is forgotten: each collection of garbage would go through it.
    """

    source: str
    code: int
    longest: int
    named: int
    imported: set[str]


@functools.cache
def modules() -> dict[Path, Module]:
    """All modules of the app."""
    return {path: _read(path.read_text(encoding="utf-8")) for path in sorted(APP.rglob("*.py"))}


def _read(source: str) -> Module:
    documents, imported = set[int](), set[str]()
    longest = named = 0
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            longest = max(longest, (node.end_lineno or 0) - node.lineno + 1)
        elif isinstance(node, ast.Call):
            named += _names_operation(node)
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported |= {f"{node.module}.{alias.name}" for alias in node.names}
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            documents.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    code = sum(
        number not in documents and bool(line.strip()) and not line.strip().startswith("#")
        for number, line in enumerate(source.splitlines(), 1)
    )
    return Module(source, code, longest, named, imported)


def figures() -> dict[str, int]:
    """Each figure by its name."""
    every = modules()
    sizes = [len(one) for one in circles(imports())]
    asks = sum(
        len(_KIND_OF_PLACE.findall(one.source))
        for path, one in every.items()
        if "stores" not in path.relative_to(APP).parts
    )
    return {
        "files": len(every),
        "lines": sum(one.source.count("\n") for one in every.values()),
        "lines of code": sum(one.code for one in every.values()),
        "lines of code in the longest file": max(one.code for one in every.values()),
        "lines of the longest function": max(one.longest for one in every.values()),
        "files in the largest circle of imports": max(sizes, default=0),
        "files in circles of imports": sum(sizes),
        "dict[str, Any]": sum(one.source.count("dict[str, Any]") for one in every.values()),
        "questions for the kind of place outside of stores": asks,
        "requests that name their operation by a string": sum(one.named for one in every.values()),
    }


def _names_operation(node: ast.Call) -> bool:
    """Whether something is asked of an engine by a string, rather than by a name of the table."""
    called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    first = node.args[0] if node.args else None
    return called in _ASKS and isinstance(first, ast.Constant) and first.value in TABLE


def imports() -> dict[str, set[str]]:
    """The modules of ours that each module imports."""
    every = {_dotted(path): one for path, one in modules().items()}
    found: dict[str, set[str]] = {}
    for name, module in every.items():
        named = {one if one in every else one.rpartition(".")[0] for one in module.imported}
        found[name] = {one for one in named if one in every and one != name}
    return found


def _dotted(path: Path) -> str:
    parts = ("torchkeeper", *path.relative_to(APP).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def circles(graph: Mapping[str, set[str]]) -> Iterator[set[str]]:
    """The strongly connected components of more than one module (Kosaraju's algorithm)."""
    backwards: dict[str, set[str]] = {name: set() for name in graph}
    for name, named in graph.items():
        for one in named:
            backwards[one].add(name)
    seen: set[str] = set()
    order = [name for start in graph for name in _reached(start, graph, seen)]
    seen = set()
    for start in reversed(order):
        component = set(_reached(start, backwards, seen))
        if len(component) > 1:
            yield component


def _reached(start: str, graph: Mapping[str, set[str]], seen: set[str]) -> list[str]:
    """What is reached from a module and was not seen, each after all that is reached from it."""
    if start in seen:
        return []
    seen.add(start)
    found, stack = [], [(start, iter(sorted(graph[start])))]
    while stack:
        name, left = stack[-1]
        step = next((one for one in left if one not in seen), None)
        if step is None:
            found.append(name)
            stack.pop()
        else:
            seen.add(step)
            stack.append((step, iter(sorted(graph[step]))))
    return found


def main() -> int:
    """Print them; 1 where one is over its bound."""
    found = figures()
    for name, figure in found.items():
        print(f"{figure:>8,}  of {MOST[name]:>8,}  {name}")
    return int(any(found[name] > most for name, most in MOST.items()))


if __name__ == "__main__":
    sys.exit(main())
