"""What is wrong with a set of values, told while somebody types, each with its remedy."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QPushButton, QSplitter, QWidget

from torchkeeper.client import diagnosing
from torchkeeper.client.words.findingwords import said
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.idle import once
from torchkeeper.gui.pages.profiles import words
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.cards import Card, CardList
from torchkeeper.settings.finding import SEVERITIES, About, Finding, worst
from torchkeeper.settings.known import BY_NAME
from torchkeeper.settings.rules import check
from torchkeeper.settings.servers import servers

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

    from torchkeeper.engine.messages import findings


#: Pixels that are seen of the list at least.
_LEAST = 44


class FindingCard(Card):
    fix = Signal(object)
    #: Somebody wants to see the setting, or the place, that it is about.
    wanted = Signal(object)

    def __init__(self, one: Finding, fixable: bool, goes: bool) -> None:
        """fixable: whether it can be mended here; goes: whether there is something to go to."""
        told = said(one)
        texts = [(told.why, ""), (told.remedy, "muted"), (printable(one.place, 400), "muted")]
        name = f"{one.severity}: {told.what}"
        super().__init__(words.MARKS[one.severity], told.what, texts, name)
        self.finding = one
        self.go: QPushButton | None = None
        self.mend: QPushButton | None = None
        if fixable:
            change = words.change(one.change)
            self.mend = self.add(
                self.tr("Fix"), lambda: self.fix.emit(one), change, f"{told.what} {change}"
            )
        if goes:
            hint = self.tr("Go to {}").format(one.settings[0] if one.settings else "")
            self.go = self.add(self.tr("Show"), lambda: self.wanted.emit(one), hint, told.what)


_Which = Callable[[Finding], bool]


class FoundList(CardList):
    """The findings, a card each."""

    fix = Signal(object)
    wanted = Signal(object)

    def __init__(self, name: str, fixable: _Which, goes: _Which) -> None:
        """What can be mended here, and what there is something to go to of."""
        super().__init__(name)
        self._fixable, self._goes = fixable, goes

    @property
    def cards(self) -> list[FindingCard]:
        """Those that are shown, in their order."""
        return [card for _, card in self._shown if isinstance(card, FindingCard)]

    @property
    def findings(self) -> list[Finding]:
        return [card.finding for card in self.cards]

    def show_findings(self, found: Sequence[Finding]) -> None:
        """Show these, in this order."""
        if list(found) != self.findings:
            self.arrange(found, self._make, operator.eq)

    def _make(self, one: object) -> FindingCard:
        assert isinstance(one, Finding)
        card = FindingCard(one, self._fixable(one), self._goes(one))
        card.fix.connect(self.fix)
        card.wanted.connect(self.wanted)
        return card


class Checked(QWidget):
    """A line that sums up, and the list, which is not seen where there is nothing."""

    def __init__(self, *, mends: bool = True) -> None:
        """mends: whether changes of settings can be made here."""
        super().__init__()
        self.state = forms.label("", "heading")
        self.checking = forms.label("", "muted")
        self.list = FoundList(
            self.tr("Faults"),
            lambda one: mends and bool(one.change),
            lambda one: bool(one.settings),
        )
        self.list.setMinimumHeight(_LEAST)
        self.list.hide()
        line = forms.row(self.state, (self.checking, 1), gap=16)
        self.setLayout(forms.column(line, (self.list, 1), gap=6))

    def show_findings(
        self, found: Sequence[Finding], *, checking: bool, error: UserError | None = None
    ) -> None:
        """Show these; checking: whether more may come; error: why some could not be looked for."""
        before = self.state.text()
        text = words.counted(found)
        grave = any(one.severity != "advice" for one in found)
        if not grave and (found or not checking):
            text = "; ".join(filter(None, (self.tr("No faults found"), text)))
        forms.tell(self.state, text)
        forms.set_role(self.state, str(worst(list(found))) if grave else "good")
        coming = self.tr("Checking folders and the server…") if checking else ""
        left = self.tr("Folders and the server could not be checked: {}")
        self.checking.setText(left.format(error.what) if error and not checking else coming)
        self.list.show_findings(found)
        self.list.setVisible(bool(found))
        if text and text != before:
            self.state.setAccessibleName(text)
            forms.alert(self.state)


#: Pixels for the findings at most, unless somebody wants more, and of what is over their list.
_MOST = 272
#: The share of the height that they have at most.
_SHARE = 0.4
_ABOVE = 44


class Divided(QSplitter):
    """The list below has the room that it needs, until somebody moves the bar between the two."""

    def __init__(self, above: QWidget, below: Checked) -> None:
        super().__init__(Qt.Orientation.Vertical)
        self._below = below
        self._moved = False
        self.setChildrenCollapsible(False)
        self.addWidget(above)
        self.addWidget(below)
        self.setStretchFactor(0, 1)
        self.splitterMoved.connect(self._stay)

    def fit(self) -> None:
        """There are other findings."""
        self._fit()
        # Those that were never seen know their heights only once they have their places.
        QTimer.singleShot(0, self, self._fit)

    def _fit(self) -> None:
        if not self._moved and self.height() > 2:
            found, most = self._below.list, min(_MOST, int(self.height() * _SHARE))
            low = min(most, found.needed + _ABOVE) if found.cards else 0
            self.setSizes([max(1, self.height() - low), low])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _stay(self, *_: object) -> None:
        self._moved = True


#: Milliseconds without a key press before an engine is asked.
_TYPING_MS = 600
#: The checks of the doctor that are about where settings lead: not about what is in a cache.
_CHECKS = ("file-system", "room", "owner", "names", "reachable", "writes", "memory")
_FOLDERS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")


def led_to(values: Mapping[str, str], version: str | None) -> dict[str, str]:
    """The places that values name, folders and servers, and the variable that each is of."""
    found = {}
    for name in reversed(_FOLDERS):
        if os.path.isabs(folder := values.get(name, "")):
            found[os.path.normpath(folder)] = name
    try:
        named = servers(values, version)
    except ValueError:
        named = []  # a number that is none, of which the rules tell
    for server in named:
        mine = [name for name in BY_NAME if "REDIS" in name and values.get(name)]
        found[server] = mine[0] if mine else "TORCHINDUCTOR_REDIS_URL"
    return found


class Live(QObject):
    """Checks the last set of values: by the rules at once, by an engine when typing has stopped."""

    changed = Signal()

    def __init__(self, engines: Engines, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._look = Latest(engines, self)
        self._rules: list[Finding] = []
        #: What was looked up, of which places and with which server's variables.
        self._looked: list[Finding] = []
        self._of: tuple[dict[str, str], dict[str, str]] | None = None
        self._wanted: tuple[dict[str, str], dict[str, str]] = {}, {}
        self.error: UserError | None = None
        self._timer = once(self, self._ask)

    @property
    def checking(self) -> bool:
        """Whether something is still to be looked up."""
        return self._timer.isActive() or self._look.busy

    @property
    def found(self) -> list[Finding]:
        """What is wrong, the worst first."""
        return sorted([*self._rules, *self._looked], key=lambda one: SEVERITIES.index(one.severity))

    def look(self, values: Mapping[str, str], known: About, *, at_once: bool = False) -> None:
        """Check these, in an environment; ``at_once``: nobody types."""
        self._rules = check(values, known)
        places = led_to(values, known.torch)
        asked = {name: text for name, text in values.items() if "REDIS" in name}
        wanted = places, asked if any(place not in _folders(places) for place in places) else {}
        if wanted != self._wanted or self._of is None:
            self._wanted = wanted
            # What was found of one folder or server is nothing to say of another.
            same = self._of is not None and self._of[1] == wanted[1]
            kept = places if same else _folders(places)
            self._looked = [one for one in self._looked if one.place in kept]
            self._look.forget()
            self._of, self.error = None, None
            if places:
                self._timer.start(0 if at_once else _TYPING_MS)
            else:
                self._timer.stop()
        self.changed.emit()

    def stop(self) -> None:
        """Nobody wants to know any more."""
        self._timer.stop()
        self._look.forget()
        self._rules, self._looked, self._of, self.error = [], [], None, None

    def _ask(self) -> None:
        places, values = self._wanted
        coming: list[Finding] = []

        def found(some: list[findings.Finding]) -> None:
            told = (diagnosing.told(one) for one in some)
            coming.extend(_of_setting(one.finding, places) for one in told if one is not None)

        def done(_: object) -> None:
            self._looked, self._of = coming, (places, values)
            self.changed.emit()

        def failed(error: UserError) -> None:
            self.error = error
            self.changed.emit()

        params = diagnosing.request(list(places), {}, values, {}, _folders(places))
        params["only"] = list(_CHECKS)
        listener = Listener(findings=found, result=done, failed=failed)
        # A program has the passwords of its variables, and none that only this window knows.
        self._look.ask(protocol.DIAGNOSE, params, listener, bare=True)


def _folders(places: Mapping[str, str]) -> list[str]:
    return [place for place, name in places.items() if name in _FOLDERS]


def _of_setting(one: Finding, places: Mapping[str, str]) -> Finding:
    """A finding with the variable that has led to its place."""
    name = places.get(one.place)
    return one if name is None or name in one.settings else replace(one, settings=(name,))
