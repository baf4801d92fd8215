"""The sidebar: pages, places and how they stand, environments; drops, and the keys for the same."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QMimeData, QModelIndex, QPoint, QSettings, Qt, QUrl
from PySide6.QtGui import (
    QColor,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QGuiApplication,
)
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QWidget
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, settle, type_in
from tests.shots import sample_doctor, samples
from tests.shots.sample_engines import SampleEngines
from torchkeeper.artifacts.entry import tallied
from torchkeeper.client.engines import interpreters
from torchkeeper.client.overviewing import PlaceTold
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui import theme
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Listener, P
from torchkeeper.gui.background.lookups import Room
from torchkeeper.gui.dialogs.importing import ImportDialog
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.pages import ENTRIES, PAGES
from torchkeeper.gui.pages.doctor.page import DoctorPage
from torchkeeper.gui.pages.page import Page
from torchkeeper.gui.places.model import FEW, Place, PlacesModel
from torchkeeper.gui.sidebar import deferred as gauge
from torchkeeper.gui.sidebar.deferred import DeferredSidebar
from torchkeeper.gui.sidebar.envlist import EnvironmentList
from torchkeeper.gui.sidebar.lists import FOLDED, Onto, SideList
from torchkeeper.gui.sidebar.pagelist import Mark, PageItems, page_item
from torchkeeper.gui.sidebar.standing import Standing
from torchkeeper.gui.table.mimedata import Carried, carried
from torchkeeper.gui.verdicts.environments import KEY
from torchkeeper.gui.window import Window

TEAM, FULL = "/srv/shared/team", "/scratch/full/cache"


class Dead(SampleEngines):
    """Engines of a machine on which some disks do not answer, until they do."""

    def __init__(self) -> None:
        super().__init__()
        self.dead: set[str] = set()
        self.hung: list[tuple[str, Listener]] = []
        #: What was called in the background, and with what.
        self.looked: list[tuple[object, tuple[Any, ...], dict[str, Any]]] = []

    def background(
        self,
        listener: Listener,
        function: Callable[P, object],
        /,
        *args: P.args,
        **more: P.kwargs,
    ) -> int:
        self.looked.append((function, args, more))
        if function is lookups.room and args[0] in self.dead:
            self.hung.append((str(args[0]), listener))
            return self._ticket(listener)
        return super().background(listener, function, *args, **more)


@pytest.fixture
def engines() -> Dead:
    return Dead()


@pytest.fixture
def make(qtbot: QtBot, settings: QSettings, engines: Dead) -> Iterator[Callable[[], Window]]:
    """Makes the window over the samples, whole."""
    made: list[Window] = []
    settings.setValue(KEY, samples.PYTHON)
    settings.setValue("pages/current", ENTRIES)

    def make_one() -> Window:
        window = Window(settings, SampleEngines() if made else engines)
        made.append(window)
        window.resize(1360, 800)
        window.show()
        window.later.start()
        qtbot.waitUntil(lambda: window.later.over and window.place is not None, timeout=PATIENCE)
        return window

    yield make_one
    for window in made:
        window.close_surely()
        window.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def window(make: Callable[[], Window]) -> Window:
    return make()


def key(qtbot: QtBot, widget: QWidget, which: Qt.Key, *how: Qt.KeyboardModifier) -> None:
    """Press a key as a user would."""
    modifier = how[0] if how else Qt.KeyboardModifier.NoModifier
    qtbot.keyClick(widget, which, modifier)  # type: ignore[no-untyped-call]


def press(qtbot: QtBot, shown: SideList, row: int) -> None:
    """Click an item."""
    index = shown.model().index(row, 0)
    shown.scrollTo(index)
    click(qtbot, shown.viewport(), shown.visualRect(index).center())


def standing(window: Window, path: str) -> Standing:
    """What is said of a place."""
    told = window.places.index(window.places.row_of(path)).data(PlacesModel.StandingRole)
    return told if isinstance(told, Standing) else Standing()


def spoken(window: Window, path: str) -> str:
    """What a screen reader says of a place."""
    index = window.places.index(window.places.row_of(path))
    return str(index.data(Qt.ItemDataRole.AccessibleTextRole))


def files(*paths: object) -> QMimeData:
    """Files as they are dragged or copied."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return data


