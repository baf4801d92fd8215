"""The places as a list: each in two lines, under headings where there are many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QPoint, QRect, QSettings, QSize, Qt, Signal
from PySide6.QtGui import QAction, QPainter
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.places.model import Place, PlacesModel, Way
from torchkeeper.gui.sidebar import drawing
from torchkeeper.gui.sidebar.lists import Index, Section, SideList, answer
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.lists import EditingDelegate

if TYPE_CHECKING:
    from PySide6 import QtGui
    from PySide6.QtCore import QModelIndex
    from PySide6.QtWidgets import QStyleOptionViewItem, QToolButton

    from torchkeeper.gui.sidebar.standing import Standing

_tr = partial(QCoreApplication.translate, "PlaceList")
Takes = Callable[[Place], bool]

#: Pixels that a heading is higher than its text, and that two lines have around them.
_HEADING, _AROUND = 14, 20


class PlaceDelegate(EditingDelegate):
    """A place in two lines, under the heading that belongs to it."""

    def __init__(self, view: PlaceList) -> None:
        super().__init__(view)
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        high = option.fontMetrics.height()
        heading = index.data(PlacesModel.HeadingRole)
        return QSize(160, 2 * high + _AROUND + (high + _HEADING if heading else 0))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        place = index.data(PlacesModel.PlaceRole)
        if not isinstance(place, Place):
            return
        shades, metrics = theme.shades(), option.fontMetrics
        painter.save()
        box = _box(option, index)
        if heading := index.data(PlacesModel.HeadingRole):
            line = QRect(box.left() + 8, option.rect.top() + _HEADING - 5, box.width() - 16,
                         metrics.height())  # fmt: skip
            drawing.words(painter, line, str(heading), shades.muted, Qt.TextElideMode.ElideRight)
        chosen = self._view.selectionModel().isSelected(index)
        frame = self._view.frame_of(index)
        drawing.ground(painter, self._view, option, box, chosen, frame, quiet=True)
        at = QRect(box.left() + 8, box.center().y() - 9, 20, 20)
        way: Way = index.data(PlacesModel.WayRole)
        role = "muted" if not place.exists else "text" if place.near else way.role
        drawing.mark(painter, self._view, at, place.icon, role)
        inner = box.adjusted(38, 6, -8, -6)
        first = QRect(inner.left(), inner.top(), inner.width(), metrics.height())
        second = first.translated(0, metrics.height() + 2)
        standing: Standing | None = index.data(PlacesModel.StandingRole)
        self._first(painter, first, index, place, standing)
        self._second(painter, second, place, standing, way)
        if standing is not None and standing.filling is not None:
            bar = QRect(inner.left(), box.bottom() - 5, inner.width(), 3)
            drawing.progress(painter, bar, standing.done)
        painter.restore()

    def _first(
        self, painter: QPainter, line: QRect, index: Index, place: Place, standing: Standing | None
    ) -> None:
        shades = theme.shades()
        if standing is not None:
            line = drawing.at_right(painter, line, standing.held, shades.muted)
        marks = []
        if (beside := index.data(PlacesModel.VerifiedRole)) is not None:
            marks.append((beside.icon, beside.role))
        if index.data(PlacesModel.WarnedRole):
            marks.append(("warning", "warning"))
        if place.read_only:
            marks.append(("lock", "muted"))
        for name, role in marks:
            line = drawing.mark_at_right(painter, self._view, line, name, role)
        drawing.words(painter, line, place.title, shades.text if place.exists else shades.muted,
                      Qt.TextElideMode.ElideMiddle)  # fmt: skip

    def _second(
        self, painter: QPainter, line: QRect, place: Place, standing: Standing | None, way: Way
    ) -> None:
        shades = theme.shades()
        beside, colour = "", shades.muted
        if way.short:
            beside, colour = way.short, shades.warning if way.role == "warning" else colour
        elif not place.exists:
            beside = self.tr("missing")
        elif standing is not None:
            beside = standing.beside
            if place.server and standing.trouble:
                beside = self.tr("unreachable")
            if standing.filling is not None:
                colour = shades.text
            elif standing.trouble or standing.silent or standing.low:
                colour = shades.warning
        line = drawing.at_right(painter, line, beside, colour)
        # Of one on another machine, that comes first.
        cut = Qt.TextElideMode.ElideMiddle if place.near else Qt.TextElideMode.ElideRight
        drawing.words(painter, line, place.about, shades.muted, cut)

    def createEditor(self, parent: QWidget, _: QStyleOptionViewItem, __: Index) -> QWidget:
        made = QLineEdit(parent)
        made.setAccessibleName(self.tr("Name of the server"))
        return made

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> None:
        box = _box(option, index).adjusted(34, 0, 0, 0)
        high = min(editor.sizeHint().height(), box.height())
        editor.setGeometry(box.left(), box.center().y() - high // 2, box.width(), high)


def _box(option: QStyleOptionViewItem, index: Index) -> QRect:
    """Where a place is drawn, below its heading."""
    box = option.rect.adjusted(drawing.EDGE, 1, -drawing.EDGE, -1)
    if index.data(PlacesModel.HeadingRole):
        box.setTop(box.top() + option.fontMetrics.height() + _HEADING)
    return box


class PlaceList(SideList):
    """Rows of its own window are taken as ``expect`` says, files and texts as ``offers`` says."""

    #: Another place, or none, is under what is dragged.
    aimed = Signal()
    #: The rows were dropped on the place with this path.
    landed = Signal(str)
    #: Somebody wants the chosen place to stand higher, with -1, or lower, with 1.
    shifting = Signal(int)

    def __init__(self) -> None:
        super().__init__("places", _tr("Places"))
        self.keys = frozenset({Qt.Key.Key_Delete, Qt.Key.Key_F2, Qt.Key.Key_C})
        self._takes: Takes | None = None
        #: The place under the pointer, if it takes what is dragged; and if it does not.
        self.aim: Place | None = None
        self.refusing: Place | None = None
        self.setItemDelegate(PlaceDelegate(self))

    def aimed_at(self, index: Index) -> bool:
        """Whether what is dragged would land on a place."""
        if self.aim is not None and index.data(PlacesModel.PlaceRole) == self.aim:
            return True
        return super().aimed_at(index)

    def under(self, at: QPoint) -> QModelIndex:
        """The place at a point of the viewport; none where its heading is."""
        index = self.indexAt(at)
        high = self.fontMetrics().height() + _HEADING
        heading = index.data(PlacesModel.HeadingRole)
        if heading and at.y() < self.visualRect(index).top() + high:
            return self.model().index(-1, 0)
        return index

    def expect(self, takes: Takes | None) -> None:
        """Rows of the window are dragged from now on, which these places take; None: no longer."""
        self._takes = takes
        self.point(None)

    def point(self, at: QPoint | None) -> None:
        """The pointer is at this point of the viewport; None: elsewhere."""
        aim = refusing = None
        if at is not None and self._takes is not None and self.visibleRegion().contains(at):
            self.scroll_near(at)
            place = self.under(at).data(PlacesModel.PlaceRole)
            if isinstance(place, Place):
                aim, refusing = (place, None) if self._takes(place) else (None, place)
        if (aim, refusing) != (self.aim, self.refusing):
            self.aim, self.refusing = aim, refusing
            self.viewport().update()
            self.aimed.emit()

    def dragEnterEvent(self, event: QtGui.QDragEnterEvent) -> None:
        if self._takes is None:
            super().dragEnterEvent(event)
        else:
            # Also where the place under it takes nothing: another is a move away.
            event.accept()
            self.point(event.position().toPoint())

    def dragMoveEvent(self, event: QtGui.QDragMoveEvent) -> None:
        if self._takes is None:
            super().dragMoveEvent(event)
        else:
            self.point(event.position().toPoint())
            answer(event, self.aim is not None)

    def dragLeaveEvent(self, event: QtGui.QDragLeaveEvent) -> None:
        if self._takes is None:
            super().dragLeaveEvent(event)
        else:
            self.point(None)
            event.accept()

    def dropEvent(self, event: QtGui.QDropEvent) -> None:
        if self._takes is None:
            super().dropEvent(event)
            return
        self.point(event.position().toPoint())
        answer(event, self.aim is not None)
        if self.aim is not None:
            self.landed.emit(self.aim.path)

    def keyPressEvent(self, event: QtGui.QKeyEvent) -> None:
        by = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if by is not None and event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self.shifting.emit(by)
        else:
            super().keyPressEvent(event)


class PlacesPane(Section):
    """The list of places and the button that adds one."""

    chosen = Signal(str)
    #: Somebody wants to see what the chosen place holds.
    picked = Signal()

    def __init__(self, model: PlacesModel, settings: QSettings | None = None) -> None:
        super().__init__("places", _tr("Places"), settings)
        self._model = model
        self.list = PlaceList()
        self.list.hold(model)
        # Not the current item: a list that gets the focus makes its first item current.
        self.list.selectionModel().selectionChanged.connect(lambda *_: self._chosen())
        self.list.clicked.connect(lambda *_: self.picked.emit())
        self.list.activated.connect(lambda *_: self.picked.emit())
        self.body.addWidget(self.list)
        self._none: QLabel | None = None
        self._known = False
        self.add_button: QToolButton | None = None
        theme.follow(self, model.repaint)

    @property
    def place(self) -> Place | None:
        """The chosen place."""
        chosen = self.list.selectionModel().selectedIndexes()
        return self._model.place_at(chosen[0]) if chosen else None

    def offer(self, tip: str, choices: Sequence[QAction]) -> QToolButton:
        """What can be added."""
        self.add_button = super().offer(tip, choices)
        self._model.rowsInserted.connect(lambda *_: self._tell())
        self._model.rowsRemoved.connect(lambda *_: self._tell())
        self._tell()
        return self.add_button

    def listed(self) -> None:
        """It is known which places there are."""
        self._known = True
        self._tell()

    def _tell(self) -> None:
        empty = not self._model.rowCount()
        if empty and self._none is None:
            self._none = forms.label("", "muted", wrap=True)
            self._none.setContentsMargins(16, 0, 16, 8)
            self.body.addWidget(self._none)
        if self._none is not None:
            known = self.tr("No cache is known yet. Drop a folder here, or add one with +.")
            self._none.setText(known if self._known else self.tr("Looking for caches…"))
            self._none.setVisible(empty)

    def choose(self, path: str) -> None:
        if (row := self._model.row_of(path)) >= 0:
            self.list.setCurrentIndex(self._model.index(row))

    def rename(self) -> None:
        """Have the user call the chosen server otherwise, where it stands."""
        if (place := self.place) is not None and place.server:
            self.fold.setChecked(True)
            self.list.edit(self.list.selectionModel().selectedIndexes()[0])

    def _chosen(self) -> None:
        place = self.place
        self.chosen.emit(place.path if place else "")
