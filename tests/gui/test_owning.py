"""The window says who else can change what runs from a place, and what to do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, listed, settle
from torchkeeper.gui.inspector.details import sections
from torchkeeper.gui.jobs.hearing import heard
from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.places.model import PlacesModel
from torchkeeper.gui.window import Window
from torchkeeper.stores.folders import owners
from torchkeeper.stores.folders.owners import Accounts

#: Another user of every system.
OTHER = 1


@pytest.fixture
def place(clean_291: Path, among: Path) -> Path:
    """A cache in a folder such as /tmp."""
    return Path(shutil.copytree(clean_291, among / "cache"))


def texts(window: Window) -> list[str]:
    """What the bar says."""
    return [label.text() for label in window.owners_bar.findChildren(QLabel) if label.text()]


def said(window: Window, place: Path, role: int) -> str:
    model = window.places
    return str(model.data(model.index(model.row_of(str(place))), role))


def again(qtbot: QtBot, window: Window, done: Callable[[], bool]) -> None:
    """Read the place again."""
    window.actions_["refresh"].trigger()
    qtbot.waitUntil(lambda: not window.listing.loading and done(), timeout=PATIENCE)
    settle(qtbot)


@pytest.mark.slow
def test_the_bar_says_it_until_it_is_mended(
    qtbot: QtBot, open_window: OpenWindow, place: Path, kept_291: Path
) -> None:
    place.chmod(0o777)
    window = open_window(place)
    bar = window.owners_bar
    assert bar.isVisible()
    assert f"Everybody may write to {place}." in texts(window)
    assert any("run programs as you" in text for text in texts(window))
    [button] = bar.buttons
    click(qtbot, button)
    command = QGuiApplication.clipboard().text()
    assert command == f"chmod -R go-w {place}"
    assert command in window.statusBar().currentMessage()
    tip = said(window, place, 3)  # Qt.ItemDataRole.ToolTipRole
    assert f"Everybody may write to {place}." in tip
    assert said(window, place, PlacesModel.WarnedRole) == "True"
    window.open_paths([str(kept_291)])
    listed(qtbot, window, kept_291)
    assert not bar.isVisible()
    window.open_paths([str(place)])
    qtbot.waitUntil(bar.isVisible, timeout=PATIENCE)
    listed(qtbot, window, place)
    assert os.system(command) == 0
    # Not a file is another: it is seen all the same when the place is looked at again.
    window.listing.poll()
    qtbot.waitUntil(lambda: not bar.isVisible(), timeout=PATIENCE)
    assert said(window, place, PlacesModel.WarnedRole) == "False"
    assert "Everybody" not in said(window, place, 3)


@pytest.mark.slow
def test_once_closed_it_stays_closed_until_there_is_more(
    qtbot: QtBot, open_window: OpenWindow, place: Path, kept_291: Path
) -> None:
    place.chmod(0o777)
    window = open_window(place)
    bar = window.owners_bar
    bar._close()
    assert not bar.isVisible()
    window.open_paths([str(kept_291)])
    listed(qtbot, window, kept_291)
    window.open_paths([str(place)])
    listed(qtbot, window, place)
    assert not bar.isVisible()
    next((place / "fxgraph").iterdir()).chmod(0o777)
    again(qtbot, window, bar.isVisible)
    assert f"Everybody may write to 2 folders of {place}." in texts(window)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_another_put_there_is_shown(
    qtbot: QtBot, open_window: OpenWindow, place: Path
) -> None:
    path = next((place / "fxgraph").glob("*/*/*"))
    os.chown(path, OTHER, OTHER)
    name = Accounts().user(OTHER).name
    assert name
    window = open_window(place)
    assert f"1 file in {place} belongs to {name}." in texts(window)
    [button] = window.owners_bar.buttons
    click(qtbot, button)
    qtbot.waitUntil(lambda: window.entries.count == 1, timeout=PATIENCE)
    [entry] = window.entries.shown()
    assert (entry.owner, entry.path) == (name, str(path.relative_to(place)))
    rows = [row for section in sections(entry, None, {}) for row in section.rows]
    assert [values[0].text for label, values in rows if label == "Owner"] == [name]
    # The files are the same; whose they are is not.
    os.chown(path, 0, 0)
    window.head.clear_filter()
    again(qtbot, window, lambda: not window.owners_bar.isVisible())
    assert all(entry.owner is None for entry in window.entries.shown())


def test_a_job_that_fills_such_a_place_has_it_in_its_log(place: Path) -> None:
    place.chmod(0o777)
    job = Job(1, "Import", "import", str(place))
    line = heard(job, {"owners": owners.glance(str(place))})
    assert line.startswith(f"Everybody may write to {place}. PyTorch runs what lies")
    assert heard(job, {"owners": []}) == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_a_team_shares_is_a_fact_beside_the_path(
    qtbot: QtBot, open_window: OpenWindow, clean_291: Path, beside: Path
) -> None:
    place = Path(shutil.copytree(clean_291, beside / "cache"))
    os.chown(place, OTHER, OTHER)
    window = open_window(place)
    assert not window.owners_bar.isVisible()
    name = Accounts().user(OTHER).name
    qtbot.waitUntil(
        lambda: window.head.path.toolTip() == f"{place} · belongs to {name}", timeout=PATIENCE
    )
    assert f"{place} belongs to {name}." in said(window, place, 3)
    assert said(window, place, PlacesModel.WarnedRole) == "False"
