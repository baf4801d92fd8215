"""Every page, looked over as a stranger would: see tests.gui.walking."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from tests.gui import walking
from tests.gui.conftest import PATIENCE
from torchkeeper.gui.actions import ACTIONS, MENUS
from torchkeeper.gui.pages.table import PAGES


@pytest.mark.parametrize("scale", ["1", "2"])
def test_nothing_is_wrong_with_any_page(scale: str) -> None:
    argv = [sys.executable, "-m", "tests.gui.walking", scale]
    run = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    found = json.loads(run.stdout.splitlines()[-1])
    assert found["faults"] == {}
    assert set(found["stops"]) == {page.id for page in PAGES}
    assert min(found["stops"].values()) > 10, "Tab goes to what is there"


def test_faults_are_found(qtbot: QtBot, settings: QSettings) -> None:
    """What the test above would say, were there anything."""
    window = walking.opened(settings)
    page = window.show_page("runs")
    nameless, short, pale = QPushButton(page), QPushButton("A rather long text", page), QLabel(page)
    nameless.setAccessibleName("")
    short.setGeometry(300, 4, 40, 24)
    pale.setText("Hardly to be seen")
    pale.setStyleSheet("color: #d8d8d8; background: #ffffff; font-size: 9px")
    pale.setGeometry(380, 4, 120, 20)
    for widget in (nameless, short, pale):
        widget.show()
    found = walking.walk(window)["runs"]
    for what in ("no name: QPushButton", "cut: QPushButton “A rather", "pale: QLabel “Hardly",
                 "small: QLabel “Hardly"):  # fmt: skip
        assert any(fault.startswith(what) for fault in found), (what, found)
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    window.deleteLater()


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


def test_keys_lead_to_pages_and_parts(qtbot: QtBot, settings: QSettings) -> None:
    window = walking.opened(settings)
    window.activateWindow()
    for number, page in enumerate(PAGES, 1):
        press(qtbot, window, getattr(Qt.Key, f"Key_{number}"), control=True)
        assert window.pages.current == page.id
        assert window.pages.isAncestorOf(window.focusWidget()), "the page has the focus"
    press(qtbot, window, Qt.Key.Key_2, control=True)
    assert window.focusWidget() is window.table
    window.table.go_to_row(0)
    window.wing.hide()
    press(qtbot, window.table, Qt.Key.Key_Return)
    assert window.wing.isAncestorOf(window.focusWidget()), "Enter looks into an entry"
    visited = []
    for _ in range(4):
        press(qtbot, window, Qt.Key.Key_F6)
        visited.append(walking.area_of(window.focusWidget(), window))
    assert visited == ["toolbar", "sidebar", "page", "inspector"]
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
