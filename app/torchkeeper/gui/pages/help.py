"""All terms on one page. Also which part of the window What's This explains with which terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from torchkeeper.artifacts.entry import VERDICTS
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.inspector.details import FactsView, Section, Value
from torchkeeper.gui.pages import glossary
from torchkeeper.gui.widgets import forms

if TYPE_CHECKING:
    from torchkeeper.gui.inspector.pane import Inspector
    from torchkeeper.gui.shell import Shell
    from torchkeeper.gui.verdicts.controller import VerdictController


class GlossaryDialog(Dialog):
    """Each term with what it means, and a field that finds one."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent, 560)
        self.setWindowTitle(self.tr("Glossary"))
        self.search = forms.line_edit(self.tr("Find a word"))
        self.search.setAccessibleName(self.tr("Find a word"))
        self.search.setAccessibleDescription(self.tr("Shows only the terms with these words"))
        forms.clearable(self.search)
        self.search.textChanged.connect(self._show)
        self.view = FactsView(self.tr("Words and what they mean"), margin=4)
        self.view.setObjectName("card")
        text = self.tr(
            "Shift+F1 explains the control that has the focus, here and in every dialog. "
            "Ctrl+Shift+F1 and a click explain anything in the window."
        )
        forms.add(self.body, self.search, (self.view, 1), forms.label(text, "muted", wrap=True))
        close = forms.button(self.tr("Close"), self.accept)
        close.setDefault(True)
        self.buttons(close)
        self._show("")
        self.resize_within(620, 680)

    def _show(self, sought: str) -> None:
        words = sought.lower().split()
        found = []
        for title, some in glossary.TERMS:
            section = Section(glossary.tr(title))
            for term in (glossary.of(one.id) for one in some):
                text = f"{term.name} {term.text}".lower()
                if all(word in text for word in words):
                    section.add(term.name, term.text)
            if section.rows:
                found.append(section)
        none = Section("", labelled=False)
        none.add("", Value(self.tr("No term has these words."), muted=True))
        self.view.show_sections(found or [none])


#: Terms by the actions that are about them.
ACTIONS = {
    "warm": ("recipe", "profile"),
    "verify": ("verification", "header"),
    "prepare": ("header",),
    "environment-prepare": ("header",),
    "recipes": ("recipe",),
    "export": ("bundle",),
    "import": ("bundle", "mega-cache", "signature"),
    "sign": ("signature",),
    "signers": ("signature",),
    "clean-up": ("stale", "broken", "orphan", "trash"),
    "compare": ("key-factor",),
    "compare-two": ("key-factor",),
    "compare-nearest": ("key-factor",),
    "purge": ("trash",),
    "undo": ("trash",),
    "empty-trash": ("trash",),
    "environments": ("environment",),
    "add-interpreter": ("environment",),
    **{f"only-{name}": (name,) for name in VERDICTS},
}


def to_window(window: Shell) -> None:
    """Explain what is there from the start."""
    for ident, names in ACTIONS.items():
        glossary.explain(window.actions_[ident], *names)
    glossary.explain(window.places_pane, "place")
    glossary.explain(window.table, "entry")
    glossary.explain(window.head.box, "filter")
    glossary.explain(window.undo_bar, "trash")
    glossary.explain(window.trash_label, "trash")


def to_here(here: VerdictController) -> None:
    """Explain the verdicts and the environment they are about."""
    glossary.explain(here.chooser, "environment")
    glossary.explain(here.bar, "verdict")
    for verdict, button in here.bar.buttons.items():
        glossary.explain(button, verdict)


def to_inspector(inspector: Inspector) -> None:
    """Explain what the inspector tells."""
    summary = inspector.summary
    glossary.explain(inspector, "entry")
    glossary.explain(summary.verdict, "verdict")
    glossary.explain(summary.facts, "needs", "orphan")
    glossary.explain(summary.orphan, "orphan")
    glossary.explain(summary.problem, "broken")
    glossary.explain(summary.measured, "recipe")
    glossary.explain(summary.sharing, "bundle")
    glossary.explain(inspector.factors, "key-factor")
    glossary.explain(inspector.files, "payload")
