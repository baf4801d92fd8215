"""Pictures of the runs: with some, while they are read, without any, forgetting, and a failure."""

from __future__ import annotations

from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.shots.sample_engines import SampleEngines
from torchkeeper.gui.shots.stage import Stage, turn
from torchkeeper.link.runs import Kept
from torchkeeper.link.words import user_error


def _runs(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines)
    stage.dialog("runs", window.flows.show_runs())
    engines.silent = {"runs"}
    stage.dialog("runs-reading", window.flows.show_runs())
    engines.silent = set()
    engines.failing["runs"] = user_error(
        "runs-unwritable", {"folder": "~/.local/share/torchkeeper/runs", "why": "read-only"}
    )
    dialog = window.flows.show_runs()
    turn(0.1)
    dialog.forget.click()
    dialog.findChildren(ConfirmDialog)[-1].go.click()
    stage.dialog("runs-failed", dialog)
    dialog = window.flows.show_runs()
    turn(0.1)
    dialog.forget.click()
    stage.opened("runs-forget", window)
    dialog.reject()
    engines.kept = Kept([], 0)
    stage.dialog("runs-empty", window.flows.show_runs())
    stage.close(window)


SCENES = {"runs": _runs}
