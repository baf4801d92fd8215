"""The nodes of a fleet in a list: what each has, what runs on it, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QTreeWidgetItem

from torchkeeper.client.kept.targets import Kept
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.matrix import cells as words
from torchkeeper.gui.matrix.cells import Cells
from torchkeeper.gui.places import targets
from torchkeeper.gui.widgets import lists
from torchkeeper.gui.widgets.plain import tip

_tr = partial(QCoreApplication.translate, "FleetNodes")

NODE, STATE, DEVICES, TORCH, SLOTS, NOW, HAS = range(7)
#: Nodes that have a line of their own, and labels that are told of one.
MOST, _LABELS = 300, 12
#: The icon of each state, and the name of its colour.
_MARKS = {
    "ready": ("done", "good"),
    "lost": ("error", "warning"),
    "waiting": ("queued", "muted"),
    "unusable": ("warning", "warning"),
}

Row = tuple[str, ...]


class NodeList(lists.Fitted):
    """Shows the nodes that a fleet has told of, or before that the targets that are kept."""

    def __init__(self) -> None:
        super().__init__(NODE, (SLOTS, HAS, TORCH))
        self.setAccessibleName(_tr("Nodes"))
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(True)
        labels = [_tr("Node"), _tr("State"), _tr("Devices"), _tr("torch"), _tr("At a time"),
                  _tr("Now"), _tr("Has compiled")]  # fmt: skip
        self.head(labels, (SLOTS,), ())
        #: What is shown: texts, the state, and the tip.
        self._shown: list[tuple[Row, str, str]] = []
        self._names: list[str] = []
        theme.follow(self, self._paint)

    @property
    def current(self) -> str:
        """The name of the node that is chosen; "" for none, and for a target that is kept."""
        at = self.currentIndex().row()
        return self._names[at] if 0 <= at < len(self._names) else ""

    def height_of(self, rows: int) -> int:
        """Pixels that so many rows need, with the headings."""
        row = max(self.sizeHintForRow(0), self.fontMetrics().height() + 8)
        return self.header().sizeHint().height() + rows * row + 2 * self.frameWidth() + 2

    def show_nodes(self, cells: Cells) -> None:
        """Show what is known of nodes; only what has changed is touched."""
        some = list(cells.nodes.values())[:MOST]
        self._names = [one["name"] for one in some]
        rows: list[tuple[Row, str, str]] = []
        for one in some:
            name = one["name"]
            at, has = list(cells.at.get(name, ())), cells.has[name]
            entries, size = cells.gathered.get(name, (0, 0))
            came = f"{say.count(entries, 'entry', 'entries')} ({say.size(size)})"
            error = words.error_of(one["why"])
            texts = (
                printable(name, 200), words.node_words(one["state"]),
                printable(", ".join(one["devices"]), 200), printable(one["torch"], 60),
                f"{one['slots']:,}" if one["slots"] else "–",
                words.names_of(cells, at) or (error.what if error else "–"),
                say.count(has, "cell", "cells") if has else "–",
            )  # fmt: skip
            labels = [f"{key}={value}" for key, value in list(one["labels"].items())[:_LABELS]]
            tips = [texts[NODE], printable(one["kind"], 200), printable(", ".join(labels), 400)]
            tips += [_tr("Gathered: {}").format(came)] if entries else []
            tips += str(error).splitlines() if error else []
            rows.append((texts, one["state"], "\n".join(filter(None, tips))))
        self._show(rows, len(cells.nodes))

    def show_targets(self, every: Sequence[Kept]) -> None:
        """Show what is kept, of which nobody has asked what it has."""
        rows: list[tuple[Row, str, str]] = []
        self._names = []
        for one in every[:MOST]:
            texts = (targets.title(one.name), _tr("not asked"), targets.about(one), *"––––")
            rows.append((texts, "", printable(one.name, 200)))
        self._show(rows, len(every))

    def _show(self, rows: list[tuple[Row, str, str]], whole: int) -> None:
        if whole > MOST:
            more = _tr("and {} more").format(f"{whole - MOST:,}")
            rows.append(((more, *[""] * HAS), "", ""))
        if len(rows) != len(self._shown):
            self.clear()
            self._shown = []
            for _ in rows:
                self.addTopLevelItem(lists.line([""] * (HAS + 1), numbers=(SLOTS,)))
        for number, row in enumerate(rows):
            if number >= len(self._shown) or self._shown[number] != row:
                item = self.topLevelItem(number)
                assert item is not None
                self._fill(item, *row)
        if rows != self._shown:
            self._shown = rows
            self.fit()

    def _fill(self, item: QTreeWidgetItem, texts: Row, state: str, said: str) -> None:
        for column, text in enumerate(texts):
            item.setText(column, text)
            item.setToolTip(column, tip(f"{said}\n{text}" if column == NOW else said))
        self._mark(item, state)

    def _mark(self, item: QTreeWidgetItem, state: str) -> None:
        name, role = _MARKS.get(state, ("machine", "muted"))
        item.setIcon(STATE, theme.icon(name, getattr(theme.shades(), role)))

    def _paint(self) -> None:
        for item, (_, state, _tip) in zip(lists.items(self), self._shown, strict=False):
            self._mark(item, state)
