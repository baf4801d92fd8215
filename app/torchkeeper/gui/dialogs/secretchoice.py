"""What becomes of secrets that would leave with entries: asked where some were found. Also what a
copy would not take, counted by the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from torchkeeper.client.words import leaks, say
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.forms import Choice

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Leaks, Secrets
    from torchkeeper.engine.messages.findings import Finding


#: Secrets that are listed; how many there are is said in any case.
_LISTED = 200


class SecretChoice(QWidget):
    """Hidden where there are neither secrets nor private facts; nothing is decided unasked."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._found: list[str] = []
        self._told: Leaks | None = None
        self.heading = forms.label("", "heading")
        self.list = forms.read_only_text(self.tr("Secrets that were found"))
        self.list.setFixedHeight(self.list.fontMetrics().lineSpacing() * 4 + 20)
        self.choice = Choice()
        self.choice.setPlaceholderText(self.tr("Say what is to become of them"))
        for text, value in (
            (self.tr("Redact them: as many x take their place"), "redact"),
            (self.tr("Leave these entries out"), "leave"),
            (self.tr("Take them along: nothing of this is secret"), "allow"),
        ):
            self.choice.addItem(text, value)
        self.choice.setCurrentIndex(-1)
        self.choice.setAccessibleName(self.tr("What becomes of secrets"))
        self.choice.currentIndexChanged.connect(lambda *_: self._say())
        self.note = forms.label("", "muted", wrap=True)
        self.private = forms.label("", "muted", wrap=True)
        inside = forms.column(self.heading, self.list, forms.row(self.choice, forms.REST), gap=6)
        self._notice = forms.frame("notice", forms.row((inside, 1), margin=(12, 10, 12, 10)))
        self.setLayout(forms.column(self._notice, self.note, self.private))
        self._say()

    def clear(self) -> None:
        """Nothing is known any more; what was decided stays."""
        self._found, self._told = [], None
        self._say()

    def choose(self, value: Secrets) -> None:
        """Decide, as the user did elsewhere."""
        self.choice.setCurrentIndex(self.choice.findData(value))

    def take(self, found: list[Finding]) -> None:
        """Note what an engine has found, with everything else."""
        news = False
        for one in found:
            if "secret" in one:
                if len(self._found) < _LISTED:
                    self._found.append(leaks.line(one["secret"], brief=True))
            elif "leaks" in one:
                self._told, news = one["leaks"], True
        if news:
            self._say()

    @property
    def secrets(self) -> int:
        """How many were found."""
        return self._told["secrets"] if self._told else 0

    @property
    def value(self) -> Secrets | None:
        """What an engine is to be told; None while there is nothing to decide, or undecided."""
        chosen: Secrets | None = self.choice.currentData()
        return chosen if self.secrets else None

    @property
    def undecided(self) -> bool:
        """Whether somebody has to say what is to become of them."""
        return self.secrets > 0 and self.choice.currentIndex() < 0

    @property
    def left_out(self) -> int:
        """How many entries would be left out as they cannot be redacted."""
        redact = self.choice.currentData() == "redact"
        return self._told["fixed"] if redact and self._told else 0

    def _make_room(self, secrets: int) -> None:
        dialog = self.window()
        if dialog is not self:
            wanted = dialog.height() + (self.list.height() + 150 if secrets else 40)
            room = dialog.screen().availableSize().height() - 80
            dialog.resize(dialog.width(), max(dialog.height(), min(wanted, room)))

    def _say(self) -> None:
        told, count = self._told, self.secrets
        entries = say.count(told["entries"] if told else 0, "entry", "entries")
        secrets = say.count(count, "password or key", "passwords or keys")
        self.heading.setText(self.tr("{} found in {}").format(secrets, entries))
        lines = "\n".join(self._found)
        if self.list.toPlainText() != lines:
            self.list.setPlainText(lines)
        fixed = told["fixed"] if told else 0
        redact = self.choice.currentData() == "redact"
        text = self.tr("{} cannot be redacted: named after their content, they would be left out.")
        if fixed == 1:
            text = self.tr("{} cannot be redacted: named after its content, it would be left out.")
        note = text.format(say.count(fixed, "entry", "entries"))
        forms.tell(self.note, note if fixed and redact else "")
        facts = leaks.private(told["private"] if told else ())
        private = self.tr("Also in it: {}").format("; ".join(facts))
        forms.tell(self.private, private if facts else "")
        self._notice.setVisible(count > 0)
        shown = bool(count or facts)
        if shown and self.isHidden():
            self._make_room(count)
        self.setVisible(shown)
        self.changed.emit()


# What a copy would not take, counted by the reason.

#: Reasons that are named one by one.
_NAMED = 4


class Stays(Counter[str]):
    """How many entries stay out for each reason."""

    def take(self, found: list[Finding]) -> None:
        """Count what an engine has found."""
        for one in found:
            if "left" in one:
                self[user_error(one["left"]["code"], one["left"]["params"]).what] += 1

    def words(self, tr: Callable[[str], str]) -> str:
        """How many stay out and why, a line for each reason; empty where none does."""
        count = sum(self.values())
        if not count:
            return ""
        stay = tr("{} stay out").format(say.count(count, "entry", "entries"))
        if count == 1:
            stay = tr("One entry stays out")
        reasons = [f"{number:,} × {why}" for why, number in self.most_common(_NAMED)]
        if len(self) > _NAMED:
            reasons.append(tr("and {} reasons more").format(len(self) - _NAMED))
        if count == 1:
            why = reasons[0].partition("× ")[2]
            # But an abbreviation stays one.
            return f"{stay}: {why if why[1:2].isupper() else why[:1].lower() + why[1:]}"
        return "\n".join([f"{stay}:", *reasons])
