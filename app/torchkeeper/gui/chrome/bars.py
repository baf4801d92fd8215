"""The inline bars over the table: an error with its remedy, Undo after a purge, what has become of
what was cut off, and who else can change what runs from the place that is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QWidget

from torchkeeper.client.words import owned
from torchkeeper.client.words.owned import Owned
from torchkeeper.client.words.problems import UserError
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import shown, tip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton

    from torchkeeper.gui.widgets.notice import RemedyButtons
    from torchkeeper.stores import shapes


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
        from torchkeeper.gui.widgets.notice import RemedyButtons

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


# The bar that says that others can change what runs from the place that is shown.

#: Warnings that are shown at once; of more there is but the number.
_SHOWN = 2


class OwnersBar(QFrame):
    """The warnings about a place, each with its command; closed, they stay away for as long as the
    window is open and nothing else is found.
    """

    #: Something was done that the status bar is to say.
    said = Signal(str)
    #: The entries that match a filter are to be shown.
    filtered = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("ownersBar")
        self.warnings: list[Owned] = []
        #: What copies the command or shows the entries, for each of the warnings that are shown.
        self.buttons: list[QPushButton] = []
        self._place = ""
        self._closed: dict[str, list[Owned]] = {}
        self._texts: QWidget | None = None
        self.hide()

    def tell(self, place: str, found: Sequence[shapes.Owned]) -> None:
        """Show the warnings among what an engine found of a place, if there are any."""
        warnings = owned.grave(found)
        if warnings == self.warnings and place == self._place:
            return
        self._place, self.warnings = place, warnings
        if warnings and self._closed.get(place) != warnings:
            self._show()
        else:
            self.hide()

    def _show(self) -> None:
        if self._texts is None:
            self._make()
        texts = QWidget()
        lines = forms.column(gap=8)
        self.buttons = []
        for warning in self.warnings[:_SHOWN]:
            lines.addLayout(self._line(warning))
        if (more := len(self.warnings) - _SHOWN) > 0:
            text = self.tr("and {} more, which “torchkeeper check” tells").format(more)
            lines.addWidget(forms.label(text, "muted"))
        texts.setLayout(lines)
        if self._texts is not None:
            self._row.replaceWidget(self._texts, texts)
            self._texts.deleteLater()
        self._texts = texts
        self.setAccessibleName(" ".join(one.what for one in self.warnings))
        self.show()

    def _make(self) -> None:
        close = forms.icon_button("close", self.tr("Close this message"))
        close.clicked.connect(self._close)
        self._texts = QWidget()
        self._row = forms.row(gap=12)
        self._row.setContentsMargins(16, 8, 8, 8)
        top = Qt.AlignmentFlag.AlignTop
        self._row.addWidget(forms.picture("warning", 20, "warning"), 0, top)
        self._row.addWidget(self._texts, 1)
        self._row.addWidget(close, 0, top)
        self.setLayout(self._row)

    def _line(self, warning: Owned) -> QHBoxLayout:
        texts = forms.column(gap=2)
        parts = (warning.what, "heading"), (warning.why, ""), (warning.remedy, "")
        for text, role in parts:
            label = forms.label(text, role, wrap=True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            texts.addWidget(label)
        button = forms.button(self.tr("Show them") if warning.filter else self.tr("Copy command"))
        if warning.filter:
            button.clicked.connect(lambda: self.filtered.emit(warning.filter))
        else:
            button.setToolTip(tip(warning.command))
            button.clicked.connect(lambda: self._copy(warning.command))
        self.buttons.append(button)
        line = forms.row(gap=12)
        line.addLayout(texts, 1)
        line.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return line

    def _copy(self, command: str) -> None:
        QGuiApplication.clipboard().setText(command)
        self.said.emit(self.tr("Copied: {}").format(command))

    def _close(self) -> None:
        self._closed[self._place] = self.warnings
        self.hide()
