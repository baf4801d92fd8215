"""Who is new is guided; who wants to be is guided again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal

if TYPE_CHECKING:
    from PySide6.QtWidgets import QVBoxLayout

    from torchkeeper.gui.chrome.split import InspectorFrame
    from torchkeeper.gui.context import Context
    from torchkeeper.gui.pages.guidebar import GuideBar


class Guide(QObject):
    """Makes the strip, in ``above``, when first needed. new: this is the user's first start."""

    #: The guide's own folder is to be filled, or shown.
    warming = Signal(object)
    showing = Signal(object)

    def __init__(
        self, context: Context, wing: InspectorFrame, above: QVBoxLayout, *, new: bool
    ) -> None:
        super().__init__(context.window)
        self._context, self._frame, self._above, self._new = context, wing, above, new
        self._bar: GuideBar | None = None

    @property
    def bar(self) -> GuideBar:
        """The strip over the pages; hidden at first."""
        if self._bar is None:
            from torchkeeper.gui.pages.guidebar import GuideBar

            self._bar = GuideBar(self._context, self._frame, self.warming.emit, self.showing.emit)
            self._bar.hide()
            self._above.insertWidget(0, self._bar)
        return self._bar

    @property
    def holds_focus(self) -> bool:
        at = self._context.window.focusWidget()
        return self._bar is not None and at is not None and self._bar.isAncestorOf(at)

    def begin(self) -> None:
        """Guide whoever starts for the first time, or was being guided when the window closed."""
        from torchkeeper.gui.pages.guidebar import SINCE, STEP

        kept = self._context.settings.value(STEP)
        try:
            number = int(str(kept)) if kept is not None else -1 + self._new
            since = float(str(self._context.settings.value(SINCE) or "nan"))
        except ValueError:
            number, since = -1, math.nan
        if number >= 0:
            self.bar.show_step(number)
            if self._new and kept is None:
                # Enter is all it takes to begin.
                self.bar.go.setFocus()
            if not math.isnan(since):
                self.bar.catch_up(since)

    def show_first_steps(self) -> None:
        """Begin with the first step; while one is under way, go to it."""
        from torchkeeper.gui.pages.guidebar import EARLY

        if self.bar.isHidden() or self.bar.over:
            self._context.settings.remove(EARLY)
            self.bar.show_step(0)
        self.bar.go.setFocus(Qt.FocusReason.ShortcutFocusReason)
