"""Which recipe each cell of a warm-up is of."""

from __future__ import annotations

from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.pages.recipes.known import BUILTIN


def counted(job: Job) -> dict[str, tuple[str, int, int]]:
    """Of each recipe, by what it is called in the job: its file, or BUILTIN, and how many of its
    cells are warm and are not. Empty where that is not known.
    """
    # Of one that warms the rest, what was warm before counts, too.
    found = {recipe: [count, 0] for recipe, count in job.asked.get("before") or ()}
    for cell in job.cells.rows:
        counts = found.setdefault(cell.recipe, [0, 0])
        counts[not cell.good] += 1
    paths = job.asked.get("paths") or []
    if len(paths) != len(found):
        return {}
    told = zip(found.items(), paths, strict=True)
    return {recipe: (path, warm, bad) for (recipe, (warm, bad)), path in told}


def file_of(job: Job, recipe: str) -> str:
    """The file of a recipe; empty where it has none."""
    path, *_ = counted(job).get(recipe, ("", 0, 0))
    return "" if path == BUILTIN else path
