"""Every page, dialog, state and menu, looked over as a stranger would: see tests.gui.walking."""

from __future__ import annotations

import functools
import importlib
import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from subprocess import PIPE
from typing import Any

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QDialog, QPushButton, QWidget
from pytestqt.qtbot import QtBot

import torchkeeper.gui
from tests.gui import faults, walking
from tests.gui.conftest import PATIENCE
from tests.gui.test_look import STATES
from tests.shots.run import SCENES
from torchkeeper.gui.actions import ACTIONS, MENUS
from torchkeeper.gui.pages import COMPARE, PAGES
from torchkeeper.gui.theme import Theme

#: So many walks go on at once.
SIDE = 3


#: Those that take long to come about: of very many entries, jobs and places.
LONG = ("many", "many-lists", "many-places", "sidebar-many")
DAILY = [name for name in SCENES if name not in LONG]


def begun(scale: int, tone: Theme, scenes: Iterable[str] = ()) -> subprocess.Popen[str]:
    """A walk, in a process of its own: one process has one scale."""
    argv = [
        sys.executable,
        "-X",
        "faulthandler",
        "-m",
        "tests.gui.walking",
        str(scale),
        tone.value,
        *scenes,
    ]
    return subprocess.Popen(argv, stdout=PIPE, stderr=PIPE, text=True)


def told(walk: subprocess.Popen[str]) -> dict[str, Any]:
    """What it says."""
    out, errors = walk.communicate()
    lines = [line for line in errors.splitlines() if "propagateSizeHints" not in line]
    assert walk.returncode == 0, "\n".join([f"ended with {walk.returncode}", *lines[-60:]])
    said: dict[str, Any] = json.loads(out.splitlines()[-1])
    return said


@functools.cache
def pages(scale: int, tone: Theme) -> dict[str, Any]:
    """What a walk over the pages says."""
    return told(begun(scale, tone))


@pytest.mark.parametrize(
    ("scale", "tone"), [(1, Theme.LIGHT), pytest.param(2, Theme.DARK, marks=pytest.mark.slow)]
)
def test_nothing_is_wrong_with_any_page(scale: int, tone: Theme) -> None:
    found = pages(scale, tone)
    assert found["faults"] == {}
    assert set(found["stops"]) == {*PAGES, COMPARE}
    assert min(found["stops"].values()) > 10, "Tab goes to what is there"


@pytest.mark.parametrize(
    ("scale", "tone", "scenes"),
    [
        # Not of every day: a minute of the processor each.
        pytest.param(1, Theme.LIGHT, DAILY, marks=pytest.mark.slow),
        pytest.param(1, Theme.LIGHT, LONG, marks=pytest.mark.slow),
        pytest.param(1, Theme.DARK, tuple(SCENES), marks=pytest.mark.slow),
        pytest.param(2, Theme.LIGHT, tuple(SCENES), marks=pytest.mark.slow),
        pytest.param(2, Theme.DARK, tuple(SCENES), marks=pytest.mark.slow),
    ],
)
def test_nothing_is_wrong_with_any_state(scale: int, tone: Theme, scenes: Sequence[str]) -> None:
    # They wait more than they work, so that several go on at once.
    found = [told(walk) for walk in [begun(scale, tone, scenes[n::SIDE]) for n in range(SIDE)]]
    faults = {name: wrong for one in found for name, wrong in one["faults"].items()}
    assert faults == {}
    states = [name for one in found for name in one["states"]]
    named = [name for scene in scenes for name in STATES[scene].split()]
    assert sorted(states) == sorted(named), "what the pictures are to be of"
    if scenes is not LONG:
        opened = {name for one in found for name in one["dialogs"]}
        assert dialogs() - opened == set(), "each dialog is in a scene"
        looked = {name for one in [*found, pages(scale, tone)] for name in one["menus"]}
        assert walking.makers() - looked == set(), "each menu is looked at"


def dialogs() -> set[str]:
    """The dialogs of the app, without those that others are made of."""
    for module in pkgutil.walk_packages(torchkeeper.gui.__path__, "torchkeeper.gui."):
        importlib.import_module(module.name)
    every = (one for one in _below(QDialog) if one.__module__.startswith("torchkeeper.gui."))
    return {one.__name__ for one in every if not one.__subclasses__()}


def _below(kind: type[QWidget]) -> set[type[QWidget]]:
    return {x for one in kind.__subclasses__() for x in (one, *_below(one))}


def test_every_action_has_a_place() -> None:
    menus = {name for name, _ in MENUS} | {"group", "only"}
    lost = [spec.id for spec in ACTIONS
            if spec.menu not in menus and not spec.context and not spec.shortcut]  # fmt: skip
    assert lost == []
    keys = [spec.shortcut for spec in ACTIONS if spec.shortcut]
    assert sorted(keys) == sorted(set(keys)), "no two actions have one key"


def press(qtbot: QtBot, widget: QWidget, key: Qt.Key, *, control: bool = False) -> None:
    held = Qt.KeyboardModifier.ControlModifier if control else Qt.KeyboardModifier.NoModifier
    qtbot.keyClick(widget, key, held)  # type: ignore[no-untyped-call]


@pytest.mark.slow
def test_keys_lead_to_pages_and_parts(qtbot: QtBot, settings: QSettings) -> None:
    window = walking.opened(settings)
    window.activateWindow()
    for number, page in enumerate(PAGES, 1):
        press(qtbot, window, getattr(Qt.Key, f"Key_{number}"), control=True)
        assert window.pages.current == page
        assert window.pages.isAncestorOf(window.focusWidget()), "the page has the focus"
    press(qtbot, window, Qt.Key.Key_2, control=True)
    assert window.focusWidget() is window.table
    window.table.go_to_row(0)
    window.inspector_frame.hide()
    press(qtbot, window.table, Qt.Key.Key_Return)
    assert window.inspector_frame.isAncestorOf(window.focusWidget()), "Enter looks into an entry"
    visited = []
    for _ in range(5):
        press(qtbot, window, Qt.Key.Key_F6)
        visited.append(faults.area_of(window.focusWidget(), window))
    assert visited == ["toolbar", "status bar", "sidebar", "page", "inspector"]
    shown = window.show_page("overview")
    button = shown.findChildren(QPushButton)[0]
    pressed: list[bool] = []
    button.clicked.connect(lambda *_: pressed.append(True))
    button.setEnabled(True)
    press(qtbot, button, Qt.Key.Key_Return)
    assert pressed, "Enter presses a button"
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    window.deleteLater()
