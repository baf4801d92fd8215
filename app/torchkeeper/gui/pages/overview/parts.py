"""The parts of an overview: in words, as tiles, as filters, as a list, and the way into one."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from PySide6.QtCore import QCoreApplication, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLabel,
    QPushButton,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from torchkeeper.client.overviewing import AGES, DIMENSIONS, Part, Totals
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.say import kind_words
from torchkeeper.client.words.verdicts import counted_as
from torchkeeper.gui.table.cells import verdict_words
from torchkeeper.gui.treemap import layout
from torchkeeper.gui.treemap.layout import Tile
from torchkeeper.gui.widgets import forms, lists
from torchkeeper.gui.widgets.plain import caption, tip

#: The filter of each age (engine.summing.AGES).
_AGE_FILTERS = {
    "day": "age<1d",
    "week": "age>1d age<7d",
    "month": "age>7d age<30d",
    "quarter": "age>30d age<90d",
    "older": "age>90d",
}


def _tr(text: str) -> str:
    return QCoreApplication.translate("Overview", text)


def dimension_words(dimension: str) -> str:
    """What entries are grouped by, as a choice."""
    return {
        "place": _tr("Place"),
        "kind": _tr("Kind"),
        "torch": _tr("Torch version"),
        "age": _tr("Age"),
        "verdict": _tr("Verdict"),
    }[dimension]


def value_words(dimension: str, value: str, titles: Callable[[str], str]) -> str:
    """What a value of a dimension is called; ``titles``: what places are."""
    if dimension == "place":
        return titles(value)
    if dimension == "kind":
        return kind_words(value)
    if dimension == "torch":
        return printable(value, 60) if value else _tr("Not recorded")
    if dimension == "verdict":
        return verdict_words(value) if value else _tr("Not judged")
    return {
        "day": _tr("Last 24 hours"),
        "week": _tr("Last 7 days"),
        "month": _tr("Last 30 days"),
        "quarter": _tr("Last 90 days"),
        "older": _tr("Older"),
    }.get(value, _tr("Not known"))


def usable_words(totals: Totals) -> str:
    """The share that is usable, where anything was judged."""
    share = totals.share
    if share is None:
        return ""
    # Neither is all of it said where some is missing, nor nothing where some is there.
    if 0 < share < 0.01:
        return _tr("under 1%")
    return f"{min(share, 0.99) if share < 1 else share:.0%}"


def judged_words(totals: Totals) -> str:
    """Of how many that is the share, and how many of them a program takes and should not."""
    if not totals.judged:
        return _tr("none judged")
    said = _tr("of {} judged").format(say.count(totals.judged, "entry", "entries"))
    return f"{said} · {counted_as('unsafe', totals.unsafe)}" if totals.unsafe else said


def compile_words(totals: Totals) -> str:
    """The seconds of compiling, where anything tells them."""
    return say.seconds(totals.compile_s) if totals.timed else ""


def tiles(dimension: str, parts: Sequence[Part], titles: Callable[[str], str]) -> list[Tile]:
    """A tile for each part; its key is the value."""
    made = []
    for number, (value, totals) in enumerate(parts):
        step = (AGES.index(value), len(AGES)) if dimension == "age" else (number, len(parts))
        shade = layout.shade_of(dimension, value, *step)
        taken, share = compile_words(totals), usable_words(totals)
        taken = _tr("{} of compiling").format(taken) if taken else ""
        share = _tr("{} usable here").format(share) if share else ""
        detail, held = "\n".join(filter(None, (taken, share))), say.held(totals.counts)
        name = value_words(dimension, value, titles)
        made.append(Tile((value,), name, totals.bytes, totals.entries, shade, detail, held))
    return made


def apart(places: Sequence[str], titles: Callable[[str], str]) -> dict[str, str]:
    """What each place is called: its title, with the folder it is in where others have the same."""
    named = {place: titles(place) for place in places}
    times = Counter(named.values())
    for place, title in named.items():
        above = os.path.basename(os.path.dirname(place.rstrip("/")))
        if times[title] > 1 and above:
            named[place] = f"{printable(above, 60)}/{title}"
    return named


def further(within: Mapping[str, str]) -> str | None:
    """What is looked at next, once some values are chosen; None where nothing is left."""
    return next((name for name in DIMENSIONS if name not in within), None)


def filter_of(within: Mapping[str, str]) -> str:
    """The filter that shows these entries of a place."""
    kind, torch, verdict = (within.get(name) for name in ("kind", "torch", "verdict"))
    words = (
        f"kind:{kind}" if kind else "",
        f"torch:{torch}" if torch and not any(map(str.isspace, torch)) else "",
        _AGE_FILTERS.get(within.get("age", ""), ""),
        f"is:{verdict}" if verdict else "",
    )
    return " ".join(filter(None, words))


# The parts of an overview as a list, beside the map of the same.

_NAME, _SIZE, _ENTRIES, _COMPILE, _USABLE = range(5)
_VALUE = Qt.ItemDataRole.UserRole
#: Pixels for all columns, and for all but one.
_ALL, _MOST_OF = 440, 350
#: Pixels around the text of a cell, and what is needed for a name after its folder.
_AROUND, _LEAST = 16, 24
#: So many are listed; nobody reads more, and the map has them all.
MOST = 500


class _Names(QStyledItemDelegate):
    """The folder of a name that is cut stays whole: it tells places of one name apart."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: lists.Index) -> None:
        super().initStyleOption(option, index)
        folder, slash, name = option.text.partition("/")
        metrics = option.fontMetrics
        room = option.rect.width() - _AROUND - metrics.horizontalAdvance(folder + slash)
        if slash and _LEAST < room < metrics.horizontalAdvance(name):
            middle = Qt.TextElideMode.ElideMiddle
            option.text = f"{folder}/{metrics.elidedText(name, middle, room)}"


