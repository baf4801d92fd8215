"""The long texts of an entry and its key factors: searched, copied, and more of them on request."""

from __future__ import annotations

import bisect
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QColor, QFont, QGuiApplication, QKeyEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import (
    QLineEdit,
    QPlainTextEdit,
    QStyledItemDelegate,
    QTableView,
    QTextEdit,
    QWidget,
)

from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui import theme
from torchkeeper.gui.idle import once
from torchkeeper.gui.inspector import code_edit
from torchkeeper.gui.inspector.code_edit import CodeEdit, cleaned
from torchkeeper.gui.table.delegate import Index, as_rows
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.emptystate import EmptyState
from torchkeeper.gui.widgets.lists import CopyKey
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from PySide6.QtWidgets import QStyleOptionViewItem

    from torchkeeper.engine.messages.entries import FactorsRow, TextResult

#: Milliseconds after the last key before the text is searched.
_SEARCH_MS = 80
#: Matches that are counted, and those that are marked around what is in sight.
_COUNTED, _MARKED = 10_000, 300
#: Characters of a cell that are drawn.
_CELL = 300

_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Text:
    """A text there is: its name in the entry, what to call it, its length."""

    name: str
    title: str
    chars: int


def in_utf16(text: str) -> str:
    """The text with a character for each that Qt counts."""
    if text.isascii():
        return text
    return _ASTRAL.sub(
        lambda m: chr(0xD7C0 + (ord(m[0]) >> 10)) + chr(0xDC00 + (ord(m[0]) & 0x3FF)), text
    )


