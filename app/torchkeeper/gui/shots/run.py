"""Pictures of the window and of every dialog, light and dark, at 1× and 2×, made offscreen.

They are for the README and for looking at after a change. Without a place they show made-up
entries, which no engine is asked for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection

from PySide6.QtCore import QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from torchkeeper.gui import theme
from torchkeeper.gui.app import application
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.shots import (
    scenes_activity,
    scenes_asking,
    scenes_bundles,
    scenes_cleaning,
    scenes_comparing,
    scenes_copying,
    scenes_dialogs,
    scenes_doctor,
    scenes_inspector,
    scenes_many,
    scenes_map,
    scenes_overview,
    scenes_profiles,
    scenes_recipes,
    scenes_runs,
    scenes_servers,
    scenes_sidebar,
    scenes_signing,
    scenes_verdicts,
    scenes_verifying,
    scenes_warming,
    scenes_window,
)
from torchkeeper.gui.shots.stage import Stage, turn

#: Seconds a listing of a real place may take.
_PATIENCE = 60.0

#: What is shown, by name; each takes pictures of several states.
SCENES = {
    **scenes_window.SCENES,
    **scenes_map.SCENES,
    **scenes_inspector.SCENES,
    **scenes_overview.SCENES,
    **scenes_activity.SCENES,
    **scenes_bundles.SCENES,
    **scenes_comparing.SCENES,
    **scenes_copying.SCENES,
    **scenes_dialogs.SCENES,
    **scenes_cleaning.SCENES,
    **scenes_doctor.SCENES,
    **scenes_servers.SCENES,
    **scenes_verdicts.SCENES,
    **scenes_runs.SCENES,
    **scenes_verifying.SCENES,
    **scenes_warming.SCENES,
    **scenes_recipes.SCENES,
    **scenes_profiles.SCENES,
    **scenes_signing.SCENES,
    **scenes_sidebar.SCENES,
    **scenes_many.SCENES,
    **scenes_asking.SCENES,
}


def run(
    folder: str,
    place: str | None = None,
    scale: int | None = None,
    scenes: Collection[str] | None = None,
) -> int:
    """Save the pictures into ``folder``; with ``place``, only the window, showing that place.

    scale: device pixels in one of the window's; None for both 1 and 2, one after the other.
    scenes: which of SCENES to show, None for all.
    Returns 1 if one could not be saved.
    """
    if scale is None:
        # A process has one scale, so the second has a process of its own.
        argv = [sys.executable, "-m", "torchkeeper", "shots", folder, "--scale", "2"]
        argv += [] if place is None else ["--place", place]
        argv += [f"--scene={name}" for name in scenes or ()]
        status = run(folder, place, 1, scenes)
        return status or subprocess.run(argv, check=False).returncode
    before = qInstallMessageHandler(_message)
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="torchkeeper-shots-") as private:
            if QApplication.instance() is None:
                prepare_screen(private, scale)
            application()
            chosen = theme.look().theme
            suffix = "" if scale == 1 else f"@{scale}x"
            stage = Stage(os.path.abspath(folder), private, suffix)
            if place is None:
                for name in SCENES if scenes is None else scenes:
                    SCENES[name](stage)
            else:
                _real(stage, os.path.abspath(place))
            theme.look().choose(chosen)
    except OSError as e:
        sys.stderr.write(f"{e.filename}: {e.strerror}\n")
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


def _real(stage: Stage, place: str) -> None:
    window = stage.window(Engines())
    window.open_paths([place])
    turn(_PATIENCE, lambda: window.place == place and not window.listing.loading)
    stage.take("window", window)
    stage.close(window)
