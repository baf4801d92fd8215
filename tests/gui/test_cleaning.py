"""Clean up…: what is dead is suggested, previewed, moved to the trash, and comes back."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, idle
from tests.redis_server import dump, serving
from tests.snapshots import snapshot
from torchkeeper.client.engines import probes
from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.dialogs.cleaning import CleanDialog
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.window import Window
from torchkeeper.verdict.probed import Env

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def known(torch_python: str) -> Env:
    """What the interpreter with torch says."""
    return probes.probe(torch_python)


@pytest.fixture
def only_torch(known: Env, torch_python: str, monkeypatch: pytest.MonkeyPatch) -> Env:
    """The one environment there is; what it said is kept, so that nobody waits for it again."""
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", torch_python)
    # Of what is looked for there, only this interpreter and a server.
    redis = os.path.dirname(shutil.which("redis-server") or "")
    monkeypatch.setenv("PATH", os.pathsep.join((os.path.dirname(torch_python), redis)))
    probes.keep(probes.identity(torch_python), known)
    return known


def age(place: Path, days: float) -> None:
    then = time.time() - days * 86_400
    for path in place.rglob("*"):
        os.utime(path, (then, then))


def opened(qtbot: QtBot, window: Window) -> CleanDialog:
    """The dialog, once all is known."""
    window.actions_["clean-up"].trigger()
    dialog = window.findChildren(CleanDialog)[-1]
    told(qtbot, dialog)
    return dialog


def told(qtbot: QtBot, dialog: CleanDialog) -> None:
    found = dialog.found
    qtbot.waitUntil(
        lambda: found.error is not None or (found.result is not None and not found.asking),
        timeout=PATIENCE,
    )


def counts(dialog: CleanDialog) -> dict[str, str]:
    return {name: row.count.text() for name, row in dialog.rows.items()}


def preview(qtbot: QtBot, dialog: CleanDialog, reason: str) -> PurgeDialog:
    click(qtbot, dialog.rows[reason].go)
    assert dialog.preview is not None
    shown = dialog.preview
    qtbot.waitUntil(lambda: shown.plan is not None, timeout=PATIENCE)
    return shown


def test_what_is_stale_goes_by_one_click_and_comes_back(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, only_torch: dict[str, Any]
) -> None:
    age(fixture_cache, 2)
    before = snapshot(fixture_cache)
    window = open_window(fixture_cache)
    dialog = opened(qtbot, window)
    assert counts(dialog) == {
        "stale": "40 entries", "broken": "Nothing", "orphan": "Nothing", "unused": "Nothing",
        "budget": "Nothing",
    }  # fmt: skip
    assert f"torch {only_torch['torch']}" in dialog.envs.text()
    assert "44 entries and 26 locks in " in dialog.where.text()
    shown = preview(qtbot, dialog, "stale")
    assert shown.model.total == 40
    assert "11 entries stale everywhere" in shown.text.text()
    assert dialog.rows["stale"].bytes.text() in shown.title.text()
    shown.cancel.click()
    # Whoever goes back finds the suggestions again, and the engine that made them.
    shown = preview(qtbot, dialog, "stale")
    click(qtbot, shown.go)
    assert not dialog.isVisible()
    idle(qtbot, window)
    qtbot.waitUntil(lambda: window.entries.total == 4, timeout=PATIENCE)
    assert not list((fixture_cache / "fxgraph").rglob("f*/*/*"))
    window.actions_["undo"].trigger()
    idle(qtbot, window)
    assert snapshot(fixture_cache) == before


@pytest.mark.slow
def test_days_and_budget_count_at_once_and_are_remembered(
    qtbot: QtBot,
    open_window: OpenWindow,
    fixture_cache: Path,
    only_torch: dict[str, Any],
    settings: QSettings,
) -> None:
    age(fixture_cache, 10)
    window = open_window(fixture_cache)
    dialog = opened(qtbot, window)
    looked = dialog.found.result
    dialog.days.setValue(9)
    dialog.budget.setValue(1)
    dialog.unit.setCurrentText("MB")
    assert not dialog.rows["unused"].go.isEnabled(), "until it is counted"
    qtbot.waitUntil(lambda: counts(dialog)["unused"] == "44 entries", timeout=PATIENCE)
    assert dialog.rows["budget"].go.isEnabled()
    assert looked is not None
    assert dialog.found.result is not None
    assert dialog.found.result["look"] == looked["look"], "it looked once"
    shown = preview(qtbot, dialog, "budget")
    assert shown.plan is not None
    assert dialog.found.result["bytes"] - shown.plan["bytes"] <= 10**6
    shown.reject()
    dialog.reject()
    again = opened(qtbot, window)
    assert (again.days.value(), again.budget.value(), again.unit.currentText()) == (9, 1, "MB")
    assert counts(again)["unused"] == "44 entries"
    again.reject()
    window.discovery.protect(str(fixture_cache), True)
    qtbot.waitUntil(lambda: window.places.read_only(str(fixture_cache)), timeout=PATIENCE)
    held = opened(qtbot, window)
    assert held.held.isVisible()
    assert "read-only" in held.held.what.text()
    assert counts(held)["unused"] == "44 entries"
    assert not any(row.go.isEnabled() for row in held.rows.values())
    held.reject()


@pytest.mark.slow
def test_nothing_dead_and_a_folder_that_went_away(
    qtbot: QtBot, open_window: OpenWindow, warm_cache: Path, only_torch: dict[str, Any]
) -> None:
    window = open_window(warm_cache)
    dialog = opened(qtbot, window)
    assert dialog.title.text() == "Nothing here is dead"
    assert set(counts(dialog).values()) == {"Nothing"}
    assert not any(row.go.isEnabled() for row in dialog.rows.values())
    away = warm_cache.with_name("away")
    warm_cache.rename(away)
    click(qtbot, dialog.again)
    told(qtbot, dialog)
    assert dialog.notice.isVisible()
    assert "There is no folder" in dialog.notice.what.text()
    assert not any(row.isVisible() for row in dialog.rows.values())
    away.rename(warm_cache)
    click(qtbot, dialog.notice.button)
    told(qtbot, dialog)
    assert not dialog.notice.isVisible()
    assert dialog.title.text() == "Nothing here is dead"
    # To leave while it looks leaves nothing behind (nothing_survives).
    click(qtbot, dialog.again)
    dialog.reject()


@pytest.mark.parametrize("does", ["exit 1", "exec sleep 60"], ids=["ends", "hangs"])
@pytest.mark.slow
def test_an_environment_that_cannot_be_asked(
    does: str,
    qtbot: QtBot,
    open_window: OpenWindow,
    fixture_cache: Path,
    only_torch: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    age(fixture_cache, 2)
    python = tmp_path / "sick" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{does}\n")
    python.chmod(0o755)
    torch = tmp_path / "sick/lib/python3.11/site-packages/torch/version.py"
    torch.parent.mkdir(parents=True)
    torch.touch()  # one without any could not be an environment
    monkeypatch.setattr(probes, "LIMIT", 0.4)
    monkeypatch.setenv("VIRTUAL_ENV", str(python.parent.parent))
    window = open_window(fixture_cache)
    dialog = opened(qtbot, window)
    assert counts(dialog)["stale"] == "Not known"
    assert not dialog.rows["stale"].go.isEnabled()
    assert dialog.sick.isVisible()
    (without,) = dialog.sick.buttons
    assert isinstance(without, QPushButton)
    click(qtbot, without)
    told(qtbot, dialog)
    assert counts(dialog)["stale"] == "40 entries"
    assert not dialog.sick.isVisible()
    assert f"not counted: {python}" in dialog.envs.text()
    dialog.reject()
    again = opened(qtbot, window)
    assert counts(again)["stale"] == "40 entries"
    assert f"not counted: {python}" in again.envs.text()
    again.reject()


@pytest.mark.slow
def test_a_server_asks_once_more(
    qtbot: QtBot, open_window: OpenWindow, only_torch: dict[str, Any], tmp_path: Path
) -> None:
    with serving(tmp_path) as server:
        server.load(dump())
        window = open_window()
        window.places.add(server.url)
        window.show_place(server.url)
        qtbot.waitUntil(
            lambda: window.place == server.url and not window.listing.loading, timeout=PATIENCE
        )
        dialog = opened(qtbot, window)
        assert counts(dialog)["stale"] == "11 entries"
        assert dialog.shared.isVisible()
        shown = preview(qtbot, dialog, "stale")
        click(qtbot, shown.go)
        (question,) = shown.findChildren(ConfirmDialog)
        assert "cannot be undone" in question.detail.text()
        question.go.click()
        idle(qtbot, window)
        assert server("DBSIZE") == len(dump()) - 11
