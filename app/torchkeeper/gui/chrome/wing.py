"""The part of the window in which the inspector stands."""

from __future__ import annotations

from PySide6.QtCore import QSettings, Signal
from PySide6.QtWidgets import QFrame, QWidget

from torchkeeper.gui.widgets import forms

#: The window is wide enough for an inspector from here on, if nobody said otherwise.
WIDE = 1500
#: Pixels that it is wide at least, and high.
NARROWEST, LOWEST = 380, 180
#: Pixels that it is high below the page while it says no more than that nothing is selected.
EMPTY = 84
#: Where it is kept whether it is shown.
SHOWN = "inspector/shown"


class Wing(QFrame):
    """Remembers whether it is shown. Empty until it is given something to hold."""

    #: It is shown from now on, or hidden.
    turned = Signal()

    def __init__(self, settings: QSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("pane")
        self._settings = settings
        self._held: QWidget | None = None
        #: Whether it is wanted, and whether the page that is shown has one.
        self._wanted = False
        self._here = True
        #: Whether there is nothing to show in it.
        self.empty = True
        self._inside = forms.column(gap=0)
        self.setLayout(self._inside)
        # What is in it needs no more than this, whatever it says: else the window would grow.
        self.setMinimumSize(NARROWEST, EMPTY)

    def hold(self, widget: QWidget) -> None:
        """Show this."""
        self._held = widget
        self._inside.addWidget(widget)

    @property
    def least(self) -> int:
        """Pixels that it is wide at least, so that nothing in it is cut."""
        return max(NARROWEST, self._held.minimumWidth() if self._held is not None else 0)

    def tell_empty(self, empty: bool) -> None:
        """Whether there is nothing to show in it: then it needs little of the page's height."""
        if empty != self.empty:
            self.empty = empty
            self.setMinimumHeight(EMPTY if empty else LOWEST)
            self.turned.emit()

    def restore(self, width: int) -> None:
        """As it was left; where it never was, shown if the window is wide enough."""
        kept = str(self._settings.value(SHOWN) or "")
        self._wanted = kept == "true" if kept else width >= WIDE
        self._show(self._wanted and self._here)

    def toggle(self) -> None:
        """Show or hide it."""
        self._wanted = self.isHidden()
        self._show(self._wanted)
        self._settings.setValue(SHOWN, "true" if self._wanted else "false")

    def stand_by(self, here: bool) -> None:
        """Whether the page that is shown has an inspector; where not, it waits for one that has."""
        if here != self._here:
            self._here = here
            self._show(self._wanted and here)

    def _show(self, shown: bool) -> None:
        self.setVisible(shown)
        self.turned.emit()
