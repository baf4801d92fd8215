"""The chosen job: what it was to do, how far it is, what came of it, and what can be done then."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from functools import partial

from PySide6 import QtWidgets
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QLabel, QWidget

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine.protocol import EXPORT, IMPORT, PREPARE, SIGN, VERIFY, WARM
from torchkeeper.gui import taborder, theme
from torchkeeper.gui.activity import shown
from torchkeeper.gui.activity.aftermath import Aftermath
from torchkeeper.gui.idle import every
from torchkeeper.gui.inspector.code_edit import cleaned
from torchkeeper.gui.inspector.sources import Finder
from torchkeeper.gui.jobs.model import LOG_LINES, Job, State
from torchkeeper.gui.matrix.pane import VariantsPane
from torchkeeper.gui.pages.glossary import explain
from torchkeeper.gui.pages.recipes.known import file_of
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.notice import Notice

#: Seconds of work in one turn of the event loop, and lines between two looks at the clock.
_SLICE = 0.006
_LINES = 40


class LogView(QWidget):
    """Shows lines, long logs in small slices; ``add`` brings more."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.edit = forms.read_only_text(name)
        self.edit.setAcceptDrops(False)
        self.edit.setMaximumBlockCount(LOG_LINES)
        self.edit.setLineWrapMode(QtWidgets.QPlainTextEdit.LineWrapMode.NoWrap)
        self.edit.setUndoRedoEnabled(False)
        self.edit.document().setDocumentMargin(8)
        self.edit.setPlaceholderText(self.tr("Nothing has been logged for the chosen job."))
        self.edit.setMinimumHeight(72)
        self.finder = Finder(self.edit, self.tr("Search"))
        self.finder.search.setAccessibleName(self.tr("Search: {}").format(name))
        self.finder.setMaximumWidth(400)
        self.follow = QtWidgets.QCheckBox(self.tr("&Keep at end"))
        self.follow.setToolTip(self.tr("Keep the last line in view as the log grows"))
        self.follow.setChecked(True)
        copy = self.tr("Copy log"), lambda: QGuiApplication.clipboard().setText(self.text())
        self.copy = forms.icon_button("copy", *copy)
        self.save = forms.button(self.tr("Save &log…"))
        line = forms.row((self.finder, 4), forms.REST)
        forms.add(line, self.follow, self.copy, self.save)
        self.setLayout(forms.column(line, (self.edit, 1), margin=(0, 8, 0, 0)))
        self._coming: deque[str] = deque()
        self._lines: deque[str] = deque(maxlen=LOG_LINES)
        self._timer = every(self, self._feed)
        self.finder.went.connect(lambda: self.follow.setChecked(False))
        self.follow.toggled.connect(lambda on: self._to_end() if on else None)
        # Also where there is less height for it by now.
        self.edit.verticalScrollBar().rangeChanged.connect(
            lambda *_: self._to_end() if self.follow.isChecked() else None
        )
        theme.follow(self, lambda: self.edit.setFont(theme.monospace()))
        self._tell()

    def show_lines(self, lines: Iterable[str]) -> None:
        self._coming.clear()
        self._lines.clear()
        self.edit.clear()
        self.add(lines)

    def add(self, lines: Iterable[str]) -> None:
        some = list(lines)
        self._lines.extend(some)
        self._coming.extend(some)
        self._feed()

    def text(self) -> str:
        """All lines, whether they are shown yet or not."""
        return "".join(f"{line}\n" for line in self._lines)

    @property
    def settled(self) -> bool:
        """Whether all that came is shown."""
        return not self._coming

    def _feed(self) -> None:
        until = time.monotonic() + _SLICE
        bar = self.edit.verticalScrollBar()
        at = bar.value()
        while self._coming and time.monotonic() < until:
            some = [self._coming.popleft() for _ in range(min(_LINES, len(self._coming)))]
            self.edit.appendPlainText(cleaned("\n".join(some)))
            if self.edit.blockCount() == len(some):
                # Qt takes it along into an empty text, and shows where it then is.
                self.edit.moveCursor(QTextCursor.MoveOperation.Start)
        if self.follow.isChecked():
            self._to_end()
        else:
            bar.setValue(at)
        if not self._coming:
            self._timer.stop()
            self._tell()
            self.finder.look_again()
        elif not self._timer.isActive():
            self._timer.start()

    def _to_end(self) -> None:
        bar = self.edit.verticalScrollBar()
        bar.setValue(bar.maximum())

    def _tell(self) -> None:
        for one in (self.copy, self.save, self.finder):
            one.setEnabled(bool(self._lines))


