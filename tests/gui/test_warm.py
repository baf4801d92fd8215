"""Warming from the window, with a real compiler."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.conftest import objects_of
from tests.gui.conftest import PATIENCE, OpenWindow, children, click, idle, listed
from torchkeeper.client.profiles import keeping
from torchkeeper.client.profiles.profile import Profile
from torchkeeper.gui.activity.shown import JobStrip
from torchkeeper.gui.jobs.model import Job, State, Then
from torchkeeper.gui.window import Window

#: Milliseconds a cold compile may take on two busy cores.
COMPILE = 240_000

TAG = "TORCH_COMPILE_CACHE_KEY_TAG"

pytestmark = pytest.mark.torch


@pytest.fixture
def with_objects(builtin: Path, tmp_path: Path) -> None:
    """What is compiled is there, so that nobody waits for g++; of graphs there is none."""
    objects_of(builtin / "place", tmp_path / "warmed")


@pytest.fixture
def warming(
    qtbot: QtBot,
    open_window: OpenWindow,
    tmp_path: Path,
    header_folder: Path,
    torch_python: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Window:
    """The window with a warm of a place without graphs just begun."""
    # The precompiled header of 149 MB is made once for all tests.
    monkeypatch.setenv("TMPDIR", str(header_folder))
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", torch_python)
    place = tmp_path / "warmed"
    place.mkdir(exist_ok=True)
    keeping.save(Profile("tagged", {TAG: "of-the-profile"}))
    keeping.save(Profile("off", {"TORCHINDUCTOR_FX_GRAPH_CACHE": "0"}))
    window = open_window(place)
    listed(qtbot, window, place)
    dialog = window.flows.warm()
    qtbot.waitUntil(lambda: dialog.profile.read and dialog.go.isEnabled(), timeout=PATIENCE)
    assert dialog.profile.name == ""
    dialog.profile.combo.setCurrentIndex(dialog.profile.combo.findData("tagged"))
    assert dialog.choice_of.python == torch_python
    assert "torch 2" in dialog.environment.text()
    assert dialog.target.path == str(place)
    click(qtbot, dialog.go)
    assert window.jobs.jobs[0].state is State.RUNNING
    return window


def state(job: Job) -> State:
    """The state now; a type checker thinks that it cannot change."""
    return job.state


@pytest.mark.usefixtures("with_objects")
@pytest.mark.slow
def test_warms_a_place_without_graphs(qtbot: QtBot, warming: Window, tmp_path: Path) -> None:
    job = warming.jobs.jobs[0]
    strip = warming.findChild(JobStrip)
    assert strip is not None and strip.isVisible()
    assert strip.words.text().startswith("Warming warmed")
    qtbot.waitUntil(lambda: not job.active, timeout=COMPILE)
    assert job.state is State.DONE, list(job.log)
    assert job.result["misses"] > 0
    assert job.title.endswith("with tagged")
    assert warming.settings.value("warm/profile") == "tagged"
    made = [file for file in (tmp_path / "warmed" / "fxgraph").rglob("*") if file.is_file()]
    assert made
    assert all(b"of-the-profile" in file.read_bytes() for file in made)
    idle(qtbot, warming)
    kinds = {e.kind for e in warming.entries.shown()}
    assert {"fxgraph", "aotautograd"} <= kinds
    assert any(line.startswith("Graph ") for line in job.log)
    assert any(line.startswith("Device: ") for line in job.log)
    assert "torch" not in sys.modules


@pytest.mark.slow
def test_cancels_a_warm_at_once(qtbot: QtBot, warming: Window) -> None:
    """Every day: a real compile is cancelled in tests/warm/test_warm.py and tests/cli/test_warm.py,
    the window's other jobs in test_exporting.py.
    """
    job = warming.jobs.jobs[0]
    qtbot.waitUntil(lambda: any(x.startswith("Step: ") for x in job.log), timeout=COMPILE)
    strip = warming.findChild(JobStrip)
    assert strip is not None
    click(qtbot, strip.cancel)
    assert state(job) is State.CANCELLING
    qtbot.waitUntil(lambda: not job.active, timeout=PATIENCE)
    assert state(job) is State.CANCELLED
    idle(qtbot, warming)
    assert not [e for e in warming.entries.shown() if e.problem or e.kind == "lock"]
    qtbot.waitUntil(lambda: not [c for c in children().values() if "warm" in c], timeout=PATIENCE)


def test_a_warm_up_that_makes_no_folder_leaves_no_place(
    qtbot: QtBot, open_window: OpenWindow, torch_python: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    into = str(tmp_path / "file" / "cache")
    window = open_window(tmp_path)
    job = window.flows._warm(torch_python, ["builtin"], into, {}, Then("", ""))
    assert window.places.row_of(into) >= 0
    qtbot.waitUntil(lambda: not job.active, timeout=COMPILE)
    assert job.state is State.FAILED
    qtbot.waitUntil(lambda: window.places.row_of(into) < 0, timeout=PATIENCE)
