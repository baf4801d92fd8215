"""Pictures of verdicts: what is of use here, and whose torch says so."""

from __future__ import annotations

from PySide6.QtCore import QPoint

from tests.shots import samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.stage import Stage, turn
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.gui.verdicts.environments import KEY, NONE
from torchkeeper.gui.window import Window


def _verdicts(stage: Stage) -> None:
    window = stage.window(settings={"inspector/shown": "true"}, size=(1640, 800))
    _judged(window)
    stale = [entry for entry in window.entries.shown() if entry.verdict == "stale"]
    window.table.select({stale[0].identity})
    stage.take("inspector-stale", window, 0.3)
    conditional = [e for e in window.entries.shown() if e.verdict == "conditional"]
    window.table.select({conditional[0].identity})
    stage.take("inspector-conditional", window, 0.3)
    stage.close(window)
    window = stage.window()
    _judged(window)
    window.here.show_only("stale")
    stage.take("window-stale", window, 0.2)
    window.here.show_only("")
    window.actions_["group-verdict"].trigger()
    stage.take("window-by-verdict", window, 0.2)
    stage.close(window)
    window = stage.window(size=(860, 520))
    window.head.box.setText("is:conditional")
    stage.take("window-verdicts-narrow", window, 0.3)
    stage.close(window)
    for name, engines, settings in (
        ("asking", SampleEngines(silent={"judge"}), {}),
        ("asking-torch", SampleEngines(silent={"probe"}), {}),
        ("off", SampleEngines(), {KEY: NONE}),
        ("no-torch", SampleEngines(failing={"interpreters": _none()}), {}),
        ("failed", SampleEngines(failing={"judge": _none()}), {}),
    ):
        window = stage.window(engines, settings=dict(settings))
        stage.take(f"window-verdicts-{name}", window, 0.6)
        stage.close(window)


def _judged(window: Window) -> None:
    turn(5, lambda: window.here.verdicts.counts is not None)


def _none() -> UserError:
    return user_error("place-unreadable", {"place": samples.PLACE, "why": "Input/output error"})


def _environments(stage: Stage) -> None:
    window = stage.window()
    turn(0.1)
    chooser = window.here.chooser
    menu = chooser.menu()
    menu.popup(chooser.mapToGlobal(QPoint(0, chooser.height())))
    stage.menu("menu-environments", menu)
    dialog = window.here.show_environments()
    stage.take("environments", dialog)
    for name, python in (
        ("failed", samples.BROKEN_PYTHON),
        ("without", samples.PLAIN_PYTHON),
        ("old", samples.OLD_PYTHON),
    ):
        dialog.go_to(python)
        stage.take(f"environments-{name}", dialog)
    dialog.reject()
    stage.close(window)
    window = stage.window(SampleEngines(silent={"probe"}))
    stage.dialog("environments-asking", window.here.show_environments())
    stage.close(window)


SCENES = {"verdicts": _verdicts, "environments": _environments}
