"""The window's overview of a folder, in a process of its own: ``python -m tests.bench.jitswindow
FOLDER SCRATCH``. From going to the page until its map and its list are painted with what an engine
told, and the longest slice of work on the main thread meanwhile, in that thread's own time, as a
timer of 16 ms sees it. The engine is there by then, as it has listed another place.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QSettings, Qt, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtGui import QPaintEvent

from torchkeeper.gui.app import application
from torchkeeper.gui.pages import ENTRIES
from torchkeeper.gui.pages.overview.page import OverviewPage
from torchkeeper.gui.pages.overview.parts import PartList
from torchkeeper.gui.treemap.view import Treemap
from torchkeeper.gui.window import PAGE, Window


class _Watched:
    """The window, and when what happened."""

    def __init__(self, place: str, scratch: Path) -> None:
        self.app = application()
        settings = QSettings(str(scratch / "settings.ini"), QSettings.Format.IniFormat)
        settings.setValue(PAGE, ENTRIES)
        self.window = Window(settings)
        self.page: OverviewPage | None = None
        self.painted = set[type]()
        self.begun = self.took = self.longest = self._worked = 0.0
        other = scratch / "other"
        other.mkdir(exist_ok=True)
        for one in (str(other), place):
            self.window.places.add(one)
        self.window.places_pane.choose(str(other))
        self.window.resize(1360, 800)
        self._watch_paints(Treemap)
        self._watch_paints(PartList)
        self.window.show()
        self._timer = QTimer(timerType=Qt.TimerType.PreciseTimer, interval=16)
        self._timer.timeout.connect(self._tick)

    def _watch_paints(self, widget: type[Treemap] | type[PartList]) -> None:
        paint, watched = widget.paintEvent, self

        def painted(one: Treemap | PartList, event: QPaintEvent) -> None:
            paint(one, event)  # type: ignore[arg-type]
            watched._paint(widget)

        setattr(widget, "paintEvent", painted)  # noqa: B010 - mypy allows no assignment

    def begin(self) -> None:
        """Go to the page."""
        if not (self.window.discovery.known and self.window.later.over):
            QTimer.singleShot(50, self.begin)
            return
        self.begun, self._worked = time.perf_counter(), time.thread_time()
        self._timer.start()
        page = self.window.show_page("overview")
        assert isinstance(page, OverviewPage)
        self.page = page

    def _tick(self) -> None:
        now = time.thread_time()
        self.longest, self._worked = max(self.longest, now - self._worked), now

    def _paint(self, widget: type) -> None:
        page = self.page
        if self.took or page is None or page.looking.running or not page.looking.looked:
            return
        self.painted.add(widget)
        if len(self.painted) == 2:
            self.took = time.perf_counter() - self.begun
            QTimer.singleShot(100, lambda: self.app.exit(0))  # the slice of the picture counts


def watch(place: str, scratch: Path) -> None:
    """One run in this process; prints what was seen as JSON."""
    qInstallMessageHandler(
        lambda kind, _, text: None if kind == QtMsgType.QtWarningMsg else sys.stderr.write(text)
    )
    gc.set_threshold(200_000, 10, 10)  # as cli.main does
    watched = _Watched(place, scratch)
    QTimer.singleShot(2500, watched.begin)
    watched.app.exec()
    found = watched.page and watched.page.looking.found
    assert found and not any(one.failed for one in found.places.values())
    entries, longest = found.totals.entries, watched.longest
    print(json.dumps({"seconds": watched.took, "slice": longest, "entries": entries}), flush=True)
    watched.window.engines.stop()
    watched.window.engines.join(10)
    os._exit(0)


if __name__ == "__main__":
    watch(sys.argv[1], Path(sys.argv[2]))
