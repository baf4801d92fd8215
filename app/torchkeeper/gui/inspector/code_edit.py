"""A read-only text with line numbers and colours that takes any size in small slices.

A text comes in pages. Its lines are inserted, and then coloured, a few milliseconds at a time;
a line that is too long for Qt's layout is cut, and says so.
"""

from __future__ import annotations

import re
import time
from collections import deque

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QKeySequence, QTextCharFormat, QTextCursor, QTextLayout
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.inspector import syntax
from torchkeeper.gui.later import every
from torchkeeper.gui.widgets.numbered import NumberedEdit

#: Characters of a line that are shown.
LINE = 2000
#: Seconds of work in one turn of the event loop.
_SLICE = 0.006
#: Lines and characters that are inserted between two looks at the clock.
_LINES, _CHARS = 24, 6000

#: What must not be drawn as it is: controls, what turns the direction of reading, halves of pairs.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufdd0-\ufdef"
    "\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)


def cleaned(text: str) -> str:
    """The text with what cannot be seen made visible."""
    return _UNSAFE.sub(_visible, text)


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class CodeEdit(NumberedEdit):
    """The text. ``feed`` brings a page; ``settled`` tells that all of it is shown and coloured."""

    settled = Signal()
    #: Find was pressed; or Find Next, with True for backwards.
    find_asked = Signal()
    step_asked = Signal(bool)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setObjectName("code")
        self.setReadOnly(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setUndoRedoEnabled(False)
        self.setAcceptDrops(False)
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.document().setDocumentMargin(8)
        self._language = syntax.PLAIN
        self._formats: dict[str, QTextCharFormat] = {}
        #: Lines to come: what is shown of one, and how long it is in full.
        self._coming: deque[tuple[str, int]] = deque()
        self._replace = False
        self._empty = True
        #: The last line while its end is still to come.
        self._open = ""
        self._open_length = 0
        #: What is open after each block that has its colours.
        self._states: list[syntax.State] = []
        self._timer = every(self, self._work)
        theme.follow(self, self._paint)

    # The text.

    def start(self, language: str) -> None:
        """Show another text, of which pages follow."""
        self._timer.stop()
        self._coming.clear()
        self._states.clear()
        self._language = language
        self._replace, self._empty = False, True
        self._open, self._open_length = "", 0
        self.setExtraSelections([])
        self.clear()

    def feed(self, text: str, *, last: bool) -> None:
        """The next page of the text."""
        lines = text.split("\n")
        open_, length = self._open, self._open_length
        if self._coming:
            # The line that goes on is not even inserted yet.
            self._coming.pop()
        else:
            self._replace = not self._empty
        for number, line in enumerate(lines):
            start = open_ + line[: LINE + 1 - len(open_)] if number == 0 else line[: LINE + 1]
            whole = length + len(line) if number == 0 else len(line)
            self._coming.append((start[: LINE + 1], whole))
        self._open, self._open_length = self._coming[-1]
        if last:
            self._open, self._open_length = "", 0
        self._timer.start()

    @property
    def busy(self) -> bool:
        """Whether there is still something to insert or to colour."""
        return self._timer.isActive()

    def _work(self) -> None:
        end = time.perf_counter() + _SLICE
        while self._coming:
            self._insert()
            if time.perf_counter() >= end:
                return
        if self._colour(end):
            self._timer.stop()
            self.settled.emit()

    def _insert(self) -> None:
        shown: list[str] = []
        size = 0
        while self._coming and len(shown) < _LINES and size < _CHARS:
            text, length = self._coming.popleft()
            shown.append(self._shaped(text, length))
            size += len(shown[-1])
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        first = cursor.blockNumber()
        if self._replace and not self._empty:
            cursor.movePosition(
                QTextCursor.MoveOperation.StartOfBlock, QTextCursor.MoveMode.KeepAnchor
            )
            cursor.removeSelectedText()
            del self._states[first:]
        elif not self._empty:
            shown.insert(0, "")
        cursor.insertText("\n".join(shown))
        self._replace, self._empty = False, False

    def _shaped(self, text: str, length: int) -> str:
        if length <= LINE:
            return cleaned(text)
        more = self.tr("… {} more characters in this line").format(f"{length - LINE:,}")
        return f"{cleaned(text[:LINE])} {more}"

    # Colours.

    def _colour(self, end: float) -> bool:
        """Colour the blocks that follow; True when all have their colours."""
        document = self.document()
        first = block = document.findBlockByNumber(len(self._states))
        while block.isValid():
            state = self._states[-1] if self._states else syntax.NOTHING
            found, state = syntax.tokens(block.text(), state, self._language)
            self._states.append(state)
            if found:
                block.layout().setFormats([self._range(*token) for token in found])
            block = block.next()
            if time.perf_counter() >= end:
                break
        if first.isValid():
            stop = block.position() if block.isValid() else document.characterCount()
            document.markContentsDirty(first.position(), stop - first.position())
        return not block.isValid()

    def _range(self, start: int, length: int, part: str) -> QTextLayout.FormatRange:
        made = QTextLayout.FormatRange()
        made.start, made.length, made.format = start, length, self._formats[part]
        return made

    def _paint(self) -> None:
        self.setFont(theme.monospace())
        for part, colour in theme.shades().syntax.items():
            made = QTextCharFormat()
            made.setForeground(QColor(colour))
            if part == "keyword":
                made.setFontWeight(600)
            self._formats[part] = made
        self._states.clear()
        self.place_numbers()
        self._timer.start()

    def is_numbered(self) -> bool:
        return not self._empty

    def sight(self) -> tuple[int, int]:
        """The positions of the first and last character in sight."""
        first = self.cursorForPosition(QPoint(0, 0)).block().position()
        corner = QPoint(0, self.viewport().height())
        last = self.cursorForPosition(corner).block()
        return first, last.position() + last.length()

    # Keys.

    def event(self, event: QEvent) -> bool:
        # These are the text's own here, not the window's.
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            mine = QKeySequence.StandardKey
            if any(
                event.matches(key)
                for key in (mine.Copy, mine.SelectAll, mine.Find, mine.FindNext, mine.FindPrevious)
            ):
                event.accept()
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Find):
            self.find_asked.emit()
        elif event.matches(QKeySequence.StandardKey.FindNext):
            self.step_asked.emit(False)
        elif event.matches(QKeySequence.StandardKey.FindPrevious):
            self.step_asked.emit(True)
        else:
            super().keyPressEvent(event)
