"""The inline bars over the table: an error with its remedy, Undo after a purge, and what has become
of what was cut off.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QWidget

from torchkeeper.client.words.problems import UserError
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import shown, tip

if TYPE_CHECKING:
    from PySide6.QtWidgets import QLabel, QPushButton

    from torchkeeper.gui.widgets.blank import RemedyButtons


def _announce(widget: QWidget) -> None:
    from PySide6.QtGui import QAccessible, QAccessibleEvent

    QAccessible.updateAccessibility(QAccessibleEvent(widget, QAccessible.Event.Alert))


class ErrorBar(QFrame):
    """What happened, why, and what to do; stays until it is closed or replaced."""

    what: QLabel
    why: QLabel
    remedy: QLabel
    remedies: RemedyButtons

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("errorBar")
        self.error: UserError | None = None
        self.hide()

    @cached_property
    def _labels(self) -> tuple[QLabel, QLabel, QLabel]:
        """What stands in it, made for the first error: most windows never show one."""
        self.what = forms.label("", "heading", wrap=True)
        self.why = forms.label("", wrap=True)
        self.remedy = forms.label("", wrap=True)
        for text in (self.what, self.why, self.remedy):
            text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        close = forms.icon_button("close", self.tr("Close this message"))
        close.clicked.connect(self.clear)
        texts = forms.column(gap=4)
        for text in (self.what, self.why, self.remedy):
            texts.addWidget(text)
        # Loaded here: most windows never show an error.
        from torchkeeper.gui.widgets.blank import RemedyButtons

        self.remedies = RemedyButtons()
        texts.addWidget(self.remedies)
        line = forms.row(gap=12)
        line.setContentsMargins(16, 8, 8, 8)
        line.addWidget(forms.picture("error", 20, "error"), 0, Qt.AlignmentFlag.AlignTop)
        line.addLayout(texts, 1)
        line.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)
        self.setLayout(line)
        return self.what, self.why, self.remedy

    def tell(self, error: UserError) -> None:
        """Show an error."""
        self.error = error
        texts = (error.what, error.why, error.remedy)
        for text, label in zip(texts, self._labels, strict=True):
            label.setText(text)
            label.setVisible(bool(text))
        self.remedies.offer(error)
        self.setAccessibleName(str(error))
        self.show()
        _announce(self)

    def clear(self) -> None:
        """The user has read it, or it no longer holds."""
        self.error = None
        self.hide()


class NoteBar(QFrame):
    """Something worth knowing, and perhaps a button for what can be done about it; stays until it
    is closed, done or replaced, and does not come back once it was closed.
    """

    button: QPushButton

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("noteBar")
        self._read: set[str] = set()
        self._then: Callable[[], object] | None = None
        self.hide()

    @cached_property
    def text(self) -> QLabel:
        """What is said; made for the first note, as most windows never show one."""
        text = forms.label("", wrap=True)
        text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        close = forms.icon_button("close", self.tr("Close this message"))
        close.clicked.connect(self._close)
        self.button = forms.button("")
        self.button.clicked.connect(self._do)
        line = forms.row(gap=12)
        line.setContentsMargins(16, 6, 8, 6)
        line.addWidget(forms.picture("info", 20, "muted"))
        line.addWidget(text, 1)
        line.addWidget(self.button)
        line.addWidget(close)
        self.setLayout(line)
        return text

    def tell(self, text: str, verb: str = "", then: Callable[[], object] | None = None) -> None:
        """Show a note, unless it was closed before; ``verb`` is the text of a button that does
        ``then``.
        """
        text = shown(text)
        if text in self._read or (self.isVisible() and self.text.text() == text):
            return
        self.text.setText(text)
        self._then = then
        self.button.setText(verb)
        self.button.setVisible(then is not None)
        self.setAccessibleName(text)
        self.show()
        _announce(self)

    def _do(self) -> None:
        self.hide()
        if self._then is not None:
            self._then()

    def _close(self) -> None:
        self._read.add(self.text.text())
        self.hide()


class UndoBar(QFrame):
    """Says what was moved to the trash, or changed, and offers to put that back."""

    undo = Signal(str)

    button: QPushButton

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("undoBar")
        self.place = ""
        self._then: Callable[[], object] | None = None
        self.hide()

    @cached_property
    def text(self) -> QLabel:
        """What was moved; made, with all that stands beside it, for the first offer."""
        text = forms.label("", wrap=True)
        self.button = forms.button(self.tr("Undo"))
        self.button.clicked.connect(self._undo)
        close = forms.icon_button("close", self.tr("Close this message"))
        close.clicked.connect(self.hide)
        line = forms.row(gap=12)
        line.setContentsMargins(16, 6, 8, 6)
        self._purged = forms.picture("purge", 20, "good")
        self._expiring = forms.picture("queued", 20, "good")
        for picture in (self._purged, self._expiring):
            line.addWidget(picture)
        line.addWidget(text, 1)
        line.addWidget(self.button)
        line.addWidget(close)
        self.setLayout(line)
        return text

    def offer(
        self,
        place: str,
        text: str,
        verb: str = "",
        then: Callable[[], object] | None = None,
        undoes: str = "",
    ) -> None:
        """Offer to undo the last purge of a place, or to do something else that undoes.

        undoes: what is undone then, where the button does not say it.
        """
        self.place, self._then = place, then
        self.text.setText(text)
        self._purged.setVisible(then is None)
        self._expiring.setVisible(then is not None)
        self.button.setText(verb or self.tr("Undo"))
        self.button.setAccessibleName(undoes or self.button.text())
        self.button.setToolTip(tip(undoes))
        self.setAccessibleName(text)
        self.show()
        _announce(self)

    def _undo(self) -> None:
        self.hide()
        if self._then is not None:
            self._then()
        else:
            self.undo.emit(self.place)
