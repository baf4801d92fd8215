"""Pictures of the window, light and dark, at 1× and 2×, made offscreen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import TypeVar

from PySide6.QtCore import QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.app import application
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.shots.stage import Stage, turn

#: Seconds a listing of a real place may take.
_PATIENCE = 60.0

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
        turn(_PATIENCE, lambda: window.place == path and not window.listing.loading)
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
    """Have ``take`` save pictures into a folder, on a stage that ``made`` makes. scale: as of
    ``run``. again: the module, and its arguments, that does the same at one scale. Returns 1 if one
    could not be saved.
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
