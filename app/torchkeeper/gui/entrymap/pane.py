"""The map over the table: where one is in it, and the tiles; it and the table show one selection.

Nothing goes round in a circle: the map hears of what is selected from the table alone, and tells
the table only what the user does on it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QWidget

from torchkeeper.gui.entrymap import gathering
from torchkeeper.gui.entrymap.gathering import Shown
from torchkeeper.gui.entrymap.marking import Marks, marked
from torchkeeper.gui.later import once
from torchkeeper.gui.table.grouping import Group, Name
from torchkeeper.gui.table.slices import Slices, T, Work
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.gui.treemap.tiles import MOST, Key
from torchkeeper.gui.treemap.view import Treemap
from torchkeeper.gui.widgets import forms
from torchkeeper.link.words import say

#: Milliseconds after a change of the table before the map is made anew. While entries arrive it is
#: left alone so many times as long as that took, and so many seconds at most.
_SOON_MS, _REST, _LONGEST = 60, 6, 1.0


class Level(NamedTuple):
    """Where one is: in a group or not, and after how many of its largest entries."""

    inside: bool = False
    name: Name = None
    skipped: int = 0


class MapPane(QFrame):
    """The entries that the filter shows, as tiles in the groups of the table."""

    #: A context menu is asked for, at a point of the tiles.
    menu_asked = Signal(QPoint)
    #: It is not wanted any more.
    closed = Signal()

    def __init__(
        self,
        table: EntryTable,
        group_by_kind: Callable[[Callable[[], None]], None],
        parent: QWidget | None = None,
    ) -> None:
        """group_by_kind: groups the table, where what is selected would lie scattered in it, and
        calls what it is given when that is done.
        """
        super().__init__(parent)
        self.setObjectName("pane")
        self._table, self._model = table, table.entries
        self._group_by_kind = group_by_kind
        self._way: list[Level] = [Level()]
        self._by = gathering.by(self._model)
        self._shown = Shown()
        self._gathering, self._marking = Slices(self), Slices(self)
        self._dirty = False
        #: What one has come out of: keys go on there.
        self._left: Level | None = None
        self._begun = self._took = 0.0
        self._timer = once(self, self._gather)
        self.up_button = forms.icon_button("back", self.tr("Up to the groups (Backspace)"))
        self.title = forms.label("", "heading")
        self.about = forms.label("", "muted")
        self.close_button = forms.icon_button("close", self.tr("Hide the map (Ctrl+M)"))
        self.close_button.setAccessibleName(self.tr("Hide the map"))
        self.close_button.clicked.connect(self.closed)
        self.view = Treemap()
        self.view.setAccessibleName(self.tr("Map of the entries"))
        self.view.nothing = self.tr("Nothing here takes any room")
        head = forms.row(gap=8)
        head.setContentsMargins(16, 4, 8, 0)
        head.addWidget(self.up_button)
        head.addWidget(self.title)
        head.addWidget(self.about)
        head.addStretch(1)
        head.addWidget(self.close_button)
        whole = forms.column(gap=2)
        whole.addLayout(head)
        inner = forms.column(gap=0)
        inner.setContentsMargins(12, 0, 12, 8)
        inner.addWidget(self.view, 1)
        whole.addLayout(inner, 1)
        self.setLayout(whole)
        self.setMinimumHeight(150)
        self.up_button.clicked.connect(self.view.leave)
        self.view.turned.connect(self._entitle)
        self.view.opened.connect(self._open)
        self.view.up.connect(self._up)
        self.view.chosen.connect(self._choose)
        self.view.menu_asked.connect(self.menu_asked)
        self._model.changed.connect(self._soon)
        self._model.modelReset.connect(self._reset)
        table.selection_changed.connect(self._mark)
        self._entitle()

    @property
    def level(self) -> Level:
        """Where one is."""
        return self._way[-1]

    @property
    def busy(self) -> bool:
        """Whether what it shows is not yet what the table does."""
        return self._timer.isActive() or self._gathering.busy or self._marking.busy

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._soon()

    # What is shown.

    def _reset(self) -> None:
        if not self._model.rows:
            # Another place comes.
            del self._way[1:]

    def _soon(self) -> None:
        """Make the map anew, soon: while entries arrive the table changes all the time."""
        if not self.isVisible():
            return
        if self._gathering.busy:
            self._dirty = True
        elif not self._timer.isActive():
            rested = time.monotonic() - self._begun - self._took
            wait = max(_SOON_MS, int((min(_REST * self._took, _LONGEST) - rested) * 1000))
            self._timer.start(wait)

    def _go(self, *levels: Level) -> None:
        self._way = [Level(), *levels]
        self._timer.stop()
        self._gather()

    def _gather(self) -> None:
        which = gathering.by(self._model)
        if which != self._by:
            self._by = which
            del self._way[1:]
        level = self.level
        if level.inside:
            work = gathering.gathered_entries(self._model, level.name, level.skipped)
        else:
            work = gathering.gathered_groups(self._model)
        self._dirty, self._begun = False, time.monotonic()
        found: list[Shown] = []
        self._gathering.start(_kept(work, found), lambda: self._show(found[0]))

    def _show(self, shown: Shown) -> None:
        self._took = time.monotonic() - self._begun
        if self.level.inside and not shown.tiles:
            # What one was in is not there any more.
            self._go()
            return
        self._shown = shown
        self.view.show_tiles(shown.tiles, shown.rest)
        left, self._left = self._left, None
        if left is not None:
            where = {name: key for key, name in shown.groups.items()}
            self.view.go_to(where.get(left.name, ("", "smaller")))
        self._entitle()
        self._mark()
        if self._dirty:
            self._soon()

    def _entitle(self) -> None:
        level, shown = self.level, self._shown
        titles = {
            "kind": self.tr("By kind"),
            "verdict": self.tr("By verdict"),
            "torch": self.tr("By torch version"),
            "age": self.tr("By age"),
        }
        title = Group(self._by, level.name).title if level.inside else titles[self._by]
        self.title.setText(title)
        numbers = f"{say.count(shown.entries, 'entry', 'entries')} · {say.size(shown.bytes)}"
        if level.skipped:
            after = self.tr("after the {} largest").format(f"{level.skipped:,}")
            numbers = f"{numbers} · {after}"
        if self.view.zoomed:
            numbers = f"{numbers} · {self.tr('the smaller ones')}"
        self.about.setText(numbers)
        inside = level.inside or self.view.zoomed
        if not inside and self.up_button.hasFocus():
            self.view.setFocus(Qt.FocusReason.OtherFocusReason)
        self.up_button.setVisible(inside)

    # What the user does.

    def _open(self, key: Key) -> None:
        level, shown = self.level, self._shown
        if not level.inside:
            if key in shown.groups:
                self._go(Level(True, shown.groups[key]))
        elif shown.rest is not None and key == shown.rest.key:
            if not shown.rest.bytes:
                return
            further = Level(True, level.name, level.skipped + MOST)
            self._go(*self._way[1:], further)
        else:
            self._choose([key])
            self._table.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _up(self) -> None:
        if self.level.inside:
            self._left = self.level
            self._go(*self._way[1:-1])

    def _choose(self, keys: list[Key]) -> None:
        if not self.level.inside:
            self._choose_groups([self._shown.groups[key] for key in keys])
            return
        wanted = set(keys)
        found = {row.entry.identity for row, key in self._shown.rows.items() if key in wanted}
        if keys and not found:
            # What is smaller is not selected from here.
            self._mark()
            return
        self._model.expand_to(found)
        self._table.select(found)
        rows = self._model.rows_of(found)
        if rows:
            self._reach(self._model.index(rows[0], 0))

    def _choose_groups(self, names: list[Name]) -> None:
        if names and self._model.grouping == "none":
            # One by one they would be as many pieces of the selection as there are entries.
            self._group_by_kind(lambda: self._select_groups(names))
        else:
            self._select_groups(names)

    def _select_groups(self, names: list[Name]) -> None:
        groups = [group for group in self._model.groups if group.name in names]
        self._model.collapse(groups, False)
        self._table.select_groups(groups)
        if groups:
            at = self._model.where({groups[0]}).get(groups[0])
            if at is not None:
                self._reach(self._model.index(at, 0))

    def _reach(self, index: QModelIndex) -> None:
        """Have the table show a line, and its keys begin there."""
        selection = self._table.selectionModel()
        selection.setCurrentIndex(index, selection.SelectionFlag.NoUpdate)
        self._table.scrollTo(index)

    def _mark(self) -> None:
        """Show what is selected in the table."""
        if not self.isVisible():
            return
        level = self.level
        name = gathering.group_name(self._model)
        lines = self._table.selected_lines()
        work = marked(self._shown, lines, name, level.inside, level.name)
        found: list[Marks] = []
        self._marking.start(_kept(work, found), lambda: self.view.select(*found[0]))


def _kept(work: Work[T], found: list[T]) -> Work[None]:
    """The same work; what comes of it is put into the list."""
    found.append((yield from work))
