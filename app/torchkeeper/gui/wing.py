"""The side of the window in which the inspector stands."""

from __future__ import annotations

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QFrame, QSplitter, QWidget

from torchkeeper.gui import forms

#: The window is wide enough for an inspector from here on, if nobody said otherwise.
WIDE = 1500
#: Pixels: of the inspector where nobody said otherwise, and at least.
WIDTH, NARROWEST = 420, 380
#: Pixels of the first part of the splitter, the places.
_SIDE = 252


class Wing(QFrame):
    """Remembers whether it is shown, and how wide. Empty until it is given something to hold."""

    def __init__(self, settings: QSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("pane")
        self._settings = settings
        self._splitter: QSplitter | None = None
        #: Whether it is wanted, and whether the page that is shown has one.
        self._wanted = False
        self._here = True
        self._inside = forms.column(gap=0)
        self.setLayout(self._inside)

    def belong_to(self, splitter: QSplitter) -> None:
        """It is the last part of this splitter, whose first is remembered too."""
        self._splitter = splitter
        splitter.setSizes([self._kept("places/width", _SIDE), WIDE, 0])
        splitter.splitterMoved.connect(lambda *_: self._moved())

    def hold(self, widget: QWidget) -> None:
        """Show this."""
        self._inside.addWidget(widget)

    def restore(self, width: int) -> None:
        """As it was left; where it never was, shown if the window is wide enough."""
        kept = str(self._settings.value("inspector/shown") or "")
        self._wanted = kept == "true" if kept else width >= WIDE
        self._show(self._wanted and self._here)

    def toggle(self) -> None:
        """Show or hide it."""
        self._wanted = self.isHidden()
        self._show(self._wanted)
        self._settings.setValue("inspector/shown", "true" if self._wanted else "false")

    def stand_by(self, here: bool) -> None:
        """Whether the page that is shown has an inspector; where not, it waits for one that has."""
        if here != self._here:
            self._here = here
            self._show(self._wanted and here)

    def _show(self, shown: bool) -> None:
        self.setVisible(shown)
        if not shown or self._splitter is None:
            return
        width = self._kept("inspector/width", WIDTH)
        sizes = self._splitter.sizes()
        if not self._splitter.isVisible():
            # It does not have its size yet, and has squeezed its parts.
            sizes = [self._kept("places/width", _SIDE), WIDE, 0]
        at = self._splitter.indexOf(self)
        width = max(NARROWEST, self.minimumSizeHint().width(), width)
        sizes[at - 1] = max(0, sum(sizes[at - 1 :]) - width)
        sizes[at] = width
        self._splitter.setSizes(sizes)

    def _kept(self, name: str, otherwise: int) -> int:
        try:
            return int(str(self._settings.value(name) or otherwise))
        except ValueError:
            return otherwise

    def _moved(self) -> None:
        # Of one that is hidden it stays as it was.
        if self._splitter is not None and (width := self._splitter.sizes()[0]):
            self._settings.setValue("places/width", width)
        if not self.isHidden():
            self._settings.setValue("inspector/width", self.width())
