"""The desktop is told of long jobs that end while nobody is at the window.

The bus is a real dbus-daemon, on which a small service stands in for a desktop's.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow
from tests.sampling import sampled
from tests.shots.sample_results import EXPORTED, WARMED
from torchkeeper.client.desktop import dbus
from torchkeeper.client.desktop.services import Note, Notifications
from torchkeeper.client.words.problems import UserError
from torchkeeper.gui.desktop import front
from torchkeeper.gui.jobs.following import SETTING
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.window import Window


class Desktop:
    """A session bus with a notification service, and what an eavesdropper says of it."""

    def __init__(self, address: str) -> None:
        env = {**os.environ, "DBUS_SESSION_BUS_ADDRESS": address}
        self._heard: list[Any] = []
        self.service = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.gui.notification_service"],
            env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip
        assert self.service.stdout is not None
        assert self.service.stdout.readline() == "ready\n"
        os.set_blocking(self.service.stdout.fileno(), False)
        self._rest = ""

    @property
    def shown(self) -> list[dict[str, Any]]:
        assert self.service.stdout is not None
        with contextlib.suppress(TypeError):  # nothing is there
            self._rest += self.service.stdout.read() or ""
        *whole, self._rest = self._rest.split("\n")
        names = ("number", "app", "replaces", "icon", "summary", "body", "actions", "hints", "for")
        self._heard += [dict(zip(names, json.loads(line), strict=True)) for line in whole]
        return self._heard

    def click(self, number: int, token: str) -> None:
        assert self.service.stdin is not None
        self.service.stdin.write(f"{number} {token}\n")

    def end(self) -> None:
        self.service.kill()
        self.service.communicate()


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a bus of this test only, which this process and its children use."""
    assert shutil.which("dbus-daemon"), "dbus-daemon is missing: run packaging/test"
    folder = tempfile.mkdtemp(prefix="tk-", dir="/tmp")
    conf = Path(folder, "conf")
    conf.write_text(
        '<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" '
        '"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd"><busconfig>'
        f"<type>session</type><listen>unix:path={folder}/bus</listen><auth>EXTERNAL</auth>"
        '<policy context="default"><allow send_destination="*" eavesdrop="true"/>'
        '<allow eavesdrop="true"/><allow own="*"/></policy></busconfig>'
    )
    daemon = subprocess.Popen(
        ["dbus-daemon", f"--config-file={conf}", "--nofork", "--print-address=1"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert daemon.stdout is not None
    address = daemon.stdout.readline().strip()
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
    yield address
    daemon.kill()
    daemon.communicate()
    shutil.rmtree(folder)


@pytest.fixture
def desktop(bus: str) -> Iterator[Desktop]:
    made = Desktop(bus)
    yield made
    made.end()


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user is at another program's window: the offscreen platform knows of no others."""
    monkeypatch.setattr(front, "in_front", lambda: False)


def ended(window: Window, title: str, took: float, state: State, **about: Any) -> Job:
    """A job that ends now, and began so many seconds ago."""
    job = window.jobs.add(title, "warm", None)
    window.jobs.begin(job)
    job.started = time.time() - took
    result = WARMED if state is State.DONE else None
    window.jobs.end(job, state, result=result, **about)
    return job


RAISES = pytest.mark.qt_log_ignore("propagateSizeHints", r"raise\(\)", extend=True)


@RAISES
@pytest.mark.usefixtures("away")
def test_a_long_job_is_told_and_a_click_shows_it(
    qtbot: QtBot, open_window: OpenWindow, desktop: Desktop
) -> None:
    window = open_window()
    ended(window, "Short", 9, State.DONE)
    ended(window, "Given up", 90, State.CANCELLED)
    long = ended(window, "Warm <b>a&b</b>", 75, State.DONE, note="3 graphs: 0 hits, 3 misses")
    error = UserError("The disk is full.", "", "", code="x")
    ended(window, "Export", 11, State.FAILED, error=error)
    qtbot.waitUntil(lambda: len(desktop.shown) == 2, timeout=PATIENCE)
    first, second = desktop.shown
    assert first["summary"] == "Done: Warm <b>a&b</b>", "a summary has no markup"
    assert first["body"] == "3 graphs: 0 hits, 3 misses · it took 75.0 s"
    assert (first["app"], first["icon"], first["actions"]) == (
        "Torchkeeper", "torchkeeper", ["default", "Show the job"],
    )  # fmt: skip
    assert dict(first["hints"]) == {"desktop-entry": "torchkeeper", "urgency": 1}
    assert second["summary"] == "Failed: Export"
    assert second["body"] == "The disk is full. · it took 11.0 s"
    window.showMinimized()
    desktop.click(first["number"], "tok-9")
    qtbot.waitUntil(lambda: window.following.drawer.job is long, timeout=PATIENCE)
    assert not window.isMinimized() and window.following.drawer.isVisible()
    assert os.environ.pop("XDG_ACTIVATION_TOKEN") == "tok-9"


@pytest.mark.usefixtures("away")
def test_a_switch_that_is_remembered(
    qtbot: QtBot, open_window: OpenWindow, desktop: Desktop
) -> None:
    window = open_window()
    switch = window.actions_["notify"]
    qtbot.waitUntil(switch.isChecked, timeout=PATIENCE)
    switch.trigger()
    qtbot.waitUntil(lambda: not switch.isChecked(), timeout=PATIENCE)
    ended(window, "Unwanted", 60, State.DONE)
    window.settings.sync()
    assert "[notify]\njobs=false\n" in Path(window.settings.fileName()).read_text()
    assert SETTING == "notify/jobs"
    switch.trigger()
    qtbot.waitUntil(switch.isChecked, timeout=PATIENCE)
    ended(window, "Wanted", 60, State.DONE)
    qtbot.waitUntil(lambda: bool(desktop.shown), timeout=PATIENCE)
    assert [one["summary"] for one in desktop.shown] == ["Done: Wanted"]


def test_nobody_is_told_who_is_at_the_window(
    qtbot: QtBot, open_window: OpenWindow, desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window()
    window.activateWindow()
    qtbot.waitUntil(front.in_front, timeout=PATIENCE)
    ended(window, "Seen", 60, State.DONE)
    monkeypatch.setattr(front, "in_front", lambda: False)
    ended(window, "Unseen", 60, State.DONE)
    qtbot.waitUntil(lambda: bool(desktop.shown), timeout=PATIENCE)
    assert [one["summary"] for one in desktop.shown] == ["Done: Unseen"]


@pytest.mark.slow
@pytest.mark.usefixtures("away")
def test_the_last_job_of_a_window_that_is_gone_is_told(
    qtbot: QtBot, open_window: OpenWindow, desktop: Desktop
) -> None:
    window = open_window()
    job = window.jobs.add("Left alone", "export", None)
    window.jobs.begin(job)
    job.started = time.time() - 60
    window.closing.leave_jobs()
    assert not window.isVisible()
    window.jobs.end(job, State.DONE, result=EXPORTED)
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    window.notifier.notifications.join(10)
    [told] = desktop.shown
    assert told["summary"] == "Done: Left alone" and told["actions"] == []


@pytest.mark.usefixtures("away")
@sampled("how", ["silent", "none", "gone", "nonsense", "mute", "nobody-there"], most=2)
def test_without_a_desktop_that_answers_the_window_is_marked_and_nothing_waits(
    qtbot: QtBot, open_window: OpenWindow, how: str, monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    folder = tempfile.mkdtemp(prefix="tk-", dir="/tmp")
    monkeypatch.setattr(dbus, "PATIENCE", 0.5)
    monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
    with socket.socket(socket.AF_UNIX) as line:
        if how == "none":
            monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
        elif how == "nobody-there":
            request.getfixturevalue("bus")
        else:
            monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={folder}/b%75s")
            if how != "gone":
                line.bind(f"{folder}/bus")
                line.listen()
        marked: list[object] = []
        monkeypatch.setattr(QApplication, "alert", marked.append)
        reached: list[threading.Thread] = []
        reach = dbus.Bus.reach

        def reach_from(path: str) -> dbus.Bus:
            reached.append(threading.current_thread())
            return reach(path)

        monkeypatch.setattr(dbus.Bus, "reach", reach_from)
        window = open_window()
        ended(window, "Long", 60, State.DONE)
        if how in ("nonsense", "mute"):
            caller, _ = line.accept()
            caller.sendall(b"OK 1234\r\n" + (b"\xff" * 4096 if how == "nonsense" else b""))
        qtbot.waitUntil(lambda: marked == [window], timeout=PATIENCE)
        assert threading.main_thread() not in reached, "the window waits for nobody"
        if how in ("nonsense", "mute"):
            caller.close()
    shutil.rmtree(folder)


def test_the_bus_itself_reads_what_is_sent(desktop: Desktop, bus: str) -> None:
    """Decoded by libdbus: dbus-monitor prints each argument with its type."""
    monitor = subprocess.Popen(
        ["dbus-monitor", "--address", bus, "member=Notify"], stdout=subprocess.PIPE, text=True
    )
    assert monitor.stdout is not None
    line = monitor.stdout.readline()  # it is there
    notes = Notifications(lambda *_: None, lambda *_: None)
    notes.show(Note("Ä", "b", 1, "c"))
    said = ""
    while "int32 -1" not in said:
        line = monitor.stdout.readline()
        assert line
        said += line
    notes.stop()
    notes.join(10)
    monitor.kill()
    monitor.communicate()
    words = " ".join(said.split())
    assert 'string "Torchkeeper" uint32 0 string "torchkeeper" string "Ä" string "b"' in words
    assert 'array [ string "default" string "c" ]' in words
    assert 'string "urgency" variant byte 1' in words


def test_a_text_that_a_bus_would_hang_up_on_is_shown_all_the_same(
    qtbot: QtBot, desktop: Desktop
) -> None:
    notes = Notifications(lambda *_: None, lambda *_: None)
    notes.show(Note("a\udcff\0", "b\0"))
    qtbot.waitUntil(lambda: bool(desktop.shown), timeout=PATIENCE)
    notes.stop()
    notes.join(10)
    assert (desktop.shown[0]["summary"], desktop.shown[0]["body"]) == ("a??", "b?")


@pytest.mark.parametrize("piece", [
    b"l\4\0\1" + (1 << 21).to_bytes(4, "little") + b"\1\0\0\0" + bytes(4),
    b"x\4\0\1" + bytes(12),
    b"l\4\0\1\0\0\0\0\1\0\0\0\7\0\0\0" + b"\7\1z\0" + bytes(4),
    b"l\4\0\1\0\0\0\0\1\0\0\0\7\0\0\0" + b"\7\2a(\0" + bytes(3),
    b"l\4\0\1\0\0\0\0\1\0\0\0\7\0\0\0" + b"\7\1s\0" + b"\377" * 4,
], ids=["too-long", "no-order", "no-type", "open-struct", "cut-short"])  # fmt: skip
def test_what_is_no_message_is_refused_before_more_is_read(piece: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(piece)
        with pytest.raises(ValueError):
            dbus.Bus(ours).take()
