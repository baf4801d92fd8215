"""The real window over real places: rests the pointer on each cell of each, looks into each entry,
and prints what came of it as JSON: ``python -m tests.gui.hovering FOLDER PLACE…``, with a folder
for settings.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QPoint, QSettings
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QLabel, QToolTip, QWidget

from tests.gui.strangers import Strangers
from tests.pace import LONG
from tests.shots.stage import turn
from torchkeeper.gui.app import application
from torchkeeper.gui.theme import Theme, look
from torchkeeper.gui.verdicts.environments import KEY, NONE
from torchkeeper.gui.window import PAGE, Window


def _wait(until: Callable[[], bool]) -> None:
    """Let the event loop run until that is so."""
    turn(LONG, until)
    assert until()


def hover(over: QWidget, at: QPoint) -> tuple[str, float]:
    """Rest the pointer on a widget; what is shown there, and the seconds of work that it took."""
    begun = time.thread_time()
    QApplication.sendEvent(over, QHelpEvent(QEvent.Type.ToolTip, at, over.mapToGlobal(at)))
    for shown in QApplication.topLevelWidgets():
        if isinstance(shown, QLabel) and shown.inherits("QTipLabel") and shown.isVisible():
            shown.grab()
    took = time.thread_time() - begun
    said = QToolTip.text()
    QToolTip.hideText()
    return said, took


def _peak() -> int:
    """The most memory that this program had, in kB. What getrusage says is at least that of the
    program that started it, which may be large.
    """
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


def _listed(window: Window, place: str) -> bool:
    return window.place == place and not window.listing.loading


def main() -> None:
    """As a program."""
    private, *places = sys.argv[1:]
    application()
    look().choose(Theme.DARK)
    settings = QSettings(str(Path(private) / "settings.ini"), QSettings.Format.IniFormat)
    settings.setValue(KEY, NONE)
    settings.setValue(PAGE, "entries")
    window = Window(settings)
    window.resize(1360, 800)
    window.show()
    walk = Strangers(private, Theme.DARK)
    tips: list[str] = []
    faults: list[str] = []
    longest = 0.0
    for place in places:
        window.places.add(place)
        window.places_pane.choose(place)
        _wait(partial(_listed, window, place))
        window.later.start()
        _wait(lambda: window.later.over and window.entries.rowCount() > 0)
        # The kernels have the names; all others are as everywhere.
        window.head.box.setText("kind:triton")
        _wait(lambda: window.entries.rowCount() < 40)
        table, model = window.table, window.table.model()
        for row in range(model.rowCount()):
            table.go_to_row(row)
            turn(0.01)
            for column in range(model.columnCount()):
                box = table.visualRect(model.index(row, column))
                if box.isValid() and not table.isColumnHidden(column):
                    said, took = hover(table.viewport(), box.center())
                    tips.append(said)
                    longest = max(longest, took)
        faults += walk.look(window)
        for widget in window.findChildren(QWidget):
            if widget.isVisible() and widget.toolTip():
                longest = max(longest, hover(widget, widget.rect().center())[1])
    window.close_surely()
    _wait(lambda: not window.engines.running)
    print(json.dumps({"tips": tips, "faults": faults, "longest": longest, "peak": _peak()}))


if __name__ == "__main__":
    main()
