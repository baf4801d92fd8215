"""What the window can do about an error is a button beside its words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QPlainTextEdit
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, click, everything, sample_window, settle
from tests.shots import samples
from tests.shots.sample_engines import SampleEngines
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.actions import ACTIONS
from torchkeeper.gui.dialogs.about import BugDialog
from torchkeeper.gui.dialogs.environments import EnvironmentsDialog
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.dialogs.serverpage import PasswordDialog
from torchkeeper.gui.dialogs.warming import WarmDialog
from torchkeeper.gui.pages.doctor.page import DoctorPage
from torchkeeper.gui.remedies import LABELS, REMEDIES
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.gui.window import PAGE, Window

#: Whose words are made where it is found.
OWN = {"partly-unreadable", "engine-gone", "no-bundle"}
SERVER = "redis://cache.example.org:6379/0"


@pytest.fixture
def engines() -> SampleEngines:
    return SampleEngines()


@pytest.fixture
def window(qtbot: QtBot, settings: QSettings, engines: SampleEngines) -> Iterator[Window]:
    """The window over the samples."""
    settings.setValue(PAGE, "entries")
    with sample_window(qtbot, settings, engines, 1640, 900) as made:
        yield made


def names(window: Window) -> list[str]:
    """What the buttons of the error bar say."""
    return [button.text() for button in window.error_bar.remedies.buttons]


def test_the_table_names_what_there_is() -> None:
    known = {spec.id for spec in ACTIONS}
    for code, actions in REMEDIES.items():
        assert code in {*CATALOGUE, *OWN}, code
        assert set(actions) <= known, code
        assert 1 <= len(actions) <= 2, code
    assert set(LABELS) <= known
    # A button is only where words say what it does.
    words = {code: CATALOGUE[code] for code in REMEDIES if code not in OWN}
    silent = [code for code, said in words.items() if not (said.remedy or said.why)]
    assert silent == []


def test_a_place_may_be_changed_again(qtbot: QtBot, window: Window) -> None:
    error = user_error("place-protected", {"place": samples.PLACE})
    window.error_bar.tell(error)
    assert names(window) == [], "it is not read-only"
    window.discovery.protect(samples.PLACE, True)
    settle(qtbot)
    window.error_bar.tell(error)
    assert names(window) == ["Allow changes"]
    [button] = window.error_bar.remedies.buttons
    assert button.accessibleName() == "Allow changes" and button.isVisible()
    click(qtbot, button)
    qtbot.waitUntil(lambda: not window.places.read_only(samples.PLACE), timeout=PATIENCE)


def test_what_is_about_another_place_has_no_button(qtbot: QtBot, window: Window) -> None:
    window.error_bar.tell(user_error("disk-full", {"place": samples.PLACE}))
    assert names(window) == ["Empty trash…", "Clean up…"]
    window.error_bar.tell(user_error("disk-full", {"place": "/data/else"}))
    assert names(window) == [] and window.error_bar.remedies.isHidden()
    window.error_bar.tell(user_error("engine-bug", {}))
    assert names(window) == []


def test_what_is_broken_is_purged_from_the_inspector(qtbot: QtBot, window: Window) -> None:
    window.inspector_frame.show()
    broken = next(entry for entry in everything(window.entries) if entry.problem)
    window.table.select({broken.identity})
    notice = window.inspector.problem
    qtbot.waitUntil(notice.isVisible, timeout=PATIENCE)
    [button] = notice.remedies.buttons
    assert button.text() == "Purge…"
    click(qtbot, button)
    [dialog] = window.findChildren(PurgeDialog)
    dialog.reject()
    # Its list is to be read again, besides trying once more.
    window.inspector.notice.tell(user_error("entry-gone", {"path": broken.path}), again=True)
    said = [one.text() for one in window.inspector.notice.remedies.buttons]
    assert said == ["Refresh"]


@pytest.mark.slow
def test_a_dialog_is_closed_before_something_else_is_shown(qtbot: QtBot, window: Window) -> None:
    dialog = window.flows.warm()
    notice = dialog.findChildren(Notice)[0]
    notice.tell(user_error("torch-missing", {"python": samples.PYTHON}), again=True)
    said = [button.text() for button in notice.remedies.buttons]
    assert said == ["Environments…", "Add interpreter…"]
    notice.tell(user_error("place-stuck", {"place": samples.PLACE}))
    assert notice.remedies.buttons == [], "it is about the window behind"
    notice.tell(user_error("torch-missing", {"python": samples.PYTHON}))
    notice.remedies.buttons[0].click()
    qtbot.waitUntil(lambda: bool(window.findChildren(EnvironmentsDialog)), timeout=PATIENCE)
    assert not [one for one in window.findChildren(WarmDialog) if one.isVisible()]
    window.findChildren(EnvironmentsDialog)[0].reject()


def test_an_empty_page_has_them_too(qtbot: QtBot, window: Window, engines: SampleEngines) -> None:
    engines.failing["list"] = user_error("password-wrong", {"server": "cache.example.org:6379"})
    window.places.add(SERVER)
    window.places_pane.choose(SERVER)
    qtbot.waitUntil(window.empty.isVisible, timeout=PATIENCE)
    settle(qtbot)
    for dialog in window.findChildren(PasswordDialog):
        dialog.reject()
    assert window.empty.remedies is not None
    said = [button.text() for button in window.empty.remedies.buttons]
    assert window.empty.button is not None
    assert window.empty.button.text() == "Enter password…"
    assert "Edit server…" in said
    assert "Enter password…" not in said, "once is enough"


@pytest.mark.slow
def test_a_page_offers_no_way_to_itself(qtbot: QtBot, window: Window) -> None:
    error = user_error("openssl-missing", {})
    window.error_bar.tell(error)
    assert names(window) == ["Health"]
    page = window.show_page("doctor")
    settle(qtbot)
    notice = page.findChildren(Notice)[0]
    notice.tell(error)
    assert notice.remedies.buttons == []
    window.error_bar.tell(error)
    assert names(window) == ["Health"], "the bar stays when another page is shown"


def test_what_could_not_be_read_is_read_again(
    qtbot: QtBot, window: Window, engines: SampleEngines
) -> None:
    closed = {"unreadable": {"path": f"{samples.PLACE}/fxgraph/3a", "why": "Permission denied"}}
    engines.found["list"] = [closed]
    window.refresh()
    qtbot.waitUntil(window.error_bar.isVisible, timeout=PATIENCE)
    assert names(window) == ["Refresh"]
    assert "then refresh" in window.error_bar.remedy.text()


def test_a_mistake_of_ours_that_the_doctor_met_has_its_log(
    qtbot: QtBot, window: Window, engines: SampleEngines
) -> None:
    bug = {"check": "broken", "place": samples.PLACE, "code": "engine-bug", "params": {"why": "x"}}
    engines.diagnosed = {"checks": [], "left": [bug]}
    page = window.show_page("doctor")
    assert isinstance(page, DoctorPage)
    qtbot.waitUntil(lambda: page.diagnosis.result is not None, timeout=PATIENCE)
    page.diagnosis.log = ["Traceback", "KeyError: x"]
    card = page.cards.cards[-1]
    assert card.button is not None and card.button.text() == "Show log"
    click(qtbot, card.button)
    [dialog] = window.findChildren(BugDialog)
    assert dialog.findChildren(QPlainTextEdit)[0].toPlainText() == "Traceback\nKeyError: x"
    dialog.reject()
    # So has one that ended all of it; what is no mistake of ours has none.
    for code, shown in (("engine-bug", True), ("place-stuck", False)):
        engines.failing = {"diagnose": user_error(code, {"why": "x", "place": samples.PLACE})}
        page.run()
        qtbot.waitUntil(lambda: page.diagnosis.error is not None, timeout=PATIENCE)
        qtbot.waitUntil(page.notice.isVisible, timeout=PATIENCE)
        assert page.notice.shows_log.isVisible() is shown
