"""The part of the window in which the inspector stands."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSettings, Qt, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QSplitter, QWidget

from torchkeeper.gui.widgets import forms

#: Pixels that it is wide at least, and high.
NARROWEST, LOWEST = 380, 180
#: Pixels that it is high below the page while it says no more than that nothing is selected.
EMPTY = 84
#: Where it is kept whether it is shown.
SHOWN = "inspector/shown"


class InspectorFrame(QFrame):
    """Remembers whether it is shown. Empty until it is given something to hold."""

    turned = Signal()

    def __init__(self, settings: QSettings) -> None:
        super().__init__()
        self.setObjectName("pane")
        self._settings = settings
        self._held: QWidget | None = None
        #: Whether it is wanted, and whether the page that is shown has one.
        self._wanted, self._here = False, True
        self.empty = True
        self._inside = forms.column(gap=0)
        self.setLayout(self._inside)
        # What is in it needs no more than this, whatever it says: else the window would grow.
        self.setMinimumSize(NARROWEST, EMPTY)

    def hold(self, widget: QWidget) -> None:
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

    def restore(self) -> None:
        """As it was left; at first it is shown."""
        self._wanted = str(self._settings.value(SHOWN) or "") != "false"
        self._show(self._wanted and self._here)

    def toggle(self) -> None:
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


#: Pixels that the page keeps at least of its width, so that the kind, the name and the verdict of
#: an entry can be read, and of its height.
LEAST, LEAST_HIGH = 440, 200
#: Pixels of the sidebar, and of the inspector beside the page and below it, at first.
_SIDE, _WING, _BELOW = 252, 420, 280
#: Where it is kept what somebody has said.
SIDE, WING, BELOW = "places/width", "inspector/width", "inspector/height"


class InspectorSplitter(QSplitter):
    """The sidebar, the page, and the inspector: beside the page where there is room, else below.
    The window never grows because of what it shows. The sidebar keeps its width on all pages; what
    there is too little of is taken from the inspector first, then from the page.
    """

    def __init__(
        self, settings: QSettings, side: QWidget, page: QWidget, frame: InspectorFrame
    ) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._settings = settings
        self._side, self._page, self._frame = side, page, frame
        self._fitting = False
        self._down = QSplitter(Qt.Orientation.Vertical)
        self._down.setChildrenCollapsible(False)
        self._down.addWidget(page)
        page.setMinimumSize(LEAST, LEAST_HIGH)
        self._down.setMinimumWidth(LEAST)
        self.setChildrenCollapsible(False)
        for part in (side, self._down, frame):
            self.addWidget(part)
        self.splitterMoved.connect(lambda *_: self._moved())
        self._down.splitterMoved.connect(lambda *_: self._moved())
        frame.turned.connect(self.fit)

    @property
    def below(self) -> bool:
        """Whether the inspector stands below the page, shown or not."""
        return self._frame.parentWidget() is self._down

    def fit(self, *, anew: bool = False) -> None:
        """Give each part the room it is to have; ``anew``: although they have as much by now."""
        too_small = self.width() < self._side.minimumWidth() + LEAST
        if self._fitting or (too_small and not self.isVisible()):
            return  # it does not have its size yet
        self._fitting = True
        try:
            self._fit(anew)
        finally:
            self._fitting = False

    def _fit(self, anew: bool) -> None:
        wide, gap = self.width(), self.handleWidth()
        side = min(forms.kept(self._settings, SIDE, _SIDE), wide - gap - LEAST)
        side = 0 if self._side.isHidden() else max(self._side.minimumWidth(), side)
        left = max(1, wide - (side + gap if side else 0))
        # The window is made no smaller than what the page needs; nor any larger by that.
        needed, beside = self._page.minimumSizeHint(), self._side.minimumSizeHint()
        least_wide = wide - left + max(LEAST, needed.width())
        least_high = max(needed.height(), beside.height())
        self.setMinimumSize(max(1, min(least_wide, wide)), max(1, min(least_high, self.height())))
        sizes = [side, left]
        if not self._frame.isHidden():
            least = self._frame.least
            self._stand(left - gap - LEAST >= least)
            if not self.below:
                width = max(least, min(forms.kept(self._settings, WING, _WING), left - gap - LEAST))
                sizes = [side, left - gap - width, width]
        if anew or self.sizes()[: len(sizes)] != sizes:
            self.setSizes(sizes)
        if self.below and not self._frame.isHidden():
            high = self._down.height() - gap
            room = high - max(LEAST_HIGH, self._page.minimumSizeHint().height())
            kept = max(LOWEST, min(forms.kept(self._settings, BELOW, _BELOW), room))
            frame = EMPTY if self._frame.empty else kept
            sizes = [max(1, high - frame), frame]
            if self._down.sizes() != sizes:
                self._down.setSizes(sizes)

    def _stand(self, beside: bool) -> None:
        """Have the inspector stand beside the page, or below it; who is in it stays there."""
        if beside == (not self.below):
            return
        frame, at = self._frame, self.window().focusWidget()
        inside = at is not None and frame.isAncestorOf(at)
        (self if beside else self._down).addWidget(frame)
        frame.setVisible(True)
        if inside and at is not None:
            at.setFocus(Qt.FocusReason.OtherFocusReason)

    def _moved(self) -> None:
        if not self._side.isHidden():
            # Of one that is hidden it stays as it was.
            self._settings.setValue(SIDE, self.sizes()[0])
        if not self._frame.isHidden() and not (self.below and self._frame.empty):
            size = self._frame.height() if self.below else self._frame.width()
            self._settings.setValue(BELOW if self.below else WING, size)

    def resizeEvent(self, _: QResizeEvent) -> None:
        # Instead of what Qt would do, which takes from all alike.
        self.fit(anew=True)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.fit()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self.fit()
        return done