#: Pixels of what is said of a job that are seen at least; the rest is scrolled.
_LEAST = 56
#: What jobs are about, by their kind.
_IDEAS = {
    EXPORT: ("bundle",), IMPORT: ("bundle", "mega-cache"), SIGN: ("signature",),
    WARM: ("recipe",), VERIFY: ("verification", "header"), PREPARE: ("header",),
}  # fmt: skip
#: Pixels that the detail has where what is said stands beside the log, and else in a tab.
_BESIDE = 720


class JobDetail(QWidget):
    """Shows one job; the drawer says what the buttons do."""

    #: The recipe of a variant is to be edited: its file.
    edit = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._one: shown.Shown | None = None
        #: What the tabs beside the log were last filled for.
        self._filled: tuple[shown.Shown, str] | None = None
        #: Whether the user has chosen a tab; before, it is the one that says most of the job.
        self._touched = False
        #: What was asked for, and how it went: a name and a value each.
        self._facts: list[tuple[QLabel, QLabel]] = []
        self.picture = forms.label("")
        self.picture.setFixedSize(24, 24)
        self.title = forms.label("", "heading", wrap=True, selectable=True)
        self.words = forms.label("", "muted", wrap=True, selectable=True)
        self.bar = forms.progress_bar(self.tr("Progress"))
        self.told = forms.label("", wrap=True, selectable=True)
        self.told.setAccessibleName(self.tr("Result of the job"))
        self.notice = Notice()
        self.facts = QtWidgets.QFormLayout()
        self.facts.setContentsMargins(0, 0, 0, 0)
        self.facts.setHorizontalSpacing(16)
        self.facts.setVerticalSpacing(4)
        self.facts.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        #: What can be done with it.
        self.ways = forms.Wrapping()
        self.log = LogView(self.tr("Log of the chosen job"))
        self.left = LogView(self.tr("What was left out, and why"))
        self.after = Aftermath()
        #: The variants of a warm-up; made when there are some.
        self.variants: VariantsPane | None = None
        titled = forms.column(self.title, self.words, gap=4)
        self.head = forms.row((self.picture, forms.TOP), (titled, 1), gap=12)
        said = self.head, self.bar, self.told, self.notice, self.facts, forms.REST
        #: It is scrolled where there is little height; the buttons below it stay in sight.
        room = forms.Scrolled(forms.page(forms.column(*said)), least=_LEAST)
        # Those of the notice as well: none is half out of sight where what is said is scrolled.
        self.ways.addWidget(self.notice.remedies)
        self._said = forms.page(forms.column((room, 1), self.ways))
        self.tabs = QtWidgets.QTabWidget()
        self.tabs.tabBar().setAccessibleName(self.tr("Parts of the job"))
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(self.log, self.tr("Log"))
        # A narrow window stays one: what has no room is scrolled to.
        self._after, self._variants = forms.Area(self.after), forms.Area(QWidget())
        # Each is called so from the start: a tab is not as wide again where its name grows.
        self.tabs.addTab(self._after, self.tr("Result"))
        self.tabs.addTab(self._variants, self.tr("Variants"))
        self.tabs.addTab(self.left, "")
        self.tabs.tabBarClicked.connect(self._touch)
        self._row = forms.row((self._said, 1), (self.tabs, 2), gap=16)
        self.setLayout(self._row)
        theme.follow(self, self._paint, now=False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        beside, at = self.width() >= _BESIDE, self.tabs.indexOf(self._said)
        if beside and at >= 0:
            self.tabs.removeTab(at)
            self._row.insertWidget(0, self._said, 1)
            self._said.show()
        elif not beside and at < 0:
            self.tabs.insertTab(0, self._said, self.tr("Job"))
            self.tabs.setCurrentIndex(0)
        self._show_bar()

    def show_job(self, one: shown.Shown | None) -> None:
        before, self._one = self._one, one
        if one is not None and one is not before:
            self.log.show_lines(one.log)
            explain(self, *_IDEAS.get(one.kind, ("place",)))
            self._touched = False
        self.refresh()

    def _touch(self, *_: object) -> None:
        self._touched = True

    def _choose_tab(self, one: shown.Shown) -> None:
        at = self.tabs.focusWidget()
        if not self._touched and not (at is not None and at.hasFocus()):
            came = (self._variants, self._after)[:: 1 if one.kind == WARM else -1]
            parts = (self._said, *came, self.log if one.log else self.left)
            self.tabs.setCurrentWidget(next(filter(self._seen, parts), self.log))

    def go_in(self) -> None:
        """Go to the part of the job that is shown."""
        if (part := self.tabs.currentWidget()) is not None:
            next(taborder.stops(part), self.tabs.tabBar()).setFocus()

    def _seen(self, part: QWidget) -> bool:
        at = self.tabs.indexOf(part)
        return at >= 0 and self.tabs.isTabVisible(at)

    def refresh(self) -> None:
        """Say how far it is by now."""
        if (one := self._one) is None:
            return
        running = shown.active(one)
        self.title.setText(shown.doing(one) if isinstance(one, Job) else one.title)
        if isinstance(one, Job):
            words, lines, error = shown.progress(one), shown.told(one), one.error
            if running and (parts := shown.far(one)):
                words = " · ".join(filter(None, (*parts, shown.left(one))))
        else:
            words, lines = one.words, list(one.told)
            error = UserError(*one.error) if one.error else None
        forms.tell(self.told, "\n".join(lines))
        self.words.setText(words)
        # What the notice says, or the sentences do, need not stand twice.
        self.words.setVisible(bool(words) and error is None and (running or not lines))
        if str(error) != str(self.notice.error):
            self.notice.tell(error)
        self.bar.setVisible(running)
        if running:
            shown.set_bar(self.bar, one.fraction() if isinstance(one, Job) else None)
        self._show_facts(one)
        self._show_tabs(one)
        self._paint()

    def _show_facts(self, one: shown.Shown) -> None:
        rows = shown.asked(one) if isinstance(one, Job) else list(one.asked)
        at, seconds = shown.began(one), shown.took(one)
        if at is not None:
            rows.append((self.tr("Started"), say.when(at)))
        if seconds:
            rows.append((self.tr("Running for") if shown.active(one) else self.tr("Took"), seconds))
        # Rows are used again, and hidden where there are too many: PySide (6.11) may have let go of
        # a label that ``removeRow`` takes away, which crashes.
        while len(self._facts) < len(rows):
            said = forms.label("", wrap=True, selectable=True)
            self._facts.append((forms.label("", "muted"), said))
            self.facts.addRow(*self._facts[-1])
        for number, (label, said) in enumerate(self._facts):
            name, value = rows[number] if number < len(rows) else ("", "")
            self.facts.setRowVisible(number, number < len(rows))
            if (label.text(), said.text()) != (name, value):
                label.setText(name)
                said.setText(value)
                said.setAccessibleName(f"{name}: {said.text()}" if name else "")

    def _show_tabs(self, one: shown.Shown) -> None:
        job = one if isinstance(one, Job) else None
        if job is not None:
            self.after.tick(job)
            if job.variants:
                self._show_variants(job)
        if self._filled == (now := (one, one.state)):
            return
        self._filled = now
        self._show_tab(self._variants, job is not None and bool(job.variants))
        self._show_tab(self._after, self.after.show_job(job))
        left = job.left_lines if job is not None and job.state is State.DONE else []
        self.left.show_lines(left)
        text = self.tr("Left out ({})").format(f"{job.left if job else 0:,}")
        self.tabs.setTabText(self.tabs.indexOf(self.left), text)
        self._show_tab(self.left, bool(left))
        self._show_bar()
        if self.variants is not None and job is not None and job.variants and not job.active:
            self.variants.choose_bad()
        self._choose_tab(one)

    def _show_tab(self, part: QWidget, seen: bool) -> None:
        self.tabs.setTabVisible(self.tabs.indexOf(part), seen)

    def _show_bar(self) -> None:
        seen = sum(self.tabs.isTabVisible(at) for at in range(self.tabs.count()))
        self.tabs.tabBar().setVisible(seen > 1)

    def _show_variants(self, job: Job) -> None:
        if self.variants is None:
            self.variants = VariantsPane()
            self.variants.setObjectName("scrolledInside")
            self.variants.setContentsMargins(0, 8, 0, 0)
            self.variants.edit.connect(self.edit)
            self._variants.setWidget(self.variants)
        self.variants.file_of = partial(file_of, job)
        self.variants.show_variants(job.variants)

    def _paint(self) -> None:
        if self._one is not None:
            name, colour = shown.mark(self._one)
            shade = getattr(theme.shades(), colour)
            self.picture.setPixmap(theme.pixmap(name, 24, shade, self.devicePixelRatioF()))
