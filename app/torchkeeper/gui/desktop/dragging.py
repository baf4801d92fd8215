"""Dragging rows out of the table, as a bundle that an engine writes while the button is held; when
it is there the drag begins, a button let go of before cancels it all. On the window's own places
they can be dropped at any time: the list hears of the pointer from the table, then from the drag.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QObject, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QColor, QCursor, QPainter, QPixmap
from PySide6.QtWidgets import QApplication

from torchkeeper.artifacts.entry import Entry
from torchkeeper.client.engines import ferry
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.engine.protocol import EXPORT
from torchkeeper.gui import theme
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.jobs.model import Selection
from torchkeeper.gui.places.model import Place, machine_of
from torchkeeper.gui.sidebar.placelist import PlaceList
from torchkeeper.gui.table import mimedata
from torchkeeper.gui.table.view import EntryTable

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import Builders, ExportParams, ExportResult

_tr = partial(QCoreApplication.translate, "DragOut")

#: Milliseconds for which it is said how a drag that came to nothing has ended.
_LAST_WORD_MS = 8000


class DragOut(QObject):
    """Writes a bundle of the rows that are dragged, and offers it."""

    #: What is going on, in words (empty when it is over), and for how many milliseconds that is of
    #: interest: 0 for as long as nothing else is said.
    said = Signal(str, int)
    failed = Signal(object)
    #: Rows are being dragged: what is to follow is ``begin``.
    asked = Signal()
    #: They were dropped on the place with this path.
    dropped = Signal(str)
    #: As of ``_progress``.
    _carried = Signal(object, object, str)

    def __init__(self, table: EntryTable, engines: Engines, places: PlaceList) -> None:
        """places: the list of the sidebar, on which rows can be dropped at any time."""
        super().__init__(table)
        self._table, self._places = table, places
        self._onto = ""
        #: Whether a part of the window has taken the entries: nobody has the bundle then.
        self.taken_here = False
        self._told = b""
        self._count = ""
        self._waits = False
        #: Why there will be no bundle, while the button is held; empty where there may be one.
        self._lost_to = ""
        self._engines = engines
        self._ticket: int | None = None
        self._folder = ""
        self._held = False
        self._carried.connect(self._progress)
        table.dragged.connect(self._dragged)
        table.drag_moved.connect(self._moved)
        table.let_go.connect(self.let_go)
        table.given_up.connect(self._give_up)
        places.aimed.connect(self._aimed)
        places.landed.connect(self._landed)

    @property
    def preparing(self) -> bool:
        """Whether a bundle is being written."""
        return self._ticket is not None

    def _dragged(self) -> None:
        # One at a time: one that was let go of is first cleaned up.
        if self._ticket is None and not self._held:
            self.asked.emit()

    def begin(
        self, place: str, entries: Sequence[Entry], name: str, builders: Builders | None = None
    ) -> None:
        """Have a bundle written; it is offered if the button is still held then."""
        self._held = self._waits = True
        self._lost_to = ""
        self._count = say.count(len(entries), "entry", "entries")
        self._told = mimedata.told(place, entries)
        self._places.expect(lambda other: other.takes and other.exists and other.path != place)
        self._aimed()

        def ready(folder: str) -> None:
            self._ticket, self._folder = None, folder
            if not self._held:
                self._clean()
                return
            if machine := machine_of(place):
                self._ticket = self._look(write, ferry.name, machine)
            else:
                write(os.path.join(folder, name))

        def write(output: str) -> None:
            selection = Selection.of(entries)
            params: ExportParams = {"place": place, "output": output, "select": selection.select}
            params["builders"] = builders
            hears = Listener(progress=self._progress, failed=self._lost, cancelled=self._clean)
            listener = hears._replace(result=partial(written, output))
            self._ticket = self._engines.ask(EXPORT, params, listener, hold=selection.hold)

        def written(made: str, told: ExportResult) -> None:
            here = os.path.join(self._folder, name)
            if made == here:
                self._offer(here)
            else:  # it comes here
                how = made, here, told["size"], True, self._come
                self._ticket = self._look(lambda _: self._offer(here), ferry.fetch, *how)

        self._ticket = self._engines.scratch("drag", Listener(result=ready, failed=self._lost))

    def _look(self, then: Callable[[Any], None], what: Callable[..., object], *of: object) -> int:
        hears = Listener(result=then, failed=self._lost, cancelled=self._clean)
        return self._engines.background(hears, what, *of)

    def _come(self, done: int, total: int) -> None:
        """So much has come here, in another thread."""
        if not self._held:
            raise user_error("cancelled", {})
        self._carried.emit(done, total, "bytes")

    def _progress(self, done: float, total: float | None, unit: str) -> None:
        if self._held and unit == "bytes" and total and self._places.aim is None:
            text = self.tr("Preparing a bundle, {} of {}: keep holding the button…")
            self.said.emit(text.format(say.size(done), say.size(total)), 0)

    def _lost(self, error: UserError) -> None:
        self._waits = False
        self._clean()
        if error.code == "secrets-found":
            # A drag asks nothing.
            error = user_error("dragged-secrets", error.params)
        # Where it is let go of, what it was let go of for is said again.
        self._lost_to = error.what
        self._quiet()
        self._aimed()
        self.failed.emit(error)

    def _moved(self, at: QPoint) -> None:
        if self._held:
            self._places.point(self._places.viewport().mapFromGlobal(at))

    def _aimed(self) -> None:
        if not self._held:
            return
        aim = self._places.aim
        shape = Qt.CursorShape.BusyCursor if aim is None else Qt.CursorShape.DragCopyCursor
        if self._places.refusing is not None:
            shape = Qt.CursorShape.ForbiddenCursor
        if self._waits:
            self._table.viewport().setCursor(shape)
        if aim is not None:
            text = self.tr("Drop to copy {} to {}: you are asked first")
            self.said.emit(text.format(self._count, aim.title), 0)
        elif (refusing := self._places.refusing) is not None:
            self.said.emit(why_not(refusing), 0)
        elif self._waits:
            text = self.tr("Preparing a bundle of {}: keep holding the button…")
            self.said.emit(text.format(self._count), 0)
        else:
            self.said.emit(self._lost_to, 0)

    def take_here(self) -> None:
        """Note that a part of the window has taken the entries."""
        self.taken_here = True

    def _landed(self, path: str) -> None:
        self._onto = path

    def _give_up(self) -> None:
        self._places.expect(None)
        self.let_go()

    def let_go(self) -> None:
        """The button is no longer held."""
        if not self._held:
            return
        onto, refusing = self._places.aim, self._places.refusing
        self._held = False
        self._places.expect(None)
        if self._ticket is not None and self._folder:
            # The engine removes what it has written before it says that it was cancelled.
            self._engines.cancel(self._ticket)
        if onto is not None:
            self._quiet()
            self.dropped.emit(onto.path)
            return
        early = self.tr(
            "You dropped before the bundle was ready: nothing was written. Export writes a bundle "
            "in the background."
        )
        self._quiet(why_not(refusing) if refusing is not None else self._lost_to or early)

    def _quiet(self, last_word: str = "") -> None:
        self._table.viewport().unsetCursor()
        self.said.emit(last_word, _LAST_WORD_MS)

    def _clean(self) -> None:
        self._ticket = None
        folder, self._folder = self._folder, ""
        if folder:
            self._engines.discard(folder)

    def _offer(self, output: str) -> None:
        self._ticket = None
        self._waits = False
        if not self._held:
            self._clean()
            return
        self._quiet()
        # Only here: what few windows need, none should wait for.
        from PySide6.QtCore import QMimeData, QUrl
        from PySide6.QtGui import QDrag

        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(output)])
        data.setData(mimedata.FORMAT, self._told)
        drag = QDrag(self._table)
        drag.setMimeData(data)
        drag.setPixmap(picture(self._count, self._table.devicePixelRatioF()))
        self._onto, self.taken_here = "", False
        dropped = drag.exec(Qt.DropAction.CopyAction)
        # Whoever refuses is told that the pointer has left, and hears of no drop.
        self._places.point(self._places.viewport().mapFromGlobal(QCursor.pos()))
        refusing = self._places.refusing
        self._held = False
        self._places.expect(None)
        self._table.end_drag()
        if self._onto or self.taken_here:
            # What is copied are the entries; nobody has the bundle.
            self._clean()
            self._quiet()
            if self._onto:
                self.dropped.emit(self._onto)
        elif dropped == Qt.DropAction.IgnoreAction:
            self._clean()
            nowhere = self.tr("Nothing there takes a file: nothing was written.")
            self._quiet(nowhere if refusing is None else why_not(refusing))
        else:
            # Whoever took it may still be copying: it goes with the window.
            self._folder = ""


def why_not(place: Place) -> str:
    """Why rows cannot be dropped on a place."""
    if place.bundle:
        text = _tr("{} is a bundle: Copy to… writes a new one")
    elif place.read_only:
        text = _tr("{} is read-only: nothing is copied to it")
    elif not place.exists:
        text = _tr("{} does not exist: Copy to… creates the folder")
    else:
        text = _tr("These entries are in {} already")
    return text.format(place.title)


def picture(text: str, scale: float) -> QPixmap:
    """A label that goes with the pointer."""
    shades = theme.shades()
    made = QPixmap(round(180 * scale), round(30 * scale))
    made.setDevicePixelRatio(scale)
    made.fill(Qt.GlobalColor.transparent)
    box = QRect(0, 0, 180, 30)
    with QPainter(made) as painter:
        theme.rounded(painter, box, 6, shades.accent)
        painter.setFont(QApplication.font())
        painter.setPen(QColor(shades.on_accent))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
    return made
