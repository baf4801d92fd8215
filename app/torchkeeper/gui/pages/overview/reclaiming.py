"""Having an engine add up all places; and what could go, a card for each reason."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtWidgets import QFrame, QMenu, QWidget

from torchkeeper.artifacts.entry import tally
from torchkeeper.client.overviewing import Overview, Reclaim
from torchkeeper.client.words import dead, say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.gui import theme
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.verdicts.environments import Environment, Environments, State
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import caption, tip

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Sized
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.engine.messages.places import OverviewParams, OverviewResult


#: The reasons that have a card. A budget is for who sets one, in the dialog.
SHOWN = ("stale", "broken", "orphan", "unused", "trash")


class ReasonCard(QFrame):
    """One reason."""

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
        self.go.setAccessibleName(f"{title}: {verb}".replace("…", ""))
        # One below the other: five cards stand side by side in the smallest window.
        inner = self.title, self.bytes, (self.text, 1), forms.row(self.go, forms.REST)
        self.setLayout(forms.column(*inner, margin=10, gap=4))

    def tell(self, found: Reclaim | None, places: int, waiting: str) -> None:
        """How much there is; None where that is not known, ``waiting``: why not."""
        # Who looks finds out what is not known.
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
    """All of the cards. ``clean`` is called with a place and a reason, ``empty`` with a place and
    what is in its trash; of several places one is chosen first. Below is what they come to together
    where some is in several.
    """

    def __init__(
        self,
        titles: Callable[[str], str],
        clean: Callable[[str, str], object],
        empty: Callable[[str, Sized], object],
    ) -> None:
        super().__init__()
        self._titles, self._clean, self._empty = titles, clean, empty
        self._found: Overview | None = None
        self._within: str | None = None
        days = say.count(dead.DAYS, "day", "days")
        verb = self.tr("Clean up…")
        texts = {
            "stale": (self.tr("Stale"), self.tr("Of another torch or GPU than there is here.")),
            "broken": (self.tr("Broken"), self.tr("Damaged, or without what is needed.")),
            "orphan": (self.tr("Orphaned"), self.tr("Needed only by what was removed.")),
            "unused": (self.tr("Unused"), self.tr("Not used for {}.").format(days)),
            "trash": (self.tr("In the trash"), self.tr("Purged before, and still on the disk.")),
        }
        verbs = {"trash": self.tr("Empty trash…")}
        self.cards = {
            reason: ReasonCard(reason, *texts[reason], verbs.get(reason, verb)) for reason in SHOWN
        }
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
            card.tell(reasons.get(reason, none), len(self._places(reason)), waiting)
        parts = [one.told for one in reasons.values()]
        every = found.reclaimable(within).told if found is not None else Reclaim(tally(()), 0).told
        forms.tell(self.together, dead.together(parts, every))

    def _places(self, reason: str) -> list[tuple[str, Reclaim]]:
        """Where something could go for a reason, the most first; where nobody knows, everywhere."""
        if self._found is None:
            return []
        names = [self._within] if self._within is not None else list(self._found.places)
        some = [(name, self._found.reclaim(name).get(reason)) for name in names]
        found = [(name, one) for name, one in some if one is not None and one.some]
        if not found and reason == "stale" and not any(one is not None for _, one in some):
            told = self._found.places
            found = [
                (name, Reclaim(told[name].counts, told[name].bytes, on_disk=False))
                for name in names
                if name in told and not told[name].failed and told[name].entries
            ]
        return sorted(found, key=lambda one: -one[1].bytes)

    def _go(self, card: ReasonCard) -> None:
        places = self._places(card.reason)
        if len(places) == 1:
            self._begin(card.reason, *places[0])
            return
        menu = QMenu(card)
        menu.setToolTipsVisible(True)
        menu.aboutToHide.connect(menu.deleteLater)
        for name, found in places[:20]:
            size = say.measured(found.told)
            text = caption(self.tr("{}: {}").format(self._titles(name), size))
            action = menu.addAction(theme.icon("clean"), text)
            action.setToolTip(tip(printable(name, 400)))
            action.triggered.connect(partial(self._begin, card.reason, name, found))
        menu.popup(card.go.mapToGlobal(QPoint(0, card.go.height())))

    def _begin(self, reason: str, place: str, found: Reclaim, _: bool = False) -> None:
        if reason == "trash":
            self._empty(place, found.told)
        else:
            self._clean(place, reason)


# Having an engine add up all places, for the overview.


class Looking(QObject):
    """What is known of all places; ``begin`` looks again. What was known is shown meanwhile."""

    #: There is news of any of it.
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
        """Whether places are being looked at."""
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
        """Look at all of these places."""
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
        names = [one.python for one in known]
        params: OverviewParams = {
            "places": list(places),
            "envs": [self.python] if self.python else [],
            "everywhere": names if all_known else [],
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
