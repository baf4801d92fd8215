"""What the page of the runs shows of each: its line, its graphs, and all runs together."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QTreeWidgetItem

from torchkeeper.client.kept.runs import TOTALS, Kept, Run
from torchkeeper.client.words import causes, say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.jobs.model import Job, State, state_text
from torchkeeper.gui.matrix.variants import outcome_words
from torchkeeper.gui.widgets import lists
from torchkeeper.gui.widgets.lists import CopyKey, Fitted
from torchkeeper.gui.widgets.plain import tip

_tr = partial(QCoreApplication.translate, "RunsPage")

WHEN, COMMAND, HITS, MISSES, BYPASSES, SPENT, SAVED, EXIT = range(8)
OUTCOME, GRAPH, FUNCTION, TIME, WHY = range(5)


def run_of(job: Job) -> Run:
    """A program that the window runs, or ran, as a run; its id is no kept one's."""
    graphs = list(job.graphs.values())
    totals = dict.fromkeys(TOTALS, 0.0)
    for graph in graphs:
        hit = graph["outcome"] == "hit"
        counts = {"hit": "hits", "miss": "misses", "bypass": "bypasses"}
        for name in ("graphs", counts.get(graph["outcome"]), graph.get("where")):
            if name in totals:
                totals[name] += 1
        totals["saved" if hit else "spent"] += graph["seconds"] or 0
    command, code = tuple(job.asked.get("command", ())), int(job.result.get("code", 0))
    at, seconds = job.started or time.time(), 0 if job.active else job.elapsed(0) or 0
    return Run(f"job {job.id}", at, command, job.place or "", code, seconds, None, totals, graphs)


def ended(job: Job) -> str:
    """How a program ended, or that it runs, in a word or a number."""
    if job.active or job.goes_on:
        return _tr("runs") if job.active else _tr("goes on")
    words = {State.CANCELLED: _tr("cancelled"), State.FAILED: _tr("failed")}
    return words.get(job.state) or str(job.result.get("code", 0))


def about(job: Job) -> str:
    """What a program is at that is no kept run; why nothing is kept of it."""
    if job.error and job.goes_on:
        return f"{job.error.what} {job.error.remedy}"
    return job.run.nothing if job.run is not None else state_text(job)


def _copy(rows: Fitted) -> None:
    """Copy the selected rows whole: a line each, with tabs between their cells."""
    some = sorted(rows.selectedItems(), key=rows.indexOfTopLevelItem)
    lines = ["\t".join(item.text(n) for n in range(rows.columnCount())) for item in some]
    QGuiApplication.clipboard().setText("\n".join(lines))


def tree(
    name: str, columns: list[str], wide: int, right: frozenset[int], leaves: Sequence[int]
) -> Fitted:
    made = Fitted(wide, leaves)
    made.setAccessibleName(name)
    made.setRootIsDecorated(False)
    made.setUniformRowHeights(True)
    made.setAllColumnsShowFocus(True)
    made.head(columns, right, ())
    CopyKey(made, partial(_copy, made))
    return made


def command_of(run: Run) -> str:
    return printable(run.line, 1000)


def tell_run(item: QTreeWidgetItem, run: Run, ended: str) -> None:
    """Have a line say what a run came to; ended: how."""
    totals = run.totals
    counts = (f"{totals[name]:,.0f}" for name in ("hits", "misses", "bypasses"))
    times = say.seconds(totals["spent"]), say.seconds(totals["saved"])
    texts = say.when(run.at)[:-3], command_of(run), *counts, *times, ended
    for column, text in enumerate(texts):
        item.setText(column, text)
        if HITS <= column <= EXIT:
            item.setTextAlignment(column, lists.RIGHT)
    item.setToolTip(COMMAND, tip(texts[COMMAND]))


def nearest(graph: Mapping[str, object]) -> str:
    """The key of the entry that is most like a graph; of a kept run, and of one that just ran."""
    cause = graph.get("cause")
    found = cause.get("nearest") if isinstance(cause, dict) else graph.get("nearest")
    return found if isinstance(found, str) else ""


def graph_item(graph: Mapping[str, object]) -> QTreeWidgetItem:
    outcome = printable(str(graph.get("outcome")), 20)
    said, where = outcome_words(outcome), causes.place(graph)
    said = _tr("{}, {}").format(said, where) if where else said
    ident, why = printable(str(graph.get("id")), 80), printable(str(graph.get("why") or ""), 2000)
    shown = said, ident, causes.named(graph), causes.seconds(graph), say.unmarked(why)
    item = lists.line(shown, tips=(FUNCTION, WHY))
    item.setData(OUTCOME, Qt.ItemDataRole.UserRole, outcome)
    item.setData(GRAPH, Qt.ItemDataRole.UserRole, graph)
    # Where there is little room, these have no column.
    beside = (text for column in (GRAPH, TIME) if (text := item.text(column)))
    item.setToolTip(OUTCOME, tip(" · ".join(beside)))
    return item


def head(run: Run) -> str:
    torch = _tr("torch {}").format(printable(run.torch, 40)) if run.torch else ""
    took = _tr("took {}").format(say.seconds(run.seconds)) if run.seconds else ""
    parts = command_of(run), torch, printable(run.place), took, run.shortened
    return " · ".join(filter(None, parts))


def totals_of(kept: Kept) -> str:
    if not kept.runs and not kept.damaged:
        return ""
    totals = {name: sum(run.totals[name] for run in kept.runs) for name in TOTALS}
    said = _tr("{} · {}").format(
        say.count(len(kept.runs), "kept run", "kept runs"), causes.summary(totals)
    )
    if kept.damaged:
        said += _tr(" · {} could not be read").format(say.count(kept.damaged, "file", "files"))
    return said
