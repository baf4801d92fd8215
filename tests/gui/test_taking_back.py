"""A copy of many entries that is cancelled late takes all of them back, and the window says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.gui.conftest import OpenWindow
from torchkeeper.gui.background import worker
from torchkeeper.gui.jobs.model import Selection, State, outcome


def files(place: Path) -> list[str]:
    return [name for _, _, names in os.walk(place) for name in names]


@pytest.mark.slow
def test_nothing_stays_however_short_the_patience_with_others_is(
    qtbot: QtBot, open_window: OpenWindow, many: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    # Whoever only looks is killed at once; to take back takes as long as it takes.
    monkeypatch.setattr(worker, "GRACE", 0.01)
    target = tmp_path / "target"
    target.mkdir()
    window = open_window()
    job = window.operations.copy(str(many), Selection(), str(target), True, False)
    said: list[str] = []

    def late() -> bool:
        return job.counts_bytes and job.done > 0.8 * (job.total or 0)

    qtbot.waitUntil(lambda: late() or not job.active, timeout=300_000)
    assert job.active and files(target)
    window.operations.cancel(job)

    def over() -> bool:
        said.append(job.unit)
        return not job.active

    qtbot.waitUntil(over, timeout=300_000)
    assert (job.state, files(target)) == (State.CANCELLED, [])
    assert "taken-back" in said
    [text] = outcome(job).lines
    # How many are named only where some had got their names.
    assert text.endswith("Nothing was left behind.")


@pytest.mark.slow
def test_what_is_killed_while_it_takes_back_is_not_said_to_have_left_nothing(
    qtbot: QtBot, open_window: OpenWindow, many: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    window = open_window()
    job = window.operations.copy(str(many), Selection(), str(target), True, False)
    qtbot.waitUntil(
        lambda: (job.counts_bytes and job.done > 0.3 * (job.total or 0)) or not job.active,
        timeout=300_000,
    )
    assert job.active
    lines = [line for line in window.engines.worker._lines if not line.shared]
    window.operations.cancel(job)
    for line in lines:
        line.engine.kill()
    qtbot.waitUntil(lambda: not job.active, timeout=300_000)
    assert job.state is State.FAILED and job.error is not None
    assert job.error.code == "not-taken-back"
    assert files(target), "it was killed before it could"
    assert "left behind" not in " ".join(outcome(job).lines)
    # The next change brings it to its end, or who is told that it was cut off.
    window.operations.recover(str(target))
    qtbot.waitUntil(lambda: files(target) == [], timeout=300_000)
