"""Copy to…: what it foretells, what it refuses, and what comes of it; rows dropped on a place."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDrag, QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, idle, listed, settle, told
from tests.gui.test_dragging import drag, mouse, scratch
from tests.gui.test_exporting import big_cache, held_in_the_middle
from tests.gui.test_flows import open_dialog
from tests.snapshots import snapshot
from tests.stores.bundles.test_bundle import make
from torchkeeper.artifacts.layout import TRASH
from torchkeeper.artifacts.report import Report
from torchkeeper.gui.dialogs.copying import CopyDialog
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.window import Window
from torchkeeper.stores.bundles.bundle import Bundle


@pytest.fixture(autouse=True)
def own_temporary_folder(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(own_home))


def ask(qtbot: QtBot, window: Window, into: Path | str) -> CopyDialog:
    """The dialog over what is selected or shown, once it knows what would happen there."""
    window.actions_["copy-to"].trigger()
    dialog = open_dialog(qtbot, window, CopyDialog)
    dialog.needed.setChecked(False)
    dialog.target.combo.setEditText(str(into))
    qtbot.waitUntil(lambda: dialog.known, timeout=PATIENCE)
    return dialog


def table(dialog: CopyDialog) -> dict[str, list[str]]:
    shown = dialog.table
    items = [shown.topLevelItem(row) for row in range(shown.topLevelItemCount())]
    return {item.text(0): [item.text(n) for n in range(1, 6)] for item in items if item is not None}


def only(window: Window, qtbot: QtBot, filtered: str) -> None:
    window.head.box.setText(filtered)
    settle(qtbot)


def payloads(folder: Path, kind: str) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes()
            for p in (folder / kind).rglob("*") if p.is_file()}  # fmt: skip


def test_to_another_folder(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    target = tmp_path / "not" / "yet"
    window = open_window(fixture_cache)
    only(window, qtbot, "kind:fxgraph")
    dialog = ask(qtbot, window, target)
    assert dialog.title.text().startswith("Copy 7 entries, ")
    assert table(dialog)["FX graph"][2:] == ["7", "–", "–"]
    assert dialog.news.text().startswith("7 new (")
    assert dialog.room.text().startswith("The folder will be created. ")
    assert not dialog.trust.isVisible()
    assert dialog.go.text() == "&Copy 7 entries"
    assert dialog.go.isDefault()
    assert not target.parent.exists(), "nothing is written before Copy is pressed"
    click(qtbot, dialog.go)
    [job] = window.jobs.jobs
    assert (job.kind, job.title) == ("copy", "Copy to yet")
    idle(qtbot, window)
    assert job.state is State.DONE, list(job.log)
    assert told(window).startswith("Copied.")
    assert str(target) in told(window)
    assert payloads(target, "fxgraph") == payloads(fixture_cache, "fxgraph")
    assert {path.name for path in target.iterdir()} == {"fxgraph", TRASH}
    assert window.places.row_of(str(target)) >= 0
    assert window.place == str(fixture_cache), "nothing changes under one's hands"
    click(qtbot, window.following.drawer.open)
    listed(qtbot, window, target)
    qtbot.waitUntil(lambda: len(window.table.selected()) == 1, timeout=PATIENCE)


@pytest.mark.slow
def test_only_what_is_new_is_copied_and_what_is_there_is_said(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, clean_291: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    make(clean_291, tmp_path / "b.torchcache")
    window = open_window(fixture_cache)
    only(window, qtbot, "kind:fxgraph")
    click(qtbot, ask(qtbot, window, target).go)
    idle(qtbot, window)
    only(window, qtbot, "kind:fxgraph,aotautograd")
    dialog = ask(qtbot, window, target)
    assert table(dialog)["FX graph"][2:] == ["–", "7", "–"]
    assert table(dialog)["AOTAutograd"][2:] == ["4", "–", "–"]
    assert "7 there already" in dialog.news.text()
    assert dialog.go.text() == "&Copy 4 entries"
    # Enter goes on.
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    idle(qtbot, window)
    assert "7 entries were there already" in told(window)
    again = ask(qtbot, window, target)
    assert again.news.text() == "Nothing is new there · 11 there already"
    assert not again.go.isEnabled()
    assert again.go.toolTip() == again.news.text()
    again.reject()


@pytest.mark.slow
def test_to_a_new_bundle_which_is_replaced_only_when_that_is_said(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    output = tmp_path / "new.torchcache"
    window = open_window(fixture_cache)
    window.actions_["copy-to"].trigger()
    dialog = open_dialog(qtbot, window, CopyDialog)
    click(qtbot, dialog.target.new)
    chooser = open_dialog(qtbot, window, QFileDialog)
    assert Path(chooser.selectedFiles()[0]).name == "cache-2.9.1.torchcache"
    chooser.fileSelected.emit(str(output))
    chooser.reject()
    qtbot.waitUntil(lambda: dialog.known and dialog.target.path == str(output), timeout=PATIENCE)
    assert "go into the bundle" in dialog.news.text()
    assert not dialog.replace.isVisible()
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert told(window).startswith("Copied.")
    with Bundle(str(output), Report()) as bundle:
        assert len(bundle.items()) == window.jobs.jobs[0].result["entries"] == 44
    assert window.places.row_of(str(output)) < 0, "a bundle is a file to carry away"
    again = ask(qtbot, window, output)
    assert again.replace.isVisible()
    assert not again.go.isEnabled()
    assert "Replace the existing" in again.go.toolTip()
    again.replace.setChecked(True)
    click(qtbot, again.go)
    idle(qtbot, window)
    click(qtbot, window.following.drawer.open)
    listed(qtbot, window, output)
    assert window.entries.total == 44
    assert window.places.places[window.places.row_of(str(output))].bundle


@pytest.mark.slow
def test_what_cannot_be_is_said_before(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    (fixture_cache / "locks").mkdir(exist_ok=True)
    (fixture_cache / "locks" / f"c{'a' * 51}.lock").touch()
    window = open_window(fixture_cache)
    dialog = ask(qtbot, window, fixture_cache)
    assert "onto itself" in dialog.news.text()
    assert not dialog.go.isEnabled()
    assert " ".join(dialog.go.toolTip().split()) == dialog.news.text(), "in lines"
    offered = [dialog.target.combo.itemText(n) for n in range(dialog.target.combo.count())]
    assert str(fixture_cache) not in offered
    dialog.target.combo.setEditText("cache")
    assert "whole path" in dialog.news.text()
    assert not dialog.go.isEnabled()
    dialog.target.combo.setEditText(str(tmp_path / "none" / "o.torchcache"))
    qtbot.waitUntil(lambda: dialog.known, timeout=PATIENCE)
    assert "There is no folder" in dialog.room.text()
    assert not dialog.go.isEnabled()
    dialog.target.combo.setEditText(str(tmp_path / "t"))
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    assert "27 locks stay: no other place can use them." in dialog.out.text()
    dialog.reject()
    only(window, qtbot, "kind:lock")
    dialog = ask(qtbot, window, tmp_path / "t")
    assert dialog.news.text() == "The target can take none of these entries."
    assert not dialog.go.isEnabled()
    dialog.reject()
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("bundle", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_cancelled_in_the_middle_it_leaves_no_trace(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, bundle: bool
) -> None:
    window = open_window(big_cache(tmp_path / "cache"))
    home = tmp_path / "home-of-it"
    home.mkdir()
    (home / "mine").write_text("mine")
    before = snapshot(home, times=False)
    target = home / ("o.torchcache" if bundle else "new")
    dialog = ask(qtbot, window, target)
    with held_in_the_middle(qtbot, window, dialog.go) as job:
        if bundle:
            assert snapshot(home, times=False) == before, "it has no name until it is whole"
        else:
            assert any(home.glob("new/**/.torchkeeper-*")), "it was writing"
        click(qtbot, window.following.drawer.cancel_button)
    idle(qtbot, window)
    assert job.state is State.CANCELLED
    assert snapshot(home, times=False) == before
    assert window.places.row_of(str(target)) < 0
    assert told(window).startswith("Cancelled.")
    click(qtbot, window.following.drawer.change)
    qtbot.waitUntil(lambda: dialog.known, timeout=PATIENCE)
    assert dialog.go.isEnabled()
    dialog.reject()


@pytest.mark.slow
def test_in_the_background_and_the_target_is_refreshed_where_it_is_shown(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    window = open_window(target)
    window.open_paths([str(big_cache(tmp_path / "cache", 8))])
    listed(qtbot, window, tmp_path / "cache")
    dialog = ask(qtbot, window, target)
    click(qtbot, dialog.go)
    window.places_pane.choose(str(target))
    [job] = window.jobs.jobs
    idle(qtbot, window)
    assert job.state is State.DONE
    qtbot.waitUntil(lambda: window.entries.total == 8, timeout=PATIENCE)
    assert window.place == str(target)


def test_a_bundle_is_code_of_others(
    qtbot: QtBot, open_window: OpenWindow, kept_291: Path, tmp_path: Path
) -> None:
    good = tmp_path / "good.torchcache"
    make(kept_291, good)
    window = open_window()
    window.places.add(str(good), bundle=True)
    window.places_pane.choose(str(good))
    listed(qtbot, window, good)
    dialog = ask(qtbot, window, tmp_path / "t")
    assert dialog.trust.isVisible()
    assert not dialog.go.isDefault(), "it is to be pressed on purpose"
    assert not dialog.go.autoDefault()
    dialog.target.combo.setEditText(str(tmp_path / "other.torchcache"))
    qtbot.waitUntil(lambda: dialog.known, timeout=PATIENCE)
    assert not dialog.trust.isVisible()
    dialog.target.combo.setEditText(str(tmp_path / "t"))
    qtbot.waitUntil(lambda: dialog.known, timeout=PATIENCE)
    click(qtbot, dialog.go)
    idle(qtbot, window)
    # The others are objects of which nothing tells for which CPU they were built.
    assert window.jobs.jobs[0].result["entries"] == 19
    assert payloads(tmp_path / "t", "fxgraph") == payloads(kept_291, "fxgraph")


# Dropping on a place.


def places(window: Window, *more: Path) -> None:
    for path in more:
        window.places.add(str(path), exists=path.exists(), bundle=path.is_file())


def spot(window: Window, path: Path | str) -> QPoint:
    """The middle of a place, in the list."""
    shown = window.places_pane.list
    return shown.visualRect(window.places.index(window.places.row_of(str(path)))).center()


def hold_over(window: Window, path: Path | str) -> QPoint:
    """Move the pointer to a place, with the button held: the table hears of it."""
    screen = window.places_pane.list.viewport().mapToGlobal(spot(window, path))
    at = window.table.viewport().mapFromGlobal(screen)
    mouse(window, QEvent.Type.MouseMove, at)
    return at


def aim(window: Window) -> str | None:
    place = window.places_pane.list.aim
    return place.path if place else None


@pytest.fixture
def dragging(qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path) -> Window:
    """A window with several places, and four entries of the first selected."""
    (tmp_path / "target").mkdir()
    (tmp_path / "b.torchcache").touch()
    window = open_window(fixture_cache)
    places(window, tmp_path / "target", tmp_path / "b.torchcache", tmp_path / "missing")
    only(window, qtbot, "kind:aotautograd")
    window.table.selectAll()
    settle(qtbot)
    return window


@pytest.mark.slow
def test_dropped_on_a_place_before_the_bundle_is_ready(
    qtbot: QtBot,
    dragging: Window,
    fixture_cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(QDrag, "exec", lambda *_: pytest.fail("it was let go of before"))
    window, target = dragging, tmp_path / "target"
    drag(window)
    assert window.dragging.preparing
    for place in (fixture_cache, tmp_path / "b.torchcache", tmp_path / "missing"):
        hold_over(window, place)
        assert aim(window) is None, place
    hold_over(window, target)
    assert aim(window) == str(target)
    assert "copy 4 entries to target" in window.statusBar().currentMessage()
    at = hold_over(window, fixture_cache)
    assert aim(window) is None
    assert "These entries are in" in window.statusBar().currentMessage()
    at = hold_over(window, target)
    mouse(window, QEvent.Type.MouseButtonRelease, at, held=False)
    assert aim(window) is None
    dialog = open_dialog(qtbot, window, CopyDialog)
    assert dialog.target.path == str(target)
    assert dialog.title.text().startswith("Copy 4 entries")
    assert list(target.iterdir()) == [], "never without the dialog"
    qtbot.waitUntil(lambda: dialog.known and scratch() == [], timeout=PATIENCE)
    assert dialog.go.isDefault()
    assert dialog.needed.isChecked()
    # It counts as the export does: with what the four need.
    count = int(dialog.title.text().split()[1])
    assert count > 4 and f"With {count - 4} entries that they need" in dialog.needed.text()
    assert dialog.go.text() == f"&Copy {count} entries"
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert len(payloads(target, "aotautograd")) == 4


@pytest.mark.slow
def test_escape_over_a_place_drops_nothing(qtbot: QtBot, dragging: Window, tmp_path: Path) -> None:
    window = dragging
    drag(window)
    at = hold_over(window, tmp_path / "target")
    qtbot.keyClick(window.table, Qt.Key.Key_Escape)  # type: ignore[no-untyped-call]
    assert aim(window) is None
    hold_over(window, tmp_path / "target")
    assert aim(window) is None, "that drag is over"
    mouse(window, QEvent.Type.MouseButtonRelease, at, held=False)
    qtbot.waitUntil(lambda: scratch() == [], timeout=PATIENCE)
    assert window.findChildren(CopyDialog) == []


@pytest.mark.slow
def test_a_place_takes_them_also_where_no_bundle_can_be_written(
    qtbot: QtBot, dragging: Window, tmp_path: Path
) -> None:
    window = dragging
    drag(window)
    lines = window.engines.worker._lines
    qtbot.waitUntil(lambda: any(not line.shared for line in lines), timeout=PATIENCE)
    for line in [line for line in lines if not line.shared]:
        os.kill(line.engine.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: window.error_bar.error is not None, timeout=PATIENCE)
    at = hold_over(window, tmp_path / "target")
    assert aim(window) == str(tmp_path / "target")
    hold_over(window, tmp_path / "missing")
    assert "Preparing" not in window.statusBar().currentMessage()
    hold_over(window, tmp_path / "target")
    mouse(window, QEvent.Type.MouseButtonRelease, at, held=False)
    dialog = open_dialog(qtbot, window, CopyDialog)
    dialog.reject()
    idle(qtbot, window)


@pytest.mark.slow
@pytest.mark.parametrize("drops", [True, False])
def test_dropped_on_a_place_when_the_bundle_is_ready(
    qtbot: QtBot,
    dragging: Window,
    fixture_cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    drops: bool,
) -> None:
    window, target = dragging, tmp_path / "target"
    over = window.places_pane.list.viewport()
    seen: list[tuple[bool, str | None]] = []

    def dragged(drag: QDrag, *_: object) -> Qt.DropAction:
        """What the system tells the list while the rows are dragged over it."""
        about = (Qt.DropAction.CopyAction, drag.mimeData(),
                 Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)  # fmt: skip
        QApplication.sendEvent(over, QDragEnterEvent(spot(window, fixture_cache), *about))
        for place in (fixture_cache, target, tmp_path / "b.torchcache", target):
            move = QDragMoveEvent(spot(window, place), *about)
            QApplication.sendEvent(over, move)
            seen.append((move.isAccepted(), aim(window)))
        at = target if drops else tmp_path / "missing"
        drop = QDropEvent(QPointF(spot(window, at)), *about)
        QApplication.sendEvent(over, drop)
        assert window.findChildren(CopyDialog) == [], "not before the drag is over"
        return drop.dropAction() if drop.isAccepted() else Qt.DropAction.IgnoreAction

    monkeypatch.setattr(QDrag, "exec", dragged)
    drag(window)
    qtbot.waitUntil(lambda: bool(seen) and scratch() == [], timeout=PATIENCE)
    ours = (True, str(target))
    assert seen == [(False, None), ours, (False, None), ours]
    assert aim(window) is None
    if drops:
        dialog = open_dialog(qtbot, window, CopyDialog)
        assert dialog.target.path == str(target)
        assert window.statusBar().currentMessage() == ""
        dialog.reject()
    else:
        assert window.findChildren(CopyDialog) == []
        assert "Nothing there takes a file" in window.statusBar().currentMessage()
    assert list(target.iterdir()) == []


@pytest.mark.slow
def test_files_of_others_over_a_place_are_no_rows(dragging: Window, tmp_path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "b.torchcache"))])
    shown = dragging.places_pane.list
    enter = QDragEnterEvent(spot(dragging, tmp_path / "target"), Qt.DropAction.CopyAction, data,
                            Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)  # fmt: skip
    QApplication.sendEvent(shown.viewport(), enter)
    assert enter.isAccepted(), "a bundle is imported into the place"
    assert aim(dragging) is None, "which is no copy of what is selected"
    assert "Import b.torchcache into target" in dragging.statusBar().currentMessage()
