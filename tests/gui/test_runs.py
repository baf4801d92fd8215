"""The list of runs in the window, over runs that were really kept."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QTreeWidgetItem
from pytestqt.qtbot import QtBot

from tests.engine.test_running import SAID, explained
from tests.gui.conftest import PATIENCE, OpenWindow, click, settle
from torchkeeper.artifacts.report import Report
from torchkeeper.client.engines import far
from torchkeeper.client.kept import runs
from torchkeeper.client.words import causes, say
from torchkeeper.engine.protocol import RUN
from torchkeeper.engine.running import held
from torchkeeper.engine.session import Session
from torchkeeper.gui import theme
from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.dialogs.programs import ProgramDialog
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.pages import ran
from torchkeeper.gui.pages.runs import MOST, History, RunsPage
from torchkeeper.gui.theme import Theme
from torchkeeper.gui.window import Window
from torchkeeper.warm.traces import notes


@pytest.fixture(autouse=True)
def own_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has its own list of runs."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def keep(recorded: Path, change: str, ago: float, code: int = 0) -> runs.Run:
    """What the command keeps of a run of which this is the trace."""
    session = Session()
    try:
        held(session, {"place": str(recorded / "cache")}, Report())
        result, graphs, _ = explained(session, recorded / change, known=True)
    finally:
        session.close()
    told: list[Any] = [{**graph, "why": causes.cause(graph)} for graph in graphs]
    command = ["python", "changes.py", change, "--token=hunter2"]
    place = str(recorded / "cache")
    return runs.keep(command, place, code, time.time() - ago, 5.0, result, told)


def opened(qtbot: QtBot, window: Window, count: int) -> RunsPage:
    """The dialog, as soon as it shows so many runs."""
    window.actions_["runs"].trigger()
    (dialog,) = (x for x in window.findChildren(RunsPage) if x.isVisible())
    qtbot.waitUntil(lambda: dialog.list.topLevelItemCount() == count, timeout=PATIENCE)
    return dialog


def item(dialog: RunsPage, row: int) -> QTreeWidgetItem:
    found = dialog.list.topLevelItem(row)
    assert found
    return found


def cells(tree: Any) -> list[list[str]]:
    items = [tree.topLevelItem(row) for row in range(tree.topLevelItemCount())]
    return [[item.text(column) for column in range(tree.columnCount())] for item in items]


def test_runs_and_what_came_of_them(qtbot: QtBot, open_window: OpenWindow, recorded: Path) -> None:
    first, second, last = (
        keep(recorded, "line", 7200), keep(recorded, "same", 3600), keep(recorded, "shape", 60, 3)
    )  # fmt: skip
    Path(runs.folder(), "20200101-000000-0000.json").write_text("damaged")
    window = open_window()
    dialog = opened(qtbot, window, 3)
    rows = cells(dialog.list)
    assert [row[1] for row in rows] == [
        f"python changes.py {change} --token=…" for change in ("shape", "same", "line")
    ]
    assert [row[2:5] for row in rows] == [["0", "1", "0"], ["1", "0", "0"], ["0", "1", "0"]]
    assert [row[7] for row in rows] == ["3", "0", "0"]
    assert dialog.totals.text().startswith("3 kept runs · 3 graphs: 1 hit (1 local), 2 misses; ")
    assert dialog.totals.text().endswith("1 file could not be read")
    assert dialog.selected() == [last], "the latest is looked at first"
    (graph,) = cells(dialog.graphs)
    assert graph[:2] == ["miss", "0/0 forward"]
    assert graph[2].startswith("layer(f32[") and " at changes.py:" in graph[2]
    assert graph[4] == say.unmarked(SAID["shape"])
    assert "torch 2.13.0+cpu" in dialog.head.text()
    assert dialog.rate.accessibleDescription() == "The oldest first: 0%, 100%, 0%"
    dialog.list.setCurrentItem(item(dialog, 2))
    assert dialog.selected() == [first]
    assert dialog.why.text() == say.unmarked(SAID["line"]), "it has no room in its column"
    dialog.graphs.setFocus()
    qtbot.keyClick(dialog.graphs, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)  # type: ignore[no-untyped-call]
    copied = QGuiApplication.clipboard().text().split("\t")
    assert (copied[0], copied[4]) == ("miss", say.unmarked(SAID["line"]))
    # A bar is a run.
    bar = dialog.saved.bars()[1].center()
    click(qtbot, dialog.saved, QPointF(bar.x(), 60).toPoint())
    assert dialog.selected() == [second]
    assert cells(dialog.graphs)[0][0] == "hit, local"
    assert not dialog.why.isVisible()


def test_there_is_one_list_and_it_can_be_read_again(
    qtbot: QtBot, open_window: OpenWindow, recorded: Path
) -> None:
    window = open_window()
    window.actions_["runs"].trigger()
    (dialog,) = window.findChildren(RunsPage)
    qtbot.waitUntil(lambda: bool(dialog.blank.title.text()), timeout=PATIENCE)
    assert dialog.blank.title.text() == "No run yet"
    assert not dialog.forget.isEnabled()
    assert dialog.blank.button is not None
    click(qtbot, dialog.blank.button)
    (asks,) = window.findChildren(ProgramDialog)
    asks.reject()
    keep(recorded, "same", 60)
    click(qtbot, dialog.again)
    qtbot.waitUntil(lambda: dialog.list.topLevelItemCount() == 1, timeout=PATIENCE)
    keep(recorded, "dtype", 10)
    assert opened(qtbot, window, 2) is dialog
    assert [run.command[2] for run in dialog.selected()] == ["same"], "the choice stays"


def test_a_graph_more_is_added_to_those_that_are_there(
    qtbot: QtBot, open_window: OpenWindow, recorded: Path
) -> None:
    graph: Any = keep(recorded, "shape", 60).graphs[0]
    window = open_window()
    page = opened(qtbot, window, 1)
    job = window.jobs.add("Run", RUN, str(recorded / "cache"))
    job.asked["command"] = ["python", "train.py"]

    def heard(*numbers: int) -> None:
        more: Any = {(1, f"{n}/0", f"k{n}"): {**graph, "id": f"{n}/0"} for n in numbers}
        job.graphs.update(more)
        window.jobs.touch(job)
        said = [f"{n}/0" for n in range(len(job.graphs))]
        qtbot.waitUntil(lambda: [row[1] for row in cells(page.graphs)] == said, timeout=PATIENCE)

    heard(0, 1, 2)
    second = page.graphs.topLevelItem(1)
    assert second is not None
    page.graphs.setCurrentItem(second)
    heard(3, 4)
    assert page.graphs.topLevelItem(1) is second and page.graphs.currentItem() is second
    assert page.graphs.topLevelItem(4).foreground(0) == second.foreground(0)  # type: ignore[union-attr]
    # What is said of one lies below them, beside the output in a small window as well.
    graph["why"] = "why " * 90
    window.resize(1366, 640)
    heard(5)
    page.graphs.setCurrentIndex(page.graphs.model().index(5, 0))
    settle(qtbot)
    top, end = page.why.mapTo(page, QPoint()).y(), page.graphs.rect().bottomLeft()
    assert page.why.isVisible() and page.graphs.mapTo(page, end).y() < top
    job.graphs.clear()
    heard(0)
    window.jobs.end(job, State.DONE)


def test_commands_and_reasons_have_room_in_a_narrow_window(
    qtbot: QtBot, open_window: OpenWindow, recorded: Path
) -> None:
    keep(recorded, "shape", 60)
    window = open_window()
    page = opened(qtbot, window, 1)
    for wide, all_of_them in ((1000, False), (1700, True)):
        window.resize(wide, 640)
        settle(qtbot)
        for shown, name in ((page.list, 1), (page.graphs, 4)):
            assert shown.columnWidth(name) >= 28 * shown.fontMetrics().averageCharWidth()
            assert shown.header().length() <= shown.viewport().width(), "nothing is scrolled to"
        hidden = [page.list.isColumnHidden(n) for n in range(page.list.columnCount())]
        # What is said below the graphs lies below them, however little room there is.
        page.why.setText("why " * 40)
        page.why.show()
        settle(qtbot)
        below = page.why.mapTo(page, QPoint()).y()
        assert page.graphs.mapTo(page, QPoint(0, page.graphs.height())).y() <= below
        assert any(hidden) is not all_of_them
        assert not any(hidden[n] for n in (0, 1, 2, 3)), "when, what, hits and misses"


def test_a_page_that_is_gone_to_by_a_key_has_its_run_chosen(
    qtbot: QtBot, open_window: OpenWindow, recorded: Path
) -> None:
    only = keep(recorded, "shape", 60)
    window = open_window()
    # Ctrl is held while the runs come.
    QTest.keyPress(window, Qt.Key.Key_3, Qt.KeyboardModifier.ControlModifier)
    page = window.pages.page
    assert isinstance(page, RunsPage)
    qtbot.waitUntil(lambda: page.list.topLevelItemCount() == 1, timeout=PATIENCE)
    assert page.selected() == [only] and page.list.hasFocus()
    QTest.keyRelease(window, Qt.Key.Key_3)


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_runs_are_forgotten(qtbot: QtBot, open_window: OpenWindow, recorded: Path) -> None:
    kept = [keep(recorded, "same", 600 - n) for n in range(3)]
    dialog = opened(qtbot, open_window(), 3)
    # What the buttons do is in the menus of the lines, too.
    for tree, buttons in (
        (dialog.list, (dialog.rerun, dialog.save, dialog.forget)),
        (dialog.graphs, (dialog.nearest, dialog.entry, dialog.warm)),
    ):
        tree.customContextMenuRequested.emit(QPoint(2, 2))
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        told = [(x.text(), x.isEnabled()) for x in menu.actions()]
        assert told == [(x.text(), x.isEnabled()) for x in buttons]
        menu.close()
    for row in (0, 1):
        item(dialog, row).setSelected(True)
    assert dialog.head.text() == "2 runs chosen"
    assert cells(dialog.graphs) == []
    click(qtbot, dialog.forget)
    (ask,) = dialog.findChildren(ConfirmDialog)
    assert ask.question.text() == "Forget 2 runs?"
    click(qtbot, ask.go)
    qtbot.waitUntil(lambda: dialog.list.topLevelItemCount() == 1, timeout=PATIENCE)
    assert [run.id for run in runs.kept().runs] == [kept[0].id]
    # What cannot be written cannot be forgotten.
    folder = Path(runs.folder())
    path = folder / f"{kept[0].id}.json"
    path.unlink()
    path.mkdir()
    dialog._ask([kept[0].id])
    qtbot.waitUntil(dialog.notice.isVisible, timeout=PATIENCE)
    assert dialog.notice.error
    assert dialog.notice.error.code == "runs-unwritable"
    os.rmdir(path)
    click(qtbot, dialog.notice.button)
    qtbot.waitUntil(lambda: not dialog.notice.isVisible(), timeout=PATIENCE)
    assert dialog.stack.currentIndex() == 0


def test_a_history_is_drawn_in_both_themes(qtbot: QtBot, qapp: QApplication) -> None:
    history = History("Hit rate", lambda value: f"{value:.0%}", "good", 1.0)
    qtbot.addWidget(history)
    history.resize(440, 108)
    history.fill([0.0, None, 0.5, 1.0], ["a", "b", "c", "d"])
    nothing, missing, half, whole = history.bars()
    assert whole.height() == pytest.approx(2 * half.height())
    assert 0 < nothing.height() < 4
    assert missing.height() == 0
    assert whole.top() >= 24, "under the title"
    before = theme.look().theme
    try:
        for which in (Theme.LIGHT, Theme.DARK):
            theme.look().choose(which)
            drawn = history.grab().toImage()
            inside = drawn.pixelColor((whole.center() * drawn.devicePixelRatio()).toPoint())
            assert inside.name() == theme.shades().good
            above = drawn.pixelColor(int(half.center().x()), int(half.top()) - 6)
            assert above.name() != theme.shades().good
    finally:
        theme.look().choose(before)
    history.fill([n / 100 for n in range(100)], [""] * 100)
    assert len(history.bars()) == MOST
    assert history.bars()[-1].right() <= history.width()
    chosen: list[int] = []
    history.chosen.connect(chosen.append)
    last = history.bars()[-1].center()
    qtbot.mouseClick(history, Qt.MouseButton.LeftButton, pos=last.toPoint())  # type: ignore[no-untyped-call]
    assert chosen == [99]
    history.fill([], [])
    assert history.bars() == []
    assert history.accessibleDescription() == ""


def test_what_a_machine_says_of_a_program_is_checked() -> None:
    machine, env = "ssh://gpu1", {"TORCH_LOGS": "x"}

    def begun(place: str) -> Job:
        job = Job(1, "Run", RUN, machine)
        command = ["python", "--token=hunter2", *["\x1b[31m"] * 900]
        assert job.hear(
            {"started": {"command": command, "folder": "/", "place": place, "env": env}}
        )
        return job

    job = begun("/srv/cache")
    assert job.place == "ssh://gpu1/srv/cache" and len(job.asked["command"]) < 100
    assert "hunter2" not in str(job.asked) and ran.run_of(job).machine == machine
    assert ran.command_of(ran.run_of(job)).isprintable()
    for odd in ("", "x", "/a/../b", "/\x1b[31m", "ssh://gpu2/x", "redis://h", "/" + "x" * 5000):
        assert begun(odd).place == machine, odd
    for _ in range(200):
        job.hear({"noted": "[" * (1 << 19)})
    assert sum(map(len, job.noted)) <= notes.MOST + (1 << 19)
    assert notes.notes_of("".join(job.noted)) == []
    for place in ("ssh://gpu2/~/x", "~", "/x"):
        assert far.path_of(machine, place) == place, "no other machine is asked"
