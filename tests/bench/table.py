"""How fast the table is: ``python -m tests.bench.table [rows]`` prints medians and the slowest.

Times are of the main thread itself, so that other programs do not count.

Beside each figure stands a reference from the same run: Python's own work on a plain list of as
many entries, which is the least that could be done.
"""

from __future__ import annotations

import gc
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import Qt, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from tests.bench.measure import Figure
from torchkeeper.artifacts.entry import KINDS, Entry
from torchkeeper.gui.app import application
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.rows import COLUMNS
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.stores.query import parse

ROWS = 200_000
REPEATS = 7
#: Seconds a step may take at 200,000 rows.
SLICE = 0.016
REFERENCES = {"sort": "sorted() of plain numbers", "filter": "“in” over a plain list of keys"}
LIMITS = {"sort": 0.2, "filter": 0.1, "merge": None}


def entries(count: int) -> list[Entry]:
    """Made-up entries, in no order."""
    random.seed(7)
    names = ("addmm, gelu", "triton_poi_fused_add_relu_0", "mm, sin (backward)", None)
    made = []
    for number in range(count):
        kind = KINDS[number % 6]
        digest = f"{random.getrandbits(160):040x}"
        made.append(
            Entry(
                kind=kind,
                key=digest,
                name=names[number % 4] and f"forward_{number % 977}: {names[number % 4]}",
                size=random.randrange(200, 900_000),
                files=1 + number % 9,
                mtime=1.7e9 + random.random() * 1e7,
                torch=(None, "2.13.0", "2.9.1")[number % 3],
                device=("cpu", "cuda:90", None)[number % 3],
                compile_s=random.random() * 9 if number % 3 else None,
                path=f"{kind}/{digest[:2]}/{digest}",
                sha256=digest,
                # As on a server, where alone these columns are shown.
                expires=1.8e9 + number * 7919 % 10_000_019,
                used=1.7e9 + number * 104_729 % 10_000_019,
            )
        )
    return made


def load(model: EntriesModel, made: list[Entry]) -> None:
    """As a listing does, in batches."""
    model.begin()
    for first in range(0, len(made), 500):
        model.add(made[first : first + 500])
    model.end()
    model.settle()


def _sort(table: EntryTable, column: int, number: int) -> None:
    orders = (Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder)
    table.sortByColumn(column, orders[number % 2])


def _filter(model: EntriesModel, texts: tuple[str, ...], number: int) -> None:
    model.filter(parse(texts[number % len(texts)]))


def _matching(keys: list[str], text: str) -> list[str]:
    return [key for key in keys if text in key]


def _arrive(model: EntriesModel, versions: tuple[list[Entry], ...], number: int) -> None:
    made = versions[number % len(versions)]
    model.begin()
    for first in range(0, len(made), 500):
        model.add(made[first : first + 500])
    while model._slices.busy:
        QApplication.processEvents()


def _merge(model: EntriesModel, _versions: tuple[list[Entry], ...], _number: int) -> None:
    over: list[bool] = []
    model.end(lambda: over.append(True))
    while not over:
        QApplication.processEvents()


def _known(made: list[Entry]) -> set[tuple[str, str]]:
    return {entry.identity for entry in made}


