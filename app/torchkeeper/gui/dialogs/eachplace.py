"""The choice that each cache of bundles goes to where a machine has it, and what that means: where
each goes, and what of it is new there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QWidget

from torchkeeper.client import homes
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.jobs.bundles import Naming
from torchkeeper.gui.places.model import host_of
from torchkeeper.gui.widgets import forms, lists
from torchkeeper.stores.caches import PYTORCH

if TYPE_CHECKING:
    from torchkeeper.engine.messages import bundles as messages
    from torchkeeper.engine.messages.entries import CompareParams, CompareResult

#: Rows that are seen at once; columns of what is new, and of what is there.
_ROWS, _NEW, _THERE = 4, 4, 5
_OUTCOMES: tuple[Literal["new", "there"], ...] = ("new", "there")


class EachPlace(QWidget):
    """It is offered where bundles hold entries of others than PyTorch."""

    changed = Signal()

    def __init__(self, engines: Engines, read_only: Collection[str]) -> None:
        """read_only: places in which nothing is changed."""
        super().__init__()
        self._asked, self._read_only = Latest(engines, self), read_only
        self._comparing = Latest(engines, self)
        #: Which caches there are, and where each goes: of a machine, once the files are there.
        self.rows: list[messages.CacheRow] = []
        #: Of what machine, files and environment they are.
        self._of: tuple[str, tuple[str, ...], Naming | None] | None = None
        self._machine = ""
        #: How many entries are new and how many there already, by cache; None where nobody knows.
        self.compared: dict[str, tuple[int, int] | None] = {}
        self._to_compare: Iterator[messages.CacheRow] = iter(())
        self.box = QCheckBox(self.tr("Each cache to its own &place"))
        self.box.toggled.connect(self._turn)
        names = self.tr("Cache"), self.tr("Folder"), self.tr("Why")
        headings = [*names, self.tr("Entries"), self.tr("New"), self.tr("There")]
        self.table = lists.Table(self.tr("Where each cache goes"), headings)
        lists.columns(self.table, (88, 0, 160, 60, 52, 56), 1)
        lists.right(self.table, (3, _NEW, _THERE))
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
        return [row for row in self.rows if row["into"]] if self.known else []

    @property
    def known(self) -> bool:
        """Whether it is known where they are on the machine that is meant."""
        return self._of is not None and self._of[0] == self._machine

    @property
    def wanted(self) -> list[messages.CacheRow]:
        """Those of which something is new there, as far as that is known."""
        found = ((row, self.compared.get(row["cache"])) for row in self.going)
        return [row for row, news in found if news is None or news[0]]

    @property
    def new(self) -> int:
        """How many entries are new in their places."""
        return sum(news[0] for news in self.compared.values() if news)

    @property
    def _named(self) -> str:
        return host_of(self._machine) if self._machine else self.tr("this machine")

    @property
    def why_not(self) -> str:
        """Why they cannot go there; empty where they can."""
        if not self.known:
            said = self.tr("Where these caches are on {} is known once the files are there.")
            return said.format(self._named)
        if not self.going:
            return self.tr("Nothing on {} says where these caches are.").format(self._named)
        if bad := next((row for row in self.going if row["into"] in self._read_only), None):
            said = self.tr("{} is read-only: nothing is changed in it.")
            return said.format(printable(str(bad["into"])))
        if len(self.compared) < len(self.going):
            return self.tr("Comparing with what is there…")
        return "" if self.wanted else self.tr("Nothing is new in these places.")

    @property
    def words(self) -> str:
        """What goes, and what stays."""
        if not self.known:
            return ""
        stay = sum(row["entries"] for row in self.rows) - sum(row["entries"] for row in self.going)
        text = self.tr("{} go to where {} has them; what is there stays")
        text = text.format(say.count(len(self.going), "cache", "caches"), self._named)
        if self.going and len(self.compared) == len(self.going):
            there = sum(news[1] for news in self.compared.values() if news)
            text += " · " + self.tr("{} new, {} there already").format(
                f"{self.new:,}", f"{there:,}"
            )
        stays = self.tr("{} without a place here").format(say.count(stay, "entry", "entries"))
        return f"{text} · {stays}" if stay else text

    def look(self, machine: str, files: Sequence[str], naming: Naming | None) -> None:
        """Ask what caches these files are of, which are on a machine, and where it has them.
        naming: the names that an environment there gives to objects.
        """
        of = machine, tuple(files), naming
        if not files or of == self._of:
            return
        self._of = of
        self._forget()
        params: messages.CachesParams = {"files": list(files)}
        heard = Listener(result=self._found, failed=self._failed)
        self._asked.ask(protocol.CACHES, params, heard)

    def offer(self, machine: str) -> None:
        """machine: that which entries go to."""
        if machine != self._machine:
            self._machine = machine
            self._fill()
        self.setHidden(all(row["cache"] == PYTORCH for row in self.rows))

    def _forget(self) -> None:
        self._comparing.forget()
        self._to_compare, self.compared = iter(()), {}

    def _failed(self, _: UserError) -> None:
        self.rows = []
        self._fill()
        self.changed.emit()

    def _found(self, found: messages.CachesResult) -> None:
        assert self._of is not None
        self.rows = homes.named(self._of[0], found["caches"])
        self._fill()
        self._compare()
        self.changed.emit()

    def _compare(self) -> None:
        """Find out what is new in each place, one after the other."""
        if self.on and self.known and not self.compared:
            self._to_compare = iter(self.going)
            self._next()

    def _next(self) -> None:
        row = next(self._to_compare, None)
        if row is None or self._of is None:
            return

        def told(found: CompareResult | None) -> None:
            if found is None:
                self.compared[row["cache"]] = None
            else:
                counts = [sum(one[of]["entries"] for one in found["files"]) for of in _OUTCOMES]
                self.compared[row["cache"]] = counts[0], counts[1]
            self._fill()
            self._next()
            self.changed.emit()

        _, files, naming = self._of
        params: CompareParams = {"files": list(files), "into": str(row["into"]),
                                 "cache": row["cache"], "rows": False}  # fmt: skip
        if naming is not None:
            params["env"] = naming.python
        before = () if naming is None else naming.before
        heard = Listener(result=told, failed=lambda _: told(None))
        self._comparing.ask(protocol.COMPARE, params, heard, before=before)

    def _fill(self) -> None:
        self.table.clear()
        if not self.known:
            return
        for row in self.rows:
            texts = row["cache"], printable(row["into"] or "–", 4096), homes.why(row)
            count = f"{row['entries']:,}"
            news = self.compared.get(row["cache"])
            told = ["", ""] if news is None else [f"{n:,}" for n in news]
            item = lists.line([*texts, count, *told], numbers=(3, _NEW, _THERE), tips=(1, 2))
            item.setDisabled(not row["into"])
            self.table.addTopLevelItem(item)
        self.table.setFixedHeight(36 + 26 * min(max(len(self.rows), 1), _ROWS))

    def _turn(self) -> None:
        self.table.setVisible(self.box.isChecked())
        self._compare()
        self.changed.emit()
