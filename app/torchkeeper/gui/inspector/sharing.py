"""What of an entry nobody else should read: looked for when its summary has been shown a while.

An engine searches it, and stops when the selection moves on. What was found is kept for as long as
the entry is the same.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from torchkeeper.artifacts.entry import PORTABLE, Entry
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.inspector.details import Section, Value
from torchkeeper.gui.inspector.facts import FactsView
from torchkeeper.gui.later import once
from torchkeeper.gui.widgets import forms
from torchkeeper.link.words import leaks, say
from torchkeeper.link.words.problems import UserError

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import LeaksParams, LeaksResult
    from torchkeeper.engine.messages.findings import Finding

#: Milliseconds that an entry is shown before it is searched.
REST_MS = 300
#: Entries of which it is remembered, and secrets that are listed.
_KEPT, _LISTED = 200, 20


class Found(NamedTuple):
    """What a search came to: how many secrets, a line for each, and for each sort of facts."""

    secrets: int
    lines: list[str]
    private: list[str]


class Sharing(QWidget):
    """Says what would leave with the entry, and offers to export it."""

    #: The entry is to be exported; True where what was found is to be redacted.
    export = Signal(bool)

    def __init__(self, engines: Engines, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._engines = engines
        self._entry: Entry | None = None
        self._place = ""
        self._ticket: int | None = None
        self._coming: list[Finding] = []
        #: What was found, by what the entry was like.
        self._known: OrderedDict[tuple[Any, ...], Found] = OrderedDict()
        self.found: Found | None = None
        self.setAccessibleName(self.tr("If it were shared"))
        self.title = forms.label(self.tr("If it were shared"), "section")
        self.mark = forms.picture("warning", 16, "warning")
        self.heading = forms.label("", "heading", wrap=True)
        self.view = FactsView(self.tr("What would leave with it"), whole=True, margin=0)
        self.button = forms.button("")
        self.button.clicked.connect(self._press)
        line = forms.row(gap=8)
        line.addWidget(self.mark, 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(self.heading, 1)
        whole = forms.column(gap=6)
        whole.setContentsMargins(12, 4, 12, 12)
        whole.addWidget(self.title)
        whole.addLayout(line)
        whole.addWidget(self.view)
        whole.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        self.setLayout(whole)
        self._rest = once(self, self._ask, REST_MS)

    @property
    def asking(self) -> bool:
        """Whether a search is under way."""
        return self._ticket is not None

    def show_entry(self, place: str, entry: Entry | None) -> None:
        """What is shown now; what was being searched is no longer."""
        self.stop()
        self._place, self._entry, self.found = place, entry, None
        if entry is None:
            return
        if entry.kind not in PORTABLE or entry.broken:
            self._say(self.tr("It never leaves this place: bundles are made without it."))
            return
        found = self._known.get(self._state)
        if found is not None:
            self._show(found)
            return
        self._say(self.tr("Passwords, keys and paths in it are looked for…"))
        self._begin()

    def _begin(self) -> None:
        """Search the entry soon, if it is seen and was not searched."""
        entry = self._entry
        fit = entry is not None and entry.kind in PORTABLE and not entry.broken
        if fit and self.found is None and not self.asking and self.isVisible():
            self._rest.start()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._begin()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.stop()

    def stop(self) -> None:
        """Search no more."""
        self._rest.stop()
        self._engines.forget(self._ticket)
        self._ticket = None
        self._coming.clear()

    @property
    def _state(self) -> tuple[Any, ...]:
        entry = self._entry
        if entry is None:
            return ()
        return self._place, *entry.identity, entry.sha256, entry.size, entry.mtime

    def _ask(self) -> None:
        entry = self._entry
        if entry is None:
            return
        params: LeaksParams = {"place": self._place, "kind": entry.kind, "path": entry.path}
        listener = Listener(findings=self._coming.extend, result=self._result, failed=self._failed)
        self._ticket = self._engines.ask("leaks", params, listener, shared=True, aside=True)

    def _result(self, told: LeaksResult) -> None:
        self._ticket = None
        secrets = [one["secret"] for one in self._coming if "secret" in one]
        lines = [leaks.of_entry(one) for one in secrets[:_LISTED]]
        found = Found(told["secrets"], lines, leaks.in_one(told["private"]))
        self._coming.clear()
        self._known[self._state] = found
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)
        self._show(found)

    def _failed(self, error: UserError) -> None:
        self._ticket = None
        self._coming.clear()
        self._say(self.tr("It could not be searched: {}").format(error.what))

    def _show(self, found: Found) -> None:
        self.found = found
        lines = Section("", labelled=False)
        for text in found.lines:
            lines.add("", f"• {text}")
        if (more := found.secrets - len(found.lines)) > 0:
            lines.add("", Value(self.tr("and {} more").format(f"{more:,}"), muted=True))
        if found.private:
            lines.add("", Value(self.tr("Not secret, but said of you:"), muted=True))
            for text in found.private:
                lines.add("", f"• {text}")
        if found.secrets:
            said = self.tr("Whoever gets it could read {}").format(
                say.count(found.secrets, "password or key", "passwords or keys")
            )
        else:
            said = self.tr("Nothing in it looks like a password or a key.")
        self._say(said, [lines] if lines.rows else [])
        self.mark.setVisible(found.secrets > 0)
        text = self.tr("Export without them…") if found.secrets else self.tr("Export…")
        self.button.setText(text)
        self.button.setAccessibleName(text.rstrip("…"))
        self.button.show()

    def _say(self, text: str, sections: list[Section] | None = None) -> None:
        self.heading.setText(text)
        forms.set_role(self.heading, "heading" if sections else "")
        self.view.show_sections(sections or [])
        self.view.setVisible(bool(sections))
        self.mark.hide()
        self.button.hide()

    def _press(self) -> None:
        self.export.emit(bool(self.found and self.found.secrets))
