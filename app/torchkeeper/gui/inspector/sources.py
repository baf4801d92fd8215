"""The viewer of an entry's texts: which one, search in it, and more of it on request."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QLineEdit, QStackedWidget, QTextEdit, QWidget

from torchkeeper.client.words.problems import UserError
from torchkeeper.gui import theme
from torchkeeper.gui.idle import once
from torchkeeper.gui.inspector import code_edit
from torchkeeper.gui.inspector.code_edit import CodeEdit, cleaned
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.emptystate import EmptyState
from torchkeeper.gui.widgets.forms import Choice
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from torchkeeper.engine.messages.entries import TextResult

#: Milliseconds after the last key before the text is searched.
_SEARCH_MS = 80
#: Matches that are counted, and those that are marked around what is in sight.
_COUNTED, _MARKED = 10_000, 300

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
        self.setMinimumWidth(80)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.step.emit(bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        elif event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif event.key() == Qt.Key.Key_Down:
            self.leave.emit()
        else:
            super().keyPressEvent(event)


class BlankPane(QWidget):
    """Says something as long as there is nothing to show."""

    def __init__(self, icon: str) -> None:
        super().__init__()
        self.blank = EmptyState(icon, side=True)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.blank)
        self.setLayout(forms.column(self.stack, gap=0))

    def show_blank(self, said: str) -> None:
        """Show nothing else than what is said."""
        self.blank.say(said)
        self.blank.blame(None)
        self.stack.setCurrentWidget(self.blank)

    def fail(self, error: UserError) -> None:
        """It cannot be shown."""
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
        self._matches: list[int] = []
        self._current = -1
        self._length = 0
        self.choice = Choice(10)
        self.choice.setAccessibleName(self.tr("Which text"))
        self.choice.activated.connect(lambda *_: self._start())
        self.search = SearchBox(self.tr("Search in the text"))
        self.count = forms.label("", "muted")
        self.count.setAccessibleName(self.tr("Matches"))
        self.previous = forms.icon_button("previous", self.tr("Previous match (Shift+F3)"))
        self.next = forms.icon_button("next", self.tr("Next match (F3)"))
        self.edit = CodeEdit(name)
        self.more_text = forms.label("", "muted")
        self.more = forms.button(self.tr("Show more"), self._more)
        self._lay_out()
        self._timer = once(self, self._search, _SEARCH_MS)
        self.search.textChanged.connect(lambda *_: self._timer.start())
        self.search.step.connect(self.step)
        self.search.leave.connect(self.edit.setFocus)
        self.previous.clicked.connect(lambda: self.step(True))
        self.next.clicked.connect(lambda: self.step(False))
        self.edit.find_asked.connect(self._to_search)
        self.edit.step_asked.connect(self.step)
        self.edit.settled.connect(self._settled)
        self.edit.verticalScrollBar().valueChanged.connect(lambda *_: self._mark())
        theme.follow(self, self._mark)
        self.clear()

    def _lay_out(self) -> None:
        line = forms.row((self.choice, 2), (self.search, 3), gap=4, margin=(12, 8, 8, 8))
        forms.add(line, self.count, self.previous, self.next)
        foot = forms.row((self.more_text, 1), self.more, gap=8, margin=(12, 6, 12, 6))
        self.foot = forms.page(foot)
        self._page = forms.page(forms.column(line, (self.edit, 1), self.foot, gap=0))
        self.stack.addWidget(self._page)

    # What is shown.

    def clear(self, waiting: str = "") -> None:
        """Show nothing, or that something is being read."""
        self._texts, self._asked = [], None
        self._begin(code_edit.PLAIN, waiting)

    def _begin(self, language: str, waiting: str) -> None:
        self.edit.start(language)
        self._shown_chars = self._length = 0
        self._matches, self._current = [], -1
        self._say()
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

    # Searching.

    def _to_search(self) -> None:
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def _settled(self) -> None:
        if self.search.text():
            self._search(go=self._current < 0)

    def _search(self, go: bool = True) -> None:
        self._timer.stop()
        needle = in_utf16(cleaned(self.search.text()))
        at = self._matches[self._current] if self._current >= 0 else -1
        self._matches, self._current = [], -1
        if needle:
            # toPlainText gives pairs as one character, and so moves what follows.
            text = in_utf16(self.edit.toPlainText())
            found = re.finditer(re.escape(needle), text, re.IGNORECASE)
            self._matches = [match.start() for match in islice(found, _COUNTED)]
        if self._matches and go:
            at = self.edit.textCursor().selectionStart()
            self._go(bisect.bisect_left(self._matches, at) % len(self._matches))
        else:
            # More text has come; the match that was gone to is still the one.
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
        # Its end first, so that all of it comes into sight; and no further to the right than that.
        self.edit.horizontalScrollBar().setValue(0)
        for at in (start + len(in_utf16(cleaned(self.search.text()))), start):
            cursor = QTextCursor(self.edit.document())
            cursor.setPosition(at)
            self.edit.setTextCursor(cursor)
        self._say()
        self._mark()

    def _say(self) -> None:
        if not self.search.text():
            text = ""
        elif not self._matches:
            text = self.tr("None")
        else:
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
            first, last = self.edit.sight()
            at = bisect.bisect_left(self._matches, first)
            end = bisect.bisect_right(self._matches, last)
            length = len(in_utf16(cleaned(self.search.text())))
            for number in range(at, min(at + _MARKED, end)):
                start = self._matches[number]
                here = number == self._current
                look = QTextCharFormat()
                look.setBackground(QColor(shades.accent if here else shades.selected))
                look.setForeground(QColor(shades.on_accent if here else shades.text))
                cursor = QTextCursor(self.edit.document())
                cursor.setPosition(start)
                cursor.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
                mark = QTextEdit.ExtraSelection()
                mark.format = look
                mark.cursor = cursor
                marks.append(mark)
        self.edit.setExtraSelections(marks)
