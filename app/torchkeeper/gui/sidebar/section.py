"""A section of the sidebar: a heading that folds what is under it away, and remembers that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSettings, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton, QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.widgets import forms

if TYPE_CHECKING:
    from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent

    from torchkeeper.gui.sidebar.carried import Carried
    from torchkeeper.gui.sidebar.lists import Offer

#: The sections that are folded, as a list of their names.
FOLDED = "sidebar/folded"


class Fold(QToolButton):
    """The heading: Space, Enter and the arrows fold. What is dropped is for the list under it."""

    #: What a drop here would do; empty when nothing is dragged over it any more.
    said = Signal(str)

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
        self.setAcceptDrops(True)
        self.offers: Callable[[Carried], Offer] | None = None
        self._offer: Offer | None = None
        self.toggled.connect(lambda *_: self._say())
        theme.follow(self, self._say)

    def _say(self) -> None:
        open_ = self.isChecked()
        name = "open-group" if open_ else "closed-group"
        self.setIcon(theme.icon(name, theme.shades().muted))
        told = self.tr("{}, unfolded") if open_ else self.tr("{}, folded")
        self.setAccessibleName(told.format(self.text()))
        self.setToolTip(self.tr("Fold") if open_ else self.tr("Unfold"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self.setChecked(event.key() == Qt.Key.Key_Right)
        elif event.matches(QKeySequence.StandardKey.Paste):
            self._paste()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
            return super().event(event)
        if event.matches(QKeySequence.StandardKey.Paste):
            event.accept()
            return True
        return super().event(event)

    def _paste(self) -> None:
        from torchkeeper.gui.sidebar.carried import pasted

        if (carried := pasted()) is None or self.offers is None:
            self.said.emit(self.tr("There are no files, paths or addresses on the clipboard"))
            return
        offer = self.offers(carried)
        self.said.emit(offer.text)
        if offer.do is not None:
            offer.do()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        from torchkeeper.gui.sidebar.carried import carried

        some = carried(event.mimeData()) if event.source() is None else None
        self._offer = self.offers(some) if some is not None and self.offers is not None else None
        if self._offer is None:
            event.ignore()
            return
        self.said.emit(self._offer.text)
        self._aim(self._offer.do is not None)
        event.setDropAction(Qt.DropAction.CopyAction)
        event.setAccepted(self._offer.do is not None)

    def dragLeaveEvent(self, _: QDragLeaveEvent) -> None:
        self._aim(False)
        self.said.emit("")

    def dropEvent(self, event: QDropEvent) -> None:
        offer, self._offer = self._offer, None
        self._aim(False)
        self.said.emit("")
        if offer is not None and offer.do is not None:
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            # The source of the drag waits until this returns.
            QTimer.singleShot(0, self, offer.do)

    def _aim(self, on: bool) -> None:
        self.setProperty("aimed", on)
        forms.repolish(self)


class Section(QWidget):
    """A heading, what can be added beside it, and the rest under it."""

    def __init__(self, name: str, title: str, settings: QSettings | None) -> None:
        super().__init__()
        self._name, self._settings = name, settings
        self.fold = Fold(title)
        self._head = forms.row(gap=0, margin=(6, 6, 10, 2))
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
        QWidget.setTabOrder(self.fold, made)
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
