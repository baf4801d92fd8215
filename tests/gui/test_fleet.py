"""The Fleet page: what it shows of nodes and cells, and what can be done with a fleet."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu
from pytestqt.qtbot import QtBot

from tests.fleet.conftest import BAD, KERNELS
from tests.gui.conftest import PATIENCE, OpenWindow, click, idle, key, sample_window, settle
from tests.gui.test_flows import open_dialog
from tests.gui.test_look import contrast
from tests.pace import within
from tests.shots import sample_fleet, sample_recipes
from tests.shots.sample_engines import SampleEngines
from tests.ssh.conftest import SSHD, Machine, config, started
from torchkeeper.client.engines import line
from torchkeeper.client.kept import hosts
from torchkeeper.client.kept import targets as kept
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine.messages.fleet import CellFinding, FleetParams, FleetResult, NodeFinding
from torchkeeper.engine.protocol import FLEET
from torchkeeper.fleet.last import Keeper
from torchkeeper.fleet.state import folder_of
from torchkeeper.gui.activity.shown import past_of, progress, told
from torchkeeper.gui.dialogs.fleet import FleetDialog, TargetDialog
from torchkeeper.gui.jobs.hearing import heard
from torchkeeper.gui.jobs.model import Job, JobsModel, State
from torchkeeper.gui.matrix import cells as words
from torchkeeper.gui.matrix.cells import COMPILING, FAILED, PROVEN, WAITING, WARM, Cells
from torchkeeper.gui.matrix.grid import CellsModel, MatrixView
from torchkeeper.gui.pages.fleet.nodes import DEVICES, HAS, NOW, STATE, NodeList
from torchkeeper.gui.pages.fleet.page import FleetPage
from torchkeeper.gui.pages.fleet.told import node as told_of
from torchkeeper.gui.pages.recipes.page import RecipesPage
from torchkeeper.gui.places.targets import typed
from torchkeeper.gui.theme import DARK, LIGHT
from torchkeeper.gui.window import Window

#: Seconds of the main thread's own time in one turn of the event loop.
SLICE = 0.016
ADD = """[[triton]]
kernel = "kernels.py:add"
signature = { x = "*fp32:16", y = "*fp32:16", n = "i32" }
targets = ["cuda:80", "cuda:90"]
[matrix]
B = [64, 128]
"""


def cell(number: int, state: str, kind: str = "", **more: Any) -> CellFinding:
    one: CellFinding = {
        "cell": f"{number:x}-{kind}", "state": state, "index": number, "recipe": "r",
        "name": f"add, B {number}", "source": "triton", "kind": kind,
    }  # fmt: skip
    return cast("CellFinding", {**one, **more})


def page_of(window: Window) -> FleetPage:
    page = window.show_page("fleet")
    assert isinstance(page, FleetPage)
    return page


def begin(jobs: JobsModel, place: str = sample_fleet.BUNDLE) -> Job:
    job = jobs.add("Warm it on several machines", FLEET, place)
    job.asked = {"recipes": ["builtin"], "on": ["gpus", "local"], "prove": True}
    jobs.begin(job)
    return job


def texts(model: CellsModel, row: int) -> list[str]:
    return [str(model.index(row, column).data()) for column in range(model.columnCount())]


@pytest.fixture(autouse=True)
def nothing_before() -> None:
    """No run of another test is kept."""
    shutil.rmtree(os.path.dirname(folder_of("")), ignore_errors=True)


@pytest.fixture
def window(qtbot: QtBot, settings: QSettings) -> Iterator[Window]:
    """The window over the samples, with targets."""
    engines = SampleEngines()
    engines.targets = list(sample_fleet.KEPT)
    with sample_window(qtbot, settings, engines, 1360, 800) as made:
        yield made


# What is told of cells and nodes.


def test_what_is_told_of_cells_is_known() -> None:
    cells = Cells()
    sample_fleet.fill(cells, over=False)
    assert len(cells.rows) == 21
    assert cells.counts[PROVEN] == 4
    assert cells.counts[WAITING] == 7
    assert sorted(cells.at["ssh://gpu1"]) == ["00050"]
    assert cells.has["ssh://gpu3"] == 3
    assert cells.gathered["ssh://gpu1"] == (34, 34 * 91_000)
    log = cells.log_of("00050")
    assert log is not None
    assert log.lines()[0] == "decode, batch 32: compiling"
    before = Counter(row["state"] for row in cells.rows.values())
    assert +cells.counts == before
    cells.end()
    assert not any(cells.at.values())
    assert cells.counts[COMPILING] == 0
    assert cells.counts[WAITING] == 10
    assert cells.counts[WARM] == before[WARM] + 1


def test_a_cell_that_is_told_again_is_counted_once() -> None:
    cells = Cells()
    cells.hear({"cells": [cell(1, WAITING)]})
    for state, node in ((COMPILING, "a"), (WAITING, ""), (COMPILING, "b"), (WARM, "b")):
        cells.hear({"cell": cell(1, state, node=node)})
    cells.hear({"cell": cell(1, PROVEN, node="b", proved_on="a", found=0.1, seconds=2.0)})
    assert +cells.counts == Counter({PROVEN: 1})
    assert +cells.has == Counter({"b": 1})
    assert not any(cells.at.values())
    assert cells.order == ["1-"]
    assert words.short(cells.rows["1-"]) == "proven · 2.0 s → 0.10 s"


def test_each_state_has_a_word_an_icon_and_a_contrast() -> None:
    states = ("proven", "warm", "partly", "failed", "impossible", "waiting", "compiling", "proving")
    assert len({words.state_words(one) for one in states}) == len(states)
    assert len({words.mark(one)[0] for one in states}) == len(states)
    assert all(words.about(one) for one in states)
    for shades in (LIGHT, DARK):
        for one in states:
            assert contrast(getattr(shades, words.mark(one)[1]), shades.base) >= 3.0


def test_what_strangers_wrote_is_plain_and_bounded(qtbot: QtBot) -> None:
    bad = "<b>\x1b[31m\u202e" + "x" * 100_000
    cells, nodes, matrix = Cells(), NodeList(), MatrixView()
    for one in (nodes, matrix):
        qtbot.addWidget(one)
    first: Any = sample_fleet.nodes()[0]
    node = {**first, "name": bad, "kind": bad, "torch": bad, "devices": [bad],
            "labels": {bad: bad}, "state": bad}  # fmt: skip
    cells.take_node(cast("NodeFinding", node))
    row = cell(1, bad, bad, node=bad, recipe=bad, name=bad, log=[bad],
               problem={"code": bad, "params": {bad: bad}})  # fmt: skip
    cells.hear({"cells": [row]})
    cells.hear({"cell_log": {"cell": row["cell"], "line": bad}})
    matrix.cells.show_cells(cells)
    matrix.cells.refresh()
    nodes.show_nodes(cells)
    said = [*texts(matrix.cells, 0), words.told(row), str(words.error_of(row["problem"]))[:4000],
            matrix.cells.headerData(1, Qt.Orientation.Horizontal)]  # fmt: skip
    item = nodes.topLevelItem(0)
    assert item is not None
    said += [item.text(column) for column in range(HAS + 1)]
    log = cells.log_of(row["cell"])
    assert log is not None
    said += log.lines()
    for text in said:
        assert len(text) < 10_000
        assert not any(mark in text for mark in "\x1b\u202e")
    tips = [matrix.cells.index(0, n).data(Qt.ItemDataRole.ToolTipRole) for n in (0, 1)]
    assert not any("<b>" in tip for tip in tips)


# The matrix.


def test_the_matrix_has_a_line_for_each_variant_and_a_column_for_each_kind(qtbot: QtBot) -> None:
    cells, matrix = Cells(), MatrixView()
    qtbot.addWidget(matrix)
    sample_fleet.fill(cells, over=True)
    matrix.cells.show_cells(cells)
    assert not matrix.cells.refresh()
    model = matrix.cells
    assert (model.rowCount(), model.columnCount()) == (7, 4)
    heads = [model.headerData(n, Qt.Orientation.Horizontal) for n in range(4)]
    assert heads == ["Variant", "NVIDIA H100", "NVIDIA A100", "CPU avx512"]
    assert texts(model, 2)[:2] == ["decode, batch 4, bfloat16", "failed"]
    spoken = model.index(2, 1).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "decode, batch 4, bfloat16, " + sample_fleet.KINDS[0] + ": failed"
    model.only_bad(True)
    assert [texts(model, n)[0] for n in range(model.rowCount())] == [
        "decode, batch 2, bfloat16", "decode, batch 4, bfloat16", "decode, batch 64, bfloat16",
    ]  # fmt: skip
    matrix.go_to("00020")
    assert matrix.current == "00020"
    matrix.go_to("00000")  # it is not shown
    assert matrix.current == "00020"
    model.only_bad(False)
    assert model.rowCount() == 7
    matrix.go_to("00020")
    matrix.show()
    key(qtbot, matrix, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QGuiApplication.clipboard().text().split("\t")
    assert copied[:2] == ["decode, batch 4, bfloat16", "failed"]


def test_kinds_that_are_called_alike_are_told_apart() -> None:
    cells, model = Cells(), CellsModel()
    kinds = "H100, torch 2.9 · aa", "H100, torch 2.9 · bb", "CPU, torch 2.9 · cc", ""
    cells.hear({"cells": [cell(1, WARM, kind) for kind in kinds]})
    model.show_cells(cells)
    model.refresh()
    heads = [model.headerData(n, Qt.Orientation.Horizontal) for n in range(1, 5)]
    assert heads == ["H100\ntorch 2.9 · aa", "H100\ntorch 2.9 · bb", "CPU", "Any node"]


def test_no_slice_is_long_while_ten_thousand_cells_come(qtbot: QtBot, window: Window) -> None:
    page = page_of(window)
    job, kinds = begin(window.jobs), [f"GPU {n}, torch 2.9 · {n}" for n in range(4)]
    for node in sample_fleet.nodes():
        heard(job, {"node": node})
    every = [cell(n, WAITING, kind) for n in range(2_500) for kind in kinds]
    turns: list[float] = []

    def turn() -> None:
        begun = time.thread_time()
        QApplication.processEvents()
        turns.append(time.thread_time() - begun)

    def tell(finding: Any) -> None:
        # As the worker gives it to the main thread.
        begun = time.thread_time()
        heard(job, finding)
        window.jobs.touch(job)
        turns.append(time.thread_time() - begun)
        turn()

    turn()
    turns.clear()
    for first in range(0, len(every), 200):
        tell({"cells": every[first : first + 200]})
    while page.matrix.cells.rowCount() < 2_500:
        page._refresh()
        turn()
    for number in range(0, 2_500, 3):
        tell({"cell": cell(number, COMPILING, kinds[0], node="ssh://gpu1")})
        tell({"cell_log": {"cell": every[4 * number]["cell"], "line": "a line of its log"}})
    qtbot.waitUntil(lambda: not job.cells.changed, timeout=PATIENCE)
    assert page.matrix.cells.rowCount() == 2_500
    assert len(job.cells.order) == 10_000
    page.bad.setChecked(True)
    turn()
    page.bad.setChecked(False)
    turn()
    # One may be late: Python may have looked for garbage just then.
    assert sorted(turns)[-3] < within(SLICE)


def test_however_cells_come_the_matrix_is_the_same() -> None:
    every = [cell(n, WAITING, kind) for n in range(40) for kind in ("a", "b")]
    models = []
    for step in (1, 7, 80):
        cells, model = Cells(), CellsModel()
        model.show_cells(cells)
        for first in range(0, len(every), step):
            cells.hear({"cells": every[first : first + step]})
            model.refresh()
        models.append([texts(model, n) for n in range(model.rowCount())])
    assert models[0] == models[1] == models[2]
    assert len(models[0]) == 40


# The page.


def test_an_empty_page_says_what_a_fleet_is_and_begins_one(qtbot: QtBot, window: Window) -> None:
    page = page_of(window)
    settle(qtbot)
    qtbot.waitUntil(lambda: "gpu1" in page.blank.text.text(), timeout=PATIENCE)
    assert page.blank.isVisible()
    assert "choose them and a recipe" in page.blank.text.text()
    assert not page.new.isVisible()
    assert page.nodes.topLevelItemCount() == len(sample_fleet.KEPT)
    assert page.first is page.blank.button
    assert page.blank.button is not None
    click(qtbot, page.blank.button)
    dialog = open_dialog(qtbot, window, FleetDialog)
    assert dialog.prove.isChecked()
    assert dialog.targets.chosen == ["local"]
    dialog.reject()


def test_a_fleet_is_followed_as_it_goes(qtbot: QtBot, window: Window) -> None:
    page = page_of(window)
    job = begin(window.jobs)
    sample_fleet.fill(job.cells, over=False)
    window.jobs.touch(job)
    qtbot.waitUntil(lambda: page.matrix.cells.rowCount() == 7, timeout=PATIENCE)
    settle(qtbot)
    assert page.name.text() == "Warming llama.torchcache"
    assert page.facts.text().startswith("4 proven, 4 warm, 1 partly found, 1 failed")
    assert "gpus and this machine" in page.where.text()
    assert page.cancel.isVisible()
    assert not page.redo.isVisible()
    # Until somebody chooses, what is compiled is shown.
    assert page.detail.name.text() == "decode, batch 8, bfloat16"
    item = page.nodes.topLevelItem(0)
    assert item is not None
    assert [item.text(n) for n in (STATE, DEVICES, NOW, HAS)] == [
        "ready", "NVIDIA H100, NVIDIA H100", "decode, batch 32, bfloat16", "4 cells",
    ]  # fmt: skip
    lost = page.nodes.topLevelItem(4)
    assert lost is not None
    assert lost.text(STATE) == "not usable"
    page._touch()
    page.matrix.go_to("00050")
    assert page.detail.log.toPlainText().splitlines()[0] == "decode, batch 32: compiling"
    heard(job, {"cell_log": {"cell": "00050", "line": "one more"}})
    window.jobs.touch(job)
    qtbot.waitUntil(lambda: "one more" in page.detail.log.toPlainText(), timeout=PATIENCE)
    assert progress(job).startswith("4 proven · 4 warm")
    assert job.fraction() == (4 + 1 + 1 + 5 / 2) / 21


def test_of_a_fleet_that_has_ended_the_first_that_is_no_good_is_told(
    qtbot: QtBot, window: Window
) -> None:
    page, job = page_of(window), begin(window.jobs)
    sample_fleet.fill(job.cells, over=True)
    window.jobs.end(job, State.DONE, result=sample_fleet.result(job.cells))
    qtbot.waitUntil(lambda: page.detail.name.text() != "", timeout=PATIENCE)
    assert job.flawed
    assert page.name.text() == "18 of 21 cells proven"
    assert "Tried on ssh://gpu3 · 3 hits, 1 miss · 1 object rebuilt" in page.detail.facts.text()
    page._touch()
    page.matrix.go_to("00020")
    assert page.detail.notice.what.text() == "It failed on ssh://gpu1, ssh://gpu2."
    assert page.detail.log.toPlainText().splitlines() == ["ssh://gpu1:", *sample_fleet.LOG]
    click(qtbot, page.detail.copy)
    assert QGuiApplication.clipboard().text().splitlines()[0] == "decode, batch 4, bfloat16"
    assert page.redo.isVisible()
    assert page.open.isVisible()
    assert not page.cancel.isVisible()
    assert page.warning == "2 cells of the last fleet to be done again"
    assert told(job)[0] == "18 of 21 cells proven."
    assert "4 graphs came from other nodes." in told(job)
    assert past_of(job).good is False
    window.following.show(job)
    settle(qtbot)
    assert not window.following.drawer.verify.isVisible()
    window.flows.results.open(job)
    assert window.pages.current == "fleet"


def test_each_fleet_of_the_session_can_be_looked_at(qtbot: QtBot, window: Window) -> None:
    page = page_of(window)
    first, second = begin(window.jobs), begin(window.jobs, "/srv/other")
    sample_fleet.fill(first.cells, over=True)
    settle(qtbot)
    assert page.job is second
    assert page.runs.isVisible()
    page.runs.setCurrentIndex(page.runs.findData(first.id))
    page.runs.activated.emit(page.runs.currentIndex())
    qtbot.waitUntil(lambda: page.matrix.cells.rowCount() == 7, timeout=PATIENCE)
    third = begin(window.jobs)
    assert page.job is first  # somebody chose it
    page.runs.setCurrentIndex(page.runs.findData(third.id))
    page.runs.activated.emit(page.runs.currentIndex())
    assert page.job is third


def test_with_what_is_warm_and_not_proven_a_proof_is_offered(qtbot: QtBot, window: Window) -> None:
    page, job = page_of(window), begin(window.jobs)
    job.asked["prove"] = False
    job.cells.hear({"cells": [cell(n, WARM, node="local") for n in range(3)]})
    window.jobs.end(job, State.DONE, result=sample_fleet.result(job.cells))
    qtbot.waitUntil(page.prove.isVisible, timeout=PATIENCE)
    assert not page.redo.isVisible()
    assert not job.flawed
    click(qtbot, page.prove)
    again = window.jobs.jobs[0]
    assert again is not job
    assert again.asked["prove"] is True
    assert again.asked["on"] == ["gpus", "local"]
    assert again.place == job.place


def test_what_can_be_seen_is_reached_by_the_keyboard_and_has_a_name(
    qtbot: QtBot, window: Window
) -> None:
    page, job = page_of(window), begin(window.jobs)
    sample_fleet.fill(job.cells, over=True)
    window.jobs.end(job, State.DONE, result=sample_fleet.result(job.cells))
    qtbot.waitUntil(page.redo.isVisible, timeout=PATIENCE)
    for one in (page.nodes, page.matrix, page.runs, page.detail.log, page.bar):
        assert one.accessibleName()
    page.matrix.setFocus()
    page.matrix.go_to("00020")
    key(qtbot, page.matrix, Qt.Key.Key_Right)
    assert page.matrix.current == "00021"
    key(qtbot, page.matrix, Qt.Key.Key_Down)
    assert page.matrix.current == "00031"


# Targets.


def test_a_target_is_kept_removed_and_put_back(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    more, targets = window.more, window.flows.fleet.targets
    qtbot.waitUntil(lambda: targets.read, timeout=PATIENCE)
    assert more.targets.note.text()
    window.actions_["add-target"].trigger()
    dialog = open_dialog(qtbot, window, TargetDialog)
    dialog.name.setText("nothing://like/that")
    click(qtbot, dialog.go)
    qtbot.waitUntil(lambda: dialog.wrong.text() != "", timeout=PATIENCE)
    dialog.name.setText("ssh://gpu[1-2]")
    click(qtbot, dialog.go)
    shown = more.targets.list
    qtbot.waitUntil(lambda: shown.items.rowCount() == 2, timeout=PATIENCE)
    assert [one.machine for one in hosts.hosts()] == ["ssh://gpu1", "ssh://gpu2"]
    assert not more.targets.note.isVisible()
    hosts.add(["gpu1"], "a")
    targets.refresh()
    qtbot.waitUntil(lambda: shown.items.rowCount() == 3, timeout=PATIENCE)

    def names() -> list[str]:
        items = shown.items
        return sorted(str(items.index(n, 0).data()) for n in range(items.rowCount()))

    for name, left in (("gpu1", ["gpu2"]), ("a", ["gpu1", "gpu2"])):
        every = [shown.items.index(n, 0) for n in range(3)]
        shown.setCurrentIndex(next(one for one in every if one.data() == name))
        shown.setFocus()
        key(qtbot, shown, Qt.Key.Key_Delete)
        qtbot.waitUntil(partial(lambda left: names() == left, left), timeout=PATIENCE)
        qtbot.waitUntil(window.actions_["undo"].isEnabled, timeout=PATIENCE)
        window.actions_["undo"].trigger()
        qtbot.waitUntil(lambda: names() == ["a", "gpu1", "gpu2"], timeout=PATIENCE)
    assert set(hosts.hosts()) == {("ssh://gpu1", "a"), ("ssh://gpu2", "")}


def test_what_is_no_machine_is_kept_beside_them(own_home: Path) -> None:
    kept.add("http://head:8265")
    kept.add("ssh://gpu1")
    kept.add("http://head:8265")
    assert [(one.name, one.kind) for one in kept.targets()] == [
        ("ssh://gpu1", "host"), ("http://head:8265", "other"),
    ]  # fmt: skip
    gone = kept.remove("http://head:8265")
    assert [one.name for one in kept.targets()] == ["ssh://gpu1"]
    kept.put_back(gone)
    assert len(kept.targets()) == 2
    (own_home / "config/torchkeeper/targets.json").write_text("{}")
    with pytest.raises(UserError, match="list of targets"):
        kept.targets()


def test_who_types_a_host_means_it() -> None:
    assert typed(" ada@build ") == "ssh://ada@build"
    assert typed("gpu1.example") == "ssh://gpu1.example"
    assert typed("slurm") == "slurm"
    assert typed("http://head.example:8265") == "http://head.example:8265"


def test_the_dialog_begins_with_what_it_was_asked_for(qtbot: QtBot, window: Window) -> None:
    page = window.show_page("recipes")
    assert isinstance(page, RecipesPage)
    qtbot.waitUntil(page.spread.isEnabled, timeout=PATIENCE)
    settle(qtbot)
    page.choose(sample_recipes.FOLDER)
    click(qtbot, page.spread)
    dialog = open_dialog(qtbot, window, FleetDialog)
    assert dialog.recipe.names == [sample_recipes.FOLDER]
    dialog.reject()
    more = window.more
    qtbot.waitUntil(lambda: more.targets.list.items.rowCount() == 5, timeout=PATIENCE)
    more.targets.list.setCurrentIndex(more.targets.list.items.index(1, 0))
    window.actions_.over = "targets"  # its menu is open
    for name in ("targets", "places"):
        assert "fleet-warm" in [one.id for one in window.actions_.context(name)]
    window.actions_["fleet-warm"].trigger()
    dialog = [one for one in window.findChildren(FleetDialog) if one.isVisible()][-1]
    assert dialog.targets.chosen == ["ssh://gpu1"]
    for text, path in (("relative/path", None), ("redis://cache:6379", "redis://cache:6379")):
        dialog.into.combo.setEditText(text)
        assert dialog.into.path == path
        assert bool(dialog.wrong.text()) is (path is None)
    dialog.targets.another.setText("ssh://gpu9")
    assert "not added yet" in dialog.note.text()
    dialog.reject()
    window.actions_.over = ""


# Real fleets.


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    folder = tmp_path / "recipes"
    folder.mkdir()
    (folder / "kernels.py").write_text(KERNELS)
    (folder / "add.toml").write_text(ADD)
    return folder


def test_a_fleet_of_this_machine_warms_a_bundle_and_proves_it(
    qtbot: QtBot, open_window: OpenWindow, recipes: Path, tmp_path: Path, torch_python: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """From the page to a proven bundle; the same again compiles nothing; what has failed is told
    with its log, and done again once it is mended.
    """
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", torch_python)
    window = open_window()
    page, bundle = page_of(window), tmp_path / "all.torchcache"
    # One that is good and one that fails: more would be the same (tests/fleet has 24).
    (recipes / "add.toml").write_text(ADD.replace('"cuda:80", ', "").replace(", 128]", "]"))
    (recipes / "bad.toml").write_text(BAD)
    dialog = window.flows.fleet.warm([str(recipes)])
    dialog.into.choose(str(bundle))
    assert not dialog.share.isChecked()
    dialog.share.setChecked(True)
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    click(qtbot, dialog.go)
    assert window.pages.current == "fleet"
    assert window.following.open is None  # nothing covers the matrix
    idle(qtbot, window)
    job = window.jobs.jobs[0]
    assert job.state is State.DONE, job.error
    assert job.cells.counts[PROVEN] == 1, job.cells.rows
    assert job.cells.counts[FAILED] == 1
    assert bundle.is_file()
    settle(qtbot)
    qtbot.waitUntil(
        lambda: "nothing_of_this_name" in page.detail.log.toPlainText(), timeout=PATIENCE
    )
    assert page.detail.notice.what.text() == "It failed on local."
    assert page.about_nodes.text() == "1 of 1 node ready"
    (recipes / "kernels.py").write_text(KERNELS.replace("nothing_of_this_name", "1.0"))
    click(qtbot, page.redo)
    idle(qtbot, window)
    again = window.jobs.jobs[0]
    assert again is not job
    assert job.asked["share"] is again.asked["share"] is True
    report = tmp_path / "report.html"
    qtbot.waitUntil(page.report.isVisible, timeout=PATIENCE)
    click(qtbot, page.report)
    asking = open_dialog(qtbot, window, QFileDialog)
    asking.selectFile(str(report))
    asking.accept()
    qtbot.waitUntil(report.is_file, timeout=PATIENCE)
    assert "All 2 cells are proven" in report.read_text()
    result: FleetResult = again.result
    assert again.fruit == str(bundle)
    assert past_of(again).bundle
    assert again.cells.counts[PROVEN] == 2, again.cells.rows
    assert again.good
    qtbot.waitUntil(lambda: page.name.text() == "Warm and proven: 2 cells", timeout=PATIENCE)
    assert not page.redo.isVisible()
    assert result["cut"] is False
    click(qtbot, page.open)
    qtbot.waitUntil(lambda: window.place == str(bundle), timeout=PATIENCE)
    idle(qtbot, window)
    assert window.entries.rowCount() == 2
    assert any(place.path == str(bundle) and place.bundle for place in window.places.places)


@pytest.mark.slow
def test_a_fleet_that_is_cancelled_keeps_what_was_done_and_goes_on(
    qtbot: QtBot, open_window: OpenWindow, recipes: Path, tmp_path: Path, torch_python: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", torch_python)
    (recipes / "add.toml").write_text(ADD.replace("[64, 128]", "[32, 64, 128, 256, 512, 1024]"))
    window = open_window()
    page, place = page_of(window), tmp_path / "place"
    job = window.flows.fleet._begin([str(recipes)], ["local"], str(place), {"prove": False})
    qtbot.waitUntil(lambda: job.cells.counts[WARM] > 0 or not job.active, timeout=PATIENCE)
    qtbot.waitUntil(page.cancel.isVisible, timeout=PATIENCE)
    click(qtbot, page.cancel)
    idle(qtbot, window)
    assert job.state is State.CANCELLED, (job.state, job.error)
    done = job.cells.counts[WARM]
    assert 0 < done < 12
    assert not job.cells.at.get("local")
    assert "what is done stays" in job.note
    qtbot.waitUntil(lambda: page.redo.isVisible() and "on" in page.redo.text(), timeout=PATIENCE)
    click(qtbot, page.redo)
    idle(qtbot, window)
    again = window.jobs.jobs[0]
    assert again.state is State.DONE, again.error
    assert again.result["there"] == done
    assert again.result["compiled"] == 12 - done
    assert again.cells.counts[WARM] == 12


def test_targets_are_asked_what_they_have(qtbot: QtBot, open_window: OpenWindow, torch_python: str,
                                          monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", torch_python)
    window = open_window()
    page = page_of(window)
    qtbot.waitUntil(page.ask.isEnabled, timeout=PATIENCE)
    page._ask()
    qtbot.waitUntil(lambda: page.about_nodes.text() == "1 of 1 node ready", timeout=PATIENCE)
    item = page.nodes.topLevelItem(0)
    assert item is not None
    assert item.text(STATE) == "ready"
    assert not window.jobs.jobs


@pytest.mark.slow
def test_two_hosts_of_the_sidebar_come_to_a_proven_bundle(
    qtbot: QtBot, open_window: OpenWindow, recipes: Path, tmp_path: Path, torch_python: str,
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    """As a new user does it: two hosts are in the sidebar, and the page offers them."""
    if SSHD is None:
        pytest.skip("there is no OpenSSH server here")
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", torch_python)
    with (
        started(tmp_path_factory.mktemp("h1")) as one,
        started(tmp_path_factory.mktemp("h2")) as two,
    ):
        _configured([one, two], monkeypatch)
        hosts.add(["ssh://h0", "ssh://h1"])
        window = open_window()
        page, bundle = page_of(window), tmp_path / "all.torchcache"
        qtbot.waitUntil(lambda: "h0 and h1" in page.blank.text.text(), timeout=PATIENCE)
        assert page.blank.button is not None
        click(qtbot, page.blank.button)
        dialog = open_dialog(qtbot, window, FleetDialog)
        dialog.recipe.choose([str(recipes)])
        dialog.into.choose(str(bundle))
        dialog.python.setText(torch_python)
        for row in range(dialog.targets.list.count()):
            on = dialog.targets.list.item(row).data(Qt.ItemDataRole.UserRole) != "local"
            state = Qt.CheckState.Checked if on else Qt.CheckState.Unchecked
            dialog.targets.list.item(row).setCheckState(state)
        assert dialog.targets.chosen == ["ssh://h0", "ssh://h1"]
        qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
        click(qtbot, dialog.go)
        idle(qtbot, window)
        job = window.jobs.jobs[0]
        assert job.state is State.DONE, job.error
        assert job.cells.counts[PROVEN] == 4, list(job.log)
        assert all(row["node"] != row["proved_on"] for row in job.cells.rows.values())
        assert {row["node"] for row in job.cells.rows.values()} <= {"ssh://h0", "ssh://h1"}
        assert bundle.is_file()
        line.close_all()


def _configured(machines: list[Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the ssh of this test know them as h0 and h1."""
    said = []
    for number, one in enumerate(machines):
        config(one)
        said.append(one.config.read_text().replace("Host there", f"Host h{number}"))
    machines[0].config.write_text("".join(said))
    monkeypatch.setenv("PATH", f"{machines[0].folder}/ours:{os.environ['PATH']}")


