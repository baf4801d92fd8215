"""Readers die of hostile entries (tests/hostile); what is asked of them comes in order."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.hostile.pickles import BOMBS
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.reader import STALL, Reader, Reading

pytestmark = pytest.mark.usefixtures("started_readers")


@pytest.fixture
def good(kept_291: Path) -> Reading:
    path = next(p for p in (kept_291 / "fxgraph").rglob("*") if p.is_file())
    return Reading("fxgraph", [path.name], {path.name: path.read_bytes()})


def test_readings_come_back_in_order(kept_291: Path) -> None:
    paths = sorted(p for p in (kept_291 / "fxgraph").rglob("*") if p.is_file()) * 40
    readings = [Reading("fxgraph", [p.name], {p.name: p.read_bytes()}) for p in paths]
    with Reader() as reader:
        found = reader.facts(readings, Report())
        again = reader.facts(readings[:7], Report())
    assert [f["code_key"] for f in found] == [f["code_key"] for f in again] * 40


def test_a_reader_never_has_torch_and_opens_nothing(good: Reading) -> None:
    with Reader() as reader:
        reader.facts([good], Report())
        process = reader._process
        assert process
        maps = Path(f"/proc/{process.pid}/maps").read_text()
        assert "torch" not in maps.replace("torchkeeper", "")
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        line = next(x for x in limits.splitlines() if x.startswith("Max address space"))
        assert line.split()[3] == str(512 << 20)
    assert process.poll() is not None


def test_cancel_ends_a_stuck_reader_at_once() -> None:
    class Impatient(Report):
        def check(self) -> None:
            if time.monotonic() > started + 0.3:
                raise Cancelled

    bomb = Reading("fxgraph", ["bomb"], {"bomb": BOMBS["colliding integers"]})
    started = time.monotonic()
    with Reader() as reader, pytest.raises(Cancelled):
        reader.facts([bomb], Impatient())


def test_a_reader_that_is_not_let_run_is_waited_for(good: Reading) -> None:
    class Stops(Report):
        """Stops the reader for longer than a stall, as a busy machine would."""

        stopped = False

        def check(self) -> None:
            process = reader._process
            if process and not self.stopped:
                self.stopped = True
                os.kill(process.pid, signal.SIGSTOP)
                threading.Timer(STALL + 0.7, os.kill, (process.pid, signal.SIGCONT)).start()

    with Reader() as reader:
        reader.facts([good], Report())
        (found,) = reader.facts([good], Stops())
    assert found.get("problem") is None


def test_what_was_begun_is_never_taken_for_something_else() -> None:
    def kernel(name: str) -> Reading:
        return Reading(
            "triton", [f"{name}.json"], {f"{name}.json": b'{"name": "%s"}' % name.encode()}
        )

    first, second = [kernel("one"), kernel("two")], [kernel("three")]
    with Reader() as reader:
        reader.begin(first)
        assert [f["name"] for f in reader.facts(first, Report())] == ["one", "two"]
        # A listing that was cancelled after it had begun.
        reader.begin(first)
        assert [f["name"] for f in reader.facts(second, Report())] == ["three"]
        reader.begin(first)
        reader.begin(second)
        assert [f["name"] for f in reader.facts(second, Report())] == ["three"]
