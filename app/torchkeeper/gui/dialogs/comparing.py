"""Two entries side by side: what makes them different, in a sentence and in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QSplitter, QStackedWidget, QWidget

from torchkeeper.artifacts.entry import Entry, entry_from_json
from torchkeeper.gui import forms, theme
from torchkeeper.gui.blank import Blank, Notice
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.dialogs.differences import DifferencesTree, DifferenceView
from torchkeeper.gui.engines import Engines, Listener
from torchkeeper.gui.inspector.parts import Chip, Elided
from torchkeeper.gui.inspector.sources import SearchBox
from torchkeeper.gui.places import Place
from torchkeeper.gui.table.cells import shown_name
from torchkeeper.link import explaining, say
from torchkeeper.link.words import UserError, printable, user_error

#: Differences from which on there is a search field.
_MANY = 8


class _Card(QWidget):
    """One of the two entries: its letter, name, kind, key, and what made it."""

    def __init__(self, letter: str) -> None:
        super().__init__()
        self._letter = letter
        self.name = Elided("heading")
        self.chip = Chip()
        self.key = Elided("muted")
        self.made = Elided("muted")
        line = forms.row()
        line.addWidget(forms.label(letter, "heading"))
        line.addWidget(self.name, 1)
        about = forms.row()
        about.addWidget(self.chip)
        about.addWidget(self.key, 1)
        inner = forms.column(margin=12, gap=6)
        inner.addLayout(line)
        inner.addLayout(about)
        inner.addWidget(self.made)
        whole = forms.column()
        whole.addWidget(forms.frame("hint", inner))
        self.setLayout(whole)
        theme.follow(self, lambda: self.key.setFont(theme.monospace()))

    def show_entry(self, entry: Entry, place: str) -> None:
        """Show an entry of a place."""
        name, key = shown_name(entry), printable(entry.key)
        self.name.setText(name)
        self.name.setToolTip(f"{name}\n{printable(entry.path, 4096)}")
        self.chip.show_kind(entry.kind)
        self.key.setText(key)
        self.key.setToolTip(key)
        made = [self.tr("torch {}").format(entry.torch) if entry.torch else "", entry.device or ""]
        text = " · ".join([printable(x, 80) for x in made if x] + [Place(place).title])
        self.made.setText(text)
        self.made.setToolTip(printable(place, 4096))
        self.setAccessibleName(f"{self._letter}: {name}, {key}, {text}")

    def say(self, text: str) -> None:
        """Say what stands for an entry that is not known yet."""
        self.name.setText(text)
        self.key.setText("")
        self.made.setText("")
        self.chip.hide()

    def known(self) -> None:
        """There is an entry."""
        self.chip.show()


class CompareDialog(Dialog):
    """Compares two entries of a place, or one with the nearest there is in any of some places."""

    #: An entry is to be shown: its place, kind and path.
    wanted = Signal(str, str, str)

    def __init__(
        self,
        parent: QWidget | None,
        engines: Engines,
        place: str,
        one: Entry,
        other: Entry | None,
        places: Sequence[str] = (),
    ) -> None:
        """places: where to look for the nearest entry, where there is no ``other``."""
        super().__init__(parent, "", 720)
        self.setWindowTitle(
            self.tr("Compare") if other else self.tr("Compare with the nearest entry")
        )
        self._engines = engines
        self._place, self._one, self._other = place, one, other
        self._places = list(places)
        self._ticket: int | None = None
        self._rows: list[Any] = []
        self._left: list[dict[str, Any]] = []
        #: Where the nearest entry is being looked for.
        self._looking = ""
        self.found: dict[str, Any] | None = None
        self._make()
        self.a.show_entry(one, place)
        if other:
            self.b.show_entry(other, place)
        self.resize(860, 640)
        self._ask()

    def _make(self) -> None:
        self.sentence = forms.label("", "heading", wrap=True)
        self.sentence.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.sentence.setAccessibleName(self.tr("What differs, in a sentence"))
        self.left = forms.label("", "muted", wrap=True)
        self.left.hide()
        self.a, self.b = _Card(self.tr("A")), _Card(self.tr("B"))
        self.search = SearchBox(self.tr("Search what differs"))
        self.count = forms.label("", "muted")
        self.tree = DifferencesTree()
        self.view = DifferenceView()
        self.blank = Blank("compare")
        self.notice = Notice()
        cards = forms.row(gap=12)
        cards.addWidget(self.a, 1)
        cards.addWidget(self.b, 1)
        line = forms.row()
        line.addWidget(self.search, 1)
        line.addWidget(self.count)
        self._tools = QWidget()
        self._tools.setLayout(line)
        split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.addWidget(self.tree)
        split.addWidget(self.view)
        split.setSizes([260, 140])
        page = forms.column()
        page.addWidget(self._tools)
        page.addWidget(split, 1)
        self._page = QWidget()
        self._page.setLayout(page)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.blank)
        self.stack.addWidget(self._page)
        self._nothing = QWidget()
        self.stack.addWidget(self._nothing)
        self.go = forms.button(self.tr("&Show B in its place"))
        self.copy = forms.button(self.tr("&Copy"))
        self.shut = forms.button(self.tr("Close"))
        self.body.addWidget(self.sentence)
        self.body.addWidget(self.left)
        self.body.addLayout(cards)
        self.body.addWidget(self.notice)
        self.body.addWidget(self.stack, 1)
        self.buttons(self.go, self.copy, self.shut)
        self.shut.setDefault(True)
        self.search.textChanged.connect(self._filter)
        self.search.leave.connect(self.tree.setFocus)
        self.search.step.connect(lambda _: self.tree.setFocus())
        self.tree.chosen.connect(lambda row: self.view.show_row(row, self.found or {}))
        self.tree.copied.connect(self._copy)
        self.notice.again.connect(self._ask)
        self.go.clicked.connect(self._go)
        self.copy.clicked.connect(self._copy)
        self.shut.clicked.connect(self.reject)

    # Asking.

    def _ask(self) -> None:
        self._engines.forget(self._ticket)
        self.found, self._rows, self._left = None, [], []
        self.notice.tell(None)
        self.left.hide()
        self.stack.setCurrentWidget(self.blank)
        for button in (self.go, self.copy):
            button.setEnabled(False)
        params: dict[str, Any] = {
            "place": self._place, "kind": self._one.kind, "path": self._one.path,
        }  # fmt: skip
        if self._other is not None:
            self.sentence.setText(self.tr("Comparing…"))
            self.blank.say(self.tr("Reading both entries…"))
            params["other"] = {"kind": self._other.kind, "path": self._other.path}
        else:
            self.sentence.setText(self.tr("Looking for the nearest entry…"))
            self._looking = say.count(len(self._places), "place", "places")
            self.blank.say(self.tr("Looking in {}…").format(self._looking))
            self.b.say(self.tr("Not found yet"))
            params["nearest"] = self._places
        listener = Listener(
            rows=self._rows.extend, progress=self._progress, findings=self._findings,
            result=self._answered, failed=self._failed,
        )  # fmt: skip
        # An engine of its own: looking through many places holds nothing else up.
        self._ticket = self._engines.ask("explain", params, listener)

    def _progress(self, done: float, total: float | None, unit: str) -> None:
        if self._other is None and unit == "entries":
            of = self.tr("{} of {} entries").format(f"{done:,.0f}", f"{total or done:,.0f}")
            self.blank.say(self.tr("Looking in {}…").format(self._looking), of)

    def _findings(self, found: list[dict[str, Any]]) -> None:
        for one in found:
            if isinstance(left := one.get("left"), dict):
                self._left.append(left)
            elif isinstance(looking := one.get("looking"), dict):
                self._looking = Place(str(looking.get("place") or "")).title
                self.blank.say(self.tr("Looking in {}…").format(self._looking))

    def _answered(self, result: dict[str, Any]) -> None:
        self._ticket = None
        found = {**result, "differences": self._rows}
        self._tell_left()
        try:
            own, other = result.get("a"), result.get("b")
            if other is None:
                self._alone()
                return
            self.a.show_entry(entry_from_json(own), _place_of(own, self._place))
            self.b.show_entry(entry_from_json(other), _place_of(other, self._place))
        except ValueError as e:
            self._failed(user_error("request-malformed", {"why": str(e)}))
            return
        self.b.known()
        self.found = found
        self.sentence.setText(explaining.sentence(found))
        self.tree.fill(found)
        self._tools.setVisible(self.tree.total >= _MANY)
        self._filter(self.search.text())
        for button in (self.go, self.copy):
            button.setEnabled(True)
        if self.tree.total:
            self.stack.setCurrentWidget(self._page)
            self.tree.setFocus()
        else:
            self.shut.setFocus()
            self.blank.say(
                self.tr("Nothing to list"),
                self.tr("What both keys were made of is the same, as far as it is recorded."),
            )  # fmt: skip

    def _tell_left(self) -> None:
        """Places that could not be looked into."""
        lines = []
        for one in self._left:
            params = one.get("params")
            error = user_error(str(one.get("code")), params if isinstance(params, dict) else {})
            lines.append(self.tr("Not looked into: {}").format(error.what))
        self.left.setText("\n".join(lines[:3]))
        self.left.setVisible(bool(lines))

    def _alone(self) -> None:
        """There is nothing to compare with."""
        self.sentence.setText(self.tr("There is no other entry of this kind"))
        self.b.say(self.tr("None"))
        self.blank.say(
            self.tr("Looked in {}").format(say.count(len(self._places), "place", "places")),
            self.tr("Add more folders or bundles to the list of places to have them looked into; "
                    "servers only while they are the place that is shown."),
        )  # fmt: skip
        self.shut.setFocus()

    def _failed(self, error: UserError) -> None:
        self._ticket = None
        self.sentence.setText(self.tr("These entries cannot be compared"))
        if self._other is None:
            self.sentence.setText(self.tr("No entry to compare with was found"))
            self.b.say(self.tr("None"))
        self.notice.tell(error, again=True)
        self.stack.setCurrentWidget(self._nothing)

    def done(self, result: int) -> None:
        self._engines.forget(self._ticket)
        super().done(result)

    # What is shown.

    def _filter(self, text: str) -> None:
        shown, total = self.tree.filter(text), self.tree.total
        said = f"{total:,}" if shown == total else self.tr("{} of {}").format(shown, total)
        self.count.setText(said)

    def _copy(self) -> None:
        if self.found is None:
            return
        lines = [explaining.sentence(self.found), ""]
        for letter, card in (("A", self.a), ("B", self.b)):
            lines.append(f"{letter}\t{card.key.text()}\t{card.name.text()}")
        lines += ["", *("\t".join(row) for row in self.tree.texts())]
        QGuiApplication.clipboard().setText("\n".join(lines))

    def _go(self) -> None:
        other = (self.found or {}).get("b")
        if isinstance(other, dict):
            self.wanted.emit(
                _place_of(other, self._place), str(other.get("kind")), str(other.get("path"))
            )
            self.accept()


def _place_of(told: object, place: str) -> str:
    """The place an entry is said to be in."""
    named = told.get("place") if isinstance(told, dict) else None
    return named if isinstance(named, str) else place
