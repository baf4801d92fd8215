"""Pictures of the Activity page: what runs, what failed, cells, the history, and without any."""

from __future__ import annotations

from tests.shots import sample_jobs
from tests.shots.sample_engines import SampleEngines
from tests.shots.scenes_warming import begun
from tests.shots.scenes_window import busy
from tests.shots.stage import Stage, turn
from torchkeeper.client.kept.history import Kept
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.pages.activity.page import ActivityPage
from torchkeeper.gui.window import Window


def _page(window: Window) -> ActivityPage:
    page = window.show_page("activity")
    assert isinstance(page, ActivityPage)
    turn(0.05)
    return page


def _activity(stage: Stage) -> None:
    window = stage.window()
    busy(window)
    page = _page(window)
    stage.take("activity", window)
    page.choose(next(job for job in window.jobs.jobs if job.state is State.FAILED))
    stage.take("activity-failed", window)
    page.choose(page.rows.past[0])
    stage.take("activity-past", window)
    page.choose(page.rows.past[1])
    stage.take("activity-past-failed", window)
    page.filter.setText("nothing like it")
    stage.take("activity-no-match", window)
    page.filter.clear()
    page.clear_button.click()
    stage.opened("activity-clear", window)
    stage.close(window)
    window = stage.window()
    begun(window, 9, (4, 7), running=2)
    page = _page(window)
    page.detail.tabs.setCurrentIndex(1)
    stage.take("activity-cells", window)
    stage.close(window)
    engines = SampleEngines()
    engines.elsewhere = [sample_jobs.ELSEWHERE]
    window = stage.window(engines, size=(1100, 700))
    busy(window)
    page = _page(window)
    stage.take("activity-narrow", window)
    page.choose(next(job for job in window.jobs.jobs if job.state is State.FAILED))
    stage.take("activity-narrow-failed", window)
    stage.close(window)
    engines = SampleEngines()
    engines.past = Kept([], 0)
    window = stage.window(engines)
    page = _page(window)
    stage.take("activity-empty", window)
    stage.close(window)
    engines = SampleEngines()
    engines.failing["past_jobs"] = user_error(
        "jobs-unreadable",
        {"file": "~/.local/share/torchkeeper/jobs.jsonl", "why": "Permission denied"},
    )
    window = stage.window(engines)
    page = _page(window)
    busy(window)
    turn(0.05)
    stage.take("activity-unreadable", window)
    stage.close(window)


SCENES = {"activity": _activity}
