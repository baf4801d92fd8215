"""All ideas on one page."""

from __future__ import annotations

from PySide6.QtWidgets import QLineEdit, QWidget

from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.inspector.details import Section, Value
from torchkeeper.gui.inspector.facts import FactsView
from torchkeeper.gui.pages.help import ideas
from torchkeeper.gui.widgets import forms


class IdeasDialog(Dialog):
    """Each idea with what it means, and a field that finds one."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent, 560)
        self.setWindowTitle(self.tr("Ideas"))
        self.search = QLineEdit()
        self.search.setPlaceholderText(self.tr("Find a word"))
        self.search.setAccessibleName(self.tr("Find an idea"))
        self.search.setAccessibleDescription(self.tr("Only ideas with these words are shown"))
        forms.clearable(self.search)
        self.search.textChanged.connect(self._show)
        self.view = FactsView(self.tr("Ideas and what they mean"), margin=4)
        self.view.setObjectName("card")
        text = self.tr(
            "Shift+F1 says it of what has the keyboard, here and in every dialog; "
            "Ctrl+Shift+F1 and a click, of anything in the window."
        )
        forms.add(self.body, self.search, (self.view, 1), forms.label(text, "muted", wrap=True))
        close = forms.button(self.tr("Close"), self.accept)
        close.setDefault(True)
        self.buttons(close)
        self._show("")
        room = self.screen().availableSize()
        self.resize(min(620, room.width() - 40), min(680, room.height() - 80))

    def _show(self, sought: str) -> None:
        words = sought.lower().split()
        found = []
        for title, some in ideas.IDEAS:
            section = Section(ideas.tr(title))
            for idea in (ideas.of(one.id) for one in some):
                text = f"{idea.name} {idea.text}".lower()
                if all(word in text for word in words):
                    section.add(idea.name, idea.text)
            if section.rows:
                found.append(section)
        if not found:
            none = Section("", labelled=False)
            none.add("", Value(self.tr("No idea has these words."), muted=True))
            found.append(none)
        self.view.show_sections(found)
