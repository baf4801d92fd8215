"""The window on a big Redis, in a process of its own: ``python -m tests.bench.serverwindow``.

In one run the window shows the server, is scrolled while it is scanned and again when all is
there. In the other, the reference, an empty window in a process with the same worker hears the
same rows and drops them.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QSettings, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QMainWindow

from tests.bench.streaming import Lateness
from tests.bench.tree import Tree
from torchkeeper.gui.app import application
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.gui.window import Window

#: Milliseconds between two steps of the scroll bar, and steps from one end to the other.
_SCROLL_MS, _STEPS = 40, 150


class _Counted(Engines):
    """Engines that count what they are asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, int]] = []

    def ask(self, op: str, params: Mapping[str, Any], listener: Listener, **how: Any) -> int:
        self.asked.append((op, len(params.get("items") or ())))
        return super().ask(op, params, listener, **how)


class _Watched:
    """One window, what it is asked to do, and when what happened."""

    def __init__(self, server: str, engines: _Counted, shown: bool) -> None:
        self.server = server
        self.engines = engines
        self.app = application()
        self.lateness = Lateness()
        self.begun = 0.0
        self.painted = 0.0
        self.took = 0.0
        self.waits: list[float] = []
        self.window: Window | QMainWindow
        folder = self.folder = tempfile.mkdtemp(prefix="torchkeeper-bench-")
        if shown:
            settings = QSettings(str(Path(folder) / "settings.ini"), QSettings.Format.IniFormat)
            self.window = Window(settings, engines)
            self.window.places.add(server)
            self.window.places_pane.choose(folder)
            self.window.listing.over.connect(self._over)
            self._watch_paints()
        else:
            self.window = QMainWindow()
        self.window.resize(1360, 800)
        self.window.show()
        self._scroll = QTimer()
        self._scroll.setInterval(_SCROLL_MS)
        self._scroll.timeout.connect(self._step)
        self._steps = 0

    def _watch_paints(self) -> None:
        paint = EntryTable.paintEvent
        watched = self

        def painted(table: EntryTable, event: QPaintEvent) -> None:
            paint(table, event)
            if watched.begun and not watched.painted and table.model().rowCount():
                watched.painted = time.perf_counter() - watched.begun

        setattr(EntryTable, "paintEvent", painted)  # noqa: B010 - mypy allows no assignment

    def begin(self) -> None:
        """Click on the place."""
        self.begun = time.perf_counter()
        self.lateness.begin()
        if isinstance(self.window, Window):
            self.window.places_pane.choose(self.server)
            self._scroll.start()
        else:
            listener = Listener(rows=self._heard, result=self._over)
            self.engines.ask("list", {"place": self.server}, listener)

    def _heard(self, _: object) -> None:
        self.painted = self.painted or time.perf_counter() - self.begun

    def _over(self, *_: object) -> None:
        if not self.begun or self.took:
            return
        self.took = time.perf_counter() - self.begun
        # Once more from end to end, now that all of it is there.
        self._steps = 0
        QTimer.singleShot(1000 + _STEPS * _SCROLL_MS, self._finish)

    def _step(self) -> None:
        assert isinstance(self.window, Window)
        bar = self.window.table.verticalScrollBar()
        self._steps += 1
        if self._steps <= _STEPS:
            bar.setValue(bar.maximum() * self._steps // _STEPS)
        elif self.took:
            self._scroll.stop()

    def _finish(self) -> None:
        QTimer.singleShot(1500, self.app.quit)


def watch(server: str, shown: bool) -> dict[str, Any]:
    """One run in this process."""
    qInstallMessageHandler(
        lambda kind, _, text: None if kind == QtMsgType.QtWarningMsg else sys.stderr.write(text)
    )
    gc.set_threshold(200_000, 10, 10)  # as cli.main does
    tree = Tree(os.getpid())
    engines = _Counted()
    watched = _Watched(server, engines, shown)
    QTimer.singleShot(2500, watched.begin)
    watched.app.exec()
    tree.stop()
    late = sorted(watched.lateness.late)
    facts = [count for op, count in engines.asked if op == "facts"]
    found: dict[str, Any] = {
        "first": watched.painted,
        "seconds": watched.took,
        "median": statistics.median(late),
        "p99": late[int(len(late) * 0.99)],
        "most": late[-1],
        "window": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
        "engines": tree.memory - tree.own,
        "fetches": len(facts),
        "fetched": sum(facts),
    }
    window = watched.window
    if isinstance(window, Window):
        found["rows"] = window.entries.count
        found["known"] = len(window.listing.known)
        seen = [entry for entry in window.table.seen() if entry.kind != "triton"]
        found["unseen"] = sum(entry.identity not in window.listing.known for entry in seen)
    print(json.dumps(found), flush=True)
    engines.stop()
    engines.join(10)
    shutil.rmtree(watched.folder, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    watch(sys.argv[2], sys.argv[1] == "window")
