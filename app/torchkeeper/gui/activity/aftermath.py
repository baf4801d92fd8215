"""What came of a job besides words: the tables of a verification, and what is to be set then."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeWidgetItem, QWidget

from torchkeeper.client.words import preparing, say, tongue, verifying
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.jobs.laps import Lap, progress, title, tr
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.widgets import forms, lists
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.warm.options import RUNS

if TYPE_CHECKING:
    from torchkeeper.client.kept.verified import KeptGraph, KeptVariant, KeptVerification

#: The shade of each outcome.
_SHADES = {"hit": "good", "miss": "warning", "bypass": "muted"}
#: Variants that are listed.
_VARIANTS = 500
#: The last column of variants, and how wide their names are beside it; and a time: 59 min 59 s.
_WHY, _NAME_WIDE, _TIME_WIDE = 5, 272, 96
_MARK = Qt.ItemDataRole.UserRole


class _Table(lists.Table):
    """Rows to be read, not to be chosen: the first column takes the room that is left."""

    def __init__(self, name: str, columns: Sequence[str], widths: Sequence[int], wide: int) -> None:
        super().__init__(name, columns)
        self.setAllColumnsShowFocus(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        lists.columns(self, widths, wide)
        theme.follow(self, self._paint, now=False)

    def fit(self, rows: int) -> None:
        """Be as high as so many rows, and no higher."""
        row = max(self.sizeHintForRow(0), 20)
        self.setFixedHeight(self.header().sizeHint().height() + row * rows + 6)

    def _paint(self) -> None:
        """The marks, in the colours of the theme."""


class RunningLaps(_Table):
    """The runs while they run: how far each is, and what it has found until now."""

    def __init__(self) -> None:
        headings = [tr("Run"), tr("What it found"), tr("Time")]
        super().__init__(tr("Runs of the verification"), headings, (190, 0, _TIME_WIDE), 1)
        lists.right(self, (2,))

    def show_laps(self, laps: Sequence[Lap], now: float) -> None:
        """Bring it up to date; ``now``: on the clock of time.monotonic."""
        if self.topLevelItemCount() != len(laps):
            self.clear()
            for lap in laps:
                item = lists.line((title(lap.name), "", ""), numbers=(2,))
                item.setToolTip(0, tip(verifying.about(lap.name)))
                self.addTopLevelItem(item)
        for item, lap in zip(self.items(), laps, strict=True):
            item.setText(1, progress(lap))
            took = lap.seconds
            if took is None and lap.began is not None:
                took = now - lap.began
            item.setText(2, "" if took is None else say.seconds(took))
            state = "queued" if took is None else "running" if lap.seconds is None else "done"
            item.setData(0, _MARK, state)
        self._paint()
        self.fit(len(laps))  # with the marks, which may be higher than the words

    def _paint(self) -> None:
        shades = theme.shades()
        colours = {"queued": shades.muted, "running": shades.accent, "done": shades.good}
        for item in self.items():
            state = str(item.data(0, _MARK) or "queued")
            item.setIcon(0, theme.icon(state, colours[state]))


class LapTable(_Table):
    """The runs when they are over: how long each took, and how many times as fast it was."""

    def __init__(self) -> None:
        super().__init__(
            tr("What each run took"),
            [tr("Run"), tr("Time"), tr("Against cold"), tr("Against mega"),
             tr("Misses"), tr("Rebuilt")],
            (0, _TIME_WIDE, 0, 0, 0, 0), 0,
        )  # fmt: skip
        lists.right(self, range(1, 6))

    def show_result(self, result: KeptVerification) -> None:
        """Show what came of a verification (``client.kept.verified.checked``)."""
        self.clear()
        runs = result["runs"]
        for name in (name for name in RUNS if name in runs):
            run, own = runs[name], name in ("warm", "prepared")
            cells = [title(name), say.seconds(run["seconds"])]
            for other in ("cold", "mega"):
                ratio = result["ratios"].get(f"{name}_{other}")
                cells.append("–" if ratio is None else f"{ratio:.1f}×")
            missed, besides = run["misses"], run["autograd"]["misses"] - run["unwritten"]
            cells.append(f"{missed:,} + {besides:,}" if besides else f"{missed:,}")
            cells.append(f"{run['rebuilt']:,}" if own else "–")
            item = lists.line(cells, numbers=range(1, len(cells)))
            if besides:
                graphs = say.count(missed, "graph", "graphs")
                hint = tr("{}, and {} of AOTAutograd, which holds them")
                item.setToolTip(4, tip(hint.format(graphs, say.count(besides, "entry", "entries"))))
            item.setToolTip(0, tip(verifying.about(name)))
            item.setData(0, _MARK, own)
            self.addTopLevelItem(item)
        self.setColumnHidden(3, "mega" not in runs)
        self._paint()
        self.fit(self.topLevelItemCount())

    def _paint(self) -> None:
        shades = theme.shades()
        for item in self.items():
            own = bool(item.data(0, _MARK))
            font = item.font(0)
            font.setBold(own)
            for column in range(self.columnCount()):
                item.setFont(column, font)
            for column in (4, 5):
                bad = own and item.text(column) not in ("0", "–")
                item.setForeground(column, QColor(shades.warning if bad else shades.text))


class VerifiedVariants(_Table):
    """The variants of a verification: how long each took cold and warm, and what it lacks."""

    def __init__(self) -> None:
        super().__init__(
            tr("Variants of the verification"),
            [tr("Variant"), tr("Cold"), tr("Warm"), tr("Ratio"), tr("Outcome"), tr("Why")],
            (_NAME_WIDE, _TIME_WIDE, _TIME_WIDE, 72, 168, 0), _WHY,
        )  # fmt: skip
        lists.right(self, range(1, 4))

    def show_variants(self, variants: Sequence[KeptVariant]) -> None:
        """Those that are not good first; ``variants``: as ``client.kept.verified.checked`` says."""
        self.clear()
        several, items = len({variant["recipe"] for variant in variants}) > 1, []
        for variant in sorted(variants, key=lambda one: one["good"])[:_VARIANTS]:
            name, recipe = printable(variant["name"], 200), printable(variant["recipe"], 80)
            if several and not name.startswith(recipe):
                name = f"{recipe} · {name}"
            took, ratios = variant["seconds"], variant["ratios"]
            last = took.get("prepared", took.get("warm"))
            ratio = ratios.get("prepared_cold", ratios.get("warm_cold"))
            cold, warm = ("–" if x is None else say.seconds(x) for x in (took.get("cold"), last))
            times = "–" if ratio is None else f"{ratio:.1f}×"
            why = printable(verifying.why_of_variant(variant), 1000)
            texts = name, cold, warm, times, _found(variant), why
            item = lists.line(texts, numbers=(1, 2, 3), tips=(0, _WHY))
            item.setData(0, _MARK, variant["good"])
            items.append(item)
        if len(variants) > _VARIANTS:
            more = QTreeWidgetItem([tr("and {} more").format(f"{len(variants) - _VARIANTS:,}")])
            more.setFirstColumnSpanned(True)
            items.append(more)
        self.addTopLevelItems(items)
        # Where there is nothing to explain, the names have the room.
        explained = any(item.text(_WHY) for item in items)
        self.setColumnHidden(_WHY, not explained)
        modes = QHeaderView.ResizeMode
        self.header().setSectionResizeMode(0, modes.Interactive if explained else modes.Stretch)
        if explained:
            self.header().resizeSection(0, _NAME_WIDE)
        self._paint()

    def _paint(self) -> None:
        shades = theme.shades()
        good, bad = theme.icon("done", shades.good), theme.icon("error", shades.warning)
        colours = QColor(shades.text), QColor(shades.warning)
        for item in self.items():
            if (mark := item.data(0, _MARK)) is not None:
                item.setIcon(0, good if mark else bad)
                item.setForeground(4, colours[not mark])


def _found(variant: KeptVariant) -> str:
    if proof := variant["proof"]:
        return tr("{} of {} found").format(f"{proof['found']:,}", f"{proof['of']:,}")
    if variant["problem"] is not None:
        return tr("could not be run")
    parts = [say.lookups(variant["hits"], variant["misses"])]
    if variant["rebuilt"]:
        parts.append(tr("{} built").format(f"{variant['rebuilt']:,}"))
    return ", ".join(parts)


class GraphTable(_Table):
    """The graphs of a run, and whether PyTorch found each."""

    def __init__(self) -> None:
        super().__init__(
            tr("Graphs that PyTorch looked up"), [tr("Compiled for"), tr("Graph"), tr("Outcome")],
            (0, 168, 168), 0,
        )  # fmt: skip

    def show_graphs(self, rows: Sequence[KeptGraph]) -> None:
        """Those that missed first; ``rows``: as a result has them."""
        self.clear()
        words = {"hit": tr("hit"), "miss": tr("miss, compiled"), "bypass": tr("not cacheable"),
                 "none": tr("no cache asked")}  # fmt: skip
        for row in sorted(rows, key=lambda one: one["outcome"] == "hit"):
            texts = row["id"], row["name"], row["outcome"]
            ident, name, outcome = (printable(text, 200) for text in texts)
            item = lists.line((name, ident, words.get(outcome, outcome)), tips=(0,))
            item.setData(0, _MARK, outcome)
            self.addTopLevelItem(item)
        self._paint()

    def _paint(self) -> None:
        for item in self.items():
            outcome = str(item.data(0, _MARK))
            shade = getattr(theme.shades(), _SHADES.get(outcome, "text"))
            icon = {"hit": "done", "miss": "warning"}.get(outcome, "info")
            item.setForeground(2, QColor(shade))
            item.setIcon(2, theme.icon(icon, shade))


class Aftermath(QWidget):
    """The runs of a verification while they run; what each job that is done has to show."""

    #: The environment is to be prepared: the interpreter.
    prepare = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._python = ""
        self.laps = RunningLaps()
        self.table = LapTable()
        self.variants_title = forms.label(self.tr("Variants"), "heading")
        self.variants = VerifiedVariants()
        self.variants_title.setBuddy(self.variants)
        self.graphs_title = forms.label(self.tr("Graphs"), "heading")
        self.graphs = GraphTable()
        self.graphs_title.setBuddy(self.graphs)
        self.condition = forms.label(preparing.portable_condition(), wrap=True)
        self.why = forms.label(tongue.tr(preparing.WHY), wrap=True)
        self.snippet = forms.label(preparing.SNIPPET)
        forms.selectable(self.snippet, keys=True)
        self.snippet.setAccessibleName(self.tr("Set this where programs run"))
        theme.follow(self.snippet, lambda: self.snippet.setFont(theme.monospace()))
        hint = self.tr("Copy the line to the clipboard")
        copy = forms.button(self.tr("Cop&y"), self._copy, hint, enter=False)
        shell = forms.row((self.snippet, 1), copy, gap=12, margin=(12, 8, 8, 8))
        self._shell = forms.frame("hint", shell)
        self.offer = forms.button(self.tr("&Prepare this environment…"), enter=False)
        self.offer.clicked.connect(lambda: self.prepare.emit(self._python))
        line = forms.row(self.offer, forms.REST)
        whole = forms.column(self.laps, self.table, self.variants_title, (self.variants, 1))
        forms.add(whole, self.graphs_title, (self.graphs, 1), self.condition, self._shell)
        forms.add(whole, self.why, line, forms.REST)
        whole.setContentsMargins(0, 8, 0, 0)
        self.setLayout(whole)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.snippet.text())

    def tick(self, job: Job) -> None:
        """Say how far the runs are by now."""
        if job.active and job.laps:
            self.laps.show_laps(job.laps, time.monotonic())

    def show_job(self, job: Job | None) -> bool:
        """Show what there is; False where there is nothing."""
        done = job is not None and job.state is State.DONE
        runs = job is not None and job.active and bool(job.laps)
        verified = portable = offered = False
        if job is not None and done:
            some = not job.traits.brings_code or bool(job.result.get("entries"))
            verified = job.traits.proves
            portable = some and job.asked.get("portable", False)
            self._python = job.asked.get("python", "")
            offered = some and job.asked.get("offer_prepare", False) and bool(self._python)
        for widget, seen in (
            (self.laps, runs), (self.table, verified),
            (self.variants_title, False), (self.variants, False),
            (self.graphs_title, False), (self.graphs, False),
            (self.condition, portable), (self._shell, portable),
            (self.why, offered), (self.offer, offered),
        ):  # fmt: skip
            widget.setVisible(seen)
        if job is not None and verified:
            self._verified(job.result)
        return runs or verified or portable or offered

    def _verified(self, result: KeptVerification) -> None:
        variants = result["variants"]
        several = len(variants) > 1
        # The graphs of all variants in one list would say nothing.
        rows = [] if several else result["rows"]
        if several:
            self.variants.show_variants(variants)
            self.variants.setMinimumHeight(36 + 28 * min(len(variants), 5))
        self.table.show_result(result)
        self.graphs.show_graphs(rows)
        self.graphs.setMinimumHeight(36 + 28 * min(len(rows), 4))
        for widget in (self.variants_title, self.variants):
            widget.setVisible(several)
        for shown in (self.graphs_title, self.graphs):
            shown.setVisible(bool(rows))
