"""Facts as a form: labels on the left, values that can be selected and followed on the right."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFrameFormat,
    QTextLength,
    QTextOption,
    QTextTableCell,
    QTextTableCellFormat,
    QTextTableFormat,
)
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextBrowser, QWidget

from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.say import kind_words
from torchkeeper.gui import theme
from torchkeeper.gui.inspector.details import Need, Section, Value
from torchkeeper.gui.widgets.plain import tip

_LABELS = 108
#: Pixels around what is in a cell; headings stand as far in.
_PADDING = 3


class FactsView(QTextBrowser):
    """Built of tables, never of HTML: what comes from a cache stays plain text."""

    #: A needed entry was clicked, or chosen with Return.
    followed = Signal(object)
    #: A link was gone to, at this many pixels from the top, in a view that is shown whole.
    reached = Signal(int)

    def __init__(
        self, name: str, parent: QWidget | None = None, *, whole: bool = False, margin: int = 12
    ) -> None:
        """whole: as high as its text, in something else that scrolls."""
        super().__init__(parent)
        self._whole = whole
        self._drawing = False
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setAcceptDrops(False)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(margin)
        self._sections: list[Section] = []
        self._needs: list[Need] = []
        self.anchorClicked.connect(self._follow)
        if whole:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            self.document().documentLayout().documentSizeChanged.connect(lambda *_: self._fit())
            self.cursorPositionChanged.connect(self._go)
        theme.follow(self, self._draw)

    def show_sections(self, sections: Sequence[Section]) -> None:
        """Show these facts; the place of reading stays when they are the same."""
        if list(sections) != self._sections:
            self._sections = list(sections)
            self._draw()

    def _draw(self) -> None:
        at = self.verticalScrollBar().value()
        self._needs = []
        self._drawing = True
        self.clear()
        cursor = QTextCursor(self.document())
        for section in self._sections:
            self._heading(cursor, section.title)
            self._table(cursor, section)
            cursor.movePosition(QTextCursor.MoveOperation.End)
        self.moveCursor(QTextCursor.MoveOperation.Start)
        self.verticalScrollBar().setValue(at)
        self._drawing = False
        self._fit()

    def _fit(self) -> None:
        if self._whole and not self._drawing:
            self.setFixedHeight(max(1, ceil(self.document().size().height())))

    def _go(self) -> None:
        if self.hasFocus() and not self._drawing:
            self.reached.emit(self.cursorRect().center().y())

    def _heading(self, cursor: QTextCursor, title: str) -> None:
        look, block = QTextCharFormat(), QTextBlockFormat()
        look.setForeground(QColor(theme.shades().muted))
        look.setFontWeight(600)
        if not title:
            # Qt wants a line over a table; this one has no height to speak of.
            block.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        cursor.setBlockFormat(block)
        cursor.insertText(title, look)

    def _table(self, cursor: QTextCursor, section: Section) -> None:
        form = QTextTableFormat()
        form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_None)
        form.setBorder(0)
        form.setCellPadding(_PADDING)
        form.setBottomMargin(12 if section.labelled else 0)
        form.setCellSpacing(0)
        form.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
        widths = [QTextLength(QTextLength.Type.VariableLength, 0)]
        if section.labelled:
            widths.insert(0, QTextLength(QTextLength.Type.FixedLength, _LABELS))
        form.setColumnWidthConstraints(widths)
        table = cursor.insertTable(len(section.rows), len(widths), form)
        # What stands first is on one line with what is over and under this.
        edge = QTextTableCellFormat()
        edge.setLeftPadding(0)
        muted = QTextCharFormat()
        muted.setForeground(QColor(theme.shades().muted))
        for row, (label, values) in enumerate(section.rows):
            first: QTextTableCell = table.cellAt(row, 0)
            first.setFormat(edge)
            if section.labelled:
                first.firstCursorPosition().insertText(label, muted)
            into = table.cellAt(row, len(widths) - 1).firstCursorPosition()
            for number, value in enumerate(values):
                if number:
                    into.insertBlock(QTextBlockFormat())
                into.insertText(value.text, self._look(value))

    def _look(self, value: Value) -> QTextCharFormat:
        shades = theme.shades()
        look = QTextCharFormat()
        if value.fixed:
            look.setFont(theme.monospace())
        look.setForeground(QColor(shades.muted if value.muted else shades.text))
        if value.need is not None:
            look.setAnchor(True)
            look.setAnchorHref(f"need:{len(self._needs)}")
            look.setForeground(QColor(shades.accent))
            look.setFontUnderline(True)
            look.setToolTip(tip(printable(value.need.key)))
            self._needs.append(value.need)
        return look

    def _follow(self, url: QUrl) -> None:
        number = url.path()
        if url.scheme() == "need" and number.isdigit() and int(number) < len(self._needs):
            self.followed.emit(self._needs[int(number)])

    def event(self, event: QEvent) -> bool:
        # Copy is this view's own here, not the window's.
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            mine = QKeySequence.StandardKey
            if event.matches(mine.Copy) or event.matches(mine.SelectAll):
                event.accept()
                return True
        return super().event(event)


# A small part that others use, too: a kind with its mark.


class Chip(QWidget):
    """A kind, with its mark."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kind = "unknown"
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.follow(self, self.update)

    def show_kind(self, kind: str) -> None:
        """Name another kind."""
        self._kind = kind
        self.setAccessibleName(self.tr("Kind: {}").format(kind_words(kind)))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance(kind_words(self._kind)) + 34, metrics.height() + 8)

    def paintEvent(self, _: QPaintEvent) -> None:
        shades = theme.shades()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setPen(QColor(shades.line))
        painter.setBrush(QColor(shades.raised))
        painter.drawRoundedRect(box, box.height() / 2, box.height() / 2)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(shades.kinds.get(self._kind, shades.muted)))
        painter.drawRoundedRect(QRectF(11, box.center().y() - 4.5, 9, 9), 3, 3)
        painter.setPen(QColor(shades.text))
        flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(self.rect().adjusted(26, 0, -6, 0), flags, kind_words(self._kind))
