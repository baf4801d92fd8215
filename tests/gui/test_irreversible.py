"""What cannot be undone is red, and no Enter presses it that was not meant for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

import torchkeeper
from tests.gui.conftest import PATIENCE, OpenWindow, listed
from tests.redis_server import Server, dump, serving
from torchkeeper.artifacts.entry import measured, tallied
from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.dialogs.exporting import ExportDialog
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.window import Window

Shown = TypeVar("Shown", bound=QWidget)
GUI = Path(torchkeeper.__file__).parent / "gui"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "redis") as made:
        made.load(dump())
        yield made


def is_red(button: QPushButton) -> bool:
    """Whether a button is red, and neither stands out nor is pressed by Enter elsewhere."""
    looks = button.property("danger") is True and not button.property("primary")
    return looks and not button.isDefault()


def shown(window: Window, kind: type[Shown]) -> Shown:
    return next(one for one in window.findChildren(kind) if one.isVisible())


def test_a_purge_of_a_server_is_red_from_the_first(
    qtbot: QtBot, open_window: OpenWindow, server: Server
) -> None:
    window = open_window()
    place = f"redis://127.0.0.1:{server.port}/0"
    window.open_paths([place])
    qtbot.waitUntil(lambda: window.place == place and window.entries.total > 0, timeout=PATIENCE)
    window.flows.purge_shown()
    dialog = shown(window, PurgeDialog)
    assert is_red(dialog.go)
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    assert is_red(dialog.go) and dialog.cancel.isDefault() and dialog.cancel.hasFocus()
    before = server("DBSIZE")
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    assert not dialog.isVisible() and server("DBSIZE") == before


@pytest.mark.slow
def test_a_purge_of_a_folder_is_red_while_it_goes_past_the_trash(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    listed(qtbot, window, fixture_cache)
    window.flows.purge_shown()
    dialog = shown(window, PurgeDialog)
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    assert not is_red(dialog.go) and dialog.go.isDefault(), "that can be undone"
    dialog.at_once.setChecked(True)
    assert is_red(dialog.go) and dialog.cancel.isDefault()
    dialog.at_once.setChecked(False)
    assert dialog.go.isDefault() and dialog.go.property("primary")
    dialog.reject()
    window.flows.empty_trashes({str(fixture_cache): {**tallied(3), **measured(1000, on_disk=True)}})
    asked = shown(window, ConfirmDialog)
    assert is_red(asked.go) and asked.cancel.isDefault()
    asked.reject()


@pytest.mark.slow
def test_to_write_over_a_bundle_is_red(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window(fixture_cache)
    listed(qtbot, window, fixture_cache)
    (tmp_path / "mine.torchcache").write_bytes(b"mine")
    window.actions_["export"].trigger()
    dialog = shown(window, ExportDialog)
    assert dialog.go.property("primary")
    dialog.target.file.setText(str(tmp_path / "mine.torchcache"))
    qtbot.waitUntil(lambda: dialog.ready and dialog.target.replace.isVisible(), timeout=PATIENCE)
    dialog.target.replace.setChecked(True)
    assert is_red(dialog.go) and dialog.go.isEnabled()
    dialog.target.replace.setChecked(False)
    assert dialog.go.property("primary")
    dialog.reject()


def test_no_red_button_is_a_default_and_nothing_goes_for_good_unasked() -> None:
    found = set()
    for path in sorted(GUI.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        red, default = set(), set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                words = {word.arg: ast.unparse(word.value) for word in node.value.keywords}
                if words.get("danger") == "True":
                    red |= {ast.unparse(target) for target in node.targets}
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr == "setDefault" and ast.unparse(node.args[0]) == "True":
                default.add(ast.unparse(node.func.value))
            if node.func.attr == "empty_trash" and "operations" in ast.unparse(node.func):
                found.add(path.name)
                assert "confirm(" in path.read_text(encoding="utf-8")
        assert not red & default, path
    assert found == {"flows.py"}, "whoever else empties a trash has to ask before"


def test_what_forgets_is_red_wherever_it_stands() -> None:
    """Nobody brings back a run, a job of the history, or a password that was forgotten."""
    found = []
    for path in sorted(GUI.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source if "Forge" in source or "Clear" in source else "")
        for made in ast.walk(tree):
            if not isinstance(made, ast.FunctionDef):
                continue
            named = {
                ast.unparse(node.targets[0]): ast.unparse(node.value)
                for node in ast.walk(made)
                if isinstance(node, ast.Assign)
            }
            for node in ast.walk(made):
                if (
                    isinstance(node, ast.Call)
                    and node.args
                    and ast.unparse(node.func).endswith("button")
                ):
                    first = ast.unparse(node.args[0]).lstrip("*")
                    text = named.get(first, first).replace("&", "")
                    if "tr('Forget" in text or "tr('Clear histor" in text:
                        words = {word.arg: ast.unparse(word.value) for word in node.keywords}
                        assert words.get("danger") == "True", (path.name, text)
                        found.append(path.name)
    assert sorted(found) == ["drawer.py", "drawer.py", "flows.py", "runs.py", "server.py"]
