"""Pictures of what is suggested to be purged: in a folder, on a server, and where nothing is."""

from __future__ import annotations

from tests.shots import samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.stage import Stage, turn
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.dialogs.cleaning import CleanDialog
from torchkeeper.gui.window import Window


def _opened(window: Window) -> CleanDialog:
    dialog = window.flows.clean_up()
    assert dialog is not None
    return dialog


def _clean(stage: Stage) -> None:
    engines = SampleEngines()
    engines.all_answer = True
    window = stage.window(engines)
    dialog = _opened(window)
    turn(5.0, dialog.rows["stale"].go.isEnabled)
    stage.take("clean", dialog)
    dialog.rows["stale"].go.click()
    turn(0.1)
    assert dialog.preview is not None
    stage.take("clean-preview", dialog.preview)
    dialog.preview.reject()
    dialog.reject()
    engines.silent = {"probe"}
    stage.dialog("clean-asking", _opened(window))
    engines.silent = set()
    engines.all_answer = False
    stage.dialog("clean-sick", _opened(window))
    engines.all_answer = True
    engines.failing = {"suggest": user_error("place-unreadable", {
        "place": samples.PLACE, "why": "Permission denied"})}  # fmt: skip
    stage.dialog("clean-failed", _opened(window))
    engines.failing = {}
    engines.silent = {"suggest"}
    engines.progress = {"suggest": (3_400, 9_204, "entries")}
    stage.dialog("clean-looking", _opened(window))
    engines.silent, engines.progress = set(), {}
    window.discovery.protect(samples.PLACE, True)
    turn(0.1)
    stage.dialog("clean-read-only", _opened(window))
    window.discovery.protect(samples.PLACE, False)
    engines.entries = []
    stage.dialog("clean-nothing", _opened(window))
    stage.close(window)


def _clean_server(stage: Stage) -> None:
    engines = SampleEngines()
    engines.all_answer = True
    window = stage.window(engines)
    window.open_paths([samples.SERVER])
    turn(1.0, lambda: window.place == samples.SERVER and not window.listing.loading)
    stage.dialog("clean-server", _opened(window))
    stage.close(window)


SCENES = {"clean": _clean, "clean-server": _clean_server}
