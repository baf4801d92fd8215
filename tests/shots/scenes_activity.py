"""Pictures of the drawer: what runs, what failed, variants, the history, and without any."""

from __future__ import annotations

from tests.shots import sample_jobs
from tests.shots.sample_engines import SampleEngines
from tests.shots.scenes_warming import begun
from tests.shots.scenes_window import busy
from tests.shots.stage import Stage, turn
from torchkeeper.client.kept.history import Kept
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.activity.drawer import Drawer
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.window import Window


def _opened(window: Window) -> Drawer:
    window.actions_["activity"].trigger()
    turn(0.05)
    return window.following.drawer


def _activity(stage: Stage) -> None:
    window = stage.window()
    busy(window)
    drawer = _opened(window)
    stage.take("activity", window)
    drawer.choose(next(job for job in window.jobs.jobs if job.state is State.FAILED))
    stage.take("activity-failed", window)
    drawer.choose(drawer.rows.past[0])
    stage.take("activity-past", window)
    drawer.choose(drawer.rows.past[1])
    stage.take("activity-past-failed", window)
    drawer.filter.setText("nothing like it")
    stage.take("activity-no-match", window)
    drawer.filter.clear()
    drawer.clear_button.click()
    stage.opened("activity-clear", window)
    stage.close(window)
    window = stage.window()
    begun(window, 9, (4, 7), running=2)
    drawer = _opened(window)
    stage.take("activity-variants", window)
    stage.close(window)
    engines = SampleEngines()
    engines.elsewhere = [sample_jobs.ELSEWHERE]
    window = stage.window(engines, size=(1100, 700))
    busy(window)
    drawer = _opened(window)
    stage.take("activity-narrow", window)
    drawer.choose(next(job for job in window.jobs.jobs if job.state is State.FAILED))
    stage.take("activity-narrow-failed", window)
    for name, size in (("laptop", (1366, 768)), ("least", (800, 512))):
        before = None
        while window.size() != before:  # what it holds gets along with less once it has less
            before = window.size()
            window.resize(*size)
            turn(0.3)
        drawer.choose(window.jobs.jobs[0])
        stage.take(f"activity-{name}", window, 0.2)
    stage.close(window)
    engines = SampleEngines()
    engines.past = Kept([], 0)
    window = stage.window(engines)
    drawer = _opened(window)
    stage.take("activity-empty", window)
    stage.close(window)
    engines = SampleEngines()
    engines.failing["past_jobs"] = user_error(
        "jobs-unreadable",
        {"file": "~/.local/share/torchkeeper/jobs.jsonl", "why": "Permission denied"},
    )
    window = stage.window(engines)
    drawer = _opened(window)
    busy(window)
    turn(0.05)
    stage.take("activity-unreadable", window)
    stage.close(window)


SCENES = {"activity": _activity}
