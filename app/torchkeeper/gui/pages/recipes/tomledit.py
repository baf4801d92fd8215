"""A text of TOML that can be edited: with line numbers, colours, and its faults marked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6 import QtGui, QtWidgets
from PySide6.QtCore import QEvent, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QStyle, QToolTip, QTreeWidget, QTreeWidgetItem

from torchkeeper.gui import theme
from torchkeeper.gui.widgets.lists import Index, NumberedEdit, columns
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from torchkeeper.client.recipes.files import Fault


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


class _Colours(QtGui.QSyntaxHighlighter):
    """Colours a text while it is typed, which a parser would refuse until it is whole."""

    def __init__(self, document: QtGui.QTextDocument) -> None:
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
            if (at := self._until(text, 0, _QUOTES[state], 0)) < 0:
                return
        elif (header := _HEADER.match(text)) and "=" not in header[1]:
            self._put(header.start(1), len(header[1]), "special")
            at = header.end()
        while match := _TOKEN.search(text, at):
            part = match.lastgroup or ""
            if part != "open":
                self._put(match.start(), len(match[0]), part)
                at = match.end()
            elif (at := self._until(text, match.start(), match[0], 3)) < 0:
                return

    def _until(self, text: str, start: int, quotes: str, skip: int) -> int:
        """Colour a text of several lines; where it ends, or -1 where it does not in this one."""
        if (end := text.find(quotes, start + skip)) < 0:
            self.setCurrentBlockState(_IN[quotes])
            self._put(start, len(text) - start, "string")
            return -1
        self._put(start, end + 3 - start, "string")
        return end + 3

    def _put(self, start: int, length: int, part: str) -> None:
        if part in self._formats:
            self.setFormat(start, length, self._formats[part])


_TO_END = QTextCursor.MoveOperation.EndOfBlock
_KEY = QtGui.QKeySequence.StandardKey
#: What the text does itself where the window does something else with the same keys.
_OWN = _KEY.Copy, _KEY.Cut, _KEY.Paste, _KEY.SelectAll, _KEY.Undo, _KEY.Redo, _KEY.Delete


class TomlEdit(NumberedEdit):
    """The text. ``mark`` says which lines have faults, which are told where the pointer rests."""

    #: With room for a mark.
    beside = 28

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        # Who works without a mouse must be able to leave.
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QtWidgets.QPlainTextEdit.LineWrapMode.NoWrap)
        self.document().setDocumentMargin(8)
        self._faults: dict[int, str] = {}
        self._colours = _Colours(self.document())
        theme.follow(self, self._paint)

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
        right, stay = QTextCursor.MoveOperation.Right, QTextCursor.MoveMode.MoveAnchor
        cursor.movePosition(right, stay, min(max(0, column - 1), max(0, block.length() - 1)))
        self.setTextCursor(cursor)
        self.centerCursor()
        self.setFocus()

    def _underline(self) -> None:
        found = []
        shade = QColor(theme.shades().warning)
        for line in self._faults:
            block = self.document().findBlockByNumber(line - 1)
            if not block.isValid():
                continue
            one, text = QtWidgets.QTextEdit.ExtraSelection(), block.text()
            one.cursor = QTextCursor(block)
            one.cursor.setPosition(block.position() + len(text) - len(text.lstrip()))
            one.cursor.movePosition(_TO_END, QTextCursor.MoveMode.KeepAnchor)
            one.format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            one.format.setUnderlineColor(shade)
            found.append(one)
        self.setExtraSelections(found)

    def _paint(self) -> None:
        self.setFont(theme.monospace())
        self._colours.dress()
        self._underline()
        self.place_numbers()

    def event(self, event: QEvent) -> bool:
        # These are the text's own here, not the window's.
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QtGui.QKeyEvent)
            and any(event.matches(key) for key in _OWN)
        ):
            event.accept()
            return True
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QtGui.QHelpEvent):
            at = self.viewport().mapFromGlobal(event.globalPos())
            line = self.cursorForPosition(at).blockNumber() + 1
            # Without a text it is hidden.
            QToolTip.showText(event.globalPos(), tip(self._faults.get(line, "")), self)
            return True
        return super().event(event)


_MOST = 100
#: Pixels it asks for at most.
_HIGHEST = 260
_PLACE = Qt.ItemDataRole.UserRole
#: What may be longer than a line, as paths, and what lets it be broken anywhere.
_LONG, _BREAK = re.compile(r"\S{32,}"), "\u200b"
_TOP = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop


class _Wrapped(QtWidgets.QStyledItemDelegate):
    """Cells as high as their text is in their column: a tree alone asks for cells of any width."""

    def __init__(self, tree: QTreeWidget) -> None:
        super().__init__(tree)
        self._tree = tree

    def initStyleOption(self, option: QtWidgets.QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        option.text = _LONG.sub(lambda found: _BREAK.join(found[0]), option.text)

    def sizeHint(self, option: QtWidgets.QStyleOptionViewItem, index: Index) -> QSize:
        one_line = super().sizeHint(option, index)
        self.initStyleOption(option, index)
        option.rect = QRect(0, 0, self._tree.columnWidth(index.column()), one_line.height())
        style, text = self._tree.style(), QStyle.SubElement.SE_ItemViewItemText
        room = style.subElementRect(text, option, self._tree).width()
        room -= 2 * (style.pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin) + 1)
        metrics = option.fontMetrics
        wide, wrap = QRect(0, 0, max(room, 1), 1), Qt.TextFlag.TextWordWrap
        more = max(0, metrics.boundingRect(wide, wrap, option.text).height() - metrics.height())
        return QSize(one_line.width(), one_line.height() + more)


class FaultList(QTreeWidget):
    """Each fault with its line, where in the data it is, and what was expected."""

    #: Somebody wants to see where one is: its line and column, from 1.
    wanted = Signal(int, int)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setRootIsDecorated(False)
        self.setAllColumnsShowFocus(True)
        self.setWordWrap(True)
        self.setItemDelegate(_Wrapped(self))
        self.setSizeAdjustPolicy(QtWidgets.QAbstractItemView.SizeAdjustPolicy.AdjustToContents)
        # Of a high row the rest is to be reached, too.
        self.setVerticalScrollMode(QtWidgets.QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHeaderLabels([self.tr("Line"), self.tr("Where"), self.tr("Fault")])
        columns(self, (56, 144, 0), 2)
        self.header().sectionResized.connect(lambda *_: self.scheduleDelayedItemsLayout())
        self.itemActivated.connect(self.want)

    def show_faults(self, faults: Sequence[Fault]) -> None:
        """List these; it is not seen where there are none."""
        self.clear()
        self.setVisible(bool(faults))
        for fault in faults[:_MOST]:
            item = QTreeWidgetItem([f"{fault.line:,}", fault.where, fault.text])
            item.setData(0, _PLACE, (fault.line, fault.column))
            for column in range(3):
                item.setTextAlignment(column, _TOP)
            self.addTopLevelItem(item)

    def sizeHint(self) -> QSize:
        asked = super().sizeHint()
        return QSize(asked.width(), min(asked.height(), _HIGHEST))

    def want(self, item: QTreeWidgetItem, _: int = 0) -> None:
        """Say that somebody wants to see where it is."""
        self.wanted.emit(*item.data(0, _PLACE))
