"""The purge dialog where processes use the folder: they are named, and the user decides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, idle, settle
from tests.processes import end, process
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.window import Window

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


def planned(qtbot: QtBot, dialog: PurgeDialog) -> None:
    qtbot.waitUntil(lambda: dialog.plan is not None, timeout=PATIENCE)


def purge_all(qtbot: QtBot, window: Window) -> PurgeDialog:
    window.actions_["purge-shown"].trigger()
    qtbot.waitUntil(lambda: bool(window.findChildren(PurgeDialog)), timeout=PATIENCE)
    dialog: PurgeDialog = window.findChildren(PurgeDialog)[-1]
    planned(qtbot, dialog)
    return dialog


def check(qtbot: QtBot, dialog: PurgeDialog, on: bool) -> None:
    dialog.users.also.setChecked(on)
    assert not dialog.go.isEnabled(), "until there is a plan for that"
    planned(qtbot, dialog)


@pytest.mark.slow
def test_entries_in_use_go_only_where_insisted(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    graph = next(p for p in sorted((fixture_cache / "fxgraph").rglob("*")) if p.is_file())
    reader = process(graph)
    try:
        window = open_window(fixture_cache)
        total = window.entries.total
        dialog = purge_all(qtbot, window)
        assert dialog.users.isVisible()
        assert "1 entry" in dialog.users.what.text()
        assert f"process {reader.pid}" in dialog.users.who.text()
        assert dialog.model.total == total - 1
        check(qtbot, dialog, True)
        assert dialog.model.total == total
        assert f"{total} entries" in dialog.title.text()
        check(qtbot, dialog, False)
        click(qtbot, dialog.go)
        idle(qtbot, window)
        assert graph.exists()
        assert window.entries.total == 1
        dialog = purge_all(qtbot, window)
        assert not dialog.go.isEnabled()
        assert dialog.cancel.isDefault()
        check(qtbot, dialog, True)
        click(qtbot, dialog.go)
        idle(qtbot, window)
        assert not graph.exists()
    finally:
        end(reader)


def test_a_folder_in_use_is_not_purged_unless_insisted(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    trainer = process(TORCHINDUCTOR_CACHE_DIR=str(fixture_cache))
    try:
        window = open_window(fixture_cache)
        total = window.entries.total
        dialog = purge_all(qtbot, window)
        assert not dialog.go.isEnabled()
        assert not dialog.model.count
        assert f"process {trainer.pid}" in dialog.users.who.text()
        check(qtbot, dialog, True)
        assert dialog.table.isVisible()
        assert dialog.model.total == total
        check(qtbot, dialog, False)
        assert dialog.model.total == 0
        assert not dialog.go.isEnabled()
        dialog.reject()
        # It came after the preview: then nothing goes, and the window says why.
        end(trainer)
        dialog = purge_all(qtbot, window)
        assert not dialog.users.isVisible()
        trainer = process(TORCHINDUCTOR_CACHE_DIR=str(fixture_cache))
        click(qtbot, dialog.go)
        idle(qtbot, window)
        settle(qtbot)
        assert window.entries.total == total
        assert f"process {trainer.pid}" in window.error_bar.why.text()
    finally:
        end(trainer)


@pytest.mark.slow
def test_processes_without_a_place_change_nothing(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    env = {"TORCHINDUCTOR_CACHE_DIR": str(fixture_cache)}
    argv = ["/bin/sh", "-c", "read x"]
    shell = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, text=True)
    try:
        dialog = purge_all(qtbot, open_window(fixture_cache))
        assert "merely" in dialog.users.who.text()
        assert not dialog.users.also.isVisible()
        assert dialog.go.isEnabled()
        dialog.reject()
    finally:
        end(shell)
