"""The places of a machine beside the one that is exported, of which some go into the same file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QTreeWidgetItem, QWidget

from torchkeeper.client.engines import far
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.places.model import Place, host_of, machine_of
from torchkeeper.gui.widgets import forms, lists

if TYPE_CHECKING:
    from torchkeeper.engine.messages.places import DuParams, DuResult, PlacesRow

#: Rows that are seen at once; columns of the table.
_ROWS = 5
_PATH, _ENTRIES, _SIZE = 1, 2, 3
_ON, _OFF = Qt.CheckState.Checked, Qt.CheckState.Unchecked


class OtherPlaces(QWidget):
    """Those on the list, and those that are found where programs look for their caches; how much is
    in each is told as it is found out.
    """

    #: Other places are ticked, or there are others.
    changed = Signal()

    def __init__(self, engines: Engines, place: str, places: Sequence[Place]) -> None:
        """place: the one that is exported; places: others on its machine."""
        super().__init__()
        self._place, self._machine = place, machine_of(place)
        self._sizes = Latest(engines, self)
        self._places: list[Place] = []
        self._rows: list[PlacesRow] = []
        self._asking: Iterator[int] = iter(())
        host = host_of(self._machine) if self._machine else self.tr("this machine")
        text = self.tr("Everything a server &needs: all caches of {}").format(host)
        self.server = QCheckBox(text)
        self.server.clicked.connect(self._take_caches)
        self.all = forms.button(self.tr("Select a&ll"), self._take_all, enter=False)
        headings = [self.tr("Place"), self.tr("Path or address"), self.tr("Entries"),
                    self.tr("Size")]  # fmt: skip
        self.table = lists.Table(self.tr("Other places that go into the same file"), headings)
        lists.columns(self.table, (180, 0, 72, 88), _PATH)
        lists.right(self.table, (_ENTRIES, _SIZE))
        self.table.itemChanged.connect(self._ticked)
        self.setLayout(forms.column(forms.row((self.server, 1), self.all), self.table, 4))
        self._add(places)
        if self._machine:
            listener = Listener(rows=self._rows.extend, result=self._found)
            Latest(engines, self).ask(protocol.PLACES, {}, listener, python=self._machine)
        else:
            self._ask_sizes()

    @property
    def ticked(self) -> tuple[str, ...]:
        """The paths of those that go along."""
        return tuple(self._places[row].path for row in self._taken(range(len(self._places))))

    def items(self) -> list[QTreeWidgetItem]:
        return self.table.items()

    def _add(self, places: Sequence[Place]) -> None:
        blocker = QSignalBlocker(self.table)
        for place in places:
            self._places.append(place)
            texts = printable(place.title, 60), printable(place.path, 4096), "", ""
            item = lists.line(texts, numbers=(_ENTRIES, _SIZE), tips=(_PATH,))
            item.setCheckState(0, _OFF)
            self.table.addTopLevelItem(item)
        blocker.unblock()
        self.table.setFixedHeight(36 + 26 * max(1, min(len(self._places), _ROWS)))
        self.setHidden(not self._places)
        self._say()

    def _found(self, _: object) -> None:
        """What is there besides those on the list."""
        known = {self._place, *(one.path for one in self._places)}
        there = [row["path"] for row in far.placed(self._machine, self._rows) if row["exists"]]
        new = [path for path in there if machine_of(path) == self._machine and path not in known]
        self._add([Place(path) for path in new])
        self._ask_sizes()

    def _ask_sizes(self) -> None:
        self._asking = iter(range(len(self._places)))
        self._next()

    def _next(self) -> None:
        """Ask how much is in the next one. A server would have to be asked for a password."""
        row = next((n for n in self._asking if not self._places[n].server), None)
        if row is None:
            return

        def told(found: DuResult) -> None:
            entries = sum(kind["entries"] for kind in found["kinds"])
            size = sum(kind["bytes"] for kind in found["kinds"])
            blocker = QSignalBlocker(self.table)
            item = self.items()[row]
            item.setText(_ENTRIES, f"{entries:,}")
            item.setText(_SIZE, say.size(size))
            blocker.unblock()
            self.table.viewport().update()
            self._next()

        params: DuParams = {"place": self._places[row].path}
        self._sizes.ask(protocol.DU, params, Listener(result=told, failed=lambda _: self._next()))

    @property
    def _caches(self) -> list[int]:
        """The rows of folders: bundles were made of such, and a server is not a machine's own."""
        every = enumerate(self._places)
        return [row for row, one in every if not (one.server or one.bundle)]

    def _taken(self, rows: Sequence[int]) -> list[int]:
        items = self.items()
        return [row for row in rows if items[row].checkState(0) is _ON]

    def _take_caches(self, on: bool) -> None:
        self._take(self._caches, on)

    def _take_all(self) -> None:
        every = range(len(self._places))
        self._take(every, len(self._taken(every)) < len(every))

    def _take(self, rows: Sequence[int], on: bool) -> None:
        blocker = QSignalBlocker(self.table)
        for row in rows:
            self.items()[row].setCheckState(0, _ON if on else _OFF)
        blocker.unblock()
        self.table.viewport().update()
        self._ticked()

    def _ticked(self, *_: object) -> None:
        self._say()
        self.changed.emit()

    def _say(self) -> None:
        caches, every = self._caches, range(len(self._places))
        self.server.setChecked(bool(caches) and len(self._taken(caches)) == len(caches))
        self.server.setVisible(bool(caches))
        whole = bool(every) and len(self._taken(every)) == len(every)
        self.all.setText(self.tr("Select n&one") if whole else self.tr("Select a&ll"))
