"""What is dropped: files on windows and dialogs, and rows of the table on the list of places."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QListView

from torchkeeper.gui.places import Place, PlacesModel

if TYPE_CHECKING:
    from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent

Takes = Callable[[Place], bool]


def files_of(event: QDropEvent) -> list[str]:
    """The paths of the files of this machine that are dragged."""
    return [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]


class PlaceList(QListView):
    """A list of places that shows which of them would take what is dragged.

    Only rows of its own window are taken; whatever else is dragged is for the window.
    """

    #: Another place, or none, is under what is dragged.
    aimed = Signal()
    #: The rows were dropped on the place with this path.
    landed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._takes: Takes | None = None
        #: The place under the pointer, if it takes what is dragged; and if it does not.
        self.aim: Place | None = None
        self.refusing: Place | None = None
        self.setAcceptDrops(True)

    def expect(self, takes: Takes | None) -> None:
        """Rows of the window are dragged from now on, which these places take; None: no longer."""
        self._takes = takes
        self.point(None)

    def point(self, at: QPoint | None) -> None:
        """The pointer is at this point of the viewport; None: elsewhere."""
        aim = refusing = None
        if at is not None and self._takes is not None and self.viewport().rect().contains(at):
            place = self.indexAt(at).data(PlacesModel.PlaceRole)
            if isinstance(place, Place):
                aim, refusing = (place, None) if self._takes(place) else (None, place)
        if (aim, refusing) != (self.aim, self.refusing):
            self.aim, self.refusing = aim, refusing
            self.viewport().update()
            self.aimed.emit()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self._takes is None:
            event.ignore()
        else:
            # Also where the place under it takes nothing: another is a move away.
            event.accept()
            self.point(event.position().toPoint())

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self.point(event.position().toPoint())
        self._answer(event)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.point(None)
        event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        self.point(event.position().toPoint())
        place = self.aim
        self._answer(event)
        if place is not None:
            self.landed.emit(place.path)

    def _answer(self, event: QDropEvent) -> None:
        if self.aim is None:
            event.ignore()
        else:
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
