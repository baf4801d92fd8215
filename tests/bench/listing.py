"""``ls`` of 10,000 Triton kernels, and the first rows in the window."""

from __future__ import annotations

import base64
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

from tests.bench import measure
from tests.bench.measure import Figure

KERNELS = 10_000
DATA = Path(__file__).parents[1] / "data"

_WALK_AND_PARSE = """
import json, os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        path = os.path.join(folder, name)
        os.stat(path)
        if name.endswith(".json"):
            with open(path) as file:
                json.load(file)
"""

_WALK_AND_STAT = """
import os, sys
pending = [sys.argv[1]]
while pending:
    with os.scandir(pending.pop()) as entries:
        for entry in entries:
            entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
"""

_EMPTY_WINDOW = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMainWindow
app = QApplication([])
window = QMainWindow()
window.resize(1360, 800)
window.show()
QTimer.singleShot(0, app.quit)
app.exec()
"""

_FIRST_ROWS = """
import os, sys
from PySide6.QtCore import QSettings
from torchkeeper.gui.app import application
from torchkeeper.gui.window import Window
app = application()
window = Window(QSettings(sys.argv[2], QSettings.Format.IniFormat))
window.show()
window.open_paths([sys.argv[1]])
window.entries.changed.connect(lambda *_: window.entries.rowCount() and os._exit(0))
app.exec()
"""


def kernels(folder: Path, count: int, python: str) -> None:
    """A Triton cache of real kernels, two compiled ones copied under keys of their own."""
    made = folder.parent / "made"
    env = {**os.environ, "TRITON_CACHE_DIR": str(made)}
    subprocess.run([python, str(DATA / "triton_kernels.py")], env=env, check=True)
    sources = sorted(made.iterdir())
    chance = random.Random(1)
    for number in range(count):
        key = base64.b32encode(chance.randbytes(32)).decode().rstrip("=")
        shutil.copytree(sources[number % len(sources)], folder / key)


def figures(scratch: Path, python: str) -> list[Figure]:
    """Measure, in a folder of scratch."""
    place, small = scratch / "kernels", scratch / "small"
    kernels(place, KERNELS, python)
    small.mkdir()
    for source in sorted(place.iterdir())[:1000]:
        shutil.copytree(source, small / source.name)
    env = {"XDG_CACHE_HOME": str(scratch / "cache"), "QT_QPA_PLATFORM": "offscreen"}
    ls = [sys.executable, "-m", "torchkeeper", "ls", str(place), "--json"]
    walk = measure.python(_WALK_AND_STAT, str(place))
    parse = measure.python(_WALK_AND_PARSE, str(place))
    measure.run(walk)  # the tree is in memory for all of them
    first = []
    for _ in range(3):
        shutil.rmtree(scratch / "cache", ignore_errors=True)
        first.append((measure.run(ls, env), measure.run(parse)))
    ours, reference = sorted(first, key=lambda pair: pair[0].seconds / pair[1].seconds)[1]
    assert len(ours.out.splitlines()) == KERNELS
    print(f"memory of ls at {KERNELS:,} kernels: {ours.memory:.0f} MB (aim: under 400 MB)")
    found = [Figure(f"ls of {KERNELS:,} kernels, first time", ours.seconds, reference.seconds, 4,
                    "walk, stat and parse the JSON")]  # fmt: skip
    again, bare = measure.medians(ls, walk, env)
    found.append(Figure("… once indexed", again, bare, 2, "scandir and stat, start included"))
    rows = measure.python(_FIRST_ROWS, str(small), str(scratch / "settings.ini"))
    measure.run(rows, env)
    window, empty = measure.medians(rows, measure.python(_EMPTY_WINDOW), env)
    found.append(Figure("first rows of 1,000 entries", window, empty, 2, "an empty main window"))
    return found
