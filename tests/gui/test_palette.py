"""The command palette: everything by its name, with nothing but keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QSettings, Qt
from PySide6.QtGui import QAccessible
from pytestqt.qtbot import QtBot

from tests.gui.conftest import click, key, sample_window, settle, type_in
from tests.shots import samples
from tests.shots.sample_engines import SampleEngines
from torchkeeper.gui import theme
from torchkeeper.gui.actions import ACTIONS, HELD, Situation, spec
from torchkeeper.gui.chrome.palette import Palette, rank, why_off
from torchkeeper.gui.pages import ENTRIES, PAGES
from torchkeeper.gui.pages.recipes.known import name_of
from torchkeeper.gui.verdicts.environments import KEY
from torchkeeper.gui.window import Window
from torchkeeper.settings.known import SETTINGS
from torchkeeper.stores.names import scheme_of

BUILTIN = name_of("builtin")
CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def window(qtbot: QtBot, settings: QSettings) -> Iterator[Window]:
    """The window over the samples, ready, with the keyboard in the table."""
    engines = SampleEngines()
    settings.setValue(KEY, samples.PYTHON)
    with sample_window(qtbot, settings, engines, 1200, 800) as made:
        made.table.setFocus()
        made.table.go_to_row(0)
        settle(qtbot)
        yield made


def opened(qtbot: QtBot, window: Window, typed: str = "") -> Palette:
    """It, opened by its key, with recipes and profiles looked up; ``typed``: what is sought."""
    at = window.focusWidget()
    assert at is not None
    key(qtbot, at, Qt.Key.Key_K, CONTROL)
    shown = window.palette_
    assert shown.isVisible() and shown.field.hasFocus()
    assert shown.field.text() == ""
    settle(qtbot)
    type_in(qtbot, shown.field, typed)
    return shown


def names(shown: Palette) -> list[str]:
    return [pick.name for pick in shown.list.picks]


def test_words_in_any_order_rank_beginnings_before_middles() -> None:
    assert rank([], "Purge selected…", "Cache") == 0
    assert rank(["purge"], "Purge selected…", "") == 0
    assert rank(["selected", "purge"], "Purge selected…", "") == 1
    assert rank(["pur"], "Undo purge", "") == 1
    assert rank(["rge"], "Undo purge", "") == 10
    assert rank(["graph"], "TORCHINDUCTOR_FX_GRAPH_CACHE", "Setting") == 1
    assert rank(["fx_graph"], "TORCHINDUCTOR_FX_GRAPH_CACHE", "Setting") == 10
    assert rank(["theme", "dark"], "Dark", "View › Theme") == 100
    assert rank(["purge", "bundle"], "Purge selected…", "Cache") is None
    assert rank(["bundle"], "Export…", "File", "Write the entries to a bundle file") == 1000


def test_it_has_everything_and_shows_keys(qtbot: QtBot, window: Window) -> None:
    shown = opened(qtbot, window)
    qtbot.waitUntil(lambda: BUILTIN in names(shown), timeout=20_000)
    every = names(shown)
    for one in ACTIONS:
        if one.id not in ("palette", "undo"):
            assert one.text.replace("&", "") in every, one.id
    assert {"Dark", "Kind", "Reset columns"} <= set(every), "and what only menus have"
    assert {one.name for one in SETTINGS} <= set(every)
    assert {place.title for place in window.places.places} <= set(every)
    abouts = [pick.about for pick in shown.list.picks]
    for env in window.here.environments.every:
        assert f"Environment · {env.python}" in abouts
    keys = {pick.name: pick.right for pick in shown.list.picks}
    assert keys["Export…"] == "Ctrl+E" and keys["Quit"] == "Ctrl+Q"
    key(qtbot, shown.field, Qt.Key.Key_Escape)


def test_keys_alone_find_and_do_it(qtbot: QtBot, window: Window) -> None:
    shown = opened(qtbot, window, "hea")
    assert names(shown)[0] == "Health" and shown.list.current is shown.list.picks[0]
    key(qtbot, shown.field, Qt.Key.Key_Return)
    assert not shown.isVisible()
    assert window.pages.current == "doctor"
    shown = opened(qtbot, window, "dark the")
    assert names(shown)[0] == "Dark"
    key(qtbot, shown.field, Qt.Key.Key_Enter)
    assert theme.shades().dark
    opened(qtbot, window, "light theme")
    key(qtbot, shown.field, Qt.Key.Key_Return)
    assert not theme.shades().dark
    for ident in PAGES:
        opened(qtbot, window, spec(ident).text.replace("&", ""))
        key(qtbot, shown.field, Qt.Key.Key_Return)
        assert window.pages.current == ident


def test_arrows_move_and_escape_gives_the_keyboard_back(qtbot: QtBot, window: Window) -> None:
    shown = opened(qtbot, window)
    for which, row in (
        (Qt.Key.Key_Up, 0), (Qt.Key.Key_Down, 1), (Qt.Key.Key_Tab, 2), (Qt.Key.Key_Backtab, 1),
        (Qt.Key.Key_PageDown, None), (Qt.Key.Key_PageUp, 1),
    ):  # fmt: skip
        key(qtbot, shown.field, which)
        assert shown.field.hasFocus()
        now = shown.list.currentIndex().row()
        assert now == row if row is not None else now > 5
    key(qtbot, shown.field, Qt.Key.Key_Escape)
    assert not shown.isVisible()
    assert window.table.hasFocus()
    window.head.box.setFocus()
    shown = opened(qtbot, window)
    assert shown.list.currentIndex().row() == 0, "it begins anew"
    click(qtbot, shown, QPoint(4, shown.height() - 4))
    assert not shown.isVisible(), "a click beside it leaves it"
    assert window.head.box.hasFocus()
    # So it is where nothing is found.
    shown = opened(qtbot, window, "qqqq")
    assert shown.none.isVisible()
    for which in (Qt.Key.Key_Down, Qt.Key.Key_Tab, Qt.Key.Key_Return):
        key(qtbot, shown.field, which)
        assert shown.field.hasFocus()
    key(qtbot, shown.field, Qt.Key.Key_Escape)
    assert not shown.isVisible() and window.head.box.hasFocus()


def test_a_click_takes_a_line(qtbot: QtBot, window: Window) -> None:
    shown = opened(qtbot, window, "runs")
    at = shown.list.visualRect(shown.list.model().index(0, 0)).center()
    click(qtbot, shown.list.viewport(), at)
    assert window.pages.current == "runs"


def test_places_recipes_and_settings_are_gone_to(qtbot: QtBot, window: Window) -> None:
    other = next(one for one in window.places.places if one.path != window.place)
    shown = opened(qtbot, window, f"place {other.title}")
    assert shown.list.current is not None
    key(qtbot, shown.field, Qt.Key.Key_Return)
    assert (window.place, window.pages.current) == (other.path, ENTRIES)
    opened(qtbot, window, BUILTIN)
    qtbot.waitUntil(lambda: bool(names(shown)), timeout=20_000)
    key(qtbot, shown.field, Qt.Key.Key_Return)
    page: Any = window.pages.page
    qtbot.waitUntil(lambda: page.selected() == ["builtin"], timeout=20_000)
    opened(qtbot, window, SETTINGS[3].name)
    key(qtbot, shown.field, Qt.Key.Key_Return)
    assert window.pages.current == "settings"
    settings: Any = window.pages.page

    def gone_to() -> bool:
        item = settings._origins and settings.origins.tree.currentItem()
        return bool(item) and SETTINGS[3].name in item.text(0)

    qtbot.waitUntil(gone_to, timeout=20_000)


def test_what_is_off_says_why_and_is_not_done(qtbot: QtBot, window: Window) -> None:
    window.table.clearSelection()
    window.update_now()
    shown = opened(qtbot, window, "purge selected")
    [pick] = [one for one in shown.list.picks if one.name == "Purge selected…"]
    assert pick.off and pick.about == "Cache · Select the entries for it first"
    assert shown.list.current is pick
    key(qtbot, shown.field, Qt.Key.Key_Return)
    assert shown.isVisible(), "nothing happens"
    # What can be done comes first, and is found by what is said of it, too.
    for typed, first in (
        ("server", "Add server or machine…"), ("record", "Run a program…"),
        ("disk space", "Clean up…"),
    ):  # fmt: skip
        shown.field.clear()
        type_in(qtbot, shown.field, typed)
        assert names(shown)[0] == first
    shown.field.clear()
    type_in(qtbot, shown.field, "xyzzy")
    assert names(shown) == [] and "Nothing" in shown.none.text()
    key(qtbot, shown.field, Qt.Key.Key_Return)
    assert shown.isVisible()
    key(qtbot, shown.field, Qt.Key.Key_Escape)


@pytest.mark.parametrize(
    ("ident", "now", "why"),
    [
        ("purge", Situation(page="doctor"), "Go to the entries first"),
        ("purge", Situation(place=True, place_is_folder=True), "Select the entries for it first"),
        ("purge", Situation(place=True, place_is_bundle=True, selected=1),
         "Not available for this place"),
        ("purge", Situation(place=True, place_is_folder=True, selected=1, read_only=True), HELD),
        ("compare-two", Situation(selected=1), "Select the entries for it first"),
        ("export", Situation(place=True), "No entries are shown"),
        ("server", Situation(place=True, place_is_folder=True), "Not available for this place"),
        ("undo", Situation(place=True, place_is_folder=True), "There is nothing to undo"),
        ("verify", Situation(), "Not available for this place"),
        ("only-stale", Situation(), "Choose a place first"),
        ("place-folder", Situation(place=True, scheme=scheme_of("redis://h")),
         "Not available for this place"),
        ("back", Situation(), "There is no such page"),
        ("show-log", Situation(), "Not available for the chosen job"),
        ("environment-doctor", Situation(), "Select an environment with torch in the sidebar"),
        ("environment-use", Situation(environment=True, environment_used=True),
         "Not available for the selected environment"),
    ],
)  # fmt: skip
def test_why_an_action_is_off(ident: str, now: Situation, why: str) -> None:
    assert not spec(ident).when(now) or now.page != ENTRIES
    assert why_off(spec(ident), now) == why


def test_every_action_that_is_off_at_first_says_why() -> None:
    for now in (Situation(), Situation(place=True, place_is_folder=True), Situation(place=True)):
        silent = [one.id for one in ACTIONS if not one.when(now) and not why_off(one, now)]
        assert silent == []


def test_a_screen_reader_hears_the_line(
    qtbot: QtBot, window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(QAccessible, "isActive", lambda: True)
    monkeypatch.setattr(QAccessible, "updateAccessibility", lambda event: said.append(
        event.message() if event.type() == QAccessible.Event.Announcement else ""))  # fmt: skip
    shown = opened(qtbot, window, "export")
    assert said[-1].startswith("Export…, File") and said[-1].endswith("Ctrl+E")
    assert shown.field.accessibleName() and shown.list.accessibleName()
    assert "Escape" in shown.field.accessibleDescription()
    index = shown.list.model().index(0, 0)
    role = Qt.ItemDataRole.AccessibleTextRole
    assert index.data(role) == said[-1]
    key(qtbot, shown.field, Qt.Key.Key_Escape)


def test_it_fits_the_smallest_window(qtbot: QtBot, window: Window) -> None:
    window.resize(window.minimumSizeHint())
    shown = opened(qtbot, window)
    assert window.rect().contains(shown.box.geometry())
    assert shown.list.viewport().height() > 4 * shown.list.sizeHintForRow(0)
    window.resize(1300, 900)
    assert shown.geometry() == window.rect(), "it follows the window"
    before = shown.box.geometry()
    type_in(qtbot, shown.field, "zzz")
    settle(qtbot)
    assert shown.box.geometry() == before, "and does not move while one types"
    key(qtbot, shown.field, Qt.Key.Key_Escape)


def test_a_page_that_takes_the_keyboard_does_not_close_it(qtbot: QtBot, window: Window) -> None:
    shown = opened(qtbot, window)
    window.head.box.setFocus()  # as a page does whose rows have come
    qtbot.waitUntil(shown.field.hasFocus, timeout=20_000)
    assert shown.isVisible()
    key(qtbot, shown.field, Qt.Key.Key_Escape)
    assert window.head.box.hasFocus()
    opened(qtbot, window)
    key(qtbot, shown.field, Qt.Key.Key_F, CONTROL)
    assert not shown.isVisible(), "another key of the window goes elsewhere"
