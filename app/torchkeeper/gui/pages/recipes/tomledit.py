"""A text of TOML that can be edited: with line numbers, colours, and its faults marked."""

from __future__ import annotations

import re
from collections.abc import Mapping

from PySide6.QtCore import QEvent
from PySide6.QtGui import (
    QColor,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QToolTip, QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.widgets.numbered import NumberedEdit
from torchkeeper.gui.widgets.plain import tip

_STRING = r"\"(?:\\.|[^\"\\])*\"?|'[^']*'?"
_TOKEN = re.compile(
    r"(?P<comment>#.*)"
    r"|(?P<open>\"\"\"|''')"
    rf"|(?P<name>(?:[\w-]+|{_STRING})(?:\s*\.\s*(?:[\w-]+|{_STRING}))*(?=\s*=))"
    rf"|(?P<string>{_STRING})"
    r"|(?P<keyword>\b(?:true|false|inf|nan)\b)"
    r"|(?P<number>(?<![\w.])[+-]?\d[\w.:+-]*)"
)
_HEADER = re.compile(r"\s*(\[\[?[^\]]*\]?\]?)")
#: What a block ends in: nothing, or a text of several lines in either kind of quotes.
_IN = {'"""': 1, "'''": 2}
_QUOTES = {number: quotes for quotes, number in _IN.items()}


class _Colours(QSyntaxHighlighter):
    """Colours a text while it is typed, which a parser would refuse until it is whole."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._formats: dict[str, QTextCharFormat] = {}

    def dress(self) -> None:
        """Use the colours of the theme."""
        for part, colour in theme.shades().syntax.items():
            made = QTextCharFormat()
            made.setForeground(QColor(colour))
            if part == "special":
                made.setFontWeight(600)
            self._formats[part] = made
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        at, state = 0, self.previousBlockState()
        self.setCurrentBlockState(0)
        if state in _QUOTES:
            at = self._until(text, 0, _QUOTES[state], 0)
            if at < 0:
                return
        elif (header := _HEADER.match(text)) and "=" not in header[1]:
            self._put(header.start(1), len(header[1]), "special")
            at = header.end()
        while match := _TOKEN.search(text, at):
            part = match.lastgroup or ""
            if part == "open":
                at = self._until(text, match.start(), match[0], 3)
                if at < 0:
                    return
                continue
            self._put(match.start(), len(match[0]), part)
            at = match.end()

    def _until(self, text: str, start: int, quotes: str, skip: int) -> int:
        """Colour a text of several lines; where it ends, or -1 where it does not in this one."""
        end = text.find(quotes, start + skip)
        stop = len(text) if end < 0 else end + 3
        self._put(start, stop - start, "string")
        if end < 0:
            self.setCurrentBlockState(_IN[quotes])
        return -1 if end < 0 else stop

    def _put(self, start: int, length: int, part: str) -> None:
        if part in self._formats:
            self.setFormat(start, length, self._formats[part])


class TomlEdit(NumberedEdit):
    """The text. ``mark`` says which lines have faults, which are told where the pointer rests."""

    #: With room for a mark.
    beside = 28

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        # Who works without a mouse must be able to leave.
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.document().setDocumentMargin(8)
        self._faults: dict[int, str] = {}
        self._colours = _Colours(self.document())
        theme.follow(self, self._paint)

    # What is marked.

    def mark(self, faults: Mapping[int, str]) -> None:
        """Mark lines, counted from 1, each with what is wrong in it."""
        self.marked = self._faults = dict(faults)
        self._underline()
        self.numbers.update()

    def go_to(self, line: int, column: int = 1) -> None:
        """Put the cursor there, both counted from 1."""
        block = self.document().findBlockByNumber(max(0, line - 1))
        if not block.isValid():
            block = self.document().lastBlock()
        cursor = QTextCursor(block)
        cursor.movePosition(
            QTextCursor.MoveOperation.Right, QTextCursor.MoveMode.MoveAnchor,
            min(max(0, column - 1), max(0, block.length() - 1)),
        )  # fmt: skip
        self.setTextCursor(cursor)
        self.centerCursor()
        self.setFocus()

    def _underline(self) -> None:
        found = []
        shade = QColor(theme.shades().error)
        for line in self._faults:
            block = self.document().findBlockByNumber(line - 1)
            if not block.isValid():
                continue
            one = QTextEdit.ExtraSelection()
            cursor, text = QTextCursor(block), block.text()
            first = len(text) - len(text.lstrip())
            cursor.setPosition(block.position() + first)
            cursor.movePosition(
                QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor
            )
            format_ = QTextCharFormat()
            format_.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            format_.setUnderlineColor(shade)
            one.cursor, one.format = cursor, format_
            found.append(one)
        self.setExtraSelections(found)

    def _paint(self) -> None:
        self.setFont(theme.monospace())
        self._colours.dress()
        self._underline()
        self.place_numbers()

    # Keys and tooltips.

    def event(self, event: QEvent) -> bool:
        # These are the text's own here, not the window's.
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            mine = QKeySequence.StandardKey
            keys = (mine.Copy, mine.Cut, mine.Paste, mine.SelectAll, mine.Undo, mine.Redo,
                    mine.Delete)  # fmt: skip
            if any(event.matches(key) for key in keys):
                event.accept()
                return True
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            at = self.viewport().mapFromGlobal(event.globalPos())
            line = self.cursorForPosition(at).blockNumber() + 1
            if line in self._faults:
                QToolTip.showText(event.globalPos(), tip(self._faults[line]), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)
