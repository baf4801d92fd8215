"""The map over the table: it hears of the selection from the table, and tells it what users do."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame

from torchkeeper.artifacts.entry import KINDS, Entry, counted, tallied
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.idle import Slices, T, Work, once, pieces
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.grouping import Group, Name, in_order, naming
from torchkeeper.gui.table.lines import Line
from torchkeeper.gui.table.rows import KIND, MTIME, Row, cell_text, shown_name, verdict_words
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.gui.treemap import layout
from torchkeeper.gui.treemap.view import Treemap
from torchkeeper.gui.widgets import forms

_tr = partial(QCoreApplication.translate, "EntryMap")

#: By what entries are grouped in the map where the table does not group them.
DEFAULT = "kind"
#: So many of the largest are kept before the smaller ones among them are dropped.
_KEPT = 4 * layout.MOST
_STEP = 50
_SIZE: Callable[[Row], int] = attrgetter("entry.size")


@dataclass
class Shown:
    """What is on the map. kinds: how many of each, and their bytes. groups: those that are tiles,
    by key; rows: the keys of entries.
    """

    tiles: list[layout.Tile] = field(default_factory=list)
    rest: layout.Tile | None = None
    kinds: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    groups: dict[layout.Key, Name] = field(default_factory=dict)
    rows: dict[Row, layout.Key] = field(default_factory=dict)


def by(model: EntriesModel) -> str:
    """By what the map groups: as the table does, or by kind."""
    return DEFAULT if model.grouping == "none" else model.grouping


def group_name(model: EntriesModel) -> Callable[[Row], Name]:
    """What tells the name of a row's group on the map."""
    if model.grouping == "none":
        return naming(DEFAULT, time.time())

    def name(row: Row) -> Name:
        group = model.group_of(row)
        return None if group is None else group.name

    return name


def gathered_groups(model: EntriesModel) -> Work[Shown]:
    """In steps: each group as a tile."""
    which = by(model)
    sizes, counts, kinds = Counter[Name](), Counter[Name](), Counter[str]()
    held_of: dict[Name, str] = {}
    if model.grouping == "none":
        for rows in [group.rows for group in model.groups]:
            for piece in pieces(rows):
                kinds.update(row.entry.kind for row in piece)
                for row in piece:
                    sizes[row.entry.kind] += row.entry.size
                yield
        counts.update(kinds)
    else:
        for group in model.groups:
            kinds.update(group.kinds)
            sizes[group.name], counts[group.name] = group.size, len(group.rows)
            held_of[group.name] = group.counted
            yield
    shown = Shown(kinds=kinds, bytes=sizes.total())
    names = in_order(which, counts)
    hint = _tr("Double-click or press Enter to look inside")
    for number, name in enumerate(names):
        key = (f"{number}:{name}",)
        title = Group(which, name).title
        shade = layout.shade_of(which, "" if name is None else str(name), number, len(names))
        held = say.held(tallied(counts[name], str(name))) if which == "kind" else held_of[name]
        shown.tiles.append(layout.Tile(key, title, sizes[name], counts[name], shade, hint, held))
        shown.groups[key] = name
    return shown


def gathered_entries(model: EntriesModel, name: Name, skipped: int) -> Work[Shown]:
    """In steps: the largest entries of a group, after so many, and a tile for all smaller ones."""
    shown, kept = Shown(), list[Row]()
    # What is empty takes no room on a map.
    floor, most = 0, skipped + layout.MOST
    for piece in _of_group(model, name):
        shown.kinds.update(row.entry.kind for row in piece)
        shown.bytes += sum(map(_SIZE, piece))
        kept += [row for row in piece if row.entry.size > floor]
        if len(kept) > most + _KEPT:
            kept = sorted(kept, key=_SIZE, reverse=True)[:most]
            floor = kept[-1].entry.size
        yield
    kept = sorted(kept, key=_SIZE, reverse=True)[:most]
    yield
    above, kept = kept[:skipped], kept[skipped:]
    entries, size = shown.kinds.total() - len(above), shown.bytes - sum(map(_SIZE, above))
    for first in range(0, len(kept), _STEP):
        for row in kept[first : first + _STEP]:
            tile = _tile(row.entry)
            shown.tiles.append(tile)
            shown.rows[row] = tile.key
        yield
    left = entries - len(kept)
    if left > 0:
        size -= sum(map(_SIZE, kept))
        text, hint = (
            _tr("{} smaller"),
            _tr("Double-click or press Enter to see the largest of them"),
        )
        said, detail = text.format(f"{left:,}"), hint if size else _tr("They take no room")
        shown.rest = layout.Tile(("", "smaller"), said, size, left, detail=detail)
    return shown


