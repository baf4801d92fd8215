"""Clean up…: what is dead is ticked over all places, shown, moved to the trash, and comes back."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QSettings, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QMenu, QStyle, QStyleOptionViewItem, QWidget
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, idle, key, listed, settle
from tests.redis_server import dump, serving
from tests.snapshots import snapshot
from torchkeeper.client.engines import probes
from torchkeeper.client.words import say
from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.dialogs.cleaning import CleanDialog
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.pages.overview.page import OverviewPage
from torchkeeper.gui.verdicts.environments import KEY
from torchkeeper.gui.window import PAGE, Window
from torchkeeper.verdict.probed import Env

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def known(torch_python: str) -> Env:
    """What the interpreter with torch says."""
    return probes.probe(torch_python)


@pytest.fixture
def only_torch(known: Env, torch_python: str, monkeypatch: pytest.MonkeyPatch) -> Env:
    """The one environment there is; what it said is kept, so that nobody waits for it again."""
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", torch_python)
    # Of what is looked for there, only this interpreter and a server.
    redis = os.path.dirname(shutil.which("redis-server") or "")
    monkeypatch.setenv("PATH", os.pathsep.join((os.path.dirname(torch_python), redis)))
    probes.keep(probes.identity(torch_python), known)
    return known


@pytest.fixture
def two(two: list[Path]) -> list[Path]:
    for place in two:
        age(place, 2)
    return two


def age(place: Path, days: float) -> None:
    then = time.time() - days * 86_400
    for path in place.rglob("*"):
        os.utime(path, (then, then))


def graphs(place: Path) -> int:
    return sum(path.is_file() for path in (place / "fxgraph").rglob("*"))


def dialog_of(window: Window) -> CleanDialog:
    (dialog,) = (one for one in window.findChildren(CleanDialog) if one.isVisible())
    return dialog


def opened(qtbot: QtBot, window: Window) -> CleanDialog:
    """The dialog, once all is known."""
    window.actions_["clean-up"].trigger()
    dialog = dialog_of(window)
    told(qtbot, dialog)
    return dialog


def told(qtbot: QtBot, dialog: CleanDialog) -> None:
    settle(qtbot)
    found = dialog.found
    qtbot.waitUntil(lambda: not (found.unknown or found.asking), timeout=PATIENCE)
    settle(qtbot)


def counts(dialog: CleanDialog) -> dict[str, str]:
    """What is said of each reason, over all places."""
    return {reason: line.text(1) for reason, line in dialog.lines.heads.items()}


def tick(
    qtbot: QtBot, dialog: CleanDialog, reason: str, place: Path | str = "", wait: bool = True
) -> None:
    """Click a box, as a user does."""
    line = dialog.lines.lines[reason, str(place)] if place else dialog.lines.heads[reason]
    dialog.lines.scrollToItem(line)
    option, index = QStyleOptionViewItem(), dialog.lines.indexFromItem(line)
    option.features |= QStyleOptionViewItem.ViewItemFeature.HasCheckIndicator
    option.index = index
    option.rect = dialog.lines.visualItemRect(line)
    option.widget = dialog.lines
    part = QStyle.SubElement.SE_ItemViewItemCheckIndicator
    box = dialog.lines.style().subElementRect(part, option, dialog.lines)
    click(qtbot, dialog.lines.viewport(), box.center())
    if wait:
        told(qtbot, dialog)


def preview(qtbot: QtBot, dialog: CleanDialog, reason: str, place: Path | str) -> PurgeDialog:
    dialog.lines.setCurrentItem(dialog.lines.lines[reason, str(place)])
    click(qtbot, dialog.shows)
    assert dialog.preview is not None
    shown = dialog.preview
    qtbot.waitUntil(lambda: shown.plan is not None, timeout=PATIENCE)
    return shown


class Clicks(QObject):
    """Counts what is pressed with the mouse, anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.count: set[int] = set()
        self.keys = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(watched, QWidget):
            if isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseButtonPress:
                self.count.add(event.timestamp())  # it may go through several widgets
            self.keys += event.type() == QEvent.Type.KeyPress
        return False


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_all_places_are_cleaned_with_three_clicks_and_come_back(
    qtbot: QtBot, open_window: OpenWindow, two: list[Path], only_torch: Env, torch_python: str,
    settings: QSettings,
) -> None:  # fmt: skip
    settings.setValue(KEY, torch_python)
    before = [snapshot(place) for place in two]
    window = open_window()
    page = window.show_page("overview")
    assert isinstance(page, OverviewPage)
    card = page.reclaiming.cards["stale"]
    qtbot.waitUntil(lambda: card.bytes.text() != "" and not page.looking.running)
    clicks = Clicks()
    app = QApplication.instance()
    assert app is not None
    app.installEventFilter(clicks)
    click(qtbot, card.go)
    dialog = dialog_of(window)
    size, at = dialog.size(), dialog.go.mapTo(dialog, QPoint())
    told(qtbot, dialog)
    assert counts(dialog)["stale"] == "18 entries"
    assert dialog.lines.heads["stale"].text(2) == card.bytes.text()
    assert counts(dialog)["needless"] == "29 entries"
    tick(qtbot, dialog, "orphan")
    assert (dialog.size(), dialog.go.mapTo(dialog, QPoint())) == (size, at), "nothing moved"
    plans = dialog.found.plans
    whole = sum(plan["bytes"] for plan in plans.values())
    assert dialog.total.text() == f"Moves {say.on_disk(whole)} to the trash: 47 entries in 2 places"
    click(qtbot, dialog.go)
    app.removeEventFilter(clicks)
    assert (len(clicks.count), clicks.keys) == (3, 0)
    idle(qtbot, window)
    assert sorted(job.result["entries"] for job in window.jobs.jobs) == [7, 40]
    assert {job.title for job in window.jobs.jobs} == {f"Clean up {place.name}" for place in two}
    assert sum(job.result["bytes"] for job in window.jobs.jobs) == whole
    for place in two:
        assert not graphs(place)
    assert window.undo_bar.isVisible()
    assert window.undo_bar.text.text() == f"47 entries, {say.on_disk(whole)} moved to the trash"
    # The trash of all of them is emptied as one.
    trash = page.reclaiming.cards["trash"]
    qtbot.waitUntil(lambda: "2 places" in trash.text.text(), timeout=PATIENCE)
    click(qtbot, trash.go)
    (menu,) = trash.findChildren(QMenu)
    every, *each = menu.actions()
    assert every.text() == f"All places: {say.on_disk(whole)}" and len(each) == 2
    menu.close()
    every.trigger()
    (asking,) = (x for x in window.findChildren(ConfirmDialog) if x.isVisible())
    assert asking.question.text() == "Delete 47 entries for good?"
    asking.reject()
    # And so by the menu and the palette, whichever place the sidebar has.
    window.places_pane.choose(str(two[0]))
    listed(qtbot, window, two[0])
    qtbot.waitUntil(window.actions_["empty-trash"].isEnabled)
    window.actions_["empty-trash"].trigger()
    (asking,) = (x for x in window.findChildren(ConfirmDialog) if x.isVisible())
    assert asking.question.text() == "Delete 47 entries for good?"
    asking.reject()
    # The menu of a place is about that one.
    for action, asked in (("empty-trash", ConfirmDialog), ("clean-up", CleanDialog)):
        view = window.places_pane.list
        view.customContextMenuRequested.emit(QPoint(2, 2))
        shown = QApplication.activePopupWidget()
        assert isinstance(shown, QMenu)
        shown.setActiveAction(window.actions_[action])
        key(qtbot, shown, Qt.Key.Key_Return)
        (of_one,) = (x for x in window.findChildren(asked) if x.isVisible())
        if isinstance(of_one, ConfirmDialog):
            assert of_one.question.text() == "Delete 40 entries for good?"
        elif isinstance(of_one, CleanDialog):
            assert [place for place, ticks in of_one.found.ticks.items() if ticks] == [str(two[0])]
        of_one.reject()
        settle(qtbot)
    # The key does what the bar shows: of all places.
    window.flows.undo()
    idle(qtbot, window)
    assert [snapshot(place) for place in two] == before


