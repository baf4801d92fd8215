"""Show in folder: over a real D-Bus to something that answers as a file manager does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, idle, settle
from tests.gui.test_exporting import ask
from tests.shots.sample_results import IMPORTED
from torchkeeper.gui.jobs.model import State

_FILE_MANAGER = """
import sys
from PySide6.QtCore import QCoreApplication
from PySide6.QtDBus import QDBusConnection, QDBusVirtualObject

class Files(QDBusVirtualObject):
    def introspect(self, path):
        return ""
    def handleMessage(self, message, bus):
        if message.member().startswith("Show"):
            print(message.member(), message.signature(), *message.arguments()[0], flush=True)
        bus.send(message.createReply())
        return True

app = QCoreApplication([])
bus = QDBusConnection.sessionBus()
files = Files()
assert bus.registerVirtualObject("/org/freedesktop/FileManager1", files)
assert bus.registerService("org.freedesktop.FileManager1")
print("ready", flush=True)
app.exec()
"""


@pytest.fixture
def bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A session bus of this test's own."""
    if shutil.which("dbus-daemon") is None:
        pytest.skip("there is no dbus-daemon")
    command = ["dbus-daemon", "--session", "--nofork", "--print-address=1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as daemon:
        assert daemon.stdout
        address = daemon.stdout.readline().strip()
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        try:
            yield address
        finally:
            daemon.terminate()


@pytest.mark.slow
def test_the_file_manager_shows_the_bundle(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path, bus: str
) -> None:
    window = open_window(fixture_cache)
    output = tmp_path / "a b.torchcache"
    env = {**os.environ, "DBUS_SESSION_BUS_ADDRESS": bus}
    command = [sys.executable, "-c", _FILE_MANAGER]
    files = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
    assert files.stdout
    # What never comes shall fail, and not hang.
    limit = threading.Timer(60, files.kill)
    limit.start()
    try:
        assert files.stdout.readline() == "ready\n"
        dialog = ask(qtbot, window, output)
        click(qtbot, dialog.go)
        idle(qtbot, window)
        click(qtbot, window.following.drawer.folder)
        uri = str(output).replace(" ", "%20")
        assert files.stdout.readline() == f"ShowItems ass file://{uri}\n"
        # The same by the actions, and for a place.
        window.actions_["show-in-folder"].trigger()
        assert files.stdout.readline().startswith("ShowItems ass ")
        job = window.jobs.add("Import", "import", str(fixture_cache))
        window.jobs.end(job, State.DONE, result=IMPORTED)
        window.following.drawer.choose(job)
        window.flows.results.reveal(window.following.job)
        assert files.stdout.readline() == f"ShowFolders ass file://{fixture_cache}\n"
        window.actions_["place-folder"].trigger()
        assert files.stdout.readline() == f"ShowFolders ass file://{fixture_cache}\n"
        settle(qtbot)
        assert not window.error_bar.isVisible()
        window.close_surely()
        qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    finally:
        limit.cancel()
        files.kill()
        files.wait()
        files.stdout.close()


@pytest.mark.qt_log_ignore("openDocument", "propagateSizeHints", extend=True)
@pytest.mark.parametrize("with_bus", [False, True])
@pytest.mark.slow
def test_where_nobody_answers_it_says_so(
    qtbot: QtBot,
    open_window: OpenWindow,
    fixture_cache: Path,
    tmp_path: Path,
    with_bus: bool,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """The offscreen platform opens no folder either."""
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    if with_bus:
        request.getfixturevalue("bus")
    window = open_window(fixture_cache)
    output = tmp_path / "o.torchcache"
    dialog = ask(qtbot, window, output)
    click(qtbot, dialog.go)
    idle(qtbot, window)
    click(qtbot, window.following.drawer.folder)
    qtbot.waitUntil(window.error_bar.isVisible, timeout=PATIENCE)
    assert "could not be shown" in window.error_bar.what.text()
    output.unlink()
    window.error_bar.clear()
    window.actions_["show-in-folder"].trigger()
    qtbot.waitUntil(window.error_bar.isVisible, timeout=PATIENCE)
    assert "no longer exists" in window.error_bar.what.text()
