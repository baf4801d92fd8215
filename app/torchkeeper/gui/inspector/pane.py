"""The inspector: what the chosen entry is. What the row of the table tells is shown at once; the
rest is asked of an engine of its own when the selection rests, long texts when their tab is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication, QHideEvent, QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHeaderView, QTabWidget, QWidget

from torchkeeper.artifacts.entry import UNREAD, Entry
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.engine import protocol
from torchkeeper.gui import theme
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.chrome.split import LOWEST, NARROWEST
from torchkeeper.gui.idle import every, once
from torchkeeper.gui.inspector import details, vllm
from torchkeeper.gui.inspector.sources import FactorsPane, RowsModel, RowsView, TextPane
from torchkeeper.gui.inspector.summary import About, SummaryPage
from torchkeeper.gui.table.rows import shown_name
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.emptystate import EmptyState
from torchkeeper.gui.widgets.notice import Elided, Notice
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages.entries import Detail as Told
    from torchkeeper.engine.messages.entries import EntryFile, EntryParams, Related
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.engine.messages.places import SumParams, SumResult
    from torchkeeper.engine.messages.verdicts import VllmRow

_NAME, _SIZE, _TIME = range(3)
#: Milliseconds the selection has to rest before an engine is asked.
SETTLE_MS = 120
#: Milliseconds between two looks at what the time that passes changes.
CLOCK_MS = 20_000
#: Entries of a large selection that are counted in one turn of the event loop.
_COUNT = 5000

#: The names of those of the needed entries that are in the place.
Lookup = Callable[[Sequence[details.Need]], dict[details.Need, str]]


class FilesPane(QWidget):
    """Path, size and time of each file."""

    def __init__(self) -> None:
        super().__init__()
        self._root = ""
        self._files: list[EntryFile] = []
        titles = self.tr("Path"), self.tr("Size"), self.tr("Last change")
        self.model = RowsModel(titles, self, fixed={_NAME}, numbers={_SIZE})
        self.table = RowsView(self.model, self.tr("Files of the entry"))
        # The end of a path tells more than its beginning.
        self.table.setTextElideMode(Qt.TextElideMode.ElideLeft)
        header = self.table.horizontalHeader()
        header.resizeSection(_SIZE, 88)
        header.resizeSection(_TIME, 164)
        header.setSectionResizeMode(_NAME, QHeaderView.ResizeMode.Stretch)
        self.text = forms.label("", "muted")
        self.copy = forms.button(self.tr("Copy path"), self._copy)
        self.copy.setToolTip(self.tr("Copy the paths of the chosen files, or of all"))
        foot = forms.row((self.text, 1), self.copy, gap=8, margin=(12, 8, 12, 8))
        self.setLayout(forms.column((self.table, 1), foot, gap=0))
        self.table.copied.connect(self._copy)

    def show_files(self, root: str, files: list[EntryFile]) -> None:
        """Show these files, which lie under ``root``."""
        self._root, self._files = root, files
        rows = ((printable(x["path"], 4096), say.size(x["size"]), x["mtime"]) for x in files)
        self.model.fill([(*row, "" if at is None else say.when(at)) for *row, at in rows])
        total = say.size(sum(file["size"] for file in files))
        self.text.setText(f"{say.count(len(files), 'file', 'files')} · {total}" if files else "")
        self.copy.setEnabled(bool(files))

    def _copy(self) -> None:
        rows = self.table.rows() or list(range(len(self._files)))
        # In a bundle, a path is that of a member.
        root = self._root.rstrip("/") + "/" if self._root else ""
        paths = [root + self._files[row]["path"] for row in rows]
        QGuiApplication.clipboard().setText("\n".join(paths))


class LowBlank(QWidget):
    """Says that nothing is selected, and what to do, as low as can be: the rows are above."""

    first = Signal()

    def __init__(self) -> None:
        super().__init__()
        heading = forms.label(self.tr("No entry is selected"), "heading")
        what = self.tr("Select one to see whether it is usable, and why.")
        texts = forms.column(heading, forms.label(what, "muted", wrap=True), forms.REST, gap=2)
        self.button = forms.button("")
        self.button.clicked.connect(self.first)
        self.setLayout(forms.row((texts, 1), self.button, gap=16, margin=(16, 12, 16, 12)))

    def offer(self, text: str) -> None:
        """Have a button of this text, and none where it is empty."""
        self.button.setText(text)
        self.button.setAccessibleName(text.replace("&", ""))
        self.button.setVisible(bool(text))


class Inspector(QFrame):
    """Shows what is selected: nothing, one entry or several."""

    #: An entry that the one shown needs, or is needed by, is to be selected.
    followed = Signal(object)
    #: An action of the window is wanted; the entry is to be exported, True: with secrets redacted.
    asked = Signal(str)
    export = Signal(bool)
    #: Another tab is shown, by its number.
    turned = Signal(int)
    #: Escape was pressed in it: the keyboard goes back to where one came from.
    left = Signal()
    #: The first entry is to be selected.
    first = Signal()

    def __init__(self, engines: Engines, lookup: Lookup) -> None:
        super().__init__()
        self.setObjectName("pane")
        self.setAccessibleName(self.tr("Inspector"))
        self._engines, self._lookup = engines, lookup
        self._place = self._root = ""
        self._entries: list[Entry] = []
        self._rows = 0
        #: What is shown in full, or being asked for.
        self._entry: Entry | None = None
        self._about = About()
        self.detail: details.Detail | None = None
        self.related: details.Relatives | None = None
        #: The keys of vLLM's in the place, where what is selected is about them.
        self._keys: list[VllmRow] = []
        self._tickets: dict[str, int] = {}
        self._make()
        self._timer = once(self, self._settled, SETTLE_MS)
        self._counting: tuple[details.Counts, Iterator[Entry]] | None = None
        self._sums: list[details.Section] = []
        self._count_timer = every(self, self._count)
        #: How long ago things were is said while they are shown.
        self.clock = every(self, self._tick, CLOCK_MS)
        self._show_none()

    def _make(self) -> None:
        self.blank = EmptyState("inspector", side=True)
        self.blank.asked.connect(lambda _: self.first.emit())
        self.low_blank = LowBlank()
        self.low_blank.first.connect(self.first)
        self.name = Elided("heading")
        self.chip = details.Chip()
        self.key = Elided("muted")
        self.copy_key = forms.icon_button("copy", self.tr("Copy the key"), self._copy_key)
        self.notice = Notice()
        self.notice.again.connect(self._ask)
        self.summary = SummaryPage(self._engines)
        self.facts, self.sharing = self.summary.facts, self.summary.sharing
        self.problem, self.orphan = self.summary.problem, self.summary.orphan
        self.graph = TextPane(
            self.tr("Graph"), "log", self.tr("This entry holds no graph"),
            self.tr("FX graphs and AOTAutograd entries hold graphs."),
        )  # fmt: skip
        self.source = TextPane(
            self.tr("Source"), "log", self.tr("This entry holds no sources"),
            self.tr("Graphs, code and kernels hold the sources that Inductor and Triton wrote."),
        )  # fmt: skip
        self.factors = FactorsPane()
        self.files = FilesPane()
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setAccessibleName(self.tr("Parts of the inspector"))
        self.tabs.tabBar().setExpanding(False)
        for widget, title in (
            (self.summary, self.tr("Summary")),
            (self.graph, self.tr("Graph")),
            (self.source, self.tr("Source")),
            (self.factors, self.tr("Key factors")),
            (self.files, self.tr("Files")),
        ):
            self.tabs.addTab(widget, title)
        for what, pane in (("graph", self.graph), ("source", self.source)):
            pane.wanted.connect(partial(self._ask_text, what, pane))
        self.factors.wanted.connect(self._ask_factors)
        self.facts.followed.connect(self.followed)
        self.summary.asked.connect(self.asked)
        self.sharing.export.connect(self.export)
        self.tabs.currentChanged.connect(self.turned)
        line = forms.row(self.chip, (self.key, 1), self.copy_key, gap=8)
        head = forms.column(self.name, line, gap=8, margin=(12, 14, 8, 6))
        told = forms.column(self.notice, margin=(12, 4, 12, 4))
        self._one = forms.page(forms.column(head, told, (self.tabs, 1), gap=0))
        self.several = details.FactsView(self.tr("Facts of the selected entries"))
        self.several_title = forms.label("", "heading")
        self.several_title.setContentsMargins(12, 14, 12, 2)
        self._several = forms.page(forms.column(self.several_title, (self.several, 1), gap=0))
        self.keys = details.FactsView(self.tr("Keys of vLLM in the place"))
        self._place_page = forms.page(forms.column((self.keys, 1), gap=0, margin=(0, 8, 0, 0)))
        pages = self.blank, self.low_blank, self._one, self._several, self._place_page
        self.stack = forms.stack(*pages)
        self.setLayout(forms.column(self.stack, gap=0))
        self.setMinimumWidth(NARROWEST)
        theme.follow(self, lambda: self.key.setFont(theme.monospace()))

    def select(
        self, place: str | None, is_folder: bool, entries: list[Entry], rows: int = 0
    ) -> None:
        """What is selected now, of so many rows. Cheap when nothing changed."""
        place = place or ""
        self._root = place if is_folder else ""
        if (place, entries) != (self._place, self._entries):
            self._place, self._entries = place, entries
            if self.isVisible():
                self._changed()
        elif rows != self._rows and not entries and self.isVisible():
            self._timer.start()  # the keys in the place may be others
        self._rows = rows

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        # All tabs have room, whatever the size of the font.
        self.setMinimumWidth(max(NARROWEST, self.tabs.tabBar().sizeHint().width() + 24))
        self.clock.start()
        self._changed()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.stack.currentWidget() in (self.blank, self.low_blank):
            self._suit_blank()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.clock.stop()

    def _tick(self) -> None:
        """Some time has passed. What is being marked, to be copied, stays."""
        if self.stack.currentWidget() is self._one and not self.facts.textCursor().hasSelection():
            self._show_facts()
            self.summary.measured.tell(self.summary.measured.beside)

    def _changed(self) -> None:
        one = self._entries[0] if len(self._entries) == 1 else None
        if one is not None and self._entry is not None and self.stack.currentWidget() is self._one:
            if one == self._entry:
                return
            if one._replace(verdict=self._entry.verdict, why=self._entry.why) == self._entry:
                # It has a verdict now, or another: nothing else is to be asked for.
                self._entry = one
                self._show_facts()
                return
        self._forget()
        if one is not None:
            self._show_one(one)
        elif self._entries:
            self._entry = None
        else:
            self._show_none()
        self._timer.start()

    def _forget(self) -> None:
        self._timer.stop()
        self._count_timer.stop()
        for ticket in self._tickets.values():
            self._engines.forget(ticket)
        self._tickets.clear()
        self.detail = self.related = None
        self._keys = []
        self.sharing.show_entry(self._place, None)

    def _settled(self) -> None:
        if len(self._entries) > 1:
            self._counting = (details.Counts(), iter(self._entries))
            self._count_timer.start()
        elif self._entries:
            self._ask()
        some = self._entries[:3]
        if len(some) < 3 and (all(map(vllm.is_key, some)) if some else vllm.is_place(self._place)):
            self._ask_keys()

    def _ask_keys(self) -> None:
        def more(rows: list[VllmRow]) -> None:
            self._keys += rows[: vllm.KEPT - len(self._keys)]

        self._keys = []
        self._engines.forget(self._tickets.get("keys"))
        heard = Listener(rows=more, result=lambda _: self._show_keys())
        params = {"place": self._place}
        ask = self._engines.ask
        self._tickets["keys"] = ask(protocol.VLLM, params, heard, shared=True, aside=True)

    def _show_keys(self) -> None:
        """What is known by now of vLLM's keys is said where the rest is."""
        if self._entry is not None:
            self._show_facts()
        elif self._entries and not self._count_timer.isActive():
            self.several.show_sections([*self._sums, *vllm.sections(self._keys, self._entries)])
        elif not self._entries and self._keys:
            self.keys.show_sections(vllm.sections(self._keys))
            self.stack.setCurrentWidget(self._place_page)
        elif not self._entries:
            self._suit_blank()

    def _show_none(self) -> None:
        self._entry = None
        self.blank.say(
            self.tr("No entry is selected"),
            self.tr("Select one in the table to see its verdict, its needs, its graph and code, "
                    "and what it leaks if you share it. Select several to add them up."),
        )  # fmt: skip
        self._suit_blank()

    def _suit_blank(self) -> None:
        self.stack.setCurrentWidget(self.low_blank if self.height() < LOWEST else self.blank)

    def offer_first(self, text: str) -> None:
        """Where nothing is selected, have a button of this text that selects the first entry."""
        self.blank.offer(text)
        self.low_blank.offer(text)

    def _count(self) -> None:
        if self._counting is None:
            return
        counts, rest = self._counting
        piece = list(islice(rest, _COUNT))
        counts.add(piece)
        if len(piece) == _COUNT:
            return
        self._count_timer.stop()
        self._counting = None
        self.several_title.setText(self.tr("{} selected").format(counts.held))
        self._sums = counts.sections()
        keys = vllm.sections(self._keys, self._entries) if self._keys else []
        self.several.show_sections([*self._sums, *keys])
        self.stack.setCurrentWidget(self._several)
        if counts.overlapping:
            self._ask_sum(counts)

    def _ask_sum(self, counts: details.Counts) -> None:
        """What some entries took to compile together: which graphs are whose, an engine knows."""
        from torchkeeper.gui.jobs.model import Selection

        def told(result: SumResult | None) -> None:
            seconds = result and result["compile_s"]
            self.several.show_sections(counts.sections(seconds, failed=result is None))

        selection = Selection.of(counts.overlapping)
        params: SumParams = {"place": self._place, "select": selection.select}
        self._tickets["sum"] = self._engines.ask(
            protocol.SUM, params, Listener(result=told, failed=lambda _: told(None)), shared=True,
            aside=True, hold=selection.hold,
        )  # fmt: skip

    def _show_one(self, entry: Entry) -> None:
        self._entry = entry
        name = shown_name(entry)
        self.name.setText(name)
        self.name.setToolTip(tip(f"{name}\n{printable(entry.path, 4096)}"))
        self.chip.show_kind(entry.kind)
        self.key.setText(printable(entry.key))
        self.key.setToolTip(tip(printable(entry.key)))
        self.key.setAccessibleName(self.tr("Key: {}").format(printable(entry.key)))
        self.notice.tell(None)
        self.problem.tell(user_error(entry.problem, {}) if entry.problem else None)
        orphan = entry.orphan if entry.orphan != entry.problem else None
        self.orphan.tell(user_error(orphan, {}) if orphan else None)
        self._show_facts()
        for pane in (self.graph, self.source, self.factors):
            pane.clear(self.tr("Reading…"))
        self.files.show_files(self._root, [])
        self.summary.verticalScrollBar().setValue(0)
        self.summary.measured.setVisible(scheme_of(self._place).on_disk)
        self.stack.setCurrentWidget(self._one)
        self.sharing.show_entry(self._place, entry)

    def _ask(self) -> None:
        if self._entry is None:
            return
        self.notice.tell(None)

        def told(findings: list[Finding]) -> None:
            for one in findings:
                if "detail" in one and self.detail is None:
                    self._show_detail(one["detail"])

        self._ask_engine(protocol.DETAIL, Listener(findings=told, failed=self._failed))

    def _ask_engine(
        self, op: str, listener: Listener, what: str = "", aside: bool = True, **more: object
    ) -> None:
        """what: of what the latest question alone is heard, where that is not ``op``."""
        if (entry := self._entry) is None:
            return
        about: EntryParams = {"place": self._place, "kind": entry.kind, "path": entry.path}
        self._engines.forget(self._tickets.get(what or op))
        ask, params = self._engines.ask, {**about, **more}
        self._tickets[what or op] = ask(op, params, listener, shared=True, aside=aside)

    def _show_detail(self, told: Told) -> None:
        if (entry := self._entry) is None:
            return
        self.detail = detail = details.detail_of(told)
        # What was too large for the list has been read by now.
        problem = detail.entry.problem or (None if entry.problem in UNREAD else entry.problem)
        self.problem.tell(user_error(problem, {}) if problem else None)
        self._show_facts()
        self.graph.offer(detail.graphs)
        self.source.offer(detail.sources)
        self.factors.offer(detail.factors)
        self.files.show_files(self._root, detail.files)
        # The whole place is looked through for that: texts that are asked for do not wait for it.
        self._ask_engine(protocol.NEEDS, Listener(result=self._show_related), aside=False)

    def _show_related(self, told: Related) -> None:
        if self._entry is not None and self.detail is not None:
            self.related = details.relatives_of(told)
            self._show_facts()

    def show_names(self) -> None:
        """The names of entries that are needed are known by now."""
        if self.stack.currentWidget() is self._one:
            self._show_facts()

    def _show_facts(self) -> None:
        if self._entry is None:
            return
        detail, related = self.detail, self.related
        needs = [*related.needs, *related.needed_by] if related else detail.needs if detail else []
        listed = self._lookup(needs) if needs else {}
        server = scheme_of(self._place).keeps_times
        self.summary.verdict.show_entry(self._entry, self._about)
        told = details.sections(self._entry, detail, listed, related, server=server)
        if self._keys:
            told += vllm.sections(self._keys, [self._entry])
        self.facts.show_sections(told)

    def _failed(self, error: UserError) -> None:
        """Gone, or unreadable: said in place, what was known stays."""
        self.notice.tell(error, again=True)
        for pane in (self.graph, self.source, self.factors):
            pane.clear(error.what)

    def _ask_text(self, what: str, pane: TextPane, name: str, offset: int) -> None:
        listener = Listener(result=pane.page, failed=pane.fail)
        self._ask_engine(protocol.TEXT, listener, what, name=name, offset=offset)

    def _ask_factors(self) -> None:
        pane = self.factors
        self._ask_engine(protocol.FACTORS, Listener(rows=pane.add, failed=pane.fail))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)

    def tell_about(self, about: About) -> None:
        """What the verdicts are about."""
        if about != self._about:
            self._about = about
            if self._entry is not None:
                self.summary.verdict.show_entry(self._entry, about)

    def _copy_key(self) -> None:
        if self._entry is not None:
            QGuiApplication.clipboard().setText(self._entry.key)
