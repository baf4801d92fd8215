"""Pictures of what is suggested to be purged: in a folder, on a server, and where nothing is."""

from __future__ import annotations

from tests.shots import samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.stage import Stage, turn
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.dialogs.cleaning import CleanDialog
from torchkeeper.gui.window import Window


def _opened(window: Window, place: str | None = samples.PLACE) -> CleanDialog:
    return window.flows.clean_up_places((), place)


def _clean(stage: Stage) -> None:
    engines = SampleEngines()
    engines.all_answer = True
    window = stage.window(engines)
    dialog = _opened(window)
    turn(5.0, dialog.go.isEnabled)
    stage.take("clean", dialog)
    dialog.shows.click()
    turn(0.1)
    assert dialog.preview is not None
    stage.take("clean-preview", dialog.preview)
    dialog.preview.reject()
    dialog.reject()
    engines.failing = {"suggest": user_error("place-unreadable", {
        "place": samples.PLACE, "why": "Permission denied"})}  # fmt: skip
    stage.dialog("clean-failed", _opened(window))
    engines.failing = {}
    engines.silent = {"suggest"}
    engines.progress = {"suggest": (3_400, 9_204, "entries")}
    stage.dialog("clean-looking", _opened(window))
    engines.silent, engines.progress = set(), {}
    engines.entries = []
    stage.dialog("clean-nothing", _opened(window))
    engines.silent = {"probe"}
    stage.dialog("clean-asking", _opened(window))
    stage.close(window)
    window = stage.window(SampleEngines())  # one of its interpreters hangs
    stage.dialog("clean-sick", _opened(window))
    stage.close(window)


def _clean_all(stage: Stage) -> None:
    engines = SampleEngines()
    engines.all_answer = True
    window = stage.window(engines)
    for place in (samples.KERNELS, "/srv/caches/llama", "/srv/caches/vision", samples.SERVER):
        window.places.add(place)
    window.discovery.protect("/srv/caches/vision", True)
    turn(0.1)
    dialog = _opened(window, None)
    turn(5.0, dialog.go.isEnabled)
    stage.take("clean-all", dialog)
    dialog.found.ticks[samples.SERVER].add("stale")
    dialog.found.ticks[samples.PLACE].add("unused")
    dialog.found.count_soon()
    dialog.at_once.setChecked(True)
    turn(1.0, lambda: not dialog.found.waiting)
    turn(0.5)
    stage.take("clean-all-at-once", dialog)
    dialog.go.click()
    turn(0.1)
    (question,) = dialog.findChildren(ConfirmDialog)
    stage.take("clean-all-sure", question)
    question.reject()
    dialog.reject()
    window.discovery.protect("/srv/caches/vision", False)
    stage.close(window)


def _clean_server(stage: Stage) -> None:
    engines = SampleEngines()
    engines.all_answer = True
    window = stage.window(engines)
    window.open_paths([samples.SERVER])
    turn(1.0, lambda: window.place == samples.SERVER and not window.listing.loading)
    stage.dialog("clean-server", _opened(window, samples.SERVER))
    stage.close(window)


SCENES = {"clean": _clean, "clean-all": _clean_all, "clean-server": _clean_server}
