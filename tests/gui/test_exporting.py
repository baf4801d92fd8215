"""The export dialog: what it foretells, what it refuses, how it is cancelled, what comes of it."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QToolButton, QTreeWidgetItem, QWidget
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, children, click, idle, listed, settle, told
from tests.gui.test_flows import open_dialog
from tests.sampling import sampled
from tests.snapshots import snapshot
from tests.stores.building import NATIVE, rename
from tests.stores.bundles.test_bundle import make
from torchkeeper.artifacts.report import Report
from torchkeeper.client.engines.process import Engine
from torchkeeper.gui import theme
from torchkeeper.gui.activity.shown import JobStrip, asked
from torchkeeper.gui.dialogs.exporting import ExportDialog
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.places.model import EXPORTED_TO
from torchkeeper.gui.window import Window
from torchkeeper.stores.bundles.bundle import Bundle

MB = 1 << 20


def big_cache(folder: Path, count: int = 16, size: int = 8 * MB) -> Path:
    """A cache of big generated sources, enough to be cancelled in the middle."""
    rng = random.Random(4)
    letters = "abcdefghijklmnopqrstuvwxyz234567"
    for number in range(count):
        stem = "c" + "".join(rng.choices(letters, k=51))
        path = folder / stem[1:3] / f"{stem}.cpp"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(number.to_bytes(2, "big") + os.urandom(MB) * (size // MB))
    return folder


@contextlib.contextmanager
def held_in_the_middle(qtbot: QtBot, window: Window, go: QWidget) -> Iterator[Job]:
    """Start a job with a button; once it has done some bytes, its engine is stopped meanwhile: it
    would be over too soon. Until then it runs while we wait for it only: on a busy machine it would
    be over before the window gets to hear of it.
    """
    assert window.following.drawer, "made by now"
    before = set(children())
    click(qtbot, go)
    job = window.jobs.jobs[0]
    engines: set[int] = set()

    def some() -> bool:
        engines.update(set(children()) - before)
        send(engines, signal.SIGCONT)
        time.sleep(0.005)
        send(engines, signal.SIGSTOP)
        return job.unit == "bytes" and job.done > 8 * MB

    try:
        qtbot.waitUntil(some, timeout=PATIENCE)
        assert engines
        assert job.active
        yield job
    finally:
        send(engines, signal.SIGCONT)


def send(engines: set[int], number: int) -> None:
    """Send a signal to those that still are: one that only looked something up may have ended."""
    for engine in engines & set(children()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(engine, number)


def ask(qtbot: QtBot, window: Window, output: Path | None = None) -> ExportDialog:
    """The dialog over all that is shown, once it knows all there is to know."""
    window.actions_["export"].trigger()
    dialog = open_dialog(qtbot, window, ExportDialog)
    if output is not None:
        dialog.target.file.setText(str(output))
    qtbot.waitUntil(lambda: dialog.ready, timeout=PATIENCE)
    return dialog


def texts(dialog: ExportDialog) -> dict[str, tuple[str, str]]:
    items = [dialog.table.topLevelItem(row) for row in range(dialog.table.topLevelItemCount())]
    return {item.text(0): (item.text(1), item.text(2)) for item in items if item is not None}


@pytest.mark.slow
def test_it_foretells_the_bundle(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    (fixture_cache / "locks").mkdir(exist_ok=True)
    (fixture_cache / "locks" / f"c{'a' * 51}.lock").touch()
    for path in sorted(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file())[:3]:
        path.write_bytes(b"cut")
    window = open_window(fixture_cache)
    output = tmp_path / "o.torchcache"
    dialog = ask(qtbot, window, output)
    assert dialog.plan is not None
    assert texts(dialog)["FX graph"][0] == "4"
    assert sum(int(count) for count, _ in texts(dialog).values()) == dialog.plan["entries"]
    assert dialog.origin.text() == "Made by torch 2.9.1+cu128 for cpu"
    assert "27 locks stay: no other place can use them." in dialog.out.text()
    assert "3 × It is broken" in dialog.out.text()
    assert "free" in dialog.target.check.text()
    assert dialog.go.text() == f"E&xport {dialog.plan['entries']} entries"
    assert list(tmp_path.glob("o*")) == []
    cut_off = tmp_path / ".torchkeeper-0a1b2c3d.tmp"
    cut_off.write_bytes(bytes(1_200_000))
    os.utime(cut_off, (0, 0))
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert output.stat().st_size == dialog.plan["size"]
    assert told(window).startswith("Exported.")
    assert str(tmp_path) in told(window)
    assert not cut_off.exists()
    said = "Removed what an export that was cut off had left: 1.2 MB."
    assert said in window.jobs.jobs[0].log
    left = window.jobs.jobs[0].left
    detail = window.following.drawer.detail
    assert not detail.left.isVisible(), "the sum is enough"
    assert "\nLeft out:\n" in told(window)
    detail.tabs.setCurrentWidget(detail.left)
    assert detail.left.isVisible()
    assert len(detail.left.text().splitlines()) == left == dialog.secrets.stays.total()
    click(qtbot, detail.left.copy)
    assert QGuiApplication.clipboard().text() == detail.left.text()
    assert window.settings.value(EXPORTED_TO) == str(tmp_path)
    again = ask(qtbot, window)
    assert Path(again.target.file.text()).parent == tmp_path
    again.reject()


def test_nothing_is_replaced_unasked(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.torchcache"
    mine.write_text("mine")
    window = open_window(fixture_cache)
    dialog = ask(qtbot, window, mine)
    assert not dialog.go.isEnabled()
    assert "Replace the existing" in dialog.go.toolTip()
    assert "4 B" in dialog.target.replace.text()
    dialog.target.replace.setChecked(True)
    assert dialog.go.isEnabled()
    # Another name takes the consent back.
    dialog.target.file.setText(str(tmp_path / "other.torchcache"))
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    assert not dialog.target.replace.isVisible()
    dialog.target.file.setText(str(mine))
    qtbot.waitUntil(lambda: dialog.ready and dialog.target.replace.isVisible(), timeout=PATIENCE)
    assert not dialog.target.replace.isChecked()
    assert not dialog.go.isEnabled()
    dialog.target.replace.setChecked(True)
    click(qtbot, dialog.go)
    idle(qtbot, window)
    with Bundle(str(mine), Report()) as bundle:
        assert len(bundle.items()) == window.jobs.jobs[0].result["entries"]


def test_several_places_go_into_one_file(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, kernels: Path, tmp_path: Path
) -> None:
    window = open_window(kernels)
    window.open_paths([str(fixture_cache)])
    listed(qtbot, window, fixture_cache)
    window.settings.setValue(EXPORTED_TO, str(tmp_path))
    dialog = ask(qtbot, window)
    assert dialog.plan is not None
    alone, name = dialog.plan["entries"], dialog.target.file.text()
    [other] = [one for one in dialog.others.items() if one.text(1) == str(kernels)]
    assert str(fixture_cache) not in {one.text(1) for one in dialog.others.items()}
    other.setCheckState(0, Qt.CheckState.Checked)
    qtbot.waitUntil(lambda: dialog.ready, timeout=PATIENCE)
    assert dialog.target.file.text() == str(tmp_path / "server.torchcache")
    assert dialog.title.text().endswith(" and 1 other place")
    assert dialog.plan["entries"] > alone
    other.setCheckState(0, Qt.CheckState.Unchecked)
    qtbot.waitUntil(lambda: dialog.ready, timeout=PATIENCE)
    assert (dialog.plan["entries"], dialog.target.file.text()) == (alone, name)
    mine = tmp_path / "mine.torchcache"
    dialog.target.file.setText(str(mine))
    other.setCheckState(0, Qt.CheckState.Checked)
    qtbot.waitUntil(lambda: dialog.ready, timeout=PATIENCE)
    assert dialog.target.path == str(mine), "a name that the user gave stays"
    planned = dialog.plan["size"]
    click(qtbot, dialog.go)
    idle(qtbot, window)
    [job] = window.jobs.jobs
    assert job.state is State.DONE, list(job.log)
    assert mine.stat().st_size == planned
    with Bundle(str(mine), Report()) as bundle:
        held = {item.path.rpartition("/")[2] for item in bundle.items()}
    assert held >= {path.name for path in kernels.iterdir() if path.is_dir()}
    assert kernels.name in dict(asked(job))["From"]


def test_everything_a_server_needs_is_one_choice(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, kernels: Path, tmp_path: Path
) -> None:
    make(kernels, tmp_path / "b.torchcache")
    window = open_window(kernels)
    window.places.add(str(tmp_path / "b.torchcache"))
    window.open_paths([str(fixture_cache)])
    listed(qtbot, window, fixture_cache)
    window.table.select({window.entries.shown()[0].identity})
    settle(qtbot)
    dialog = ask(qtbot, window)
    others = dialog.others

    def row(path: Path) -> QTreeWidgetItem:
        [found] = [one for one in others.items() if one.text(1) == str(path)]
        return found

    # How much is in each is told as it is found out.
    both = row(kernels), row(tmp_path / "b.torchcache")
    qtbot.waitUntil(lambda: [one.text(2) for one in both] == ["2", "2"], timeout=PATIENCE)
    assert all(one.text(3).endswith("kB") for one in both)
    assert not dialog.whole.isChecked() and not others.ticked
    click(qtbot, others.server)
    qtbot.waitUntil(lambda: dialog.ready, timeout=PATIENCE)
    assert dialog.whole.isChecked(), "all of the place that is shown, too"
    assert str(kernels) in others.ticked
    assert str(tmp_path / "b.torchcache") not in others.ticked, "it was made of such"
    assert dialog.plan is not None and dialog.plan["entries"] > window.entries.total - 10
    click(qtbot, others.all)
    assert len(others.ticked) == len(others.items()) and others.server.isChecked()
    assert others.all.text() == "Select n&one"
    row(kernels).setCheckState(0, Qt.CheckState.Unchecked)
    assert not others.server.isChecked() and others.all.text() == "Select a&ll"
    click(qtbot, others.server)
    click(qtbot, others.server)
    assert [*others.ticked] == [str(tmp_path / "b.torchcache")]
    dialog.reject()


@pytest.mark.slow
def test_a_file_that_came_after_the_look_is_kept_and_it_can_be_tried_again(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window(fixture_cache)
    late = tmp_path / "late.torchcache"
    dialog = ask(qtbot, window, late)
    late.write_text("mine")
    click(qtbot, dialog.go)
    idle(qtbot, window)
    drawer = window.following.drawer
    assert window.jobs.jobs[0].state is State.FAILED
    assert "is there already" in told(window)
    assert late.read_text() == "mine"
    assert not window.error_bar.isVisible(), "it is said once"
    assert drawer.change.isVisible()
    assert not drawer.open.isVisible()
    click(qtbot, window.following.drawer.change)
    qtbot.waitUntil(lambda: dialog.ready and dialog.target.replace.isVisible(), timeout=PATIENCE)
    assert not dialog.go.isEnabled()
    dialog.target.replace.setChecked(True)
    # What is written over cannot be had back: Enter does not do that.
    QTest.keyClick(dialog.target.file, Qt.Key.Key_Return)
    assert late.read_text() == "mine"
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert told(window).startswith("Exported.")
    qtbot.waitUntil(lambda: not window.findChildren(ExportDialog))


@sampled(
    ("typed", "said"),
    [("relative.torchcache", "whole path"), ("{}/none/such/o", "There is no folder"),
     ("{}/folder", "That is a folder"), ("{}/", "whole path"), ("{}/fifo", "not a file"),
     ("{}/file/o", "There is no folder")],
    most=2,
)  # fmt: skip
def test_what_cannot_be_written_is_said_before(
    qtbot: QtBot,
    open_window: OpenWindow,
    fixture_cache: Path,
    tmp_path: Path,
    typed: str,
    said: str,
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "fifo")
    window = open_window(fixture_cache)
    dialog = ask(qtbot, window)
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    dialog.target.file.setText(typed.format(tmp_path))
    assert not dialog.go.isEnabled()
    qtbot.waitUntil(lambda: dialog.ready, timeout=PATIENCE)
    assert said in dialog.target.check.text()
    assert not dialog.go.isEnabled()
    assert dialog.go.toolTip()
    dialog.reject()


@pytest.mark.slow
def test_by_keyboard_alone(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window(fixture_cache)
    dialog = ask(qtbot, window)
    qtbot.waitUntil(dialog.target.file.hasFocus, timeout=PATIENCE)
    dialog.target.file.selectAll()
    QTest.keyClicks(dialog.target.file, str(tmp_path / "typed.torchcache"))
    qtbot.waitUntil(lambda: dialog.ready and dialog.go.isEnabled(), timeout=PATIENCE)
    QTest.keyClick(dialog.target.file, Qt.Key.Key_Return)
    idle(qtbot, window)
    assert (tmp_path / "typed.torchcache").exists()
    qtbot.waitUntil(lambda: not window.findChildren(ExportDialog))
    # Its result is a key away, and so is the way back.
    before, drawer = window.focusWidget(), window.following.drawer
    assert drawer.isVisible() and not drawer.holds_focus
    window.actions_["activity"].trigger()
    assert window.focusWidget() is drawer.list
    window.actions_["activity"].trigger()
    assert not drawer.isVisible() and window.focusWidget() is before
    dialog = ask(qtbot, window)
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not window.findChildren(ExportDialog))


@pytest.mark.slow
def test_every_control_has_a_name(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    dialog = ask(qtbot, window)
    for widget in (
        dialog.table,
        dialog.target.file,
        dialog.target.browse,
        dialog.go,
        dialog.cancel,
    ):
        assert widget.accessibleName(), widget
    click(qtbot, dialog.target.browse)
    chooser = open_dialog(qtbot, window, QFileDialog)
    assert chooser.testOption(QFileDialog.Option.DontConfirmOverwrite)
    back = chooser.findChild(QToolButton, "backButton")
    assert back is not None, "Qt's own is black in the dark, too"
    ours = theme.icon("back").pixmap(16).toImage()
    assert back.icon().pixmap(16).toImage() == ours
    chooser.reject()
    dialog.reject()


@pytest.mark.slow
def test_only_locks_are_nothing_to_export(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    (fixture_cache / "locks").mkdir(exist_ok=True)
    (fixture_cache / "locks" / f"c{'a' * 51}.lock").touch()
    window = open_window(fixture_cache)
    window.head.box.setText("kind:lock")
    settle(qtbot)
    dialog = ask(qtbot, window)
    assert dialog.title.text() == "There is nothing to export"
    assert not dialog.go.isEnabled()
    dialog.reject()


@pytest.mark.slow
@pytest.mark.parametrize("there", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_cancelled_in_the_middle_it_leaves_no_trace(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, there: bool
) -> None:
    window = open_window(big_cache(tmp_path / "cache"))
    target = tmp_path / "target"
    target.mkdir()
    output = target / "o.torchcache"
    if there:
        output.write_text("the old one")
    before = snapshot(target, times=False)
    dialog = ask(qtbot, window, output)
    dialog.target.replace.setChecked(there)
    with held_in_the_middle(qtbot, window, dialog.go) as job:
        assert snapshot(target, times=False) == before, "it has no name until it is whole"
        assert job.now.startswith("Code c")
        click(qtbot, window.following.drawer.cancel_button)
        assert not window.following.drawer.cancel_button.isEnabled()
    idle(qtbot, window)
    assert job.state is State.CANCELLED
    assert snapshot(target, times=False) == before
    assert told(window) == "Cancelled.\nNothing was left behind."
    click(qtbot, window.following.drawer.change)
    qtbot.waitUntil(lambda: dialog.ready, timeout=PATIENCE)
    dialog.target.replace.setChecked(there)
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert dialog.job is not None
    assert dialog.job.state is State.DONE
    assert output.stat().st_size > 16 * 8 * MB


@pytest.mark.slow
def test_it_says_how_fast_and_goes_on_in_the_background(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window(big_cache(tmp_path / "cache", 20))
    dialog = ask(qtbot, window, tmp_path / "o.torchcache")
    before = set(children())
    click(qtbot, dialog.go)
    job = window.jobs.jobs[0]
    said: list[str] = []

    def engines() -> set[int]:
        return set(children()) - before

    def seen() -> bool:
        said.append(window.following.drawer.detail.words.text())
        # It would be over too soon: for most of the time at its bytes the engine is stopped.
        if job.unit == "bytes":
            send(engines(), signal.SIGSTOP if len(said) % 8 else signal.SIGCONT)
        return re.search("MB/s · .*about", said[-1]) is not None or not job.active

    try:
        qtbot.waitUntil(seen, timeout=PATIENCE)
        send(engines(), signal.SIGSTOP)
        assert re.search(r" of 16\d MB · ", said[-1]), said[-3:]
        assert said[-1].endswith(" s left")
        assert not dialog.isVisible() and job.active
        window.actions_["activity"].trigger()
        window.following.drawer.shut()
        assert job.active, "the job goes on"
    finally:
        send(engines(), signal.SIGCONT)
    idle(qtbot, window)
    assert job.state is State.DONE
    # And back to it.
    [strip] = window.findChildren(JobStrip)
    assert strip.words.text().startswith("Exported · ")
    click(qtbot, strip.words)
    assert told(window).startswith("Exported.")


@pytest.mark.slow
def test_the_bundle_opens_as_a_place(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window(fixture_cache)
    output = tmp_path / "o.torchcache"
    dialog = ask(qtbot, window, output)
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert not window.actions_["cancel-job"].isEnabled()
    click(qtbot, window.following.drawer.open)
    listed(qtbot, window, output)
    assert window.entries.total == window.jobs.jobs[0].result["entries"]
    assert window.actions_["open-result"].isEnabled()
    window.open_paths([str(fixture_cache)])
    listed(qtbot, window, fixture_cache)
    window.actions_["open-result"].trigger()
    listed(qtbot, window, output)


@pytest.mark.slow
def test_what_a_bundle_says_of_its_objects_is_its_own_word(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    rename(fixture_cache, NATIVE["commands"][0]["extra"])
    silent, telling = tmp_path / "silent.torchcache", tmp_path / "telling.torchcache"
    with Engine() as engine:
        for output, builders in ((silent, None), (telling, NATIVE)):
            params = {"place": str(fixture_cache), "output": str(output), "builders": builders,
                      "secrets": "allow"}  # fmt: skip
            count = engine.call("export", params)["objects"]
    assert count > 1
    window = open_window(fixture_cache)
    said = {}
    for place in (fixture_cache, silent, telling):
        if place is not fixture_cache:
            window.places.add(str(place), bundle=True)
            window.places_pane.choose(str(place))
            listed(qtbot, window, place)
        dialog = ask(qtbot, window, tmp_path / "o.torchcache")
        said[place] = dialog.objects.text()
        dialog.reject()
    assert "that takes an environment" in said[fixture_cache]
    assert "does not say how its native objects were built" in said[silent]
    torch = NATIVE["torch"]
    assert f"The bundle says that torch {torch} built all {count} native" in said[telling]


@pytest.mark.slow
def test_what_the_chosen_need_goes_along_unless_it_is_unchecked(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window(fixture_cache)
    window.head.box.setText("kind:aotautograd")
    settle(qtbot)
    output = tmp_path / "o.torchcache"
    dialog = ask(qtbot, window, output)
    assert dialog.needed.isChecked()
    assert texts(dialog)["FX graph"][0] == "7"
    title, needs = dialog.title.text(), dialog.needed.text()
    assert f"With {int(title.split()[1]) - 4} entries that they need" in needs
    assert not dialog.lacking.isVisible()
    dialog.needed.setChecked(False)
    qtbot.waitUntil(lambda: dialog.ready and dialog.plan is not None, timeout=PATIENCE)
    assert list(texts(dialog)) == ["AOTAutograd"]
    assert dialog.lacking.text() == (
        "4 of them need FX graphs that are not chosen: they cannot hit."
    )
    dialog.whole.setChecked(True)
    assert texts(dialog) == {}, "what it was before is not what the title says now"
    assert dialog.whole.text() == f"&All {window.entries.total} entries of the place"
    assert not dialog.needed.isEnabled()
    qtbot.waitUntil(lambda: dialog.ready and dialog.plan is not None, timeout=PATIENCE)
    assert "FX graph" in texts(dialog)
    assert not dialog.lacking.isVisible()
    dialog.whole.setChecked(False)
    dialog.needed.setChecked(True)
    qtbot.waitUntil(lambda: dialog.ready and dialog.plan is not None, timeout=PATIENCE)
    click(qtbot, dialog.go)
    idle(qtbot, window)
    with Bundle(str(output), Report()) as bundle:
        kinds = [item.kind for item in bundle.stream(Report())]
    assert (kinds.count("aotautograd"), kinds.count("fxgraph")) == (4, 7)