class SearchBox(QLineEdit):
    """A search field. Return goes on, Shift+Return back, Escape clears."""

    step = Signal(bool)
    leave = Signal()

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setPlaceholderText(name)
        self.setAccessibleName(name)
        forms.clearable(self)
        self.setAcceptDrops(False)
        self.setMinimumWidth(112)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.step.emit(bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        elif event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif event.key() == Qt.Key.Key_Down:
            self.leave.emit()
        else:
            super().keyPressEvent(event)


class Finder(QWidget):
    """Finds words in a text: a field, how many there are, and a way from one to the next."""

    #: Somebody has gone to one.
    went = Signal()

    def __init__(self, edit: QPlainTextEdit, name: str) -> None:
        super().__init__()
        self._edit = edit
        self._matches: list[int] = []
        self._current = -1
        #: What was looked for last.
        self._needle = ""
        self.search = SearchBox(name)
        self.count = forms.label("", "muted")
        self.count.setAccessibleName(self.tr("Matches"))
        back, on = self.tr("Previous match (Shift+F3)"), self.tr("Next match (F3)")
        self.previous = forms.icon_button("previous", back, lambda: self.step(True))
        self.next = forms.icon_button("next", on, lambda: self.step(False))
        line = (self.search, 1), self.count, self.previous, self.next
        self.setLayout(forms.row(*line, gap=4))
        self._timer = once(self, self._search, _SEARCH_MS)
        self.search.textChanged.connect(lambda *_: self._timer.start())
        self.search.step.connect(self.step)
        self.search.leave.connect(edit.setFocus)
        edit.verticalScrollBar().valueChanged.connect(lambda *_: self._mark())
        theme.follow(self, self._mark)
        self.clear()

    def clear(self) -> None:
        """Another text comes."""
        self._matches, self._current = [], -1
        self._say()

    def look_again(self) -> None:
        """There is more of the text; the match that was gone to is still the one."""
        if self.search.text():
            self._timer.start()

    def _search(self) -> None:
        self._timer.stop()
        needle = in_utf16(cleaned(self.search.text()))
        go = needle != self._needle or self._current < 0
        at = self._matches[self._current] if self._current >= 0 else -1
        self._needle = needle
        self._matches, self._current = [], -1
        if needle:
            # toPlainText gives pairs as one character, and so moves what follows.
            text = in_utf16(self._edit.toPlainText())
            found = re.finditer(re.escape(needle), text, re.IGNORECASE)
            self._matches = [match.start() for match in islice(found, _COUNTED)]
        if self._matches and go:
            at = self._edit.textCursor().selectionStart()
            self._go(bisect.bisect_left(self._matches, at) % len(self._matches))
        else:
            self._current = self._matches.index(at) if at in self._matches else -1
            self._say()
            self._mark()

    def step(self, back: bool) -> None:
        """Go to the next match, or the one before."""
        if self._timer.isActive():
            self._search()
        elif self._matches:
            self._go((self._current + (-1 if back else 1)) % len(self._matches))

    def _go(self, number: int) -> None:
        self._current = number
        start = self._matches[number]
        self.went.emit()
        # Its end first, so that all of it comes into sight; and no further to the right than that.
        self._edit.horizontalScrollBar().setValue(0)
        for at in (start + len(self._needle), start):
            cursor = QTextCursor(self._edit.document())
            cursor.setPosition(at)
            self._edit.setTextCursor(cursor)
        self._say()
        self._mark()

    def _say(self) -> None:
        text = self.tr("None") if self.search.text() else ""
        if text and self._matches:
            total = f"{len(self._matches):,}" + ("+" if len(self._matches) >= _COUNTED else "")
            text = f"{self._current + 1:,}/{total}" if self._current >= 0 else total
        self.count.setText(text)
        # The search field would take its room too.
        self.count.setMinimumWidth(self.count.fontMetrics().horizontalAdvance(text))
        for button in (self.previous, self.next):
            button.setEnabled(bool(self._matches))
        said = self.tr("Match {} of the part of the text that is shown").format(text)
        self.count.setToolTip(tip(said if self._matches else ""))

    def _mark(self) -> None:
        marks: list[QTextEdit.ExtraSelection] = []
        if self._matches and self.search.text():
            shades = theme.shades()
            first = self._edit.cursorForPosition(QPoint(0, 0)).block().position()
            bottom = QPoint(0, self._edit.viewport().height())
            last = self._edit.cursorForPosition(bottom).block()
            at = bisect.bisect_left(self._matches, first)
            end = bisect.bisect_right(self._matches, last.position() + last.length())
            for number in range(at, min(at + _MARKED, end)):
                start, here = self._matches[number], number == self._current
                look = QTextCharFormat()
                look.setBackground(QColor(shades.accent if here else shades.selected))
                look.setForeground(QColor(shades.on_accent if here else shades.text))
                cursor = QTextCursor(self._edit.document())
                cursor.setPosition(start)
                cursor.setPosition(start + len(self._needle), QTextCursor.MoveMode.KeepAnchor)
                mark = QTextEdit.ExtraSelection()
                mark.format, mark.cursor = look, cursor
                marks.append(mark)
        self._edit.setExtraSelections(marks)


class BlankPane(QWidget):
    """Says something as long as there is nothing to show."""

    def __init__(self, icon: str) -> None:
        super().__init__()
        self.blank = EmptyState(icon, side=True)
        self.stack = forms.stack(self.blank)
        self.setLayout(forms.column(self.stack, gap=0))

    def show_blank(self, said: str) -> None:
        """Show nothing else than what is said."""
        self.blank.say(said)
        self.blank.blame(None)
        self.stack.setCurrentWidget(self.blank)

    def fail(self, error: UserError) -> None:
        self.blank.say(error.what, "\n".join(filter(None, (error.why, error.remedy))))
        self.blank.blame(error)
        self.stack.setCurrentWidget(self.blank)


class TextPane(BlankPane):
    """Shows one of several texts, a page at a time. It asks for pages and is given them."""

    #: The name of a text and the offset of the page that is wanted.
    wanted = Signal(str, int)

    def __init__(self, name: str, icon: str, nothing: str, others: str) -> None:
        """nothing: what is said of an entry without such a text; others: which entries have one."""
        super().__init__(icon)
        self._nothing, self._others = nothing, others
        self._texts: list[Text] = []
        self._asked: tuple[str, int] | None = None
        self._shown_chars = 0
        self._length = 0
        self.choice = forms.Choice(10)
        self.choice.setAccessibleName(self.tr("Which text"))
        self.choice.activated.connect(lambda *_: self._start())
        self.edit = CodeEdit(name)
        self.finder = Finder(self.edit, self.tr("Search in the text"))
        self.more_text = forms.label("", "muted")
        self.more = forms.button(self.tr("Show more"), self._more)
        line = forms.row((self.choice, 2), (self.finder, 3), gap=4, margin=(12, 8, 8, 8))
        foot = forms.row((self.more_text, 1), self.more, gap=8, margin=(12, 6, 12, 6))
        self.foot = forms.page(foot)
        self._page = forms.page(forms.column(line, (self.edit, 1), self.foot, gap=0))
        self.stack.addWidget(self._page)
        self.edit.find_asked.connect(self._to_search)
        self.edit.step_asked.connect(self.finder.step)
        self.edit.settled.connect(self.finder.look_again)
        self.clear()

    def clear(self, waiting: str = "") -> None:
        """Show nothing, or that something is being read."""
        self._texts, self._asked = [], None
        self._begin(code_edit.PLAIN, waiting)

    def _begin(self, language: str, waiting: str) -> None:
        self.edit.start(language)
        self._shown_chars = self._length = 0
        self.finder.clear()
        self.show_blank(waiting)

    def offer(self, texts: list[Text]) -> None:
        """The texts there are. The first is asked for when the pane is shown."""
        self.clear()
        self._texts = texts
        self.choice.clear()
        for number, text in enumerate(texts):
            self.choice.addItem(text.title)
            self.choice.setItemData(number, tip(text.name), Qt.ItemDataRole.ToolTipRole)
        self.choice.setVisible(len(texts) > 1)
        if not texts:
            self.blank.say(self._nothing, self._others)
        elif self.isVisible():
            self._start()

    def fail(self, error: UserError) -> None:
        self._asked = None
        super().fail(error)

    @property
    def text(self) -> Text | None:
        """The chosen text."""
        at = self.choice.currentIndex()
        return self._texts[at] if 0 <= at < len(self._texts) else None

    def _start(self) -> None:
        if (text := self.text) is not None:
            self.foot.hide()
            self._begin(code_edit.language_of(text.name), self.tr("Reading…"))
            self._ask(text.name, 0)

    def _ask(self, name: str, offset: int) -> None:
        self._asked = (name, offset)
        self.more.setEnabled(False)
        self.wanted.emit(name, offset)

    def _more(self) -> None:
        if self.text is not None and self._asked is None:
            self._ask(self.text.name, self._shown_chars)

    def page(self, answer: TextResult) -> None:
        """A page that was asked for; others are dropped."""
        if (answer["name"], answer["offset"]) != self._asked:
            return
        text, chars = answer["text"], answer["chars"]
        self._asked = None
        self._shown_chars += len(text)
        self._length = max(chars, self._shown_chars)
        # An empty page ends a text, whatever its length was said to be.
        complete = self._shown_chars >= self._length or not text
        self.edit.feed(text, last=complete)
        self.more.setEnabled(True)
        self.foot.setVisible(not complete)
        of = f"{self._shown_chars:,}", f"{self._length:,}"
        self.more_text.setText(self.tr("{} of {} characters").format(*of))
        self.stack.setCurrentWidget(self._page)

    def showEvent(self, event: Any) -> None:
        super().showEvent(event)
        if self._texts and not self._shown_chars and self._asked is None:
            self._start()

    def _to_search(self) -> None:
        self.finder.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.finder.search.selectAll()


class RowsModel(QAbstractTableModel):
    """Rows of texts under titles. A filter keeps the rows with all its words."""

    def __init__(
        self,
        titles: Sequence[str],
        parent: QWidget | None = None,
        fixed: Collection[int] = (),
        numbers: Collection[int] = (),
    ) -> None:
        """numbers: columns that stand to the right; fixed: those in the fixed-width font."""
        super().__init__(parent)
        self._titles = tuple(titles)
        self._numbers, self._fixed = numbers, fixed
        self._all: list[tuple[str, ...]] = []
        self._hay: list[str] = []
        self._shown: list[tuple[str, ...]] = []
        self._words: list[str] = []
        self._font = QFont()
        theme.follow(self, self._fonts)

    def _fonts(self) -> None:
        self._font = theme.monospace()

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._titles)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self._titles):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._titles[section]
        return self._side(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def _side(self, column: int) -> Qt.AlignmentFlag:
        sides = Qt.AlignmentFlag
        side = sides.AlignRight if column in self._numbers else sides.AlignLeft
        return side | sides.AlignVCenter

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._shown):
            return None
        column = index.column()
        text = self._shown[index.row()][column]
        if role == Qt.ItemDataRole.DisplayRole:
            return text[:_CELL]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(text)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._side(column)
        return self._font if role == Qt.ItemDataRole.FontRole and column in self._fixed else None

    @property
    def total(self) -> int:
        """How many rows there are, shown or not."""
        return len(self._all)

    def row_at(self, row: int) -> tuple[str, ...]:
        """The texts of a row that is shown."""
        return self._shown[row]

    def fill(self, rows: Sequence[tuple[str, ...]]) -> None:
        self.beginResetModel()
        self._all = list(rows)
        self._hay = ["\n".join(row).lower() for row in self._all]
        self._shown = self._matching(0)
        self.endResetModel()

    def add(self, rows: Sequence[tuple[str, ...]]) -> None:
        first = len(self._all)
        self._all += rows
        self._hay += ["\n".join(row).lower() for row in rows]
        if fresh := self._matching(first):
            at = len(self._shown)
            self.beginInsertRows(QModelIndex(), at, at + len(fresh) - 1)
            self._shown += fresh
            self.endInsertRows()

    def filter(self, text: str) -> None:
        """Show the rows that hold all words of a text."""
        self._words = text.lower().split()
        self.beginResetModel()
        self._shown = self._matching(0)
        self.endResetModel()

    def _matching(self, first: int) -> list[tuple[str, ...]]:
        found = zip(self._all[first:], self._hay[first:], strict=True)
        return [row for row, hay in found if all(word in hay for word in self._words)]