def _of_group(model: EntriesModel, name: Name) -> Iterator[Sequence[Row]]:
    if model.grouping != "none":
        for group in model.groups:
            if group.name == name:
                yield from pieces(group.rows)
        return
    for rows in [group.rows for group in model.groups]:
        for piece in pieces(rows):
            yield [row for row in piece if row.entry.kind == name]


def _tile(entry: Entry) -> layout.Tile:
    verdict = verdict_words(entry.verdict) if entry.verdict else ""
    torch = _tr("torch {}").format(printable(entry.torch, 60)) if entry.torch else ""
    about = [cell_text(entry, KIND), verdict, torch, cell_text(entry, MTIME)]
    shade = layout.shade_of("kind", entry.kind if entry.kind in KINDS else "unknown")
    detail = " · ".join(filter(None, about))
    return layout.Tile(entry.identity, shown_name(entry), entry.size, 1, shade, detail)


class Marks(NamedTuple):
    """The tiles all of which is selected, and those some of which is."""

    whole: list[layout.Key]
    partly: list[layout.Key]


def marked(
    shown: Shown, lines: Sequence[Line], name: Callable[[Row], Name], inside: bool, where: Name
) -> Work[Marks]:
    """In steps: the tiles in which these lines are; where ``inside``, of the group ``where``."""
    if inside:
        return (yield from _entries(shown, lines, name, where))
    counts = Counter[Name]()
    for piece in pieces(lines):
        counts.update(name(line) for line in piece if isinstance(line, Row))
        yield
    marks = Marks([], [])
    for tile in shown.tiles:
        if count := counts[shown.groups[tile.key]]:
            (marks.whole if count >= tile.entries else marks.partly).append(tile.key)
    return marks


