"""Pictures of the map of tiles: alone, with few and with many, and over the table."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication

from tests.shots.stage import Stage, turn
from torchkeeper.artifacts.entry import KINDS
from torchkeeper.client.words.say import kind_words
from torchkeeper.gui.treemap import layout
from torchkeeper.gui.treemap.layout import MOST, Tile
from torchkeeper.gui.treemap.pane import MapPane
from torchkeeper.gui.treemap.view import Treemap
from torchkeeper.gui.window import Window

_SIZE = (1000, 380)
#: Bytes of each kind in a cache of some months, the most common ones first.
_BYTES = (1_900_000_000, 1_400_000_000, 640_000_000, 510_000_000, 47_000_000, 21_000_000)


def _kinds(count: int) -> list[Tile]:
    sizes = (*_BYTES, *(9_000_000 // n for n in range(1, len(KINDS))))
    return [
        Tile((kind,), kind_words(kind), size, 1 + size // 190_000, layout.shade_of("kind", kind))
        for kind, size in list(zip(KINDS, sizes, strict=False))[:count]
    ]


def _many() -> tuple[list[Tile], Tile]:
    tiles = [
        Tile(
            (str(number),),
            f"decoder_layer_{number}: addmm, gelu, native_layer_norm",
            40_000_000 // (number + 9),
            1,
            layout.shade_of("kind", "aotautograd" if number % 3 else "fxgraph"),
        )
        for number in range(MOST)
    ]
    return tiles, Tile(("", "smaller"), "499,400 smaller", 96_000_000, 499_400)


def _point(view: Treemap, tile: Tile) -> None:
    at = view.box_of(tile.key).center()
    none = Qt.MouseButton.NoButton
    moved = QMouseEvent(
        QEvent.Type.MouseMove, at, QPointF(view.mapToGlobal(at)), none, none,
        Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    QApplication.sendEvent(view, moved)


def _tiles(stage: Stage) -> None:
    view = Treemap()
    view.setAccessibleName("Map")
    view.resize(*_SIZE)
    view.show_tiles(_kinds(5))
    view.show()
    stage.take("treemap-five", view)
    every = _kinds(5)
    view.select([every[1].key], [every[3].key])
    _point(view, every[2])
    view.activateWindow()
    view.setFocus()
    view.go_to(every[1].key)
    stage.take("treemap-selected", view)
    view.clearFocus()
    view.select([])
    view.show_tiles(_kinds(len(KINDS)))
    stage.take("treemap-kinds", view)
    versions = ("2.13.0+cu130", "2.12.1+cu130", "2.11.0", "2.9.1+cu128", "2.8.0")
    view.show_tiles(
        [
            Tile((name,), f"torch {name}", size, 40, layout.shade_of("step", "", at, len(versions)))
            for at, (name, size) in enumerate(zip(versions, _BYTES, strict=False))
        ]
    )
    stage.take("treemap-versions", view)
    tiles, rest = _many()
    view.show_tiles(tiles, rest)
    view.select([tile.key for tile in tiles[40:60:4]])
    stage.take("treemap-many", view)
    view.show_tiles([])
    stage.take("treemap-nothing", view)
    view.deleteLater()
    turn()


def _map(window: Window) -> MapPane:
    pane = window.map_splitter.widget(0)
    assert isinstance(pane, MapPane)
    turn(10.0, lambda: not pane.busy)
    return pane


def _over_the_table(stage: Stage) -> None:
    window = stage.window(settings={"map/shown": "true"})
    pane = _map(window)
    stage.take("window-map", window)
    window.table.select({entry.identity for entry in window.entries.shown()[2:7]})
    turn(0.1)
    stage.take("window-map-selected", window)
    pane.view.opened.emit(pane.view.tiles[0].key)
    _map(window)
    pane.view.chosen.emit([tile.key for tile in pane.view.tiles[:2]])
    stage.take("window-map-inside", window)
    window.actions_["group-torch"].trigger()
    turn(0.2)
    _map(window)
    stage.take("window-map-by-torch", window)
    stage.close(window)


SCENES = {"treemap": _tiles, "map": _over_the_table}
