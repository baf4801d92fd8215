"""Run a program…: its output and its graphs while it runs, why each miss is one, and what next."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import sys
import tomllib
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSettings, Qt
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from tests.cli.test_run import TRACING
from tests.engine.test_running import SAID
from tests.gui.conftest import PATIENCE, OpenWindow, click, idle, settle, type_in
from tests.gui.test_cleaning import Clicks
from tests.gui.test_runs import cells
from torchkeeper.client import programs
from torchkeeper.client.engines import probes
from torchkeeper.client.kept import runs
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError
from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.dialogs.programs import ProgramDialog
from torchkeeper.gui.dialogs.warming import WarmDialog
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.pages import PAGES
from torchkeeper.gui.pages.comparing.page import ComparePage
from torchkeeper.gui.pages.runs import RunsPage
from torchkeeper.gui.verdicts.environments import KEY
from torchkeeper.gui.window import Window
from torchkeeper.warm import processes


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
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
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
    buttons = page.save, page.rerun, page.nearest, page.entry, page.warm
    stood = [one.mapTo(page, one.rect().topLeft()) for one in buttons]
    end.touch()
    idle(qtbot, window)
    assert job.state is State.DONE
    (kept,) = runs.kept().runs
    # It is the chosen one still.
    qtbot.waitUntil(lambda: [one.id for one in page.selected()] == [kept.id], timeout=PATIENCE)
    assert [row[7] for row in cells(page.list)] == ["3"]
    assert kept.code == 3 and kept.place == str(cache)
    assert page._output is not None
    assert page._output.text().splitlines()[0] == "the program"
    assert not page.cancel.isVisible()
    settle(qtbot)
    stand = [one.mapTo(page, one.rect().topLeft()) for one in buttons]
    assert stand == stood, "nothing moved"


#: What a trace says of a graph before it was compiled: that it was looked up.
LOOKED_UP = """
import json, os, sys, time
os.makedirs(os.environ["TORCH_TRACE"], exist_ok=True)
with open(os.path.join(os.environ["TORCH_TRACE"], "dedicated_log_torch_trace_x.log"), "w") as file:
    head = {"frame_id": 0, "frame_compile_id": 0}
    about = {"name": "fx_graph_cache_miss", "encoding": "json"}
    said = "V0101 00:00:00.000000 1 a.py:1] "
    file.write(said + json.dumps({"artifact": about, **head, "has_payload": "0"}) + "\\n")
    file.write("\\t" + json.dumps({"key": "f" * 52}) + "\\n")
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
"""


def test_why_is_not_known_yet_while_a_graph_compiles(
    qtbot: QtBot, open_window: OpenWindow, cache: Path, tmp_path: Path
) -> None:
    window, end = open_window(), tmp_path / "end"
    page = started(qtbot, window, line(cache, LOOKED_UP, end))
    qtbot.waitUntil(lambda: page.graphs.topLevelItemCount() == 1, timeout=PATIENCE)
    assert cells(page.graphs)[0][4] == "Not known yet: the graph is being compiled"
    end.touch()
    idle(qtbot, window)
    last = "Its record in the trace is not whole"
    qtbot.waitUntil(lambda: cells(page.graphs)[0][4] == last, timeout=20_000)


def test_a_program_is_cancelled_with_all_that_it_started(
    qtbot: QtBot, open_window: OpenWindow, recorded: Path, cache: Path, tmp_path: Path
) -> None:
    (trace,) = (recorded / "same").iterdir()
    window = open_window()
    page = started(qtbot, window, line(cache, WAITING, trace, 0, tmp_path / "never"))
    qtbot.waitUntil(lambda: page.graphs.topLevelItemCount() == 1, timeout=PATIENCE)
    click(qtbot, page.cancel)
    idle(qtbot, window)
    (job,) = window.jobs.jobs
    assert job.state is State.CANCELLED
    qtbot.waitUntil(lambda: [row[7] for row in cells(page.list)] == ["cancelled"])
    assert [row[0] for row in cells(page.graphs)] == ["hit, local"], "what was seen stays"
    assert runs.kept().runs == []
    assert page.rerun.isEnabled() and not page.forget.isEnabled()


def test_a_program_ends_with_the_window(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    told = tmp_path / "pid"
    source = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
    window = open_window()
    started(qtbot, window, line(tmp_path / "none", source, told))
    qtbot.waitUntil(lambda: told.exists() and bool(told.read_text()), timeout=PATIENCE)
    window.close_surely()
    there = Path("/proc", told.read_text(), "cwd")
    qtbot.waitUntil(lambda: not there.exists(), timeout=PATIENCE)


def test_what_a_program_leaves_at_work_is_named(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    told = tmp_path / "pid"
    source = (
        "import subprocess, sys; go = dict(start_new_session=True, stdout=subprocess.DEVNULL)\n"
        "child = subprocess.Popen(['sleep', '600'], **go)\n"
        "open(sys.argv[1], 'w').write(str(child.pid))"
    )
    window = open_window()
    page = started(qtbot, window, line(tmp_path / "none", source, told))
    idle(qtbot, window)
    try:
        qtbot.waitUntil(lambda: "1 process that it started still ran" in page.note.text())
        # Of another that has its id by now nothing is ended.
        pid = int(told.read_text())
        [(alive, start)] = window.jobs.jobs[0].result["alive"]
        assert alive == pid
        assert processes.end_these([(pid, start + 1)]) == []
        assert processes.start_of(pid) == start
        click(qtbot, page.end)
        [sure] = (one for one in page.findChildren(ConfirmDialog) if one.isVisible())
        assert sure.question.text() == "End 1 process?"
        sure.reject()
        assert processes.start_of(pid) == start
        click(qtbot, page.end)
        [sure] = (one for one in page.findChildren(ConfirmDialog) if one.isVisible())
        click(qtbot, sure.go)
        qtbot.waitUntil(lambda: processes.start_of(pid) is None, timeout=PATIENCE)
        qtbot.waitUntil(lambda: not page.end.isVisible(), timeout=PATIENCE)
        assert "still ran" not in page.note.text()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(told.read_text()), signal.SIGKILL)


def test_what_a_kept_run_leaves_is_ended(
    qtbot: QtBot, open_window: OpenWindow, recorded: Path, cache: Path
) -> None:
    (trace,) = (recorded / "shape").iterdir()
    left = (
        "    import subprocess\n    go = dict(start_new_session=True, stdout=subprocess.DEVNULL)\n"
        "    subprocess.Popen(['sleep', '600'], **go)\n    sys.exit"
    )
    page = started(
        qtbot, open_window(), line(cache, TRACING.replace("    sys.exit", left), trace, 0)
    )
    qtbot.waitUntil(page.end.isVisible, timeout=PATIENCE)
    qtbot.waitUntil(lambda: bool(runs.kept().runs), timeout=PATIENCE)
    settle(qtbot)
    click(qtbot, page.end)
    [sure] = (one for one in page.findChildren(ConfirmDialog) if one.isVisible())
    click(qtbot, sure.go)
    qtbot.waitUntil(lambda: not page.end.isVisible(), timeout=20_000)


def test_a_working_folder_that_is_not_there_is_told_in_the_dialog(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window()
    dialog = window.flows.run_program(f"{sys.executable} -c 0")
    dialog.folder.setText(str(tmp_path))
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    for text, said in (
        (str(tmp_path / "nope"), "The working folder does not exist."),
        (__file__, "This is no folder."),
        ("nope", "Give the whole path of the working folder."),
    ):
        dialog.folder.setText(text)
        qtbot.waitUntil(lambda said=said: dialog.said.text() == said, timeout=PATIENCE)  # type: ignore[misc]
        assert not dialog.go.isEnabled()
    dialog.folder.setText(str(tmp_path))
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    assert "Save as recipe" in dialog.said.text(), "what comes after it, where nothing is wrong"


def test_a_long_command_widens_nothing_and_the_drawer_opens_the_run(
    qtbot: QtBot, open_window: OpenWindow, recorded: Path, cache: Path, tmp_path: Path
) -> None:
    (trace,) = (recorded / "shape").iterdir()
    window = open_window()
    window.resize(1000, 600)
    page = started(qtbot, window, line(cache, TRACING, trace, 0, "x" * 600))
    idle(qtbot, window)
    (job,) = window.jobs.jobs
    (kept,) = runs.kept().runs
    qtbot.waitUntil(lambda: [one.id for one in page.selected()] == [kept.id], timeout=PATIENCE)
    settle(qtbot)
    inside = page.list.mapTo(page, page.list.rect().bottomRight())
    assert inside.x() <= page.width()
    assert "x" * 100 in page.head.toolTip()
    # No text lies over another.
    shown = [one for one in (page.head, page.note, page.graphs, page.why) if one.isVisible()]
    boxes = [one.rect().translated(one.mapTo(page, QPoint())) for one in shown]
    assert len(boxes) >= 3
    assert not any(a.intersects(b) for n, a in enumerate(boxes) for b in boxes[:n])
    window.show_page("recipes")
    window.following.show(job)
    drawer = window.following.drawer
    settle(qtbot)
    assert drawer.list.width() > 200, "a word without an end takes no room"
    click(qtbot, drawer.open)
    qtbot.waitUntil(lambda: window.pages.current == "runs", timeout=PATIENCE)
    assert not drawer.isVisible()
    qtbot.waitUntil(lambda: [one.id for one in page.selected()] == [kept.id], timeout=PATIENCE)


def test_a_double_click_on_a_graph_shows_its_entry(
    qtbot: QtBot, open_window: OpenWindow, recorded: Path, cache: Path
) -> None:
    (trace,) = (recorded / "same").iterdir()
    window = open_window()
    page = started(qtbot, window, line(cache, TRACING, trace, 0))
    idle(qtbot, window)
    qtbot.waitUntil(lambda: bool(runs.kept().runs), timeout=PATIENCE)
    (key,) = (graph["key"] for graph in runs.kept().runs[0].graphs)
    settle(qtbot)
    assert not page.nearest.isEnabled(), "it was a hit"
    box = page.graphs.visualItemRect(page.graphs.topLevelItem(0))  # type: ignore[arg-type]
    click(qtbot, page.graphs.viewport(), box.center())
    qtbot.mouseDClick(page.graphs.viewport(), Qt.MouseButton.LeftButton, pos=box.center())  # type: ignore[no-untyped-call]
    qtbot.waitUntil(lambda: [one.key for one in window.table.selected()] == [key])
    assert (window.place, window.pages.current) == (str(cache), "entries")


def test_what_a_program_prints_is_plain_and_has_an_end(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    source = (
        "print('<b>bold</b>\\x1b[31m'); print('a' * 10**6); print('1%\\r2%\\r3%');\n"
        "for n in range(6000): print(n)\nprint('last')"
    )
    window = open_window()
    page = started(qtbot, window, line(tmp_path / "none", source))
    idle(qtbot, window)
    (job,) = window.jobs.jobs
    text = list(job.log)
    assert text[0] == "<b>bold</b>\\x1b[31m"
    assert {len(one) for one in text[1:12]} >= {400} and "3%" in text
    assert len(text) < 4500 and "last" in text, "of very much the first and the last lines"
    # Why nothing is kept of it.
    qtbot.waitUntil(lambda: "left no trace" in page.note.text())
    assert runs.kept().runs == []


def test_what_cannot_be_started_is_told(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window()
    page = started(qtbot, window, "no-such-program --at all")
    idle(qtbot, window)
    (job,) = window.jobs.jobs
    assert job.state is State.FAILED
    assert job.error is not None and job.error.code == "command-missing"
    assert [row[7] for row in cells(page.list)] == ["failed"]


@pytest.mark.parametrize("text", ["a | b", "a > b", "a && b", "a 2>&1", "a 'b"])
def test_what_only_a_shell_does_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        programs.parsed(text)


def test_a_line_is_read_as_a_shell_reads_it() -> None:
    told = programs.parsed("$ A=1 B='x y' python train.py \\\n  --name 'a b' --sep=a|b")
    assert told.env == {"A": "1", "B": "x y"}
    assert told.words == ["python", "train.py", "--name", "a b", "--sep=a|b"]
    assert programs.parsed("torchkeeper run -- python x.py").words == ["python", "x.py"]


def test_the_command_is_remembered_but_for_secrets(
    qtbot: QtBot, open_window: OpenWindow, settings: QSettings
) -> None:
    window = open_window()
    command = f"{sys.executable} -c 0"
    started(qtbot, window, command)
    idle(qtbot, window)
    window.actions_["run-program"].trigger()
    (dialog,) = (one for one in window.findChildren(ProgramDialog) if one.isVisible())
    assert dialog.line.text() == command
    dialog.reject()
    started(qtbot, window, f"{command} --token=hunter2hunter2")
    idle(qtbot, window)
    assert not any("hunter2" in str(settings.value(key)) for key in settings.allKeys())


def test_the_environment_runs_what_does_not_name_another(
    qtbot: QtBot, open_window: OpenWindow, settings: QSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", sys.executable)
    probes.keep(probes.identity(sys.executable), {"torch": "2.13.0", "threads": 3})
    settings.setValue(KEY, sys.executable)
    window = open_window()
    dialog = window.flows.run_program("python -c 0")
    qtbot.waitUntil(lambda: dialog.python == sys.executable, timeout=PATIENCE)
    for text in ("/usr/bin/python3 -c 0", "torchrun train.py"):
        dialog.line.setText(text)
        assert dialog.python == ""
        assert dialog.said.text().startswith("This command does not use the environment")
    dialog.line.setText("a | b")
    assert not dialog.go.isEnabled() and "for a shell" in dialog.said.text()
    dialog.reject()


#: A program of torch's, which is compiled anew for each size, and needs no C++ compiler.
PROGRAM = """
import sys, torch
def layer(x):
    return x @ x
