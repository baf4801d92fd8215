"""Cards, an icon with texts and buttons each, in a list that keeps those that stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QPushButton, QScrollArea, QWidget

from torchkeeper.gui.widgets import forms


class Card(QFrame):
    """An icon, texts, and buttons one below the other."""

    def __init__(
        self, mark: tuple[str, str], title: str, texts: Sequence[tuple[str, str]], name: str = ""
    ) -> None:
        """mark: an icon and its colour; texts: each with its role; name: where it is not seen."""
        super().__init__()
        self.setObjectName("hint")
        self.setAccessibleName(name or title)
        self.title = title
        self.what = forms.label(title, "heading", wrap=True)
        shown = [
            forms.label(text, role, wrap=True, selectable=True) for text, role in texts if text
        ]
        self.column = forms.column(self.what, *shown, forms.REST, gap=2)
        self._buttons = forms.column(forms.REST, gap=4)
        picture = forms.picture(mark[0], 20, mark[1])
        parts = (picture, forms.TOP), (self.column, 1), self._buttons
        self.setLayout(forms.row(*parts, gap=12, margin=(12, 10, 12, 10)))

    def add(self, verb: str, pressed: Callable[[], object], hint: str, more: str) -> QPushButton:
        """A button. hint: its tooltip; more: what it is for, where it cannot be seen."""
        button = forms.button(verb, lambda _checked=False: pressed(), hint, enter=False)
        button.setAccessibleDescription(more)
        self._buttons.insertWidget(self._buttons.count() - 1, button)
        return button


class CardList(QScrollArea):
    """Widgets one below the other. Those of what stays are kept: somebody may be at a button."""

    def __init__(self, name: str, margin: int = 0) -> None:
        """margin: pixels between them and the scroll bar."""
        super().__init__()
        self.setAccessibleName(name)
        self._rows = forms.column(forms.REST, gap=6)
        # Without a bar they end where everything else does.
        self.verticalScrollBar().rangeChanged.connect(
            lambda _, most: self._rows.setContentsMargins(0, 0, margin if most else 0, 0)
        )
        page = forms.page(self._rows)
        self.setWidget(page)
        self.setWidgetResizable(True)
        # It lies on whatever it is put on.
        page.setAutoFillBackground(False)
        self.viewport().setAutoFillBackground(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        #: What is shown, from the top, each with its widget.
        self._shown: list[tuple[object, QWidget]] = []

    @property
    def needed(self) -> int:
        """Pixels that all of them take, one below the other."""
        return self._rows.totalHeightForWidth(max(200, self.width() - 16))

    def arrange(
        self, wanted: Sequence[object], make: Callable[..., QWidget], same: Callable[..., bool]
    ) -> None:
        """Show these in this order. same: whether what was made for one shows another."""
        before = list(self._shown)
        self._shown = []
        for at, key in enumerate(wanted):
            if (kept := next((x for x in before if same(x[0], key)), None)) is None:
                kept = key, make(key)
            else:
                before.remove(kept)
            self._shown.append(kept)
            self._rows.insertWidget(at, kept[1])
        for _, widget in before:
            self._rows.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