class PartList(QTreeWidget):
    """The parts, the largest first. What is selected here is told like in the map."""

    #: The values that are selected now, by the user.
    chosen = Signal(list)
    #: A value that is to be gone into: a double click, or Enter.
    opened = Signal(str)
    #: Out of what was gone into last: Backspace.
    up = Signal()
    #: A menu for the current part, at a point of the viewport.
    menu_asked = Signal(QPoint)

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(self.tr("The parts, as a list"))
        # The theme draws a ring around the list that has the focus.
        self.setObjectName("parts")
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setHeaderLabels([self.tr("Name"), self.tr("Content"), self.tr("Entries"),
                              self.tr("Compiling"), self.tr("Usable")])  # fmt: skip
        lists.columns(self, (0, 76, 72, 88, 68), _NAME)
        lists.right(self, range(_SIZE, _USABLE + 1))
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setItemDelegateForColumn(_NAME, _Names(self))
        self.itemSelectionChanged.connect(lambda: self.chosen.emit(self.selected()))
        self.itemActivated.connect(lambda item, _: self.opened.emit(str(item.data(0, _VALUE))))

    def show_parts(
        self, dimension: str, some: Sequence[Part], titles: Callable[[str], str]
    ) -> None:
        """List these; what was selected and still is there stays so."""
        kept = set(self.selected())
        self.blockSignals(True)
        self.clear()
        ordered = sorted(some, key=lambda part: -part.totals.bytes)[:MOST]
        for value, totals in ordered:
            item = QTreeWidgetItem(
                [value_words(dimension, value, titles), say.size(totals.bytes),
                 f"{totals.entries:,}", compile_words(totals), usable_words(totals)]
            )  # fmt: skip
            item.setData(0, _VALUE, value)
            # Of a place all of its path; a value of anything else is what filters call it.
            item.setToolTip(_NAME, tip(value if dimension == "place" else item.text(_NAME)))
            for column in range(_SIZE, _USABLE + 1):
                item.setTextAlignment(column, lists.RIGHT)
            self.addTopLevelItem(item)
            item.setSelected(value in kept)
        self.blockSignals(False)

    def selected(self) -> list[str]:
        """The values that are selected."""
        return [str(item.data(0, _VALUE)) for item in self.selectedItems()]

    def select(self, values: Iterable[str]) -> None:
        """Select these; nobody is told."""
        wanted = set(values)
        self.blockSignals(True)
        for item in lists.items(self):
            item.setSelected(str(item.data(0, _VALUE)) in wanted)
        first = next((item for item in lists.items(self) if item.isSelected()), None)
        if first is not None:
            self.scrollToItem(first)
        self.blockSignals(False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # The names come first where there is little room.
        self.setColumnHidden(_COMPILE, self.width() < _ALL)
        self.setColumnHidden(_USABLE, self.width() < _MOST_OF)

    @property
    def current(self) -> str | None:
        """The value of the current part."""
        item = self.currentItem()
        return None if item is None else str(item.data(0, _VALUE))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if self.currentItem() is None and self.topLevelItemCount():
            # The keys and the menu are about something; nothing is selected by that.
            selection = self.selectionModel()
            first = self.model().index(0, 0)
            selection.setCurrentIndex(first, selection.SelectionFlag.NoUpdate)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        at = self.viewport().mapFromGlobal(event.globalPos())
        item = self.currentItem()
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            if item is None:
                return
            at = self.visualItemRect(item).center()
        elif self.itemAt(at) is None:
            return
        self.menu_asked.emit(at)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Backspace:
            self.up.emit()
        else:
            super().keyPressEvent(event)


# The way into an overview: what was gone into, each a button that leads back to it.


class Crumbs(QWidget):
    """Buttons from the outermost on; the last, where one is, is a text."""

    #: How many values are still gone into: 0 for the outermost.
    gone = Signal(int)

    def __init__(self, root: str) -> None:
        super().__init__()
        self._root = root
        self._parts: list[QWidget] = []
        self._line = forms.row(forms.REST, gap=4)
        self.setLayout(self._line)
        self._names: list[str] | None = None
        self.show_path([])

    def show_path(self, names: Sequence[str]) -> None:
        """What was gone into, in this order."""
        if self._names == list(names):
            return
        self._names = list(names)
        for part in self._parts:
            self._line.removeWidget(part)
            part.hide()
            part.deleteLater()
        self._parts = []
        last = len(names)
        for level, name in enumerate([self._root, *names]):
            short = name if len(name) <= 40 else f"{name[:19]}…{name[-20:]}"
            part = forms.label(short, "heading") if level == last else self._button(short, level)
            part.setToolTip(tip(name))
            if level:
                self._parts.append(forms.label("›", "muted"))
            self._parts.append(part)
        if last:
            # As far as the words of a button are from its edge.
            self._parts[-1].setContentsMargins(4, 0, 0, 0)
        for number, part in enumerate(self._parts):
            self._line.insertWidget(number, part)

    @property
    def buttons(self) -> list[QPushButton]:
        """The buttons, the outermost first."""
        return [part for part in self._parts if isinstance(part, QPushButton)]

    @property
    def here(self) -> str:
        """Where one is."""
        last = self._parts[-1]
        return last.text() if isinstance(last, QLabel) else ""

    def _button(self, text: str, level: int) -> QPushButton:
        made = forms.button(caption(text), lambda _=False: self.gone.emit(level))
        made.setObjectName("crumb")
        made.setProperty("link", True)
        made.setAccessibleName(text)
        made.setAccessibleDescription(self.tr("Go back to it"))
        return made
