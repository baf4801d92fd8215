"""The line to another machine is cut at random points of what the window does there: it works on
without a pause, nothing is lost, nothing is half there, and done again it comes to its end.
"""

from __future__ import annotations

import shutil
import time
import zipfile
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, QTimerEvent
from pytestqt.qtbot import QtBot

from tests.gui.conftest import OpenWindow, click, idle, settle
from tests.gui.test_machines import opened
from tests.pace import LONG, within
from tests.ssh import breaking, points
from tests.ssh.conftest import Machine, ended, forks, orders, recipe, sshd, there, tk
from tests.ssh.test_cuts import contents
from tests.ssh.test_resuming import many_kernels
from torchkeeper.client.engines import line
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.kept.history import Past
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import mux, protocol
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.jobs.model import Job, Selection, State
from torchkeeper.gui.window import Window

__all__ = ["forks", "orders", "recipe", "sshd", "there", "tk"]

#: Seconds of the processor for which the window may work at a time.
SLICE = 0.05
#: Milliseconds between two looks of the probe; seconds of silence of the first line, where it is
#: one that falls silent: those of a user are waited for on the command line (tests.ssh.test_cuts).
_EVERY, _SILENCE = 5, 12.0
#: What is done, how often, and after how many bytes at most it is cut.
HOWS = (*points.HOWS, "deaf")
COUNTS = {"list": 6, "export": 6, "import": 6, "purge": 6, "warm": 6}
MOST = {"list": 60_000, "export": 1_400_000, "import": 1_400_000, "purge": 600, "warm": 3_500}


