"""The cells of recipes, without compiling any: what ``warm`` and ``verify`` would go through."""

from __future__ import annotations

from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session
from torchkeeper.stores.store import Json
from torchkeeper.warm.recipes.cells import Cell

#: What is told of each, besides its target and what is wrong.
_TOLD = (
    "index", "recipe", "name", "source", "folder", "device", "dtype", "mode", "sizes", "threads",
    "portable", "seconds", "memory",
)  # fmt: skip
#: Rows of one message: names, folders and reasons may be long.
_ROWS = 20


def cells(_: Session, params: Json, report: Report) -> Json:
    """Rows of cells as ``warm`` numbers them into the place ``into``, if one is named, each with
    the ``problem`` {code, params} that it is known to have before torch, or
    anything of the user's, is imported, or None.

    Returns how many there are, and how many with a problem. Raises Problem as
    ``supervise.checked``.
    """
    from torchkeeper.warm.recipes.foreseeing import foreseen
    from torchkeeper.warm.supervise import checked, unbuildable, uncompilable

    # What goes into no place at all is looked at in the same way as what goes into one.
    asked = {"into": "/", **params}
    every, into = checked(asked).cells, str(asked["into"])
    wrong = 0
    rows: list[Json] = []
    for cell, problem in zip(every, foreseen(every), strict=True):
        report.check()
        problem = problem or unbuildable(cell, into) or uncompilable(cell)
        wrong += problem is not None
        told = None if problem is None else {"code": problem.code, "params": problem.params}
        rows.append({**_told(cell), "problem": told})
    for begin in range(0, len(rows), _ROWS):
        report.rows(rows[begin : begin + _ROWS])
    return {"cells": len(rows), "problems": wrong}


def _told(cell: Cell) -> Json:
    return {**{name: getattr(cell, name) for name in _TOLD}, "target": cell.item.get("target")}
