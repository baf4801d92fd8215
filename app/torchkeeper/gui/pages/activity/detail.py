"""The chosen job: what it was to do, how far it is, what came of it, and what can be done then."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QFormLayout,
    QLabel,
    QProgressBar,
    QSizePolicy,
    QTabWidget,
    QWidget,
)

from torchkeeper.gui import icons, theme
from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.matrix.pane import CellsPane
from torchkeeper.gui.pages.activity import shown
from torchkeeper.gui.pages.activity.logview import LogView
from torchkeeper.gui.pages.activity.past import asked, told
from torchkeeper.gui.pages.recipes.ofjob import file_of
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.blank import Notice
from torchkeeper.gui.widgets.scrolled import Area, Scrolled
from torchkeeper.gui.widgets.wrapping import Wrapping
from torchkeeper.link.words import say
from torchkeeper.link.words.problems import UserError

#: What the bar counts to.
_STEPS = 1000
#: Pixels of what is said of a job that are seen at least; the rest is scrolled.
_LEAST = 56


class JobDetail(QWidget):
    """Shows one job; the page says what the buttons do."""

    def __init__(self) -> None:
        super().__init__()
        self._one: shown.Shown | None = None
        #: What was asked for, and how it went: a name and a value each.
        self._facts: list[tuple[QLabel, QLabel]] = []
        self.picture = forms.label("")
        self.picture.setFixedSize(24, 24)
        self.title = _selectable(forms.label("", "title", wrap=True))
        self.words = _selectable(forms.label("", "muted", wrap=True))
        self.bar = QProgressBar()
        self.bar.setAccessibleName(self.tr("Progress"))
        self.bar.setTextVisible(False)
        self.told = _selectable(forms.label("", wrap=True))
        self.told.setAccessibleName(self.tr("What came of it"))
        self.notice = Notice()
        self.facts = QFormLayout()
        self.facts.setContentsMargins(0, 0, 0, 0)
        self.facts.setHorizontalSpacing(16)
        self.facts.setVerticalSpacing(4)
        self.facts.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        #: What can be seen of it, and below what can be done then.
        self.ways, self.deeds = Wrapping(), Wrapping()
        self.log = LogView()
        self.tabs = QTabWidget()
        self.tabs.tabBar().setAccessibleName(self.tr("Parts of the job"))
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(self.log, self.tr("Log"))
        #: The cells of a warm-up; made when there are some.
        self.cells: CellsPane | None = None
        head = forms.row(gap=12)
        head.addWidget(self.picture, 0, Qt.AlignmentFlag.AlignTop)
        texts = forms.column(gap=4)
        texts.addWidget(self.title)
        texts.addWidget(self.words)
        head.addLayout(texts, 1)
        self._lines = about = forms.column(gap=12)
        about.addLayout(head)
        about.addWidget(self.bar)
        about.addWidget(self.told)
        about.addWidget(self.notice)
        about.addLayout(self.facts)
        about.addStretch(1)
        held = QWidget()
        held.setLayout(about)
        #: It is scrolled where there is little height; the buttons below it stay in sight.
        self._room = Scrolled(held, least=_LEAST)
        self._room.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        ways = forms.column()
        # Those of the notice as well: none is half out of sight where what is said is scrolled.
        self.ways.addWidget(self.notice.remedies)
        ways.addWidget(self.ways)
        ways.addWidget(self.deeds)
        side = forms.column(gap=0)
        side.addWidget(self._room)
        side.addStretch(1)
        self._across = forms.row(gap=12)
        self._across.addLayout(side, 1)
        self._whole = forms.column(gap=12)
        self._whole.addLayout(self._across)
        self._whole.addLayout(ways)
        self.setLayout(self._whole)
        self.stand(below=False)
        theme.follow(self, self._paint, now=False)

    def stand(self, *, below: bool) -> None:
        """Be beside the list, or below it, where there is less height: the log is beside what is
        said then, and the buttons have all of the width.
        """
        self._lines.setSpacing(8 if below else 12)
        self._whole.setContentsMargins(0 if below else 20, 12 if below else 0, 0, 0)
        old, new = (self._whole, self._across) if below else (self._across, self._whole)
        old.removeWidget(self.tabs)
        new.addWidget(self.tabs, 1)
        self._whole.setStretchFactor(self._across, int(below))

    def show_job(self, one: shown.Shown | None) -> None:
        """Show this one from now on."""
        fresh = one is not self._one
        self._one = one
        if one is None:
            return
        if fresh:
            self.log.show_lines(one.log)
        self.refresh()

    def add_log(self, lines: Sequence[str]) -> None:
        """The job that is shown has said more."""
        self.log.add(lines)

    def refresh(self) -> None:
        """Say how far it is by now."""
        one = self._one
        if one is None:
            return
        running = shown.active(one)
        self.title.setText(shown.doing(one) if isinstance(one, Job) else one.title)
        words = one.words if not isinstance(one, Job) else shown.progress(one)
        if isinstance(one, Job) and running and (parts := shown.far(one)):
            left = shown.left(one)
            words = " · ".join([*parts, left] if left else parts)
        lines = told(one) if isinstance(one, Job) else list(one.told)
        self.told.setText("\n".join(lines))
        self.told.setVisible(bool(lines))
        error = _error(one)
        self.words.setText(words)
        # What the notice says, or the sentences do, need not stand twice.
        self.words.setVisible(bool(words) and error is None and (running or not lines))
        if str(error) != str(self.notice.error):
            self.notice.tell(error)
        self._show_bar(one, running)
        self._show_facts(one)
        self._show_cells(one)
        self._paint()

    def _show_bar(self, one: shown.Shown, running: bool) -> None:
        fraction = shown.fraction(one)
        self.bar.setVisible(running)
        if running and fraction is None:
            self.bar.setRange(0, 0)
        elif running:
            self.bar.setRange(0, _STEPS)
            self.bar.setValue(round((fraction or 0.0) * _STEPS))

    def _show_facts(self, one: shown.Shown) -> None:
        rows = asked(one) if isinstance(one, Job) else list(one.asked)
        at, seconds = shown.began(one), shown.took(one)
        if at is not None:
            rows.append((self.tr("Started"), say.when(at)))
        if seconds:
            rows.append((self.tr("Running for") if shown.active(one) else self.tr("Took"), seconds))
        # Rows are used again, and hidden where there are too many: PySide (6.11) may have let go of
        # a label that ``removeRow`` takes away, which crashes.
        while len(self._facts) < len(rows):
            self._facts.append((forms.label("", "muted"), _selectable(forms.label("", wrap=True))))
            self.facts.addRow(*self._facts[-1])
        for number, (label, said) in enumerate(self._facts):
            name, value = rows[number] if number < len(rows) else ("", "")
            self.facts.setRowVisible(number, number < len(rows))
            if (label.text(), said.text()) != (name, value):
                label.setText(name)
                said.setText(value)
                said.setAccessibleName(f"{name}: {said.text()}" if name else "")

    def _show_cells(self, one: shown.Shown) -> None:
        some = isinstance(one, Job) and bool(one.cells)
        if isinstance(one, Job) and some:
            if self.cells is None:
                self.cells = CellsPane(narrow=True)
                self.cells.setContentsMargins(0, 8, 0, 0)
                # A narrow window stays one: what has no room is scrolled to.
                self.tabs.addTab(Area(self.cells), "")
            self.cells.file_of = lambda recipe: file_of(one, recipe)
            self.cells.show_cells(one.cells)
            self.tabs.setTabText(1, self.tr("Cells ({})").format(f"{len(one.cells.rows):,}"))
        if self.cells is not None:
            self.tabs.setTabVisible(1, some)
        self.tabs.tabBar().setVisible(some)

    def _paint(self) -> None:
        if self._one is not None:
            name, colour = shown.mark(self._one)
            shade = getattr(theme.shades(), colour)
            self.picture.setPixmap(icons.pixmap(name, 24, shade, self.devicePixelRatioF()))


def _selectable(label: QLabel) -> QLabel:
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def _error(one: shown.Shown) -> UserError | None:
    if isinstance(one, Job):
        return one.error
    return UserError(*one.error) if one.error is not None else None
