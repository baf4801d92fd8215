"""Rows dragged out of the table: a bundle where they are dropped, nothing where they are not."""

from __future__ import annotations

import base64
import hashlib
import os
import signal
import tempfile
import time
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDrag, QDragEnterEvent, QDragLeaveEvent, QMouseEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, idle, settle
from tests.pace import within
from torchkeeper.client.engines.process import Engine
from torchkeeper.gui.table import mimedata
from torchkeeper.gui.window import Window

Dropped = list[tuple[Path, bytes]]


@pytest.fixture(autouse=True)
def own_temporary_folder(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(own_home))


@pytest.fixture
def dropped(monkeypatch: pytest.MonkeyPatch) -> Dropped:
    """What was offered to other programs, which take it."""
    return offers(monkeypatch, Qt.DropAction.CopyAction)


def offers(monkeypatch: pytest.MonkeyPatch, answer: Qt.DropAction) -> Dropped:
    seen: Dropped = []

    def offered(drag: QDrag, *_: object) -> Qt.DropAction:
        [url] = drag.mimeData().urls()
        path = Path(url.toLocalFile())
        seen.append((path, path.read_bytes()))
        assert not drag.pixmap().isNull()
        return answer

    monkeypatch.setattr(QDrag, "exec", offered)
    return seen


def scratch() -> list[Path]:
    """The folders that drags have left."""
    return list(Path(os.environ["HOME"]).glob("torchkeeper-drag-*"))


def mouse(window: Window, kind: QEvent.Type, at: QPoint, held: bool = True) -> None:
    left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
    spot = window.table.viewport()
    moved = kind == QEvent.Type.MouseMove
    where = QPointF(spot.mapToGlobal(at))
    event = QMouseEvent(kind, QPointF(at), where, none if moved else left,
                        left if held else none, Qt.KeyboardModifier.NoModifier)  # fmt: skip
    QApplication.sendEvent(spot, event)


def drag(window: Window, row: int = 1) -> QPoint:
    """Press on a row and move away from it."""
    at = window.table.visualRect(window.entries.index(row, 0)).center()
    mouse(window, QEvent.Type.MouseButtonPress, at)
    for _ in range(4):
        at += QPoint(0, 12)
        mouse(window, QEvent.Type.MouseMove, at)
    return at


def opened(qtbot: QtBot, open_window: OpenWindow, place: Path) -> Window:
    window = open_window(place)
    window.head.box.setText("kind:fxgraph")
    settle(qtbot)
    window.table.selectAll()
    settle(qtbot)
    return window


def test_a_bundle_is_offered_when_it_is_ready(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, dropped: Dropped, tmp_path: Path
) -> None:
    window = opened(qtbot, open_window, fixture_cache)
    chosen = window.table.selected()
    assert len(chosen) > 1
    begun = time.thread_time()
    drag(window)
    assert time.thread_time() - begun < within(0.1)
    assert window.dragging.preparing
    assert "keep holding the button" in window.statusBar().currentMessage()
    qtbot.waitUntil(lambda: bool(dropped), timeout=PATIENCE)
    [(path, data)] = dropped
    assert path.name == "cache-2.9.1.torchcache"
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert window.statusBar().currentMessage() == ""
    assert window.table.selected() == chosen
    # Whoever took it may take its time.
    settle(qtbot)
    assert path.exists()
    with Engine() as engine:
        rows: list[str] = []
        engine.call("list", {"place": str(path)},
                    lambda m: rows.extend(str(r["key"]) for r in m.rows))  # fmt: skip
    assert sorted(rows) == sorted(entry.key for entry in chosen)
    assert len(data) == path.stat().st_size
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    assert scratch() == []


