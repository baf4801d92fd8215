"""The window's start: what is listed ahead, and what is made only later."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings
from pytestqt.qtbot import QtBot

from tests.bench import measure
from tests.bench.window import FIRST_ROWS
from tests.gui.conftest import PATIENCE, listed
from tests.pace import LONG
from torchkeeper.client.engines.process import Ahead, Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.gui import start
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.background.lookups import At
from torchkeeper.gui.idle import IdleTasks
from torchkeeper.gui.window import Window

pytestmark = pytest.mark.usefixtures("started_engines")


def test_what_was_listed_ahead_is_shown_and_not_asked_for_again(
    qtbot: QtBot, settings: QSettings, fixture_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []
    send = Engine.send

    def sent(engine: Engine, op: str, params: Mapping[str, Any] | None = None) -> int:
        asked.append({"op": op, **(params or {})})
        return send(engine, op, params)

    monkeypatch.setattr(Engine, "send", sent)
    ahead = start.started(str(fixture_cache))
    assert ahead is not None
    window = Window(settings, Engines(ahead), str(fixture_cache))
    assert window.place == str(fixture_cache), "it is being read before anything is painted"
    # Later it is looked at again now and then, and nobody waits for that.
    whole = {"op": "list", "place": str(fixture_cache), "unless": ""}
    when_over: list[int] = []
    waited: list[bool] = []
    window.listing.over.connect(lambda _: when_over.append(asked.count(whole)))
    window.listing.changed.connect(lambda: waited.append(window.listing.loading))
    window.show()
    window.open_paths([str(fixture_cache)])
    listed(qtbot, window, fixture_cache)
    assert window.entries.total > 0
    qtbot.waitUntil(lambda: window.discovery.known, timeout=PATIENCE)
    assert when_over[0] == 1, "before there was a window"
    assert True not in waited[waited.index(False) :]
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    assert ahead.engine.returncode is not None


def test_no_other_place_is_shown_before_the_one_that_was_named(
    qtbot: QtBot, settings: QSettings, fixture_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it takes to find out what it is."""
    may_look = threading.Event()
    offered = lookups.offered

    def later(paths: Sequence[str]) -> list[At]:
        may_look.wait(LONG)
        return offered(paths)

    monkeypatch.setattr(lookups, "offered", later)
    window = Window(settings, Engines(), str(fixture_cache))
    window.show()
    window.open_paths([str(fixture_cache)])
    qtbot.waitUntil(lambda: window.discovery.known, timeout=PATIENCE)
    assert window.places.rowCount() and window.place == str(fixture_cache)
    may_look.set()
    qtbot.waitUntil(lambda: window.places_pane.place is not None, timeout=PATIENCE)
    assert window.places_pane.place is not None
    assert window.place == window.places_pane.place.path == str(fixture_cache)
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)


def test_where_nothing_is_at_a_path_another_place_is_chosen(
    qtbot: QtBot, settings: QSettings, tmp_path: Path
) -> None:
    window = Window(settings, Engines(), str(tmp_path / "gone"))
    window.show()
    window.open_paths([str(tmp_path / "gone")])
    qtbot.waitUntil(lambda: window.places_pane.place is not None, timeout=PATIENCE)
    assert window.places_pane.place is not None
    assert window.place == window.places_pane.place.path != str(tmp_path / "gone")
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)


def test_what_nobody_takes_of_it_is_cancelled(fixture_cache: Path) -> None:
    with Engine() as engine:
        ahead = Ahead(engine)
        ahead.ask("list", {"place": str(fixture_cache), "unless": ""})
        assert ahead.take("places", {}) is None
        assert ahead.take("list", {"place": str(fixture_cache), "unless": ""}) is None
        assert engine.call("du", {"place": str(fixture_cache)})["kinds"]


def test_an_engine_nobody_asked_ends_with_the_window(qtbot: QtBot) -> None:
    engine = Engine()
    engines = Engines(Ahead(engine))
    engines.stop()
    qtbot.waitUntil(lambda: not engines.running, timeout=PATIENCE)
    assert engine.returncode is not None


