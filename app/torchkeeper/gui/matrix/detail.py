"""What there is to know of the chosen thing of a matrix: its name, what came of it, and its log."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from torchkeeper.client.words.problems import UserError
from torchkeeper.gui import theme
from torchkeeper.gui.matrix.variants import LINES, Log
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.notice import Notice


class Told(NamedTuple):
    """What is said of the chosen thing. warning: beside its facts. full: its name among all."""

    name: str
    facts: str = ""
    warning: str = ""
    error: UserError | None = None
    log: Log | None = None
    full: str = ""


class DetailPane(QWidget):
    """Follows one thing at a time: ``tell`` says that there may be something new of it."""

    def __init__(self, named: str, copies: str, *beside: QWidget) -> None:
        """named: what the log is called; copies: what its button does. beside: after the name."""
        super().__init__()
        self.name = forms.label("", "heading", wrap=True)
        self.facts = forms.label("", "muted", wrap=True)
        self.uncached = forms.label("", "warning", wrap=True, selectable=True)
        self.uncached.hide()
        self.notice = Notice()
        self.log = forms.read_only_text(named)
        self.log.setMinimumHeight(88)
        self.log.setMaximumBlockCount(LINES)
        self.log.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.copy = forms.button(self.tr("Co&py log"), self.copy_all, copies, enter=False)
        #: What is told now.
        self.told = Told("")
        #: The log that is shown, and how many of its lines had come by then.
        self._log: list[str] | None = None
        self._heard = 0
        line = forms.row((self.name, 1), *beside, self.copy)
        below = line, self.facts, self.uncached, self.notice, (self.log, 1000)
        whole = forms.column(*below, margin=(0, 4, 0, 0), gap=4)
        whole.addStretch(1)  # where there is no log, all of it stands at the top
        self.setLayout(whole)
        theme.follow(self, lambda: self.log.setFont(theme.monospace()))

    def tell(self, told: Told | None) -> bool:
        """Show it; whether it has a log."""
        self.setEnabled(told is not None)
        self.told = told = told or Told("")
        self.name.setText(told.name)
        self.facts.setText(told.facts)
        forms.tell(self.uncached, told.warning)
        if told.error is not self.notice.error:
            self.notice.tell(told.error)
        return self._show_log(told.log)

    def _show_log(self, lines: Log | None) -> bool:
        # Where there is nothing to read, the table has the room.
        log, heard = (lines.log, lines.heard) if lines is not None else (None, 0)
        self.log.setVisible(bool(log))
        said = self.notice.error is not None or not self.uncached.isHidden()
        self.copy.setVisible(bool(log) or said)
        same, fresh = log is self._log, heard - self._heard
        self._log, self._heard = log, heard
        if lines is None or not log:
            self.log.clear()
            return False
        if same and not fresh:
            return True
        bar = self.log.verticalScrollBar()
        follow = bar.value() >= bar.maximum() - 4
        if same:
            self.log.appendPlainText("\n".join(lines.lines(fresh)))
        else:
            self.log.setPlainText("\n".join(lines.lines()))
        if follow:
            bar.setValue(bar.maximum())
        return True

    def copy_all(self) -> None:
        """Copy all that is told, with the log."""
        told = self.told
        said = str(told.error).splitlines() if told.error else []
        head = [told.full or told.name, told.facts, *told.warning.splitlines()]
        lines = told.log.lines() if told.log is not None else []
        QGuiApplication.clipboard().setText("\n".join([*head, *said, "", *lines]) + "\n")
