"""The real window over real engines, and proof that nothing of it survives a test."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QSettings, Qt, QTimer
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from tests.pace import LONG
from torchkeeper.artifacts.entry import Entry
from torchkeeper.client.engines import probes
from torchkeeper.client.words import say
from torchkeeper.gui.app import application
from torchkeeper.gui.chrome.split import SHOWN
from torchkeeper.gui.pages import ENTRIES
from torchkeeper.gui.places.model import SETTING
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.rows import Row
from torchkeeper.gui.verdicts.environments import KEY, NONE
from torchkeeper.gui.window import PAGE, Window
from torchkeeper.verdict.probed import Device, Env

if TYPE_CHECKING:
    from tests.shots.sample_engines import SampleEngines

#: Milliseconds a real engine may take on a busy machine.
PATIENCE = 180_000
# pytest-qt waits for five seconds where nobody says how long: no limit of ours.
for _wait in (QtBot.waitUntil, QtBot.waitSignal, QtBot.waitSignals):
    assert _wait.__kwdefaults__ is not None
    _wait.__kwdefaults__["timeout"] = PATIENCE


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The offscreen platform warns of every window: it has no screen to hint sizes to."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.qt_log_ignore("propagateSizeHints", extend=True))


@pytest.fixture
def fixture_cache(clean_291: Path, tmp_path: Path) -> Path:
    """As everywhere, but without a password, so that no dialog asks what is to become of it."""
    return Path(shutil.copytree(clean_291, tmp_path / "cache-2.9.1"))


def children() -> dict[int, str]:
    """The processes this one has started and that still are, zombies included."""
    try:
        # Mostly there are none, and to look through all of the machine takes milliseconds.
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return {}
    found = {}
    for pid in _children():
        with contextlib.suppress(OSError):  # it ended meanwhile
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
            found[pid] = line.decode(errors="replace")
    return found


def _children() -> list[int]:
    """The ids of the processes this one has started. To look through all of the machine takes
    milliseconds; a kernel may be built without the lists that spare that.
    """
    try:
        lists = [
            task.joinpath("children").read_text() for task in Path("/proc/self/task").iterdir()
        ]
        return [int(pid) for some in lists for pid in some.split()]
    except OSError:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and _is_child(name)]


def _is_child(pid: str) -> bool:
    with contextlib.suppress(OSError):
        stat = Path(f"/proc/{pid}/stat").read_text()
        return int(stat.rpartition(")")[2].split()[1]) == os.getpid()
    return False


def native_threads() -> list[str]:
    """The names of this process's threads that are ours."""
    tasks = Path("/proc/self/task")
    names = []
    for task in tasks.iterdir():
        with contextlib.suppress(OSError):  # it ended meanwhile
            names.append((task / "comm").read_text().strip())
    return [name for name in names if name.startswith("torchkeeper-wo")]


def gone(began: list[str], seconds: float = LONG) -> bool:
    """Whether our threads but these are gone, or go soon: one says it is over before it is."""
    until = time.monotonic() + seconds
    while any(name not in began for name in native_threads()):
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True


def click(qtbot: QtBot, widget: QWidget, at: QPoint | None = None) -> None:
    """Click a control as a user would: only where it is switched on."""
    assert widget.isEnabled(), widget.accessibleName()
    pos = widget.rect().center() if at is None else at
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton, pos=pos)  # type: ignore[no-untyped-call]


def told(window: Window) -> str:
    """What the drawer, which is open, says of what came of the last job."""
    drawer = window.following.drawer
    assert drawer.isVisible() and drawer.job is window.jobs.jobs[0]
    return drawer.detail.told.text() or str(drawer.detail.notice.error)


def type_in(qtbot: QtBot, widget: QWidget, text: str) -> None:
    """Type a text as a user would."""
    qtbot.keyClicks(widget, text)  # type: ignore[no-untyped-call]


def key(qtbot: QtBot, at: QWidget, which: Qt.Key, *more: Any) -> None:
    """Press a key; more: with which others."""
    qtbot.keyClick(at, which, *more)  # type: ignore[no-untyped-call]


