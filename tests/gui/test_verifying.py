"""Verifying and preparing from the window, and the last verification beside each place."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QApplication, QFrame, QLabel
from pytestqt.qtbot import QtBot

from tests.client.test_verified import result
from tests.engine.test_renaming import FACTS
from tests.gui.conftest import PATIENCE, OpenWindow, children, click, idle, listed, settle, told
from tests.stores.building import NATIVE, rename
from torchkeeper.artifacts.layout import HEADERS
from torchkeeper.client import carrying
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.kept import verified
from torchkeeper.client.kept.verified import Verified
from torchkeeper.client.recipes import files
from torchkeeper.client.words import preparing, verifying
from torchkeeper.gui.activity.aftermath import Aftermath, LapTable
from torchkeeper.gui.activity.detail import JobDetail
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.background.worker import NICE
from torchkeeper.gui.dialogs.preparing import CompileOptions, PrepareDialog
from torchkeeper.gui.dialogs.programs import ProgramDialog
from torchkeeper.gui.dialogs.verifying import VerifyDialog
from torchkeeper.gui.jobs import laps
from torchkeeper.gui.jobs.bundles import About, Naming
from torchkeeper.gui.jobs.model import Job, JobsModel, State, outcome
from torchkeeper.gui.places.model import PlacesModel
from torchkeeper.gui.verdicts.environments import KEY
from torchkeeper.gui.verdicts.verifications import Beside
from torchkeeper.gui.window import Window
from torchkeeper.stores import places
from torchkeeper.verdict.probed import GraphTold
from torchkeeper.warm.options import MOST_THREADS, RUNS

_RECIPES = Path(__file__).parents[2] / "resources" / "recipes"
#: Milliseconds that cold compiles may take on two busy cores.
COMPILE = 600_000


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def state(job: Job) -> State:
    """The state now; a type checker thinks that it cannot change."""
    return job.state


def asked(qtbot: QtBot, window: Window) -> VerifyDialog:
    """The dialog, once it can go on."""
    qtbot.waitUntil(window.actions_["verify"].isEnabled, timeout=PATIENCE)
    window.actions_["verify"].trigger()
    dialog = next(x for x in window.findChildren(VerifyDialog) if x.isVisible())
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    return dialog


def looked_up(outcome: str) -> GraphTold:
    """A graph as a finding tells of it."""
    return {"id": "0/0 forward", "name": "f", "outcome": outcome, "seconds": None, "phases": []}


def test_what_is_found_and_built_counts_for_the_run_under_way() -> None:
    runs = laps.waiting(["prepared", "cold", "warm"])
    assert [lap.name for lap in runs] == ["cold", "warm", "prepared"]
    assert laps.heard(runs, {"run": {"name": "cold"}})
    assert laps.heard(runs, {"graph": looked_up("miss")})
    assert laps.heard(runs, {"run": {"name": "warm"}})
    assert laps.heard(runs, {"graph": looked_up("hit")})
    assert laps.heard(runs, {"built": {"path": "ab/cabc.main.so"}})
    assert not laps.heard(runs, {"log": "something else"})
    cold, warm, prepared = runs
    assert (cold.count("miss"), cold.built, warm.count("miss")) == (1, [], 0)
    assert cold.seconds is not None
    assert laps.progress(warm) == "running · 1 hit, 0 misses · 1 object built"
    assert laps.progress(prepared) == "waiting"
    laps.finish(runs, result(seconds={"cold": 20.0, "warm": 2.5}))
    assert (cold.seconds, warm.seconds, prepared.seconds) == (20.0, 2.5, None)


def test_its_progress_is_that_of_its_runs(qapp: QApplication) -> None:
    jobs = JobsModel()
    job = jobs.add("Verify", "verify", "/x")
    jobs.begin(job)
    job.laps = laps.waiting(["cold", "warm"])
    assert job.fraction() is None, "nobody knows how long the first takes"
    jobs.progress(job, 3_200_000, 3_200_000, "bytes")
    assert job.fraction() is None, "that all is copied says nothing of a run"
    assert not job.counts_bytes
    page = JobDetail()
    page.show_job(job)
    assert (page.bar.minimum(), page.bar.maximum()) == (0, 0)
    assert "MB" not in page.words.text()
    laps.heard(job.laps, {"run": {"name": "cold"}})
    jobs.progress(job, 2, 8, "steps")
    assert job.fraction() == 0.125
    laps.heard(job.laps, {"run": {"name": "warm"}})
    jobs.progress(job, 3_200_000, 3_200_000, "bytes")
    assert job.fraction() == 0.5
    page.show_job(job)
    assert page.bar.value() == page.bar.maximum() // 2
    assert page.words.text() == "Run 2 of 2"
    several = jobs.add("Verify", "verify", "/x")
    several.variants.hear({"variants": [
        {"index": n, "recipe": "r", "name": f"c{n}", "state": "queued"} for n in range(4)
    ]})  # fmt: skip
    jobs.progress(several, 3_200_000, 3_200_000, "bytes")
    assert several.fraction() is None
    several.variants.hear({"variant": {"index": 0, "state": "failed"}})
    assert several.fraction() == 0.25


def test_what_a_bundle_was_made_for_is_what_it_is_verified_with(qtbot: QtBot) -> None:
    options = CompileOptions("", "")
    qtbot.addWidget(options)
    assert options.params == {}
    assert options.spin.maximum() == MOST_THREADS, "no more than the engine takes"
    options.suggest(4, True)
    options.say({"threads": 2})
    assert options.params == {"threads": 4, "portable": True}
    options.say({"threads": 4})
    assert options.params == {"portable": True}, "so it is by itself"
    options.spin.setValue(8)
    options.say({"threads": 2})
    assert options.params == {"threads": 8, "portable": True}, "what was chosen stays"


@pytest.mark.slow
def test_the_last_verification_is_beside_each_place(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad"
    bad.joinpath("fxgraph").mkdir(parents=True)
    verified.keep(str(fixture_cache), verified.mark(str(fixture_cache)), "/python", result())
    missed = result(hits=0, misses=2, rebuilt=1, good=False)
    verified.keep(str(bad), verified.mark(str(bad)), "/python", missed)
    window = open_window(fixture_cache)
    line = "Verified just now: 8.0× as fast as cold, nothing was rebuilt"
    qtbot.waitUntil(window.head.beside.isVisible, timeout=PATIENCE)
    assert window.head.beside.accessibleName() == line
    index = window.places.index(window.places.row_of(str(fixture_cache)))
    assert line in index.data(Qt.ItemDataRole.ToolTipRole)
    assert line in index.data(Qt.ItemDataRole.AccessibleTextRole)
    # Another place has its own.
    window.open_paths([str(bad)])
    listed(qtbot, window, bad)
    index = window.places.index(window.places.row_of(str(bad)))
    qtbot.waitUntil(lambda: index.data(PlacesModel.VerifiedRole) is not None, timeout=PATIENCE)
    assert index.data(PlacesModel.VerifiedRole).icon == "error"
    qtbot.waitUntil(
        lambda: window.head.beside.accessibleName() == "Verification failed just now: nothing hit",
        timeout=PATIENCE,
    )
    # What has changed since is not what was verified.
    window.places_pane.choose(str(fixture_cache))
    listed(qtbot, window, fixture_cache)
    next(fixture_cache.rglob("*.main.so")).unlink()
    window.refresh()
    qtbot.waitUntil(
        lambda: window.head.beside.accessibleName().startswith("Changed since"), timeout=PATIENCE
    )
    # It is a way to verify again.
    click(qtbot, window.head.beside)
    [dialog] = window.findChildren(VerifyDialog)
    assert dialog.last.text().startswith("Changed since it was verified just now: 8.0×")
    dialog.reject()


def test_the_recipe_last_warmed_into_a_place_is_what_it_is_verified_with(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    shutil.copytree(_RECIPES, tmp_path / "recipes")
    first, last, elsewhere = (
        str(tmp_path / "recipes" / f"{name}.toml") for name in ("callable", "eager", "triton")
    )
    for recipe, into in ((first, place), (last, place), (elsewhere, tmp_path)):
        files.add(recipe)
        verified.keep_warmed([(recipe, 1, 0)], str(into))
    window = open_window(place)
    window.flows.verify()
    (dialog,) = window.findChildren(VerifyDialog)
    qtbot.waitUntil(lambda: dialog.recipe.names == [last], timeout=PATIENCE)
    qtbot.waitUntil(lambda: dialog.recipe.made is not None, timeout=PATIENCE)
    assert dialog.recipe.combo.currentData() == [last]
    assert (dialog.title.text(), dialog.place.path) == ("Does place still hit?", str(place))
    assert dialog.chosen == ["warm"], "which is what it asks"
    dialog.runs["cold"].setChecked(True)
    settle(qtbot)
    # What no run of the recipe can do is not asked for, and says why.
    script, compiles = str(tmp_path / "recipes" / "script.toml"), "A script compiles in"
    for recipe, why in ((last, "It holds graphs, and this recipe makes none"), (script, compiles)):
        dialog.recipe.choose([recipe])
        qtbot.waitUntil(lambda: dialog.recipe.made is not None, timeout=PATIENCE)
        settle(qtbot)
        assert dialog.chosen == ["cold", "warm"] and not dialog.runs["mega"].isEnabled()
        assert dialog.runs["mega"].accessibleDescription().lower().startswith(why.lower())
        assert any(x.text().startswith(why) for x in dialog.findChildren(QLabel) if x.isVisible())
    dialog.reject()
    # Another cache is chosen there, with what was warmed into that.
    window.places.add(str(tmp_path))
    dialog = window.flows._verify(str(place))
    dialog.place.combo.setCurrentIndex(dialog.place.combo.findData(str(tmp_path)))
    qtbot.waitUntil(lambda: dialog.recipe.names == [elsewhere], timeout=PATIENCE)
    assert dialog.title.text() == f"Does {tmp_path.name} still hit?"
    dialog.reject()
    # A warm-up begins with the same, and says where it goes.
    warm = window.flows.warm()
    qtbot.waitUntil(lambda: warm.recipe.names == [last], timeout=PATIENCE)
    assert warm.title.text() == "Warm place"
    warm.target.choose(str(tmp_path))
    qtbot.waitUntil(lambda: warm.recipe.names == [elsewhere], timeout=PATIENCE)
    # A program of one's own is run first.
    warm.recipe.combo.activated.emit(warm.recipe.combo.count() - 1)
    program = next(one for one in window.findChildren(ProgramDialog) if one.isVisible())
    assert not warm.isVisible() and "Save as recipe" in program.said.text()
    program.reject()
    dialog = window.flows._verify(str(place), [first])
    qtbot.waitUntil(lambda: dialog.recipe.made is not None, timeout=PATIENCE)
    dialog.place.choose(str(tmp_path))
    assert dialog.recipe.names == [first], "what was asked for"
    dialog.reject()


@pytest.mark.slow
def test_nothing_to_verify_is_said_and_nothing_runs(
    qtbot: QtBot, open_window: OpenWindow, torch_that_waits: Path, tmp_path: Path
) -> None:
    place = tmp_path / "empty"
    place.mkdir()
    window = open_window(place)
    dialog = asked(qtbot, window)
    assert dialog.go.isDefault(), "Enter in any field is enough for what is one's own"
    frames = [frame for name in ("notice", "hint") for frame in dialog.findChildren(QFrame, name)]
    shown = [frame.objectName() for frame in frames if frame.isVisible()]
    assert shown == ["hint"], "one's own folder is no alarm"
    assert [dialog.device.itemText(n) for n in range(dialog.device.count())] == [
        "The best one available", "cpu  (a CPU)", "cuda:0  (a GPU)",
    ]  # fmt: skip
    dialog.begin_with("", {"device": "cuda:0"})
    assert dialog.device.device == "cuda:0", "what it was warmed for"
    assert dialog.chosen == ["warm"]
    for name in ("cold", "mega", "prepared"):
        assert not dialog.runs[name].isChecked()
        dialog.runs[name].setChecked(True)
    assert dialog.chosen == ["cold", "mega", "warm", "prepared"]
    assert dialog.options.spin.text() == "As programs here: 3"
    # What makes no sense cannot be asked for.
    dialog.options.box.setChecked(True)
    dialog.runs["cold"].setChecked(False)
    assert dialog.chosen == ["warm"]
    assert not dialog.runs["mega"].isEnabled()
    assert not dialog.runs["prepared"].isEnabled()
    dialog.options.box.setChecked(False)
    dialog.runs["prepared"].setChecked(True)
    click(qtbot, dialog.go)
    idle(qtbot, window)
    [job] = window.jobs.jobs
    assert (job.kind, job.state) == ("verify", State.FAILED)
    assert job.asked["device"] == "cuda:0"
    assert job.error
    assert job.error.code == "nothing-to-verify"
    assert "There is nothing to verify" in told(window)
    assert not torch_that_waits.exists()
    assert verified.last(str(place)) is None
    dialog.reject()
    dialog = asked(qtbot, window)
    assert dialog.chosen == ["warm", "prepared"], "as the last time"
    dialog.reject()


@pytest.mark.slow
def test_a_verification_is_cancelled_and_leaves_nothing(
    qtbot: QtBot, open_window: OpenWindow, torch_that_waits: Path, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    dialog = asked(qtbot, window)
    for name in ("cold", "prepared"):
        dialog.runs[name].setChecked(False)
    click(qtbot, dialog.go)
    [job] = window.jobs.jobs
    qtbot.waitUntil(torch_that_waits.exists, timeout=PATIENCE)
    assert [lap.name for lap in job.laps] == ["warm"]
    after = window.following.drawer.detail.after
    assert after.laps.isVisibleTo(after)
    item = after.laps.items()[0]
    assert (item.text(0), item.text(1)) == ("As it is", "running")
    # One that compiles waits for it.
    later = window.operations.prepare(sys.executable, None)
    assert state(later) is State.QUEUED
    window.operations.cancel(later)
    window.following.drawer.choose(job)
    click(qtbot, window.following.drawer.cancel_button)
    qtbot.waitUntil(lambda: not job.active, timeout=PATIENCE)
    assert state(job) is State.CANCELLED
    assert window.following.drawer.detail.told.text().startswith("Cancelled.")
    assert verified.last(str(fixture_cache)) is None
    temporary = Path(os.environ["TMPDIR"])
    qtbot.waitUntil(lambda: not list(temporary.glob("torchkeeper-*/*")), timeout=PATIENCE)
    qtbot.waitUntil(lambda: not Path(job.scratch).exists(), timeout=PATIENCE)
    qtbot.waitUntil(
        lambda: not [c for c in children().values() if "torch" in c and "job" in c],
        timeout=PATIENCE,
    )
    dialog.reject()


@pytest.mark.slow
def test_a_preparation_needs_a_whole_path(
    qtbot: QtBot, open_window: OpenWindow, torch_that_waits: Path, tmp_path: Path
) -> None:
    window = open_window()
    window.actions_["prepare"].trigger()
    [dialog] = window.findChildren(PrepareDialog)
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    assert dialog.environment.python == sys.executable
    dialog.folder.setText("tmp")
    assert not dialog.go.isEnabled()
    assert dialog.wrong.isVisible()
    dialog.folder.setText(str(tmp_path) + "/")
    click(qtbot, dialog.go)
    [job] = window.jobs.jobs
    qtbot.waitUntil(torch_that_waits.exists, timeout=PATIENCE)
    click(qtbot, window.following.drawer.cancel_button)
    qtbot.waitUntil(lambda: not job.active, timeout=PATIENCE)
    assert state(job) is State.CANCELLED
    assert not list(tmp_path.glob("torchinductor_*"))
    dialog.reject()


@pytest.mark.torch
@pytest.mark.slow
def test_from_a_warm_place_to_a_bundle_that_is_as_fast(
    qtbot: QtBot,
    open_window: OpenWindow,
    settings: QSettings,
    tmp_path: Path,
    header_folder: Path,
    torch_python: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Portable, so that nothing has to build a header: warm, verify, export, verify, import."""
    monkeypatch.setenv("TMPDIR", str(header_folder))
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", torch_python)
    settings.setValue(KEY, torch_python)
    place, bundle, other = tmp_path / "warmed", tmp_path / "it.torchcache", tmp_path / "other"
    place.mkdir()
    window = open_window(place)
    warm = window.flows.warm()
    qtbot.waitUntil(warm.go.isEnabled, timeout=PATIENCE)
    warm.options.spin.setValue(2)
    warm.options.box.setChecked(True)
    click(qtbot, warm.go)
    done(qtbot, window)
    more = window.following.drawer.detail.after
    assert more.snippet.text() == "export TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS=0"
    assert more.snippet.isVisibleTo(more)
    job = verify(qtbot, window, place)
    assert job.result["good"], job.result
    assert (job.result["threads"], job.result["rebuilt"]) == (2, 0)
    export = window.flows.export()
    assert export is not None
    export.target.file.setText(str(bundle))
    qtbot.waitUntil(export.go.isEnabled, timeout=PATIENCE)
    assert "built all" in export.objects.text()
    click(qtbot, export.go)
    done(qtbot, window)
    window.places.add(str(bundle), bundle=True)
    window.places_pane.choose(str(bundle))
    listed(qtbot, window, bundle)
    job = verify(qtbot, window, bundle)
    assert job.result["good"], job.result
    assert any(line.startswith("Placed as an import would") for line in job.log)
    # It is removed aside: nobody waits for a disk because of it.
    qtbot.waitUntil(lambda: not Path(job.scratch).exists(), timeout=PATIENCE)
    imported = window.flows.open_import([str(bundle)])
    imported.target.combo.setEditText(str(other))
    assert imported.environment.python == torch_python
    qtbot.waitUntil(lambda: imported.known, timeout=PATIENCE)
    assert not imported.left.isVisible(), imported.left.text()
    click(qtbot, imported.go)
    done(qtbot, window)
    assert more.snippet.isVisibleTo(more)
    assert not more.offer.isVisible(), "there is no header to prepare"


