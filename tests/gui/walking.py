"""Looks over every page of the window as a stranger would: names, order, cut texts, contrast.

As a program (``python -m tests.gui.walking SCALE``) it prints what it finds as JSON: a process has
one scale.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from PySide6.QtCore import QPoint, QRect, QSettings, Qt
from PySide6.QtGui import QColor, QFontInfo, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QScrollBar,
    QTextEdit,
    QToolButton,
    QWidget,
)

from torchkeeper.gui import theme
from torchkeeper.gui.app import application
from torchkeeper.gui.inspector.parts import Elided
from torchkeeper.gui.pages.table import ENTRIES, PAGES
from torchkeeper.gui.shots import sample_overview
from torchkeeper.gui.shots.sample_engines import SampleEngines
from torchkeeper.gui.shots.stage import turn
from torchkeeper.gui.theme import Theme
from torchkeeper.gui.treemap.colours import contrast
from torchkeeper.gui.window import PAGE, Window

#: Pixels of text that is still read, and how much it stands out (WCAG 2, AA).
SMALLEST, CONTRAST = 11, 4.5
#: A small window: wide, high.
SMALL_WINDOW = (1100, 700)
#: More controls than any page has.
_MOST = 400
_TEXTS = (QLabel, QAbstractButton)


def shown(root: QWidget) -> Iterator[QWidget]:
    """The widgets that somebody sees, in whole or in part."""
    for widget in root.findChildren(QWidget):
        if widget.isVisible() and not widget.visibleRegion().isEmpty():
            yield widget


def called(widget: QWidget) -> str:
    """What a widget is called in a report."""
    text = widget.text() if isinstance(widget, _TEXTS) else ""
    return f"{type(widget).__name__} “{widget.accessibleName() or text or widget.objectName()}”"


def focusable(widget: QWidget) -> bool:
    """Whether Tab goes to it."""
    return bool(
        widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and widget.isEnabled()
        and widget.focusProxy() is None
        and not isinstance(widget.parentWidget(), (QComboBox, QAbstractSpinBox))
    )


def unnamed(root: QWidget) -> list[str]:
    """Controls that a screen reader has no name for."""
    found = []
    for widget in shown(root):
        if not focusable(widget) or isinstance(widget, QScrollBar):
            continue
        text = widget.text() if isinstance(widget, QAbstractButton) else ""
        if not (widget.accessibleName().strip() or text.strip()):
            found.append(f"no name: {called(widget)} in {called(widget.parentWidget() or root)}")
    return found


def place_of(widget: QWidget, root: QWidget) -> QRect:
    """Where it is in the window."""
    return QRect(widget.mapTo(root, QPoint(0, 0)), widget.size())


def area_of(widget: QWidget, window: Window) -> str:
    """Which part of the window it is in."""
    parts = (
        ("toolbar", window.tools), ("sidebar", window.sidebar), ("inspector", window.wing),
        ("page", window.pages), ("status bar", window.statusBar()),
    )  # fmt: skip
    return next((name for name, part in parts if part.isAncestorOf(widget)), "bars")


def in_order(window: Window) -> list[QWidget]:
    """What Tab goes to, one after the other."""
    found: list[QWidget] = []
    window.activateWindow()
    turn(0.02)
    window.tools.setFocus()
    for _ in range(_MOST):
        at = window.focusWidget()
        QTest.keyClick(at if at is not None else window, Qt.Key.Key_Tab)
        after = window.focusWidget()
        if after is None or after in found:
            break
        found.append(after)
    return found


def disorder(window: Window) -> list[str]:
    """Where Tab leaves a part of the window before all of it was visited, or goes back up in it."""
    found = []
    widgets = in_order(window)
    areas = [area_of(widget, window) for widget in widgets]
    visits = [name for at, name in enumerate(areas) if not at or areas[at - 1] != name]
    missed = [x for x in shown(window) if focusable(x) and x not in widgets]
    found += [f"tab order: {called(x)} is never reached" for x in missed if not x.isWindow()]
    # Where the chain begins is of no matter: it is a ring.
    ring = visits[:-1] if len(visits) > 1 and visits[-1] == visits[0] else visits
    found += [
        f"tab order: {name} is visited {count} times: {visits}"
        for name, count in Counter(ring).items()
        if count > 1
    ]
    for before, after in pairwise(widgets):
        if area_of(before, window) != "page" or area_of(after, window) != "page":
            continue
        one, other = place_of(before, window), place_of(after, window)
        beside = other.left() >= one.right() or one.left() >= other.right()
        if other.bottom() < one.top() and not beside:
            found.append(f"tab order: from {called(before)} up to {called(after)}")
    return found


def cut(root: QWidget) -> list[str]:
    """Texts that have less room than they need, and that nothing says in full."""
    found = []
    for widget in shown(root):
        if isinstance(widget, Elided) and widget.toolTip():
            continue
        if isinstance(widget, QLabel) and widget.text() and widget.pixmap().isNull():
            room, metrics = widget.contentsRect(), widget.fontMetrics()
            text = widget.text().replace("&", "") if widget.buddy() else widget.text()
            if widget.wordWrap():
                short = widget.heightForWidth(widget.width()) > widget.height() + 1
            else:
                wide = max(map(metrics.horizontalAdvance, text.splitlines() or [""]))
                short = wide > room.width() + 1 or metrics.height() > room.height() + 2
            if short:
                found.append(f"cut: {called(widget)} has {room.width()}×{room.height()}")
        elif isinstance(widget, (QPushButton, QCheckBox, QRadioButton)) and widget.text():
            if widget.sizeHint().width() > widget.width() + 1:
                found.append(f"cut: {called(widget)} has {widget.width()}")
        elif isinstance(widget, QToolButton) and widget.text():
            if widget.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly:
                continue
            if widget.sizeHint().width() > widget.width() + 1:
                found.append(f"cut: {called(widget)} has {widget.width()}")
    return found


def small(root: QWidget) -> list[str]:
    """Texts that are too small."""
    return [
        f"small: {called(widget)} has {QFontInfo(widget.font()).pixelSize()} px"
        for widget in shown(root)
        if isinstance(widget, (*_TEXTS, QLineEdit, QTextEdit, QPlainTextEdit))
        and QFontInfo(widget.font()).pixelSize() < SMALLEST
    ]


def pale(window: Window) -> list[str]:
    """Texts that stand out too little from what they stand on, by the pixels that are shown."""
    image = window.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    scale = image.devicePixelRatio()
    found = []
    for widget in shown(window):
        text = widget.text() if isinstance(widget, _TEXTS) else ""
        if isinstance(widget, QLabel) and not widget.pixmap().isNull():
            continue
        if not text.strip() or not widget.isEnabled() or text in ("›", "–"):
            continue
        seen = widget.visibleRegion().boundingRect()
        at = widget.mapTo(window, seen.topLeft())
        area = QRect(at * scale, seen.size() * scale).intersected(image.rect())
        colours = Counter(
            image.pixel(x, y) & 0xFFFFFF
            for y in range(area.top(), area.bottom())
            for x in range(area.left(), area.right())
        )
        if len(colours) < 2:
            continue
        ground = QColor(colours.most_common(1)[0][0]).name()
        best = max(contrast(ground, QColor(colour).name()) for colour in colours)
        if best < CONTRAST:
            found.append(f"pale: {called(widget)} {best:.1f} on {ground}")
    return found


def walk(window: Window) -> dict[str, list[str]]:
    """What is wrong with each page in both themes, by page; nothing where all is well."""
    faults: dict[str, list[str]] = {}
    for page in PAGES:
        window.show_page(page.id)
        turn(0.4)
        found = [*unnamed(window), *disorder(window), *small(window)]
        for tone in (Theme.DARK, Theme.LIGHT):
            theme.look().choose(tone)
            turn(0.05)
            found += cut(window) + [f"{fault} ({tone.value})" for fault in pale(window)]
        faults[page.id] = list(dict.fromkeys(found))
    return {page: found for page, found in faults.items() if found}


def narrow(window: Window) -> dict[str, list[str]]:
    """What is cut on each page where the window is small, and whether it stays so, by page."""
    faults: dict[str, list[str]] = {}
    window.resize(*SMALL_WINDOW)
    for page in PAGES:
        window.show_page(page.id)
        if page.id == ENTRIES and not window.inspector.isVisible():
            window.toggle_inspector()
        turn(0.2)
        found = cut(window)
        size = window.size()
        if (size.width(), size.height()) != SMALL_WINDOW:
            found.append(f"grown: the window is {size.width()}×{size.height()}")
            window.resize(*SMALL_WINDOW)
        faults[page.id] = list(dict.fromkeys(found))
    return {f"{page}, small": found for page, found in faults.items() if found}


def opened(settings: QSettings, engines: SampleEngines | None = None) -> Window:
    """A window over the samples, as large as on a laptop."""
    engines = engines or SampleEngines()
    engines.all_answer = True
    engines.overviewed = sample_overview.rows(50_000, 21_000_000_000)
    settings.setValue(PAGE, "entries")
    window = Window(settings, engines)
    window.resize(1360, 800)
    window.show()
    window.later.start()
    turn(20.0, lambda: window.later.over and window.entries.rowCount() > 0)
    return window


def main() -> None:
    """As a program."""
    os.environ["QT_SCALE_FACTOR"] = sys.argv[1]
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    with tempfile.TemporaryDirectory() as folder:
        application()
        window = opened(QSettings(str(Path(folder) / "s.ini"), QSettings.Format.IniFormat))
        window.table.go_to_row(0)
        stops = {page.id: 0 for page in PAGES}
        for page in stops:
            window.show_page(page)
            turn(0.3)
            stops[page] = len(in_order(window))
        faults = walk(window)
        if sys.argv[1] == "1":
            faults |= narrow(window)
        print(json.dumps({"faults": faults, "stops": stops}))
        window.close_surely()
        turn(5.0, lambda: not window.engines.running)
        window.deleteLater()
        turn()
        assert isinstance(QApplication.instance(), QApplication)


if __name__ == "__main__":
    main()