def _entries(
    shown: Shown, lines: Sequence[Line], name: Callable[[Row], Name], where: Name
) -> Work[Marks]:
    whole, smaller = list[layout.Key](), False
    for piece in pieces(lines):
        for line in piece:
            if isinstance(line, Row):
                if (key := shown.rows.get(line)) is not None:
                    whole.append(key)
                else:
                    smaller = smaller or name(line) == where
        yield
    return Marks(whole, [shown.rest.key] if smaller and shown.rest is not None else [])


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

    def __init__(self, table: EntryTable, by_kind: Callable[[Callable[[], None]], None]) -> None:
        """by_kind: groups the table by kind, and calls what it is given when that is done."""
        super().__init__()
        self.setObjectName("pane")
        self._table, self._model = table, table.entries
        self._group_by_kind = by_kind
        self._way: list[Level] = [Level()]
        self._by = by(self._model)
        self._shown = Shown()
        self._gathering, self._marking = Slices(self), Slices(self)
        self._dirty = False
        #: What one has come out of: keys go on there.
        self._left: Level | None = None
        self._begun = self._took = 0.0
        self._timer = once(self, self._gather)
        self.view = Treemap()
        self.view.setAccessibleName(self.tr("Map of the entries"))
        self.view.nothing = self.tr("Nothing here takes any room")
        up = self.tr("Up to the groups (Backspace)")
        self.up_button = forms.icon_button("back", up, self.view.leave)
        self.title = forms.label("", "heading")
        self.about = forms.label("", "muted")
        self.close_button = forms.icon_button("close", self.tr("Hide the map (Ctrl+M)"))
        self.close_button.setAccessibleName(self.tr("Hide the map"))
        head = self.up_button, self.title, self.about, forms.REST, self.close_button
        inner = forms.column((self.view, 1), margin=(12, 0, 12, 8))
        self.setLayout(forms.column(forms.row(*head, margin=(16, 4, 8, 0)), (inner, 1), gap=2))
        self.setMinimumHeight(150)
        self.view.turned.connect(self._entitle)
        self.view.opened.connect(self._open)
        self.view.up.connect(self._up)
        self.view.chosen.connect(self._choose)
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
        which = by(self._model)
        if which != self._by:
            self._by = which
            del self._way[1:]
        work = gathered_groups(self._model)
        if (level := self.level).inside:
            work = gathered_entries(self._model, level.name, level.skipped)
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
        self.title.setText(Group(self._by, level.name).title if level.inside else titles[self._by])
        # As everywhere: what is no entry is counted as what it is.
        numbers = [say.held(counted(shown.kinds)), say.size(shown.bytes)]
        if level.skipped:
            numbers.append(self.tr("after the {} largest").format(f"{level.skipped:,}"))
        if self.view.zoomed:
            numbers.append(self.tr("the smaller ones"))
        self.about.setText(" · ".join(numbers))
        inside = level.inside or self.view.zoomed
        if not inside and self.up_button.hasFocus():
            self.view.setFocus(Qt.FocusReason.OtherFocusReason)
        self.up_button.setVisible(inside)

    def _open(self, key: layout.Key) -> None:
        level, shown = self.level, self._shown
        if not level.inside:
            if key in shown.groups:
                self._go(Level(True, shown.groups[key]))
        elif shown.rest is not None and key == shown.rest.key:
            if not shown.rest.bytes:
                return
            self._go(*self._way[1:], level._replace(skipped=level.skipped + layout.MOST))
        else:
            self._choose([key])
            self._table.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _up(self) -> None:
        if self.level.inside:
            self._left = self.level
            self._go(*self._way[1:-1])

    def _choose(self, keys: list[layout.Key]) -> None:
        if not self.level.inside:
            names = [self._shown.groups[key] for key in keys]
            if names and self._model.grouping == "none":
                # One by one they would be as many pieces of the selection as there are entries.
                self._group_by_kind(lambda: self._select_groups(names))
            else:
                self._select_groups(names)
            return
        wanted = set(keys)
        found = {row.entry.identity for row, key in self._shown.rows.items() if key in wanted}
        if keys and not found:
            # What is smaller is not selected from here.
            self._mark()
            return
        self._model.expand_to(found)
        self._table.select(found)
        if rows := self._model.rows_of(found):
            self._reach(rows[0])

    def _select_groups(self, names: list[Name]) -> None:
        groups = [group for group in self._model.groups if group.name in names]
        self._model.collapse(groups, False)
        self._table.select_groups(groups)
        at = self._model.where({groups[0]}).get(groups[0]) if groups else None
        if at is not None:
            self._reach(at)

    def _reach(self, row: int) -> None:
        """Have the table show a line, and its keys begin there."""
        index, selection = self._model.index(row, 0), self._table.selectionModel()
        selection.setCurrentIndex(index, selection.SelectionFlag.NoUpdate)
        self._table.scrollTo(index)

    def _mark(self) -> None:
        if not self.isVisible():
            return
        level, lines = self.level, self._table.selected_lines()
        work = marked(self._shown, lines, group_name(self._model), level.inside, level.name)
        found: list[Marks] = []
        self._marking.start(_kept(work, found), lambda: self.view.select(*found[0]))


def _kept(work: Work[T], found: list[T]) -> Work[None]:
    """The same work; what comes of it is put into the list."""
    found.append((yield from work))
