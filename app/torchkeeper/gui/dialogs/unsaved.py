"""Asking before what is not saved is lost; and a dialog in which somebody writes, which asks so."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from torchkeeper.gui.dialogs.base import ConfirmDialog, Dialog, confirm
from torchkeeper.gui.widgets import forms


def _tr(text: str) -> str:
    return QCoreApplication.translate("UnsavedDialog", text)


def ask(
    parent: QWidget, names: str, without: Callable[[], object], save: Callable[[], object]
) -> ConfirmDialog:
    """Ask what is to become of what is not saved. names: a part of the question; without, save:
    what is done on each answer.
    """
    dialog = confirm(
        parent,
        _tr("Unsaved changes"),
        _tr("Close without saving {}?").format(names),
        _tr("What was changed since it was last saved is lost."),
        _tr("Close without saving"),
        without,
    )
    button = forms.button(_tr("&Save"))
    button.clicked.connect(save)
    dialog.add_way(button)
    return dialog


class UnsavedDialog(Dialog):
    """Closes at once where nothing is unsaved, and else asks: save, close without, or stay."""

    def __init__(self, parent: QWidget | None, title: str, width: int) -> None:
        super().__init__(parent, title, width)
        self._sure = False
        self._question: ConfirmDialog | None = None
        #: What was asked for that comes after its end.
        self._then: Callable[[], object] | None = None

    def unsaved_names(self) -> str:
        """What is not saved, as a part of the question."""
        raise NotImplementedError

    def save_unsaved(self, then: Callable[[], object]) -> None:
        """Save it; ``then``: what follows where all could be saved."""
        raise NotImplementedError

    def reject(self) -> None:
        # Escape and the button of the frame come here, too.
        if self.unsaved and not self._sure:
            self._ask()
            return
        super().reject()

    def leave(self, then: Callable[[], object]) -> None:
        self._then = then
        self.reject()

    def done(self, result: int) -> None:
        super().done(result)
        then, self._then = self._then, None
        if then is not None:
            then()

    def _ask(self) -> None:
        if self._question is not None:
            self._question.activateWindow()
            return

        def save_first() -> None:
            then = self._then
            dialog.reject()
            self.save_unsaved(lambda: self._close_surely(then))

        self._question = dialog = ask(self, self.unsaved_names(), self._close_surely, save_first)
        dialog.finished.connect(self._answered)

    def _answered(self, _: int) -> None:
        """It stays, or is closed by now; later it is closed for its own sake."""
        self._question = self._then = None

    def _close_surely(self, then: Callable[[], object] | None = None) -> None:
        """Close without asking; ``then``: what comes after it, where that is not known."""
        self._then = then or self._then
        self._sure = True
        self.reject()
