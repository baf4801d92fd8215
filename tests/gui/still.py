"""Whether a dialog stays as it was when it was shown, and whether what it warns of is in sight."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, QSize
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QApplication,
    QCheckBox,
    QDialog,
    QFrame,
    QLabel,
    QPushButton,
    QWidget,
)

import torchkeeper.gui
from tests.shots.stage import turn
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.dialogs.working import WorkDialog
from torchkeeper.gui.matrix.pane import VariantsPane
from torchkeeper.gui.widgets.forms import Choice, Wrapped
from torchkeeper.gui.widgets.notice import Notice

#: What arrives may be as long as this.
_LONG = " ".join(["What an engine has to say of this may be long."] * 5)
#: Frames of warnings, by their names.
_WARNINGS = frozenset({"notice", "problem"})
#: The width of a narrow window.
NARROW = 900


def every_dialog() -> set[str]:
    """The names of all dialogs that there are in the code; what only others derive from is none."""
    for module in pkgutil.walk_packages(torchkeeper.gui.__path__, "torchkeeper.gui."):
        importlib.import_module(module.name)
    found, look = set(), [Dialog]
    while look:
        derived = look.pop().__subclasses__()
        found |= {one.__name__ for one in derived if not one.__subclasses__()}
        look += derived
    return found | {"ConfirmDialog"}


def _scrolled(widget: QWidget, top: QWidget) -> bool:
    above = widget.parentWidget()
    while above is not None and above is not top:
        if isinstance(above, QAbstractScrollArea):
            return True
        above = above.parentWidget()
    return False


def _row(dialog: QDialog) -> dict[QPushButton, QPoint]:
    """The buttons that are always in sight, and where they are."""
    return {
        one: one.mapTo(dialog, QPoint(0, 0))
        for one in dialog.findChildren(QPushButton)
        if one.window() is dialog and one.isVisible() and not _scrolled(one, dialog)
    }


Placed = tuple[QSize, dict[QPushButton, QPoint]]


class Watch(QObject):
    """Notes where everything is in each dialog when it is shown."""

    def __init__(self, application: QApplication) -> None:
        super().__init__(application)
        self._at: dict[QObject, Placed] = {}
        application.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShowToParent and isinstance(watched, Dialog):
            if (layout := watched.layout()) is not None:
                layout.activate()
            self._at[watched] = watched.size(), _row(watched)
        return False

    def moved(self, dialog: QDialog, when: str = "") -> list[str]:
        """What of it is elsewhere than when it was shown."""
        if dialog not in self._at or (isinstance(dialog, WorkDialog) and dialog.job is not None):
            return []
        size, before = self._at[dialog]
        now = _row(dialog)
        found = [] if dialog.size() == size else [
            f"it was {size.width()}×{size.height()} and is {dialog.width()}×{dialog.height()}"
        ]  # fmt: skip
        found += [
            f"“{one.text()}” has moved from {at.x()}, {at.y()} to {now[one].x()}, {now[one].y()}"
            for one, at in before.items()
            if one in now and now[one] != at
        ]
        return [f"{text} {when}".strip() for text in found]

    def unsettled(self, dialog: QDialog) -> list[str]:
        """What moves when choices are made, and when longer texts arrive."""
        found = self.moved(dialog)
        for what, do, undo in _changes(dialog):
            do()
            turn(0.01)
            found += self.moved(dialog, what)
            undo()
            turn(0.01)
        return list(dict.fromkeys(found))[:5]


Change = tuple[str, Callable[[], object], Callable[[], object]]


def _changes(dialog: QDialog) -> Iterator[Change]:
    for box in dialog.findChildren(QCheckBox):
        if box.isVisible() and box.isEnabled() and box.window() is dialog:
            yield f"once “{box.text()}” is clicked", box.toggle, box.toggle
    for choice in dialog.findChildren(Choice):
        if choice.isVisible() and choice.isEnabled() and not choice.isEditable():
            before = choice.currentIndex()
            for row in range(min(choice.count(), 5)):
                text, choose = choice.itemText(row), choice.setCurrentIndex
                yield f"once “{text}” is chosen", partial(choose, row), partial(choose, before)
    for label in dialog.findChildren(Wrapped):
        above = label.parentWidget()
        if label.window() is dialog and above is not None and above.isVisible():
            text, hidden = label.text(), label.isHidden()
            what = f"with a longer text than “{text[:40]}”"
            yield what, partial(_tell, label, _LONG), partial(_tell, label, text, hidden)


def _tell(label: QLabel, text: str, hidden: bool = False) -> None:
    label.setText(text)
    label.setHidden(hidden)


def unseen_warnings(top: QWidget) -> list[str]:
    """Texts of warnings that are cut or out of sight, at its width and, of a dialog, at a narrow
    one. In a narrow window the inspector is below, and is scrolled; why a variant failed is in its
    row as well.
    """
    size, found = top.size(), []
    for width in (size.width(), NARROW) if isinstance(top, QDialog) else (size.width(),):
        top.resize(width, size.height())
        turn(0.01)
        for frame in top.findChildren(QFrame):
            if frame.window() is not top or not frame.isVisible():
                continue
            if frame.objectName() in _WARNINGS or isinstance(frame, Notice):
                found += [
                    f"at {top.width()}×{top.height()} not seen: {label.text()[:60]}"
                    for label in frame.findChildren(QLabel)
                    if label.isVisible()
                    and label.text()
                    and not _whole(label)
                    and not any(p.isAncestorOf(label) for p in top.findChildren(VariantsPane))
                ]
    top.resize(size)
    turn(0.01)
    return list(dict.fromkeys(found))


def _whole(label: QLabel) -> bool:
    needed = label.heightForWidth(label.width()) if label.wordWrap() else 0
    seen = label.visibleRegion().boundingRect()
    return seen == label.rect() and label.height() >= needed


def out_of_order(dialog: QDialog) -> list[str]:
    """What goes on and stands before the way out."""
    row = _row(dialog)
    ways = [one for one in row if one.text() in ("Cancel", "Close") and not one.property("primary")]
    return [
        f"“{one.text()}” stands before “{way.text()}”"
        for way in ways
        for one, at in row.items()
        if (one.property("primary") or one.property("danger")) and at.x() < row[way].x()
    ]
