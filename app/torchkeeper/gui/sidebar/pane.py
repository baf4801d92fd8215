"""The sidebar: the pages, and under them, scrolled as one, places and environments."""

from __future__ import annotations

from itertools import pairwise

from PySide6.QtCore import QSettings, QSize, Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from torchkeeper.gui.places.model import PlacesModel
from torchkeeper.gui.sidebar.lists import Section, SideList
from torchkeeper.gui.sidebar.pagelist import PageList
from torchkeeper.gui.sidebar.placelist import PlacesPane
from torchkeeper.gui.widgets import forms

SHOWN = "sidebar/shown"
#: Pixels that it is wide at least.
_NARROWEST = 200


class Sidebar(QFrame):
    """Remembers whether it is shown; how wide it is, the splitter remembers."""

    def __init__(self, places: PlacesModel, settings: QSettings) -> None:
        super().__init__()
        self.setObjectName("side")
        self._settings = settings
        self.pages = PageList()
        self.places = PlacesPane(places, settings)
        self._sections = forms.column(self.places, forms.REST, gap=4, margin=(0, 2, 0, 12))
        inside = forms.page(self._sections)
        inside.setObjectName("sideInside")
        self.area = QScrollArea()
        self.area.setObjectName("sideArea")
        self.area.setWidgetResizable(True)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.area.setWidget(inside)
        line = QFrame()
        line.setObjectName("sideLine")
        line.setFixedHeight(1)
        parts = self.pages, 8, line, (self.area, 1)
        self.setLayout(forms.column(*parts, gap=0, margin=(0, 8, 0, 0)))
        self.setMinimumWidth(_NARROWEST)
        self.places.list.area = self.area
        if str(settings.value(SHOWN) or "true") == "false":
            self.hide()

    def add(self, section: Section, adder: QWidget, shown: SideList) -> None:
        """Put another section under the last, with what adds something to it, and its list."""
        self._sections.insertWidget(self._sections.count() - 1, section)
        for one, other in pairwise((self.places.list, section.fold, adder, shown)):
            QWidget.setTabOrder(one, other)
        shown.area = self.area
        # To ask Qt for its scroll bar takes milliseconds, which the first picture needs not.
        scrolled = self.area.verticalScrollBar()
        for one, other in ((self.places.list, shown), (shown, self.places.list)):
            scrolled.rangeChanged.connect(one.keep_in_sight)
            scrolled.actionTriggered.connect(one.seek_nothing)
            one.seeks.connect(other.seek_nothing)

    def toggle(self) -> None:
        self.setVisible(self.isHidden())
        self._settings.setValue(SHOWN, "false" if self.isHidden() else "true")

    def sizeHint(self) -> QSize:
        return QSize(_NARROWEST, 400)
