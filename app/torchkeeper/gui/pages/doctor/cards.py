"""What the doctor found, by how bad it is, and what was mended: a card each, in a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from torchkeeper.client import diagnosing
from torchkeeper.client.diagnosing import Told
from torchkeeper.client.words import checkwords, say
from torchkeeper.client.words.findingwords import said
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui.pages.doctor.mender import Mended
from torchkeeper.gui.pages.profiles.words import MARKS
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.cards import Card, CardList
from torchkeeper.settings.finding import SEVERITIES, Finding
from torchkeeper.settings.known import BY_NAME

#: A check that could not be made: its name, the place, and why.
Left = tuple[str, str, UserError]


def _tr(text: str) -> str:
    return QCoreApplication.translate("Doctor", text)


def heading(severity: str) -> str:
    """What stands over the findings of a severity."""
    return {
        "error": _tr("Errors"), "warning": _tr("Warnings"), "advice": _tr("Advice"),
    }[severity]  # fmt: skip


class PressCard(Card):
    """A card whose first button does something about it; others lead to what it is about."""

    pressed = Signal()
    #: The place that it is about is to be shown.
    place = Signal()
    #: The setting is to be shown.
    setting = Signal()

    def __init__(
        self, mark: tuple[str, str], title: str, texts: Sequence[tuple[str, str]],
        verb: str = "", hint: str = "",
    ) -> None:  # fmt: skip
        """verb: what the button says; "" for none."""
        super().__init__(mark, title, texts)
        self.seen = forms.label("", "muted")
        self.seen.hide()
        self.column.addWidget(self.seen)
        self.button: QPushButton | None = None
        self.shows: QPushButton | None = None
        self.sets: QPushButton | None = None
        if verb:
            self.button = self.add(verb, self.pressed.emit, hint, title)

    def tell_seen(self, text: str) -> None:
        """Say when it was last seen to be so."""
        self.seen.setText(text)
        self.seen.setVisible(bool(text))

    def lead_to_place(self, place: str) -> None:
        """A button that shows a place."""
        hint = _tr("Show what {} holds").format(printable(place, 400))
        self.shows = self.add(_tr("Show place"), self.place.emit, hint, self.title)

    def lead_to_setting(self, name: str) -> None:
        """A button that shows a setting."""
        hint = _tr("Show where the value of {} comes from").format(name)
        self.sets = self.add(_tr("Show setting"), self.setting.emit, hint, self.title)


def setting_of(finding: Finding) -> str:
    """The setting to look at first; "" where it is about none that is described."""
    return next((name for name in finding.settings if name in BY_NAME), "")


def finding_card(one: Told) -> PressCard:
    """What is wrong, why, what to do, and which check of which place says so."""
    told, finding = said(one.finding), one.finding
    check, place = checkwords.name(one.check), printable(finding.place, 400)
    of = _tr("Check: {}").format(check) + (f" · {place}" if place not in told.what else "")
    mends = diagnosing.mends(finding)
    # What the command line calls so is the button beside it.
    remedy = told.remedy.replace("“torchkeeper doctor --fix”", _tr("“Fix…”")) if mends else ""
    texts = [(told.why, ""), (remedy or told.remedy, "muted"), (of, "muted")]
    verb = _tr("Fix…") if mends else ""
    card = PressCard(MARKS[finding.severity], told.what, texts, verb,
                _tr("Show what would be done, and do it once you agree"))  # fmt: skip
    if name := setting_of(finding):
        card.lead_to_setting(name)
    if finding.place:
        card.lead_to_place(finding.place)
    return card


def mended_card(one: Mended, undoable: bool) -> PressCard:
    """What was mended, whether it is gone, and a way back."""
    finding = one.told.finding
    gone = _tr("It is gone.") if one.gone else _tr(diagnosing.rest(finding))
    if one.receipt:
        gone += " " + _tr("What was moved lies in the trash.")
    mended = one.gone or diagnosing.leaves(finding)
    mark = ("done", "good") if mended else ("warning", "warning")
    verb = _tr("Undo") if undoable else ""
    texts = [(gone, ""), (printable(one.told.finding.place, 400), "muted")]
    return PressCard(mark, said(one.told.finding).what, texts, verb,
                _tr("Put back what was moved to the trash"))  # fmt: skip


def left_card(left: Sequence[Left]) -> PressCard:
    """Checks that could not be made, by why."""
    by: dict[tuple[str, str], list[str]] = {}
    for check, place, why in left:
        text = " ".join(x for x in (why.what, why.why) if x)
        by.setdefault((text, place), []).append(check)
    texts = []
    for (why_text, place), checks in by.items():
        of = _tr("{} of {}").format(checkwords.listed(checks), printable(place, 400))
        who = of if place else checkwords.listed(checks)
        texts.append((f"{who[:1].upper()}{who[1:]}: {why_text}", ""))
    title, ours = _tr("What could not be checked"), any(is_bug(why) for _, _, why in left)
    verb = _tr("Show log") if ours else ""
    return PressCard(("info", "muted"), title, texts, verb, _tr("Show what a report needs"))


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
    #: The log is to be shown.
    log = Signal()

    def __init__(self, name: str) -> None:
        super().__init__(name, margin=8)

    @property
    def cards(self) -> list[PressCard]:
        """Those that are shown."""
        return [widget for _, widget in self._shown if isinstance(widget, PressCard)]

    @property
    def headings(self) -> list[str]:
        """What stands over them."""
        return [str(key) for key, widget in self._shown if not isinstance(widget, PressCard)]

    def of(self, one: object) -> PressCard | None:
        """The card of a finding, of something that was mended, or of "left"."""
        found = (w for key, w in self._shown if _is(key, one) and isinstance(w, PressCard))
        return next(found, None)

    def show_all(
        self, found: Sequence[Told], mended: Sequence[tuple[Mended, bool]], left: Sequence[Left],
        *, able: bool,
    ) -> None:  # fmt: skip
        """Show these. mended: with whether each can be undone; able: whether anything can be done
        now.
        """
        wanted: list[object] = []
        if mended:
            wanted += [_tr("Fixed"), *mended]
        for severity in SEVERITIES:
            some = [one for one in found if one.finding.severity == severity]
            if some:
                wanted += [f"{heading(severity)} ({len(some):,})", *some]
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
                card.tell_seen(_tr("Seen {}").format(say.ago(when(key))))

    def _make(self, key: object) -> QWidget:
        if isinstance(key, str):
            made = forms.label(key, "section")
            made.setContentsMargins(0, 8, 0, 0)
            return made
        if isinstance(key, Told):
            card = finding_card(key)
            card.pressed.connect(lambda: self.fix.emit(key))
            card.setting.connect(lambda: self.setting.emit(setting_of(key.finding)))
            card.place.connect(lambda: self.place.emit(key.finding.place))
            return card
        assert isinstance(key, tuple)
        if isinstance(key[0], Mended):
            card, one = mended_card(key[0], bool(key[1])), key[0]
            card.pressed.connect(lambda: self.undo.emit(one))
            return card
        card = left_card(key[1])
        card.pressed.connect(self.log.emit)
        return card


def _same(key: object, other: object) -> bool:
    if isinstance(key, tuple) and isinstance(other, tuple) and key and other:
        if key[0] == "left" and other[0] == "left":
            return [(c, p, str(w)) for c, p, w in key[1]] == [
                (c, p, str(w)) for c, p, w in other[1]
            ]
        return type(key) is type(other) and key == other
    return key == other


def _told(left: Sequence[Left]) -> list[tuple[str, str, str]]:
    return [(check, place, str(why)) for check, place, why in left]


def _is(key: object, one: object) -> bool:
    if isinstance(key, tuple) and not isinstance(key, Told):
        return key[0] is one or key[0] == one
    return key == one
