"""The program as it is started, in a process of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from pytestqt.qtbot import QtBot

from tests.pace import LONG
from torchkeeper.gui.app import application


def started_by(pid: int) -> list[str]:
    """The process ids of what a process has started, from any of its threads."""
    return " ".join(_of_threads(pid, "children")).split()


def threads_of(pid: int) -> list[str]:
    """The names of a process's threads, of which the system keeps 15 letters."""
    return [name.strip() for name in _of_threads(pid, "comm")]


def _of_threads(pid: int, what: str) -> list[str]:
    found = []
    for path in Path(f"/proc/{pid}/task").glob(f"*/{what}"):
        with contextlib.suppress(OSError):  # the thread has ended
            found.append(path.read_text())
    return found


@contextlib.contextmanager
def begun(place: Path) -> Iterator[subprocess.Popen[str]]:
    """The app on a place, once its worker has begun: shortly before the window is shown."""
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    argv = [sys.executable, "-W", "error", "-m", "torchkeeper", str(place)]
    process = subprocess.Popen(argv, env=env, stderr=subprocess.PIPE, text=True)
    try:
        limit = time.monotonic() + LONG
        while "torchkeeper-wor" not in threads_of(process.pid) and time.monotonic() < limit:
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.communicate()


def test_starts_on_a_folder_and_ends_when_asked(fixture_cache: Path) -> None:
    with begun(fixture_cache) as process:
        engines = started_by(process.pid)
        assert engines
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=LONG)
    assert process.returncode == 0, said
    assert [line for line in said.splitlines() if "propagateSizeHints" not in line] == []
    assert not any(Path(f"/proc/{pid}").exists() for pid in engines)


def test_a_crash_of_native_code_says_what_ran(fixture_cache: Path) -> None:
    with begun(fixture_cache) as process:
        process.send_signal(signal.SIGSEGV)
        _, said = process.communicate(timeout=LONG)
    assert process.returncode == -signal.SIGSEGV
    assert "Fatal Python error" in said and "torchkeeper" in said


def test_the_application_has_its_names(qtbot: QtBot) -> None:
    app = application()
    assert app.applicationName() == "torchkeeper"
    assert app.desktopFileName() == "torchkeeper"
    assert not app.windowIcon().isNull()