@pytest.mark.torch
@pytest.mark.slow
def test_an_environment_is_prepared_once(
    qtbot: QtBot,
    open_window: OpenWindow,
    settings: QSettings,
    tmp_path: Path,
    torch_python: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", torch_python)
    settings.setValue(KEY, torch_python)
    window = open_window()
    for title in ("Prepared", "It was prepared already"):
        dialog = window.flows.prepare(torch_python)
        dialog.folder.setText(str(tmp_path / "temporary"))
        qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
        click(qtbot, dialog.go)
        job = done(qtbot, window)
        assert told(window).startswith(f"{title}.")
        assert str(tmp_path / "temporary") in told(window)
        assert any(line.startswith("Header ") for line in job.log), list(job.log)
    headers = [p for p in (tmp_path / "temporary").rglob("*.gch") if p.is_file()]
    assert len(headers) == window.jobs.jobs[0].result["there"] > 0
    shutil.rmtree(tmp_path / "temporary")  # it is large


def done(qtbot: QtBot, window: Window) -> Job:
    """The latest job, when it has ended well."""
    job = window.jobs.jobs[0]
    qtbot.waitUntil(lambda: not job.active, timeout=COMPILE)
    assert job.state is State.DONE, list(job.log)
    idle(qtbot, window)
    return job


def verify(qtbot: QtBot, window: Window, place: Path) -> Job:
    """A verification of what is shown, by nothing but the run with it."""
    dialog = asked(qtbot, window)
    dialog.runs["cold"].setChecked(False)
    dialog.options.spin.setValue(2)
    dialog.options.box.setChecked(True)
    click(qtbot, dialog.go)
    job = done(qtbot, window)
    qtbot.waitUntil(lambda: verified.last(str(place)) is not None, timeout=PATIENCE)
    qtbot.waitUntil(window.head.beside.isVisible, timeout=PATIENCE)
    assert window.following.drawer.detail.after.table.topLevelItemCount() == 1
    return job


@pytest.mark.slow
def test_the_result_says_what_to_do(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    job = window.jobs.add("Verify it", "verify", str(fixture_cache))
    window.jobs.begin(job)
    came: dict[str, Any] = result(hits=1, misses=1, rebuilt=2, good=False)
    window.jobs.end(job, State.DONE, result=came)
    window.following.show(job)
    assert told(window).startswith("Not good: 1 miss, 2 objects built again.")
    assert "Warm it with this recipe" in told(window)
    after = window.following.drawer.detail.after
    assert after.graphs.isVisibleTo(after) and after.graphs.topLevelItemCount() == 1


def test_misses_of_autograd_are_told_from_those_of_graphs(qtbot: QtBot) -> None:
    table = LapTable()
    qtbot.addWidget(table)
    runs = result()["runs"]
    runs["cold"] |= {"misses": 2, "autograd": {"hits": 0, "misses": 1}, "seconds": 250.0}
    table.resize(600, 120)
    table.show_result(result(runs=runs))
    table.show()
    for column in (1, 2, 4, 5):
        assert table.sizeHintForColumn(column) <= table.columnWidth(column), "nothing is cut"
    cold, warm = (table.topLevelItem(row) for row in range(2))
    assert cold is not None
    assert warm is not None
    assert (cold.text(4), warm.text(4)) == ("2 + 1", "0")
    assert cold.toolTip(4) == "2 graphs, and 1 entry of AOTAutograd, which holds them"
    # Another graph of the program may have a backward one, which hits.
    [said] = verifying.asides(result(runs={"warm": {**runs["warm"], "unwritten": 1}}))
    assert said.endswith("once its backward graph is compiled, and the program never runs that.")


@pytest.mark.slow
def test_a_verification_is_cancelled_while_its_place_does_not_answer(
    qtbot: QtBot,
    open_window: OpenWindow,
    torch_that_waits: Path,
    fixture_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, answer, real = threading.Event(), threading.Event(), verified.mark

    def as_on_a_dead_mount(place: str) -> str | None:
        begun.set()
        answer.wait(60)
        return real(place)

    window = open_window(fixture_cache)
    dialog = asked(qtbot, window)
    monkeypatch.setattr(verified, "mark", as_on_a_dead_mount)
    click(qtbot, dialog.go)
    [job] = window.jobs.jobs
    qtbot.waitUntil(begun.is_set, timeout=PATIENCE)
    click(qtbot, window.following.drawer.cancel_button)
    try:
        qtbot.waitUntil(lambda: not job.active, timeout=PATIENCE // 2)
    finally:
        answer.set()
    assert state(job) is State.CANCELLED
    # What it says after all starts nothing.
    qtbot.waitUntil(
        lambda: not any(t.name == "torchkeeper-look" for t in threading.enumerate()),
        timeout=PATIENCE,
    )
    idle(qtbot, window)
    assert not torch_that_waits.exists()
    dialog.reject()


@pytest.mark.slow
def test_nothing_is_left_of_a_verification_whose_engine_dies(
    qtbot: QtBot, open_window: OpenWindow, torch_that_waits: Path, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    dialog = asked(qtbot, window)
    click(qtbot, dialog.go)
    [job] = window.jobs.jobs
    qtbot.waitUntil(torch_that_waits.exists, timeout=PATIENCE)
    assert list(Path(job.scratch).glob("torchkeeper-verify-*"))
    lines = window.engines.worker._lines
    [line] = [x for x in lines if any(a.request.op == "verify" for a in x.asked.values())]
    os.kill(line.engine.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: not job.active, timeout=PATIENCE)
    assert state(job) is State.FAILED
    qtbot.waitUntil(lambda: not Path(job.scratch).exists(), timeout=PATIENCE)
    dialog.reject()


@pytest.mark.slow
def test_a_job_gives_way_and_what_is_looked_at_does_not(
    qtbot: QtBot, open_window: OpenWindow, torch_that_waits: Path, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    dialog = asked(qtbot, window)
    click(qtbot, dialog.go)
    qtbot.waitUntil(torch_that_waits.exists, timeout=PATIENCE)
    nice = {
        line.shared: os.getpriority(os.PRIO_PROCESS, line.engine.pid)
        for line in window.engines.worker._lines
    }
    assert nice == {True: own, False: max(own, NICE)}
    [job] = window.jobs.jobs
    click(qtbot, window.following.drawer.cancel_button)
    qtbot.waitUntil(lambda: not job.active, timeout=PATIENCE)
    dialog.reject()


def test_nobody_waits_for_a_large_folder_to_go_but_the_end(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, real, heard = threading.Event(), shutil.rmtree, list[str]()
    window = open_window()
    window.engines.scratch("verifying", Listener(result=heard.append))
    qtbot.waitUntil(lambda: len(heard) == 1, timeout=PATIENCE)
    folder = Path(heard[0])
    assert folder.name.startswith("torchkeeper-verifying-")

    def slow(path: str, ignore_errors: bool = False) -> None:
        if path == str(folder):
            answer.wait(60)
        real(path, ignore_errors)

    monkeypatch.setattr(shutil, "rmtree", slow)
    window.engines.discard(str(folder))
    # Who asks something else is answered.
    window.engines.scratch("drag", Listener(result=heard.append))
    try:
        qtbot.waitUntil(lambda: len(heard) == 2, timeout=PATIENCE // 2)
        window.close_surely()
        qtbot.waitUntil(lambda: not Path(heard[1]).exists(), timeout=PATIENCE)
        assert window.engines.running
        assert folder.exists()
    finally:
        answer.set()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    assert not folder.exists()


def test_what_is_prepared_for_another_user_has_to_be_given_to_him(qtbot: QtBot) -> None:
    folder = "/tmp/torchinductor_ada/precompiled_headers"
    came = {"built": 2, "there": 0, "bytes": 298_000_000, "seconds": 11.4, "folder": folder,
            "user": None}  # fmt: skip
    job = Job(1, "Prepare", "prepare", state=State.DONE, result=came)
    mine = outcome(job)
    assert mine.title == "Prepared"
    assert any(
        "Programs of user ada whose temporary folder is /tmp find what is there" in x
        for x in mine.lines
    )
    for counts in ({"built": 2}, {"built": 0, "there": 2}):
        job.result = {**came, **counts, "user": "ada"}
        theirs = outcome(job)
        assert any(x.endswith("chown -R ada /tmp/torchinductor_ada") for x in theirs.lines)


def test_what_is_not_good_is_said_as_on_the_command_line() -> None:
    missed = {"hits": 5, "graphs": 5, "autograd": {"hits": 0, "misses": 2}}
    run = {**result()["runs"]["warm"], **missed}
    traced = result(**missed, good=False, runs={"warm": run})
    job = Job(1, "Verify", "verify", state=State.DONE, result=verified.checked(traced))
    said = outcome(job)
    assert said.title == "Not good: 2 AOTAutograd misses"
    assert said.lines[0] == "5 of 5 graphs were found, no object rebuilt."
    assert said.lines[1:-1] == verifying.advice(job.result) != []
    assert Beside(Verified("/place", time.time(), job.result, "/python", None), False).line == (
        "Verification failed just now: 2 AOTAutograd misses"
    )
    # The run that was not good is named, not the last one, which was.
    runs = {"warm": {**run, "autograd": {"hits": 1, "misses": 0}, "misses": 1, "hits": 4},
            "prepared": result()["runs"]["warm"]}  # fmt: skip
    job.result = verified.checked(result(good=False, runs=runs))
    job.asked["made_threads"] = 4
    said = outcome(job)
    assert said.title == "Not good as it is: 1 miss"
    assert said.lines[0] == "4 of 5 graphs were found, no object rebuilt."
    assert said.lines[1:-1] == verifying.advice(job.result, 4)
    assert any("OMP_NUM_THREADS=4" in line for line in said.lines)


@pytest.mark.slow
def test_after_an_import_is_said_what_its_objects_want(
    qtbot: QtBot,
    open_window: OpenWindow,
    fixture_cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on the command line: a header to prepare, or the variable that does without."""
    monkeypatch.setattr(tempfile, "tempdir", os.environ["HOME"])
    [first, _] = NATIVE["commands"]
    rename(fixture_cache, first["extra"])
    window = open_window()
    here = Naming("/here", (("know", {"python": "/here", "env": FACTS}),))
    for number, (headers, named) in enumerate([(True, here), (False, None)]):
        text = f"{first['portable']} -D TORCH_INDUCTOR_CPP_WRAPPER"
        text += " -D TORCH_INDUCTOR_PRECOMPILE_HEADERS" if headers else ""
        builders = {**NATIVE, "commands": [{**first, "portable": text}]}
        bundle = str(tmp_path / f"{number}.torchcache")
        with Engine() as engine:
            params = {"place": str(fixture_cache), "output": bundle, "builders": builders,
                      "secrets": "allow"}  # fmt: skip
            engine.call("export", params)
            abouts = engine.call("origin", {"files": [bundle]})["files"]
        seen_of = [About(one["file"], one, "") for one in abouts]
        job = window.operations.import_files([bundle], str(tmp_path / str(number)), named, seen_of)
        done(qtbot, window)
        more = Aftermath()
        qtbot.addWidget(more)
        more.show_job(job)
        python = "/here" if named else None
        said = "\n".join(carrying.advice(abouts, python))
        seen = [x for x in (more.condition, more.why) if x.isVisibleTo(more)]
        assert all(x.text() in said for x in seen)
        assert more.offer.isVisibleTo(more) is bool(headers and named) is (preparing.WHY in said)
        assert more.snippet.isVisibleTo(more) is (not headers)
        assert (more.snippet.text() in said) is (not headers)
        assert len(seen) == (headers and named is not None) + (not headers)
        if named is None:
            continue
        # Where a program has had it built by now, there is nothing to prepare.
        header = Path(places.default_folder(), HEADERS, "cpython.h.gch")
        header.parent.mkdir(parents=True)
        header.write_bytes(b"built")
        again = window.operations.repeat(job)
        assert again is not None
        done(qtbot, window)
        assert again.asked["offer_prepare"] is False


def test_the_tabs_of_a_result_are_whole(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    window.resize(1366, 768)
    job = window.jobs.add("Verify it", "verify", str(fixture_cache))
    job.laps = laps.waiting(RUNS)
    window.jobs.begin(job)
    window.following.show(job)
    settle(qtbot)
    window.jobs.end(job, State.DONE, result=result(variants=[]))
    settle(qtbot)
    tabs = window.following.drawer.detail.tabs
    bar, texts = tabs.tabBar(), list[str]()
    for at in (at for at in range(bar.count()) if bar.isTabVisible(at)):
        texts.append(bar.tabText(at))
        room = bar.tabRect(at)
        assert room.width() >= bar.fontMetrics().horizontalAdvance(texts[-1]) + 20, texts
        assert bar.rect().contains(room), texts
    assert texts == ["Log", "Result"]
