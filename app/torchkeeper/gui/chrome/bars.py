"""The bars over the table: an error, Undo, what was cut off, and who else can change things."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QToolButton, QWidget

from torchkeeper.client.words import owned
from torchkeeper.client.words.problems import UserError
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.notice import RemedyButtons, error_labels, tell_error
from torchkeeper.gui.widgets.plain import shown, tip

if TYPE_CHECKING:
    from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton

    from torchkeeper.stores import shapes

_Then = Callable[[], object] | None


class _Bar(QFrame):
    _then: _Then = None
    #: What the button does, in words, while it is offered; empty for the undo of a purge.
    offered = ""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.hide()

    def appear(self, spoken: str) -> None:
        """Be seen, and heard of by whoever listens."""
        self.setAccessibleName(spoken)
        self.show()
        forms.alert(self)

    def do(self) -> None:
        """Go, and do what was offered."""
        self.offered = ""
        self.hide()
        if self._then is not None:
            self._then()

    def closer(self, then: Callable[..., object]) -> QToolButton:
        return forms.icon_button("close", self.tr("Close this message"), then)


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
        self.what, self.why, self.remedy = labels = error_labels()
        self.remedies = RemedyButtons()
        mark = forms.picture("error", 20, "warning")
        texts = forms.column(*labels, self.remedies, gap=4)
        parts = (mark, forms.TOP), (texts, 1), (self.closer(lambda *_: self.clear()), forms.TOP)
        self.setLayout(forms.row(*parts, gap=12, margin=(16, 8, 8, 8)))
        return labels

    def tell(self, error: UserError) -> None:
        self.error = error
        tell_error(self._labels, error)
        self.remedies.offer(error)
        self.appear(str(error))

    def clear(self, error: UserError | None = None) -> None:
        """The user has read it, or it no longer holds; only if it is this ``error``, if any."""
        if error is None or error is self.error:
            self.error = None
            self.hide()


class NoteBar(_Bar):
    """Something worth knowing, and perhaps a button; once closed, it does not come back."""

    button: QPushButton

    def __init__(self) -> None:
        super().__init__("noteBar")
        self._read: set[str] = set()

    @cached_property
    def text(self) -> QLabel:
        """What is said; made for the first note, as most windows never show one."""
        text = forms.label("", wrap=True, selectable=True)
        self.button = forms.button("", self.do)
        parts = forms.picture("info", 20, "muted"), (text, 1), self.button, self.closer(self._close)
        self.setLayout(forms.row(*parts, gap=12, margin=(16, 6, 8, 6)))
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

    def _close(self) -> None:
        self._read.add(self.text.text())
        self.hide()


class UndoBar(_Bar):
    """Says what was moved to the trash, or changed, and offers to put that back."""

    button: QPushButton

    def __init__(self) -> None:
        super().__init__("undoBar")
        self.place = ""

    @cached_property
    def text(self) -> QLabel:
        """What was moved; made, with all that stands beside it, for the first offer."""
        text = forms.label("", wrap=True)
        self.button = forms.button(self.tr("&Undo"), self.do)
        self._purged = forms.picture("purge", 20, "good")
        self._expiring = forms.picture("queued", 20, "good")
        self._imported = forms.picture("import", 20, "good")
        pictures = self._purged, self._imported, self._expiring
        parts = *pictures, (text, 1), self.button, self.closer(self.hide)
        self.setLayout(forms.row(*parts, gap=12, margin=(16, 6, 8, 6)))
        return text

    def offer(
        self, place: str, text: str, then: _Then, verb: str = "", undoes: str = "",
        came: bool = False,
    ) -> None:  # fmt: skip
        """Offer to undo what went, or ``came``, or ``verb``. undoes: what, where the button does
        not say it.
        """
        self.place, self._then = place, then
        self.text.setText(text)
        self._purged.setVisible(not (verb or came))
        self._imported.setVisible(came)
        self._expiring.setVisible(bool(verb))
        self.button.setText(verb or self.tr("&Undo"))
        self.button.setAccessibleName(undoes or self.button.text().replace("&", ""))
        self.offered = verb and self.button.accessibleName()
        self.button.setToolTip(tip(undoes))
        self.appear(text)


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
        self.warnings: list[owned.Owned] = []
        #: What copies the command or shows the entries, for each of the warnings that are shown.
        self.buttons: list[QPushButton] = []
        self._place = ""
        self._closed: dict[str, list[owned.Owned]] = {}
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
        self.buttons = []
        lines = forms.column(*map(self._line, self.warnings[:_SHOWN]), gap=8)
        if (more := len(self.warnings) - _SHOWN) > 0:
            text = self.tr("and {} more; “torchkeeper check” lists them").format(more)
            lines.addWidget(forms.label(text, "muted"))
        texts = forms.page(lines)
        if self._texts is None:
            mark, close = forms.picture("warning", 20, "warning"), self.closer(self._close)
            parts = (mark, forms.TOP), (texts, 1), (close, forms.TOP)
            self._row = forms.row(*parts, gap=12, margin=(16, 8, 8, 8))
            self.setLayout(self._row)
        else:
            self._row.replaceWidget(self._texts, texts)
            self._texts.deleteLater()
        self._texts = texts
        self.setAccessibleName(" ".join(one.what for one in self.warnings))
        self.show()

    def _line(self, warning: owned.Owned) -> QHBoxLayout:
        labels = error_labels(warning.what, warning.why, warning.remedy)
        if warning.filter:
            button = forms.button(self.tr("Show them"), lambda: self.filtered.emit(warning.filter))
        else:
            command = warning.command
            button = forms.button(self.tr("Copy command"), lambda: self._copy(command), command)
        self.buttons.append(button)
        return forms.row((forms.column(*labels, gap=2), 1), (button, forms.TOP), gap=12)

    def _copy(self, command: str) -> None:
        QGuiApplication.clipboard().setText(command)
        self.said.emit(self.tr("Copied: {}").format(command))

    def _close(self) -> None:
        self._closed[self._place] = self.warnings
        self.hide()
