"""Run a program…: its output and its graphs while it runs, why each miss is one, and what next."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.cli.test_run import TRACING
from tests.engine.test_running import SAID
from tests.gui.conftest import PATIENCE, OpenWindow, click, idle
from tests.gui.test_runs import cells
from torchkeeper.client.kept import runs
from torchkeeper.client.words import say
from torchkeeper.gui.dialogs.programs import ProgramDialog
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.pages.runs import RunsPage
from torchkeeper.gui.window import Window


@pytest.fixture(autouse=True)
def own_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has its own list of runs."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("TORCH_TRACE", "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def cache(recorded: Path, tmp_path: Path) -> Path:
    """A cache folder that holds one graph."""
    return Path(shutil.copytree(recorded / "cache", tmp_path / "cache"))


def line(cache: Path, source: str, *arguments: object) -> str:
    words = [sys.executable, "-c", source, *map(str, arguments)]
    return f"TORCHINDUCTOR_CACHE_DIR={cache} {shlex.join(words)}"


def started(qtbot: QtBot, window: Window, text: str) -> RunsPage:
    """The page, once a program was typed and started by its dialog."""
    window.actions_["run-program"].trigger()
    (dialog,) = (one for one in window.findChildren(ProgramDialog) if one.isVisible())
    dialog.line.setText(text)
    qtbot.waitUntil(lambda: dialog.go.isEnabled(), timeout=PATIENCE)
    click(qtbot, dialog.go)
    page = window.pages.page
    assert isinstance(page, RunsPage)
    qtbot.waitUntil(lambda: bool(window.jobs.jobs), timeout=PATIENCE)
    return page


#: Leaves a trace, and goes on until it may end.
WAITING = TRACING.replace("    sys.exit", "    import time\n    while not os.path.exists("
                          "sys.argv[3]): time.sleep(0.02)\n    sys.exit")  # fmt: skip


def test_output_and_graphs_are_there_while_it_runs(
    qtbot: QtBot, open_window: OpenWindow, recorded: Path, cache: Path, tmp_path: Path
) -> None:
    (trace,) = (recorded / "shape").iterdir()
    window, end = open_window(), tmp_path / "end"
    page = started(qtbot, window, line(cache, WAITING, trace, 3, end))
    (job,) = window.jobs.jobs
    qtbot.waitUntil(lambda: page.graphs.topLevelItemCount() == 1, timeout=PATIENCE)
    assert job.active
    assert "the program" in job.log
    (graph,) = cells(page.graphs)
    assert graph[0] == "miss" and graph[3].endswith("s spent")
    assert graph[4] == say.unmarked(SAID["shape"])
    (run,) = cells(page.list)
    assert (run[2:4], run[7]) == (["0", "1"], "runs")
    assert page.cancel.isVisible() and not page.rerun.isEnabled()
    end.touch()
    idle(qtbot, window)
    assert job.state is State.DONE
    qtbot.waitUntil(lambda: [row[7] for row in cells(page.list)] == ["3"], timeout=PATIENCE)
    (kept,) = runs.kept().runs
    assert [one.id for one in page.selected()] == [kept.id], "it is the chosen one still"
    assert kept.code == 3 and kept.place == str(cache)
    assert page._output is not None
    assert page._output.text().splitlines()[0] == "the program"
    assert not page.cancel.isVisible()