def test_one_place_by_its_menu_and_the_others_have_their_figures_beside_it(
    qtbot: QtBot, open_window: OpenWindow, two: list[Path], only_torch: Env, settings: QSettings
) -> None:
    settings.setValue(PAGE, "entries")
    whole, half = two
    header = whole / "precompiled_headers" / ("c" * 52 + ".h.gch")
    header.parent.mkdir()
    header.write_bytes(bytes(2_000_000))
    window = open_window(whole)
    dialog = opened(qtbot, window)
    kept = [dialog.lines.headers.text(column) for column in range(3)]
    assert kept == ["Precompiled headers", "Stay for new C++ code", "2.0 MB"]
    # What is seen adds up: no line of a place with nothing is between what goes.
    seen = [of for of, line in dialog.lines.lines.items() if not line.isHidden()]
    reasons = ("stale", "needless")
    assert seen == [(x, str(y)) for x in reasons for y in two if (x, y) != ("needless", half)]
    # The line of a reason has entries to show where something goes for it, and else none.
    for reason, some in (("broken", False), ("stale", True)):
        dialog.lines.setCurrentItem(dialog.lines.heads[reason])
        assert dialog.shows.isEnabled() is some, reason
    click(qtbot, dialog.shows)
    assert dialog.preview is not None and dialog.preview.windowTitle() == "What goes"
    dialog.preview.reject()
    told(qtbot, dialog)
    assert counts(dialog) == {
        "stale": "11 entries", "broken": "Nothing", "orphan": "Nothing", "unused": "",
        "budget": "", "needless": "29 entries",
    }  # fmt: skip
    assert dialog.lines.lines["stale", str(half)].text(1) == "7 entries more"
    assert "Other places hold 7 entries, " in dialog.about.text()
    # A click ticks all, and another the first alone.
    for every in (True, False):
        click(qtbot, dialog.every, QPoint(8, dialog.every.height() // 2))
        told(qtbot, dialog)
        assert dialog.every.isChecked() is every
        assert counts(dialog)["stale"] == ("18 entries" if every else "11 entries")
    assert f"torch {only_torch['torch']}" in dialog.about.text()
    tick(qtbot, dialog, "stale", half)
    assert counts(dialog)["stale"] == "18 entries"
    tick(qtbot, dialog, "stale", half)
    # What is not ticked says how much more it is, which a tick then adds; nothing moves.
    dialog.days.setValue(1)
    told(qtbot, dialog)
    at = dialog.in_use.mapTo(dialog, QPoint())
    more = dialog.lines.lines["unused", str(whole)].text(1)
    assert more.endswith(" more") and counts(dialog)["unused"].endswith(" more")
    tick(qtbot, dialog, "unused", whole)
    assert dialog.found.plans[str(whole)]["entries"] == 40 + int(more.split()[0])
    assert dialog.in_use.mapTo(dialog, QPoint()) == at
    tick(qtbot, dialog, "unused", whole)
    dialog.days.setValue(30)
    told(qtbot, dialog)
    shown = preview(qtbot, dialog, "stale", whole)
    assert shown.model.total == 40
    assert "11 entries stale everywhere" in shown.text.text()
    assert dialog.total.text().startswith(f"Moves {say.measured(dialog.found.plans[str(whole)])}")
    assert not (shown.go.isVisible() or shown.at_once.isVisible())
    # However often it is looked at, the plan stays.
    click(qtbot, shown.cancel)
    for _ in range(5):
        told(qtbot, dialog)
        click(qtbot, preview(qtbot, dialog, "stale", whole).cancel)
    told(qtbot, dialog)
    click(qtbot, dialog.go)
    assert not dialog.isVisible()
    idle(qtbot, window)
    qtbot.waitUntil(lambda: window.entries.total == 4, timeout=PATIENCE)
    assert header.exists()
    assert (graphs(whole), graphs(half)) == (0, 7)


def test_enter_on_a_line_moves_what_is_ticked_and_opens_nothing_else(
    qtbot: QtBot, open_window: OpenWindow, two: list[Path], only_torch: Env, settings: QSettings
) -> None:
    settings.setValue(PAGE, "entries")
    window = open_window(two[0])
    dialog = opened(qtbot, window)
    dialog.lines.setFocus()
    qtbot.keyClick(dialog.lines, Qt.Key.Key_Return)  # type: ignore[no-untyped-call]
    assert dialog.preview is None and not dialog.isVisible()
    idle(qtbot, window)
    assert not graphs(two[0])


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_nothing_goes_is_never_all_that_is_said_where_others_hold_something(
    qtbot: QtBot, open_window: OpenWindow, two: list[Path], only_torch: Env, settings: QSettings,
    tmp_path: Path,
) -> None:  # fmt: skip
    settings.setValue(PAGE, "entries")
    empty, same = tmp_path / "empty", tmp_path / "deeper" / "half"
    empty.mkdir()
    shutil.copytree(two[1], same)
    window = open_window(empty)
    window.places.add(str(same))
    assert window.actions_["clean-up"].isEnabled()
    dialog = opened(qtbot, window)
    assert dialog.total.text().startswith("Nothing goes; other places hold 54 entries, ")
    assert not dialog.every.isChecked() and not dialog.go.isEnabled()
    names = {dialog.lines.lines["stale", str(place)].text(0) for place in (two[1], same)}
    assert names == {f"{tmp_path.name}/half", "deeper/half"}
    click(qtbot, dialog.every, QPoint(8, dialog.every.height() // 2))
    told(qtbot, dialog)
    assert dialog.total.text().endswith(": 54 entries in 3 places")
    dialog.reject()
    # Where the place that is shown is gone, it is about all others.
    empty.rmdir()
    window.refresh()
    qtbot.waitUntil(lambda: window.listing.error is not None, timeout=PATIENCE)
    settle(qtbot)
    assert window.actions_["clean-up"].isEnabled()
    dialog = opened(qtbot, window)
    # Those of the sidebar are told apart, too, though nothing can go of them.
    assert f"{tmp_path.name}/half" in dialog.lines.lines["stale", str(two[1])].text(0)
    assert dialog.every.isChecked()
    assert dialog.total.text().endswith(": 54 entries in 3 places")
    # Of several places a reason's line asks which.
    dialog.lines.setCurrentItem(dialog.lines.heads["stale"])
    click(qtbot, dialog.shows)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu) and len(menu.actions()) == 3
    menu.close()
    dialog.reject()


@pytest.mark.slow
def test_days_and_budget_count_at_once_and_are_remembered(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, only_torch: Env
) -> None:
    age(fixture_cache, 10)
    place = str(fixture_cache)
    window = open_window(fixture_cache)
    dialog = opened(qtbot, window)
    looked = dialog.found.looks[place].result
    assert looked is not None
    dialog.days.setValue(9)
    dialog.budget.setValue(1)
    dialog.unit.setCurrentText("MB")
    tick(qtbot, dialog, "unused", wait=False)
    assert not dialog.go.isEnabled(), "until it is counted"
    told(qtbot, dialog)
    assert dialog.lines.heads["unused"].text(0) == "Unused for 9 days"
    assert counts(dialog)["stale"] == "11 entries"
    assert counts(dialog)["unused"] == "33 entries", "the first reason counts"
    for reason in ("stale", "broken", "orphan", "unused"):
        tick(qtbot, dialog, reason)
    assert dialog.total.text() == "Nothing goes"
    assert not dialog.go.isEnabled()
    tick(qtbot, dialog, "budget")
    assert dialog.found.looks[place].result == looked, "it looked once"
    plan = dialog.found.plans[place]
    assert looked["bytes"] - plan["bytes"] <= 10**6
    dialog.reject()
    again = opened(qtbot, window)
    assert (again.days.value(), again.budget.value(), again.unit.currentText()) == (9, 1, "MB")
    again.reject()


@pytest.mark.slow
def test_what_cannot_be_cleaned_is_listed_with_the_reason_and_holds_up_nothing(
    qtbot: QtBot, open_window: OpenWindow, two: list[Path], only_torch: Env, tmp_path: Path
) -> None:
    _, half = two
    held, within, gone = tmp_path / "held", half / "inductor_cache", tmp_path / "gone"
    for folder in (held, within, gone):
        shutil.copytree(half / "fxgraph", folder / "fxgraph")
        age(folder, 2)
    window = open_window()
    for folder in (held, within, gone):
        window.places.add(str(folder))
    window.discovery.protect(str(held), True)
    qtbot.waitUntil(lambda: window.places.read_only(str(held)), timeout=PATIENCE)
    away = gone.with_name("away")
    gone.rename(away)
    dialog = opened(qtbot, window)
    left = dialog.lines.left
    lines = [left.child(at) for at in range(left.childCount())]
    said = sorted(line.text(0) for line in lines if line is not None)
    assert said == [
        f"gone: There is no folder {gone}.",
        f"held: {held} is read-only.",
        f"inductor_cache: {within} lies in {half}.",
    ]
    assert dialog.lines.lines["stale", str(within)].isDisabled()
    assert counts(dialog)["stale"] == "25 entries", "what lies in another counts once"
    away.rename(gone)
    dialog.reject()
    window.discovery.refresh()
    qtbot.waitUntil(lambda: all(one.exists for one in window.places.places if one.added))
    dialog = opened(qtbot, window)
    assert counts(dialog)["stale"] == "32 entries"
    # One place that fails holds up no other.
    half.rename(half.with_name("elsewhere"))
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert window.error_bar.error is not None
    assert sorted(job.result.get("entries", 0) for job in window.jobs.jobs) == [0, 7, 40]
    # To leave while it looks leaves nothing behind (nothing_survives).
    window.actions_["clean-up"].trigger()
    dialog_of(window).reject()


@pytest.mark.parametrize("does", ["exit 1", "exec sleep 60"], ids=["ends", "hangs"])
@pytest.mark.slow
def test_an_environment_that_cannot_be_asked(
    does: str,
    qtbot: QtBot,
    open_window: OpenWindow,
    fixture_cache: Path,
    only_torch: Env,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    age(fixture_cache, 2)
    python = tmp_path / "sick" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{does}\n")
    python.chmod(0o755)
    torch = tmp_path / "sick/lib/python3.11/site-packages/torch/version.py"
    torch.parent.mkdir(parents=True)
    torch.touch()  # one without any could not be an environment
    monkeypatch.setattr(probes, "LIMIT", 0.4)
    monkeypatch.setenv("VIRTUAL_ENV", str(python.parent.parent))
    window = open_window(fixture_cache)
    dialog = opened(qtbot, window)
    assert counts(dialog)["stale"] == "Not known"
    assert not dialog.go.isEnabled()
    assert dialog.sick.isVisible()
    click(qtbot, dialog.sick.button)
    told(qtbot, dialog)
    assert counts(dialog)["stale"] == "11 entries"
    assert not dialog.sick.isVisible()
    assert f"not counted: {python}" in dialog.about.text()
    dialog.reject()
    again = opened(qtbot, window)
    assert counts(again)["stale"] == "11 entries"
    assert f"not counted: {python}" in again.about.text()
    again.reject()


@pytest.mark.slow
def test_a_server_is_ticked_by_itself_and_asks_once_more(
    qtbot: QtBot, open_window: OpenWindow, two: list[Path], only_torch: Env, tmp_path: Path
) -> None:
    with serving(tmp_path) as server:
        server.load(dump())
        window = open_window()
        window.places.add(server.url)
        dialog = opened(qtbot, window)
        line = dialog.lines.lines["stale", server.url]
        assert "(no trash)" in line.text(0)
        assert counts(dialog)["stale"] == "18 entries"
        for _ in range(2):
            tick(qtbot, dialog, "stale")
        assert server.url not in dialog.found.plans, "the tick of a reason leaves it alone"
        tick(qtbot, dialog, "stale", server.url)
        assert counts(dialog)["stale"] == "29 entries"
        assert "Others may use this server" in dialog.about.text()
        assert dialog.go.text() == "&Move to trash…"
        click(qtbot, dialog.go)
        (question,) = dialog.findChildren(ConfirmDialog)
        assert question.question.text() == "Remove 11 entries for good?"
        assert "cannot be undone" in question.detail.text()
        question.go.click()
        idle(qtbot, window)
        assert server("DBSIZE") == len(dump()) - 11
        assert window.undo_bar.text.text().startswith("47 entries")
