"""The inline message of a pane; and what a window does for widgets, which know nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QSizePolicy, QWidget

from torchkeeper.client.words.problems import UserError
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import Label


class Remedy(NamedTuple):
    """What can be done about an error: a button's text, whose hint it has, and what it does."""

    text: str
    action: QAction
    do: Callable[[], object]


class Host(QObject):
    """A child of the window. Who asks it looks for it from below."""

    dialog_shown = Signal(QObject)

    def __init__(
        self, window: QWidget, remedies: Callable[[UserError, QWidget, str], Sequence[Remedy]]
    ) -> None:
        """remedies: of an error that a widget says, but for the action of an id."""
        super().__init__(window)
        self.remedies = remedies


def host_of(window: QWidget) -> Host | None:
    """That of a window; None where the widget is none, or one that has no host."""
    return window.findChild(Host, options=Qt.FindChildOption.FindDirectChildrenOnly)


def host_above(widget: QWidget) -> Host | None:
    """That of the window that a widget is in, or whose dialog it is in."""
    within: QWidget | None = widget
    found = None
    while within is not None and (found := host_of(within)) is None:
        within = within.parentWidget()
    return found


class RemedyButtons(QWidget):
    """Up to two buttons that do what the window can about an error; hidden where there is none."""

    def __init__(self, parent: QWidget | None = None, *, middle: bool = False) -> None:
        """middle: they stand in the middle with others, not at the beginning of a line."""
        super().__init__(parent)
        self.buttons: list[QPushButton] = []
        self._line = forms.row(gap=12) if middle else forms.row(forms.REST)
        self.setLayout(self._line)
        self.hide()

    def offer(self, error: UserError | None, but: str = "") -> None:
        """Have the buttons for an error, ``but`` the one of an action that is offered beside."""
        for button in self.buttons:
            self._line.removeWidget(button)
            button.deleteLater()
        self.buttons = []
        host = host_above(self)
        for remedy in () if host is None or error is None else host.remedies(error, self, but):
            text = forms.with_free_letter(remedy.text, self.window())
            button = forms.button(text, enter=False)
            button.setToolTip(remedy.action.toolTip())
            button.clicked.connect(lambda _=False, do=remedy.do: do())
            self._line.insertWidget(len(self.buttons), button)
            self.buttons.append(button)
        self.setVisible(bool(self.buttons))


def error_labels(what: str = "", why: str = "", remedy: str = "") -> tuple[QLabel, QLabel, QLabel]:
    """Labels for what is wrong, why, and what to do."""
    label = partial(forms.label, wrap=True, selectable=True)
    return label(what, "heading"), label(why), label(remedy)


def tell_error(labels: tuple[QLabel, QLabel, QLabel], error: UserError) -> None:
    """Have such labels say an error."""
    for label, text in zip(labels, (error.what, error.why, error.remedy), strict=True):
        forms.tell(label, text)


class Notice(QFrame):
    """What is wrong, why, and what to do, within a pane."""

    again = Signal()
    log = Signal()

    def __init__(self, *, mild: bool = False) -> None:
        """mild: for what does no harm."""
        super().__init__()
        self.setObjectName("hint" if mild else "problem")
        self.error: UserError | None = None
        self.what, self.why, self.remedy = self._labels = error_labels()
        self.button = forms.button(self.tr("Try again"))
        self.button.clicked.connect(self.again)
        self.shows_log = forms.button(self.tr("Show log"))
        self.shows_log.clicked.connect(self.log)
        self.remedies = RemedyButtons()
        ways = forms.row(self.button, self.shows_log, self.remedies, forms.REST)
        picture = ("info", 20, "muted") if mild else ("warning", 20, "warning")
        parts = (forms.picture(*picture), forms.TOP), (forms.column(*self._labels, ways, gap=4), 1)
        self.setLayout(forms.row(*parts, gap=12, margin=12))
        self.hide()

    def tell(
        self, error: UserError | None, *, again: bool = False, log: bool = False, beside: str = ""
    ) -> None:
        """Show an error, or with None take the last one away. log: there is one to be shown.
        beside: the action that another button does where this is.
        """
        self.error = error
        if error is None:
            self.hide()
            # They may stand elsewhere.
            self.remedies.offer(None)
            return
        tell_error(self._labels, error)
        for button, on in ((self.button, again), (self.shows_log, log)):
            button.setText(forms.with_free_letter(button.text(), self.window()))
            button.setVisible(on)
        self.remedies.offer(error, "refresh" if again else beside)
        self.setAccessibleName(str(error))
        self.show()
        forms.alert(self)


class Elided(Label):
    """One line of plain text, cut in its middle or, as ``cut`` says, elsewhere."""

    def __init__(
        self, role: str = "", cut: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle
    ) -> None:
        super().__init__("", role)
        self._cut = cut
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def paintEvent(self, _: QPaintEvent) -> None:
        box = self.contentsRect()
        shown = self.fontMetrics().elidedText(self.text(), self._cut, box.width())
        with QPainter(self) as painter:
            painter.setPen(self.palette().color(self.foregroundRole()))
            painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)
