"""Looks over every dialog in the states that there are pictures of, on the screen of a small
laptop: ``python -m tests.gui.staged [SCENE…]`` prints as JSON what is wrong with each, and which
dialogs there are that it has not seen.

A process has one screen.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QCheckBox,
    QDialog,
    QLabel,
    QPushButton,
    QRadioButton,
    QTabBar,
    QWidget,
)

from tests.gui.still import Watch, every_dialog, out_of_order, unseen_warnings
from tests.shots import run as shots
from tests.shots.stage import Stage, turn
from torchkeeper.gui.app import application
from torchkeeper.gui.dialogs.about import AboutDialog
from torchkeeper.gui.pages import glossary
from torchkeeper.gui.window import Window

#: The screen, and what a window's frame and a panel leave of it.
SCREEN, ROOM = (1366, 768), (1300, 690)


def too_large(dialog: QDialog) -> list[str]:
    """Where it does not fit."""
    wide, high = ROOM
    least = dialog.minimumSizeHint().expandedTo(dialog.minimumSize())
    return [
        f"{what}: {size.width()}×{size.height()}"
        for what, size in (("size", dialog.size()), ("least size", least))
        if size.width() > wide or size.height() > high
    ]


def _mnemonics(dialog: QDialog) -> Iterator[tuple[str, QWidget]]:
    """The keys with Alt that are underlined, and what each is for."""
    for widget in dialog.findChildren(QWidget):
        if not widget.isVisible() or widget.window() is not dialog:
            continue
        texts = []
        if (isinstance(widget, QLabel) and widget.buddy() is not None) or isinstance(
            widget, QAbstractButton
        ):
            texts = [widget.text()]
        elif isinstance(widget, QTabBar):
            texts = [widget.tabText(number) for number in range(widget.count())]
        for text in texts:
            keys = QKeySequence.mnemonic(text).toString()
            if keys:
                yield keys, widget


#: What Escape presses, or Enter wherever it may: it needs no letter.
_WAYS = frozenset({"Cancel", "Close", "OK"})


def unlettered(dialog: QDialog) -> list[str]:
    """Buttons with a text, and fields with a label, that no key with Alt leads to."""
    lettered = {widget for _, widget in _mnemonics(dialog)}
    found = []
    for widget in dialog.findChildren(QWidget):
        if not widget.isVisible() or widget.window() is not dialog or widget in lettered:
            continue
        if isinstance(widget, (QPushButton, QCheckBox, QRadioButton)):
            wanted = bool(widget.text()) and widget.text() not in _WAYS
        else:
            wanted = isinstance(widget, QLabel) and widget.buddy() is not None
        if wanted:
            found.append(f"no letter: {_called(widget)}")
    return found


def _within(widget: QWidget, at: QWidget | None) -> bool:
    return at is not None and (at is widget or widget.isAncestorOf(at))


def mute(dialog: QDialog) -> list[str]:
    """Keys with Alt that are for two, and that do not lead where they say."""
    found, seen = [], {}  # type: list[str], dict[str, QWidget]
    for keys, widget in _mnemonics(dialog):
        if keys in seen:
            found.append(f"{keys} is for two: {_called(seen[keys])} and {_called(widget)}")
        seen[keys] = widget
    before = dialog.focusWidget()
    for keys, widget in seen.items():
        buddy = widget.buddy() if isinstance(widget, QLabel) else None
        if buddy is None or not buddy.isEnabled() or not buddy.isVisible():
            continue
        key = Qt.Key(ord(keys[-1]))
        QTest.keyClick(dialog, key, Qt.KeyboardModifier.AltModifier)
        if not _within(buddy, dialog.focusWidget()):
            found.append(f"{keys} does not go to {_called(widget)}")
    if before is not None:
        before.setFocus()
    return found


def _called(widget: QWidget) -> str:
    text = widget.text() if isinstance(widget, (QLabel, QAbstractButton)) else ""
    return f"{type(widget).__name__} “{text or widget.accessibleName()}”"


def unseen_focus(dialog: QDialog) -> list[str]:
    """What is wrong with where the keyboard is when it opens."""
    at = dialog.focusWidget()
    if at is None or not at.isVisible() or not at.isEnabled():
        return ["nothing has the keyboard"]
    if not glossary.said_of(at) and not isinstance(dialog, AboutDialog):
        return [f"Shift+F1 says nothing of {_called(at)}"]
    default = next((one for one in dialog.findChildren(QPushButton) if one.isDefault()), None)
    able = default is not None and default.isEnabled() and default is not at
    if able and isinstance(at, QPushButton) and not at.property("danger"):
        return [f"Enter presses {_called(at)} and not the default"]
    box = QRect(at.mapTo(dialog, QPoint(0, 0)), at.size()).adjusted(-4, -4, 4, 4)
    box = box.intersected(dialog.rect())
    with_it = dialog.grab(box).toImage()
    at.clearFocus()
    without = dialog.grab(box).toImage()
    at.setFocus()
    return [] if with_it != without else [f"the focus is not seen on {_called(at)}"]


class Looking(Stage):
    """Looks at dialogs instead of taking pictures."""

    def __init__(self, folder: str, private: str) -> None:
        super().__init__(folder, private)
        self.seen: dict[str, list[str]] = {}
        self.kinds: set[str] = set()
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        self._watch = Watch(app)

    def take(self, name: str, widget: QWidget, rest: float = 0.12) -> None:
        turn(min(rest, 0.12))
        if isinstance(widget, Window):
            widget.resize(*ROOM)
            self.seen[name] = unseen_warnings(widget)
        if isinstance(widget, QDialog):
            widget.activateWindow()
            turn(0.02)
            self.kinds.add(type(widget).__name__)
            self.seen[name] = [
                *self._watch.moved(widget), *too_large(widget), *unseen_focus(widget),
                *mute(widget), *unlettered(widget), *out_of_order(widget),
                *self._watch.unsettled(widget), *unseen_warnings(widget),
            ]  # fmt: skip


def main() -> None:
    """As a program."""
    with tempfile.TemporaryDirectory() as private:
        screen = {"name": "small", "x": 0, "y": 0, "logicalDpi": 96, "dpr": 1,
                  "width": SCREEN[0], "height": SCREEN[1]}  # fmt: skip
        file = Path(private, "screen.json")
        file.write_text(json.dumps({"screens": [screen]}))
        os.environ["QT_QPA_PLATFORM"] = f"offscreen:configfile={file}"
        application()
        stage = Looking(private, private)
        for name in sys.argv[1:] or shots.SCENES:
            shots.SCENES[name](stage)
        print(json.dumps([stage.seen, sorted(every_dialog() - stage.kinds)]))


if __name__ == "__main__":
    main()
