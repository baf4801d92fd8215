"""What a window does for the widgets and the dialogs in it, which know nothing of the window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from torchkeeper.client.words.problems import UserError


class Remedy(NamedTuple):
    """What can be done about an error: a button's text, whose hint it has, and what it does."""

    text: str
    action: QAction
    do: Callable[[], object]


class Host(QObject):
    """A child of the window. Who asks it looks for it from below."""

    #: A dialog is shown over the window.
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
    while within is not None and (found := host_of(within)) is None:
        within = within.parentWidget()
    return found if within is not None else None
