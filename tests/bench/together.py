"""How late the main thread is while everything happens at once: ``python -m tests.bench.together``.

Half a million entries load into the table, a Redis of a million keys is scanned, and two warm-ups
compile. The reference is an empty window under the same load: in a process with the same worker,
which hears the same rows and the same jobs, and shows nothing. Runs take turns; a figure is the
median of its runs.
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
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QSettings, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QMainWindow

from tests.bench import measure, streaming
from tests.bench.measure import Figure
from tests.bench.servers import fill
from tests.redis_server import serving
from torchkeeper.gui.app import application
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.jobs.model import JobsModel
from torchkeeper.gui.jobs.operations import Operations
from torchkeeper.gui.pages import ENTRIES
from torchkeeper.gui.window import PAGE, Window

ROWS, KEYS, WARMS = 500_000, 1_000_000, 2
#: How many times as late as over the empty window the timer may be.
RATIO = 1.5
#: Milliseconds that the warm-ups run before the rest begins: their interpreters load torch.
_AHEAD_MS = 6000


def watch(program: str, server: str, rows: int, shown: bool) -> None:
    """One run in this process; prints what was seen as JSON."""
    qInstallMessageHandler(
        lambda kind, _, text: None if kind == QtMsgType.QtWarningMsg else sys.stderr.write(text)
    )
    gc.set_threshold(200_000, 10, 10)  # as cli.main does
    app = application()
    engines = streaming._Fed(program)
    lateness = streaming.Lateness()
    took: dict[str, float] = {}
    scanned = 0
    python = os.environ.get("TORCHKEEPER_TORCH_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        settings = QSettings(str(Path(folder) / "settings.ini"), QSettings.Format.IniFormat)
        settings.setValue(PAGE, ENTRIES)
        window = Window(settings, engines) if shown else QMainWindow()
        if isinstance(window, Window):
            # It would list what it finds on this machine, and have that to free when it begins.
            window.places_pane.blockSignals(True)
        window.resize(1360, 800)
        window.show()
        # One after the other would be the rule; here both are to run, each by a list of its own.
        lists = [window.jobs if isinstance(window, Window) else JobsModel(), JobsModel()]
        operations = [Operations(engines, jobs, app) for jobs in lists[:WARMS]]
        scanning = Engines()
        begun = 0.0

        def heard(some: list[object]) -> None:
            nonlocal scanned
            scanned += len(some)

        def over(what: str) -> None:
            took[what] = time.perf_counter() - begun
            if len(took) == 2:
                # What follows the end, such as the sorting of it all, is part of it. Not ``quit``:
                # the window would ask about the jobs.
                QTimer.singleShot(1000, lambda: app.exit(0))

        def begin() -> None:
            nonlocal begun
            begun = time.perf_counter()
            lateness.begin()
            scan = Listener(rows=heard, result=lambda _: over("scan"))
            scanning.ask("list", {"place": server}, scan, shared=True)
            if isinstance(window, Window):
                window.listing.over.connect(lambda *_: over("rows"))
                window.listing.show(folder)
            else:
                load = Listener(rows=lambda _: None, result=lambda _: over("rows"))
                engines.ask("list", {}, load, shared=True)

        def warm() -> None:
            for number, one in enumerate(operations):
                one.warm(python, ["builtin"], str(Path(folder) / f"warm-{number}"))

        QTimer.singleShot(1500, warm)
        QTimer.singleShot(1500 + _AHEAD_MS, begin)
        app.exec()
        compiling = sum(len(jobs.active) for jobs in lists)
        if isinstance(window, Window):
            assert window.entries.count == rows
        late = sorted(lateness.late)
        print(
            json.dumps(
                {
                    "median": statistics.median(late),
                    "p99": late[int(len(late) * 0.99)],
                    "most": late[-1],
                    **took,
                    "scanned": scanned,
                    "compiling": compiling,
                    "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
                }
            ),
            flush=True,
        )
        for one in (engines, scanning):
            one.stop()
            one.join(20)
    os._exit(0)


def figures(rows: int = ROWS, keys: int = KEYS, times: int = 3) -> list[Figure]:
    """How late the timer is over the window, beside an empty one under the same load."""
    runs: dict[str, list[dict[str, float]]] = {"window": [], "empty": []}
    with (
        tempfile.TemporaryDirectory(prefix="torchkeeper-bench-") as folder,
        serving(Path(folder) / "redis") as server,
    ):
        fill(server, keys)
        program = streaming.engine(Path(folder), rows)
        for _ in range(times):
            for which, found in runs.items():
                command = [sys.executable, "-m", "tests.bench.together", which, str(program),
                           server.url, str(rows)]  # fmt: skip
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                found.append(json.loads(done.stdout.splitlines()[-1]))
                assert found[-1]["scanned"] == keys, found[-1]
    for which, found in runs.items():
        print(which, *(json.dumps(run) for run in found), sep="\n  ")
    load = f"{rows:,} entries load, {keys:,} keys are scanned, {WARMS} warm-ups run"
    made = []
    for name, what in (
        ("median", "at the median"), ("p99", "99 of 100 times under"), ("most", "at most"),
    ):  # fmt: skip
        ours, empty = (statistics.median(run[name] for run in found) for found in runs.values())
        text = f"{load}: 16 ms timer late {what}"
        made.append(Figure(text, ours, empty, RATIO, "an empty window, same load"))
    return made


def main(times: int = 3) -> int:
    """Measure and print."""
    return 0 if measure.show(figures(times=times)) else 1


if __name__ == "__main__":
    if len(sys.argv) == 5:
        watch(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[1] == "window")
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3))
