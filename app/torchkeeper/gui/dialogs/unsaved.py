"""A dialog in which somebody writes: it asks before it closes on what is not saved."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from torchkeeper.gui import forms
from torchkeeper.gui.dialogs.base import ConfirmDialog, Dialog, confirm


def _tr(text: str) -> str:
    return QCoreApplication.translate("UnsavedDialog", text)


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
        dialog = confirm(
            self,
            _tr("Unsaved changes"),
            _tr("Close without saving {}?").format(self.unsaved_names()),
            _tr("What was changed since it was last saved is lost."),
            _tr("Close without saving"),
            self._close_surely,
        )
        self._question = dialog
        dialog.finished.connect(self._answered)

        def save_first() -> None:
            then = self._then
            dialog.reject()
            self.save_unsaved(lambda: self._close_surely(then))

        save = forms.button(_tr("&Save"))
        save.clicked.connect(save_first)
        dialog.add_way(save)

    def _answered(self, _: int) -> None:
        """It stays, or is closed by now; later it is closed for its own sake."""
        self._question = self._then = None

    def _close_surely(self, then: Callable[[], object] | None = None) -> None:
        """Close without asking; ``then``: what comes after it, where that is not known."""
        self._then = then or self._then
        self._sure = True
        self.reject()
