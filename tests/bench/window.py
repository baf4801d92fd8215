"""How long the window takes: from the start of the process to the first painted rows."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.bench import measure
from tests.bench.measure import Figure

ENTRIES = 1000

#: Both end when the first paint is over: of the empty window, and of a table that has rows.
EMPTY_WINDOW = """
import os
from PySide6.QtWidgets import QApplication, QMainWindow
class Window(QMainWindow):
    def paintEvent(self, event):
        super().paintEvent(event)
        os._exit(0)
app = QApplication([])
window = Window()
window.resize(1360, 800)
window.show()
app.exec()
"""

#: What ``torchkeeper PLACE`` does (cli.main, gui.start, gui.app), with an eye on the table.
FIRST_ROWS = """
import gc, os, sys
gc.set_threshold(200_000, 10, 10)
from torchkeeper.gui import start
from torchkeeper.client import handover
seat = handover.claim()
assert seat.first
first = start.folder_of(sys.argv[1:])
ahead = start.started(first)
start.load_qt()
from torchkeeper.gui import app
from torchkeeper.gui.table.view import EntryTable
paint = EntryTable.paintEvent
def painted(table, event):
    paint(table, event)
    if table.model().rowCount():
        os._exit(0)
EntryTable.paintEvent = painted
window = app.opened(sys.argv[1:], ahead, first)
app.application().exec()
"""


def figures(scratch: Path, kernels: Path) -> list[Figure]:
    """Measure with the first thousand of the kernels of a folder."""
    place = scratch / "small"
    place.mkdir()
    for source in sorted(kernels.iterdir())[:ENTRIES]:
        shutil.copytree(source, place / source.name)
    os.sync()  # or the disk is busy with them
    env = measure.environment(scratch)
    rows = measure.python(FIRST_ROWS, str(place))
    measure.run(rows, env)
    ours, empty = measure.medians(rows, measure.python(EMPTY_WINDOW), env, times=15)
    return [Figure(f"first rows of {ENTRIES:,} entries", ours, empty, 1.6, "an empty main window")]