if __name__ == "__main__":
    size = int(sys.argv[1])
    torch.compile(layer, dynamic=False)(torch.ones(size, size))
    print("done")
"""


@pytest.mark.torch
def test_why_it_compiled_again_takes_three_clicks(
    qtbot: QtBot, open_window: OpenWindow, torch_python: str, tmp_path: Path, settings: QSettings
) -> None:
    """From any page, with a command that is typed once; and then what differs is one more."""
    (tmp_path / "train.py").write_text(PROGRAM)
    cache = tmp_path / "cache"
    env = f"TORCHINDUCTOR_COMPILE_THREADS=1 TORCHINDUCTOR_CACHE_DIR={cache}"
    settings.setValue("run/folder", str(tmp_path))
    window = open_window()
    page = started(qtbot, window, f"{env} {torch_python} train.py 8")
    idle(qtbot, window)
    qtbot.waitUntil(lambda: len(runs.kept().runs) == 1, timeout=PATIENCE)
    assert [row[4] for row in cells(page.graphs)] == ["No graph was there"]
    window.show_page("entries")
    settle(qtbot)
    clicks, app = Clicks(), QApplication.instance()
    assert app is not None
    app.installEventFilter(clicks)
    pages = window.sidebar.pages
    click(qtbot, pages.viewport(), middle_of(window, "runs"))
    assert window.pages.current == "runs"
    click(qtbot, page.start)
    (dialog,) = (one for one in window.findChildren(ProgramDialog) if one.isVisible())
    app.removeEventFilter(clicks)
    dialog.line.clear()
    type_in(qtbot, dialog.line, f"{env} {torch_python} train.py 16")
    app.installEventFilter(clicks)
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    click(qtbot, dialog.go)
    qtbot.waitUntil(lambda: len(runs.kept().runs) == 2, timeout=PATIENCE)
    idle(qtbot, window)
    last = runs.kept().runs[0].id
    qtbot.waitUntil(lambda: [one.id for one in page.selected()] == [last], timeout=PATIENCE)
    settle(qtbot)
    app.removeEventFilter(clicks)
    assert (len(clicks.count), clicks.keys) == (3, 0)
    assert window.focusWidget() is page.list, "the keys go on there"
    (graph,) = cells(page.graphs)
    assert graph[0] == "miss" and graph[4].startswith("Same graph; ")
    assert "16 instead of 8" in graph[4]
    saved = tmp_path / "run.toml"
    click(qtbot, page.save)
    (asks,) = window.findChildren(QFileDialog)
    asks.fileSelected.emit(str(saved))
    asks.close()
    qtbot.waitUntil(lambda: window.pages.current == "recipes", timeout=PATIENCE)
    (item,) = tomllib.loads(saved.read_text())["callable"]
    assert item["inputs"][0]["shape"] == [16, 16], "the inputs that it had"
    window.show_page("runs")
    settle(qtbot)
    click(qtbot, page.nearest)
    qtbot.waitUntil(lambda: window.pages.current == "compare", timeout=PATIENCE)
    compare = window.pages.page
    assert isinstance(compare, ComparePage)
    qtbot.waitUntil(lambda: "16 instead of 8" in compare.sentence.text(), timeout=PATIENCE)
    assert compare.back.text() == "&Back to Runs"
    click(qtbot, compare.back)
    assert window.pages.current == "runs"
    settle(qtbot)
    click(qtbot, page.warm)
    (asks,) = (one for one in window.findChildren(QFileDialog) if one.isVisible())
    asks.fileSelected.emit(str(tmp_path / "warm.toml"))
    asks.close()
    qtbot.waitUntil(lambda: bool(shown(window, WarmDialog)), timeout=PATIENCE)
    shown(window, WarmDialog)[0].reject()
    assert (tmp_path / "warm.toml").read_text() == saved.read_text()


def shown(window: Window, kind: type[WarmDialog]) -> list[WarmDialog]:
    return [one for one in window.findChildren(kind) if one.isVisible()]


def middle_of(window: Window, ident: str) -> QPoint:
    pages = window.sidebar.pages
    return pages.visualRect(pages.model().index(PAGES.index(ident), 0)).center()