def _waited() -> float:
    """Seconds that this thread has waited for a processor, which others have."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


class Probe(QObject):
    """For how long the event loop was blocked at most, by what the window did itself, and how much
    of that it worked.
    """

    def __init__(self) -> None:
        super().__init__()
        self.blocked = self.slice_ = 0.0
        self._at, self._waited, self._worked = time.monotonic(), _waited(), time.thread_time()
        self.startTimer(_EVERY)

    def timerEvent(self, _event: QTimerEvent) -> None:
        at, waited, worked = time.monotonic(), _waited(), time.thread_time()
        took = at - self._at - (waited - self._waited) - _EVERY / 1000
        self.blocked = max(self.blocked, took)
        self.slice_ = max(self.slice_, worked - self._worked)
        self._at, self._waited, self._worked = at, waited, worked


def planned(qtbot: QtBot, window: Window, place: str) -> tuple[int, int]:
    """A plan to purge everything: its ticket and its number."""
    plans: list[int] = []
    hear = Listener(result=lambda told: plans.append(told["plan"]))
    asked = {"place": place, "select": {"filter": ""}, "rows": False}
    ticket = window.engines.ask(protocol.PLAN_PURGE, asked, hear, keep=True)
    qtbot.waitUntil(lambda: bool(plans))
    return ticket, plans[0]


def followed(qtbot: QtBot, window: Window, job: Job) -> int:
    """Wait until a job that was cut off, if it had begun, is followed to its end, by itself or,
    where nobody here has heard of its beginning, by hand; how many there were.
    """
    if job.there:
        qtbot.waitUntil(lambda: not (job.goes_on or job.active), timeout=int(LONG * 1000))
        assert job.state is State.DONE, job.error
        return 1
    drawer = window.following.drawer
    assert drawer is not None
    drawer.go_in()
    looked: list[object] = []
    window.engines.ask(
        protocol.JOBS, {}, Listener(rows=looked.extend, result=looked.append), python="ssh://there"
    )
    qtbot.waitUntil(lambda: bool(looked))
    if len(looked) == 1:
        return 0
    drawer.refresh()
    qtbot.waitUntil(lambda: any(drawer.rows.there.values()))
    [one] = drawer.rows.there["ssh://there"]
    assert isinstance(one, Past)
    drawer.choose(one)
    click(qtbot, drawer.follow)
    again = drawer.job
    assert again is not None and again is not job
    qtbot.waitUntil(lambda: not again.active, timeout=int(LONG * 1000))
    assert again.state is State.DONE, again.error
    return 1


@pytest.mark.parametrize(("what", "number"), points.points(COUNTS, {"import": 0}))
def test_the_line_is_cut(
    qtbot: QtBot, there: Machine, orders: Path, open_window: OpenWindow, kernels: Path,
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe: Path, torch_python: str,
    request: pytest.FixtureRequest, what: str, number: int,
) -> None:  # fmt: skip
    how, after = points.chosen("window", what, number, MOST[what], HOWS)
    if what == "list":
        shutil.copytree(many, there.home / "c")
    elif what == "warm":
        (there.home / "c").mkdir()
    else:
        many_kernels(there.home / "c", kernels, 12)
    before = contents(there.home / "c")
    place, bundle = there.place(there.home / "c"), tmp_path / "b.torchcache"
    (there.home / "empty").mkdir()
    with monkeypatch.context() as patched:
        if how in ("hush", "deaf"):
            patched.setattr(mux, "SILENCE", _SILENCE)
        window = open_window()
        opened(qtbot, window, there, there.home / ("empty" if what == "list" else "c"))
    way = line.to("ssh://there")
    total = 3000 if what == "list" else window.entries.total
    if what == "import":
        done = window.operations.export(place, Selection(), str(bundle), secrets="allow")
        qtbot.waitUntil(lambda: not done.active)
        assert done.state is State.DONE, done.error
    into = there.place("new")
    job: Job | None = None

    def begin() -> Job | None:
        if what == "list":
            window.open_paths([place])
        if what == "export":
            return window.operations.export(place, Selection(), str(bundle), secrets="allow")
        if what == "import":
            return window.operations.import_files([str(bundle)], into)
        if what == "warm":
            return window.operations.warm(f"ssh://there{torch_python}", [str(recipe)], place)
        return window.operations.purge(place, plan[0], plan[1], False) if what == "purge" else None

    def over() -> bool:
        read = window.place == place and not window.listing.loading
        return read and not (job is not None and job.active)

    plan = planned(qtbot, window, place) if what == "purge" else (0, 0)
    assert window.following.drawer is not None  # a job that fails opens it, and makes it once
    settle(qtbot)
    probe = Probe()
    breaking.order(orders, how, after)
    job = begin()
    qtbot.waitUntil(over, timeout=int(LONG * 1000))
    if how in ("hush", "deaf") and not orders.read_text().startswith(how):
        # It is so by now, whether or not anything was still to come.
        qtbot.waitUntil(lambda: way.failure is not None, timeout=int(LONG * 1000))
    cut = bool(job and job.error) or way.failure is not None
    # It is found again by itself, and rows stay meanwhile.
    stays = what not in ("purge", "warm")
    assert window.entries.total == total or not stays or (what == "list" and cut)
    breaking.order(orders)
    qtbot.waitUntil(lambda: window.listing.broken is None, timeout=int(LONG * 1000))
    idle(qtbot, window)
    if job is not None and job.error is not None:
        assert job.state is State.FAILED and job.error.code == "ssh-lost", job.error
    assert window.entries.total == total or not stays
    if what == "warm" and job is not None:
        found = followed(qtbot, window, job) if cut else 0
        assert found or not job.there or job.state is State.DONE
    if what == "export":
        assert job is not None and (job.error is None or not bundle.exists())
    if what in ("import", "export", "warm"):
        job = begin()
        qtbot.waitUntil(over, timeout=int(LONG * 1000))
        assert job is not None and job.state is State.DONE, job and job.error
    if what == "import":
        assert len(list((there.home / "new").iterdir())) >= total
    if what == "export":
        assert zipfile.is_zipfile(bundle)
    if what == "warm":
        qtbot.waitUntil(lambda: window.entries.total == 1)
        # That its end was heard goes there after the window has it.
        kept = there.home / ".cache/torchkeeper/jobs"
        qtbot.waitUntil(lambda: not list(kept.iterdir()), timeout=int(LONG * 1000))
    probed = probe.blocked, probe.slice_
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=int(LONG * 1000))
    ended(there)
    if what == "purge":
        with Engine("ssh://there") as engine, pytest.raises(UserError, match="nothing to undo"):
            while True:
                engine.call(protocol.UNDO, {"place": place})
        line.close_all()
        ended(there)
    if what != "warm":
        assert contents(there.home / "c") == before
    points.came(request, "window", what, number, how, after, cut, *probed)
    own = tmp_path / "own"
    assert points.leftovers(there, own, there.home, tmp_path) == []
    assert probed[1] <= within(SLICE)
