"""What the pages of dialogs are made of; among it the small table by kind."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QLayout, QWidget

from torchkeeper.client.words.say import kind_words
from torchkeeper.gui import theme
from torchkeeper.gui.widgets import forms, lists

#: Pixels of what is scrolled that are seen at least, and those for what is only said later.
_LEAST, _LATER = 96, 48


class ChoicePage(QWidget):
    """What a dialog asks, and its buttons, which stay where they are when the rest is scrolled."""

    def __init__(self, body: QLayout, *buttons: QWidget) -> None:
        super().__init__()
        self.inside = forms.Scrolled(forms.Yielding(body), _LEAST)
        #: The last of them is the one that goes on.
        self._row = forms.row(forms.REST, *buttons, margin=(0, forms.GAP, 0, 0))
        #: Why the last button is off, over the buttons, as what says it otherwise may be below the
        #: fold; empty where it is not off.
        self.why = forms.label("", "muted", wrap=True)
        self.why.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.why.hide()
        self._pinned = forms.column()
        self.setLayout(forms.column((self.inside, 1), self._pinned, self.why, self._row))

    def pin(self, *parts: QWidget) -> None:
        """Have parts always in sight, above the buttons."""
        forms.add(self._pinned, *parts)

    def needed(self, width: int) -> int:
        """How high all of it is at a width."""
        high = self.inside.needed(width) + _LATER + self._row.totalSizeHint().height()
        high += forms.GAP + max(0, self._pinned.totalHeightForWidth(width))
        if not self.why.isHidden():
            high += forms.GAP + self.why.heightForWidth(width)
        return high


class TrustNotice(QFrame):
    """What cannot be overlooked, with advice: red where it is about code of strangers."""

    def __init__(self, what: str, advice: str = "") -> None:
        super().__init__()
        self.advice = forms.label(advice, wrap=True)
        texts = forms.column(forms.label(what, "heading"), self.advice, gap=2)
        self._marks = [forms.picture("shield", 28, colour) for colour in ("danger", "muted")]
        marks = forms.row(*self._marks), (texts, 1)
        self.setLayout(forms.row(*marks, gap=12, margin=(12, 10, 12, 10)))
        self.weigh(mild=False)

    def weigh(self, mild: bool) -> None:
        """mild: it is about what is the user's own, or vouched for by whom the user trusts."""
        self.setObjectName("hint" if mild else "notice")
        forms.repolish(self)
        for mark, shown in zip(self._marks, (not mild, mild), strict=True):
            mark.setVisible(shown)


class KindTable(lists.Table):
    """A row for each kind, numbers to the right; the last row may be their sum."""

    def __init__(self, name: str, rows: int, compared: bool = False) -> None:
        """rows: how many have room at least. compared: whether it tells what is new there."""
        super().__init__(name, [])
        columns = [self.tr("Kind"), self.tr("Entries"), self.tr("Content")]
        if compared:
            columns += [self.tr("New"), self.tr("Already there"), self.tr("Differ")]
        self.setHeaderLabels(columns)
        self.setMinimumHeight(38 + 28 * rows)
        self.setSelectionMode(self.SelectionMode.NoSelection)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionsMovable(False)
        header.setSectionResizeMode(0, header.ResizeMode.Stretch)
        for column in range(1, len(columns)):
            wide = header.fontMetrics().horizontalAdvance(columns[column]) + 40
            header.resizeSection(column, max(88, wide))
        lists.right(self, range(1, len(columns)))
        self._kinds: list[str] = []
        self._nothing = ""
        theme.follow(self, self._paint)

    def fill(self, rows: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Show these rows: a kind, and a text for each further column."""
        self.clear()
        self._kinds = [kind for kind, _ in rows]
        for kind, texts in rows:
            numbers = range(1, len(texts) + 1)
            self.addTopLevelItem(lists.line([kind_words(kind), *texts], numbers=numbers))
        self._paint()

    def say(self, nothing: str) -> None:
        """What to show as long as there are no rows."""
        self._nothing = nothing
        self.setAccessibleDescription(nothing if not self._kinds else "")
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._kinds and self._nothing:
            with QPainter(self.viewport()) as painter:
                painter.setPen(QColor(theme.shades().muted))
                box = self.viewport().rect().adjusted(16, 0, -16, 0)
                flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
                painter.drawText(box, flags, self._nothing)

    def _paint(self) -> None:
        shades = theme.shades()
        for item, kind in zip(self.items(), self._kinds, strict=True):
            item.setIcon(0, theme.dot(shades.kinds.get(kind, shades.muted), 2, around=3))
