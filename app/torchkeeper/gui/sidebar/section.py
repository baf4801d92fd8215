"""A section of the sidebar: a heading that folds what is under it away, and remembers that."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSettings, QSize, Qt
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton, QWidget

from torchkeeper.gui import forms, icons, theme

#: The sections that are folded, as a list of their names.
FOLDED = "sidebar/folded"


class Fold(QToolButton):
    """The heading: Space and Enter fold, as the left arrow does; the right one unfolds."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.setObjectName("fold")
        self.setText(title)
        self.setCheckable(True)
        self.setChecked(True)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setIconSize(QSize(14, 14))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.toggled.connect(lambda *_: self._say())
        theme.follow(self, self._say)

    def _say(self) -> None:
        open_ = self.isChecked()
        name = "open-group" if open_ else "closed-group"
        self.setIcon(icons.icon(name, theme.shades().muted))
        told = self.tr("{}, unfolded") if open_ else self.tr("{}, folded")
        self.setAccessibleName(told.format(self.text()))
        self.setToolTip(self.tr("Fold") if open_ else self.tr("Unfold"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self.setChecked(event.key() == Qt.Key.Key_Right)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)


class Section(QWidget):
    """A heading, what can be added beside it, and the rest under it."""

    def __init__(self, name: str, title: str, settings: QSettings | None) -> None:
        super().__init__()
        self._name, self._settings = name, settings
        self.fold = Fold(title)
        self._head = forms.row(gap=0)
        self._head.setContentsMargins(6, 6, 10, 2)
        self._head.addWidget(self.fold, 1)
        self._inside = QWidget()
        self.body = forms.column(gap=0)
        self._inside.setLayout(self.body)
        whole = forms.column(gap=0)
        whole.addLayout(self._head)
        whole.addWidget(self._inside)
        self.setLayout(whole)
        self.fold.toggled.connect(self._folded)
        self.fold.setChecked(name not in self._kept())

    def offer(self, tip: str, choices: Sequence[QAction]) -> QToolButton:
        """A button beside the heading that adds something: in one way, or in one of several."""
        made = forms.icon_button("add", tip)
        if len(choices) == 1:
            made.clicked.connect(lambda *_: choices[0].trigger())
        else:
            menu = QMenu(made)
            menu.addActions(list(choices))
            made.setMenu(menu)
            made.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
            made.setObjectName("adder")
        self._head.addWidget(made)
        return made

    def _kept(self) -> list[str]:
        kept = self._settings.value(FOLDED, []) if self._settings is not None else []
        # A list of one comes back as a string.
        kept = [kept] if isinstance(kept, str) else kept
        return [str(one) for one in kept] if isinstance(kept, list) else []

    def _folded(self, open_: bool) -> None:
        self._inside.setVisible(open_)
        if self._settings is not None:
            others = [one for one in self._kept() if one not in (self._name, "")]
            self._settings.setValue(FOLDED, others if open_ else [*others, self._name])
