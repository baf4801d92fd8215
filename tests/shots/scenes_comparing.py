"""Pictures of the Compare page: by cause, while it looks, what it found, and what it is for."""

from __future__ import annotations

from tests.shots.sample_engines import SampleEngines
from tests.shots.stage import Stage, turn
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.pages.comparing.page import ComparePage


def _compare(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines)
    page = window.show_page("compare")
    assert isinstance(page, ComparePage)
    stage.take("compare-empty", window)
    window.show_page("entries")
    graphs = [e for e in window.entries.shown() if e.kind == "fxgraph" and not e.problem]
    two, one = ({entry.identity for entry in graphs[:n]} for n in (2, 1))
    window.table.select(one)
    turn(0.1)
    window.flows.comparing.compare_as("A")
    stage.take("compare-choosing", window)
    page = window.show_page("compare")
    assert isinstance(page, ComparePage)
    stage.take("compare-one", window)

    def both() -> None:
        window.table.select(two)
        window.flows.comparing.compare_selected()

    for cause in ("settings", "inputs", "graph", "none"):
        engines.cause = cause
        both()
        stage.take(f"compare-{cause}", window)
    engines.silent = {"explain"}
    both()
    stage.take("compare-reading", window)
    engines.progress["explain"] = (4_100.0, 10_250.0, "entries")
    page.nearest.click()
    stage.take("compare-looking", window)
    engines.silent, engines.cause = set(), "inputs"
    gone = {"place": "/scratch/old"}
    left = {"code": "place-missing", "params": gone, "path": None}
    engines.found["explain"] = [{"left": left}]
    page.nearest.click()
    stage.take("compare-nearest", window)
    engines.cause = ""
    engines.found.clear()
    page.nearest.click()
    stage.take("compare-alone", window)
    gone_path = next(e.path for e in graphs if e.key == page.a.key.text())
    engines.failing["explain"] = user_error("entry-gone", {"path": gone_path})
    page.nearest.click()
    stage.take("compare-failed", window)
    stage.close(window)


SCENES = {"compare": _compare}