# What an earlier start has left.


def keep(place: str, *, ended: bool, named: Sequence[str] = ("/r/decode.toml",)) -> None:
    """Have a run of another start of which a place has a state."""
    folder, cells = folder_of(place), Cells()
    os.makedirs(folder, exist_ok=True)
    sample_fleet.fill(cells, over=ended)
    params: FleetParams = {"into": place, "on": ["gpus", "local"], "named": named, "prove": True}
    keeper = Keeper(folder, params, sample_fleet.nodes())
    keeper.keep(cells.rows.values(), sample_fleet.result(cells) if ended else None)


def test_the_last_run_of_a_place_is_shown_again_and_goes_on(
    qtbot: QtBot, open_window: OpenWindow, own_home: Path
) -> None:
    keep("/srv/older", ended=True)
    keep(sample_fleet.BUNDLE, ended=False)
    window = open_window()
    page = page_of(window)
    qtbot.waitUntil(lambda: page.matrix.cells.rowCount() == 7, timeout=PATIENCE)
    qtbot.waitUntil(page.redo.isVisible, timeout=PATIENCE)
    assert not window.jobs.jobs, "nothing is begun by looking"
    assert page.name.text().startswith("It did not come to its end: what was done stays in llama")
    assert page.nodes.topLevelItemCount() == len(sample_fleet.nodes())
    assert not page.report.isVisible()
    assert page.runs.count() == 2
    page.runs.setCurrentIndex(1)
    page.runs.activated.emit(1)
    qtbot.waitUntil(lambda: page.name.text() == "18 of 21 cells proven", timeout=PATIENCE)
    assert page.report.isVisible()
    page._touch()
    page.matrix.go_to("00020")
    assert page.detail.log.toPlainText().splitlines() == ["ssh://gpu1:", *sample_fleet.LOG]
    page.runs.setCurrentIndex(0)
    page.runs.activated.emit(0)
    qtbot.waitUntil(lambda: page.redo.text() == "&Go on", timeout=PATIENCE)
    click(qtbot, page.redo)
    [job] = window.jobs.jobs
    assert (job.place, job.asked["recipes"]) == (sample_fleet.BUNDLE, ["/r/decode.toml"])
    assert (job.asked["on"], job.asked["prove"]) == (["gpus", "local"], True)
    assert page.job is job
    idle(qtbot, window)
    assert page.runs.itemData(0) == job.id


