"""A second start hands over what it would open to the window that is there."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, listed
from tests.pace import LONG
from torchkeeper.client import handover
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.handover import Handed, Seat
from torchkeeper.gui.desktop.door import Door
from torchkeeper.gui.dialogs.importing import ImportDialog
from torchkeeper.gui.window import Window

ARGV = [sys.executable, "-W", "error", "-m", "torchkeeper"]

#: No other windows are there that one could be in front of.
RAISES = pytest.mark.qt_log_ignore("propagateSizeHints", r"raise\(\)", extend=True)


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for sockets: the path of one may be no longer than 107 bytes."""
    folder = tempfile.mkdtemp(prefix="tk-", dir="/tmp")
    monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
    yield Path(folder)
    shutil.rmtree(folder)


@pytest.fixture
def running() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the app as a user does; ends it as one does."""
    made: list[subprocess.Popen[str]] = []

    def start(*files: object) -> subprocess.Popen[str]:
        argv = [*ARGV, *map(str, files)]
        made.append(subprocess.Popen(argv, stderr=subprocess.PIPE, text=True))
        return made[-1]

    yield start
    for process in made:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGINT)
    for process in made:
        try:
            process.communicate(timeout=LONG)
        finally:
            process.kill()
            process.communicate()


def until(true: Callable[[], object], seconds: float = LONG) -> None:
    limit = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.02)


def sockets(runtime: Path) -> list[Path]:
    return list(runtime.glob("torchkeeper/*.socket"))


def windows(process: subprocess.Popen[str]) -> bool:
    """Whether a window is up: its worker has been started."""
    with contextlib.suppress(OSError):
        names = [p.read_text() for p in Path(f"/proc/{process.pid}/task").glob("*/comm")]
        return any(name.startswith("torchkeeper-wor") for name in names)
    return False


@pytest.fixture
def seat() -> Iterator[Seat]:
    made = handover.claim()
    assert made is not None and made.first
    yield made
    made.leave()


def door(window: Window, seat: Seat) -> Door:
    made = Door(window, seat)
    assert seat.first and stat.S_IMODE(os.stat(seat.socket).st_mode) == 0o600
    return made


def test_a_second_start_is_over_at_once_and_the_first_opens_it(
    runtime: Path, running: Callable[..., subprocess.Popen[str]], fixture_cache: Path
) -> None:
    """Two real processes; the first keeps what it was handed in its settings."""
    first = running()
    until(lambda: sockets(runtime))
    assert stat.S_IMODE((runtime / "torchkeeper").stat().st_mode) == 0o700
    second = running(fixture_cache)
    _, said = second.communicate(timeout=LONG)
    assert (second.returncode, said) == (0, "torchkeeper: The window that is open has taken it.\n")
    kept = Path(os.environ["XDG_CONFIG_HOME"]) / "torchkeeper/torchkeeper.conf"
    until(lambda: kept.exists() and f"current={fixture_cache}\n" in kept.read_text())
    first.send_signal(signal.SIGINT)
    _, said = first.communicate(timeout=LONG)
    assert first.returncode == 0, said
    assert sockets(runtime) == []


def test_a_hung_first_is_given_up_after_a_second(seat: Seat) -> None:
    """One that is stopped while it listens: the system takes the call, and nobody speaks."""
    code = (
        "import os, signal, socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1])\n"
        "s.listen(); print(flush=True); os.kill(os.getpid(), signal.SIGSTOP)"
    )
    argv = [sys.executable, "-c", code, seat.socket]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as hung:
        assert hung.stdout is not None and hung.stdout.readline()
        began = time.monotonic()
        assert not handover.hand_over(Seat(seat.socket, None), Handed(["/x"]))
        assert time.monotonic() - began > handover.PATIENCE * 0.9, "it has a moment to answer"
        hung.kill()


@pytest.mark.slow
def test_a_window_of_its_own_when_asked_or_when_the_first_hangs_or_has_died(
    runtime: Path, running: Callable[..., subprocess.Popen[str]]
) -> None:
    """Five real processes."""
    first = running()
    until(lambda: sockets(runtime))
    another = running("--new-window")
    until(lambda: windows(another))
    first.send_signal(signal.SIGSTOP)
    alone = running()
    until(lambda: windows(alone))
    first.send_signal(signal.SIGKILL)
    first.wait(LONG)
    assert sockets(runtime), "a dead one's"
    heir = running()
    until(lambda: windows(heir))
    taker = handover.claim()
    assert taker is not None and not taker.first
    until(lambda: handover.hand_over(taker, Handed([])))
    assert alone.poll() is heir.poll() is another.poll() is None


def said_to(qtbot: QtBot, seat: Seat, sent: bytes) -> bytes:
    """What somebody hears who says something to whoever has the seat, until that hangs up."""
    heard = b""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(seat.socket)
        line.setblocking(False)

        def over() -> bool:
            nonlocal heard, sent
            try:
                sent = sent[line.send(sent) :] if heard else sent
            except BlockingIOError:
                pass
            except OSError:
                sent = b""
            try:
                piece = line.recv(1000)
            except BlockingIOError:
                return False
            except OSError:
                return True
            heard += piece
            return not piece

        qtbot.waitUntil(over, timeout=PATIENCE)
    return heard


@pytest.mark.slow
@RAISES
def test_a_double_click_on_a_bundle_has_the_window_look_into_it(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path, seat: Seat
) -> None:
    """As a file manager opens it: by its type, with the program that the desktop entry names."""
    subprocess.run([*ARGV, "install-desktop"], check=True, capture_output=True)
    bundle = tmp_path / "made.torchcache"
    with Engine() as engine:
        engine.call("export", {"place": str(fixture_cache), "output": str(bundle)})
    window = open_window(fixture_cache)
    window.showMinimized()
    door(window, seat)
    os.environ["XDG_ACTIVATION_TOKEN"] = "tok-1"
    try:
        subprocess.run(["gio", "open", str(bundle)], check=True, stderr=subprocess.DEVNULL)
    finally:
        del os.environ["XDG_ACTIVATION_TOKEN"]
    qtbot.waitUntil(lambda: not window.isMinimized(), timeout=PATIENCE)
    assert window.isVisible()
    assert os.environ.pop("XDG_ACTIVATION_TOKEN") == "tok-1"
    qtbot.waitUntil(lambda: bool(window.findChildren(ImportDialog)), timeout=PATIENCE)
    [dialog] = window.findChildren(ImportDialog)
    dialog.close()


def test_a_password_goes_along_and_is_in_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from torchkeeper.client import secrets

    monkeypatch.setattr(secrets, "_given", {})
    name = secrets.named("redis://:s3cret@localhost:6390/0")
    handed = handover.of([name])
    assert handed.passwords == {name: "s3cret"} and "s3cret" not in name
    line = json.dumps(
        {"torchkeeper": 1, "paths": handed.paths, "passwords": handed.passwords}
    ).encode()
    assert handover.parse(line) == handed


WRONG = {
    "no-json": b"{",
    "no-object": b"[]",
    "deep": b"[" * 100_000,
    "another-version": b'{"torchkeeper": 2, "paths": []}',
    "no-paths": b'{"torchkeeper": 1}',
    "a-number": b'{"torchkeeper": 1, "paths": [1]}',
    "relative": b'{"torchkeeper": 1, "paths": ["a"]}',
    "an-option": b'{"torchkeeper": 1, "paths": ["--new-window"]}',
    "a-zero": b'{"torchkeeper": 1, "paths": ["/a\\u0000b"]}',
    "half-a-character": b'{"torchkeeper": 1, "paths": ["/\\ud800"]}',
    "too-long": json.dumps({"torchkeeper": 1, "paths": ["/" + "x" * 5000]}).encode(),
    "too-many": json.dumps({"torchkeeper": 1, "paths": ["/x"] * 1001}).encode(),
    "a-password-in-a-name": b'{"torchkeeper": 1, "paths": ["redis://:p@h:1/0"]}',
    "no-address": b'{"torchkeeper": 1, "paths": ["redis://h:99999999"]}',
    "a-password-of-another": b'{"torchkeeper": 1, "paths": [], "passwords": {"redis://h": "p"}}',
}


@pytest.mark.parametrize("line", WRONG.values(), ids=WRONG)
def test_what_makes_no_sense_is_not_taken(line: bytes) -> None:
    assert handover.parse(line) is None


def test_the_help_tells_of_another_window() -> None:
    helped = subprocess.run([*ARGV, "--help"], capture_output=True, text=True, check=True)
    assert "--new-window" in helped.stdout


def test_a_token_that_is_none_is_left_out() -> None:
    for token in ("x\n", "ü", "x" * 600, 7):
        line = json.dumps({"torchkeeper": 1, "paths": ["/a"], "token": token}).encode()
        assert handover.parse(line) == Handed(["/a"])


@pytest.mark.slow
@RAISES
def test_enemies_at_the_door_change_nothing(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, seat: Seat
) -> None:
    """Nonsense, too much, silence, and who hangs up; then one who has something to say."""
    window = open_window(fixture_cache)
    door(window, seat)
    hung_up = socket.socket(socket.AF_UNIX)
    hung_up.connect(seat.socket)
    hung_up.close()
    silent = socket.socket(socket.AF_UNIX)
    silent.connect(seat.socket)
    sent = [*WRONG.values(), b"x" * (handover.MOST + 10), b'{"torchkeeper": 1, "paths": []}\n\n']
    for one in sent:
        heard = said_to(qtbot, seat, one + b"\n")
        assert heard == b'{"torchkeeper": 1}\n', "greeted, and never answered"
    place = fixture_cache.rename(fixture_cache.parent / "other")
    good = json.dumps({"torchkeeper": 1, "paths": [str(place)]}).encode()
    assert json.loads(said_to(qtbot, seat, good + b"\n").splitlines()[1])["taken"] is True
    listed(qtbot, window, place)
    silent.close()


@pytest.mark.slow
def test_who_gave_up_waiting_has_opened_it_itself(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path, seat: Seat
) -> None:
    window = open_window(fixture_cache)
    made = door(window, seat)
    line = json.dumps({"torchkeeper": 1, "paths": [str(tmp_path)]}).encode() + b"\n"
    caller = socket.socket(socket.AF_UNIX)
    caller.connect(seat.socket)
    caller.sendall(line)
    caller.close()
    qtbot.waitUntil(lambda: not made.callers, timeout=PATIENCE)
    qtbot.wait(300)
    assert window.place == str(fixture_cache) and window.places.row_of(str(tmp_path)) < 0


def test_a_window_that_only_waits_for_its_jobs_takes_nothing(
    qtbot: QtBot, open_window: OpenWindow, seat: Seat
) -> None:
    window = open_window()
    door(window, seat)
    window.hide()
    assert said_to(qtbot, seat, b"{}\n") == b""
    assert not seat.first and not os.path.exists(seat.socket)


def test_no_seat_in_a_folder_that_others_can_enter(
    runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = runtime / "torchkeeper"
    folder.mkdir()
    folder.chmod(0o755)
    assert handover.claim() is None
    folder.rmdir()
    folder.symlink_to(runtime)
    assert handover.claim() is None
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setenv("TMPDIR", str(runtime))
    seat = handover.claim()
    assert seat is not None and seat.socket.startswith(f"{runtime}/torchkeeper-{os.getuid()}/")
    monkeypatch.setenv("DISPLAY", ":77")
    other = handover.claim()
    assert other is not None and other.first, "on another screen another is first"
    seat.leave()
    other.leave()
