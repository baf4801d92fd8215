"""The texts that a window draws, whoever draws them, and how much they stand out, by its pixels.

The widgets are drawn once more, onto a page that keeps nothing but what is written: so the texts
of delegates, headings, tabs and menus are known as well as those of labels, and where each stands.
"""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFontInfo,
    QFontMetricsF,
    QImage,
    QPaintDevice,
    QPaintEngine,
    QPaintEngineState,
    QPainterPath,
    QRegion,
    QTextItem,
)
from PySide6.QtWidgets import QAbstractItemView, QMenu, QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.activity.drawer import Drawer
from torchkeeper.gui.chrome.palette import Palette
from torchkeeper.gui.chrome.picks import PickList
from torchkeeper.gui.desktop.dropping import Veil
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.gui.treemap import layout
from torchkeeper.gui.treemap import view as painting
from torchkeeper.gui.treemap.layout import contrast
from torchkeeper.gui.treemap.view import Treemap

#: Pixels of text that is still read, and how much it stands out (WCAG 2, AA).
SMALLEST, CONTRAST = 11, 4.5
#: The part of the height of a text that is in sight where it is read.
_READ = 0.7
_ENABLED = Qt.ItemFlag.ItemIsEnabled
#: Signs between texts, and what stands for something in a text.
_SIGNS = frozenset("›–·…•|/:-")


class Text(NamedTuple):
    """A text as it is drawn: where in the window, as far as it is seen, and in pixels how high."""

    text: str
    box: QRectF
    pixels: int


class _Ear(QPaintEngine):
    """Hears what is written, and draws nothing."""

    def __init__(self) -> None:
        super().__init__(QPaintEngine.PaintEngineFeature.AllFeatures)
        self.texts: list[Text] = []

    def begin(self, _device: QPaintDevice) -> bool:
        return True

    def end(self) -> bool:
        return True

    def type(self) -> QPaintEngine.Type:
        return QPaintEngine.Type.User

    def updateState(self, _state: QPaintEngineState) -> None:
        pass

    def drawPixmap(self, *_: object) -> None:
        pass

    def drawPolygon(self, *_: object) -> None:
        pass

    def drawLines(self, *_: object) -> None:
        pass

    def drawRects(self, *_: object) -> None:
        pass

    def drawPoints(self, *_: object) -> None:
        pass

    def drawEllipse(self, *_: object) -> None:
        pass

    def drawImage(self, *_: object) -> None:
        pass

    def drawTiledPixmap(self, *_: object) -> None:
        pass

    def drawPath(self, _path: QPainterPath) -> None:
        pass

    def drawTextItem(self, at: QPointF | QPoint | QPainterPath.Element, item: QTextItem) -> None:
        text = item.text()
        if not text.strip() or isinstance(at, QPainterPath.Element):
            return
        up, down = item.ascent(), item.descent()
        box = QRectF(at.x(), at.y() - up, item.width(), up + down)
        box = self.painter().deviceTransform().mapRect(box)
        high, seen = box.height(), self.systemClip()
        if not seen.isEmpty():
            box = box.intersected(QRectF(seen.boundingRect()))
        # Of a line that is scrolled half away nobody reads anything.
        if box.width() > 2 and box.height() > high * _READ:
            self.texts.append(Text(text, box, QFontInfo(item.font()).pixelSize()))