def test_a_run_of_which_the_recipes_are_not_known_is_only_shown(
    qtbot: QtBot, open_window: OpenWindow, own_home: Path
) -> None:
    keep(sample_fleet.BUNDLE, ended=True, named=())
    page = page_of(open_window())
    qtbot.waitUntil(page.report.isVisible, timeout=PATIENCE)
    assert not page.redo.isVisible() and page.open.isVisible()


def test_of_a_node_that_has_compiled_much_some_is_named() -> None:
    """In the main thread, again and again."""
    known, [one, *_] = Cells(), sample_fleet.nodes()
    known.take_node(one)
    known.take(
        {"cell": f"c{number}", "state": "warm", "node": one["name"], "name": f"v{number}"}
        for number in range(1000)
    )
    said = told_of(known, one["name"])
    assert "Has compiled 1,000 cells" in said.facts
    assert said.log is not None and said.log.log is not None
    assert said.log.log == [f"v{number}" for number in range(200)]


def test_a_node_is_told_of_and_what_is_wrong_with_it(qtbot: QtBot, window: Window) -> None:
    page, job = page_of(window), begin(window.jobs)
    sample_fleet.fill(job.cells, over=True)
    window.jobs.end(job, State.DONE, result=sample_fleet.result(job.cells))
    qtbot.waitUntil(lambda: page.matrix.cells.rowCount() == 7, timeout=PATIENCE)
    page.nodes.setFocus()
    for _ in range(2):
        key(qtbot, page.nodes, Qt.Key.Key_Down)
        key(qtbot, page.nodes, Qt.Key.Key_Up)
    assert page.detail.name.text() == "ssh://gpu1"
    assert page.detail.log.toPlainText().splitlines()[0] == "decode, batch 1, bfloat16"
    before = page.detail.told
    window.jobs.touch(job)
    settle(qtbot)
    page._refresh()
    assert page.detail.told is before, "whoever reads stays where he is"
    assert "Has compiled 6 cells" in page.detail.facts.text()
    key(qtbot, page.nodes, Qt.Key.Key_End)
    assert page.detail.notice.what.text() == "ssh://gpu4 takes no connection."
    assert not page.detail.notice.remedies.buttons, "a place is not what is wrong"
    click(qtbot, page.detail.copy)
    assert "ssh://gpu4 takes no connection." in QGuiApplication.clipboard().text()
    page.matrix.setFocus()
    key(qtbot, page.matrix, Qt.Key.Key_Down)
    assert page.detail.name.text().startswith("decode")
    # What targets say once it has ended is shown with that.
    page._heard([{"node": {**sample_fleet.nodes()[0], "name": "ssh://gpu9"}}])
    qtbot.waitUntil(lambda: page.nodes.topLevelItemCount() == 6, timeout=PATIENCE)
    assert page.about_nodes.text() == "5 of 6 nodes ready"
    assert len(job.cells.nodes) == 5


