"""The bars over the table: an error, Undo, what was cut off, and who else can change things."""

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


_Then = Callable[[], object] | None


class _Bar(QFrame):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.hide()

    def appear(self, spoken: str) -> None:
        """Be seen, and heard of by whoever listens."""
        from PySide6.QtGui import QAccessible, QAccessibleEvent

        self.setAccessibleName(spoken)
        self.show()
        QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.Alert))


class ErrorBar(_Bar):
    """What happened, why, and what to do; stays until it is closed or replaced."""

    what: QLabel
    why: QLabel
    remedy: QLabel
    remedies: RemedyButtons

    def __init__(self) -> None:
        super().__init__("errorBar")
        self.error: UserError | None = None

    @cached_property
    def _labels(self) -> tuple[QLabel, QLabel, QLabel]:
        """What stands in it, made for the first error: most windows never show one."""
        self.what = forms.label("", "heading", wrap=True, selectable=True)
        self.why = forms.label("", wrap=True, selectable=True)
        self.remedy = forms.label("", wrap=True, selectable=True)
        close = forms.icon_button("close", self.tr("Close this message"))
        close.clicked.connect(self.clear)
        # Loaded here: most windows never show an error.
        from torchkeeper.gui.widgets.notice import RemedyButtons

        self.remedies = RemedyButtons()
        line = forms.row(gap=12, margin=(16, 8, 8, 8))
        line.addWidget(forms.picture("error", 20, "error"), 0, Qt.AlignmentFlag.AlignTop)
        line.addLayout(forms.column(self.what, self.why, self.remedy, self.remedies, gap=4), 1)
        line.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)
        self.setLayout(line)
        return self.what, self.why, self.remedy

    def tell(self, error: UserError) -> None:
        """Show an error."""
        self.error = error
        for text, label in zip((error.what, error.why, error.remedy), self._labels, strict=True):
            label.setText(text)
            label.setVisible(bool(text))
        self.remedies.offer(error)
        self.appear(str(error))

    def clear(self) -> None:
        """The user has read it, or it no longer holds."""
        self.error = None
        self.hide()


class NoteBar(_Bar):
    """Something worth knowing, and perhaps a button; once closed, it does not come back."""

    button: QPushButton

    def __init__(self) -> None:
        super().__init__("noteBar")
        self._read: set[str] = set()
        self._then: _Then = None

    @cached_property
    def text(self) -> QLabel:
        """What is said; made for the first note, as most windows never show one."""
        text = forms.label("", wrap=True, selectable=True)
        close = forms.icon_button("close", self.tr("Close this message"))
        close.clicked.connect(self._close)
        self.button = forms.button("")
        self.button.clicked.connect(self._do)
        info = forms.picture("info", 20, "muted")
        line = forms.row(info, text, self.button, close, gap=12, margin=(16, 6, 8, 6))
        line.setStretchFactor(text, 1)
        self.setLayout(line)
        return text

    def tell(self, text: str, verb: str = "", then: _Then = None) -> None:
        """Show it, unless it was closed before."""
        text = shown(text)
        if text in self._read or (self.isVisible() and self.text.text() == text):
            return
        self.text.setText(text)
        self._then = then
        self.button.setText(verb)
        self.button.setVisible(then is not None)
        self.appear(text)

    def _do(self) -> None:
        self.hide()
        if self._then is not None:
            self._then()

    def _close(self) -> None:
        self._read.add(self.text.text())
        self.hide()


class UndoBar(_Bar):
    """Says what was moved to the trash, or changed, and offers to put that back."""

    undo = Signal(str)

    button: QPushButton

    def __init__(self) -> None:
        super().__init__("undoBar")
        self.place = ""
        self._then: _Then = None

    @cached_property
    def text(self) -> QLabel:
        """What was moved; made, with all that stands beside it, for the first offer."""
        text = forms.label("", wrap=True)
        self.button = forms.button(self.tr("Undo"))
        self.button.clicked.connect(self._undo)
        close = forms.icon_button("close", self.tr("Close this message"))
        close.clicked.connect(self.hide)
        self._purged = forms.picture("purge", 20, "good")
        self._expiring = forms.picture("queued", 20, "good")
        parts = self._purged, self._expiring, text, self.button, close
        line = forms.row(*parts, gap=12, margin=(16, 6, 8, 6))
        line.setStretchFactor(text, 1)
        self.setLayout(line)
        return text

    def offer(
        self, place: str, text: str, verb: str = "", then: _Then = None, undoes: str = ""
    ) -> None:
        """Offer to undo a purge, or ``then``. undoes: what, where the button does not say it."""
        self.place, self._then = place, then
        self.text.setText(text)
        self._purged.setVisible(then is None)
        self._expiring.setVisible(then is not None)
        self.button.setText(verb or self.tr("Undo"))
        self.button.setAccessibleName(undoes or self.button.text())
        self.button.setToolTip(tip(undoes))
        self.appear(text)

    def _undo(self) -> None:
        self.hide()
        if self._then is not None:
            self._then()
        else:
            self.undo.emit(self.place)


#: Warnings that are shown at once; of more there is but the number.
_SHOWN = 2


class OwnersBar(_Bar):
    """Warnings about a place, each with its command; closed, the same stay away."""

    #: Something was done that the status bar is to say.
    said = Signal(str)
    #: The entries that match a filter are to be shown.
    filtered = Signal(str)

    def __init__(self) -> None:
        super().__init__("ownersBar")
        self.warnings: list[Owned] = []
        #: What copies the command or shows the entries, for each of the warnings that are shown.
        self.buttons: list[QPushButton] = []
        self._place = ""
        self._closed: dict[str, list[Owned]] = {}
        self._texts: QWidget | None = None

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
        self._row = forms.row(gap=12, margin=(16, 8, 8, 8))
        top = Qt.AlignmentFlag.AlignTop
        self._row.addWidget(forms.picture("warning", 20, "warning"), 0, top)
        self._row.addWidget(self._texts, 1)
        self._row.addWidget(close, 0, top)
        self.setLayout(self._row)

    def _line(self, warning: Owned) -> QHBoxLayout:
        texts = forms.column(gap=2)
        for text, role in (warning.what, "heading"), (warning.why, ""), (warning.remedy, ""):
            texts.addWidget(forms.label(text, role, wrap=True, selectable=True))
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
