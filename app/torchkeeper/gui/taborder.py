"""Where Tab goes: as the window is read, whatever was made first or comes later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from PySide6 import QtWidgets
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractScrollArea, QAbstractSpinBox, QLayout, QScrollArea, QWidget

#: What is inside of these is reached with other keys.
_WHOLE = (QtWidgets.QComboBox, QAbstractSpinBox)


def step(top: QWidget, at: QWidget | None, *, forward: bool) -> bool:
    """Go from one to the next, or to the one before; False where there is none."""
    target, reasons = following(top, at, forward=forward), Qt.FocusReason
    if target is not None:
        target.setFocus(reasons.TabFocusReason if forward else reasons.BacktabFocusReason)
        inside = [target]
        while (around := inside[-1].parentWidget()) is not None:
            if isinstance(around, QScrollArea):
                _show(around, inside)
            inside.append(around)
    return target is not None


def _show(area: QScrollArea, inside: Sequence[QWidget]) -> None:
    """Scroll to the first of these; the others hold it, and show as far as there is room."""
    room, inner = area.viewport().height(), area.widget() or area
    if parts := [one for one in inside if one.height() < room]:
        x = inside[0].mapTo(inner, inside[0].rect().center()).x()
        middle, around = parts[-1].mapTo(inner, parts[-1].rect().center()), parts[-1].height()
        area.ensureVisible(x, middle.y(), 0, around // 2 + 1)


def following(window: QWidget, at: QWidget | None, *, forward: bool) -> QWidget | None:
    """What Tab goes to from a widget, around the whole window; None where there is nothing."""
    if not (order := list(stops(window))):
        return None
    # What is inside of a control stands for it.
    while at is not None and at not in order:
        at = at.parentWidget() if not at.isWindow() else None
    if at is None:
        return order[0 if forward else -1]
    return order[(order.index(at) + (1 if forward else -1)) % len(order)]


def next_part(parts: Sequence[QWidget], at: QWidget | None) -> QWidget | None:
    """What has the focus first in the part after the one with ``at`` in which Tab goes anywhere."""
    here = next((n for n, part in enumerate(parts) if at is not None and part.isAncestorOf(at)), -1)
    for step in range(1, len(parts) + 1):
        part = parts[(here + step) % len(parts)]
        if part.isVisible() and (first := next(stops(part), None)) is not None:
            return first
    return None


def refuge(part: QWidget, at: QWidget) -> QWidget | None:
    """What is left first around what had the focus and is gone; None if nothing is, in the part."""
    around = at.parentWidget()
    while around is not None and (around is part or part.isAncestorOf(around)):
        if around.isVisible() and (first := next(stops(around), None)) is not None:
            return first
        around = around.parentWidget()
    return None


def stops(widget: QWidget) -> Iterator[QWidget]:
    """Everything below a widget that Tab goes to, as it is read."""
    yield from _among(_inside(widget))


def within(layout: QLayout) -> Iterator[QWidget]:
    """Everything in a layout that Tab goes to."""
    yield from _among(_laid_out(layout))


def _among(widgets: Iterable[QWidget]) -> Iterator[QWidget]:
    for child in widgets:
        if not child.isVisible() or not child.isEnabled():
            continue
        if child.focusPolicy() & Qt.FocusPolicy.TabFocus and child.focusProxy() is None:
            yield child
            area = isinstance(child, QAbstractScrollArea) and not isinstance(child, QScrollArea)
            if area or isinstance(child, _WHOLE):
                continue
        yield from stops(child)


def _inside(widget: QWidget) -> Iterator[QWidget]:
    if isinstance(widget, QtWidgets.QMainWindow):
        yield from widget.findChildren(
            QtWidgets.QToolBar, options=Qt.FindChildOption.FindDirectChildrenOnly
        )
        yield from filter(None, (widget.centralWidget(),))
        # What lies over it.
        yield from widget.findChildren(
            QtWidgets.QFrame, "drawer", options=Qt.FindChildOption.FindDirectChildrenOnly
        )
        yield from filter(None, (widget.statusBar(),))
    elif isinstance(widget, QtWidgets.QTabWidget):
        yield from filter(None, (widget.tabBar(), widget.currentWidget()))
    elif isinstance(widget, QtWidgets.QStackedWidget):
        yield from filter(None, (widget.currentWidget(),))
    elif isinstance(widget, QScrollArea):
        yield from filter(None, (widget.widget(),))
    elif isinstance(widget, QtWidgets.QSplitter):
        yield from filter(None, map(widget.widget, range(widget.count())))
    elif (layout := widget.layout()) is not None and not isinstance(widget, QtWidgets.QStatusBar):
        yield from _laid_out(layout)
    else:
        children = [child for child in widget.children() if isinstance(child, QWidget)]
        yield from sorted(children, key=lambda child: (child.x(), child.y()))


def _laid_out(layout: QLayout) -> Iterator[QWidget]:
    for number in range(layout.count()):
        if (item := layout.itemAt(number)) is None:
            continue
        if (inner := item.layout()) is not None:
            yield from _laid_out(inner)
        elif (widget := item.widget()) is not None:
            yield widget
