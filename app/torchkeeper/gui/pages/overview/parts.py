"""What an overview consists of: its parts, what could go, and having an engine add all of it up."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from PySide6 import QtWidgets
from PySide6.QtCore import QCoreApplication, QObject, QPoint, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QPushButton, QWidget

from torchkeeper.artifacts.entry import tally
from torchkeeper.artifacts.jits.known import COMPILERS
from torchkeeper.client.overviewing import (
    AGES,
    DIMENSIONS,
    Overview,
    Part,
    Reclaim,
    Totals,
    added,
)
from torchkeeper.client.words import dead, say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.client.words.verdicts import counted_as
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.table.rows import verdict_words
from torchkeeper.gui.treemap import layout
from torchkeeper.gui.verdicts.environments import Environment, Environments, State
from torchkeeper.gui.widgets import forms, lists
from torchkeeper.gui.widgets.plain import caption, tip

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Sized
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.engine.messages.places import OverviewParams, OverviewResult

_tr = partial(QCoreApplication.translate, "Overview")

#: The filter of each age (engine.summing.AGES).
_AGE_FILTERS = {
    "day": "age<1d",
    "week": "age>1d age<7d",
    "month": "age>7d age<30d",
    "quarter": "age>30d age<90d",
    "older": "age>90d",
}


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
        return say.kind_words(value)
    if dimension == "torch":
        return printable(value, 60) if value else _tr("Not recorded")
    if dimension == "verdict":
        return verdict_words(value) if value else _tr("Not checked yet")
    return {
        "day": _tr("Last 24 hours"),
        "week": _tr("Last 7 days"),
        "month": _tr("Last 30 days"),
        "quarter": _tr("Last 90 days"),
        "older": _tr("Older"),
    }.get(value, _tr("Not known"))


def usable_words(totals: Totals) -> str:
    """The share that is usable, where anything was judged."""
    if (share := totals.share) is None:
        return ""
    # Neither is all of it said where some is missing, nor nothing where some is there.
    if 0 < share < 0.01:
        return _tr("under 1%")
    return f"{min(share, 0.99) if share < 1 else share:.0%}"


def judged_words(totals: Totals) -> str:
    """Of how many that is the share, and how many of them a program takes and should not."""
    if not totals.judged:
        return _tr("none checked yet")
    said = _tr("of {} checked").format(say.count(totals.judged, "entry", "entries"))
    return f"{said} · {counted_as('unsafe', totals.unsafe)}" if totals.unsafe else said


def compile_words(totals: Totals) -> str:
    """The seconds of compiling, where anything tells them."""
    return say.seconds(totals.compile_s) if totals.timed else ""


def tiles(dimension: str, parts: Sequence[Part], titles: Callable[[str], str]) -> list[layout.Tile]:
    """A tile for each part; its key is the value."""
    made = []
    for number, (value, totals) in enumerate(parts):
        step = (AGES.index(value), len(AGES)) if dimension == "age" else (number, len(parts))
        colour = "jit" if dimension == "kind" and value in COMPILERS else value
        shade = layout.shade_of(dimension, colour, *step)
        taken, share = compile_words(totals), usable_words(totals)
        taken = _tr("{} of compiling").format(taken) if taken else ""
        share = _tr("{} usable here").format(share) if share else ""
        detail, held = "\n".join(filter(None, (taken, share))), say.held(totals.counts)
        name = value_words(dimension, value, titles)
        made.append(layout.Tile((value,), name, totals.bytes, totals.entries, shade, detail, held))
    return made


#: Folders above a place that its name may take to be told apart.
_DEEP = 9


def apart(places: Sequence[str], titles: Callable[[str], str]) -> dict[str, str]:
    """What each place is called: its title, with folders above it where others have the same."""
    own = {place: titles(place) for place in places}
    named = dict(own)
    for depth in range(1, _DEEP):
        times = Counter(named.values())
        for place, title in own.items():
            above = [x for x in place.split("/")[:-1] if x][-depth:]
            if times[named[place]] > 1 and above:
                named[place] = "/".join([*(printable(x, 60) for x in above), title])
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


_NAME, _SIZE, _ENTRIES, _COMPILE, _USABLE = range(5)
_VALUE = Qt.ItemDataRole.UserRole
#: Pixels for all columns, and for all but one.
_ALL, _MOST_OF = 440, 350
#: Pixels around the text of a cell, and what is needed for a name after its folder.
_AROUND, _LEAST = 16, 24
#: So many are listed; nobody reads more, and the map has them all.
MOST = 500


class _Names(QtWidgets.QStyledItemDelegate):
    """The folder of a name that is cut stays whole: it tells places of one name apart."""

    def initStyleOption(self, option: QtWidgets.QStyleOptionViewItem, index: lists.Index) -> None:
        super().initStyleOption(option, index)
        folder, slash, name = option.text.partition("/")
        metrics = option.fontMetrics
        room = option.rect.width() - _AROUND - metrics.horizontalAdvance(folder + slash)
        if slash and _LEAST < room < metrics.horizontalAdvance(name):
            option.text = f"{folder}/{metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, room)}"


class PartList(lists.Table):
    """The parts, the largest first. What is selected here is told like in the map."""

    chosen = Signal(list)
    opened = Signal(str)
    #: Out of what was gone into last: Backspace.
    up = Signal()
    #: A menu for the current part, at a point of the viewport.
    menu_asked = Signal(QPoint)

    def __init__(self) -> None:
        name, size, entries = self.tr("Name"), self.tr("Content"), self.tr("Entries")
        headings = name, size, entries, self.tr("Compiling"), self.tr("Usable")
        super().__init__(self.tr("The parts, as a list"), headings)
        # The theme draws a ring around the list that has the focus.
        self.setObjectName("parts")
        self.setAllColumnsShowFocus(True)
        self.setSelectionMode(QtWidgets.QAbstractItemView.SelectionMode.ExtendedSelection)
        lists.columns(self, (0, 76, 72, 88, 68), _NAME)
        lists.right(self, range(_SIZE, _USABLE + 1))
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setItemDelegateForColumn(_NAME, _Names(self))
        self.itemSelectionChanged.connect(lambda: self.chosen.emit(self.selected()))
        self.itemActivated.connect(lambda item, _: self.opened.emit(str(item.data(0, _VALUE))))

    def show_parts(self, dimension: str, some: Sequence[Part], title: Callable[[str], str]) -> None:
        """List these; what was selected and still is there stays so."""
        kept = set(self.selected())
        with QSignalBlocker(self):
            self.clear()
            for value, totals in sorted(some, key=lambda part: -part.totals.bytes)[:MOST]:
                figures = f"{totals.entries:,}", compile_words(totals), usable_words(totals)
                name = value_words(dimension, value, title)
                texts = name, say.size(totals.bytes), *figures
                item = lists.line(texts, numbers=range(_SIZE, _USABLE + 1))
                item.setData(0, _VALUE, value)
                # Of a place all of its path; a value of anything else is what filters call it.
                item.setToolTip(_NAME, tip(value if dimension == "place" else name))
                self.addTopLevelItem(item)
                item.setSelected(value in kept)

    def selected(self) -> list[str]:
        return [str(item.data(0, _VALUE)) for item in self.selectedItems()]

    def select(self, values: Iterable[str]) -> None:
        """Select these; nobody is told."""
        wanted = set(values)
        with QSignalBlocker(self):
            for item in self.items():
                item.setSelected(str(item.data(0, _VALUE)) in wanted)
            first = next((item for item in self.items() if item.isSelected()), None)
            if first is not None:
                self.scrollToItem(first)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # The names come first where there is little room.
        self.setColumnHidden(_COMPILE, self.width() < _ALL)
        self.setColumnHidden(_USABLE, self.width() < _MOST_OF)

    @property
    def current(self) -> str | None:
        item = self.currentItem()
        return None if item is None else str(item.data(0, _VALUE))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if self.currentItem() is None and self.topLevelItemCount():
            # The keys and the menu are about something; nothing is selected by that.
            selection = self.selectionModel()
            selection.setCurrentIndex(self.model().index(0, 0), selection.SelectionFlag.NoUpdate)

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

    def _button(self, text: str, level: int) -> QPushButton:
        made = forms.button(caption(text), lambda _=False: self.gone.emit(level))
        made.setObjectName("crumb")
        made.setProperty("link", True)
        made.setAccessibleName(text)
        made.setAccessibleDescription(self.tr("Go back to it"))
        return made


class ReasonCard(QtWidgets.QFrame):
    def __init__(self, reason: str, title: str, text: str, verb: str) -> None:
        super().__init__()
        self.setObjectName("hint")
        self.reason = reason
        self._title, self._text = title, text
        self.title = forms.label(title, "heading")
        self.bytes = forms.label("", "heading")
        self.text = forms.label("", "muted", wrap=True)
        self.text.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.go = forms.button(verb)
        self.go.setObjectName("go")
        self.go.setAccessibleName(f"{title}: {verb}".replace("…", ""))
        # One below the other: five cards stand side by side in the smallest window.
        inner = self.title, self.bytes, (self.text, 1), forms.row(self.go, forms.REST)
        self.setLayout(forms.column(*inner, margin=10, gap=4))

    def tell(self, found: Reclaim | None, places: int, waiting: str) -> None:
        """How much there is; None where that is not known, ``waiting``: why not."""
        size, text, able = "", waiting, places > 0
        if found is not None and found.why is not None:
            text = found.why.what
        elif found is not None and not found.some:
            text, able = self.tr("Nothing."), False
        elif found is not None:
            size, text, able = say.measured(found.told), say.held(found.counts), True
            if places > 1:
                text = self.tr("{} in {} places").format(text, places)
            text = f"{text}. {self._text}"
        forms.tell(self.bytes, size)
        self.text.setText(text)
        self.go.setEnabled(able)
        self.setAccessibleName(f"{self._title}: {size or text}")
        self.setAccessibleDescription(self._text)


class Reclaiming(QWidget):
    """All of the cards. clean: gets reasons, and the place that is shown, if one is; empty: the
    places whose trash is to be emptied, one or all, which is chosen first of several.
    """

    def __init__(
        self,
        titles: Callable[[str], str],
        clean: Callable[[list[str], str | None], object],
        empty: Callable[[dict[str, Sized]], object],
    ) -> None:
        super().__init__()
        self._titles, self._clean, self._empty = titles, clean, empty
        self._found: Overview | None = None
        self._within: str | None = None
        days = say.count(dead.DAYS, "day", "days")
        verb, purged = self.tr("Clean up…"), self.tr("Purged, and still on the disk.")
        stale = self.tr("For a torch or GPU that is not here.")
        # A budget has no card: it is for who sets one, in the dialog.
        texts = {
            "stale": (self.tr("Stale"), stale, verb),
            "broken": (self.tr("Broken"), self.tr("Damaged, or lacking what they need."), verb),
            "orphan": (self.tr("Orphaned"), self.tr("Needed only by removed entries."), verb),
            "unused": (self.tr("Unused"), self.tr("Not used for {}.").format(days), verb),
            "trash": (self.tr("In the trash"), purged, self.tr("Empty trash…")),
        }
        self.cards = {reason: ReasonCard(reason, *told) for reason, told in texts.items()}
        for card in self.cards.values():
            card.go.clicked.connect(lambda _=False, card=card: self._go(card))
        self.together = forms.label("", "muted", wrap=True)
        line = forms.row(*((card, 1) for card in self.cards.values()), gap=12)
        self.setLayout(forms.column(line, self.together, gap=6))

    def show_found(self, found: Overview | None, within: str | None, waiting: str) -> None:
        """What could go of a place, or of all; ``waiting``: why something is not known."""
        self._found, self._within = found, within
        reasons = found.reclaim(within) if found is not None else {}
        for reason, card in self.cards.items():
            # Before the first place is looked at, nobody knows what is in the trash either.
            looked = reason == "trash" and found is not None and bool(found.places)
            none = Reclaim(tally(()), 0) if looked else None
            # Who looks finds out what is not known.
            where = self._places(reason) if reason in reasons or found is None else found.places
            card.tell(reasons.get(reason, none), len(where), waiting)
        text = ""
        if found is not None and "needless" in reasons and reasons["needless"].some:
            held = say.held_of(found.reclaimable(within).told)
            text = self.tr("Together {}, with what only they need.").format(held)
        forms.tell(self.together, text)

    @property
    def trashes(self) -> dict[str, Sized]:
        """What is in the trash of each place, the most first."""
        return {name: found.told for name, found in self._places("trash")}

    def _places(self, reason: str) -> list[tuple[str, Reclaim]]:
        """Where something could go for a reason, the most first."""
        every = self._found.places if self._found is not None else {}
        names = [self._within] if self._within is not None else list(every)
        some = [(x, self._found.reclaim(x).get(reason)) for x in names if self._found is not None]
        found = [(name, one) for name, one in some if one is not None and one.some]
        return sorted(found, key=lambda one: -one[1].bytes)

    def _go(self, card: ReasonCard) -> None:
        if card.reason != "trash":
            # What has several reasons is counted for the first: so that counts here, too.
            reasons = list(self.cards)
            self._clean(reasons[: reasons.index(card.reason) + 1], self._within)
            return
        every = self.trashes
        if len(every) == 1:
            self._empty(every)
            return
        whole = self.tr("All places: {}").format(say.measured(added(list(every.values()))))
        hint = self.tr("Empty the trash of all places")
        offers: list[lists.Offer] = [("clean", whole, hint, partial(self._empty, every))]
        for name, told in islice(every.items(), 20):
            text = caption(self.tr("{}: {}").format(self._titles(name), say.measured(told)))
            hint = printable(name, 400)
            offers.append(("clean", text, hint, partial(self._empty, {name: told})))
        lists.choose(card.go, offers)


class Looking(QObject):
    """What is known of all places; ``begin`` looks again. What was known is shown meanwhile."""

    changed = Signal()

    def __init__(self, engines: Engines, environments: Environments, parent: QObject) -> None:
        super().__init__(parent)
        self._engines, self._environments = engines, environments
        #: What is known, None before anything is; and what is being put together.
        self.found: Overview | None = None
        self._next = Overview()
        self.error: UserError | None = None
        #: The place that is being looked at, its number, and of how many.
        self.at: tuple[str, int, int] | None = None
        #: When the last look was over; 0 for never.
        self.looked = 0.0
        #: The interpreter that verdicts are about; empty for none.
        self.python = ""
        self._ticket: int | None = None
        self._asked: tuple[object, ...] | None = None

    @property
    def running(self) -> bool:
        return self._ticket is not None

    @property
    def shown(self) -> Overview | None:
        """What there is to show: the last look, and while the first runs what that has found."""
        return self.found if self.found is not None or not self.running else self._next

    def differs(self, places: Sequence[str]) -> bool:
        """Whether a look would be about something else than the last, or the one under way."""
        return self._asked != self._about(places)

    def _about(self, places: Sequence[str]) -> tuple[object, ...]:
        return tuple(places), tuple((one.python, id(one.facts)) for one in self._judging())

    def _judging(self) -> list[Environment]:
        chosen = self._environments.chosen
        known = [one for one in self._environments.every if one.state is State.KNOWN]
        return sorted(known, key=lambda one: one is not chosen)

    def begin(self, places: Sequence[str]) -> None:
        self.cancel()
        self._asked = self._about(places)
        self._next = Overview()
        self.error = self.at = None
        known, chosen = self._judging(), self._environments.chosen
        # Stale is what none of the environments can use: where one was not asked, nobody knows.
        asked = {State.KNOWN, State.WITHOUT}
        others = (one for one in self._environments.every if one.state not in asked)
        all_known = all(one.state is State.FOUND and not one.counts for one in others)
        self.python = chosen.python if chosen in known and chosen is not None else ""
        params: OverviewParams = {
            "places": list(places),
            "envs": [self.python] if self.python else [],
            "everywhere": [one.python for one in known] if all_known else [],
            "older": dead.DAYS * dead.DAY,
        }
        told = [one for one in known if all_known or one is chosen]
        before = [("know", {"python": one.python, "env": one.facts}) for one in told]
        listener = Listener(
            rows=self._next.add, findings=self._heard, result=self._over, failed=self._failed
        )
        self._ticket = self._engines.ask(protocol.OVERVIEW, params, listener, before=before)
        self.changed.emit()

    def cancel(self) -> None:
        """Look no further; what was known before stays."""
        if self._ticket is not None:
            self._engines.forget(self._ticket)
            self._ticket = self.at = self._asked = None
            self.changed.emit()

    def _heard(self, told: list[Finding]) -> None:
        for one in told:
            if "looked" in one:
                self._next.told(one["looked"])
            if "looking" in one:
                at = one["looking"]
                self.at = at["place"], at["number"], at["of"]
        self.changed.emit()

    def _over(self, result: OverviewResult) -> None:
        for place in result["places"]:
            self._next.told(place)
        self._ticket = self.at = None
        self.found, self.looked = self._next, time.time()
        self.changed.emit()

    def _failed(self, error: UserError) -> None:
        self._ticket = self.at = None
        self.error = error
        self.changed.emit()
