"""The lines of the list of recipes."""

from __future__ import annotations

import os
from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTreeWidgetItem

from torchkeeper.gui.pages.recipes import words
from torchkeeper.gui.pages.recipes.known import BUILTIN, Known, Listed
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.gui.widgets.trees import RIGHT
from torchkeeper.link.words import say
from torchkeeper.link.words.problems import printable

NAME, SOURCE, CELLS, WARMED, FILE = range(5)
#: What a line is of: a path, whether it is good, and whether it is a folder.
OF = Qt.ItemDataRole.UserRole


def item_of(one: Listed) -> QTreeWidgetItem:
    """A line of the list; of a folder, with one for each recipe in it."""
    if not one.folder and one.recipes:
        return _known_item(one.recipes[0], True)
    cells = sum(known.cells for known in one.recipes)
    good = one.error is None and all(known.good for known in one.recipes)
    many = say.count(len(one.recipes), "recipe", "recipes")
    item = _row([words.name_of(one.path), many if one.folder else "", cells, "", one.path])
    item.setData(NAME, OF, (one.path, good, one.folder))
    for known in one.recipes:
        item.addChild(_known_item(known, False))
    if one.error is not None:
        gone = one.error.code == "recipe-unknown"
        item.setText(SOURCE, words.missing() if gone else "–")
        item.setToolTip(NAME, tip(one.error.what))
    return item


def _known_item(one: Known, top: bool) -> QTreeWidgetItem:
    source = words.source_title(one.source)
    if not one.good:
        source = say.count(len(one.faults), "fault", "faults") if one.faults else "–"
    file = "" if one.path == BUILTIN else one.path if top else os.path.basename(one.path)
    item = _row([words.name_of(one.path, one.name), source, one.cells, words.warmed_text(one),
                 file])  # fmt: skip
    item.setData(NAME, OF, (one.path, one.good, False))
    return item


def _row(texts: Sequence[str | int]) -> QTreeWidgetItem:
    shown = [f"{x:,}" if x else "–" for x in texts if isinstance(x, int)]
    item = QTreeWidgetItem(
        [shown.pop(0) if isinstance(x, int) else printable(x, 4096) for x in texts]
    )
    item.setTextAlignment(CELLS, RIGHT)
    for column in (NAME, WARMED, FILE):
        item.setToolTip(column, tip(item.text(column)))
    return item
