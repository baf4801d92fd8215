"""The first page of the inspector: the verdict, the facts, the last verification, and leaks."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from torchkeeper.artifacts.entry import PORTABLE, WITHOUT_VERDICT, Entry
from torchkeeper.client.words import leaks, say, verdicts, verifying
from torchkeeper.client.words.problems import UserError
from torchkeeper.client.words.verdicts import Why
from torchkeeper.engine import protocol
from torchkeeper.gui import theme
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.idle import once
from torchkeeper.gui.inspector.details import FactsView, Section, Value
from torchkeeper.gui.table.rows import verdict_words
from torchkeeper.gui.verdicts.verifications import Beside
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.notice import Elided, Notice
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import LeaksParams, LeaksResult
    from torchkeeper.engine.messages.findings import Finding

#: Reasons and conditions that are shown; the rest is counted.
_SHOWN = 12
_VERDICTCARD_MARK, _MARK = 32, 16
#: Pixels that are left around what has the focus.
_AROUND = 24


class About(NamedTuple):
    """What verdicts are about. torch, python: the version and the interpreter of the environment;
    empty where none is chosen. unjudged: why there are no verdicts; empty where there are.
    """

    torch: str = ""
    python: str = ""
    unjudged: str = ""


class VerdictCard(QFrame):
    """A large mark, the verdict, the environment it is about, and why."""

    #: An action of the window is wanted.
    asked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("card")
        self._verdict = ""
        self.mark = forms.label("")
        self.mark.setFixedSize(_VERDICTCARD_MARK, _VERDICTCARD_MARK)
        self.title = forms.label("", "title", wrap=True)
        self.environment = forms.label("", "muted", wrap=True)
        self.python = Elided("muted")
        self.why = FactsView(self.tr("Why it has this verdict"), whole=True, margin=0)
        choose = self.tr("Choose environment…")
        self.button = forms.button(choose, lambda: self.asked.emit("environments"))
        names = forms.column(self.title, self.environment, self.python, gap=2)
        head = forms.row((self.mark, forms.TOP), (names, 1), gap=12)
        button = self.button, Qt.AlignmentFlag.AlignLeft
        self.setLayout(forms.column(head, self.why, button, gap=8, margin=12))
        theme.follow(self, self._paint)

    def show_entry(self, entry: Entry, about: About) -> None:
        self._verdict = entry.verdict or ""
        section = self._section(entry, about)
        title = verdict_words(self._verdict) if self._verdict else self.tr("No verdict")
        self.title.setText(title)
        self.environment.setText(self.tr("for torch {}").format(about.torch))
        self.python.setText(about.python)
        self.python.setToolTip(tip(about.python))
        self.python.setAccessibleName(self.tr("Interpreter: {}").format(about.python))
        for label in (self.environment, self.python):
            label.setVisible(bool(self._verdict and about.torch))
        self.why.show_sections([section] if section.rows else [])
        lacking = not self._verdict and not about.torch
        self.button.setVisible(lacking and entry.kind not in WITHOUT_VERDICT)
        self.setAccessibleName(self.tr("Verdict: {}").format(title))
        said = (value.text for _, some in section.rows for value in some)
        self.setAccessibleDescription(" ".join(said))
        self._paint()

    def _section(self, entry: Entry, about: About) -> Section:
        section = Section("", labelled=False)
        why = entry.why if isinstance(entry.why, Why) else None
        section.add("", self._sentence(entry, about, why))
        if why is not None:
            for text, must in why.to_meet[:_SHOWN]:
                section.add("", f"• {text}", Value(must, muted=True) if must else None)
            for text in why.reasons[:_SHOWN]:
                section.add("", f"• {text}")
            if (more := len(why.reasons) + len(why.to_meet) - _SHOWN) > 0:
                section.add("", Value(self.tr("and {} more").format(f"{more:,}"), muted=True))
        return section

    def _sentence(self, entry: Entry, about: About, why: Why | None) -> str:
        reasons = why is not None and bool(why.reasons or why.to_meet)
        if entry.verdict is None:
            if entry.kind in WITHOUT_VERDICT:
                return verdicts.none(entry.kind)
            return about.unjudged or self.tr("Not checked yet.")
        if entry.verdict == "usable":
            return self.tr("Programs with this environment’s defaults find it.")
        if entry.verdict == "unsafe":
            return verdicts.unsafe()
        # Each without reasons, and before them.
        alone, before = {
            "conditional": (
                self.tr("A program finds it if it meets a condition."),
                self.tr("A program finds it under these conditions:"),
            ),
            "stale": (
                self.tr("No program finds it here."),
                self.tr("No program finds it here, because of:"),
            ),
            "broken": (self.tr("PyTorch cannot use it."), self.tr("PyTorch cannot use it:")),
        }.get(entry.verdict) or (
            self.tr("It is not known whether a program finds it here."),
            self.tr("It is not known whether a program finds it here, because of:"),
        )
        return before if reasons else alone

    def _paint(self) -> None:
        name, shades = f"verdict-{self._verdict or 'unknown'}", theme.shades()
        colour = shades.verdict(self._verdict) if self._verdict else shades.muted
        self.mark.setPixmap(theme.pixmap(name, _VERDICTCARD_MARK, colour, self.devicePixelRatioF()))


# What of an entry nobody else should read: looked for when its summary has been shown a while. What
# was found is kept for as long as the entry is the same.

#: Milliseconds that an entry is shown before it is searched.
REST_MS = 300
#: Entries of which it is remembered, and secrets that are listed.
_KEPT, _LISTED = 200, 20


class Found(NamedTuple):
    """What a search came to: how many secrets, a line for each, and for each sort of facts."""

    secrets: int
    lines: list[str]
    private: list[str]


class Sharing(QWidget):
    """Says what would leave with the entry, and offers to export it."""

    #: The entry is to be exported; True where what was found is to be redacted.
    export = Signal(bool)

    def __init__(self, engines: Engines) -> None:
        super().__init__()
        self._search = Latest(engines, self)
        self._entry: Entry | None = None
        self._place = ""
        self._coming: list[Finding] = []
        #: What was found, by what the entry was like.
        self._known: OrderedDict[tuple[Any, ...], Found] = OrderedDict()
        self.found: Found | None = None
        self.setAccessibleName(self.tr("If you share it"))
        self.title = forms.label(self.tr("If you share it"), "section")
        self.mark = forms.picture("warning", 16, "warning")
        self.heading = forms.label("", "heading", wrap=True)
        self.view = FactsView(self.tr("What leaves with it"), whole=True, margin=0)
        self.button = forms.button("", self._press)
        line = forms.row((self.mark, forms.TOP), (self.heading, 1), gap=8)
        button = self.button, Qt.AlignmentFlag.AlignLeft
        parts = self.title, line, self.view, button
        self.setLayout(forms.column(*parts, gap=6, margin=(12, 4, 12, 12)))
        self._rest = once(self, self._ask, REST_MS)

    @property
    def asking(self) -> bool:
        """Whether a search is under way."""
        return self._search.busy

    def show_entry(self, place: str, entry: Entry | None) -> None:
        """What is shown now; what was being searched is no longer."""
        self.stop()
        self._place, self._entry, self.found = place, entry, None
        if entry is None:
            return
        if entry.kind not in PORTABLE or entry.broken:
            self._say(self.tr("It never leaves this place: bundles leave it out."))
        elif (found := self._known.get(self._state)) is not None:
            self._show(found)
        else:
            self._say(self.tr("Looking for passwords, keys and paths in it…"))
            self._begin()

    def _begin(self) -> None:
        entry = self._entry
        fit = entry is not None and entry.kind in PORTABLE and not entry.broken
        if fit and self.found is None and not self.asking and self.isVisible():
            self._rest.start()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._begin()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.stop()

    def stop(self) -> None:
        self._rest.stop()
        self._search.forget()
        self._coming.clear()

    @property
    def _state(self) -> tuple[Any, ...]:
        entry = self._entry
        if entry is None:
            return ()
        return self._place, *entry.identity, entry.sha256, entry.size, entry.mtime

    def _ask(self) -> None:
        if (entry := self._entry) is None:
            return
        params: LeaksParams = {"place": self._place, "kind": entry.kind, "path": entry.path}
        listener = Listener(findings=self._coming.extend, result=self._result, failed=self._failed)
        self._search.ask(protocol.LEAKS, params, listener, shared=True, aside=True)

    def _result(self, told: LeaksResult) -> None:
        secrets = [one["secret"] for one in self._coming if "secret" in one]
        lines = [leaks.of_entry(one) for one in secrets[:_LISTED]]
        found = Found(told["secrets"], lines, leaks.private(told["private"], of_one=True))
        self._coming.clear()
        self._known[self._state] = found
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)
        self._show(found)

    def _failed(self, error: UserError) -> None:
        self._coming.clear()
        self._say(self.tr("It could not be searched: {}").format(error.what))

    def _show(self, found: Found) -> None:
        self.found = found
        lines = Section("", labelled=False)
        for text in found.lines:
            lines.add("", f"• {text}")
        if (more := found.secrets - len(found.lines)) > 0:
            lines.add("", Value(self.tr("and {} more").format(f"{more:,}"), muted=True))
        if found.private:
            lines.add("", Value(self.tr("Not secret, but private:"), muted=True))
            for text in found.private:
                lines.add("", f"• {text}")
        said, text = self.tr("Nothing in it looks like a password or a key."), self.tr("Export…")
        if found.secrets:
            secrets = say.count(found.secrets, "password or key", "passwords or keys")
            said = self.tr("Everybody who gets it can read {}").format(secrets)
            text = self.tr("Export without them…")
        self._say(said, [lines] if lines.rows else [])
        self.mark.setVisible(found.secrets > 0)
        self.button.setText(text)
        self.button.setAccessibleName(text.rstrip("…"))
        self.button.show()

    def _say(self, text: str, sections: list[Section] | None = None) -> None:
        self.heading.setText(text)
        forms.set_role(self.heading, "heading" if sections else "")
        self.view.show_sections(sections or [])
        self.view.setVisible(bool(sections))
        self.mark.hide()
        self.button.hide()

    def _press(self) -> None:
        self.export.emit(bool(self.found and self.found.secrets))


class Measured(QWidget):
    """When it was, what it found, how fast; and a button that measures again."""

    asked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.beside: Beside | None = None
        self.setAccessibleName(self.tr("Last verification of the place"))
        self.title = forms.label(self.tr("Last verification of the place"), "section")
        self.mark = forms.label("")
        self.mark.setFixedSize(_MARK, _MARK)
        self.said = forms.label("", wrap=True)
        self.more = forms.label("", "muted", wrap=True)
        self.button = forms.button(self.tr("Verify…"), lambda: self.asked.emit("verify"))
        hint = self.tr("Measure what a fresh process finds in the place, and how fast it is")
        self.button.setToolTip(tip(hint))
        line = forms.row((self.mark, forms.TOP), (self.said, 1), gap=8)
        button = self.button, Qt.AlignmentFlag.AlignLeft
        parts = self.title, line, self.more, button
        self.setLayout(forms.column(*parts, gap=6, margin=(12, 4, 12, 12)))
        self.tell(None)
        theme.follow(self, self._paint)

    def tell(self, beside: Beside | None) -> None:
        """Say what the last verification came to; None where there was none."""
        self.beside = beside
        if beside is None:
            self.said.setText(self.tr("Not verified yet."))
            how = self.tr("Verify runs recipes on a copy of the place, and counts what hits.")
            self.more.setText(how)
        else:
            result = beside.one.result
            self.said.setText(beside.line)
            found = say.lookups(result["hits"], result["misses"])
            found = self.tr("{}, {} rebuilt").format(found, f"{result['rebuilt']:,}")
            more = found, *verifying.asides(result), beside.more
            self.more.setText("\n".join(filter(None, more)))
        self._paint()

    def _paint(self) -> None:
        beside, shades = self.beside, theme.shades()
        name, colour = "verify", shades.muted
        if beside is not None:
            name, colour = beside.icon, getattr(shades, beside.role)
        self.mark.setPixmap(theme.pixmap(name, _MARK, colour, self.devicePixelRatioF()))


class SummaryPage(QScrollArea):
    """The sections under each other, scrolled as one; what has the focus is in sight."""

    asked = Signal(str)

    def __init__(self, engines: Engines) -> None:
        super().__init__()
        self.setAccessibleName(self.tr("Summary"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.problem = Notice()
        self.orphan = Notice(mild=True)
        self.verdict = VerdictCard()
        self.facts = FactsView(self.tr("Facts of the entry"), whole=True)
        self.measured = Measured()
        self.sharing = Sharing(engines)
        top = forms.column(self.verdict, self.problem, self.orphan, gap=8, margin=(12, 12, 12, 0))
        whole = forms.column(top, self.facts, self.measured, self.sharing, forms.REST, gap=0)
        self._inside = forms.frame("pane", whole)
        self.setWidget(self._inside)
        self.verdict.asked.connect(self.asked)
        self.measured.asked.connect(self.asked)
        for view in (self.facts, self.verdict.why, self.sharing.view):
            view.reached.connect(lambda y, view=view: self._show_line(view, y))
        for button in (self.verdict.button, self.measured.button, self.sharing.button):
            button.installEventFilter(self)

    def _show_line(self, view: QWidget, y: int) -> None:
        self.ensureVisible(0, view.mapTo(self._inside, view.rect().topLeft()).y() + y, 0, _AROUND)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn and isinstance(watched, QWidget):
            self.ensureWidgetVisible(watched, 0, _AROUND)
        return super().eventFilter(watched, event)
