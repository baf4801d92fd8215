"""How late the main thread is while rows stream in: ``python -m tests.bench.streaming [rows]``.

An engine of its own process says rows as fast as it can. In one run the window shows them. In the
other, the reference, an empty window lives in a process with the same worker: it hears, checks
and builds the same entries and brings them to the main thread in the same batches, where a
listener drops them.

What is measured is by how much a precise timer of 16 ms is late, tick by tick, from the request
until a second after the last row is heard and, in the window, shown and sorted. The window's run
is the longer one, for it has all of that to do; its percentiles are of more ticks. Runs take
turns, so that both kinds see the same machine; a figure is the median of its runs.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QSettings, Qt, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QMainWindow

from tests.bench import measure
from tests.bench.measure import Figure
from tests.bench.table import ROWS, entries
from torchkeeper.engine import protocol
from torchkeeper.engine.messages.places import ListResult
from torchkeeper.gui.app import application
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.window import Window

_TICK = 0.016
#: Seconds the timer may be late at most, on an idle machine.
MOST = 0.05
#: How many times as late as over the empty window; the latest tick of all is that of one picture
#: of the whole window, which an empty one never draws again, and only MOST holds for it.
RATIO = 3.0

_SPEAK = """#!/bin/sh
exec {python} -c '
import sys
out = sys.stdout.buffer
out.write(b"{{\\"type\\":\\"hello\\",\\"protocol\\":{protocol}}}\\n")
out.flush()
for line in sys.stdin:
    if "\\"list\\"" in line:
        out.write(open("{rows}", "rb").read())
    else:
        out.write(b"{{\\"type\\":\\"result\\",\\"id\\":1,\\"result\\":{{}}}}\\n")
    out.flush()
'
"""


def engine(folder: Path, rows: int) -> Path:
    """A program that speaks as an engine does, and lists made-up entries."""
    made = entries(rows)
    with (folder / "rows").open("wb") as file:
        for first in range(0, rows, protocol.MAX_ROWS):
            batch = [entry.to_json() for entry in made[first : first + protocol.MAX_ROWS]]
            file.write(protocol.encode({"type": "rows", "id": 1, "rows": batch}))
        result: ListResult = {"mark": "x", "trash": None, "unread": 0, "entries": rows}
        result["bytes"] = sum(entry.size for entry in made)
        assert not protocol.misfit(ListResult, result, "result")
        file.write(protocol.encode({"type": "result", "id": 1, "result": result}))
    program = folder / "engine"
    text = _SPEAK.format(python=sys.executable, protocol=protocol.PROTOCOL, rows=folder / "rows")
    program.write_text(text)
    program.chmod(0o700)
    return program


class _Fed(Engines):
    """Engines whose listings come from another program."""

    def __init__(self, program: str) -> None:
        super().__init__()
        self._program = program

    def ask(self, op: str, params: Mapping[str, Any], listener: Listener, **how: Any) -> int:
        if op == "list":
            how = {"python": self._program}
        return super().ask(op, params, listener, **how)


class Lateness:
    """By how much a timer is late, tick by tick."""

    def __init__(self) -> None:
        self.late: list[float] = []
        self._last = time.perf_counter()
        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(round(_TICK * 1000))
        self._timer.timeout.connect(self._tick)

    def begin(self) -> None:
        self._last = time.perf_counter()
        self._timer.start()

    def _tick(self) -> None:
        now = time.perf_counter()
        self.late.append(max(0.0, now - self._last - _TICK))
        self._last = now


def watch(program: str, rows: int, shown: bool) -> dict[str, float]:
    """One run in this process: seconds late (median, 99th percentile, most), and more."""
    qInstallMessageHandler(
        lambda kind, _, text: None if kind == QtMsgType.QtWarningMsg else sys.stderr.write(text)
    )
    gc.set_threshold(200_000, 10, 10)  # as cli.main does
    app = application()
    engines = _Fed(program)
    lateness = Lateness()
    took: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        settings = QSettings(str(Path(folder) / "settings.ini"), QSettings.Format.IniFormat)
        window = Window(settings, engines) if shown else QMainWindow()
        if isinstance(window, Window):
            # It would list what it finds on this machine, and have that to free when it begins.
            window.places_pane.blockSignals(True)
        window.resize(1360, 800)
        window.show()
        begun = 0.0

        def over(*_: object) -> None:
            took.append(time.perf_counter() - begun)
            # What follows the end, such as the sorting of it all, is part of it.
            QTimer.singleShot(1000, app.quit)

        def begin() -> None:
            nonlocal begun
            begun = time.perf_counter()
            lateness.begin()
            if isinstance(window, Window):
                window.listing.over.connect(over)
                window.listing.show(folder)
            else:
                load = Listener(rows=lambda _: None, result=over)
                engines.ask("list", {}, load, shared=True)

        QTimer.singleShot(1500, begin)
        app.exec()
        if isinstance(window, Window):
            assert window.entries.count == rows
            sizes = [entry.size for entry in window.entries.shown()]
            assert sizes == sorted(sizes, reverse=True)
    late = sorted(lateness.late)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    result = {
        "median": statistics.median(late),
        "p99": late[int(len(late) * 0.99)],
        "most": late[-1],
        "seconds": took[0],
        "memory": memory,
    }
    print(json.dumps(result), flush=True)
    engines.stop()
    engines.join(10)
    os._exit(0)


def _runs(rows: int, times: int) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    found: dict[str, list[dict[str, float]]] = {"window": [], "empty": []}
    with tempfile.TemporaryDirectory(prefix="torchkeeper-bench-") as folder:
        program = engine(Path(folder), rows)
        for _ in range(times):
            for which, runs in found.items():
                command = [sys.executable, "-m", "tests.bench.streaming", which, str(program)]
                done = subprocess.run(
                    [*command, str(rows)], stdout=subprocess.PIPE, text=True, check=True
                )
                runs.append(json.loads(done.stdout))
    return found["window"], found["empty"]


def figures(rows: int = ROWS, times: int = 3) -> list[Figure]:
    """How late the timer is over the window, beside an empty one under the same load."""
    ours, empty = _runs(rows, times)
    found = []
    for name, what, limit in (
        ("median", "at the median", RATIO),
        ("p99", "99 of 100 times under", RATIO),
        ("most", "at most", None),
    ):
        mine = statistics.median(run[name] for run in ours)
        other = statistics.median(run[name] for run in empty)
        found.append(
            Figure(f"16 ms timer while {rows:,} rows stream in, late {what}", mine, other, limit,
                   "an empty window, same worker", MOST)
        )  # fmt: skip
    memory = max(run["memory"] for run in ours)
    seconds = statistics.median(run["seconds"] for run in ours)
    bare = statistics.median(run["seconds"] for run in empty)
    print(f"memory of the window with {rows:,} rows: {memory:.0f} MB (aim: under 400 MB)")
    print(f"all rows shown and sorted after {seconds:.1f} s; heard and passed over in {bare:.1f} s")
    return found


def main(rows: int = ROWS) -> int:
    """Measure and print."""
    return 0 if measure.show(figures(rows)) else 1


if __name__ == "__main__":
    if len(sys.argv) == 4:
        watch(sys.argv[2], int(sys.argv[3]), sys.argv[1] == "window")
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS))
