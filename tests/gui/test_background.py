"""A window that has gone while its jobs go on is had back, in real processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings
from pytestqt.qtbot import QtBot

from tests.gui.conftest import OpenWindow
from tests.gui.test_handover import ARGV, RAISES, runtime, sockets, until
from tests.gui.test_notifying import Desktop, bus, desktop
from tests.pace import LONG
from tests.shots.sample_results import WARMED
from torchkeeper.client.engines import probes
from torchkeeper.client.kept import history
from torchkeeper.client.kept.history import Past
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.pages.guidebar import SINCE, STEP, own_folder
from torchkeeper.verdict.probed import Device, Env
from torchkeeper.warm.recipes.recipe import BUILTIN

__all__ = ["bus", "desktop", "runtime"]  # the fixtures


class Driven:
    """A window in a process of its own (``tests.gui.driven``)."""

    def __init__(self, place: Path) -> None:
        place.mkdir()
        argv = [sys.executable, "-W", "error", "-m", "tests.gui.driven", str(place)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True, bufsize=1)

    def ask(self, **what: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(what) + "\n")

    def hear(self, key: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            if key in (said := json.loads(line)):
                return dict(said)
        raise AssertionError("it has ended")

    def look(self) -> dict[str, Any]:
        self.ask(look=True)
        return self.hear("strip")


@pytest.fixture
def waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A torch that cannot be imported, which it says as soon as this file is there."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    package, go = tmp_path / "fake" / "torch", tmp_path / "go"
    package.mkdir(parents=True)
    package.joinpath("__init__.py").write_text(
        "import os, time\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(0.02)\n"
        "raise ImportError('torch is broken')\n"
    )
    paths = [str(package.parent), str(Path.cwd())]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", sys.executable)
    cpu: Device = {"type": "cpu", "name": "a CPU", "arch": "x86_64"}
    facts: Env = {"torch": "2.13.0", "threads": 3, "devices": [cpu]}
    probes.keep(probes.identity(sys.executable), facts)
    return go


@pytest.fixture
def busy(waits: Path, runtime: Path, tmp_path: Path) -> Iterator[Driven]:
    """A window whose warm-up waits, and that has been closed over it."""
    made = Driven(tmp_path / "place")
    until(lambda: sockets(runtime))
    made.ask(warm=BUILTIN, jobs=1)
    assert made.hear("begun")["begun"]
    made.ask(close="background")
    assert not made.hear("visible")["visible"]
    yield made
    with contextlib.suppress(ProcessLookupError):
        made.process.send_signal(signal.SIGINT)
    try:
        made.process.communicate(timeout=LONG)
    finally:
        made.process.kill()


def jobs() -> list[dict[str, Any]]:
    ran = subprocess.run([*ARGV, "jobs", "--json"], capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 1), ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()][:-1]


def test_who_starts_again_has_the_window_back_with_its_jobs(busy: Driven) -> None:
    until(lambda: bool(history.found()))
    [job] = jobs()
    assert (job["state"], job["window"], job["process"]) == ("running", False, busy.process.pid)
    again = subprocess.run(ARGV, capture_output=True, text=True, check=False, timeout=LONG)
    assert (again.returncode, again.stderr) == (
        0, "torchkeeper: The window that is open has taken it.\n",
    )  # fmt: skip
    seen = busy.look()
    assert (seen["visible"], seen["jobs"]) == (True, ["running"])
    assert seen["strip"].startswith("Warming ")
    until(lambda: all(one.window for one in history.found()))
    busy.ask(cancel=True)
    assert busy.hear("ended")["ended"] == "cancelled"
    assert busy.look()["visible"], "it is back for good"
    until(lambda: not history.found())
    assert [one["state"] for one in jobs()] == ["cancelled"]


@pytest.mark.slow
def test_what_ends_without_a_window_is_told_and_all_is_over(
    desktop: Desktop, busy: Driven, waits: Path
) -> None:
    waits.touch()
    assert busy.process.wait(LONG) == 0
    until(lambda: bool(desktop.shown))
    [told] = desktop.shown
    assert told["summary"].startswith("Failed: Warm "), "however short it was"
    assert [one["state"] for one in jobs()] == ["failed"]


@pytest.mark.slow
def test_what_was_cut_off_is_known_to_the_next(busy: Driven) -> None:
    until(lambda: bool(history.found()))
    busy.process.kill()
    busy.process.wait(LONG)
    [job] = jobs()
    assert (job["state"], job["words"][:7]) == ("cancelled", "Cut off")


@RAISES
def test_the_guide_goes_on_while_the_window_is_gone(
    open_window: OpenWindow, settings: QSettings
) -> None:
    window = open_window()
    window.actions_["first-steps"].trigger()
    job = window.jobs.add("Warm", "warm", own_folder())
    other = window.jobs.add("Export", "export", None)
    window.jobs.begin(job)
    window.closing.leave_jobs()
    window.jobs.end(job, State.DONE, result=WARMED)
    assert settings.value(STEP) == 1 and not window.isVisible()
    window.show()
    assert window.guide.bar.isVisible() and window.guide.bar.number == 1
    window.jobs.end(other, State.CANCELLED)
    assert window.isVisible(), "it has been had back"


@pytest.mark.slow
def test_the_guide_catches_up_with_what_was_done_meanwhile(
    qtbot: QtBot, open_window: OpenWindow, settings: QSettings, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    done = Past(
        "20261122-100000-aaaa", "warm", "Warm", own_folder(), "done", True, 990.0, 1000.0, ""
    )
    also = Past("20261122-100000-bbbb", "export", "Export", "", "done", True, 1000.0, 1100.0, "")
    history.keep([done, also])
    settings.setValue(STEP, 0)
    settings.setValue(SINCE, 1500.0)
    window = open_window()
    assert window.guide.bar.number == 0, "that was before"
    window.close_surely()
    settings.setValue(STEP, 0)
    settings.setValue(SINCE, 900.0)
    window = open_window()
    qtbot.waitUntil(lambda: window.guide.bar.number == 1)
    for _ in range(2):
        window.guide.bar.skip.click()
    assert window.guide.bar.number == 4, "it was exported before that was asked for"
