"""A read-only text of any size, with line numbers and colours. It comes in pages, inserted and then
coloured a few milliseconds at a time; a line too long for Qt's layout is cut, and says so.
"""

from __future__ import annotations

import keyword
import re
import time
from collections import deque
from dataclasses import dataclass
from itertools import accumulate

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QKeySequence, QTextCharFormat, QTextCursor, QTextLayout
from PySide6.QtWidgets import QFrame, QPlainTextEdit

from torchkeeper.gui import theme
from torchkeeper.gui.idle import every
from torchkeeper.gui.widgets.lists import NumberedEdit

# Colours for sources, written for speed and not for every corner of Python and C++: a line is read
# once from left to right, and all that it needs to know of those before it is a ``State``.

#: What a part of a line can be; the themes have a colour for each (Shades.syntax).
PARTS = ("comment", "string", "number", "keyword", "name", "special")

#: Start, length and one of PARTS; counted in UTF-16, as Qt does.
Token = tuple[int, int, str]

PYTHON, CPP, PLAIN = "python", "cpp", ""


@dataclass(frozen=True)
class State:
    """What is open at the end of a line. until: what ends it, three quotes or ``*/``. inside: the
    language of a source kept in a string, as PyTorch's modules keep kernels; inner: open in that.
    """

    until: str = ""
    inside: str = ""
    inner: str = ""


NOTHING = State()

_PY_WORDS = frozenset({*keyword.kwlist, "true", "false", "null"})
_CPP_TEXT = """
alignas alignof auto bool break case catch char class const constexpr continue decltype default
delete do double else enum explicit extern false float for friend goto if inline int long mutable
namespace new noexcept nullptr operator private protected public return short signed sizeof static
static_assert static_cast reinterpret_cast const_cast struct switch template this throw true try
typedef typename union unsigned using virtual void volatile while size_t int8_t int16_t int32_t
int64_t uint8_t uint16_t uint32_t uint64_t
"""
_CPP_WORDS = frozenset(_CPP_TEXT.split())
_NUMBER = r"(?P<number>(?<![\w.])(?:0[xXbB][\da-fA-F_]+|\d[\d_]*\.?\d*(?:[eE][+-]?\d+)?)\w{0,3})"
_PYTHON = re.compile(
    r"(?P<comment>#.*)"
    r"|(?P<open>[rRbBuUfF]{0,2}(?P<quotes>'''|\"\"\"))"
    r"|(?P<string>[rRbBuUfF]{0,2}(?:'(?:\\.|[^'\\])*'?|\"(?:\\.|[^\"\\])*\"?))"
    rf"|{_NUMBER}"
    r"|(?P<special>@[A-Za-z_][\w.]*)"
    r"|(?P<word>[^\W\d]\w*)(?P<call>\()?"
)
_CPP = re.compile(
    r"(?P<comment>//.*)"
    r"|(?P<open>(?P<quotes>/\*))"
    r"|(?P<string>\"(?:\\.|[^\"\\])*\"?|'(?:\\[^']{1,8}|[^'\\])')"
    rf"|{_NUMBER}"
    r"|(?P<special>^\s*#\s*\w+(?:\s*<[^>]*>)?)"
    r"|(?P<word>[^\W\d]\w*)(?P<call>\()?"
)
#: A kernel's source follows as a string; of a C++ kernel, or of a Triton one.
_KERNEL = re.compile(r"async_compile\.(cpp|triton)")


def language_of(name: str) -> str:
    ending = name.rpartition(".")[2].lower()
    return CPP if ending in ("cpp", "h", "hpp", "cu", "cuh", "metal", "cc", "c") else PYTHON


def tokens(line: str, state: State, language: str) -> tuple[list[Token], State]:
    """The parts of a line that have a colour, and what is open after it."""
    found: list[Token] = []
    if language == PLAIN:
        return found, NOTHING
    at = 0
    if state.inside:
        end = line.find(state.until)
        inner = _scan(line[:end] if end >= 0 else line, 0, state.inside, state.inner, found)
        if end < 0:
            after = State(state.until, state.inside, inner.until)
            return _in_utf16(line, found), after
        at = end + len(state.until)
        found.append((end, len(state.until), "string"))
        state = NOTHING
    after = _scan(line, at, language, state.until, found)
    return _in_utf16(line, found), after


