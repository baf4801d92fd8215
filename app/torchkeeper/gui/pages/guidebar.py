"""The guide as a strip over the pages: its steps, the one that somebody is at, and its button."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QStandardPaths
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame

from torchkeeper.engine.protocol import EXPORT, PURGE, UNDO, VERIFY, WARM
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.pages import ENTRIES
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.emptystate import GUIDED, EmptyState

if TYPE_CHECKING:
    from torchkeeper.client.kept.history import Past
    from torchkeeper.gui.chrome.split import InspectorFrame
    from torchkeeper.gui.context import Context

tr = partial(QCoreApplication.translate, "Guide")

#: The step that somebody is at, as its number in STEPS, -1 for who wants no guide; and since when,
#: in seconds since the epoch.
STEP = "guide/step"
SINCE = "guide/since"
#: The kinds of jobs of later steps that were done already, with blanks between.
EARLY = "guide/early"

_N = QT_TRANSLATE_NOOP


def _n(text: str) -> str:
    return str(_N("Guide", text))


class Step(NamedTuple):
    """One step. action: what its button does. job: the kind of job whose success ends it; without
    one, it ends when an entry is selected. early: it is as good taken before it was reached.
    """

    id: str
    title: str
    text: str
    action: str
    verb: str
    job: str = ""
    early: bool = False


STEPS = (
    Step("warm", _n("Fill a cache"),
         _n("Compile the recipe that comes with Torchkeeper ahead of time, into a folder of its "
            "own. The model is small: compiling it takes about half a minute."),
         "warm", _n("Warm…"), WARM),
    Step("look", _n("Look at what is in it"),
         _n("Each row is an entry: a graph, generated code, a kernel. Select one, and the "
            "inspector says whether it will hit here, what it was made with and what it needs."),
         "entries", _n("Show entries")),
    Step("verify", _n("Prove that it hits"),
         _n("A fresh process runs the recipe with only this cache, and reports the hits and the "
            "rebuilt objects."),
         "verify", _n("Verify…"), VERIFY, early=True),
    Step("export", _n("Put it into a bundle"),
         _n("A bundle is one file with all entries, to carry to another machine. Drop it on the "
            "window there: you see the contents before you import them."),
         "export", _n("Export…"), EXPORT, early=True),
    Step("purge", _n("Purge it"),
         _n("Purge shows exactly which entries go, and moves them to the trash. Clean up suggests "
            "dead entries; here, purge all entries of the guide's own folder."),
         "purge-shown", _n("Purge all shown…"), PURGE),
    Step("undo", _n("Bring it back"),
         _n("Until the trash is emptied every purge can be undone, to the byte."),
         "undo", _n("Undo purge"), UNDO),
)  # fmt: skip

#: Said while a step is being taken, with its button.
UNDER_WAY = _n("The job is running; the status bar shows its progress. The guide goes on when it "
               "ends, even if you close the window meanwhile.")  # fmt: skip
SHOW_JOB = _n("Show activity")

#: Said where another place is shown than the guide's own folder, with the button of that.
ELSEWHERE = _n("The guide works only in its own folder, which its first step fills. The window now "
               "shows another place, which stays as it is.")  # fmt: skip
SHOW_OWN = _n("Show the guide's folder")

OVER = _n("This was the whole round. F1 opens the manual, and Shift+F1 explains the control that "
          "has the focus.")  # fmt: skip


#: Pixels that its words have at least where the buttons stand beside them.
_WORDS = 330


def own_folder() -> str:
    """The folder that the guide fills; what it throws out is nobody's."""
    where = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericCacheLocation)
    return f"{where}/torchkeeper/first-steps"


