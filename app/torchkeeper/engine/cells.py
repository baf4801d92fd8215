"""The cells of recipes, without compiling any: what ``warm`` and ``verify`` would go through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session

if TYPE_CHECKING:
    from torchkeeper.artifacts.entry import Problem
    from torchkeeper.artifacts.shapes import Fault
    from torchkeeper.engine.messages.compiling import CellsParams, CellsResult, CellsRow
    from torchkeeper.warm.recipes.cells import Cell

#: Rows of one message: names, folders and reasons may be long.
_ROWS = 20


def cells(_: Session, params: CellsParams, report: Report) -> CellsResult:
    """Rows of cells as ``warm`` numbers them into the place ``into``, if one is named, each with
    the problem that it is known to have before torch, or anything of the user's, is imported.

    Raises Problem as ``supervise.checked``.
    """
    from torchkeeper.warm.recipes.foreseeing import foreseen
    from torchkeeper.warm.supervise import checked, unbuildable, uncompilable

    # What goes into no place at all is looked at in the same way as what goes into one.
    into = params.get("into", "/")
    every = checked(params, into).cells
    rows: list[CellsRow] = []
    for cell, problem in zip(every, foreseen(every), strict=True):
        report.check()
        rows.append(_row(cell, problem or unbuildable(cell, into) or uncompilable(cell)))
    for begin in range(0, len(rows), _ROWS):
        report.rows(rows[begin : begin + _ROWS])
    return {"cells": len(rows), "problems": sum(row["problem"] is not None for row in rows)}


def _row(cell: Cell, problem: Problem | None) -> CellsRow:
    fault: Fault | None = {"code": problem.code, "params": problem.params} if problem else None
    return {
        "index": cell.index,
        "recipe": cell.recipe,
        "name": cell.name,
        "source": cell.source,
        "folder": cell.folder,
        "device": cell.device,
        "dtype": cell.dtype,
        "mode": cell.mode,
        "sizes": cell.sizes,
        "threads": cell.threads,
        "portable": cell.portable,
        "seconds": cell.seconds,
        "memory": cell.memory,
        "target": cell.item.get("target"),
        "problem": fault,
    }
