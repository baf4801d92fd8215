"""The inspector as a part of the window: what it is told, and what it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt

from torchkeeper.gui.help.attached import to_inspector
from torchkeeper.gui.inspector.verdictcard import About
from torchkeeper.link.words.problems import printable

if TYPE_CHECKING:
    from torchkeeper.artifacts.entry import Entry
    from torchkeeper.gui.inspector.pane import Inspector
    from torchkeeper.gui.verdicts.here import Here
    from torchkeeper.gui.verdicts.verifications import Verifications
    from torchkeeper.gui.window import Window

#: Where it is remembered which tab is shown.
_TAB = "inspector/tab"


class Inspecting(QObject):
    """Made with the inspector."""

    def __init__(self, window: Window, inspector: Inspector) -> None:
        super().__init__(window)
        self._window = window
        self._inspector = inspector
        kept = str(window.settings.value(_TAB) or "0")
        inspector.tabs.setCurrentIndex(int(kept) if kept.isdigit() else 0)
        to_inspector(inspector)
        inspector.turned.connect(lambda number: window.settings.setValue(_TAB, number))
        inspector.asked.connect(lambda action: window.actions_[action].trigger())
        inspector.export.connect(self._export)
        inspector.first.connect(self._first)

    def tell(
        self, selected: list[Entry], here: Here | None, verifications: Verifications | None
    ) -> None:
        """Tell it what is selected, and what is known of the place and the environment."""
        window, inspector = self._window, self._inspector
        place = window.place or ""
        if here is not None:
            one = here.verdicts.environment
            named = (printable(one.torch, 60), printable(one.python, 300)) if one else ("", "")
            inspector.tell_about(About(*named, here.unjudged))
        inspector.summary.measured.tell(verifications.of(place) if verifications else None)
        window.wing.tell_empty(not selected)
        inspector.offer_first(self.tr("Select the first") if window.entries.count else "")
        inspector.select(window.place, window.listing.is_folder, selected)

    def _export(self, redact: bool) -> None:
        """Export the entry that is shown; ``redact``: without what was found in it."""
        dialog = self._window.flows.export()
        if dialog is not None and redact:
            dialog.secrets.choose("redact")

    def _first(self) -> None:
        window = self._window
        if window.entries.rowCount():
            window.table.setFocus(Qt.FocusReason.OtherFocusReason)
            window.table.go_to_row(0)