@pytest.mark.slow
def test_what_is_dropped_nowhere_is_removed(
    qtbot: QtBot,
    open_window: OpenWindow,
    fixture_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    seen = offers(monkeypatch, Qt.DropAction.IgnoreAction)
    window = opened(qtbot, open_window, fixture_cache)
    for number in (1, 2):
        drag(window)
        qtbot.waitUntil(lambda number=number: len(seen) == number, timeout=PATIENCE)  # type: ignore[misc]
        qtbot.waitUntil(lambda: scratch() == [], timeout=PATIENCE)
        assert "Nothing there takes a file" in window.statusBar().currentMessage()
    assert window.error_bar.error is None


@pytest.mark.slow
@pytest.mark.parametrize("escape", [False, True])
def test_letting_go_too_soon_cancels_without_a_trace(
    qtbot: QtBot,
    open_window: OpenWindow,
    fixture_cache: Path,
    dropped: Dropped,
    tmp_path: Path,
    escape: bool,
) -> None:
    window = opened(qtbot, open_window, fixture_cache)
    at = drag(window)
    qtbot.waitUntil(lambda: scratch() != [], timeout=PATIENCE)
    if escape:
        qtbot.keyClick(window.table, Qt.Key.Key_Escape)  # type: ignore[no-untyped-call]
        # The button is still held: no new drag before it is let go of.
        mouse(window, QEvent.Type.MouseMove, at + QPoint(0, 40))
    else:
        mouse(window, QEvent.Type.MouseButtonRelease, at, held=False)
    assert "nothing was written" in window.statusBar().currentMessage()
    qtbot.waitUntil(lambda: not window.dragging.preparing, timeout=PATIENCE)
    qtbot.waitUntil(lambda: scratch() == [], timeout=PATIENCE)
    assert dropped == []
    if escape:
        mouse(window, QEvent.Type.MouseButtonRelease, at, held=False)
    window.table.selectAll()
    drag(window)
    qtbot.waitUntil(lambda: len(dropped) == 1, timeout=PATIENCE)


@pytest.fixture
def ten_thousand(tmp_path: Path) -> Path:
    """A cache with 10,000 generated sources."""
    place = tmp_path / "ten-thousand"
    for number in range(10_000):
        digest = hashlib.sha256(str(number).encode()).digest()
        stem = "c" + base64.b32encode(digest).decode().lower()[:51]
        folder = place / stem[1:3]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{stem}.py").write_text(f"# {number}\n" * 40)
    return place


@pytest.mark.slow
def test_ten_thousand_rows_dropped_nowhere(
    qtbot: QtBot, open_window: OpenWindow, ten_thousand: Path, dropped: Dropped, tmp_path: Path
) -> None:
    window = open_window(ten_thousand)
    assert window.entries.rowCount() == 10_000
    window.table.selectAll()
    settle(qtbot)
    begun = time.thread_time()
    at = drag(window)
    assert time.thread_time() - begun < within(0.1), "the window does not wait for the bundle"
    # The bundle is half written when the user thinks better of it.
    qtbot.waitUntil(
        lambda: " of " in window.statusBar().currentMessage().partition("bundle, ")[2],
        timeout=PATIENCE,
    )
    assert window.dragging.preparing
    assert scratch() != []
    mouse(window, QEvent.Type.MouseButtonRelease, at, held=False)
    qtbot.waitUntil(lambda: not window.dragging.preparing, timeout=PATIENCE)
    qtbot.waitUntil(lambda: scratch() == [], timeout=PATIENCE)
    assert dropped == []
    assert len(window.table.selected()) == 10_000
    assert window.error_bar.error is None


@pytest.mark.slow
def test_an_engine_that_dies_while_dragging_is_told(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, dropped: Dropped, tmp_path: Path
) -> None:
    window = opened(qtbot, open_window, fixture_cache)
    at = drag(window)
    lines = window.engines.worker._lines
    qtbot.waitUntil(lambda: any(not line.shared for line in lines), timeout=PATIENCE)
    for line in [line for line in lines if not line.shared]:
        os.kill(line.engine.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: window.error_bar.error is not None, timeout=PATIENCE)
    qtbot.waitUntil(lambda: scratch() == [], timeout=PATIENCE)
    mouse(window, QEvent.Type.MouseButtonRelease, at, held=False)
    assert dropped == []
    idle(qtbot, window)


@pytest.mark.slow
def test_our_own_rows_are_not_imported_where_they_came_from(
    open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    for ours in (True, False):
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile("/a.torchcache")])
        if ours:
            data.setData(
                mimedata.FORMAT, mimedata.told(str(fixture_cache), window.entries.shown()[:1])
            )
        about = (Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
        event = QDragEnterEvent(QPoint(600, 300), Qt.DropAction.CopyAction, data, *about)
        event.ignore()
        QApplication.sendEvent(window, event)
        assert event.isAccepted() is not ours
        assert (window.drops.veil is None) is ours
    QApplication.sendEvent(window, QDragLeaveEvent())
    assert window.drops.veil is None


def test_the_pointer_selects_rows_that_were_not_selected(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    """Nothing is exported by who wants to select: only what is selected can be dragged."""
    window = opened(qtbot, open_window, fixture_cache)
    window.table.clearSelection()
    at = window.table.visualRect(window.entries.index(0, 0)).center()
    below = window.table.visualRect(window.entries.index(2, 0)).center()
    mouse(window, QEvent.Type.MouseButtonPress, at)
    for step in range(1, 9):
        mouse(window, QEvent.Type.MouseMove, at + (below - at) * step / 8)
    mouse(window, QEvent.Type.MouseButtonRelease, below)
    settle(qtbot)
    assert len(window.table.selected()) == 3
    assert not window.dragging.preparing
    assert window.statusBar().currentMessage() == ""
