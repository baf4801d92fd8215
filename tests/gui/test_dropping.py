"""What is dropped on the window, its dialogs and the cards of a comparison; pasted, the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QSettings, Qt, QUrl
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QGuiApplication,
)
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from tests.gui import walking
from tests.gui.conftest import PATIENCE, OpenWindow, settle
from tests.shots import samples
from tests.shots.sample_results import EXPORTED
from torchkeeper.gui.dialogs.importing import ImportDialog
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.pages.comparing.page import ComparePage
from torchkeeper.gui.table import mimedata
from torchkeeper.gui.window import Window

BUNDLE = "/home/ada/new.torchcache"
NO_BUNDLE = "notes.txt is no bundle: its name does not end in .torchcache or .bin"


@pytest.fixture
def window(qtbot: QtBot, settings: QSettings) -> Iterator[Window]:
    """The window over the samples."""
    made = walking.opened(settings)
    yield made
    for dialog in made.findChildren(ImportDialog):
        dialog.reject()
    made.close_surely()
    qtbot.waitUntil(lambda: not made.engines.running, timeout=PATIENCE)
    made.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def files(*paths: str) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(path) for path in paths])
    return data


def text(said: str) -> QMimeData:
    data = QMimeData()
    data.setText(said)
    return data


def entries(window: Window, *numbers: int) -> QMimeData:
    """Graphs of the table, as a drag has them: with the file that they are elsewhere."""
    graphs = [e for e in window.entries.shown() if e.kind == "fxgraph" and not e.problem]
    data = files("/tmp/x/graphs.torchcache")
    assert window.place is not None
    data.setData(mimedata.FORMAT, mimedata.told(window.place, [graphs[n] for n in numbers]))
    return data


def _about(data: QMimeData) -> tuple[Any, ...]:
    return (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier)  # fmt: skip


def over(target: QWidget, at: QPoint, data: QMimeData) -> bool:
    """Drag something over a widget; whether it would be taken there."""
    enter = QDragEnterEvent(at, *_about(data))
    enter.ignore()
    QApplication.sendEvent(target, enter)
    move = QDragMoveEvent(at, *_about(data))
    move.ignore()
    QApplication.sendEvent(target, move)
    return move.isAccepted()


def let_go(target: QWidget, at: QPoint, data: QMimeData) -> bool:
    """Drop it there."""
    drop = QDropEvent(at.toPointF(), *_about(data))
    QApplication.sendEvent(target, drop)
    return drop.isAccepted()


def middle(window: Window, part: QWidget) -> QPoint:
    return part.mapTo(window, part.rect().center())


def said(window: Window) -> str:
    """What the frame says; empty where none is seen."""
    veil = window.drops.veil
    if veil is None:
        return ""
    assert veil.isVisible() and window.statusBar().currentMessage() == veil.text
    return veil.text


def imports(qtbot: QtBot, window: Window) -> ImportDialog:
    """The dialog that asks about an import, once it is open."""
    qtbot.waitUntil(lambda: bool(window.findChildren(ImportDialog)), timeout=PATIENCE)
    [found] = window.findChildren(ImportDialog)
    return found


def test_a_frame_says_what_a_drop_would_do(qtbot: QtBot, window: Window) -> None:
    place, at = window.places_pane.place, middle(window, window.pages)
    assert place is not None
    words = {
        f"Drop to import new.torchcache into {place.title}: you are asked first": files(BUNDLE),
        "Drop to open cache as a place": files("/home/ada/cache"),
        "Drop to put llama.toml on the list of recipes": files("/home/ada/llama.toml"),
        "Drop to open host:1/0 as a place": text("redis://host:1"),
    }
    for wanted, data in words.items():
        assert over(window, at, data)
        assert said(window) == wanted
        veil = window.drops.veil
        assert veil is not None and veil.takes and veil.size() == window.pages.size()
        QApplication.sendEvent(window, QDragLeaveEvent())
        assert said(window) == window.statusBar().currentMessage() == ""
    assert not over(window, at, text("only words"))
    assert said(window).startswith("Only files, folders and addresses")
    QApplication.sendEvent(window, QDragLeaveEvent())
    window.show_page("settings")
    assert over(window, at, files("/home/ada/serve.env"))
    assert "as settings" in said(window)
    QApplication.sendEvent(window, QDragLeaveEvent())
    window.show_page("recipes")
    assert not over(window, at, files(BUNDLE))
    assert "is not a recipe" in said(window)
    assert not let_go(window, at, files(BUNDLE))
    assert said(window) == ""
    assert not window.findChildren(ImportDialog)


def test_a_drop_goes_into_the_place_that_is_shown(qtbot: QtBot, window: Window) -> None:
    at = middle(window, window.pages)
    assert over(window, at, files(BUNDLE))
    assert let_go(window, at, files(BUNDLE))
    assert window.drops.veil is None
    assert imports(qtbot, window).target.path == window.place


def test_what_is_no_bundle_is_refused_in_the_same_words_everywhere(
    qtbot: QtBot, window: Window
) -> None:
    notes, at = files("/home/ada/notes.txt"), middle(window, window.pages)
    for data in (notes, files("/home/ada/notes.txt", "/home/ada/paper.pdf")):
        assert not over(window, at, data) and said(window) == NO_BUNDLE
        veil = window.drops.veil
        assert veil is not None and not veil.takes
        assert not let_go(window, at, data)
        assert window.statusBar().currentMessage() == ""
    pages, places, fold = window.sidebar.pages, window.places_pane.list, window.places_pane.fold
    doctor = pages.visualRect(pages.items.index(pages.items.row_of("doctor"))).center()
    place = places.visualRect(window.places.index(0)).center()
    parts = ((pages.viewport(), doctor), (places.viewport(), place), (fold, fold.rect().center()))
    for part, spot in parts:
        assert not over(part, spot, notes)
        assert window.statusBar().currentMessage() == NO_BUNDLE
        QApplication.sendEvent(part, QDragLeaveEvent())
    QGuiApplication.clipboard().setMimeData(notes)
    window.actions_["paste"].trigger()
    assert window.statusBar().currentMessage() == NO_BUNDLE
    assert not window.findChildren(ImportDialog)


@pytest.mark.slow
def test_what_its_name_does_not_tell_is_told_when_it_was_looked_up(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window(fixture_cache)
    readme = tmp_path / "README"
    readme.write_text("no bundle")
    data, at = files(str(readme)), middle(window, window.pages)
    assert over(window, at, data) and let_go(window, at, data), "it may be a folder"
    qtbot.waitUntil(lambda: window.error_bar.error is not None, timeout=PATIENCE)
    error = window.error_bar.error
    assert error is not None and error.what == NO_BUNDLE.replace("notes.txt", "README") + "."
    assert [button.text() for button in window.error_bar.remedies.buttons] == ["Import…"]
    assert not window.findChildren(ImportDialog)
    assert not over(window, at, data) and "README is no bundle" in said(window)
    # A folder may be called like a file: only the first picture of it is wrong.
    cache = tmp_path / "cache.old"
    cache.mkdir()
    data = files(str(cache))
    over(window, at, data)
    settle(qtbot)
    assert over(window, at, data) and said(window) == "Drop to open cache.old as a place"


@pytest.mark.slow
def test_a_result_that_is_shown_keeps_no_drop_away(qtbot: QtBot, window: Window) -> None:
    dialog = window.flows.export()
    assert dialog is not None
    at = dialog.rect().center()
    assert QGuiApplication.modalWindow() is not None
    assert not over(dialog, at, files(BUNDLE)), "it asks something first"
    veil = window.drops.veil
    assert veil is not None and not veil.takes and "Close this dialog first" in veil.text
    QApplication.sendEvent(dialog, QDragLeaveEvent())
    job = window.jobs.add("Export", "export", None)
    window.jobs.begin(job)
    dialog.follow(job)
    assert QGuiApplication.modalWindow() is None, "the system lets drops through to the window"
    assert not dialog.isVisible(), "the drawer shows the rest"
    window.jobs.end(job, State.DONE, result={**EXPORTED, "entries": 0})
    settle(qtbot)
    at = middle(window, window.pages)
    assert over(window, at, files(BUNDLE)) and let_go(window, at, files(BUNDLE))
    imports(qtbot, window)


@pytest.mark.slow
def test_entries_places_and_runs_on_the_sides(qtbot: QtBot, window: Window) -> None:
    one, other, both = (entries(window, *numbers) for numbers in ((0,), (1,), (0, 1)))
    three = entries(window, 0, 1, 0)
    page = window.show_page("compare")
    assert isinstance(page, ComparePage)
    settle(qtbot)
    at_a, at_b = middle(window, page.a), middle(window, page.b)
    assert over(window, at_b, files("/home/ada/cache"))
    assert said(window) == "Open cache and choose the entry for B"
    veil = window.drops.veil
    assert veil is not None and veil.size() == page.b.size()
    assert over(window, at_b, one) and said(window).endswith("on side B")
    assert let_go(window, at_b, one)
    qtbot.waitUntil(lambda: page.side("B") is not None, timeout=PATIENCE)
    assert page.side("A") is None
    assert not over(window, at_a, three) and "at most" in said(window)
    assert not over(window, at_a, files("/home/ada/notes.txt")) and said(window) == NO_BUNDLE
    run = files("/home/ada/20260102-030405-abcd.json")
    assert over(window, at_a, run) and "this run" in said(window)
    assert over(window, at_a, files("/home/ada/cache"))
    assert said(window).startswith("Search cache for the entry nearest to")
    assert let_go(window, at_a, other)
    qtbot.waitUntil(lambda: page.found is not None, timeout=PATIENCE)
    first = page.side("A")
    assert first is not None and first.entry.key != page.side("B").entry.key  # type: ignore[union-attr]
    assert over(window, middle(window, page.sentence), both) and said(window) == "Compare both"
    # A place: the nearest of its entries is looked for, in it alone.
    assert let_go(window, middle(window, page.b), files("/home/ada/cache"))
    qtbot.waitUntil(lambda: page._within == ("/home/ada/cache",), timeout=PATIENCE)
    assert page._places == ["/home/ada/cache"]
    assert over(window, middle(window, page.b), run)
    assert let_go(window, middle(window, page.b), run)
    qtbot.waitUntil(lambda: window.pages.current == "runs", timeout=PATIENCE)


@pytest.mark.slow
def test_what_was_copied_is_pasted_where_it_could_be_dropped(qtbot: QtBot, window: Window) -> None:
    graphs = [e for e in window.entries.shown() if e.kind == "fxgraph" and not e.problem]
    page = window.pages.of("compare")
    assert isinstance(page, ComparePage)
    for number, letter in enumerate("AB"):
        window.show_page("entries")
        window.table.select({graphs[number].identity})
        settle(qtbot)
        window.actions_["copy-key"].trigger()
        assert QGuiApplication.clipboard().text() == graphs[number].key
        window.actions_["paste"].trigger()
        assert "Compare" in window.statusBar().currentMessage()
        window.show_page("compare")
        qtbot.keyClick(window, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)  # type: ignore[no-untyped-call]
        side = page.side(letter)
        assert side is not None and side.entry.key == graphs[number].key
    assert page._asked is not None, "both are there: they are compared"
    page.a.chooser.setFocus()
    window.actions_["paste"].trigger()
    assert page.side("A").entry.key == graphs[1].key, "the side with the keyboard"  # type: ignore[union-attr]
    window.show_page("entries")
    window.table.setFocus()
    QGuiApplication.clipboard().setMimeData(files(BUNDLE))
    qtbot.keyClick(window.table, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)  # type: ignore[no-untyped-call]
    imports(qtbot, window).reject()
    QGuiApplication.clipboard().setText("only words")
    window.actions_["paste"].trigger()
    assert "on the clipboard" in window.statusBar().currentMessage()


@pytest.mark.slow
def test_entries_are_told_by_what_is_dragged(qtbot: QtBot, window: Window) -> None:
    assert window.place == samples.PLACE
    for raw in (b"", b"[]", b"{", b'{"place": "/x", "entries": [{"kind": 1}], "count": 1}',
                b'{"place": "/x", "entries": [], "count": 0}', b"[" * 5000):  # fmt: skip
        data = QMimeData()
        data.setData(mimedata.FORMAT, raw)
        assert mimedata.rows_of(data) is None
    found = mimedata.rows_of(entries(window, 0, 1))
    assert found is not None and found.number == 2 and found.place == window.place and found.own
    # Those of another window are a file, too, which is imported anywhere but on a comparison.
    data = entries(window, 0)
    raw = bytes(data.data(mimedata.FORMAT).data()).replace(b'"pid": ', b'"pid": 1')
    data.setData(mimedata.FORMAT, raw)
    assert over(window, middle(window, window.pages), data)
    assert "Drop to import graphs.torchcache" in said(window)
    QApplication.sendEvent(window, QDragLeaveEvent())
    page = window.show_page("compare")
    assert isinstance(page, ComparePage)
    settle(qtbot)
    assert over(window, middle(window, page.b), data) and "on side B" in said(window)
