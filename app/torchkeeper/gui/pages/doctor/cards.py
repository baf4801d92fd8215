"""What the doctor found, by how bad it is, and what was mended: a card each, in a list."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from torchkeeper.client import diagnosing
from torchkeeper.client.diagnosing import Told
from torchkeeper.client.words import say
from torchkeeper.client.words.findingwords import said
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui.pages.doctor.diagnosis import Mended
from torchkeeper.gui.pages.profiles.words import MARKS
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.cards import Card, CardList
from torchkeeper.settings.finding import SEVERITIES
from torchkeeper.settings.known import BY_NAME

_tr = partial(QCoreApplication.translate, "Doctor")

#: Commands that do what the button does, and those that are no news where there are buttons.
_FIX = re.compile("“torchkeeper (?:doctor --fix|prepare)”")
_ASIDE = re.compile(", and so does “[^”]*”| “torchkeeper check” (?:says|names) [^.]*[.]")
#: A check that could not be made: its name, the place, and why.
Left = tuple[str, str, UserError]


class PressCard(Card):
    """A card whose first button does something about it; others lead to what it is about."""

    def __init__(self, mark: tuple[str, str], title: str, texts: Sequence[tuple[str, str]]) -> None:
        super().__init__(mark, title, texts)
        self.seen = forms.label("", "muted")
        self.seen.hide()
        self.column.addWidget(self.seen)
        self.button: QPushButton | None = None
        self.shows: QPushButton | None = None
        self.sets: QPushButton | None = None


def finding_card(one: Told, to: Cards) -> PressCard:
    """What is wrong, why, what to do, and which check of which place says so."""
    told, finding = said(one.finding), one.finding
    check, place = diagnosing.check_name(one.check), printable(finding.place, 400)
    by = _tr("Check: {}").format(check) + (f" · {place}" if place not in told.what else "")
    mends = diagnosing.mends(finding)
    # What the command line calls so is the button beside it.
    fixed = _FIX.sub(_tr("“Fix…”"), told.remedy) if mends else told.remedy
    why, remedy = (_ASIDE.sub("", text) for text in (told.why, fixed))
    texts = [(why, ""), (remedy, "muted"), (by, "muted")]
    card, title = PressCard(MARKS[finding.severity], told.what, texts), told.what
    if mends:
        hint = _tr("Show a preview, then apply the fix")
        card.button = card.add(_tr("Fix…"), lambda: to.fix.emit(one), hint, title)
    if name := next((name for name in finding.settings if name in BY_NAME), ""):
        hint = _tr("Show where the value of {} comes from").format(name)
        card.sets = card.add(_tr("Show setting"), lambda: to.setting.emit(name), hint, title)
    if finding.place:
        hint = _tr("Show what {} holds").format(place)
        card.shows = card.add(_tr("Show place"), lambda: to.place.emit(finding.place), hint, title)
    return card


def mended_card(one: Mended, undoable: bool, to: Cards) -> PressCard:
    """What was mended, whether it is gone, and a way back."""
    finding = one.told.finding
    gone = _tr("It is gone.") if one.gone else _tr(diagnosing.rest(finding))
    if one.receipt:
        gone += " " + _tr("The moved entries are in the trash.")
    mark = ("done", "good") if one.gone or diagnosing.leaves(finding) else ("warning", "warning")
    texts = [(gone, ""), (printable(finding.place, 400), "muted")]
    card = PressCard(mark, said(finding).what, texts)
    if undoable:
        hint = _tr("Put back the entries in the trash")
        card.button = card.add(_tr("Undo"), lambda: to.undo.emit(one), hint, card.title)
    return card


def left_card(left: Sequence[Left], to: Cards) -> PressCard:
    """Checks that could not be made, by why."""
    by: dict[tuple[str, str], list[str]] = {}
    for check, place, why in left:
        text = " ".join(filter(None, (why.what, why.why)))
        by.setdefault((text, place), []).append(check)
    texts = []
    for (why_text, place), checks in by.items():
        who = diagnosing.check_names(checks)
        if place:
            who = _tr("{} of {}").format(who, printable(place, 400))
        texts.append((f"{who[:1].upper()}{who[1:]}: {why_text}", ""))
    card = PressCard(("info", "muted"), _tr("What could not be checked"), texts)
    if any(is_bug(why) for *_, why in left):
        hint = _tr("Show the log, which a report needs")
        card.button = card.add(_tr("Show log"), to.log.emit, hint, card.title)
    return card


def is_bug(error: UserError) -> bool:
    """Whether it is a mistake of Torchkeeper itself, of which its log tells more."""
    return error.code == "engine-bug"


class Cards(CardList):
    """Headings with cards under them."""

    fix = Signal(object)
    undo = Signal(object)
    #: The path of a place that is to be shown.
    place = Signal(str)
    #: The name of a setting that is to be shown.
    setting = Signal(str)
    log = Signal()

    @property
    def cards(self) -> list[PressCard]:
        return [widget for _, widget in self._shown if isinstance(widget, PressCard)]

    def of(self, one: object) -> PressCard | None:
        """The card of a finding, of something that was mended, or of "left"."""
        found = (w for key, w in self._shown if _is(key, one) and isinstance(w, PressCard))
        return next(found, None)

    def show_all(
        self, found: Sequence[Told], mended: Sequence[tuple[Mended, bool]], left: Sequence[Left],
        *, able: bool,
    ) -> None:  # fmt: skip
        """Show these. mended: with whether each can be undone; able: whether buttons are on."""
        wanted: list[object] = []
        if mended:
            wanted += [_tr("Fixed"), *mended]
        headings = _tr("Errors"), _tr("Warnings"), _tr("Advice")
        for severity, heading in zip(SEVERITIES, headings, strict=True):
            if some := [one for one in found if one.finding.severity == severity]:
                wanted += [f"{heading} ({len(some):,})", *some]
        if left:
            wanted.append(("left", tuple(left)))
        self.arrange(wanted, self._make, _same)
        for card in self.cards:
            if card.button is not None:
                card.button.setEnabled(able)

    def tell_times(self, when: Callable[[Told], float]) -> None:
        """Say of each finding when it was last seen."""
        for key, card in self._shown:
            if isinstance(key, Told) and isinstance(card, PressCard):
                card.seen.setText(_tr("Seen {}").format(say.ago(when(key))))
                card.seen.show()

    def _make(self, key: object) -> QWidget:
        if isinstance(key, str):
            made = forms.label(key, "section")
            made.setContentsMargins(0, 8, 0, 0)
            return made
        if isinstance(key, Told):
            return finding_card(key, self)
        assert isinstance(key, tuple)
        what, more = key
        return mended_card(what, more, self) if isinstance(what, Mended) else left_card(more, self)


def _same(key: object, other: object) -> bool:
    if isinstance(key, tuple) and isinstance(other, tuple) and key and other:
        if key[0] == "left" and other[0] == "left":
            return _told(key[1]) == _told(other[1])
        return type(key) is type(other) and key == other
    return key == other


def _told(left: Sequence[Left]) -> list[tuple[str, str, str]]:
    return [(check, place, str(why)) for check, place, why in left]


def _is(key: object, one: object) -> bool:
    if isinstance(key, tuple) and not isinstance(key, Told):
        return key[0] is one or key[0] == one
    return key == one
