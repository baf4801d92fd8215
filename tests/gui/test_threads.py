"""What crashes below Python: threads that get into each other's way, and what PySide lets go of."""

from __future__ import annotations

import ast
import gc
import json
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.gui.conftest import OpenWindow
from tests.pace import LONG
from torchkeeper import gui
from torchkeeper.gui.background import engines

GUI = Path(gui.__file__).parent
#: What runs in the worker's thread, and the functions of it that are called before.
BESIDE = {
    "background/requests.py": set[str](),
    "background/lookups.py": {"__init__"},
    "background/worker.py": {"__init__"},
}


def test_one_hears_while_the_other_connects_and_lets_go() -> None:
    ran = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.gui.crossing", "3"],
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["heard"] > 100 and told["let_go"] > 1000


@pytest.mark.parametrize("name", BESIDE)
def test_nothing_is_connected_in_the_workers_thread(name: str) -> None:
    for function in ast.walk(ast.parse((GUI / name).read_text())):
        if isinstance(function, ast.FunctionDef) and function.name not in BESIDE[name]:
            called = {
                node.func.attr
                for node in ast.walk(function)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            }
            assert not called & {"connect", "disconnect", "singleShot"}, function.name


def test_no_row_of_a_form_is_removed() -> None:
    """It crashes now and then: PySide 6.11 may have let go of a label that is taken away so."""
    used = [path for path in GUI.rglob("*.py") if ".removeRow(" in path.read_text()]
    assert used == []


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def test_while_there_is_a_window_only_its_thread_looks_for_garbage(
    open_window: OpenWindow, fixture_cache: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "EVERY", 20)
    monkeypatch.setattr(engines, "YOUNG", 5000)
    assert gc.isenabled()
    window = open_window(fixture_cache)
    assert not gc.isenabled()
    gone = weakref.ref(Cycle())
    made = [[number] for number in range(6000)]
    qtbot.waitUntil(lambda: gone() is None)
    assert len(made) == 6000
    window.close()
    qtbot.waitUntil(gc.isenabled)
