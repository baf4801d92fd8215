"""The cells that fail for certain, told before anything is compiled and not at their turn."""

from __future__ import annotations

import json
from collections.abc import Sequence

from torchkeeper.artifacts.entry import Problem
from torchkeeper.warm.cells import REFERENCES, Cell
from torchkeeper.warm.foreseeing import problem_of

#: Sources that run what a user wrote, which may make the files that later cells are about.
_MAKERS = frozenset({"callable", "script"})
#: What decides where a cell's process looks, if a cell sets it.
_LEADING = frozenset({"PYTHONPATH", "PYTHONHOME", "PATH"})
#: What is read out of a source file, and nobody knows before it is imported; it then says more.
_GUESSED = frozenset({"name-missing"})


def foretold(cells: Sequence[Cell]) -> dict[int, Problem]:
    """The problems of those of the cells that fail whatever happens before their turn, by index.

    Source code is there from the beginning; an exported program may be made by a cell before.
    """
    found: dict[int, Problem] = {}
    seen: dict[str, Problem | None] = {}
    made = False
    for cell in cells:
        certain = not _LEADING & cell.environment.keys()
        if certain and not (made and cell.source == "exported"):
            # The cells of a matrix are about the same files.
            about = {name: cell.item.get(name) for name in (*REFERENCES, "command", "file")}
            key = json.dumps([cell.source, cell.folder, cell.item.get("folder"), about])
            if key not in seen:
                seen[key] = problem_of(cell)
            if (problem := seen[key]) and problem.code not in _GUESSED:
                found[cell.index] = problem
        made = made or (cell.source in _MAKERS and cell.index not in found)
    return found
