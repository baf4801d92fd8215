"""Pictures of the Fleet page and of the dialog that asks for a fleet."""

from __future__ import annotations

import time

from tests.shots import sample_fleet, sample_recipes
from tests.shots.sample_engines import SampleEngines
from tests.shots.stage import Stage, turn
from torchkeeper.engine.protocol import FLEET
from torchkeeper.gui.dialogs.fleet import TargetDialog
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.pages.fleet.page import FleetPage
from torchkeeper.gui.window import Window


def _page(window: Window) -> FleetPage:
    page = window.show_page("fleet")
    assert isinstance(page, FleetPage)
    turn(0.3)
    return page


def _begun(window: Window, *, over: bool) -> Job:
    title = "Warm llama.torchcache on several machines"
    job = window.jobs.add(title, FLEET, sample_fleet.BUNDLE)
    job.asked = {"recipes": [sample_recipes.FOLDER], "on": ["gpus", "ssh://gpu3", "local"],
                 "prove": True}  # fmt: skip
    window.jobs.begin(job)
    job.started = time.time() - 96.0
    sample_fleet.fill(job.cells, over=over)
    window.jobs.progress(job, 9, 21, "cells")
    return job


def _fleet(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines)
    page = _page(window)
    stage.take("fleet-first", window)
    engines.targets = list(sample_fleet.KEPT)
    page.refresh()
    turn(0.3)
    stage.take("fleet-targets", window)
    job = _begun(window, over=False)
    turn(0.3)
    stage.take("fleet-working", window)
    size = window.size()
    window.resize(960, 640)
    turn(0.3)
    stage.take("fleet-small", window)
    window.resize(size)
    job.cells.end()
    result = sample_fleet.result(job.cells, cut=True)
    window.jobs.end(job, State.CANCELLED, note="what is done stays", result=result)
    turn(0.3)
    stage.take("fleet-cancelled", window)
    job = _begun(window, over=True)
    window.jobs.end(job, State.DONE, result=sample_fleet.result(job.cells))
    turn(0.3)
    stage.take("fleet-failed", window)
    page.matrix.go_to("00000")
    page.bad.setChecked(False)
    turn(0.3)
    stage.take("fleet-done", window)
    window.following.show(job)
    turn(0.3)
    stage.take("fleet-job", window)
    stage.close(window)


def _asking(stage: Stage) -> None:
    engines = SampleEngines()
    engines.targets = list(sample_fleet.KEPT)
    window = stage.window(engines)
    _page(window)
    dialog = window.flows.fleet.warm([sample_recipes.FOLDER], ["gpus", "local"])
    turn(0.3)
    stage.dialog("fleet-warm", dialog)
    target = TargetDialog(window, window.flows.fleet.targets)
    target.open()
    stage.dialog("fleet-target", target)
    stage.close(window)


SCENES = {"fleet": _fleet, "fleet-warm": _asking}
