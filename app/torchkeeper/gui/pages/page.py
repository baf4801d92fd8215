"""What the pages of the window share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QFrame, QLineEdit, QVBoxLayout, QWidget

from torchkeeper.gui import taborder
from torchkeeper.gui.widgets import forms

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Sized
    from torchkeeper.gui.sidebar.lists import Offer
    from torchkeeper.gui.table.mimedata import Carried

#: Pixels around what is on a page, and of the height of what is over it.
MARGIN = 24
_HEAD = 32


class Page(QFrame):
    """A page. It is made when it is first shown, and lives as long as the window. heading: its
    name; tools: beside it, what is done with all of it, both in title_line; body: the rest.
    """

    #: What the sidebar says beside its name may be another now.
    marked = Signal()
    #: What is in the trash of each place that it shows; None where it shows no places.
    trashes: dict[str, Sized] | None = None

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("pane")
        self.setAccessibleName(title)
        self.heading = forms.label(title, "title")
        # As high as what may stand beside it, so that it is at the same place on every page.
        self.heading.setMinimumHeight(_HEAD)
        self.tools = forms.row()
        self.body: QVBoxLayout = forms.column()
        self.title_line = forms.row(self.heading, forms.REST, self.tools, gap=16)
        self.setLayout(forms.column(self.title_line, (self.body, 1), margin=MARGIN, gap=12))

    @property
    def unsaved(self) -> bool:
        """Whether something on it is lost when the window closes; it asks then before it does."""
        return False

    @property
    def warning(self) -> str:
        """What the sidebar warns of beside its name, in a few words; empty for nothing."""
        return ""

    def leave(self, then: Callable[[], object]) -> None:
        """Call ``then`` once nothing on it can be lost: where it asks before, perhaps never."""
        then()

    def entered(self) -> None:
        """It is shown from now on."""
        self.refresh()

    def left(self) -> None:
        """Another page is shown from now on; what it was at may go on."""

    def refresh(self) -> None:
        """Look again at what it is about."""

    @property
    def first(self) -> QWidget | None:
        """Where the keyboard goes first: to its list, else below its name; None for nowhere yet."""
        stops = list(taborder.within(self.body))
        lists = [stop for stop in stops if isinstance(stop, QAbstractItemView)]
        return next(iter(lists + stops), None)

    def search(self) -> bool:
        """Go to its search field; False where it has none."""
        return False

    def seek(self, name: str) -> None:
        """Go to what is called so on it, by the name that the code has for it."""

    def offer(self, carried: Carried, at: QPoint | None) -> tuple[QWidget, Offer] | None:
        """What becomes of something that is dropped at a point of the page, and over which part of
        it; None where that is as anywhere in the window. Without a point it is pasted.
        """
        del carried, at
        return None

    def let_go(self) -> None:
        """The window closes, and with it all that was asked for."""
        self.left()


def go_to_field(field: QLineEdit) -> bool:
    """Go to a search field, with what is in it selected; it is there."""
    field.setFocus(Qt.FocusReason.ShortcutFocusReason)
    field.selectAll()
    return True
