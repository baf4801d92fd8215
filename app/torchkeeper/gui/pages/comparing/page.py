"""The Compare page: two entries, and what makes them different, in a sentence and in full."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QCoreApplication, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QWidget

from torchkeeper.artifacts.entry import entry_from_json
from torchkeeper.client.words import explaining, say
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.engine import protocol
from torchkeeper.gui import actions, theme
from torchkeeper.gui.background.engines import Latest, Listener
from torchkeeper.gui.inspector.sources import SearchBox
from torchkeeper.gui.pages import ENTRIES
from torchkeeper.gui.pages.comparing.differences import Card, DifferencesTree, DifferenceView, Side
from torchkeeper.gui.pages.glossary import explain
from torchkeeper.gui.pages.page import Page, go_to_field
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.sidebar.lists import Offer
from torchkeeper.gui.table.mimedata import BUNDLES, Carried, Rows, no_bundle
from torchkeeper.gui.table.rows import shown_name
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.emptystate import EmptyState
from torchkeeper.gui.widgets.lists import CopyKey
from torchkeeper.gui.widgets.notice import Notice

if TYPE_CHECKING:
    from torchkeeper.engine.messages import verdicts
    from torchkeeper.engine.messages.findings import Finding, LeftFinding
    from torchkeeper.gui.context import Context

#: Differences from which on there is a search field.
_MANY = 8
_MOST = 20
#: Milliseconds for which it is said how a side is chosen.
_HINT_MS = 15_000


class Pair(NamedTuple):
    """What is compared; without ``b``, with the nearest entry that there is."""

    a: Side
    b: Side | None


#: How the files of runs are called (client/kept/runs.py).
_RUN = re.compile(r"(\d{8}-\d{6}-[0-9a-f]{4})\.json")


class ComparePage(Page):
    """Asks an engine of its own: looking through many places holds nothing else up."""

    #: An entry is to be shown: its place, kind and path.
    going = Signal(object, object, object)

    def __init__(self, context: Context) -> None:
        super().__init__(QCoreApplication.translate("ComparePage", "Compare"))
        explain(self, "key-factor")
        self._context = context
        self._explain = Latest(context.engines, self)
        self._side_a: Side | None = None
        self._side_b: Side | None = None
        self._asked: Pair | None = None
        self._past: list[Pair] = []
        self._rows: list[Any] = []
        self._left: list[LeftFinding] = []
        self._places: list[str] = []
        #: Where alone the nearest entry is looked for; empty for everywhere.
        self._within: tuple[str, ...] = ()
        #: Where the nearest entry is being looked for.
        self._looking = ""
        self.found: verdicts.Explained | None = None
        self.taking = CompareTaking(self, context)
        self._make()
        self._lay_out()
        self._connect()
        self._show_sides()
        self._rest()

    def _make(self) -> None:
        self.sentence = forms.label("", "heading", wrap=True)
        forms.selectable(self.sentence, keys=True)
        self.sentence.setAccessibleName(self.tr("The differences in a sentence"))
        self.unread = forms.label("", "muted", wrap=True)
        self.unread.hide()
        self.a, self.b = Card(self.tr("A")), Card(self.tr("B"))
        self.search_box = SearchBox(self.tr("Search what differs"))
        self.count = forms.label("", "muted")
        self.tree = DifferencesTree()
        self.view = DifferenceView()
        self.blank = EmptyState("compare")
        self.notice = Notice()
        hint = self.tr("Show the page again from which you came (Escape)")
        self.back = forms.button("", self._context.pages.back, hint)
        theme.follow(self.back, lambda: self.back.setIcon(theme.icon("back")))
        self.past = forms.Choice(characters=24)
        self.past.setAccessibleName(self.tr("Comparisons of this session"))
        self.past.setToolTip(self.tr("Compare again what was compared before"))
        self.past.setPlaceholderText(self.tr("Earlier comparisons"))
        hint = self.tr("Swap the sides A and B")
        self.swap = forms.button(self.tr("S&wap"), self._swap, hint)
        hint = self.tr("Find the entry most similar to A in all places, and compare with it")
        self.nearest = forms.button(self.tr("&Nearest"), self._nearest, hint)
        self.go = forms.button(self.tr("&Show B in its place"), self._go)
        hint = self.tr("Copy the sentence, both keys and what differs")
        self.copy = forms.button(self.tr("Co&py"), self._copy, hint)

    def _lay_out(self) -> None:
        self._search_line = forms.page(forms.row((self.search_box, 1), self.count))
        split = forms.split(self.tree, self.view, sizes=[300, 176], upright=True)
        self._page = forms.page(forms.column(self._search_line, (split, 1)))
        self._nothing = QWidget()
        self.stack = forms.stack(self.blank, self._page, self._nothing)
        self.title_line.insertWidget(0, self.back)
        self.tools.addWidget(self.past)
        ways = forms.row(self.swap, self.nearest, self.go, self.copy, forms.REST)
        forms.add(self.body, forms.row((self.a, 1), (self.b, 1), gap=12), ways, 4)
        forms.add(self.body, self.sentence, self.unread, self.notice, (self.stack, 1))

    def _connect(self) -> None:
        self.search_box.textChanged.connect(self.tree.filter)
        self.search_box.leave.connect(self.tree.setFocus)
        self.search_box.step.connect(lambda _: self.tree.setFocus())
        self.tree.chosen.connect(lambda row: self.view.show_row(row, self.found or {}))
        CopyKey(self.tree, self._copy)
        self.tree.counted.connect(self._counted)
        self.notice.again.connect(self.refresh)
        self.past.activated.connect(self._again)
        self.a.chooser.clicked.connect(lambda: self.choose("A"))
        self.b.chooser.clicked.connect(lambda: self.choose("B"))
        self.blank.asked.connect(self._go_on)

    def compare(self, a: Side, b: Side | None, within: Sequence[str] = ()) -> None:
        """Compare two entries, or one with the nearest there is in any place or ``within`` some."""
        self._side_a, self._side_b = a, b
        self._ask(Pair(a, b), within)

    def put(self, letter: str, side: Side) -> bool:
        """Have an entry on a side; whether both are there, and are compared now."""
        other = self._side_b if letter == "A" else self._side_a
        if other is not None and other.entry.kind != side.entry.kind:
            other = None  # of another kind: that one has to go
        a, b = (side, other) if letter == "A" else (other, side)
        self._side_a, self._side_b = a, b
        if a is not None and b is not None:
            self.compare(a, b)
            return True
        self._forget()
        self._rest()
        return False

    def side(self, letter: str) -> Side | None:
        """The entry on a side."""
        return self._side_a if letter == "A" else self._side_b

    def offer(self, carried: Carried, at: QPoint | None) -> tuple[QWidget, Offer] | None:
        letter, card = self.taking.free, None
        for name, one in (("A", self.a), ("B", self.b)):
            held = at is None and one.isAncestorOf(self.window().focusWidget())
            if held or (at is not None and one.rect().contains(one.mapFrom(self, at))):
                letter, card = name, one
        if at is not None and card is None and carried.rows is None:
            return None  # as anywhere in the window
        return card or (self.a if letter == "A" else self.b), self.taking.of(carried, letter)

    def refresh(self) -> None:
        if self._asked is not None:
            self._ask(self._asked, self._within)

    def entered(self) -> None:
        page = actions.tr(actions.spec(self._context.pages.under).text).replace("&", "")
        self.back.setText(self.tr("&Back to {}").format(page))
        # What was said of how a side is chosen is of no use here.
        self._context.say("", 0)
        if self.found is not None:
            self.tree.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self._context.pages.back()
        else:
            super().keyPressEvent(event)

    def search(self) -> bool:
        return go_to_field(self.search_box) if self._search_line.isVisible() else True

    def choose(self, letter: str) -> None:
        """Go to the entries, to choose one for a side."""
        action = self._context.actions[f"compare-as-{letter.lower()}"]
        text = self.tr("Select an entry, in any place, and press {} to put it on side {}.")
        self._context.pages.go(ENTRIES)
        self._context.say(text.format(action.shortcut().toString(), letter), _HINT_MS)
        self._context.table.setFocus()

    def _go_on(self, action: str) -> None:
        if action:
            self._context.actions[action].trigger()
        else:
            self._context.pages.go(ENTRIES)

    def _swap(self) -> None:
        if self._side_a is not None and self._side_b is not None:
            self.compare(self._side_b, self._side_a)

    def _nearest(self) -> None:
        if self._side_a is not None:
            self.compare(self._side_a, None)

    def _again(self, number: int) -> None:
        if 0 <= number < len(self._past):
            self.past.setCurrentIndex(-1)
            self.compare(*self._past[number])

    def _remember(self, pair: Pair) -> None:
        self._past = [pair, *(one for one in self._past if one != pair)][:_MOST]
        self.past.clear()
        for one in self._past:
            b = shown_name(one.b.entry) if one.b is not None else self.tr("nearest")
            self.past.addItem(self.tr("{} with {}").format(shown_name(one.a.entry), b))
        # What is compared stands on the cards.
        self.past.setCurrentIndex(-1)

    def _show_sides(self) -> None:
        for card, side in ((self.a, self._side_a), (self.b, self._side_b)):
            if side is not None:
                card.show_side(side)
            else:
                card.say(self.tr("No entry yet"))
        self.swap.setEnabled(self._side_a is not None and self._side_b is not None)
        self.nearest.setEnabled(self._side_a is not None)
        self.past.setVisible(len(self._past) > (self.found is not None))
        for button in (self.go, self.copy):
            button.setEnabled(self.found is not None)

    def _forget(self) -> None:
        self._explain.forget()
        self._asked = self.found = None
        self._rows, self._left = [], []
        self.notice.tell(None)
        self.unread.hide()

    def _rest(self) -> None:
        """Say what the page is for: there are not two entries yet."""
        self._show_sides()
        self.sentence.hide()
        one = self._side_a or self._side_b
        self.blank.say(
            self.tr("One more entry") if one else self.tr("Nothing is compared yet"),
            self.tr("Select another entry of the same kind in the table, in any place, and put it "
                    "on the other side; or look for the nearest one.")
            if one
            else self.tr("This shows the differences between two entries, and why one of them is "
                         "not found. Select two entries in the table and press Ctrl+D, or one and "
                         "Ctrl+Shift+D for the nearest; their context menu offers the same. You "
                         "can also paste one here, or drag one from another window."),
        )  # fmt: skip
        self.blank.offer(self.tr("Go to entries"))
        self.stack.setCurrentWidget(self.blank)

    def _ask(self, pair: Pair, places: Sequence[str] = ()) -> None:
        """places: those to look in for the nearest entry; all that there are, without any."""
        self._forget()
        self._within = tuple(places)
        self._asked = pair
        self._show_sides()
        self.sentence.show()
        self.blank.offer("")
        self.stack.setCurrentWidget(self.blank)
        place, one = pair.a
        params: verdicts.ExplainParams = {"place": place, "kind": one.kind, "path": one.path}
        if pair.b is not None:
            self.sentence.setText(self.tr("Comparing…"))
            self.blank.say(self.tr("Reading both entries…"))
            there, other = pair.b
            params["other"] = {"place": there, "kind": other.kind, "path": other.path}
        else:
            # Servers are looked into only where one is shown: it would be fetched whole.
            beside = self._context.places.beside(place)
            every = (x.path for x in beside if x.exists and not x.server)
            self._places = list(places or dict.fromkeys([place, *every]))
            self.sentence.setText(self.tr("Looking for the nearest entry…"))
            self._looking = say.count(len(self._places), "place", "places")
            self.blank.say(self.tr("Looking in {}…").format(self._looking))
            self.b.say(self.tr("Not found yet"))
            params["nearest"] = self._places
        listener = Listener(rows=self._rows.extend, progress=self._progress, result=self._answered,
                            findings=self._findings, failed=self._failed)  # fmt: skip
        self._explain.ask(protocol.EXPLAIN, params, listener)

    def _progress(self, done: float, total: float | None, unit: str) -> None:
        if self._asked is not None and self._asked.b is None and unit == "entries":
            of = self.tr("{} of {} entries").format(f"{done:,.0f}", f"{total or done:,.0f}")
            self.blank.say(self.tr("Looking in {}…").format(self._looking), of)

    def _findings(self, found: list[Finding]) -> None:
        for one in found:
            if "left" in one:
                self._left.append(one["left"])
            elif "looking" in one:
                self._looking = Place(one["looking"]["place"]).title
                self.blank.say(self.tr("Looking in {}…").format(self._looking))

    def _answered(self, result: verdicts.ExplainResult) -> None:
        text = self.tr("Not searched: {}")
        errors = (user_error(one["code"], one["params"]) for one in self._left[:3])
        forms.tell(self.unread, "\n".join(text.format(error.what) for error in errors))
        self._side_a = a = _side(result["a"])
        if result["b"] is None:
            self._alone()
            return
        self._side_b = b = _side(result["b"])
        found: verdicts.Explained = {**result, "differences": self._rows}
        self.found = found
        self._asked = Pair(a, b)
        self._remember(self._asked)
        self._show_sides()
        self.sentence.setText(say.unmarked(_sentence(found)))
        self.search_box.clear()
        self.tree.fill(found)
        self._search_line.setVisible(self.tree.total >= _MANY)
        if self.tree.total:
            self.stack.setCurrentWidget(self._page)
            if self.isVisible():
                self.tree.setFocus()
        else:
            text = self.tr("Both entries record the same key factors.")
            self.blank.say(self.tr("Nothing to list"), text)

    def _alone(self) -> None:
        self._show_sides()
        self.sentence.setText(self.tr("There is no other entry of this kind"))
        self.b.say(self.tr("None"))
        self.blank.say(
            self.tr("Searched {}").format(say.count(len(self._places), "place", "places")),
            self.tr("The search covers the folders and bundles in the list of places, and the "
                    "server that is shown. Add more places to search them."),
        )  # fmt: skip
        self.blank.offer(self.tr("Add folder…"), "add-folder")

    def _failed(self, error: UserError) -> None:
        self.sentence.setText(self.tr("These entries cannot be compared"))
        if self._asked is not None and self._asked.b is None:
            self.sentence.setText(self.tr("No entry to compare with was found"))
            self.b.say(self.tr("None"))
        self.notice.tell(error, again=True)
        self.stack.setCurrentWidget(self._nothing)

    def _counted(self, shown: int, total: int) -> None:
        every = say.count(total, "difference", "differences")
        if shown != total:
            self.count.setText(self.tr("{} of {}").format(f"{shown:,}", every))
            return
        follow = self.tree.following
        if 0 < follow < total:
            # As the sentence counts them.
            causes = say.count(total - follow, "difference", "differences")
            every = self.tr("{}; {} may follow from that").format(causes, f"{follow:,}")
        self.count.setText(every)

    def _copy(self) -> None:
        if self.found is None:
            return
        cards = ("A", self.a), ("B", self.b)
        lines = [f"{letter}\t{card.key.text()}\t{card.name.text()}" for letter, card in cards]
        text = [_sentence(self.found), "", *lines, "", *map("\t".join, self.tree.texts())]
        QGuiApplication.clipboard().setText("\n".join(text))

    def _go(self) -> None:
        if self._side_b is not None:
            place, entry = self._side_b
            self.going.emit(place, entry.kind, entry.path)


class CompareTaking(QObject):
    """What becomes of entries, places and runs that are dropped on the two cards, or pasted."""

    def __init__(self, page: ComparePage, context: Context) -> None:
        super().__init__(page)
        self._page, self._context = page, context

    @property
    def free(self) -> str:
        """The side that something is for which was dropped on neither."""
        return "A" if self._page.side("A") is None else "B"

    def of(self, carried: Carried, letter: str) -> Offer:
        """What becomes of something on a side."""
        if carried.rows is not None:
            return self.of_rows(carried.rows, letter)
        every = (*carried.servers, *carried.paths)
        if len(every) > 1:
            return Offer(self.tr("A side takes one place or one entry"), None)
        [one] = every
        name = os.path.basename(one.rstrip("/"))
        if found := _RUN.fullmatch(name):
            text = self.tr("Show this run, with the differences between each miss and the nearest "
                           "entry")  # fmt: skip
            return Offer(text, lambda: self._show_run(found[1]))
        if not carried.servers and os.path.splitext(name)[1] and not name.endswith(BUNDLES):
            return Offer(no_bundle(name), None)
        other = self._page.side("B" if letter == "A" else "A")
        if other is None:
            text = self.tr("Open {} and choose the entry for {}")
            return Offer(text.format(carried.words, letter), lambda: self._open(one, letter))
        text = self.tr("Search {} for the entry nearest to {}")
        text = text.format(carried.words, shown_name(other.entry))
        return Offer(text, lambda: self._page.compare(other, None, [one]))

    def of_rows(self, rows: Rows, letter: str) -> Offer:
        """What becomes of entries on a side: one goes there, two are compared."""
        sides = [Side(rows.place, entry) for entry in rows.entries]
        if rows.number > 2:
            return Offer(self.tr("Two entries are compared at most"), None)
        if rows.number == 2:
            if sides[0].entry.kind != sides[1].entry.kind:
                return Offer(self.tr("Only entries of one kind can be compared"), None)
            return Offer(self.tr("Compare both"), lambda: self._page.compare(sides[0], sides[1]))
        text = self.tr("Put {} on side {}").format(shown_name(sides[0].entry), letter)
        return Offer(text, lambda: self._page.put(letter, sides[0]))

    def _open(self, place: str, letter: str) -> None:
        self._context.open_paths([place])
        self._page.choose(letter)

    def _show_run(self, ident: str) -> None:
        from torchkeeper.gui.pages.runs import RunsPage

        page = self._context.pages.of("runs")
        assert isinstance(page, RunsPage)
        page.wanted = ident
        self._context.pages.go("runs")


def _side(told: verdicts.PlacedEntry) -> Side:
    return Side(told["place"], entry_from_json(told))


def _sentence(found: verdicts.Explained) -> str:
    return explaining.of_both(found)