class Bench:
    """Runs steps and keeps their times."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, float, float, float]] = []
        self.slices: list[tuple[str, float]] = []

    def step(
        self,
        group: str,
        name: str,
        work: Callable[[int], object],
        reference: Callable[[], object],
        before: Callable[[int], object] = lambda _: None,
    ) -> None:
        """Time a step with all the repainting it causes, and its reference."""
        times, references = [], []
        for number in range(REPEATS):
            begun = time.thread_time()
            reference()
            references.append(time.thread_time() - begun)
            before(number)
            QApplication.processEvents()
            begun = time.thread_time()
            work(number)
            QApplication.processEvents()
            times.append(time.thread_time() - begun)
        middle = statistics.median(times)
        self.lines.append((group, name, middle, max(times), statistics.median(references)))

    def report(self, rows: int) -> bool:
        """Print the table; whether all limits were kept."""
        print(f"{rows:,} rows, medians of {REPEATS} in ms, each with its repaint")
        print(f"{'':<34}{'median':>9}{'slowest':>9}{'plain':>9}{'ratio':>7}{'limit':>7}")
        kept = True
        for group, name, middle, slowest, reference in self.lines:
            limit = LIMITS[group]
            over = limit is not None and rows <= ROWS and middle > limit
            kept = kept and not over
            print(
                f"{group + ' ' + name:<34}{middle * 1e3:>9.1f}{slowest * 1e3:>9.1f}"
                f"{reference * 1e3:>9.1f}{middle / reference:>7.1f}"
                f"{'' if limit is None else format(limit * 1e3, '.0f'):>7}"
                f"{'  OVER' if over else ''}"
            )
        return kept


def measured(rows: int = ROWS) -> Bench:
    """Run all steps."""
    qInstallMessageHandler(
        lambda kind, _, text: None if kind == QtMsgType.QtWarningMsg else sys.stderr.write(text)
    )
    gc.set_threshold(200_000, 10, 10)  # as cli.main does
    application()
    made = entries(rows)
    model = EntriesModel()
    table = EntryTable(model)
    table.resize(1200, 700)
    table.show()
    load(model, made)
    table.select({entry.identity for entry in made[:50]})
    table.setCurrentIndex(model.index(9, 0))
    bench = Bench()
    keys = [entry.key for entry in made]
    sizes = [entry.size for entry in made]
    for column, name in enumerate(COLUMNS):
        bench.step(
            "sort",
            f"by {name}",
            partial(_sort, table, column),
            partial(sorted, sizes),
        )
    for texts in (
        ("f", "fo", "for", "forw", "forwa", "forwar", "forward"),
        ("f0", "f0a", "f0ab", "f0ab1", "f0ab", "f0a", "f0"),
        ("relu", "", "relu", "", "relu", "", "relu"),
        ("kind:code", "kind:triton", "size>500k", "age>1d", "-relu", "torch:2.13", "is:broken"),
    ):
        name = f"“{texts[0]}” to “{texts[-1]}”"
        bench.step(
            "filter",
            name,
            partial(_filter, model, texts),
            partial(_matching, keys, texts[0]),
        )
    model.filter(parse(""))
    changed = [entry._replace(size=entry.size + 1) for entry in made[:20]] + made[20:]
    extra = entries(rows + 40)[-40:]
    scenes: tuple[tuple[str, tuple[list[Entry], ...]], ...] = (
        ("of the same", (made,)),
        ("with 20 changed", (changed, made)),
        ("with 40 more or less", (made + extra, made)),
    )
    for name, versions in scenes:
        bench.step("merge", name, partial(_merge, model, versions), partial(_known, made),
                   partial(_arrive, model, versions))  # fmt: skip
    bench.slices = slices(model, scenes)
    table.close()
    return bench


def slices(
    model: EntriesModel, scenes: tuple[tuple[str, tuple[list[Entry], ...]], ...]
) -> list[tuple[str, float]]:
    """The longest turn of the event loop while a refresh is worked in, in seconds."""
    found = []
    for name, versions in scenes:
        longest = []
        for number in range(REPEATS):
            _arrive(model, versions, number)
            over: list[bool] = []
            turns = []
            model.end(lambda over=over: over.append(True))  # type: ignore[misc]
            while not over:
                begun = time.thread_time()
                QApplication.processEvents()
                turns.append(time.thread_time() - begun)
            longest.append(max(turns, default=0.0))
        found.append((name, statistics.median(longest)))
    return found


def figures(rows: int = ROWS) -> list[Figure]:
    """The slowest steps by their medians, each beside its reference, and the longest slices."""
    bench = measured(rows)
    found = []
    for group, limit in LIMITS.items():
        lines = [line for line in bench.lines if line[0] == group]
        if limit is not None:
            _, name, middle, _, reference = max(lines, key=lambda line: line[2])
            what = f"{group} {rows:,} rows {name}"
            found.append(Figure(what, middle, reference, None, REFERENCES[group], limit))
    plain = statistics.median(line[4] for line in bench.lines if line[0] == "merge")
    for name, longest in bench.slices:
        what = f"longest slice of a merge {name}"
        found.append(Figure(what, longest, plain, None, "a set of what is known, at once", SLICE))
    return found


def main(rows: int = ROWS) -> int:
    """Run all steps and print them."""
    bench = measured(rows)
    kept = bench.report(rows)
    for name, longest in bench.slices:
        print(f"longest slice of a merge {name}: {longest * 1e3:.1f} ms (aim: under 16)")
        kept = kept and (longest < SLICE or rows > ROWS)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS))
