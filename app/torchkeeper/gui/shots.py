"""Pictures of the window, light and dark, at 1× and 2×, made offscreen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from PySide6.QtCore import QEvent, QSettings, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication, QDialog, QMenu, QWidget

from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.app import application
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.pages import ENTRIES
from torchkeeper.gui.window import PAGE, Window

#: Seconds that a state may take to come about, and a listing of a real place.
_PATIENCE, _LISTED_WITHIN = 10.0, 60.0


def turn(seconds: float = 0.0, until: Callable[[], bool] | None = None) -> None:
    """Let the event loop run."""
    end = time.monotonic() + seconds
    while True:
        QApplication.processEvents()
        # Outside of a loop of its own, Qt deletes nothing later: what was closed would be
        # dressed anew with each theme.
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        if time.monotonic() >= end or (until is not None and until()):
            return
        time.sleep(0.002)


class Stage:
    """Saves pictures into a folder, their names with a ``suffix``; ``private``: for settings."""

    def __init__(self, folder: str, private: str, suffix: str = "") -> None:
        self._folder = folder
        self._settings = os.path.join(private, "settings.ini")
        self._suffix = suffix
        self.failed = False

    def window(
        self, engines: Engines, *, size: tuple[int, int] = (1360, 800),
        settings: dict[str, object] | None = None,
    ) -> Window:  # fmt: skip
        """A window with settings of its own."""
        kept = QSettings(self._settings, QSettings.Format.IniFormat)
        kept.clear()
        for name, value in {"inspector/shown": "false", PAGE: ENTRIES, **(settings or {})}.items():
            kept.setValue(name, value)
        window = Window(kept, engines)
        window.resize(*size)
        window.show()
        # What is made late is made at once: where a place never answers, it would be never.
        window.later.start()
        turn(_PATIENCE, lambda: window.later.over)
        return window

    def close(self, window: Window) -> None:
        """Close a window and wait until its engines have gone."""
        window.close_surely()
        turn(_PATIENCE, lambda: not window.engines.running)
        window.deleteLater()
        turn()

    def take(self, name: str, widget: QWidget, rest: float = 0.12) -> None:
        """Save what a widget looks like in both themes, in ``rest`` seconds, and print where."""
        turn(rest)
        # Dark first, so that the next state comes about in light without another change.
        for tone in (theme.Theme.DARK, theme.Theme.LIGHT):
            theme.look().choose(tone)
            turn(0.01)
            path = os.path.join(self._folder, f"{name}-{tone.value}{self._suffix}.png")
            if widget.grab().save(path):
                sys.stdout.write(printable(path, 4096) + "\n")
            else:
                self.failed = True
                sys.stderr.write(f"{printable(path, 4096)} cannot be written\n")

    def dialog(self, name: str, dialog: QDialog, rest: float = 0.12) -> None:
        """Take a dialog, and close it."""
        dialog.show()
        self.take(name, dialog, rest)
        if isinstance(dialog, ConfirmDialog):
            dialog.cancel.click()
        dialog.reject()
        turn()

    def opened(self, name: str, window: Window, rest: float = 0.12) -> None:
        """Take the dialog that is open over a window, and close it."""
        turn(0.05)
        shown = [dialog for dialog in window.findChildren(QDialog) if dialog.isVisible()]
        self.dialog(name, shown[-1], rest)

    def menu(self, name: str, menu: QMenu) -> None:
        """Take a menu, and close it."""
        if not menu.isVisible():
            menu.popup(menu.pos())
        self.take(name, menu)
        menu.close()
        turn()


S = TypeVar("S", bound=Stage)


def run(folder: str, place: str, scale: int | None = None) -> int:
    """Save pictures of the window that shows a place into ``folder``. scale: device pixels in one
    of the window's; None for both 1 and 2, one after the other. Returns 1 if one could not be
    saved.
    """
    path = os.path.abspath(place)

    def take(stage: Stage) -> None:
        window = stage.window(Engines())
        window.open_paths([path])
        turn(_LISTED_WITHIN, lambda: window.place == path and not window.listing.loading)
        stage.take("window", window)
        stage.close(window)

    again = ["torchkeeper", "shots", folder, "--place", place]
    return photographed(folder, scale, take, again, Stage)


def photographed(
    folder: str,
    scale: int | None,
    take: Callable[[S], None],
    again: Sequence[str],
    made: Callable[[str, str, str], S],
) -> int:
    """Have ``take`` save pictures, on a stage that ``made`` makes; scale and result as of ``run``.
    again: the module, and its arguments, that does the same at one scale.
    """
    if scale is None:
        # A process has one scale, so the second has a process of its own.
        argv = [sys.executable, "-m", *again, "--scale", "2"]
        status = photographed(folder, 1, take, again, made)
        return status or subprocess.run(argv, check=False).returncode
    before = qInstallMessageHandler(_message)
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="torchkeeper-shots-") as private:
            if QApplication.instance() is None:
                prepare_screen(private, scale)
            application()
            chosen = theme.look().theme
            stage = made(os.path.abspath(folder), private, "" if scale == 1 else f"@{scale}x")
            take(stage)
            theme.look().choose(chosen)
    except OSError as e:
        sys.stderr.write(f"{printable(str(e.filename), 4096)}: {e.strerror}\n")
        return 1
    finally:
        qInstallMessageHandler(before)
    return int(stage.failed)


def prepare_screen(private: str, scale: int) -> None:
    """A screen as people have, for the application that is made next."""
    size = {"width": 1920 * scale, "height": 1200 * scale}
    screen = {"name": "shots", "x": 0, "y": 0, "logicalDpi": 96, "dpr": 1, **size}
    file = os.path.join(private, "screen.json")
    with open(file, "w", encoding="utf-8") as written:
        json.dump({"screens": [screen]}, written)
    os.environ["QT_QPA_PLATFORM"] = f"offscreen:configfile={file}"
    os.environ["QT_SCALE_FACTOR"] = str(scale)


def _message(kind: QtMsgType, _context: object, text: str) -> None:
    # The offscreen platform says this of every window and menu.
    unable = "propagateSizeHints" in text or text.startswith("This plugin does not support")
    if not unable and kind != QtMsgType.QtDebugMsg:
        sys.stderr.write(text + "\n")
