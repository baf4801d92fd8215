"""What the pages of dialogs are made of; among it the small table by kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLayout, QVBoxLayout, QWidget

from torchkeeper.client.words import preparing, tongue
from torchkeeper.client.words.outcomes import Outcome
from torchkeeper.client.words.say import kind_words
from torchkeeper.gui import theme
from torchkeeper.gui.dialogs.laptable import GraphTable, LapTable, VerifiedCells
from torchkeeper.gui.jobs.model import Job, State, outcome
from torchkeeper.gui.pages.recipes.known import file_of
from torchkeeper.gui.widgets import forms, lists
from torchkeeper.gui.widgets.forms import Scrolled, Yielding
from torchkeeper.gui.widgets.notice import RemedyButtons
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.client.kept.verified import KeptVerification
    from torchkeeper.gui.matrix.pane import CellsPane

#: The margins of the dialog at the left and the right of a list, and the list's own.
_AROUND = 76
#: Pixels of what is scrolled that are seen at least, and those for what is only said later.
_LEAST, _LATER = 96, 48
#: Reasons that are listed one by one; the list itself has them all.
_REASONS = 4
#: As many lines of what was left out are seen without a scroll bar.
_LINES = 10
#: As high as a widget can be, in Qt (a macro there).
QWIDGETSIZE_MAX = 16_777_215


class ChoicePage(QWidget):
    """What a dialog asks, and its buttons, which stay where they are when the rest is scrolled."""

    def __init__(self, body: QLayout, *buttons: QWidget) -> None:
        super().__init__()
        self.inside = Scrolled(Yielding(body), _LEAST)
        self._row = button_row(*buttons)
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


def button_row(*widgets: QWidget, before: QWidget | None = None) -> QHBoxLayout:
    """The buttons at the bottom of a page; the last is the one that goes on."""
    first = () if before is None else (before,)
    return forms.row(*first, forms.REST, *widgets, margin=(0, forms.GAP, 0, 0))


class TrustNotice(QFrame):
    """What cannot be overlooked, with advice: red where it is about code of strangers."""

    def __init__(self, what: str, advice: str = "", mild: bool = False) -> None:
        """mild: it is about what is the user's own, or vouched for by whom the user trusts."""
        super().__init__()
        self.advice = forms.label(advice, wrap=True)
        texts = forms.column(forms.label(what, "heading"), self.advice, gap=2)
        self._marks = [forms.picture("shield", 28, colour) for colour in ("error", "muted")]
        marks = forms.row(*self._marks), (texts, 1)
        self.setLayout(forms.row(*marks, gap=12, margin=(12, 10, 12, 10)))
        self.weigh(mild)

    def weigh(self, mild: bool) -> None:
        self.setObjectName("hint" if mild else "notice")
        forms.repolish(self)
        for mark, shown in zip(self._marks, (not mild, mild), strict=True):
            mark.setVisible(shown)


def cells_pane(layout: QVBoxLayout, at: int) -> CellsPane:
    """The table of cells in a page: it takes the room that nothing else needs."""
    from torchkeeper.gui.matrix.pane import CellsPane

    made = CellsPane()
    layout.insertWidget(at, made, 1)
    layout.setStretch(at + 1, 0)
    return made


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)