@pytest.fixture
def own_home(home: Path) -> Path:
    """An empty home, which temporary files are in too. All tests of a process have it at the same
    path: what a torch says of itself, which takes seconds, is kept by that too.
    """
    own = home.with_name("own-home")
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir()
    return own


@pytest.fixture(scope="session", autouse=True)
def _clear_clipboard(qapp: QApplication) -> Iterator[None]:
    """Without a screen Qt lets go of what was copied only after Python has ended, and crashes."""
    yield
    qapp.clipboard().clear()


@pytest.fixture(autouse=True)
def nothing_survives(
    qapp: QApplication, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """No thread, process or top-level window outlives a test; no cache of the user is found."""
    monkeypatch.setenv("HOME", str(own_home))
    monkeypatch.setenv("TMPDIR", str(own_home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own_home / "config"))
    application()
    threads = set(threading.enumerate())
    began = native_threads()
    processes = set(children())
    yield
    say.use_names(False)  # what is tested of the command line in this process has ids
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    open_ones = [w.objectName() or str(w) for w in qapp.topLevelWidgets() if w.isVisible()]
    # What a test leaves is its own failure: it is gone before the next one begins.
    closed = close_all(qapp)
    # Python knows of a QThread only by a stand-in that never ends; the system knows better.
    left = [t for t in threading.enumerate() if t not in threads and t.name[:5] != "Dummy"]
    for thread in left:
        thread.join(LONG)  # on a busy machine who looks something up may be at it for a moment
    alive = [thread for thread in left if thread.is_alive()]
    working = [] if gone(began) else native_threads()
    started = {n: c for n, c in children().items() if n not in processes}
    for pid in started:
        os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
    collects = gc.isenabled()
    gc.enable()
    assert (open_ones, closed) == ([], True), "windows are left"
    assert alive == [], "threads are left"
    assert working == [], "threads of a window are left"
    assert started == {}, "processes are left"
    assert collects, "no window looks for garbage any more, so Python has to"


def close_all(qapp: QApplication) -> bool:
    """Close what is still open, and delete all windows: one that is left would be dressed anew
    with each theme of all later tests. Whether the engines of all windows have ended.
    """
    windows = [top for top in qapp.topLevelWidgets() if isinstance(top, Window)]
    for window in windows:
        if window.isVisible() or window.engines.running:
            window.close_surely()
    until = time.monotonic() + PATIENCE / 1000
    while any(window.engines.running for window in windows) and time.monotonic() < until:
        QCoreApplication.processEvents()
        time.sleep(0.005)
    closed = not any(window.engines.running for window in windows)
    for top in qapp.topLevelWidgets():
        if top.isVisible():
            top.hide()
            top.deleteLater()
        elif isinstance(top, Window):
            top.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    return closed


@pytest.fixture
def settings(tmp_path: Path) -> QSettings:
    """Settings of this test only. No verdicts: to ask a torch takes seconds."""
    made = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
    made.setValue(KEY, NONE)
    made.setValue(PAGE, ENTRIES)  # what most tests are about
    made.setValue(SHOWN, "false")  # it is on the screen of a test what it is not on a user's: half
    return made


OpenWindow = Callable[..., Window]


@pytest.fixture
def two(clean_291: Path, tmp_path: Path, settings: QSettings) -> list[Path]:
    """Two places on the list, of which one has half of the other."""
    places = [tmp_path / "cache-2.9.1", tmp_path / "half"]
    shutil.copytree(clean_291, places[0])
    shutil.copytree(clean_291 / "fxgraph", places[1] / "fxgraph")
    settings.setValue(SETTING, [str(place) for place in places])
    settings.setValue(PAGE, "overview")
    return places


@pytest.fixture
def open_window(qtbot: QtBot, settings: QSettings) -> Iterator[OpenWindow]:
    """Opens the window, if asked on a place, and waits until that is listed."""
    made: list[Window] = []

    def open_one(place: Path | None = None) -> Window:
        window = Window(settings)
        made.append(window)
        window.show()
        if place is not None:
            window.open_paths([str(place)])
            listed(qtbot, window, place)
        else:
            qtbot.waitUntil(lambda: window.discovery.known, timeout=PATIENCE)
        window.later.start()  # it would wait whether anybody does something
        qtbot.waitUntil(lambda: window.later.over, timeout=PATIENCE)
        return window

    yield open_one
    for window in made:
        window.close_surely()
    qtbot.waitUntil(lambda: not any(w.engines.running for w in made), timeout=PATIENCE)
    timers = [one for window in made for one in window.engines.worker.findChildren(QTimer)]
    assert not any(one.isActive() for one in timers), "a timer has outlived its thread"
    for window in made:
        window.deleteLater()


@contextlib.contextmanager
def sample_window(
    qtbot: QtBot, settings: QSettings, engines: SampleEngines, width: int, height: int
) -> Iterator[Window]:
    """The window over the samples, with all that it makes later."""
    made = Window(settings, engines)
    made.resize(width, height)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(lambda: made.entries.rowCount() > 0, timeout=PATIENCE)
    made.later.start()
    qtbot.waitUntil(lambda: made.later.over, timeout=PATIENCE)
    settle(qtbot)
    yield made
    made.close_surely()
    qtbot.waitUntil(lambda: not engines.running, timeout=PATIENCE)
    made.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def listed(qtbot: QtBot, window: Window, place: Path) -> None:
    """Wait until the window shows a place."""
    qtbot.waitUntil(
        lambda: window.place == str(place) and not window.listing.loading, timeout=PATIENCE
    )
    settle(qtbot)


def entry_at(model: EntriesModel, row: int) -> Entry:
    """The entry in a row, which is not a heading's."""
    line = model.lines[row]
    assert isinstance(line, Row)
    return line.entry


def everything(model: EntriesModel) -> list[Entry]:
    """All entries, shown or not."""
    return [row.entry for row in model.every_row]


def idle(qtbot: QtBot, window: Window) -> None:
    """Wait until no job runs and nothing is being read."""
    qtbot.waitUntil(lambda: not window.jobs.active and not window.listing.loading, timeout=PATIENCE)
    settle(qtbot)


def settle(qtbot: QtBot) -> None:
    """Let the timers run that gather changes of the filter and the totals."""
    # One may start the next. In a single wait that a busy machine makes late, it would not run.
    quiet = turns = 0
    while quiet < 2 and turns < (200 if unanswered() else 15):
        qtbot.wait(10)
        quiet = 0 if expects() else quiet + 1
        turns += 1


def unanswered() -> bool:
    """Whether an engine was asked something by a window and has not answered."""
    windows = [one for one in QApplication.topLevelWidgets() if isinstance(one, Window)]
    return any(one.engines._listeners for one in windows)


def expects() -> bool:
    """Whether the windows wait for an answer or for a timer that soon runs. What is no window's
    may wait unseen: where there is none, always.
    """
    return (
        not any(isinstance(one, Window) for one in QApplication.topLevelWidgets())
        or unanswered()
        or any(
            timer.isActive() and timer.remainingTime() < 150
            for top in QApplication.topLevelWidgets()
            for timer in top.findChildren(QTimer)
        )
    )


@pytest.fixture
def torch_that_waits(tmp_path: Path, settings: QSettings, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The app's own interpreter has a torch whose import takes a minute; the file that says that
    it was begun.
    """
    package, up = tmp_path / "fake" / "torch", tmp_path / "up"
    package.mkdir(parents=True)
    package.joinpath("__init__.py").write_text(
        f"import time; open({str(up)!r}, 'w').close(); time.sleep(60)"
    )
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", sys.executable)
    devices: list[Device] = [
        {"type": "cpu", "name": "a CPU", "arch": "x86_64"},
        {"type": "cuda", "name": "a GPU", "arch": "90"},
    ]
    facts: Env = {"torch": "2.13.0", "threads": 3, "devices": devices}
    probes.keep(probes.identity(sys.executable), facts)
    settings.setValue(KEY, sys.executable)
    return up
