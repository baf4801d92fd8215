"""Some of the cells of recipes, as a person names them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import Problem
from torchkeeper.client.words.problems import user_error
from torchkeeper.warm.recipes.expanding import cells_of
from torchkeeper.warm.recipes.recipe import of_request

if TYPE_CHECKING:
    from torchkeeper.warm.shapes import SentRecipe


def indexes(sent: Sequence[str | SentRecipe] | None, names: Sequence[str]) -> list[int]:
    """The indexes of cells of recipes as a request has them (``recipes.wire``), in their order.

    names: of cells, each as ``CELL`` or, where several recipes have it, ``RECIPE: CELL``; or their
    indexes. Raises UserError("cell-unknown"), and what ``cells_of`` raises.
    """
    try:
        cells = cells_of(of_request(sent))
    except Problem as e:
        raise user_error(e.code, e.params) from e
    found: set[int] = set()
    for name in names:
        alike = {c.index for c in cells if name in (c.name, f"{c.recipe}: {c.name}")}
        if not alike and name.isdecimal() and len(name) < 10 and int(name) < len(cells):
            alike = {int(name)}
        if not alike:
            near = difflib.get_close_matches(name, [c.name for c in cells], 3, 0.4)
            raise user_error("cell-unknown", {"cell": name, "near": "; ".join(near) or "—"})
        found |= alike
    return sorted(found)
