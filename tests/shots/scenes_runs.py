"""Pictures of the runs: with some, while they are read, without any, forgetting, and a failure."""

from __future__ import annotations

from tests.shots.sample_engines import SampleEngines
from tests.shots.stage import Stage
from torchkeeper.client.kept.runs import Kept
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.pages.runs import RunsPage


def _runs(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines)
    page = window.show_page("runs")
    assert isinstance(page, RunsPage)
    stage.take("runs", window)
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


SCENES = {"runs": _runs}