class _Page(QPaintDevice):
    """As large as the widget that is drawn."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__()
        self.ear = _Ear()
        metrics = QPaintDevice.PaintDeviceMetric
        self._told = {
            metrics.PdmWidth: widget.width(),
            metrics.PdmHeight: widget.height(),
            metrics.PdmDepth: 32,
            metrics.PdmNumColors: 1 << 24,
            metrics.PdmDpiX: widget.logicalDpiX(),
            metrics.PdmDpiY: widget.logicalDpiY(),
            metrics.PdmPhysicalDpiX: widget.logicalDpiX(),
            metrics.PdmPhysicalDpiY: widget.logicalDpiY(),
            metrics.PdmDevicePixelRatio: 1,
        }

    def paintEngine(self) -> QPaintEngine:
        return self.ear

    def metric(self, which: QPaintDevice.PaintDeviceMetric) -> int:
        told = self._told.get(which)
        return super().metric(which) if told is None else told


def texts_of(root: QWidget) -> list[Text]:
    """Every text that is drawn in a window, a dialog or a menu."""
    page = _Page(root)
    region = QRegion(root.rect())
    for table in root.findChildren(EntryTable):
        # It draws anew, and not what it has kept, where not all of it is asked for.
        view = table.viewport()
        end = view.mapTo(root, QPoint(0, view.height() - 1))
        region -= QRegion(end.x(), end.y(), view.width(), 1)
    root.render(page, QPoint(0, 0), region)
    found = page.ear.texts
    covers: list[tuple[QWidget, QWidget]] = [(one, one) for one in root.findChildren(Drawer)]
    covers += [(one, one.box) for one in root.findChildren(Palette)]
    frames = [one.parentWidget() for one in root.findChildren(PickList)]
    covers += [(one, one) for one in frames if one is not None and one.parentWidget() is root]
    for cover, said in covers:
        if cover.isVisible():
            # It lies over the page: what it covers is not read, and not all of it is cut out.
            over, at = QRectF(cover.geometry()), said.mapTo(root, QPointF())
            found = [text for text in found if not text.box.intersects(over)]
            found += [x._replace(box=x.box.translated(at)) for x in texts_of(said)]
    for tiles in [root, *root.findChildren(Treemap)]:
        if isinstance(tiles, Treemap) and tiles.isVisible():
            found += _on_tiles(tiles, root)
    return found


def _on_tiles(view: Treemap, root: QWidget) -> Iterator[Text]:
    """What a map writes into its tiles, of which it keeps a picture."""
    writer, tiles = painting.Writer(view.font()), view.tiles
    total = sum(tile.bytes for tile in tiles)
    for tile in tiles:
        for line in writer.lines(tile, view.box_of(tile.key), layout.share(tile, total)):
            metrics = QFontMetricsF(line.font)
            box = metrics.boundingRect(line.text).translated(line.at)
            at = view.mapTo(root, QPoint(0, 0))
            yield Text(line.text, box.translated(at), QFontInfo(line.font).pixelSize())


class Pixels:
    """What a window looks like."""

    def __init__(self, root: QWidget) -> None:
        grabbed = root.grab().toImage()
        self._image = grabbed.convertToFormat(QImage.Format.Format_RGB32)
        self.scale = self._image.devicePixelRatio()
        self._words = memoryview(self._image.constBits()).cast("B").cast("I")
        self._line = self._image.bytesPerLine() // 4

    def lines(self, box: QRectF) -> list[bytes]:
        """The lines of a part of the window, four bytes for a pixel."""
        scale = self.scale
        area = QRectF(box.topLeft() * scale, box.size() * scale).toRect()
        area = area.intersected(self._image.rect())
        begins = (y * self._line + area.left() for y in range(area.top(), area.bottom() + 1))
        return [bytes(self._words[begin : begin + area.width()]) for begin in begins]


def standing_out(colours: Counter[int]) -> tuple[float, str]:
    """The contrast of what stands out most from the ground, and that ground."""
    ground = _name(colours.most_common(1)[0][0])
    ends = min(colours, key=_light), max(colours, key=_light)
    return max(contrast(ground, _name(colour)) for colour in ends), ground


def _name(colour: int) -> str:
    return f"#{colour & 0xFFFFFF:06x}"


@functools.cache
def _light(colour: int) -> float:
    """How bright a colour is; whatever is brighter has more contrast to black."""
    return contrast("#000000", _name(colour))


def pale(root: QWidget, texts: list[Text], known: set[object] | None = None) -> list[str]:
    """Texts that stand out too little from what they stand on, by the pixels that are shown.

    known: what was seen before, which is not looked at again.
    """
    pixels, found = Pixels(root), []
    # What is under a veil is not for reading until it is gone.
    under = [QRectF(veil.geometry()) for veil in root.findChildren(Veil) if veil.isVisible()]
    known = set() if known is None else known
    for text in texts:
        at = text.box.center()
        if set(text.text) <= _SIGNS or not _usable(root, at.toPoint()):
            continue
        if any(box.contains(at) for box in under):
            continue
        lines = pixels.lines(text.box)
        looks = (text.text, *lines)
        if looks in known:
            continue
        colours: Counter[int] = Counter()
        for line in lines:
            colours.update(memoryview(line).cast("I"))
        best, ground = standing_out(colours) if len(colours) > 1 else (CONTRAST, "")
        if best >= CONTRAST:
            known.add(looks)
        else:
            found.append(f"pale: “{text.text}” {best:.1f} on {ground}")
    return found


def red(root: QWidget) -> list[str]:
    """What has the theme's red and is no button that cannot be undone, and no code of strangers."""
    pixels, found = Pixels(root), dict[str, None]()
    colour = QColor(theme.shades().danger).rgb().to_bytes(4, sys.byteorder)
    for y, line in enumerate(pixels.lines(QRectF(root.rect()))):
        at = line.find(colour)
        while at >= 0:
            # Not rounded: the last pixel of a button is not beside it.
            point = QPoint(int(at // 4 / pixels.scale), int(y / pixels.scale))
            if not _may_be_red(widget := root.childAt(point)):
                found[f"red: {type(widget).__name__} “{widget and widget.accessibleName()}”"] = None
            at = line.find(colour, at + 4)
    return list(found)


def _may_be_red(widget: QWidget | None) -> bool:
    while widget is not None:
        if widget.property("danger") or widget.property("role") == "danger":
            return True
        if widget.objectName() == "notice":
            return True
        widget = widget.parentWidget()
    return False


def small(texts: list[Text]) -> list[str]:
    """Texts that are too small."""
    return [f"small: “{x.text}” has {x.pixels} px" for x in texts if x.pixels < SMALLEST]


def _usable(root: QWidget, at: QPoint) -> bool:
    """Whether what is at a point can be used; what cannot may be pale."""
    if isinstance(root, QMenu):
        action = root.actionAt(at)
        return action is None or action.isEnabled()
    widget = root.childAt(at)
    if widget is None:
        return True
    view = widget.parentWidget()
    if isinstance(view, QAbstractItemView) and view.viewport() is widget:
        index = view.indexAt(widget.mapFrom(root, at))
        # What is not valid is a heading, or between two items.
        return widget.isEnabled() and (not index.isValid() or bool(index.flags() & _ENABLED))
    return widget.isEnabled()