def _scan(line: str, at: int, language: str, until: str, found: list[Token]) -> State:
    if until:
        end = line.find(until, at)
        stop = end + len(until) if end >= 0 else len(line)
        found.append((at, stop - at, "comment" if until == "*/" else "string"))
        if end < 0:
            return State(until)
        at = stop
    pattern, words = (_CPP, _CPP_WORDS) if language == CPP else (_PYTHON, _PY_WORDS)
    while match := pattern.search(line, at):
        at = match.end()
        part = match.lastgroup or ""
        if match["open"]:
            quotes = "*/" if match["quotes"] == "/*" else match["quotes"]
            part = "comment" if quotes == "*/" else "string"
            end = line.find(quotes, at)
            kernel = _KERNEL.search(line, 0, match.start()) if end < 0 else None
            if end < 0 and not kernel:
                found.append((match.start(), len(line) - match.start(), part))
                return State(quotes)
            if kernel:
                found.append((match.start(), at - match.start(), part))
                inside = CPP if kernel[1] == "cpp" else PYTHON
                return State(quotes, inside, _scan(line, at, inside, "", found).until)
            at = end + len(quotes)
            found.append((match.start(), at - match.start(), part))
        elif word := match["word"]:
            if word in words:
                found.append((match.start(), len(word), "keyword"))
            elif match["call"]:
                found.append((match.start(), len(word), "name"))
        else:
            found.append((match.start(), at - match.start(), part))
    return NOTHING


def _in_utf16(line: str, found: list[Token]) -> list[Token]:
    if not found or line.isascii() or max(line) <= "\uffff":
        return found
    places = list(accumulate((2 if c > "\uffff" else 1 for c in line), initial=0))
    return [
        (places[start], places[start + length] - places[start], part)
        for start, length, part in found
    ]


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

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setObjectName("code")
        self.setReadOnly(True)
        by = Qt.TextInteractionFlag
        self.setTextInteractionFlags(by.TextSelectableByMouse | by.TextSelectableByKeyboard)
        self.setUndoRedoEnabled(False)
        self.setAcceptDrops(False)
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.document().setDocumentMargin(8)
        self._language = PLAIN
        self._formats: dict[str, QTextCharFormat] = {}
        #: Lines to come: what is shown of one, and how long it is in full.
        self._coming: deque[tuple[str, int]] = deque()
        self._replace, self._empty = False, True
        #: The last line while its end is still to come.
        self._open, self._open_length = "", 0
        #: What is open after each block that has its colours.
        self._states: list[State] = []
        self._timer = every(self, self._work)
        theme.follow(self, self._paint)

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
        open_, length = self._open, self._open_length
        if self._coming:
            # The line that goes on is not even inserted yet.
            self._coming.pop()
        else:
            self._replace = not self._empty
        for line in text.split("\n"):
            start = open_ + line[: LINE + 1 - len(open_)]
            self._coming.append((start[: LINE + 1], length + len(line)))
            open_, length = "", 0
        self._open, self._open_length = ("", 0) if last else self._coming[-1]
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
            shown.append(cleaned(text[:LINE]))
            if length > LINE:
                more = self.tr("… {} more characters in this line")
                shown[-1] += f" {more.format(f'{length - LINE:,}')}"
            size += len(shown[-1])
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        first = cursor.blockNumber()
        if self._replace and not self._empty:
            to, how = QTextCursor.MoveOperation.StartOfBlock, QTextCursor.MoveMode.KeepAnchor
            cursor.movePosition(to, how)
            cursor.removeSelectedText()
            del self._states[first:]
        elif not self._empty:
            shown.insert(0, "")
        cursor.insertText("\n".join(shown))
        if not first:
            # Qt takes it along into an empty text; keys go on from the first line.
            self.moveCursor(QTextCursor.MoveOperation.Start)
        self._replace = self._empty = False

    def _colour(self, end: float) -> bool:
        """Colour the blocks that follow; True when all have their colours."""
        document = self.document()
        first = block = document.findBlockByNumber(len(self._states))
        while block.isValid():
            state = self._states[-1] if self._states else NOTHING
            found, state = tokens(block.text(), state, self._language)
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

    def event(self, event: QEvent) -> bool:
        # These are the text's own here, not the window's.
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            mine = QKeySequence.StandardKey
            keys = mine.Copy, mine.SelectAll, mine.Find, mine.FindNext, mine.FindPrevious
            if any(map(event.matches, keys)):
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
