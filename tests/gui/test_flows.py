"""Export, import by drop, purge, undo and the trash: the real window, real engines, real files."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog
from pytestqt.qtbot import QtBot

from tests.conftest import Served
from tests.gui.conftest import PATIENCE, OpenWindow, click, idle, listed, settle, told
from torchkeeper.gui.dialogs.base import ConfirmDialog, confirm
from torchkeeper.gui.dialogs.copying import CopyDialog
from torchkeeper.gui.dialogs.exporting import ExportDialog
from torchkeeper.gui.dialogs.importing import ImportDialog
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.window import Window


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file of a place with its bytes and time, the trash aside."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".torchkeeper-trash" not in path.parts
    }


D = TypeVar("D", bound=QDialog)


def open_dialog(qtbot: QtBot, window: Window, kind: type[D]) -> D:
    """The dialog of a kind, once it is there."""

    def found() -> list[D]:
        return [d for d in window.findChildren(kind) if d.isVisible()]

    qtbot.waitUntil(lambda: found() != [], timeout=PATIENCE)
    return found()[0]


def export(qtbot: QtBot, window: Window, output: Path) -> None:
    """Export as a user does, until the result is there and was looked at."""
    window.actions_["export"].trigger()
    dialog = open_dialog(qtbot, window, ExportDialog)
    assert dialog.target.file.text().endswith(".torchcache")
    dialog.target.file.setText(str(output))
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    click(qtbot, dialog.go)
    qtbot.waitUntil(lambda: not window.jobs.active, timeout=PATIENCE)


@pytest.fixture
def bundle(
    qtbot: QtBot,
    open_window: OpenWindow,
    fixture_cache: Path,
    tmp_path: Path,
) -> tuple[Window, Path]:
    """The window, and a bundle that it exported from the whole fixture."""
    window = open_window(fixture_cache)
    output = tmp_path / "all.torchcache"
    export(qtbot, window, output)
    idle(qtbot, window)
    return window, output


def drop(window: Window, *, files: list[Path] | None = None, text: str | None = None) -> bool:
    """Drag something over the window and let go; whether it was taken."""
    data = QMimeData()
    if files is not None:
        data.setUrls([QUrl.fromLocalFile(str(path)) for path in files])
    if text is not None:
        data.setText(text)
    copy, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    none = Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(300, 300), copy, data, left, none)
    enter.ignore()
    QApplication.sendEvent(window, enter)
    if not enter.isAccepted():
        return False
    QApplication.sendEvent(window, QDropEvent(QPointF(300, 300), copy, data, left, none))
    return True


@pytest.mark.slow
def test_exports_all_that_is_shown(bundle: tuple[Window, Path]) -> None:
    window, output = bundle
    job = window.jobs.jobs[0]
    assert job.state is State.DONE, list(job.log)
    with zipfile.ZipFile(output) as file:
        assert {"manifest.json", "mega-cache.bin"} <= set(file.namelist())
    assert job.result["entries"] > 0
    assert "entries" in job.note


def test_exports_the_selection(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window(fixture_cache)
    graphs = {e.identity for e in window.entries.shown() if e.kind == "fxgraph"}
    window.table.select(graphs)
    settle(qtbot)
    export(qtbot, window, tmp_path / "some.torchcache")
    idle(qtbot, window)
    assert window.jobs.jobs[0].result["entries"] > len(graphs), "with the code that they need"
    # On another page neither the selection nor the filter is seen: all of the place goes.
    window.head.box.setText("kind:(")
    assert window.table.selected()
    for action, kind in (("export", ExportDialog), ("copy-to", CopyDialog)):
        window.show_page("overview")
        assert window.actions_[action].isEnabled()
        window.actions_[action].trigger()
        dialog = open_dialog(qtbot, window, kind)
        assert isinstance(dialog, ExportDialog | CopyDialog)
        words = [f"{window.entries.total} entries"]
        words += [f"from {fixture_cache.name}"] if action == "export" else []
        assert all(word in dialog.title.text() for word in words)
        dialog.reject()


def test_a_dropped_bundle_is_looked_into_and_imported_only_when_asked(
    qtbot: QtBot, bundle: tuple[Window, Path], tmp_path: Path
) -> None:
    window, output = bundle
    place = tmp_path / "empty"
    place.mkdir()
    window.open_paths([str(place)])
    listed(qtbot, window, place)
    assert drop(window, files=[output])
    dialog = open_dialog(qtbot, window, ImportDialog)
    qtbot.waitUntil(lambda: dialog.ready, timeout=PATIENCE)
    [file] = dialog.chosen
    assert file.kinds["fxgraph"][0] > 0
    assert dialog.target.path == str(place)
    assert not dialog.go.isDefault()
    assert list(place.iterdir()) == []
    qtbot.waitUntil(lambda: dialog.known, timeout=PATIENCE)
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert window.jobs.jobs[0].state is State.DONE, list(window.jobs.jobs[0].log)
    assert told(window).startswith("Imported.")
    qtbot.waitUntil(
        lambda: window.entries.total >= file.entries - window.jobs.jobs[0].left, timeout=PATIENCE
    )
    assert not window.error_bar.isVisible()


@pytest.mark.slow
def test_a_dropped_file_that_is_no_bundle_cannot_be_imported(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window(fixture_cache)
    notes = tmp_path / "notes.bin"
    notes.write_text("nothing of interest")
    assert drop(window, files=[notes])
    dialog = open_dialog(qtbot, window, ImportDialog)
    qtbot.waitUntil(lambda: dialog.ready, timeout=PATIENCE)
    assert dialog.chosen == []
    assert dialog.files[0].error is not None
    assert not dialog.go.isEnabled()
    click(qtbot, dialog.cancel)


@pytest.mark.slow
def test_a_mixed_drop_imports_what_it_can(
    qtbot: QtBot, bundle: tuple[Window, Path], tmp_path: Path
) -> None:
    window, output = bundle
    notes, folder = tmp_path / "notes.txt", tmp_path / "folder"
    notes.write_text("nothing of interest")
    folder.mkdir()
    assert drop(window, files=[notes, output, folder])
    dialog = open_dialog(qtbot, window, ImportDialog)
    qtbot.waitUntil(lambda: dialog.ready, timeout=PATIENCE)
    assert [file.path for file in dialog.chosen] == [str(output)]
    assert dialog.go.isEnabled()
    assert [file.path for file in dialog.files if file.error is not None] == [str(notes)]
    # The folder is a place now, and the one the files would go to.
    assert window.places.row_of(str(folder)) >= 0
    assert dialog.target.path == str(folder)
    click(qtbot, dialog.cancel)
    idle(qtbot, window)
    assert list(folder.iterdir()) == []


def test_a_drop_of_text_is_not_taken(open_window: OpenWindow) -> None:
    window = open_window()
    assert not drop(window, text="file names are not files")
    data_only_remote = QMimeData()
    data_only_remote.setUrls([QUrl("https://example.org/a.torchcache")])
    assert window.findChild(ImportDialog) is None


def test_purges_to_the_trash_and_undoes(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    before = tree(fixture_cache)
    window = open_window(fixture_cache)
    total = window.entries.total
    chosen = window.entries.shown()[:12]
    window.table.select({e.identity for e in chosen})
    settle(qtbot)
    window.actions_["purge"].trigger()
    dialog = open_dialog(qtbot, window, PurgeDialog)
    qtbot.waitUntil(lambda: dialog.plan is not None, timeout=PATIENCE)
    assert {e.identity for e in dialog.model.shown()} == {e.identity for e in chosen}
    assert "12 entries" in dialog.title.text()
    assert tree(fixture_cache) == before, "a plan changes nothing"
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert window.entries.total == total - 12
    assert window.undo_bar.isVisible()
    assert "12 entries" in window.undo_bar.text.text()
    assert "moved to the trash" in window.undo_bar.text.text()
    assert window.trash_label.button.text().startswith("Trash ")
    undo, purged = window.actions_["undo"], window.undo_bar.text.text().partition(" moved")[0]
    settle(qtbot)
    assert undo.text() == f"&Undo purge of {purged}"
    assert undo.toolTip().startswith(f"Undo purge of {purged}: Put back")
    assert window.undo_bar.button.accessibleName() == f"Undo purge of {purged}"
    click(qtbot, window.undo_bar.button)
    idle(qtbot, window)
    assert window.entries.total == total
    assert not window.undo_bar.isVisible()
    assert window.trash_label.button.text() == ""
    assert tree(fixture_cache) == before
    settle(qtbot)
    assert undo.text() == "&Undo"


def test_a_purge_says_that_other_machines_may_use_the_folder(
    qtbot: QtBot, open_window: OpenWindow, served: Served, kept_291: Path
) -> None:
    window = open_window(served(kept_291))
    window.table.select({window.entries.shown()[0].identity})
    settle(qtbot)
    window.actions_["purge"].trigger()
    dialog = open_dialog(qtbot, window, PurgeDialog)
    qtbot.waitUntil(lambda: dialog.plan is not None, timeout=PATIENCE)
    assert dialog.of_others.isVisible()
    assert "fuse.shared" in dialog.of_others.text()
    click(qtbot, dialog.cancel)


@pytest.mark.slow
def test_purges_all_that_the_filter_shows_then_empties_the_trash(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    window.head.box.setText("kind:code")
    settle(qtbot)
    shown = window.entries.rowCount()
    window.actions_["purge-shown"].trigger()
    dialog = open_dialog(qtbot, window, PurgeDialog)
    qtbot.waitUntil(lambda: dialog.plan is not None, timeout=PATIENCE)
    assert dialog.plan is not None
    assert dialog.plan["entries"] == shown
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert window.entries.rowCount() == 0
    assert window.entries.total > 0
    click(qtbot, window.trash_label.button)
    ask = open_dialog(qtbot, window, ConfirmDialog)
    assert ask.cancel.isDefault()
    assert f"{shown} entries" in ask.question.text()
    assert str(fixture_cache) in ask.detail.text()
    click(qtbot, ask.go)
    idle(qtbot, window)
    assert window.trash_label.button.text() == ""
    assert not window.actions_["undo"].isEnabled()
    assert not (fixture_cache / ".torchkeeper-trash").exists()


@pytest.mark.slow
def test_removing_at_once_asks_a_second_time(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    total = window.entries.total
    window.table.go_to_row(0)
    settle(qtbot)
    window.actions_["purge"].trigger()
    dialog = open_dialog(qtbot, window, PurgeDialog)
    qtbot.waitUntil(lambda: dialog.plan is not None, timeout=PATIENCE)
    dialog.at_once.setChecked(True)
    click(qtbot, dialog.go)
    ask = open_dialog(qtbot, window, ConfirmDialog)
    assert ask.cancel.isDefault()
    click(qtbot, ask.cancel)
    assert dialog.isVisible()
    click(qtbot, dialog.go)
    click(qtbot, open_dialog(qtbot, window, ConfirmDialog).go)
    idle(qtbot, window)
    assert window.entries.total == total - 1
    assert not window.undo_bar.isVisible()
    assert window.trash_label.button.text() == ""


@pytest.mark.slow
def test_starts_on_the_place_shown_last(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "first").mkdir()
    window = open_window(tmp_path / "first")
    window.open_paths([str(fixture_cache)])
    listed(qtbot, window, fixture_cache)
    window.close_surely()
    again = open_window()
    again.activateWindow()
    again.places_pane.list.setFocus()
    listed(qtbot, again, fixture_cache)
    chosen = again.places_pane.place
    assert chosen is not None
    assert chosen.path == str(fixture_cache)
    assert again.settings.value("places/current") == str(fixture_cache)


@pytest.mark.slow
def test_a_bundle_at_the_start_goes_where_the_window_looks(
    qtbot: QtBot,
    open_window: OpenWindow,
    fixture_cache: Path,
    bundle: tuple[Window, Path],
    tmp_path: Path,
) -> None:
    bundle[0].close_surely()
    again = open_window()
    again.open_paths([str(bundle[1])])
    dialog = open_dialog(qtbot, again, ImportDialog)
    assert dialog.target.path == str(fixture_cache)
    # All of it is there: the window exported it from there.
    qtbot.waitUntil(lambda: dialog.known, timeout=PATIENCE)
    assert "Nothing is new" in dialog.news.text()
    assert not dialog.go.isEnabled()
    # A folder that is not there yet can be typed.
    new = tmp_path / "not" / "yet"
    dialog.target.combo.setEditText(str(new))
    assert dialog.target.path == str(new)
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    dialog.target.combo.setEditText("relative")
    assert not dialog.go.isEnabled()
    dialog.reject()


def test_a_wrong_filter_purges_nothing(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    assert window.actions_["purge-shown"].isEnabled()
    window.head.box.setText("kind:fxgrph")
    qtbot.waitUntil(lambda: not window.actions_["purge-shown"].isEnabled())
    assert not window.actions_["export"].isEnabled()
    window.head.box.setText("kind:fxgraph")
    qtbot.waitUntil(window.actions_["purge-shown"].isEnabled)


def test_enter_presses_what_has_the_focus(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    said: list[str] = []
    dialog = confirm(window, "Title", "Question?", "Detail", "Do it", lambda: said.append("done"))
    qtbot.waitUntil(dialog.isVisible)
    assert dialog.cancel.isDefault()
    QTest.keyClick(dialog.cancel, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not window.findChildren(ConfirmDialog))
    assert said == []
    dialog = confirm(window, "Title", "Question?", "Detail", "Do it", lambda: said.append("done"))
    qtbot.waitUntil(dialog.isVisible)
    dialog.go.setFocus()
    QTest.keyClick(dialog.go, Qt.Key.Key_Return)
    assert said == ["done"]
