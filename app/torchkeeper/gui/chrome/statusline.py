"""The lines under the table: the status bar with its counts, and what a place holds besides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QStatusBar, QToolButton, QWidget

from torchkeeper.artifacts.entry import VERDICTS
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.table.rows import verdict_words
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.notice import Elided
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from torchkeeper.gui.verdicts.verifications import Beside

#: Pixels that the totals keep at least: in a bar as wide as the last, and in a narrow one.
_TOTALS, _SHORT, _ROOMY = 280, 160, 1100
#: Pixels that a sentence keeps at least.
_SENTENCE = 120


class Line(Elided):
    """Cut at its end; its tooltip has all of it then."""

    def __init__(self, least: int) -> None:
        super().__init__(cut=Qt.TextElideMode.ElideRight)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self.least = least

    def setText(self, text: str) -> None:
        super().setText(text)
        self._tell()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._tell()

    def _tell(self) -> None:
        needed = self.fontMetrics().horizontalAdvance(self.text())
        self.setToolTip(tip(self.text() if needed > self.contentsRect().width() else ""))

    def minimumSizeHint(self) -> QSize:
        wanted = self.sizeHint()
        return QSize(min(wanted.width(), self.least), wanted.height())


def _tool(name: str) -> QToolButton:
    made = QToolButton()
    made.setObjectName(name)
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return made


class Trash(QWidget):
    """What lies in the trash, with a click to empty it; nothing is seen where there is nothing."""

    asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.button = _tool("beside")
        self.button.setToolTip(
            self.tr("Delete the contents of the trash for good, after a question")
        )
        self.button.clicked.connect(self.asked)
        self.setLayout(forms.row(self.button, gap=0))
        self.setText("")

    def setText(self, text: str) -> None:
        """Say what lies in it."""
        self.button.setText(text)
        self.button.setAccessibleName(text)
        self.button.setVisible(bool(text))


class StatusBar(QStatusBar):
    """Its message is a label in place of the counts: Qt would paint it over what is shown anew."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizeGripEnabled(False)
        self.totals = Line(_SHORT)
        self.totals.setAccessibleName(self.tr("Totals"))
        self._counts = forms.row(self.totals, gap=6)
        self._said = Line(_SENTENCE)
        self._stack = forms.stack(forms.page(self._counts), self._said)
        self._stack.setContentsMargins(4, 0, 0, 0)
        #: Opens the drawer of the jobs, and closes it.
        self.activity = _tool("beside")
        self.activity.setText(self.tr("Activity"))
        self.activity.setAccessibleName(self.activity.text())
        self.activity.setIconSize(QSize(_MARK, _MARK))
        theme.follow(self.activity, lambda: self.activity.setIcon(theme.icon("activity")))
        self.activity.setToolTip(self.tr("Show or hide the jobs and their results (Ctrl+J)"))
        self.activity.setCheckable(True)
        # Qt hides what is not permanent while it has a message.
        self.addPermanentWidget(self._stack, 1)
        self.addPermanentWidget(self.activity)
        self.messageChanged.connect(self._say)

    def count(self, widget: QWidget) -> None:
        """Have this beside the totals, with the room that is left."""
        self._counts.addWidget(widget, 1)

    def hold(self, strip: QWidget) -> None:
        """Have the strip of the jobs beside what opens their drawer."""
        # It has what the counts leave, before those say more than numbers.
        self.insertPermanentWidget(1, strip, 1000)

    def _say(self, text: str) -> None:
        self._said.setText(text)
        self._stack.setCurrentIndex(int(bool(text)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        # Were it always the more, a window could not be made narrow.
        roomy, ways = self.width() >= _ROOMY, Qt.ToolButtonStyle
        least = _TOTALS if roomy else _SHORT
        if least != self.totals.least:
            self.totals.least = least
            self.activity.setToolButtonStyle(
                ways.ToolButtonTextOnly if roomy else ways.ToolButtonIconOnly
            )
            self.totals.updateGeometry()
        super().resizeEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        from PySide6.QtWidgets import QStyle, QStyleOption

        look, panel = QStyleOption(), QStyle.PrimitiveElement.PE_PanelStatusBar
        look.initFrom(self)
        with QPainter(self) as painter:
            self.style().drawPrimitive(panel, look, painter, self)


class ApartLine(QWidget):
    """Says how many locks, headers and unknown files there are; hidden where there are none."""

    def __init__(self) -> None:
        super().__init__()
        self.said = forms.label("", "muted", wrap=True)
        self.button = forms.button("")
        self.button.setProperty("link", True)
        self.setLayout(forms.row((self.said, 1), self.button, gap=12, margin=(12, 4, 12, 4)))
        self.hide()

    def bind(self, action: QAction) -> None:
        self.button.clicked.connect(action.trigger)

    def tell(self, said: str, *, shown: bool) -> None:
        """Say it; shown: whether the table shows all of that."""
        self.said.setText(said)
        verb, what = self.tr("Show"), self.tr("Show locks, headers and unknown files")
        if shown:
            verb, what = self.tr("Hide"), self.tr("Hide locks, headers and unknown files")
        self.button.setText(verb)
        self.button.setAccessibleName(what)
        self.setVisible(bool(said))


_MARK = 16


class BesideLine(QToolButton):
    """Says it in a line, as long as there is one; pressed, the place is verified again."""

    def __init__(self) -> None:
        super().__init__()
        self._beside: Beside | None = None
        self._room = 0
        self.setObjectName("beside")
        self.setAutoRaise(True)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setIconSize(QSize(_MARK, _MARK))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.hide()
        theme.follow(self, self._say, now=False)

    def tell(self, beside: Beside | None) -> None:
        """Say what the last verification came to; None without one."""
        self._beside = beside
        self.setVisible(beside is not None)
        self._say()

    def fit(self, width: int) -> None:
        """Take no more pixels than that."""
        self._room = width
        self._say()

    def _say(self) -> None:
        if (beside := self._beside) is None:
            return
        self.setIcon(theme.icon(beside.icon, getattr(theme.shades(), beside.role)))
        text, elide = beside.line, Qt.TextElideMode.ElideRight
        self.setText(self.fontMetrics().elidedText(text, elide, self._room - _MARK - 12))
        self.setToolTip(tip(f"{text}\n{beside.more}".rstrip()))
        self.setAccessibleName(text)


#: What says more than a number comes last.
_ORDER = (*(verdict for verdict in VERDICTS if verdict != "stale"), "stale")
#: Versions of torch that are named.
_NAMED = 2


class Counts(NamedTuple):
    """Of what is shown: entries by verdict, stale ones by torch; there: by verdict in the place."""

    verdicts: Mapping[str, int]
    made_by: Mapping[str, int]
    there: Mapping[str, int]


class VerdictBar(QWidget):
    """A button for each verdict there is, which shows its entries; and what made the stale ones."""

    #: Only entries with this verdict are wanted; empty for all.
    wanted = Signal(str)
    #: The entries of a large server are to be judged, too.
    insisted = Signal()

    _GAP = 2
    #: Pixels left and right of what is said.
    _EDGES = 16

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(self.tr("Verdicts"))
        #: What each button says, where there is little room and where there is enough.
        self._texts: dict[str, tuple[str, str]] = {}
        self.buttons = {verdict: self._button(verdict) for verdict in _ORDER}
        #: Those that the filter asks for, and what was told last.
        self._marked = frozenset[str]()
        self._told: object = None
        #: What is said besides, in full and in short.
        self._besides = "", ""
        self.said = Elided("muted")
        self.insist = _tool("count")
        self.insist.setText(self.tr("Ask for verdicts"))
        self.insist.setToolTip(self.tr("This fetches all values of the server and takes a while"))
        self.insist.clicked.connect(self.insisted)
        parts = *self.buttons.values(), self.insist, (self.said, 100), forms.REST
        self.setLayout(forms.row(*parts, gap=self._GAP))
        # It has the room that is left, and gets along with it, down to the marks and numbers.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        theme.follow(self, self._paint)
        self.tell(None, "")

    def _button(self, verdict: str) -> QToolButton:
        made = _tool("count")
        made.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        made.setIconSize(QSize(16, 16))
        made.setCheckable(True)
        made.clicked.connect(lambda on: self.wanted.emit(verdict if on else ""))
        return made

    def _paint(self) -> None:
        for verdict, button in self.buttons.items():
            button.setIcon(theme.icon(f"verdict-{verdict}", theme.shades().verdict(verdict)))

    def tell(self, counts: Counts | None, said: str, insist: bool = False) -> None:
        """Show these counts, and a few words; ``insist``: offer to ask."""
        told = counts, said, insist, self._marked
        if told == self._told:
            return
        self._told = told
        numbers, made_by, every = counts or ({}, {}, {})
        for verdict, button in self.buttons.items():
            count = numbers.get(verdict, 0)
            words = verdict_words(verdict).lower()
            # Where the filter is about another verdict, a click leads to this one.
            self._texts[verdict], more = ("", words), ""
            spoken = self.tr("Show only {} entries").format(words)
            if count:
                self._texts[verdict] = f"{count:,}", f"{count:,} {words}"
                spoken = self.tr("Show only {} entries: {}").format(words, f"{count:,}")
                more = f"; {self.tr('click again to show all')}"
            button.setToolTip(tip(spoken + more))
            button.setAccessibleName(spoken)
            button.setVisible(bool(count or (self._marked and every.get(verdict))))
        if not said and made_by and numbers.get("stale"):
            names = [printable(name, 40) for name in made_by]
            named = say.together(names, _NAMED)
            self._besides = self.tr("made by torch {}").format(named), f"torch {named}"
            self.said.setToolTip(tip(say.together(names)))
        else:
            self._besides = said, said
            self.said.setToolTip("")
        self.insist.setVisible(insist)
        # One over the other they say nothing.
        self.setMinimumWidth(self._word(short=True))
        self._fit()

    def _word(self, *, short: bool) -> int:
        """Have the buttons say all that they count, or the numbers alone; how wide they are."""
        shown = [one for one in (*self.buttons.values(), self.insist) if not one.isHidden()]
        for verdict, button in self.buttons.items():
            if not button.isHidden():
                button.setText(self._texts[verdict][0 if short else 1])
                button.setMinimumWidth(button.sizeHint().width())
        return sum(max(one.minimumWidth(), one.sizeHint().width()) + self._GAP for one in shown)

    def _fit(self) -> None:
        """Where there is little room, the marks alone say what is counted."""
        taken = self._word(short=False)
        if taken > self.width():
            taken = self._word(short=True)
        # A few letters of it say nothing.
        room = self.width() - taken - self._EDGES
        wide = self.said.fontMetrics().horizontalAdvance
        said = next((text for text in self._besides if text and wide(text) <= room), "")
        self.said.setText(said)
        self.said.setVisible(bool(said))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def mark(self, text: str) -> None:
        """Say which of them the filter is about."""
        self._marked = frozenset(v for v in self.buttons if f"is:{v}" in text.split())
        for verdict, button in self.buttons.items():
            button.setChecked(verdict in self._marked)
