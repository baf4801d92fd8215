"""The inspector as a part of the window: what it is told, and what it asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt

from torchkeeper.client.words.problems import printable
from torchkeeper.gui.inspector.summary import About
from torchkeeper.gui.pages.help import to_inspector

if TYPE_CHECKING:
    from torchkeeper.artifacts.entry import Entry
    from torchkeeper.gui.context import Context
    from torchkeeper.gui.flows import Flows
    from torchkeeper.gui.inspector.pane import Inspector
    from torchkeeper.gui.verdicts.controller import VerdictController
    from torchkeeper.gui.verdicts.verifications import Verifications

#: Where it is remembered which tab is shown.
_TAB = "inspector/tab"


class Inspecting(QObject):
    """Made with the inspector."""

    def __init__(self, context: Context, inspector: Inspector, flows: Callable[[], Flows]) -> None:
        """flows: made when they are first asked for."""
        super().__init__(context.window)
        self._context, self._inspector, self._flows = context, inspector, flows
        kept = str(context.settings.value(_TAB) or "0")
        inspector.tabs.setCurrentIndex(int(kept) if kept.isdigit() else 0)
        to_inspector(inspector)
        inspector.turned.connect(lambda number: context.settings.setValue(_TAB, number))
        inspector.asked.connect(lambda action: context.actions[action].trigger())
        inspector.export.connect(self._export)
        inspector.first.connect(self._first)

    def tell(
        self, selected: list[Entry], here: VerdictController | None, verified: Verifications | None
    ) -> None:
        """Tell it what is selected, and what is known of the place and the environment."""
        context, inspector = self._context, self._inspector
        place = context.place or ""
        if here is not None:
            one = here.verdicts.environment
            named = (printable(one.torch, 60), printable(one.python, 300)) if one else ("", "")
            inspector.tell_about(About(*named, here.unjudged))
        inspector.summary.measured.tell(verified.of(place) if verified else None)
        inspector.offer_first(self.tr("Select the first") if context.entries.count else "")
        inspector.select(context.place, context.listing.is_folder, selected, context.entries.rows)

    def _export(self, redact: bool) -> None:
        """Export the entry that is shown; ``redact``: without what was found in it."""
        dialog = self._flows().export()
        if dialog is not None and redact:
            dialog.secrets.choose("redact")

    def _first(self) -> None:
        context = self._context
        if context.entries.rowCount():
            context.table.setFocus(Qt.FocusReason.OtherFocusReason)
            context.table.go_to_row(0)
