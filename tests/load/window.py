"""Somebody at the window: the same on the same folder, with the mouse."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, QTimer
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, click, idle, settle
from tests.gui.test_flows import drop
from tests.load.commands import Ran, Rows, rows_of
from torchkeeper.gui.dialogs.base import ConfirmDialog, Dialog
from torchkeeper.gui.dialogs.exporting import ExportDialog
from torchkeeper.gui.dialogs.importing import ImportDialog
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.window import Window

FILTERS = ("", "kind:fxgraph", "kind:triton", "torch:2.9", "size>20k", "kind:aoti_eager,autotune")
#: Seconds between two beats.
_BEAT = 0.01


class Pulse(QObject):
    """How long the main thread goes without an answer: its own time, and that of the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.own: list[float] = []
        self.clock: list[float] = []
        self._last = time.monotonic(), time.thread_time()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)
        self._timer.start(int(_BEAT * 1000))

    def _beat(self) -> None:
        now = time.monotonic(), time.thread_time()
        self.clock.append(max(now[0] - self._last[0] - _BEAT, 0.0))
        self.own.append(now[1] - self._last[1])
        self._last = now

    def end(self) -> None:
        """No more of it."""
        self._timer.stop()


@dataclass
class Hand:
    """Does what one does in the window, and writes down what came of it."""

    qtbot: QtBot
    window: Window
    work: Path
    chance: random.Random
    #: Bundles, and what is in them.
    bundles: dict[Path, Rows]

    def __post_init__(self) -> None:
        self.done: list[Ran] = []
        self.failed: list[str] = []

    def _wait(self, until: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(until, timeout=PATIENCE)

    def _open(self, kind: type[Dialog]) -> Any:
        """The dialog that an action has opened; None where the action was switched off."""
        self._wait(lambda: any(d.isVisible() for d in self.window.findChildren(kind)))
        return next(d for d in self.window.findChildren(kind) if d.isVisible())

    def _job(self, began: float, argv: list[str], rows: Rows) -> Job:
        """The job that was begun last, when it has ended."""
        idle(self.qtbot, self.window)
        job = self.window.jobs.jobs[0]
        result = {**job.result, "in_use": {}, "left_some": job.left} if job.result else {}
        if job.state is not State.DONE:
            assert job.error is not None, list(job.log)
            self.failed.append(job.error.code or job.error.what)
        ran = Ran("window", argv, began, time.monotonic(), 0, rows, result)
        self.done.append(ran)
        return job

    def refresh(self) -> None:
        self.window.actions_["refresh"].trigger()
        idle(self.qtbot, self.window)

    def filter(self) -> None:
        self.window.head.box.setText(self.chance.choice(FILTERS))
        settle(self.qtbot)

    def purge(self) -> None:
        """Some entries, also those in use."""
        self.window.head.box.setText("")
        settle(self.qtbot)
        may = [e for e in self.window.entries.shown() if e.kind in MAY_GO or e.torch == "2.9.1"]
        if not may:
            return
        self.window.table.select({e.identity for e in self.chance.sample(may, min(4, len(may)))})
        settle(self.qtbot)
        if not self.window.actions_["purge"].isEnabled():
            return  # it was refreshed, and they have gone
        self.window.actions_["purge"].trigger()
        dialog = self._open(PurgeDialog)
        self._wait(lambda: dialog.plan is not None)
        if dialog.users.also.isVisible():
            dialog.users.also.setChecked(True)
            self._wait(lambda: dialog.plan is not None)
        rows = rows_of([entry.to_json() for entry in dialog.model.shown()])
        if not dialog.go.isEnabled():
            dialog.reject()  # others were faster
            return
        before = len(self.window.jobs.jobs)
        began = time.monotonic()
        click(self.qtbot, dialog.go)
        self._wait(lambda: len(self.window.jobs.jobs) > before)
        self._job(began, ["purge"], rows)

    def undo(self) -> None:
        action = self.window.actions_["undo"]
        if action.isEnabled():
            before, began = len(self.window.jobs.jobs), time.monotonic()
            action.trigger()
            self._wait(lambda: len(self.window.jobs.jobs) > before)
            self._job(began, ["undo"], [])

    def empty(self) -> None:
        action = self.window.actions_["empty-trash"]
        if action.isEnabled():
            before, began = len(self.window.jobs.jobs), time.monotonic()
            action.trigger()
            click(self.qtbot, self._open(ConfirmDialog).go)
            self._wait(lambda: len(self.window.jobs.jobs) > before)
            self._job(began, ["trash"], [])

    def export(self) -> None:
        self.filter()
        if not self.window.actions_["export"].isEnabled():
            return
        self.window.actions_["export"].trigger()
        dialog = self._open(ExportDialog)
        dialog.target.file.setText(str(self.work / f"window-{len(self.done)}.torchcache"))
        self._wait(lambda: dialog.ready)
        if not dialog.go.isEnabled():
            dialog.reject()
            return
        began = time.monotonic()
        click(self.qtbot, dialog.go)
        self._job(began, ["export"], [])

    def import_(self) -> None:
        file, inside = self.chance.choice(list(self.bundles.items()))
        assert drop(self.window, files=[file])
        dialog = self._open(ImportDialog)
        self._wait(lambda: dialog.ready and dialog.known)
        if not dialog.go.isEnabled():
            dialog.reject()  # nothing of it is new
            return
        began = time.monotonic()
        click(self.qtbot, dialog.go)
        job = self._job(began, ["import"], [])
        self.done[-1].of = inside
        assert job.kind == "import"

    def work_until(self, end: float) -> None:
        """Go on until a time of time.monotonic."""
        steps = [self.refresh, self.filter, self.purge, self.undo, self.export, self.purge,
                 self.import_, self.undo, self.empty]  # fmt: skip
        while time.monotonic() < end:
            self.chance.shuffle(steps)
            for step in steps:
                if time.monotonic() < end:
                    step()


#: Of what the PyTorch at work wrote itself, no code (tests/load/commands.py).
MAY_GO = frozenset({"fxgraph", "aotautograd", "triton", "aoti_eager", "autotune", "pgo"})
