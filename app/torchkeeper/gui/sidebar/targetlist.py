"""The targets of fleets as a list: machines, groups of them, and clusters."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractListModel, QCoreApplication, Qt
from PySide6.QtGui import QPainter

from torchkeeper.client.kept.targets import Kept
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.pages.glossary import explain
from torchkeeper.gui.places import targets as words
from torchkeeper.gui.places.targets import Targets
from torchkeeper.gui.sidebar import drawing
from torchkeeper.gui.sidebar.lists import Index, Section, SideList
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from PySide6.QtCore import QObject, QSettings
    from PySide6.QtWidgets import QStyleOptionViewItem

_tr = partial(QCoreApplication.translate, "TargetList")
_ICONS = {"host": "machine", "group": "group", "other": "fleet"}


class TargetItems(QAbstractListModel):
    """The targets that are kept, in their order."""

    TargetRole = Qt.ItemDataRole.UserRole + 1

    def __init__(self, targets: Targets, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._targets = targets
        self._every = list(targets.every)
        targets.changed.connect(self._renew)

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._every)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._every):
            return None
        one = self._every[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return words.title(one.name)
        if role == TargetItems.TargetRole:
            return one
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip("\n".join((printable(one.name, 200), words.about(one))))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{words.title(one.name)}, {words.about(one)}"
        return None

    def _renew(self) -> None:
        every = list(self._targets.every)
        if every != self._every:
            self.beginResetModel()
            self._every = every
            self.endResetModel()


class TargetDelegate(drawing.TwoLines):
    """A target in two lines: its name, and what it is."""

    def __init__(self, view: TargetList) -> None:
        super().__init__(view)
        self._view = view

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        one = index.data(TargetItems.TargetRole)
        if not isinstance(one, Kept):
            return
        shades = theme.shades()
        box, at, first, second = self.rooms(option)
        painter.save()
        chosen = self._view.selectionModel().isSelected(index)
        frame = self._view.frame_of(index)
        drawing.ground(painter, self._view, option, box, chosen, frame, quiet=True)
        drawing.mark(painter, self._view, at, _ICONS.get(one.kind, "machine"), "text")
        cut = Qt.TextElideMode.ElideRight
        drawing.words(painter, first, words.title(one.name), shades.text, cut)
        drawing.words(painter, second, words.about(one), shades.muted, cut)
        painter.restore()


class TargetList(SideList):
    """The targets; Delete takes one off the list."""

    def __init__(self, targets: Targets) -> None:
        super().__init__("targets", _tr("Fleet targets"))
        self.keys = frozenset({Qt.Key.Key_Delete, Qt.Key.Key_C})
        self.items = TargetItems(targets, self)
        self.setItemDelegate(TargetDelegate(self))
        self.hold(self.items)

    @property
    def current(self) -> Kept | None:
        """The one at the keyboard, or that was clicked last."""
        one = self.currentIndex().data(TargetItems.TargetRole)
        return one if isinstance(one, Kept) else None


class TargetsPane(Section):
    """The list of targets, and the button that adds one."""

    def __init__(self, targets: Targets, settings: QSettings) -> None:
        super().__init__("targets", _tr("Fleet"), settings)
        self._targets = targets
        explain(self, "fleet")
        self.list = TargetList(targets)
        self.note = forms.label("", "muted", wrap=True)
        self.note.setContentsMargins(16, 0, 16, 8)
        forms.add(self.body, self.list, self.note)
        targets.changed.connect(self._say)
        self._say()

    def _say(self) -> None:
        none = self._targets.read and not self._targets.every
        text = _tr("No other machines yet. Add one with +, as ssh://host.") if none else ""
        forms.tell(self.note, text)
