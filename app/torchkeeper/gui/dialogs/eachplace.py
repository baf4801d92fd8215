"""The choice that each cache of bundles goes to where this machine has it, and what that means."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QWidget

from torchkeeper.client import homes
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.widgets import forms, lists
from torchkeeper.stores.caches import PYTORCH

if TYPE_CHECKING:
    from torchkeeper.engine.messages import bundles as messages

#: Rows that are seen at once.
_ROWS = 4


class EachPlace(QWidget):
    """It is offered where bundles hold entries of others than PyTorch."""

    changed = Signal()

    def __init__(self, engines: Engines, read_only: Collection[str]) -> None:
        """read_only: places in which nothing is changed."""
        super().__init__()
        self._asked, self._read_only = Latest(engines, self), read_only
        self.rows: list[messages.CacheRow] = []
        self.box = QCheckBox(self.tr("Each cache to its own &place"))
        self.box.toggled.connect(self._turn)
        names = self.tr("Cache"), self.tr("Folder"), self.tr("Why")
        headings = [*names, self.tr("Entries"), self.tr("Size")]
        self.table = lists.Table(self.tr("Where each cache goes"), headings)
        lists.columns(self.table, (96, 0, 240, 64, 76), 1)
        lists.right(self.table, (3, 4))
        self.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.table.hide()
        self.setLayout(forms.column(self.box, self.table))
        self.hide()

    @property
    def on(self) -> bool:
        """Whether it is offered and wanted."""
        return not self.isHidden() and self.box.isChecked()

    @property
    def going(self) -> list[messages.CacheRow]:
        """The caches that go somewhere."""
        return [row for row in self.rows if row["into"]]

    @property
    def why_not(self) -> str:
        """Why they cannot go there; empty where they can."""
        if not self.going:
            return self.tr("Nothing on this machine says where these caches are.")
        if bad := next((row for row in self.going if row["into"] in self._read_only), None):
            said = self.tr("{} is read-only: nothing is changed in it.")
            return said.format(printable(str(bad["into"])))
        return ""

    @property
    def words(self) -> str:
        """What goes, and what stays."""
        stay = sum(row["entries"] for row in self.rows) - sum(row["entries"] for row in self.going)
        text = self.tr("{} go to where this machine has them; what is there stays")
        text = text.format(say.count(len(self.going), "cache", "caches"))
        stays = self.tr("{} without a place here").format(say.count(stay, "entry", "entries"))
        return f"{text} · {stays}" if stay else text

    def look(self, files: Sequence[str]) -> None:
        """Ask what caches these files are of, and where they are."""
        if files:
            params: messages.CachesParams = {"files": list(files)}
            heard = Listener(result=self._found, failed=self._failed)
            self._asked.ask(protocol.CACHES, params, heard)

    def offer(self, here: bool) -> None:
        """here: whether it is this machine that entries go to."""
        self.setHidden(not here or all(row["cache"] == PYTORCH for row in self.rows))

    def _failed(self, _: UserError) -> None:
        self.rows = []
        self.changed.emit()

    def _found(self, found: messages.CachesResult) -> None:
        self.rows = found["caches"]
        self.table.clear()
        for row in self.rows:
            texts = row["cache"], printable(row["into"] or "–", 4096), homes.why(row)
            size = f"{row['entries']:,}", say.size(row["bytes"])
            item = lists.line([*texts, *size], numbers=(3, 4), tips=(1, 2))
            item.setDisabled(not row["into"])
            self.table.addTopLevelItem(item)
        self.table.setFixedHeight(36 + 26 * min(max(len(self.rows), 1), _ROWS))
        self.changed.emit()

    def _turn(self) -> None:
        self.table.setVisible(self.box.isChecked())
        self.changed.emit()