def test_a_request_that_is_too_long_fails_and_is_not_lost(qtbot: QtBot) -> None:
    engines = Engines(None)
    failed: list[UserError] = []
    before = [("named", {"file": "/x", "rows": [["a", "x" * (1 << 20)]], "first": True})]
    engines.ask("import", {}, Listener(failed=failed.append), before=before)
    qtbot.waitUntil(lambda: bool(failed), timeout=PATIENCE)
    assert failed[0].code == "request-too-long"
    engines.stop()
    qtbot.waitUntil(lambda: not engines.running, timeout=PATIENCE)


def test_an_engine_that_died_before_the_window_came_is_reported(
    qtbot: QtBot, fixture_cache: Path
) -> None:
    ahead = start.started(str(fixture_cache))
    assert ahead is not None
    ahead.engine.kill()
    engines = Engines(ahead)
    failed: list[object] = []
    params = {"place": str(fixture_cache), "unless": ""}
    engines.ask("list", params, Listener(failed=failed.append), shared=True)
    qtbot.waitUntil(lambda: bool(failed), timeout=PATIENCE)
    rows: list[object] = []
    engines.ask("list", params, Listener(rows=rows.extend), shared=True)
    qtbot.waitUntil(lambda: bool(rows), timeout=PATIENCE)
    engines.stop()
    qtbot.waitUntil(lambda: not engines.running, timeout=PATIENCE)


def test_the_panes_nobody_sees_are_not_loaded_for_the_first_rows() -> None:
    code = (
        "import sys; import torchkeeper.gui.app; "
        "late = ('inspector', 'dialogs', 'shots', 'activity', 'matrix', 'jobs.laps', "
        "'sidebar.deferred', 'sidebar.taking'); "
        "others = ('sqlite3', 'socket', 'html', 'torchkeeper.client.words.explaining', "
        "'torchkeeper.stores.folders.owners'); "
        "print([x for x in late if 'torchkeeper.gui.' + x in sys.modules], "
        "[x for x in others if x in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[] []\n"


def test_no_source_is_read_before_the_window() -> None:
    # PySide looks in each for its "features", and linecache keeps it.
    code = (
        "import linecache; from torchkeeper.gui import start; start.load_qt(); "
        "import torchkeeper.gui.app as app; ours = app.__file__.removesuffix('gui/app.py'); "
        "print([x for x in linecache.cache if x.startswith(ours)])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_the_first_rows_are_painted_without_all_types_of_widgets(
    fixture_cache: Path, tmp_path: Path
) -> None:
    # Asked for a viewport that Qt has made, PySide makes every one: no window has a calendar.
    ask = "print('QCalendarWidget' in vars(sys.modules['PySide6.QtWidgets']), flush=True)"
    code = FIRST_ROWS.replace("os._exit", f"{ask}; os._exit")
    env = {**os.environ, **measure.environment(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    command = measure.python(code, str(fixture_cache))
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


def test_what_is_asked_at_the_start_loads_nothing_of_recipes(tmp_path: Path) -> None:
    # A window asks what the folder of its command line is while its first rows come.
    code = (
        "import sys; import torchkeeper.gui.app; from torchkeeper.gui.background import lookups; "
        "print(lookups.offered(sys.argv[1:])[0].what, "
        "[x for x in ('tomllib', 'uuid', 'importlib.resources', 'torchkeeper.warm.sweep', "
        "'torchkeeper.warm.recipes.recipe') if x in sys.modules])"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout == "folder []\n"


def test_steps_are_taken_one_by_one(qtbot: QtBot) -> None:
    taken: list[int] = []
    later = IdleTasks()
    later.add(lambda: taken.append(1), lambda: taken.append(2))
    assert not later.over
    later.start()
    assert taken == [], "whoever starts it does not wait"
    qtbot.waitUntil(lambda: later.over, timeout=PATIENCE)
    assert taken == [1, 2]
    later.start()
    later.add(lambda: taken.append(3))
    later.start()
    qtbot.waitUntil(lambda: later.over, timeout=PATIENCE)
    assert taken == [1, 2, 3]