class RowsView(QTableView):
    """The view of such a table. Copy takes what ``copied`` puts together."""

    copied = Signal()

    def __init__(self, model: RowsModel, name: str) -> None:
        super().__init__()
        CopyKey(self, self.copied.emit)
        self.setObjectName("rows")
        self.setAccessibleName(name)
        as_rows(self, 26)
        self.setModel(model)

    def rows(self) -> list[int]:
        """The selected rows, in order."""
        return sorted({index.row() for index in self.selectionModel().selectedRows()})


NAME, VALUE, HASH = range(3)
#: Pixels around the text of a cell, and what is needed for what stands before a bracket.
_AROUND, _LEAST = 16, 16


class _Names(QStyledItemDelegate):
    """Names differ at their end: what stands in brackets is shown before what precedes them."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        option.textElideMode = Qt.TextElideMode.ElideMiddle
        group, bracket, name = option.text.partition("[")
        metrics = option.fontMetrics
        room = option.rect.width() - _AROUND - metrics.horizontalAdvance(bracket + name)
        if bracket and room < metrics.horizontalAdvance(group):
            short = metrics.elidedText(group, Qt.TextElideMode.ElideRight, room)
            option.text = f"{short if room > _LEAST else '…'}[{name}"


class FactorsPane(BlankPane):
    """The table, its search field, and the chosen factor in full."""

    #: The factors are wanted: the pane is shown for the first time for this entry.
    wanted = Signal()

    def __init__(self) -> None:
        super().__init__("shield")
        self._there = 0
        self._asked = False
        titles = self.tr("Name"), self.tr("Value"), self.tr("Hash")
        self.model = RowsModel(titles, self, fixed={VALUE, HASH})
        self.search = SearchBox(self.tr("Search name, value or hash"))
        self.count = forms.label("", "muted")
        self.copy = forms.icon_button("copy", self.tr("Copy the chosen factors"), self._copy)
        self.table = RowsView(self.model, self.tr("Key factors"))
        self.table.setItemDelegateForColumn(NAME, _Names(self.table))
        header = self.table.horizontalHeader()
        header.resizeSection(NAME, 176)
        header.resizeSection(HASH, 76)
        header.setSectionResizeMode(VALUE, header.ResizeMode.Stretch)
        self.full = forms.read_only_text(self.tr("The chosen factor in full"))
        self.full.setObjectName("code")
        self.full.setAcceptDrops(False)
        self.full.setPlaceholderText(self.tr("The chosen factor appears here in full."))
        self.full.document().setDocumentMargin(8)
        self._lay_out()
        self.search.textChanged.connect(self.model.filter)
        self.search.textChanged.connect(self._say)
        self.search.leave.connect(self._to_table)
        self.search.step.connect(lambda _: self._to_table())
        self.table.copied.connect(self._copy)
        self.table.selectionModel().selectionChanged.connect(self._chosen)
        self.model.modelReset.connect(self._chosen)
        theme.follow(self, lambda: self.full.setFont(theme.monospace()))
        self.offer(0)

    def _lay_out(self) -> None:
        line = forms.row((self.search, 1), self.count, self.copy, gap=4, margin=(12, 8, 8, 8))
        split = forms.split(self.table, self.full, sizes=[400, 120], upright=True, lined=True)
        split.setStretchFactor(0, 1)
        self._page = forms.page(forms.column(line, (split, 1), gap=0))
        self.stack.addWidget(self._page)

    def clear(self, waiting: str = "") -> None:
        """Show nothing, or that something is being read."""
        self._there, self._asked = 0, False
        self.model.fill([])
        self.show_blank(waiting)

    def offer(self, count: int) -> None:
        """How many factors the entry has."""
        self.clear()
        self._there = count
        if not count:
            self.blank.say(
                self.tr("No key factors"),
                self.tr("Graphs record the factors of their key; other entries and older versions "
                        "of torch do not."),
            )  # fmt: skip
        elif self.isVisible():
            self._ask()

    def _ask(self) -> None:
        self._asked = True
        self.blank.say(self.tr("Reading…"))
        self.wanted.emit()

    def add(self, rows: list[FactorsRow]) -> None:
        """Rows that were asked for."""
        told = ((printable(x["name"]), cleaned(x["value"]), printable(x["hash"])) for x in rows)
        self.model.add(list(told))
        self.stack.setCurrentWidget(self._page)
        self._say()

    def showEvent(self, event: Any) -> None:
        super().showEvent(event)
        if self._there and not self._asked:
            self._ask()

    def _say(self, *_: object) -> None:
        shown, total = self.model.rowCount(), self.model.total
        text = f"{total:,}" if shown == total else self.tr("{} of {}").format(shown, total)
        self.count.setText(text)

    def _to_table(self) -> None:
        self.table.setFocus(Qt.FocusReason.ShortcutFocusReason)
        if not self.table.rows() and self.model.rowCount():
            self.table.selectRow(0)

    def _chosen(self, *_: object) -> None:
        rows = self.table.rows()
        self.copy.setEnabled(bool(rows))
        text = ""
        if rows:
            name, value, digest = self.model.row_at(rows[-1])
            text = f"{name}\n[{digest}]\n\n{value}"
        self.full.setPlainText(text)

    def _copy(self) -> None:
        rows = map(self.model.row_at, self.table.rows())
        # As PyTorch itself writes them.
        if lines := [f"[{digest}] {name}: {value}" for name, value, digest in rows]:
            QGuiApplication.clipboard().setText("\n".join(lines))
