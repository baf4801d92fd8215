"""Pictures of the runs: with some, while they are read, without any, forgetting, and a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtWidgets import QApplication, QMenu

from tests.shots import sample_runs, samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.stage import Stage, turn
from torchkeeper.client.kept.runs import Kept
from torchkeeper.client.words.problems import user_error
from torchkeeper.engine.protocol import RUN
from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.pages.runs import RunsPage
from torchkeeper.gui.window import Window

if TYPE_CHECKING:
    from torchkeeper.client.kept.runs import ExplainedGraph

#: What the program has printed.
_STEPS = [f"step {n}: loss {3.1 / n:.4f}" for n in range(1, 9)]


def _runs(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines, settings={"run/folder": "/home/ada/llama"})
    page = window.show_page("runs")
    assert isinstance(page, RunsPage)
    stage.take("runs", window)
    _program(stage, window, page)
    page.wanted = sample_runs.runs()[0].id
    page.refresh()
    turn()
    page.forget.click()
    stage.opened("runs-forget", window)
    engines.failing["runs"] = user_error(
        "runs-unwritable", {"folder": "~/.local/share/torchkeeper/runs", "why": "read-only"}
    )
    page.forget.click()
    page.findChildren(ConfirmDialog)[-1].go.click()
    stage.take("runs-failed", window)
    del engines.failing["runs"]
    engines.kept = Kept([], 0)
    page.refresh()
    stage.take("runs-empty", window)
    stage.close(window)
    engines = SampleEngines()
    engines.silent = {"runs"}
    window = stage.window(engines)
    window.show_page("runs")
    stage.take("runs-reading", window)
    stage.close(window)


def _program(stage: Stage, window: Window, page: RunsPage) -> None:
    """What asks for a program, and one that runs."""
    dialog = window.flows.run_program("python train.py --model gpt2-medium --batch 16")
    turn(0.1)
    dialog.environment.change.click()
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    stage.menu("menu-of-choice", menu)
    stage.opened("runs-program", window)
    job = window.jobs.add("Run python train.py", RUN, samples.PLACE)
    job.asked["command"] = ["python", "train.py", "--model", "gpt2-medium", "--batch", "16"]
    window.jobs.begin(job)
    window.jobs.log(job, ["loading gpt2-medium", "compiling …", *_STEPS])
    for one in sample_runs.runs()[0].graphs:
        job.graphs[one["id"]] = cast("ExplainedGraph", one)
    window.jobs.touch(job)
    turn(10, lambda: page.list.topLevelItemCount() == 13)
    stage.take("runs-live", window)
    window.jobs.end(job, State.CANCELLED)
    window.jobs.forget(job)


SCENES = {"runs": _runs}