class GuideBar(QFrame):
    """Goes on by itself when what a step is about was done. All steps are about the guide's own
    folder: where another place is shown, which may be a server that many use, none is offered.
    """

    def __init__(
        self,
        context: Context,
        wing: InspectorFrame,
        fill: Callable[[str], None],
        show: Callable[[str], None],
    ) -> None:
        """fill, show: what is to become of the guide's own folder."""
        super().__init__()
        self.setObjectName("guideBar")
        self._context, self._frame, self._fill, self._show = context, wing, fill, show
        self.own = own_folder()
        self.number = 0
        self.count = forms.label("", "section")
        self.title = forms.label("", "heading")
        self.text = forms.label("", wrap=True)
        self.go = forms.button("", self._go, primary=True)
        hint = self.tr("Go on to the next step")
        self.skip = forms.button(self.tr("Skip"), lambda: self._go_on(self.number + 1), hint)
        before, close = self.tr("Previous step"), self.tr("Close the guide")
        self.back = forms.icon_button("back", before, lambda: self.show_step(self.number - 1))
        self.close_button = forms.icon_button("close", close, self.end)
        head = forms.row(self.title, self.count, forms.REST, gap=12)
        texts = forms.column(head, self.text, gap=2)
        said = forms.row(forms.picture("guide", 20, "accent"), (texts, 1), gap=12)
        self._ways = forms.row(forms.REST, self.go, self.skip, self.back, self.close_button, gap=12)
        self._line = forms.row((said, 1), self._ways, margin=(16, 8, 8, 8), gap=12)
        self.setLayout(self._line)
        context.jobs.finished.connect(self._finished)
        context.jobs.finished.connect(self._tell)
        context.jobs.rowsInserted.connect(self._tell)
        context.table.selection_changed.connect(self._selected)
        context.listing.changed.connect(self._tell)
        context.places_pane.chosen.connect(self._tell)

    def setVisible(self, visible: bool, /) -> None:
        super().setVisible(visible)
        # It says what to do next as long as there is a step: what is empty does so quietly then.
        self._context.window.setProperty(GUIDED, visible and not self.over)
        for empty in self._context.window.findChildren(EmptyState):
            empty.suit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        # Beside the inspector of a small window, the buttons stand below.
        way, narrow = QBoxLayout.Direction, self.width() < _WORDS + self._ways.sizeHint().width()
        self._line.setDirection(way.TopToBottom if narrow else way.LeftToRight)
        self._line.setStretch(0, 0 if narrow else 1)

    @property
    def over(self) -> bool:
        """Whether all steps were taken."""
        return self.number >= len(STEPS)

    def show_step(self, number: int) -> None:
        """Show a step; the one after the last says that it was all."""
        self.number = min(number, len(STEPS))
        over = self.over
        self._context.settings.setValue(STEP, -1 if over else self.number)
        self._context.settings.setValue(SINCE, time.time())
        if over:
            self.title.setText(self.tr("Done"))
            self.text.setText(tr(OVER))
            self.count.setText("")
        else:
            self._tell()
            self.count.setText(self.tr("Step {} of {}").format(self.number + 1, len(STEPS)))
        self.go.setVisible(not over)
        self.skip.setVisible(not over)
        self.back.setVisible(self.number > 0)
        said = f"{self.count.text()} {self.title.text()}. {self.text.text()}".strip()
        self.setAccessibleName(said)
        self.show()
        forms.alert(self)

    def _tell(self, *_: object) -> None:
        """Say what the step is; while it is being taken, that it is, and where to see how far."""
        if self.over:
            return
        step = STEPS[self.number]
        text, verb = step.text, tr(step.verb)
        if self._under_way:
            text, verb = UNDER_WAY, tr(SHOW_JOB)
        elif not self._here:
            text, verb = ELSEWHERE, tr(SHOW_OWN)
        self.title.setText(tr(step.title))
        self.text.setText(tr(text))
        self.go.setText(verb)
        self.go.setAccessibleName(verb.rstrip("…"))
        self._arrange()

    @property
    def _under_way(self) -> bool:
        active, kind = self._context.jobs.active, STEPS[self.number].job
        return any(job.kind == kind and self._is_mine(job) for job in active)

    def _is_own(self, place: str | None) -> bool:
        """Whether a place is the guide's own folder, by name: no disk is asked."""
        return bool(place) and os.path.normpath(str(place)) == os.path.normpath(self.own)

    @property
    def _here(self) -> bool:
        """Whether the step can be taken with what is shown: the first one names its own place."""
        return STEPS[self.number].job == WARM or self._is_own(self._context.place)

    def _is_mine(self, job: Job) -> bool:
        """Whether a job is about the guide's own folder; an export is about where it is from."""
        return self._is_own(job.asked.get("source", "") if job.kind == EXPORT else job.place)

    def catch_up(self, since: float) -> None:
        """Go on past the steps that were taken since then, by another window or by jobs."""
        listener = Listener(result=lambda said: self._passed(said.kept.jobs, since))
        self._context.engines.background(listener, lookups.past_jobs)

    def _passed(self, jobs: Sequence[Past], since: float) -> None:
        if self.isHidden():
            return
        # Of what an export was of, the history says nothing.
        mine = (job for job in jobs if job.kind == EXPORT or self._is_own(job.place))
        good = (job for job in mine if job.ended > since and job.good)
        self._done(job.kind for job in sorted(good, key=lambda job: job.ended))

    def _done(self, kinds: Iterable[str]) -> None:
        number = reduce(self._after, kinds, self.number)
        if number > self.number:
            self.show_step(number)

    def _after(self, number: int, kind: str) -> int:
        """The step that one is at after a job of this kind, at this step until then."""
        if number < len(STEPS) and STEPS[number].job == kind:
            return self._next(number + 1)
        if any(step.early and step.job == kind for step in STEPS[number + 1 :]):
            self._context.settings.setValue(EARLY, " ".join(sorted({*self._early, kind})))
        return number

    @property
    def _early(self) -> set[str]:
        """The kinds of jobs of later steps that were done before these were reached."""
        return set(str(self._context.settings.value(EARLY) or "").split())

    def _next(self, number: int) -> int:
        """The first step from this one on that was not taken already."""
        early, rest = self._early, enumerate(STEPS[number:], number)
        left = (at for at, step in rest if not (step.early and step.job in early))
        return next(left, len(STEPS))

    def _go_on(self, number: int) -> None:
        """Go on with a step, or where it was taken already with the one after it."""
        self.show_step(self._next(number))

    def end(self) -> None:
        """Nobody wants to be guided any more."""
        self._context.settings.setValue(STEP, -1)
        self.hide()

    def _go(self) -> None:
        step, context = STEPS[self.number], self._context
        if self._under_way:
            context.actions["activity"].trigger()
            return
        if not self._here:
            self._show(self.own)
            return
        action = context.actions[step.action]
        if step.action not in ("warm", ENTRIES):
            # All that is about entries is done where they are seen.
            context.pages.go(ENTRIES)
        if step.job == EXPORT:
            # The step before it had one selected; this one is about all.
            context.table.clearSelection()
        if step.id == "look" and not self._frame.isVisible():
            self._frame.toggle()
        if step.job == WARM:
            self._fill(self.own)
        elif action.isEnabled():
            action.trigger()
        else:
            self.text.setText(context.actions.held(step.action) or self._lacking())

    def _lacking(self) -> str:
        if self._context.entries.total and not self._context.entries.shown():
            return self.tr("That needs entries, and the filter shows none. Clear the filter first.")
        return self.tr("That needs entries in the guide's folder. Go back to the previous or the "
                       "first step.")  # fmt: skip

    def _finished(self, job: Job) -> None:
        # Also while the window is gone: whoever has it back goes on with the next.
        done = job.state is State.DONE and not job.flawed
        if not self.isHidden() and done and self._is_mine(job):
            self._done([job.kind])

    def _selected(self) -> None:
        seen = self._context.pages.current == ENTRIES and bool(self._context.table.selected())
        seen = seen and self._is_own(self._context.place) and self.isVisible()
        if seen and not self.over and not STEPS[self.number].job:
            if not self._frame.isVisible():
                # It is the inspector that says what this step is about.
                self._frame.toggle()
            self._go_on(self.number + 1)
