"""The line to another machine is cut at random points of what the window does there: it works on
without a pause, nothing is lost, nothing is half there, and done again it comes to its end.
"""

from __future__ import annotations

import random
import shutil
import time
import zipfile
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, QTimerEvent
from pytestqt.qtbot import QtBot

from tests.gui.conftest import OpenWindow, idle, settle
from tests.gui.test_machines import opened
from tests.pace import LONG, within
from tests.snapshots import snapshot
from tests.ssh import breaking
from tests.ssh.conftest import Machine, ended, forks, orders, sshd, there, tk
from tests.ssh.test_resuming import many_kernels
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.jobs.model import Job, Selection, State
from torchkeeper.gui.window import Window

__all__ = ["forks", "orders", "sshd", "there", "tk"]

#: Seconds for which the window may be blocked.
BLOCKED = 0.05
#: Milliseconds between two looks of the probe.
_EVERY = 5
#: What is done, and after how many bytes at most it is cut; and how.
DOES = {"list": 60_000, "export": 1_400_000, "import": 1_400_000, "purge": 600}
HOWS = ("drop", "kill", "drop", "kill", "drop", "hush")
#: One point of each in every run, forty in a long one.
POINTS = [
    pytest.param(does, seed, marks=() if (does, seed) == ("import", 0) else pytest.mark.slow)
    for does in DOES
    for seed in range(10)
]


def _waited() -> float:
    """Seconds that this thread has waited for a processor, which others have."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


class Probe(QObject):
    """How long the event loop was blocked at most, by what the window did itself."""

    def __init__(self) -> None:
        super().__init__()
        self.worst = 0.0
        self._at, self._waited = time.monotonic(), _waited()
        self.startTimer(_EVERY)

    def timerEvent(self, _event: QTimerEvent) -> None:
        at, waited = time.monotonic(), _waited()
        took = at - self._at - (waited - self._waited) - _EVERY / 1000
        self.worst = max(self.worst, took)
        self._at, self._waited = at, waited


def planned(qtbot: QtBot, window: Window, place: str) -> tuple[int, int]:
    """A plan to purge everything: its ticket and its number."""
    plans: list[int] = []
    hear = Listener(result=lambda told: plans.append(told["plan"]))
    asked = {"place": place, "select": {"filter": ""}, "rows": False}
    ticket = window.engines.ask(protocol.PLAN_PURGE, asked, hear, keep=True)
    qtbot.waitUntil(lambda: bool(plans))
    return ticket, plans[0]


def contents(folder: Path) -> dict[str, object]:
    return {path: x for path, x in snapshot(folder).items() if ".torchkeeper" not in str(path)}


@pytest.mark.parametrize(("does", "seed"), POINTS)
def test_the_line_is_cut(
    qtbot: QtBot, there: Machine, orders: Path, open_window: OpenWindow, kernels: Path,
    many: Path, tmp_path: Path, does: str, seed: int,
) -> None:  # fmt: skip
    chance = random.Random(f"{does} {seed}")
    if does == "list":
        shutil.copytree(many, there.home / "c")
    else:
        many_kernels(there.home / "c", kernels, 12)
    before = contents(there.home / "c")
    window = open_window()
    place, bundle = there.place(there.home / "c"), tmp_path / "b.torchcache"
    (there.home / "empty").mkdir()
    opened(qtbot, window, there, there.home / ("empty" if does == "list" else "c"))
    total = 3000 if does == "list" else window.entries.total
    if does == "import":
        done = window.operations.export(place, Selection(), str(bundle), secrets="allow")
        qtbot.waitUntil(lambda: not done.active)
        assert done.state is State.DONE, done.error
    into = there.place("new")
    job: Job | None = None

    def begin() -> Job | None:
        if does == "list":
            window.open_paths([place])
        if does == "export":
            return window.operations.export(place, Selection(), str(bundle), secrets="allow")
        if does == "import":
            return window.operations.import_files([str(bundle)], into)
        return window.operations.purge(place, plan[0], plan[1], False) if does == "purge" else None

    def over() -> bool:
        read = window.place == place and not window.listing.loading
        return read and not (job is not None and job.active)

    plan = planned(qtbot, window, place) if does == "purge" else (0, 0)
    assert window.following.drawer is not None  # a job that fails opens it, and makes it once
    settle(qtbot)
    probe, how = Probe(), chance.choice(HOWS)
    breaking.order(orders, how, chance.randrange(DOES[does]))
    job = begin()
    qtbot.waitUntil(over, timeout=int(LONG * 1000))
    cut = bool(job and job.error) or window.listing.broken is not None
    # It is found again by itself, and rows stay meanwhile.
    assert window.entries.total == total or does == "purge" or (does == "list" and cut)
    breaking.order(orders)
    qtbot.waitUntil(lambda: window.listing.broken is None, timeout=int(LONG * 1000))
    idle(qtbot, window)
    if job is not None and job.error is not None:
        assert job.state is State.FAILED and job.error.code == "ssh-lost", job.error
    assert window.entries.total == total or does == "purge"
    if does == "import":
        job = begin()
        qtbot.waitUntil(over, timeout=int(LONG * 1000))
        assert job is not None and job.state is State.DONE, job and job.error
        assert len(list((there.home / "new").iterdir())) >= total
    if does == "export":
        assert not cut or not bundle.exists()
        job = begin()
        qtbot.waitUntil(over, timeout=int(LONG * 1000))
        assert job is not None and job.state is State.DONE and zipfile.is_zipfile(bundle)
    assert not list(bundle.parent.glob(".torchkeeper*"))
    worst = probe.worst
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=int(LONG * 1000))
    ended(there)
    if does == "purge":
        with Engine("ssh://there") as engine, pytest.raises(UserError, match="nothing to undo"):
            while True:
                engine.call(protocol.UNDO, {"place": place})
    assert contents(there.home / "c") == before
    print(f"{does} {seed}: {how}, cut {cut}, blocked for {1000 * worst:.0f} ms at most")
    assert worst <= within(BLOCKED)
