"""What the doctor found, by how bad it is, and what was mended: a card each, in a list."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QFrame, QPushButton, QScrollArea, QWidget

from torchkeeper.gui import forms
from torchkeeper.gui.doctor.mender import Mended
from torchkeeper.gui.profiles.words import MARKS
from torchkeeper.link import checkwords, diagnosing
from torchkeeper.link.diagnosing import Told
from torchkeeper.link.findingwords import said
from torchkeeper.link.words import UserError, printable
from torchkeeper.settings.finding import SEVERITIES

#: A check that could not be made: its name, the place, and why.
Left = tuple[str, str, UserError]


def _tr(text: str) -> str:
    return QCoreApplication.translate("Doctor", text)


def heading(severity: str) -> str:
    """What stands over the findings of a severity."""
    return {
        "error": _tr("Errors"), "warning": _tr("Warnings"), "advice": _tr("Advice"),
    }[severity]  # fmt: skip


def _line(text: str, role: str = "") -> QWidget:
    made = forms.label(text, role, wrap=True)
    made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return made


class Card(QFrame):
    """An icon, texts, and at most one button."""

    pressed = Signal()

    def __init__(
        self, mark: tuple[str, str], title: str, texts: Sequence[tuple[str, str]],
        verb: str = "", hint: str = "",
    ) -> None:  # fmt: skip
        """mark: an icon and its colour; texts: each with its role; verb: what the button says."""
        super().__init__()
        self.setObjectName("hint")
        self.setAccessibleName(title)
        self.title = title
        column = forms.column(gap=2)
        column.addWidget(forms.label(title, "heading", wrap=True))
        for text, role in texts:
            if text:
                column.addWidget(_line(text, role))
        line = forms.row(gap=12)
        line.setContentsMargins(12, 10, 12, 10)
        line.addWidget(forms.picture(mark[0], 20, mark[1]), 0, Qt.AlignmentFlag.AlignTop)
        line.addLayout(column, 1)
        self.button: QPushButton | None = None
        if verb:
            self.button = forms.button(verb)
            self.button.setAutoDefault(False)
            self.button.setToolTip(hint)
            self.button.setAccessibleDescription(title)
            self.button.clicked.connect(self.pressed)
            line.addWidget(self.button, 0, Qt.AlignmentFlag.AlignTop)
        self.setLayout(line)


def finding_card(one: Told) -> Card:
    """What is wrong, why, what to do, and which check of which place says so."""
    told, finding = said(one.finding), one.finding
    check, place = checkwords.name(one.check), printable(finding.place, 400)
    of = _tr("Check: {}").format(check) + (f" · {place}" if place not in told.what else "")
    mends = diagnosing.mends(finding)
    # What the command line calls so is the button beside it.
    remedy = told.remedy.replace("“torchkeeper doctor --fix”", _tr("“Fix…”")) if mends else ""
    texts = [(told.why, ""), (remedy or told.remedy, "muted"), (of, "muted")]
    verb = _tr("Fix…") if mends else ""
    return Card(MARKS[finding.severity], told.what, texts, verb,
                _tr("Show what would be done, and do it once you agree"))  # fmt: skip


def mended_card(one: Mended, undoable: bool) -> Card:
    """What was mended, whether it is gone, and a way back."""
    finding = one.told.finding
    gone = _tr("It is gone.") if one.gone else _tr(diagnosing.rest(finding))
    if one.receipt:
        gone += " " + _tr("What was moved lies in the trash.")
    mended = one.gone or diagnosing.leaves(finding)
    mark = ("done", "good") if mended else ("warning", "warning")
    verb = _tr("Undo") if undoable else ""
    texts = [(gone, ""), (printable(one.told.finding.place, 400), "muted")]
    return Card(mark, said(one.told.finding).what, texts, verb,
                _tr("Put back what was moved to the trash"))  # fmt: skip


def left_card(left: Sequence[Left]) -> Card:
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
    return Card(("info", "muted"), _tr("What could not be checked"), texts)


class Cards(QScrollArea):
    """Headings with cards under them. Cards of what stays are kept: somebody may be at a button."""

    fix = Signal(object)
    undo = Signal(object)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self._rows = forms.column(gap=6)
        self._rows.setContentsMargins(0, 0, 8, 0)
        page = QWidget()
        page.setLayout(self._rows)
        self._rows.addStretch(1)
        self.setWidget(page)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        #: What is shown, from the top: a text of a heading or a card, by what it is made from.
        self._shown: list[tuple[object, QWidget]] = []

    @property
    def cards(self) -> list[Card]:
        """Those that are shown."""
        return [widget for _, widget in self._shown if isinstance(widget, Card)]

    @property
    def headings(self) -> list[str]:
        """What stands over them."""
        return [str(key) for key, widget in self._shown if not isinstance(widget, Card)]

    def of(self, one: object) -> Card | None:
        """The card of a finding, of something that was mended, or of "left"."""
        found = (w for key, w in self._shown if _is(key, one) and isinstance(w, Card))
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
            wanted += [_tr("Mended"), *mended]
        for severity in SEVERITIES:
            some = [one for one in found if one.finding.severity == severity]
            if some:
                wanted += [f"{heading(severity)} ({len(some):,})", *some]
        if left:
            wanted.append(("left", tuple(left)))
        before = list(self._shown)
        self._shown = []
        for at, key in enumerate(wanted):
            kept = next((x for x in before if _same(x[0], key)), None)
            if kept is None:
                kept = key, self._make(key)
            else:
                before.remove(kept)
            self._shown.append(kept)
            self._rows.insertWidget(at, kept[1])
        for _, widget in before:
            self._rows.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        for card in self.cards:
            if card.button is not None:
                card.button.setEnabled(able)

    def _make(self, key: object) -> QWidget:
        if isinstance(key, str):
            made = forms.label(key, "section")
            made.setContentsMargins(0, 8, 0, 0)
            return made
        if isinstance(key, Told):
            card = finding_card(key)
            card.pressed.connect(lambda: self.fix.emit(key))
            return card
        assert isinstance(key, tuple)
        if isinstance(key[0], Mended):
            card, one = mended_card(key[0], bool(key[1])), key[0]
            card.pressed.connect(lambda: self.undo.emit(one))
            return card
        return left_card(key[1])


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
