"""The verdict of an entry in sentences, at the top of what there is to know of it."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QWidget

from torchkeeper.artifacts.entry import WITHOUT_VERDICT, Entry
from torchkeeper.client.words import verdicts
from torchkeeper.client.words.verdicts import Why
from torchkeeper.gui import icons, theme
from torchkeeper.gui.inspector.details import Section, Value
from torchkeeper.gui.inspector.facts import FactsView
from torchkeeper.gui.table.cells import verdict_words
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.elided import Elided
from torchkeeper.gui.widgets.plain import tip

#: Reasons and conditions that are shown; the rest is counted.
_SHOWN = 12
_MARK = 32


class About(NamedTuple):
    """What verdicts are about.

    torch, python: the version and the interpreter of the environment; empty where none is chosen.
    unjudged: why there are no verdicts; empty where there are.
    """

    torch: str = ""
    python: str = ""
    unjudged: str = ""


class VerdictCard(QFrame):
    """A large mark, the verdict, the environment it is about, and why."""

    #: An action of the window is wanted.
    asked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._verdict = ""
        self.mark = forms.label("")
        self.mark.setFixedSize(_MARK, _MARK)
        self.title = forms.label("", "title", wrap=True)
        self.environment = forms.label("", "muted", wrap=True)
        self.python = Elided("muted")
        self.why = FactsView(self.tr("Why it has this verdict"), whole=True, margin=0)
        self.button = forms.button(self.tr("Choose environment…"))
        self.button.clicked.connect(lambda: self.asked.emit("environments"))
        names = forms.column(gap=2)
        names.addWidget(self.title)
        names.addWidget(self.environment)
        names.addWidget(self.python)
        head = forms.row(gap=12)
        head.addWidget(self.mark, 0, Qt.AlignmentFlag.AlignTop)
        head.addLayout(names, 1)
        whole = forms.column(gap=8, margin=12)
        whole.addLayout(head)
        whole.addWidget(self.why)
        whole.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        self.setLayout(whole)
        theme.follow(self, self._paint)

    def show_entry(self, entry: Entry, about: About) -> None:
        """Say what the verdict of an entry is, and why."""
        self._verdict = entry.verdict or ""
        sections = self._sections(entry, about)
        title = verdict_words(self._verdict) if self._verdict else self.tr("No verdict")
        self.title.setText(title)
        judged = bool(self._verdict and about.torch)
        self.environment.setText(self.tr("for torch {}").format(about.torch))
        self.python.setText(about.python)
        self.python.setToolTip(tip(about.python))
        self.python.setAccessibleName(self.tr("Interpreter: {}").format(about.python))
        for label in (self.environment, self.python):
            label.setVisible(judged)
        self.why.show_sections(sections)
        lacking = not self._verdict and not about.torch
        self.button.setVisible(lacking and entry.kind not in WITHOUT_VERDICT)
        said = " ".join(value.text for section in sections for _, some in section.rows
                        for value in some)  # fmt: skip
        name = self.tr("Verdict: {}").format(title)
        self.setAccessibleName(name)
        self.setAccessibleDescription(said)
        self._paint()

    def _sections(self, entry: Entry, about: About) -> list[Section]:
        section = Section("", labelled=False)
        why = entry.why if isinstance(entry.why, Why) else None
        section.add("", self._sentence(entry, about, why))
        if why is not None:
            for text, must in why.to_meet[:_SHOWN]:
                section.add("", f"• {text}", Value(must, muted=True) if must else None)
            for text in why.reasons[:_SHOWN]:
                section.add("", f"• {text}")
            if (more := len(why.reasons) + len(why.to_meet) - _SHOWN) > 0:
                section.add("", Value(self.tr("and {} more").format(f"{more:,}"), muted=True))
        return [section] if section.rows else []

    def _sentence(self, entry: Entry, about: About, why: Why | None) -> str:
        """What the verdict means."""
        reasons = why is not None and bool(why.reasons or why.to_meet)
        if entry.verdict is None:
            if entry.kind in WITHOUT_VERDICT:
                return self.tr("Such files have no verdict of their own: what needs them has one.")
            return about.unjudged or self.tr("It is not judged yet.")
        if entry.verdict == "usable":
            return self.tr("Programs with this environment’s defaults find it.")
        if entry.verdict == "conditional":
            return (
                self.tr("A program finds it if it has what the entry was made with:")
                if reasons
                else self.tr("A program finds it if it meets a condition.")
            )
        if entry.verdict == "unsafe":
            return verdicts.unsafe()
        if entry.verdict == "stale":
            return (
                self.tr("No program finds it here. It was made with something else:")
                if reasons
                else self.tr("No program finds it here.")
            )
        if entry.verdict == "broken":
            return (
                self.tr("PyTorch cannot use it:") if reasons else self.tr("PyTorch cannot use it.")
            )
        return (
            self.tr("Whether a program finds it here is not known, because of:")
            if reasons
            else self.tr("Whether a program finds it here is not known.")
        )

    def _paint(self) -> None:
        name = f"verdict-{self._verdict or 'unknown'}"
        shades = theme.shades()
        colour = shades.verdict(self._verdict) if self._verdict else shades.muted
        scale = self.devicePixelRatioF()
        self.mark.setPixmap(icons.pixmap(name, _MARK, colour, scale))