class Snippet(QWidget):
    """A line for a shell, and a button that copies it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = forms.label(text)
        forms.selectable(self.text, keys=True)
        self.text.setAccessibleName(self.tr("To be set where programs run"))
        theme.follow(self.text, lambda: self.text.setFont(theme.monospace()))
        self.copy = forms.button(self.tr("Cop&y"), lambda: _copy(self.text.text()), enter=False)
        self.copy.setToolTip(self.tr("Copy the line to the clipboard"))
        line = forms.row((self.text, 1), self.copy, gap=12, margin=(12, 8, 8, 8))
        self.setLayout(forms.column(forms.frame("hint", line)))


class Aftermath(QWidget):
    """Below the words of a result page."""

    #: The environment is to be prepared: the interpreter.
    prepare = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._python = ""
        self.table = LapTable()
        self.cells_title = forms.label(self.tr("Cells"), "heading")
        self.cells = VerifiedCells()
        self.cells_title.setBuddy(self.cells)
        self.graphs_title = forms.label(self.tr("Graphs"), "heading")
        self.graphs = GraphTable()
        self.graphs_title.setBuddy(self.graphs)
        self.condition = forms.label(preparing.portable_condition(), wrap=True)
        self.why = forms.label(tongue.tr(preparing.WHY), wrap=True)
        self.snippet = Snippet(preparing.SNIPPET)
        self.offer = forms.button(self.tr("&Prepare this environment…"), enter=False)
        self.offer.clicked.connect(lambda: self.prepare.emit(self._python))
        line = forms.row(self.offer, forms.REST)
        whole = forms.column(self.table, self.cells_title, (self.cells, 1), self.graphs_title)
        forms.add(whole, (self.graphs, 1), self.condition, self.snippet, self.why, line)
        self.setLayout(whole)

    def show_job(self, job: Job) -> bool:
        """Show what there is; False where there is nothing, and nothing is seen."""
        done = job.state is State.DONE
        verified = done and job.traits.proves
        portable = done and job.asked.get("portable", False)
        if job.traits.brings_code:
            done = done and bool(job.result.get("entries"))
            portable = portable and done
        self._python = job.asked.get("python", "")
        offered = done and job.asked.get("offer_prepare", False) and bool(self._python)
        for widget, seen in (
            (self.cells_title, False), (self.cells, False), (self.table, verified),
            (self.graphs_title, False), (self.graphs, False),
            (self.condition, portable), (self.snippet, portable),
            (self.why, offered), (self.offer, offered),
        ):  # fmt: skip
            widget.setVisible(seen)
        if verified:
            self._verified(job)
        return verified or portable or offered

    @property
    def has_list(self) -> bool:
        """Whether there is a table that takes what room there is."""
        return self.graphs.isVisibleTo(self) or self.cells.isVisibleTo(self)

    def _verified(self, job: Job) -> None:
        result: KeptVerification = job.result
        cells = result["cells"]
        several = len(cells) > 1
        # The graphs of all cells in one list would say nothing.
        rows = [] if several else result["rows"]
        if several:
            self.cells.show_cells(cells)
            self.cells.setMinimumHeight(36 + 28 * min(len(cells), 5))
        self.table.show_result(result)
        self.graphs.show_graphs(rows)
        self.graphs.setMinimumHeight(36 + 28 * min(len(rows), 4))
        for widget in (self.cells_title, self.cells):
            widget.setVisible(several)
        for shown in (self.graphs_title, self.graphs):
            shown.setVisible(bool(rows))


class ResultPage(QWidget):
    """What came of a job, what it left out, and what can be done now."""

    #: A recipe is to be edited: its file.
    edit = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.picture = forms.picture("done", 32, "good")
        self.title = forms.label("", "title", wrap=True)
        self.text = forms.label("", wrap=True)
        for label in (self.title, self.text):
            forms.selectable(label, keys=True)
            label.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.left_title = forms.label("", "heading")
        self.left_reasons = forms.label("", "muted", wrap=True)
        self.left = forms.read_only_text(self.tr("What was left out, and why"))
        theme.follow(self.left, lambda: self.left.setFont(theme.monospace()))
        self.left_title.setBuddy(self.left)
        #: Whether what was left out is more than is seen at a glance.
        self.has_long_list = False
        self.more = Aftermath()
        self.copy = forms.button(self.tr("Cop&y list"), lambda: _copy(self.left.toPlainText()))
        self.copy.setToolTip(self.tr("Copy what was left out, and why, to the clipboard"))
        self.details = forms.button(self.tr("S&how list"), self._show_list)
        self.details.setToolTip(self.tr("Show each that was left out, and why"))
        #: The cells of a warm-up; made when there are some.
        self.cells: CellsPane | None = None
        self.again = forms.button(self.tr("&Try again"), enter=False)
        self.bad = forms.button(self.tr("Warm &failed cells again"), enter=False)
        self.bad.setToolTip(self.tr("Compile only the cells that failed or were not reached"))
        self.verify = forms.button(self.tr("&Verify now"))
        hint = self.tr("See in fresh processes that what was warmed is found, and how fast")
        self.verify.setToolTip(tip(hint))
        self.log = forms.button(self.tr("Show &log"), enter=False)
        self.log.setToolTip(self.tr("Show the whole log of the job on the Activity page"))
        self.folder = forms.button(self.tr("Show in fol&der"))
        self.open = forms.button(self.tr("&Open"))
        self.close_ = forms.button(self.tr("Close"), primary=True)
        self.close_.setDefault(True)
        self._outcome: Outcome | None = None
        texts = forms.column(self.title, self.text, gap=forms.GAP)
        self.remedies = RemedyButtons()
        texts.addWidget(self.remedies)
        head = forms.row((self.picture, forms.TOP), (texts, 1), gap=16)
        above = forms.row((self.left_title, 1), self.details, self.copy)
        parts = head, forms.GAP, above, self.left_reasons, (self.left, 1), (self.more, 1)
        self._layout = forms.column(*parts)
        self._layout.addStretch(0)
        ways = self.verify, self.folder, self.open, self.close_
        before = forms.page(forms.row(self.again, self.bad, self.log))
        self._layout.addLayout(button_row(*ways, before=before))
        self.setLayout(self._layout)
        theme.follow(self, self._paint)

    def show_job(self, job: Job, again: bool) -> None:
        """Say how it ended; ``again``: whether it can be tried again from here."""
        self._outcome, of = outcome(job), job.traits
        self.title.setText(self._outcome.title)
        self.text.setText("\n".join(self._outcome.lines))
        # The log has a button of its own.
        self.remedies.offer(job.error if job.state is State.FAILED else None, "show-log")
        left = job.left if job.state is State.DONE else 0
        for widget in (self.left_title, self.left_reasons, self.copy):
            widget.setVisible(left > 0)
        # What no bundle can hold is no fault: its sum is enough, the list is there on demand.
        folded = left > 1 and of.bundles
        self.details.setVisible(folded)
        self.left.setVisible(left > 0 and not folded)
        self.left.setPlainText("\n".join(job.left_lines))
        self._fit_list()
        more = self.more.show_job(job)
        self.more.setVisible(more)
        tall = more and self.more.has_list
        cells = self._show_cells(job)
        self._layout.setStretchFactor(self.left, 1 if left and self.has_long_list else 0)
        self._layout.setStretchFactor(self.more, 1 if tall else 0)
        filled = (left and not folded and self.has_long_list) or tall or cells
        self._layout.setStretch(self._layout.count() - 2, 0 if filled else 1)
        warmed = of.warms and job.state is State.DONE
        some = not job.cells or len(job.cells.bad) < len(job.cells.rows)
        self.verify.setVisible(warmed and some and job.place is not None)
        self.bad.setVisible(job.can_go_on)
        self.log.setVisible(of.warms)
        if left:
            several = self.tr("{} left out").format(f"{left:,}")
            self.left_title.setText(several if left > 1 else self.tr("One entry was left out"))
            self.left_reasons.setText("\n".join(self._reasons(job)))
        self.again.setVisible(again and job.state in (State.FAILED, State.CANCELLED))
        self.open.setVisible(job.fruit is not None)
        # A server is in no folder.
        self.folder.setVisible(job.fruit is not None and scheme_of(job.fruit).local)
        self.open.setToolTip(tip(self._outcome.opens))
        self._paint()

    def _fit_list(self) -> None:
        """Have the list as high as its lines; where these are many it takes the room there is."""
        metrics, room = self.left.fontMetrics(), max(self.window().width() - _AROUND, 1)
        lines = sum(
            -(-metrics.horizontalAdvance(text) // room) or 1
            for text in self.left.toPlainText().split("\n")[: _LINES + 1]
        )
        self.has_long_list = lines > _LINES
        height = min(lines, _LINES) * metrics.lineSpacing() + 18
        self.left.setMinimumHeight(height)
        self.left.setMaximumHeight(QWIDGETSIZE_MAX if self.has_long_list else height)

    def _reasons(self, job: Job) -> list[str]:
        reasons = sorted(job.reasons.items(), key=lambda pair: -pair[1])
        lines = [f"{count:,} × {reason}" for reason, count in reasons[:_REASONS]]
        if len(reasons) > _REASONS:
            lines.append(self.tr("and {} reasons more").format(len(reasons) - _REASONS))
        return lines

    def _show_list(self) -> None:
        self.details.hide()
        self._layout.setStretch(self._layout.count() - 2, 0 if self.has_long_list else 1)
        self.left.show()
        self.left.setFocus()
        window = self.window()
        room = self.screen().availableSize().height() - 80
        more = 180 if self.has_long_list else self.left.minimumHeight() + forms.GAP
        window.resize(window.width(), min(window.height() + more, room))

    def _show_cells(self, job: Job) -> bool:
        if not job.cells or not job.traits.warms:
            if self.cells is not None:
                self.cells.hide()
            return False
        if self.cells is None:
            self.cells = cells_pane(self._layout, self._layout.count() - 2)
            self.cells.edit.connect(self.edit)
        self.cells.show()
        self.cells.file_of = lambda recipe: file_of(job, recipe)
        self.cells.show_cells(job.cells)
        self.cells.choose_bad()
        return True

    def _paint(self) -> None:
        if (said := self._outcome) is not None:
            colour, ratio = getattr(theme.shades(), said.colour), self.devicePixelRatioF()
            self.picture.setPixmap(theme.pixmap(said.icon, 32, colour, ratio))


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
