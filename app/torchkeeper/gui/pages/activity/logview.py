"""The log of a job: searched, followed, copied and saved. Long ones are shown in small slices."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable

from PySide6.QtCore import Signal
from PySide6.QtGui import QColor, QGuiApplication, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QCheckBox, QPlainTextEdit, QTextEdit, QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.inspector.code_edit import cleaned
from torchkeeper.gui.inspector.sources import SearchBox
from torchkeeper.gui.jobs.model import LOG_LINES
from torchkeeper.gui.later import every, once
from torchkeeper.gui.widgets import forms

#: Seconds of work in one turn of the event loop, and lines between two looks at the clock.
_SLICE = 0.006
_LINES = 40
#: Matches that are marked.
_MARKED = 300
_SEARCH_MS = 120


class LogView(QWidget):
    """Shows lines; ``add`` brings more. Emits ``saved`` with the text that is to be saved."""

    save_asked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.edit = QPlainTextEdit()
        self.edit.setReadOnly(True)
        self.edit.setAcceptDrops(False)
        self.edit.setTabChangesFocus(True)
        self.edit.setAccessibleName(self.tr("Log of the chosen job"))
        self.edit.setMaximumBlockCount(LOG_LINES)
        self.edit.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.edit.setUndoRedoEnabled(False)
        self.edit.document().setDocumentMargin(8)
        self.edit.setPlaceholderText(self.tr("Nothing has been logged for the chosen job."))
        self.edit.setMinimumHeight(72)
        self.search = SearchBox(self.tr("Search the log"))
        self.search.setPlaceholderText(self.tr("Search"))
        self.search.setMinimumWidth(120)
        self.search.setMaximumWidth(280)
        self.count = forms.label("", "muted")
        self.previous = forms.icon_button("previous", self.tr("Previous match"))
        self.next = forms.icon_button("next", self.tr("Next match"))
        self.follow = QCheckBox(self.tr("Follo&w"))
        self.follow.setToolTip(self.tr("Keep the last line in sight while more come"))
        self.follow.setChecked(True)
        self.copy = forms.icon_button("copy", self.tr("Copy log"))
        self.save = forms.button(self.tr("Save &log…"))
        line = forms.row()
        line.addWidget(self.search, 4)
        line.addWidget(self.count)
        line.addWidget(self.previous)
        line.addWidget(self.next)
        line.addStretch(1)
        line.addWidget(self.follow)
        line.addWidget(self.copy)
        line.addWidget(self.save)
        whole = forms.column()
        whole.setContentsMargins(0, 8, 0, 0)
        whole.addLayout(line)
        whole.addWidget(self.edit, 1)
        self.setLayout(whole)
        self._coming: deque[str] = deque()
        self._lines: deque[str] = deque(maxlen=LOG_LINES)
        self._matches: list[int] = []
        self._current = -1
        self._timer = every(self, self._feed)
        self._soon = once(self, self._search, _SEARCH_MS)
        self.search.textChanged.connect(lambda *_: self._soon.start())
        self.search.step.connect(self._step)
        self.search.leave.connect(self.edit.setFocus)
        self.previous.clicked.connect(lambda: self._step(True))
        self.next.clicked.connect(lambda: self._step(False))
        self.follow.toggled.connect(lambda on: self._to_end() if on else None)
        # Also where there is less height for it by now.
        self.edit.verticalScrollBar().rangeChanged.connect(
            lambda *_: self._to_end() if self.follow.isChecked() else None
        )
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.text()))
        self.save.clicked.connect(lambda: self.save_asked.emit(self.text()))
        theme.follow(self, self._paint)
        self._tell()

    def show_lines(self, lines: Iterable[str]) -> None:
        """Show these lines, in place of what was there."""
        self._coming.clear()
        self._lines.clear()
        self.edit.clear()
        self.add(lines)

    def add(self, lines: Iterable[str]) -> None:
        """Show more lines at the end."""
        some = list(lines)
        self._lines.extend(some)
        self._coming.extend(some)
        self._feed()

    def text(self) -> str:
        """All lines, whether they are shown yet or not."""
        return "".join(f"{line}\n" for line in self._lines)

    @property
    def settled(self) -> bool:
        """Whether all that came is shown."""
        return not self._coming

    def _feed(self) -> None:
        until = time.monotonic() + _SLICE
        bar = self.edit.verticalScrollBar()
        at = bar.value()
        while self._coming and time.monotonic() < until:
            some = [self._coming.popleft() for _ in range(min(_LINES, len(self._coming)))]
            self.edit.appendPlainText(cleaned("\n".join(some)))
        if self.follow.isChecked():
            self._to_end()
        else:
            bar.setValue(at)
        if not self._coming:
            self._timer.stop()
            self._tell()
            if self.search.text():
                self._soon.start()
        elif not self._timer.isActive():
            self._timer.start()

    def _to_end(self) -> None:
        bar = self.edit.verticalScrollBar()
        bar.setValue(bar.maximum())

    # Searching.

    def _search(self) -> None:
        word = self.search.text().lower()
        self._matches, self._current = [], -1
        if word:
            hay, at = self.edit.toPlainText().lower(), -1
            while (at := hay.find(word, at + 1)) >= 0:
                self._matches.append(at)
            if self._matches:
                self._step(False)
        self._tell()

    def _step(self, back: bool) -> None:
        if not self._matches:
            return
        self._current = (self._current + (-1 if back else 1)) % len(self._matches)
        self.follow.setChecked(False)
        cursor = self.edit.textCursor()
        cursor.setPosition(self._matches[self._current])
        self.edit.setTextCursor(cursor)
        self.edit.centerCursor()
        self._tell()

    def _tell(self) -> None:
        found, word = len(self._matches), self.search.text()
        said = self.tr("{} of {}").format(f"{self._current + 1:,}", f"{found:,}") if found else ""
        self.count.setText(said if found or not word else self.tr("No match"))
        for button in (self.previous, self.next):
            button.setEnabled(bool(found))
            button.setVisible(bool(word))  # before, they are of no use and take room
        for one in (self.copy, self.save, self.search):
            one.setEnabled(bool(self._lines))
        self._mark()

    def _mark(self) -> None:
        shades, marks = theme.shades(), []
        first = max(0, self._current - _MARKED // 2)
        for number in range(first, min(first + _MARKED, len(self._matches))):
            here = number == self._current
            look = QTextCharFormat()
            look.setBackground(QColor(shades.accent if here else shades.selected))
            look.setForeground(QColor(shades.on_accent if here else shades.text))
            mark = QTextEdit.ExtraSelection()
            mark.format = look
            mark.cursor = QTextCursor(self.edit.document())
            mark.cursor.setPosition(self._matches[number])
            end = self._matches[number] + len(self.search.text())
            mark.cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
            marks.append(mark)
        self.edit.setExtraSelections(marks)

    def _paint(self) -> None:
        self.edit.setFont(theme.monospace())
        self._mark()
