"""How fast the map of tiles is: ``python -m tests.bench.treemap`` prints medians.

Times are of the main thread itself. The reference paints as many plain rectangles with nothing on
them, which is the least that could be done.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QRectF, Qt, QtMsgType, qInstallMessageHandler
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtTest import QTest

from tests.bench.measure import Figure, show
from torchkeeper.gui.app import application
from torchkeeper.gui.treemap import layout
from torchkeeper.gui.treemap.layout import MOST, Tile
from torchkeeper.gui.treemap.view import Treemap

REPEATS = 21
#: Seconds that a repaint and a new layout may take.
REPAINT, RELAYOUT = 0.008, 0.016
_OF = f"{MOST} plain rectangles"
_KINDS = ("fxgraph", "aotautograd", "triton", "code")


def tiles(count: int) -> list[Tile]:
    """Tiles of many sizes, each large enough to be drawn."""
    return [
        Tile(
            (str(number),),
            f"triton_poi_fused_add_gelu_{number}",
            10_000_000 // (number + 60),
            1,
            layout.shade_of("kind", _KINDS[number % len(_KINDS)]),
        )
        for number in range(count)
    ]


def _plain(picture: QPixmap, boxes: list[QRectF]) -> None:
    with QPainter(picture) as painter:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor("#3451d1"))
        for box in boxes:
            painter.drawRect(box)


def _median(work: Callable[[int], object]) -> float:
    times = []
    for number in range(REPEATS):
        begun = time.thread_time()
        work(number)
        times.append(time.thread_time() - begun)
    return statistics.median(times)


def figures() -> list[Figure]:
    """A repaint, a repaint as the pointer goes on, and a new size; each beside plain rectangles."""
    qInstallMessageHandler(
        lambda kind, _, text: None if kind == QtMsgType.QtWarningMsg else sys.stderr.write(text)
    )
    app = application()
    view = Treemap()
    view.resize(1100, 420)
    view.show_tiles(tiles(MOST), Tile(("more",), "499,400 smaller", 9_000_000, 499_400))
    view.show()
    app.processEvents()
    assert len(view.tiles) == MOST + 1
    view.select([tile.key for tile in view.tiles[:20]])
    boxes = [view.box_of(tile.key) for tile in view.tiles]

    def hover(number: int) -> None:
        QTest.mouseMove(view, boxes[number * 7].center().toPoint(), -1)
        app.processEvents()

    def resize(number: int) -> None:
        view.resize(1100 - number % 2 * 40, 420)
        view.repaint()

    plain = _median(lambda _: _plain(QPixmap(view.size()), boxes))
    found = [
        Figure(f"repaint of {MOST} tiles", _median(lambda _: view.repaint()), plain, None, _OF,
               REPAINT),
        Figure("pointer from tile to tile", _median(hover), plain, None, _OF, REPAINT),
        Figure("the map in another size", _median(resize), plain, None, _OF, RELAYOUT),
    ]  # fmt: skip
    view.close()
    return found


if __name__ == "__main__":
    sys.exit(0 if show(figures()) else 1)