def drop(over: QWidget, at: QPoint, data: QMimeData, *, moves: bool = True) -> bool:
    """Drag something from outside over a widget, and let go if it would be taken."""
    about = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton,
             Qt.KeyboardModifier.NoModifier)  # fmt: skip
    enter = QDragEnterEvent(at, *about)
    QApplication.sendEvent(over, enter)
    move = QDragMoveEvent(at, *about)
    if moves:
        QApplication.sendEvent(over, move)
    taken = move.isAccepted() if moves else enter.isAccepted()
    if taken:
        QApplication.sendEvent(over, QDropEvent(at.toPointF(), *about))
    else:
        QApplication.sendEvent(over, QDragLeaveEvent())
    return taken


def spot(window: Window, path: str) -> QPoint:
    """The middle of a place, in its list."""
    shown = window.places_pane.list
    return shown.visualRect(window.places.index(window.places.row_of(path))).center()


# Pages.


def test_the_pages_are_those_of_the_table_and_the_one_shown_is_marked(
    qtbot: QtBot, window: Window
) -> None:
    shown = window.sidebar.pages
    assert [item.id for item in shown.items.items] == list(PAGES)
    assert shown.items.items[0].text == "Overview"
    row = shown.items.row_of("runs")
    press(qtbot, shown, row)
    assert (window.pages.current, shown.items.current) == ("runs", "runs")
    said = shown.model().index(row, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "this page is shown" in said
    shown.setFocus()
    key(qtbot, shown, Qt.Key.Key_Up)
    assert window.pages.current == "runs", "the arrows go where Enter opens"
    assert shown.currentIndex().row() == row - 1
    key(qtbot, shown, Qt.Key.Key_Home)
    type_in(qtbot, shown, "ru")
    assert shown.currentIndex().row() == row, "and letters go to a name"
    key(qtbot, shown, Qt.Key.Key_Home)
    key(qtbot, shown, Qt.Key.Key_Return)
    assert window.pages.current == PAGES[0]
    window.actions_["back"].trigger()
    assert shown.items.current == "runs", "whoever goes there, it is marked"


def test_what_is_unsaved_and_what_warns_is_beside_the_page(
    qtbot: QtBot, window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = window.show_page("runs")
    assert isinstance(page, Page)
    shown = window.sidebar.pages
    index = shown.model().index(shown.items.row_of("runs"), 0)

    def says(text: str) -> bool:
        return text in index.data(Qt.ItemDataRole.AccessibleTextRole)

    monkeypatch.setattr(type(page), "warning", property(lambda _: "3 warnings"))
    qtbot.waitUntil(lambda: says("3 warnings"), timeout=PATIENCE)
    monkeypatch.setattr(type(page), "unsaved", property(lambda _: True))
    qtbot.waitUntil(lambda: says("not saved"), timeout=PATIENCE)
    assert not says("3 warnings")
    monkeypatch.undo()
    qtbot.waitUntil(lambda: not says("not saved"), timeout=PATIENCE)


def test_what_the_doctor_warns_of_is_beside_its_page_at_once(qtbot: QtBot, window: Window) -> None:
    more = window.findChild(DeferredSidebar)
    assert more is not None
    # What is looked at now and then comes late.
    more._marks.stop()
    engines = window.engines
    assert isinstance(engines, SampleEngines)
    engines.found = {"diagnose": sample_doctor.FOUND}
    page = window.show_page("doctor")
    assert isinstance(page, DoctorPage)
    shown = window.sidebar.pages
    index = shown.model().index(shown.items.row_of("doctor"), 0)

    def mark() -> Mark | None:
        found: Mark | None = index.data(PageItems.MarkRole)
        return found

    qtbot.waitUntil(lambda: bool(page.warning), timeout=PATIENCE)
    qtbot.waitUntil(lambda: mark() is not None, timeout=PATIENCE)
    page.diagnosis.found = []
    page.diagnosis.changed.emit()
    qtbot.waitUntil(lambda: mark() is None, timeout=PATIENCE)


# How places stand.


@pytest.mark.slow
def test_a_place_says_what_it_holds_and_how_much_room_there_is(
    qtbot: QtBot, window: Window
) -> None:
    window.places.add(FULL)
    qtbot.waitUntil(lambda: standing(window, FULL).low, timeout=PATIENCE)
    window.more.gauge.told(FULL, 3120, 9_310_000_000)
    qtbot.waitUntil(lambda: standing(window, FULL).size is not None)
    said = spoken(window, FULL)
    assert "3,120 entries, 9.3 GB of content" in said and "little room" in said
    assert standing(window, FULL).beside == "712 MB free"
    ours = standing(window, samples.PLACE)
    assert ours.entries == sum(e.kind != "lock" for e in samples.entries()), (
        "of the one that is shown its listing tells"
    )
    assert not ours.low
    window.jobs.begin(job := window.jobs.add("Warm llama.toml", "warm", FULL))
    window.jobs.progress(job, 3, 8, "steps")
    qtbot.waitUntil(lambda: standing(window, FULL).beside == "38%")
    assert "Warm llama.toml, 38%" in spoken(window, FULL)
    window.jobs.end(job, State.CANCELLED)
    qtbot.waitUntil(lambda: standing(window, FULL).filling is None)


def test_what_the_overview_finds_is_said_of_places_too(
    qtbot: QtBot, window: Window, engines: Dead
) -> None:
    engines.dead = {TEAM}  # so that nobody else says how much room there is
    window.places.add(TEAM)
    denied = user_error("place-unreadable", {"place": TEAM, "why": "no"})
    window.more.gauge.overlooked([PlaceTold(TEAM, problem=denied)])
    qtbot.waitUntil(lambda: standing(window, TEAM).trouble != "")
    assert standing(window, TEAM).beside == "unreadable"
    window.more.gauge.overlooked(
        [PlaceTold(TEAM, tallied(7), 20_000, free_bytes=900, total_bytes=1000)]
    )
    qtbot.waitUntil(lambda: standing(window, TEAM).trouble == "")
    assert standing(window, TEAM)[:4] == (7, 20_000, 900, 1000)
    assert standing(window, TEAM).low, "under a gigabyte is little, whatever share it is"


@pytest.mark.slow
def test_a_disk_that_does_not_answer_holds_nobody_up(
    qtbot: QtBot, window: Window, engines: Dead, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.more.gauge._late.setInterval(20)
    engines.dead = {TEAM}
    window.places.add(TEAM)
    window.places.add(FULL)
    qtbot.waitUntil(lambda: standing(window, TEAM).silent, timeout=PATIENCE)
    qtbot.waitUntil(lambda: standing(window, FULL).free is not None, timeout=PATIENCE)
    assert "does not answer" in spoken(window, TEAM)
    window.more.gauge.look_at_room()
    settle(qtbot)
    assert len(engines.hung) == 1, "who is still at it is not asked again"
    (_, listener) = engines.hung.pop()
    assert listener.result is not None
    listener.result(Room("folder", 5_000_000_000, 6_000_000_000))
    qtbot.waitUntil(lambda: not standing(window, TEAM).silent, timeout=PATIENCE)
    assert standing(window, TEAM).free == 5_000_000_000


@pytest.mark.slow
def test_places_that_nobody_shows_are_added_up_by_an_engine(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, settings: QSettings,
) -> None:  # fmt: skip
    monkeypatch.setattr(gauge, "REST_MS", 10)
    settings.setValue("pages/current", ENTRIES)
    other, third = tmp_path / "other", tmp_path / "third"
    shutil.copytree(fixture_cache, other)
    shutil.copytree(fixture_cache, third)
    window = open_window(fixture_cache)
    window.places.add(str(other))
    window.places.add(str(third))
    window.places.add("redis://127.0.0.1:1/0")

    def held(place: Path) -> tuple[int | None, int | None]:
        return standing(window, str(place))[:2]

    qtbot.waitUntil(lambda: held(third)[0] is not None, timeout=PATIENCE)
    result = window.listing.result
    assert result is not None
    assert held(third) == held(other) == (window.entries.total, result["bytes"])
    told = standing(window, str(third))
    assert told.free is not None and told.total is not None and told.free <= told.total
    assert standing(window, "redis://127.0.0.1:1/0") == Standing(), "of a server nobody asks"
    shutil.rmtree(other)
    window.more.gauge.look_at_room()
    gone = window.places.row_of(str(other))
    qtbot.waitUntil(lambda: not window.places.places[gone].exists, timeout=PATIENCE)
    assert "missing" in spoken(window, str(other))
    qtbot.waitUntil(lambda: held(other) == (None, None), timeout=PATIENCE)
    assert "entries" not in spoken(window, str(other)), "it is not there any more"


# The list of places.


def test_many_places_stand_under_headings(settings: QSettings) -> None:
    model = PlacesModel(settings)
    model.found([Place("/a"), Place("redis://here/0")])
    model.add("/mine")
    model.add("/b.torchcache", bundle=True)
    model.add("redis://there/0")

    def headings() -> list[str]:
        rows = range(model.rowCount())
        return [model.index(row).data(PlacesModel.HeadingRole) for row in rows]

    assert model.rowCount() == FEW and not any(headings())
    model.add("/mine too")
    assert [place.path for place in model.places] == [
        "/a", "/mine", "/mine too", "redis://here/0", "redis://there/0", "/b.torchcache",
    ]  # fmt: skip
    assert headings() == ["On this machine", "Added", "", "Servers", "", "Bundles"]
    model.looked("/mine too", "file")
    assert model.places[4].path == "/mine too", "what is found to be a bundle stands with them"
    model.looked("/mine too", "folder")
    assert [place.path for place in model.places[1:3]] == ["/mine", "/mine too"]
    assert not model.may_shift("/mine", -1), "what was found is not moved"
    model.shift("/mine", 1)
    assert [place.path for place in model.places[1:3]] == ["/mine too", "/mine"]
    assert [p.path for p in PlacesModel(settings).places][:2] == ["/mine too", "/mine"]


@pytest.mark.slow
def test_keys_of_the_list_of_places(qtbot: QtBot, window: Window) -> None:
    for place in (TEAM, FULL, samples.SERVER):
        window.places.add(place)
    shown = window.places_pane.list
    shown.setFocus()
    window.places_pane.choose(FULL)
    key(qtbot, shown, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    rows = [window.places.row_of(path) for path in (FULL, TEAM)]
    assert rows == sorted(rows) and window.places_pane.place == window.places.places[rows[0]]
    key(qtbot, shown, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == FULL
    key(qtbot, shown, Qt.Key.Key_Delete)
    assert window.places.row_of(FULL) < 0
    assert "cache is off the list" in window.undo_bar.text.text()
    assert window.undo_bar.isVisible()
    for keys in ("F6", "Alt", "Ctrl"):
        if keys == "F6":
            shown.setFocus()
            window.actions_["next-part"].trigger()
            assert window.undo_bar.button.hasFocus()
            key(qtbot, window.undo_bar.button, Qt.Key.Key_Space)
        elif keys == "Alt":
            key(qtbot, window, Qt.Key.Key_B, Qt.KeyboardModifier.AltModifier)
            qtbot.waitUntil(window.undo_bar.isHidden)
        else:
            window.update_now()
            # So the palette has it, too.
            assert window.actions_["undo"].text() == "Put cache back on the list"
            key(qtbot, window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        assert window.places.row_of(FULL) == rows[0] and window.place == FULL
        key(qtbot, shown, Qt.Key.Key_Delete)
    window.places_pane.choose(samples.PLACE)
    key(qtbot, shown, Qt.Key.Key_Delete)
    assert window.places.row_of(samples.PLACE) >= 0
    assert "was found on this machine" in window.statusBar().currentMessage()
    window.places_pane.choose(samples.SERVER)
    key(qtbot, shown, Qt.Key.Key_F2)
    (editor,) = shown.findChildren(QLineEdit)
    editor.selectAll()
    type_in(qtbot, editor, "the team's")
    row = window.places.index(window.places.row_of(samples.SERVER))
    window.places.dataChanged.emit(row, row)
    assert editor.text() == "the team's", "what becomes known meanwhile takes nothing back"
    key(qtbot, editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.places.title(samples.SERVER) == "the team's")


def test_enter_and_a_click_show_what_the_chosen_place_holds(qtbot: QtBot, window: Window) -> None:
    window.show_page("runs")
    shown = window.places_pane.list
    press(qtbot, shown, 0)
    assert window.pages.current == ENTRIES
    window.show_page("runs")
    shown.setFocus()
    key(qtbot, shown, Qt.Key.Key_Return)
    assert window.pages.current == ENTRIES


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_the_menu_key_opens_the_menu_of_what_is_current(qtbot: QtBot, window: Window) -> None:
    places, environments = window.places_pane.list, window.more.environments.list
    qtbot.waitUntil(lambda: environments.items.rowCount() > 1, timeout=PATIENCE)
    for shown, action in ((places, "copy-to"), (environments, "environment-use")):
        shown.setFocus()
        key(qtbot, shown, Qt.Key.Key_F10, Qt.KeyboardModifier.ShiftModifier)
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        assert window.actions_[action] in menu.actions()
        assert sum(not one.isSeparator() for one in menu.actions()) <= 15, "what is rare is inside"
        menu.close()


def test_the_chosen_place_is_seen_on_a_machine_that_is_late_and_until_somebody_scrolls(
    qtbot: QtBot, window: Window
) -> None:
    for number in range(40):
        window.places.add(f"/caches/number {number:02}")
    window.places_pane.choose("/caches/number 39")
    time.sleep(1.2)  # nothing has had its room by then
    settle(qtbot)
    shown = window.places_pane.list

    def is_seen() -> bool:
        box = shown.visualRect(window.places.index(window.places.row_of("/caches/number 39")))
        return shown.visibleRegion().contains(box.center())

    assert is_seen()
    window.places.add("/caches/one more")
    settle(qtbot)
    assert is_seen()
    scrolled = window.sidebar.area.verticalScrollBar()
    scrolled.triggerAction(scrolled.SliderAction.SliderToMinimum)
    window.places.add("/caches/the last")
    settle(qtbot)
    assert scrolled.value() == 0, "it stays where somebody has scrolled to"


def test_with_forty_places_the_chosen_one_is_seen(qtbot: QtBot, window: Window) -> None:
    for number in range(40):
        window.places.add(f"/caches/number {number:02}")
    window.places_pane.choose("/caches/number 39")
    settle(qtbot)
    shown = window.places_pane.list
    box = shown.visualRect(window.places.index(window.places.row_of("/caches/number 39")))
    assert shown.visibleRegion().contains(box.center())
    before = window.sidebar.area.verticalScrollBar().value()
    top = shown.visibleRegion().boundingRect().topLeft() + QPoint(40, 4)
    about = (Qt.DropAction.CopyAction, files("/x"), Qt.MouseButton.LeftButton,
             Qt.KeyboardModifier.NoModifier)  # fmt: skip
    QApplication.sendEvent(shown.viewport(), QDragEnterEvent(top, *about))
    QApplication.sendEvent(shown.viewport(), QDragMoveEvent(top, *about))
    assert window.sidebar.area.verticalScrollBar().value() < before, "a drag to the edge goes on"
    QApplication.sendEvent(shown.viewport(), QDragLeaveEvent())
    assert shown.height() == sum(
        shown.sizeHintForRow(row) for row in range(window.places.rowCount())
    )


# Drops, and the same by keys.


@pytest.mark.slow
def test_a_bundle_on_a_place_is_imported_into_it(qtbot: QtBot, window: Window) -> None:
    for place in (TEAM, FULL):
        window.places.add(place)
    window.places.add(samples.NIGHTLY, bundle=True)
    shown = window.places_pane.list
    said: list[str] = []
    shown.said.connect(said.append)
    bundle = files("/home/ada/new.torchcache")
    assert drop(shown.viewport(), spot(window, FULL), bundle)
    assert "Import new.torchcache into cache" in said[0]
    assert said[-1] == window.statusBar().currentMessage() == "", "it is done"
    qtbot.waitUntil(lambda: bool(window.findChildren(ImportDialog)), timeout=PATIENCE)
    (dialog,) = window.findChildren(ImportDialog)
    assert dialog.target.path == FULL, "rather than the one that is shown"
    dialog.reject()
    assert not drop(shown.viewport(), spot(window, samples.NIGHTLY), bundle)
    window.places.set_read_only(TEAM, True)
    assert not drop(shown.viewport(), spot(window, TEAM), bundle)
    assert any("is read-only" in text for text in said) and said[-1] == ""


def test_a_folder_on_a_place_is_for_the_whole_list(qtbot: QtBot, window: Window) -> None:
    window.places.add(FULL)
    settle(qtbot)
    shown, pages = window.places_pane.list, window.sidebar.pages
    index = window.places.index(window.places.row_of(FULL))
    doctor = pages.items.index(pages.items.row_of("doctor"))
    plain = [view.viewport().grab().toImage() for view in (shown, pages)]

    def aim(view: SideList, at: QModelIndex, *paths: str) -> Onto | None:
        """Drag over an item; what of the list takes it. The item is only ringed where it does."""
        spot = view.visualRect(at).center()
        about = (Qt.DropAction.CopyAction, files(*paths), Qt.MouseButton.LeftButton,
                 Qt.KeyboardModifier.NoModifier)  # fmt: skip
        QApplication.sendEvent(view.viewport(), QDragEnterEvent(spot, *about))
        QApplication.sendEvent(view.viewport(), QDragMoveEvent(spot, *about))
        assert view.aimed_at(at) is (view.aimed_onto is Onto.ITEM)
        return view.aimed_onto

    def words() -> str:
        return window.statusBar().currentMessage()

    assert aim(shown, index, "/home/ada/new.torchcache") is Onto.ITEM
    assert aim(shown, index, "/caches/a") is Onto.LIST
    assert words() == "Adds the folder a to the places"
    ringed = shown.viewport().grab().toImage()
    assert ringed != plain[0]
    accent = QColor(theme.shades().accent)
    for at in (QPoint(ringed.width() // 2, 1), QPoint(ringed.width() // 2, ringed.height() - 2)):
        assert ringed.pixelColor(at) == accent, "around the list"
    assert aim(shown, index, "/caches/a", "/caches/b") is Onto.LIST
    assert words() == "Adds 2 folders to the places"
    assert aim(shown, index, "/home/ada/x.toml") is Onto.ELSEWHERE, "it goes to the recipes"
    QApplication.sendEvent(shown.viewport(), QDragLeaveEvent())
    assert shown.aimed_onto is None and words() == ""
    assert shown.viewport().grab().toImage() == plain[0]
    assert aim(pages, doctor, "/caches/a") is Onto.ELSEWHERE
    assert words() == "Adds the folder a to the places"
    assert pages.viewport().grab().toImage() == plain[1]
    QApplication.sendEvent(pages.viewport(), QDragLeaveEvent())
    environments = window.more.environments.list
    qtbot.waitUntil(lambda: environments.items.rowCount() > 1, timeout=PATIENCE)
    assert aim(environments, environments.items.index(0), "/opt/new/bin/python") is Onto.LIST
    QApplication.sendEvent(environments.viewport(), QDragLeaveEvent())


@pytest.mark.slow
def test_the_same_from_the_clipboard(qtbot: QtBot, window: Window) -> None:
    window.places.add(FULL)
    window.places_pane.choose(FULL)
    shown = window.places_pane.list
    shown.setFocus()
    QGuiApplication.clipboard().setText("nothing of use")
    key(qtbot, shown, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert "no files, paths or addresses" in window.statusBar().currentMessage()
    QGuiApplication.clipboard().setText("/home/ada/new.torchcache\n")
    key(qtbot, shown, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: bool(window.findChildren(ImportDialog)), timeout=PATIENCE)
    (dialog,) = window.findChildren(ImportDialog)
    assert dialog.target.path == FULL
    dialog.reject()
    QGuiApplication.clipboard().setMimeData(files("/caches/a folder"))
    key(qtbot, shown, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: window.place == "/caches/a folder", timeout=PATIENCE)
    window.places_pane.fold.setFocus()
    QGuiApplication.clipboard().setText("redis://:hunter2@cache.example.org/0")
    key(qtbot, window.places_pane.fold, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert "hunter2" not in window.statusBar().currentMessage()
    assert "cache.example.org" in window.statusBar().currentMessage()


@pytest.mark.slow
def test_on_the_heading_a_bundle_is_opened_to_be_looked_at(qtbot: QtBot, window: Window) -> None:
    fold = window.places_pane.fold
    assert drop(fold, fold.rect().center(), files("/home/ada/seen.torchcache"), moves=False)
    assert window.statusBar().currentMessage() == ""
    qtbot.waitUntil(lambda: window.place == "/home/ada/seen.torchcache", timeout=PATIENCE)
    assert window.places_pane.place is not None and window.places_pane.place.bundle


def test_an_interpreter_on_the_environments_is_added(
    qtbot: QtBot, window: Window, engines: Dead
) -> None:
    shown = window.more.environments.list
    qtbot.waitUntil(lambda: shown.items.rowCount() > 1, timeout=PATIENCE)
    assert drop(shown.viewport(), QPoint(40, 10), files("/opt/new/bin/python"))

    def added() -> list[str]:
        return [more["add"] for function, _, more in engines.looked
                if function is lookups.interpreters and "add" in more]  # fmt: skip

    qtbot.waitUntil(lambda: added() == ["/opt/new/bin/python"], timeout=PATIENCE)
    assert not drop(shown.viewport(), QPoint(40, 10), files("/home/ada/new.torchcache"))
    fold = window.more.environments.fold
    fold.setFocus()
    QGuiApplication.clipboard().setText("~/venv")
    key(qtbot, fold, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: len(added()) == 2, timeout=PATIENCE)
    assert added()[1].endswith("/venv") and added()[1].startswith("/")


def test_what_a_page_is_for_can_be_dropped_on_it(
    qtbot: QtBot, window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    taking = window.sidebar.pages.offers
    assert taking is not None
    items = window.sidebar.pages.items
    recipe = Carried(("/home/ada/x.toml",))
    offer = taking(recipe, items.index(items.row_of(ENTRIES)))
    assert "list of recipes" in offer.text and offer.do is not None
    done: list[tuple[str, list[str]]] = []
    flows = window.flows
    monkeypatch.setattr(flows.recipes, "open_recipes", lambda some: done.append(("r", list(some))))
    settings = window.pages.of("settings")
    monkeypatch.setattr(settings, "open_files", lambda some: done.append(("s", list(some))))
    for ident, some in (("recipes", recipe), ("settings", Carried(("/home/ada/.env",)))):
        if items.row_of(ident) < 0:
            items.items.append(page_item(ident))
        offer = taking(some, items.index(items.row_of(ident)))
        assert offer.do is not None
        offer.do()
    qtbot.waitUntil(lambda: len(done) == 2, timeout=PATIENCE)
    assert sorted(done) == [("r", ["/home/ada/x.toml"]), ("s", ["/home/ada/.env"])]
    refused = taking(Carried(("/home/ada/x.torchcache",)), items.index(items.row_of("recipes")))
    assert refused.do is None and "not a recipe" in refused.text


def test_what_is_dragged_is_read_as_paths_and_addresses() -> None:
    assert carried(files("/a/b", "/c")) == Carried(("/a/b", "/c"))
    text = QMimeData()
    text.setText("'/with quotes'\nredis://host/1\nnothing\n~/x")
    found = carried(text)
    assert found is not None and found.servers == ("redis://host/1",)
    assert found.paths[0] == "/with quotes" and found.paths[1].endswith("/x")
    text.setText("only words")
    assert carried(text) is None and carried(None) is None
    away = QMimeData()
    away.setUrls([QUrl("https://example.org/x.torchcache")])
    assert carried(away) is None, "what is not on this machine cannot be read"


# Environments.


def row_of(shown: EnvironmentList, python: str) -> int:
    """The row of an interpreter, or -1."""
    return next((n for n, one in enumerate(shown.items._every) if one.python == python), -1)


def test_a_click_on_an_environment_has_verdicts_be_about_it(qtbot: QtBot, window: Window) -> None:
    shown, environments = window.more.environments.list, window.here.environments
    qtbot.waitUntil(lambda: shown.items.rowCount() == len(samples.interpreters()), timeout=PATIENCE)
    assert environments.chosen is not None and environments.chosen.python == samples.PYTHON
    row = row_of(shown, samples.OLD_PYTHON)
    press(qtbot, shown, row)
    assert environments.chosen.python == samples.OLD_PYTHON
    said = shown.items.index(row).data(Qt.ItemDataRole.AccessibleTextRole)
    assert said == f"torch 2.9.1+cu128, {samples.OLD_PYTHON}, used"
    shown.setFocus()
    key(qtbot, shown, Qt.Key.Key_Up)
    assert shown.current is not None and shown.current.python == samples.BROKEN_PYTHON
    window.update_now()
    assert window.actions_["environment-remove"].isEnabled()
    assert not window.actions_["environment-doctor"].isEnabled()
    key(qtbot, shown, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: row_of(shown, samples.BROKEN_PYTHON) < 0, timeout=PATIENCE)
    assert samples.BROKEN_PYTHON in window.undo_bar.text.text()
    click(qtbot, window.undo_bar.button)
    qtbot.waitUntil(lambda: row_of(shown, samples.BROKEN_PYTHON) >= 0, timeout=PATIENCE)
    window.actions_["environment-none"].trigger()
    assert environments.off and window.more.environments.note.isVisible()
    shown.setCurrentIndex(shown.items.index(row_of(shown, samples.PYTHON)))
    window.update_now()
    window.actions_["environment-use"].trigger()
    assert environments.chosen is not None and environments.chosen.python == samples.PYTHON
    window.actions_["environment-copy"].trigger()
    assert QGuiApplication.clipboard().text() == samples.PYTHON


def test_the_folder_of_an_environment_stands_for_its_interpreter(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, settings: QSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    python = tmp_path / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    window = open_window()
    window.here.environments.find()
    shown, fold = window.more.environments.list, window.more.environments.fold
    assert drop(fold, fold.rect().center(), files(tmp_path / "env"), moves=False)
    qtbot.waitUntil(lambda: row_of(shown, str(python)) >= 0, timeout=PATIENCE)
    assert interpreters.added() == [str(python)]


# The sidebar as a whole.


@pytest.mark.slow
def test_what_is_folded_and_hidden_stays_so(
    qtbot: QtBot, make: Callable[[], Window], settings: QSettings
) -> None:
    window = make()
    fold = window.places_pane.fold
    fold.setFocus()
    key(qtbot, fold, Qt.Key.Key_Left)
    assert not window.places_pane.list.isVisible() and "folded" in fold.accessibleName()
    key(qtbot, window, Qt.Key.Key_F9)
    assert not window.sidebar.isVisible()
    assert settings.value(FOLDED) in ("places", ["places"])
    again = make()
    assert again.sidebar.isHidden() and not again.places_pane.fold.isChecked()
    key(qtbot, again, Qt.Key.Key_F9)
    assert again.sidebar.isVisible() and again.sidebar.width() >= 200
    click(qtbot, again.places_pane.fold)
    assert again.places_pane.list.isVisible()


def test_every_part_is_in_the_tab_order(qtbot: QtBot, window: Window) -> None:
    window.sidebar.pages.setFocus()
    seen: list[str] = []
    for _ in range(7):
        at = QApplication.focusWidget()
        assert at is not None and at.accessibleName()
        seen.append(at.objectName())
        key(qtbot, at, Qt.Key.Key_Tab)
    assert seen[0] == "goto"
    assert [name for name in seen if name in ("places", "environments")] == [
        "places", "environments",
    ]  # fmt: skip
    assert seen.count("fold") == 2