@pytest.mark.qt_log_ignore("raise\\(\\)", "grabbing the", "SizeHints", extend=True)
def test_cells_and_nodes_have_menus(qtbot: QtBot, window: Window) -> None:
    page, job = page_of(window), begin(window.jobs)
    sample_fleet.fill(job.cells, over=True)
    window.jobs.end(job, State.DONE, result=sample_fleet.result(job.cells))
    qtbot.waitUntil(page.redo.isVisible, timeout=PATIENCE)
    page.matrix.go_to("00020")
    offers = {text.replace("&", ""): does for _, text, _, does in page._of_cell()}
    assert list(offers) == ["Copy line", "Copy result and log", "Again for what failed",
                            "Open place"]  # fmt: skip
    for does in (offers["Copy line"], offers["Copy result and log"]):
        assert does is not None
        does()
        assert "decode, batch 4, bfloat16" in QGuiApplication.clipboard().text()
    assert "mat1 and mat2" in QGuiApplication.clipboard().text()
    page.nodes.setCurrentIndex(page.nodes.model().index(0, 0))
    page.nodes.customContextMenuRequested.emit(page.nodes.rect().center())
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert [one.text() for one in menu.actions()] == ["&Copy", "As&k the targets"]
    menu.close()


def test_names_stay_where_the_matrix_is_scrolled_to_the_side(qtbot: QtBot) -> None:
    cells, matrix = Cells(), MatrixView()
    qtbot.addWidget(matrix)
    kinds = [f"GPU {n}, torch 2.9 · {n}" for n in range(8)]
    cells.hear({"cells": [cell(n, WARM, kind) for n in range(60) for kind in kinds]})
    matrix.cells.show_cells(cells)
    matrix.resize(500, 300)
    matrix.show()
    matrix.cells.refresh()
    assert not matrix.names.isVisible()
    matrix.go_to("28-GPU 7, torch 2.9 · 7")
    qtbot.waitUntil(matrix.names.isVisible, timeout=PATIENCE)
    at, beside = matrix.currentIndex(), matrix.names.visualRect(matrix.cells.index(40, 0))
    assert beside.top() == matrix.visualRect(at).top()
    for _ in range(6):
        key(qtbot, matrix, Qt.Key.Key_Left)
    assert matrix.visualRect(matrix.currentIndex()).left() >= matrix.columnWidth(0)
    matrix.horizontalScrollBar().setValue(0)
    assert not matrix.names.isVisible()


@pytest.mark.parametrize("size", [(1280, 800), (1024, 700)])
def test_no_node_is_cut_in_half(qtbot: QtBot, window: Window, size: tuple[int, int]) -> None:
    page, job = page_of(window), begin(window.jobs)
    window.resize(*size)
    sample_fleet.fill(job.cells, over=False)
    window.jobs.touch(job)
    settle(qtbot)
    qtbot.waitUntil(lambda: page.nodes.topLevelItemCount() == 5, timeout=PATIENCE)
    settle(qtbot)
    room, row = page.nodes.viewport().height(), page.nodes.sizeHintForRow(0)
    assert room % row <= 3, (room, row)
    assert size[0] < 1280 or room // row == 5
    # The three kinds are side by side, as far as the page is wide enough.
    assert size[0] < 1280 or page.matrix.horizontalScrollBar().maximum() == 0
