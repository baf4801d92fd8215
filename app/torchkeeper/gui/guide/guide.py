"""Who is new is guided; who wants to be is guided again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt

if TYPE_CHECKING:
    from torchkeeper.gui.guide.bar import GuideBar
    from torchkeeper.gui.window import Window

#: The step somebody is at, its number in guide.steps; -1 for who wants no guide. And since when,
#: seconds since the epoch.
STEP = "guide/step"
SINCE = "guide/since"
#: The kinds of jobs of later steps that were done already, with blanks between.
EARLY = "guide/early"


class Guide(QObject):
    """Makes the strip when it is first needed. new: nobody has started the window before."""

    def __init__(self, window: Window, *, new: bool) -> None:
        super().__init__(window)
        self._window = window
        self._new = new
        self._bar: GuideBar | None = None

    @property
    def bar(self) -> GuideBar:
        """The strip over the pages; hidden at first."""
        if self._bar is None:
            from torchkeeper.gui.guide.bar import GuideBar

            self._bar = GuideBar(self._window)
            self._bar.hide()
            self._window.top.insertWidget(0, self._bar)
        return self._bar

    def begin(self) -> None:
        """Guide whoever starts for the first time, or was being guided when the window closed."""
        kept = self._window.settings.value(STEP)
        try:
            number = int(str(kept)) if kept is not None else -1 + self._new
            since = float(str(self._window.settings.value(SINCE) or "nan"))
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
        if self.bar.isHidden() or self.bar.over:
            self._window.settings.remove(EARLY)
            self.bar.show_step(0)
        self.bar.go.setFocus(Qt.FocusReason.ShortcutFocusReason)
