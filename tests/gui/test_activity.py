"""The drawer of the jobs, its history and the strip: over real engines where a job runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSettings, Qt
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, idle, settle, type_in
from tests.gui.test_guide import RESULTS
from tests.pace import within
from tests.shots.sample_engines import SampleEngines
from tests.shots.sample_results import IMPORTED
from torchkeeper.client.kept import history
from torchkeeper.client.kept.history import Past
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.activity import shown
from torchkeeper.gui.activity.drawer import HEIGHT, Drawer
from torchkeeper.gui.activity.shown import DONE_MS, JobStrip
from torchkeeper.gui.dialogs.about import AboutDialog
from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.jobs.model import LOG_LINES, Selection, State
from torchkeeper.gui.pages.comparing.differences import DifferencesTree
from torchkeeper.gui.window import Window
from torchkeeper.verdict.probed import FactorTold

#: Seconds that the main thread may be at one thing, on a machine three times as slow as ours.
_SLICE = 0.05


@pytest.fixture(autouse=True)
def own_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has its own history."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def window(qtbot: QtBot, settings: QSettings) -> Iterator[Window]:
    """A window over the samples."""
    made = Window(settings, SampleEngines())
    made.resize(1360, 800)
    made.show()
    made.later.start()
    qtbot.waitUntil(lambda: made.later.over, timeout=PATIENCE)
    yield made
    made.close_surely()
    qtbot.waitUntil(lambda: not made.engines.running, timeout=PATIENCE)
    made.deleteLater()


def opened(qtbot: QtBot, window: Window) -> Drawer:
    """The drawer, once it has read the history."""
    window.actions_["activity"].trigger()
    drawer = window.following.drawer
    qtbot.waitUntil(drawer.isVisible, timeout=PATIENCE)
    settle(qtbot)
    return drawer


def strip_of(window: Window) -> JobStrip:
    strip = window.findChild(JobStrip)
    assert strip is not None
    return strip


@pytest.mark.slow
def test_what_ended_is_there_in_the_next_session(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window(fixture_cache)
    output = str(tmp_path / "o.torchcache")
    job = window.operations.export(str(fixture_cache), Selection(), output)
    idle(qtbot, window)
    assert job.state is State.DONE
    assert strip_of(window).isVisible() and "Exported · 44 entries" in strip_of(window).words.text()
    qtbot.waitUntil(lambda: len(history.kept().jobs) == 1, timeout=PATIENCE)
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    window = open_window(fixture_cache)
    drawer = opened(qtbot, window)
    qtbot.waitUntil(lambda: bool(drawer.rows.past), timeout=PATIENCE)
    assert isinstance(drawer._chosen, Past)
    assert drawer.rows.index(0, 0).data() == "Before this session · Today"
    assert drawer.detail.title.text() == job.title
    assert drawer.detail.told.text().startswith("Exported.")
    assert "It took " in drawer.detail.told.text()
    assert not drawer.again.isVisible(), "what it was asked for is not known any more"
    # It can still be opened.
    click(qtbot, drawer.open)
    assert window.pages.current == "entries"
    qtbot.waitUntil(lambda: window.place == output, timeout=PATIENCE)
    # And be forgotten.
    drawer = opened(qtbot, window)
    qtbot.waitUntil(lambda: isinstance(drawer._chosen, Past), timeout=PATIENCE)
    drawer.list.setFocus()
    qtbot.keyClick(drawer.list, Qt.Key.Key_Delete)  # type: ignore[no-untyped-call]
    qtbot.waitUntil(drawer.blank.isVisible, timeout=PATIENCE)
    assert history.kept().jobs == []


@pytest.mark.slow
def test_a_job_is_done_once_more(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window(fixture_cache)
    job = window.operations.export(
        str(fixture_cache), Selection(), str(tmp_path / "no" / "o.torchcache")
    )
    idle(qtbot, window)
    assert job.state is State.FAILED
    strip = strip_of(window)
    assert strip.words.text().startswith("Export to o.torchcache · Failed")
    assert not strip.bar.isVisible() and not strip.cancel.isVisible()
    click(qtbot, strip.words)
    drawer = window.following.drawer
    assert drawer.isVisible() and drawer.job is job and drawer.detail.notice.isVisible()
    assert window.pages.current == "entries", "nobody is taken away from there"
    assert not strip.isVisible(), "somebody has looked at it"
    (tmp_path / "no").mkdir()
    click(qtbot, drawer.again)
    assert drawer.job is not job
    idle(qtbot, window)
    assert drawer.job is not None and drawer.job.state is State.DONE
    assert (tmp_path / "no" / "o.torchcache").exists()
    # What was purged once is not purged again by this.
    assert drawer.again.isVisible() and not drawer.undo.isVisible()


def test_the_list_is_searched_and_emptied(qtbot: QtBot, window: Window) -> None:
    drawer = opened(qtbot, window)
    qtbot.waitUntil(lambda: len(drawer.rows.items) == 4, timeout=PATIENCE)
    running = window.jobs.add("Warm here", "warm", "/here")
    window.jobs.begin(running)
    assert drawer.rows.index(0, 0).data() == "Running or waiting" and drawer.job is running
    # The first line is a heading: keys go to the job under it, and bring it into sight.
    window.activateWindow()
    drawer.list.setFocus()
    qtbot.waitUntil(drawer.list.hasFocus, timeout=PATIENCE)
    bar, last = drawer.list.verticalScrollBar(), drawer.rows.rowCount() - 1
    for way, row in (("End", last), ("Home", 1), ("End", last), *[("Up", None)] * last):
        qtbot.keyClick(drawer.list, getattr(Qt.Key, f"Key_{way}"))  # type: ignore[no-untyped-call]
        assert row in (None, drawer.list.currentIndex().row()), way
        assert bar.value() == 0 or drawer.list.currentIndex().row() > 1
    assert bar.maximum() > 0 and drawer.job is running
    window.actions_["find"].trigger()
    assert drawer.filter.hasFocus()
    type_in(qtbot, drawer.filter, "memory")
    assert [one.kind for one in drawer.rows.items] == ["warm"] and isinstance(drawer._chosen, Past)
    assert drawer.detail.notice.isVisible() and not drawer.change.isVisible()
    brief = replace(drawer._chosen, began=1.0, ended=1.84)
    assert shown.took(brief) == "0.84 s", "as its result says"
    drawer.filter.setText("nothing like it")
    assert drawer.none.isVisible() and not drawer.detail.isVisible()
    drawer.choose(running)
    assert drawer.filter.text() == "" and drawer.job is running
    assert drawer.cancel_button.isVisible() and not drawer.forget.isVisible()
    drawer.filter.setText("warm here")
    drawer.clear_button.click()
    asked = drawer.findChildren(ConfirmDialog)[-1]
    words = " ".join(label.text() for label in asked.findChildren(QLabel))
    assert "Forget 4 jobs that have ended?" in words
    assert "removes the jobs that the search hides" in words
    asked.go.click()
    drawer.filter.clear()
    qtbot.waitUntil(lambda: len(drawer.rows.items) == 1, timeout=PATIENCE)
    assert drawer.job is running and not drawer.clear_button.isEnabled()
    window.jobs.end(running, State.CANCELLED)


def test_the_history_that_cannot_be_read_says_so(qtbot: QtBot, settings: QSettings) -> None:
    engines = SampleEngines()
    engines.failing["past_jobs"] = user_error("jobs-unreadable", {"file": "x", "why": "denied"})
    window = Window(settings, engines)
    window.show()
    drawer = opened(qtbot, window)
    qtbot.waitUntil(drawer.notice.isVisible, timeout=PATIENCE)
    del engines.failing["past_jobs"]
    click(qtbot, drawer.notice.button)
    qtbot.waitUntil(lambda: len(drawer.rows.items) == 4, timeout=PATIENCE)
    assert not drawer.notice.isVisible()
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)


@pytest.mark.slow
def test_what_is_found_in_a_log_is_marked_where_it_stands(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    job = window.jobs.add("Export", "export", None)
    window.jobs.begin(job)
    window.jobs.log(job, ["🔥 İ needle", "🔥🔥 Needle"])
    log = opened(qtbot, window).detail.log
    qtbot.waitUntil(lambda: log.settled, timeout=PATIENCE)
    type_in(qtbot, log.finder.search, "needle")
    qtbot.waitUntil(lambda: log.finder.count.text() == "1/2", timeout=PATIENCE)
    marked = [one.cursor.selectedText() for one in log.edit.extraSelections()]
    assert marked == ["needle", "Needle"]


def test_the_log_is_searched_copied_and_saved(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window()
    job = window.jobs.add("Export", "export", None)
    window.jobs.begin(job)
    window.jobs.log(job, [f"line {n}" for n in range(LOG_LINES - 1)])
    drawer = opened(qtbot, window)
    log = drawer.detail.log
    qtbot.waitUntil(lambda: log.settled, timeout=PATIENCE)
    bar = log.edit.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0
    window.jobs.log(job, ["the last"])
    assert log.edit.toPlainText().endswith("\nthe last") and bar.value() == bar.maximum()
    type_in(qtbot, log.finder.search, "line 77")
    qtbot.waitUntil(lambda: log.finder.count.text() == "1/11", timeout=PATIENCE)
    assert not log.follow.isChecked(), "what was found stays in sight"
    qtbot.keyClick(log.finder.search, Qt.Key.Key_Return)  # type: ignore[no-untyped-call]
    assert log.finder.count.text() == "2/11"
    click(qtbot, log.copy)
    assert QApplication.clipboard().text() == log.text()
    click(qtbot, log.save)
    chooser = next(x for x in window.findChildren(QFileDialog) if x.isVisible())
    chooser.fileSelected.emit(str(tmp_path / "saved.log"))
    chooser.reject()
    file = tmp_path / "saved.log"
    qtbot.waitUntil(file.exists, timeout=PATIENCE)
    assert file.read_text() == log.text() and log.text().endswith("\nthe last\n")
    window.jobs.end(job, State.CANCELLED)


def test_the_strip_says_what_runs_and_falls_silent(qtbot: QtBot, window: Window) -> None:
    jobs = window.jobs
    first, second = jobs.add("Export", "export", None), jobs.add("Warm", "warm", "/srv/cache")
    strip = strip_of(window)
    jobs.begin(second)
    jobs.progress(second, 4, 7, "steps")
    wanted = "Warming cache · 4 of 7 steps · 1 more"
    # What it takes so far may follow.
    qtbot.waitUntil(lambda: strip.words.text().startswith(wanted), timeout=PATIENCE)
    assert strip.words.accessibleName() == strip.words.text() and strip.cancel.accessibleName()
    asked: list[object] = []
    strip.cancelled.connect(asked.append)
    click(qtbot, strip.cancel)
    assert asked == [second]
    jobs.end(second, State.DONE, note="7 graphs", result=RESULTS["warm"])
    assert strip.job is first
    jobs.begin(first)
    jobs.end(first, State.DONE, note="33 entries", result=RESULTS["export"])
    assert strip.words.text().startswith("Exported · One entry (") and strip.result.isVisible()
    assert not strip.cancel.isVisible()
    # Who has a dialog open looks at that.
    about = AboutDialog(window)
    about.open()
    strip._quiet.start(0)
    settle(qtbot)
    assert strip.isVisible()
    about.reject()
    qtbot.waitUntil(lambda: not strip.isVisible(), timeout=PATIENCE)
    assert DONE_MS >= 3000


@pytest.mark.parametrize("log", [[], ["one line"]], ids=["without a log", "with a log"])
def test_what_was_left_out_is_shown_where_the_log_is_empty(
    qtbot: QtBot, window: Window, log: list[str]
) -> None:
    window.resize(1800, 900)
    detail = opened(qtbot, window).detail
    jobs = window.jobs
    job = jobs.add("Export", "export", None)
    jobs.begin(job)
    job.left, job.left_lines = 1, ["fxgraph/abc: it is broken " * 40]
    job.log.extend(log)
    jobs.end(job, State.DONE, note="33 entries", result=RESULTS["export"])
    settle(qtbot)
    assert detail.tabs.tabText(detail.tabs.indexOf(detail.left)) == "Left out (1)"
    assert detail.tabs.currentWidget() is (detail.log if log else detail.left)
    detail.tabs.setCurrentWidget(detail.left)
    settle(qtbot)
    bar = detail.left.edit.horizontalScrollBar()
    assert bar.value() == 0 < bar.maximum(), "a long line begins at its beginning"


@pytest.mark.slow
def test_the_page_stays_where_it_is_when_a_job_begins(qtbot: QtBot, window: Window) -> None:
    settle(qtbot)
    before = window.pages.height()
    job = window.jobs.add("Warm", "warm", "/srv/cache")
    window.jobs.begin(job)
    strip = strip_of(window)
    settle(qtbot)
    assert strip.isVisible() and strip.cancel.isVisible() and window.pages.height() == before
    window.jobs.end(job, State.DONE, note="7 graphs", result=RESULTS["warm"])
    settle(qtbot)
    assert strip.isVisible() and window.pages.height() == before


@pytest.mark.slow
def test_the_buttons_of_the_chosen_job_stay_in_sight_in_a_small_window(
    qtbot: QtBot, window: Window
) -> None:
    jobs = []
    for code in ("bundle-damaged", "disk-full", "warm-failed"):
        job = window.jobs.add("Import nightly.torchcache", "import", window.place)
        window.jobs.begin(job)
        about = {"file": "nightly.torchcache", "why": "cut short", "place": window.place}
        window.jobs.end(job, State.FAILED, error=user_error(code, about))
        jobs.append(job)
    drawer = opened(qtbot, window)
    window.guide.bar.show_step(1)
    for size in ((1366, 768), (1100, 700), (1000, 600), (800, 560), (910, 512)):
        window.resize(*size)
        for job in jobs:
            drawer.choose(job)
            settle(qtbot)
            remedies = drawer.detail.notice.remedies
            assert remedies.isVisible() is bool(remedies.buttons)
            cut = [way.text() for way in (drawer.forget, *remedies.buttons)
                   if way.visibleRegion().boundingRect() != way.rect()]  # fmt: skip
            assert cut == [], (size, job.error)
        assert drawer.detail.notice.remedies.buttons, "of what failed last"
    done = window.jobs.add("Import nightly.torchcache", "import", window.place)
    window.jobs.begin(done)
    window.jobs.end(done, State.DONE, result=IMPORTED)
    drawer.choose(done)
    settle(qtbot)
    assert not drawer.detail.notice.remedies.isVisible()


@pytest.mark.slow
def test_nothing_takes_long_with_much_to_show(qtbot: QtBot, window: Window) -> None:
    drawer = opened(qtbot, window)
    rows: list[FactorTold] = [
        {"group": "configuration", "factor": f"inductor_config[x{n}]", "a": "True", "b": "y" * 99,
         "follows": n % 2 == 0}
        for n in range(10_000)
    ]  # fmt: skip
    tree = DifferencesTree()
    qtbot.addWidget(tree)
    tree.resize(900, 500)
    tree.show()
    log = drawer.detail.log
    steps: list[float] = []

    def step(work: Callable[[], object]) -> None:
        # Of this thread alone: others may have the processor.
        began = time.thread_time()
        work()
        steps.append(time.thread_time() - began)

    def until(settled: Callable[[], bool]) -> None:
        while not settled():
            step(QApplication.processEvents)

    step(lambda: tree.fill({"differences": rows}))
    until(lambda: tree.settled)
    assert tree.total == 10_000 and tree.topLevelItemCount() == 2
    step(lambda: tree.filter("x999"))
    until(lambda: tree.settled)
    assert len(tree.texts()) == 11
    step(lambda: log.show_lines(["a line of a log " * 6] * LOG_LINES))
    until(lambda: log.settled)
    assert log.edit.blockCount() == LOG_LINES
    # One in many may have had to wait for another program.
    assert sorted(steps)[-3] < within(_SLICE), sorted(steps)[-9:]


def test_the_drawer_is_pulled_up_over_any_page_and_gone_with_a_key(
    qtbot: QtBot, window: Window
) -> None:
    window.table.setFocus()
    for page in ("entries", "recipes"):
        window.show_page(page)
        window.focus_page()
        before, room = window.focusWidget(), window.pages.size()
        qtbot.keyClick(window, Qt.Key.Key_J, Qt.KeyboardModifier.ControlModifier)  # type: ignore[no-untyped-call]
        drawer = window.following.drawer
        qtbot.waitUntil(drawer.list.hasFocus, timeout=PATIENCE)
        assert drawer.isVisible() and window.pages.current == page
        assert window.pages.size() == room, "nothing moves under it"
        assert drawer.geometry().bottom() == window.across.geometry().bottom()
        qtbot.keyClick(window, Qt.Key.Key_J, Qt.KeyboardModifier.ControlModifier)  # type: ignore[no-untyped-call]
        assert not drawer.isVisible() and window.focusWidget() is before
    # Open, and the keyboard elsewhere: the key goes into it, Tab and F6 reach it.
    click(qtbot, window.status.activity)
    assert drawer.isVisible() and window.status.activity.isChecked()
    window.focus_page()
    row = drawer.list.visualRect(drawer.list.currentIndex())
    without = drawer.list.viewport().grab(row).toImage()
    qtbot.keyClick(window, Qt.Key.Key_J, Qt.KeyboardModifier.ControlModifier)  # type: ignore[no-untyped-call]
    assert drawer.holds_focus
    assert drawer.list.viewport().grab(row).toImage() != without, "the keyboard is seen there"
    window.focus_page()
    for _ in range(9):
        window.actions_["next-part"].trigger()
        if drawer.holds_focus:
            break
    assert drawer.holds_focus
    window.actions_["find"].trigger()
    assert drawer.filter.hasFocus()
    type_in(qtbot, drawer.filter, "x")
    qtbot.keyClick(drawer.filter, Qt.Key.Key_Escape)  # type: ignore[no-untyped-call]
    assert drawer.filter.text() == "" and drawer.isVisible(), "the search goes first"
    qtbot.keyClick(drawer.filter, Qt.Key.Key_Escape)  # type: ignore[no-untyped-call]
    assert not drawer.isVisible() and not window.status.activity.isChecked()


def test_the_drawer_keeps_its_height(qtbot: QtBot, window: Window, settings: QSettings) -> None:
    drawer = opened(qtbot, window)
    grip, high = drawer.grip, drawer.height()
    left = Qt.MouseButton.LeftButton
    qtbot.mousePress(grip, left)  # type: ignore[no-untyped-call]
    qtbot.mouseMove(grip, grip.rect().center() - QPoint(0, 90))  # type: ignore[no-untyped-call]
    qtbot.mouseRelease(grip, left)  # type: ignore[no-untyped-call]
    assert drawer.height() > high + 80
    assert str(settings.value(HEIGHT)) == str(drawer.height())
    high = drawer.height()
    drawer.shut()
    drawer.open_up()
    assert drawer.height() == high
    window.resize(1360, 560)
    settle(qtbot)
    assert drawer.height() < high and drawer.geometry().top() > window.across.geometry().top()
    settings.setValue(HEIGHT, "nonsense")
    drawer.shut()
    drawer.open_up()
    assert drawer.isVisible() and drawer.grip.isVisible()
