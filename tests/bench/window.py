"""How long the window takes: from the start of the process to the first painted rows."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.bench import measure
from tests.bench.measure import Figure

ENTRIES = 1000

#: Both end with the first paint: of the empty window, and of a table that has rows.
_PAINTED = """
import os
from PySide6.QtCore import QEvent, QObject
class Painted(QObject):
    def __init__(self, seen):
        super().__init__()
        self.seen = seen
    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.Paint and self.seen():
            os._exit(0)
        return False
"""

_EMPTY_WINDOW = (
    """
from PySide6.QtWidgets import QApplication, QMainWindow
app = QApplication([])
window = QMainWindow()
window.resize(1360, 800)
"""
    + _PAINTED
    + """
painted = Painted(lambda: True)
window.installEventFilter(painted)
window.show()
app.exec()
"""
)

#: What ``torchkeeper PLACE`` does (cli.main, gui.start, gui.app), with an eye on the table.
_FIRST_ROWS = (
    """
import gc, sys
gc.set_threshold(200_000, 10, 10)
from torchkeeper.gui import start
ahead = start.started(sys.argv[1])
from torchkeeper.gui import app
window = app.opened(sys.argv[1:], ahead)
"""
    + _PAINTED
    + """
painted = Painted(lambda: window.entries.rowCount() > 0)
window.table.viewport().installEventFilter(painted)
app.application().exec()
"""
)


def figures(scratch: Path, kernels: Path) -> list[Figure]:
    """Measure with the first thousand of the kernels of a folder."""
    place = scratch / "small"
    place.mkdir()
    for source in sorted(kernels.iterdir())[:ENTRIES]:
        shutil.copytree(source, place / source.name)
    env = measure.environment(scratch)
    rows = measure.python(_FIRST_ROWS, str(place))
    measure.run(rows, env)
    ours, empty = measure.medians(rows, measure.python(_EMPTY_WINDOW), env, times=15)
    return [Figure(f"first rows of {ENTRIES:,} entries", ours, empty, 2, "an empty main window")]
