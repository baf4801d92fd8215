"""Readers die of hostile entries; the listing does not."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from pathlib import Path

import pytest

from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.reader import STALL, Reader, Reading


def nested_key(depth: int) -> bytes:
    """A dict whose key is a million tuples deep: hashing it overflows the C stack."""
    return b"}" + b")" + b"\x85" * depth + b"Ns."


def colliding_integers(count: int) -> bytes:
    """A set of integers that all have one hash: building it takes quadratic time."""
    modulus = (1 << 61) - 1
    return pickle.dumps([1], 2)[:2] + b"}(" + b"".join(
        pickle.dumps(n * modulus, 2)[2:-1] + b"N" for n in range(1, count)
    ) + b"u."  # fmt: skip


BOMBS = {
    "nested tuples as a key": (nested_key(1_000_000), {"reader-crashed", "payload-unreadable"}),
    "colliding integers": (colliding_integers(50_000), {"reader-stuck"}),
    "BINBYTES8 of 2^56": (b"\x80\x04\x8e" + b"\xff" * 7 + b"\0.", {"payload-unreadable"}),
    "BYTEARRAY8 of 2^56": (b"\x80\x05\x96" + b"\xff" * 7 + b"\0.", {"payload-unreadable"}),
    "LONG_BINPUT of 2^31": (b"\x80\x02Nr\xff\xff\xff\x7f.", {"payload-unreadable"}),
    "LONG4 of 2 GB": (b"\x80\x02\x8b\xff\xff\xff\x7f.", {"payload-unreadable"}),
    "deep nesting": (b"\x80\x02" + b"]" * 200_000 + b"a" * 199_999 + b".",
                     {"payload-unreadable", "reader-crashed"}),
    "doubling lists": (b"\x80\x02]q\0" + b"".join(
        b"]q" + bytes([n + 1]) + b"h" + bytes([n]) + b"ah" + bytes([n]) + b"a" for n in range(60)
    ) + b".", {"payload-unreadable"}),
}  # fmt: skip


@pytest.fixture
def good(kept_291: Path) -> Reading:
    path = next(p for p in (kept_291 / "fxgraph").rglob("*") if p.is_file())
    return Reading("fxgraph", [path.name], {path.name: path.read_bytes()})


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_broken_and_the_rest_goes_on(name: str, good: Reading) -> None:
    data, expected = BOMBS[name]
    bomb = Reading("fxgraph", ["bomb"], {"bomb": data})
    started = time.monotonic()
    with Reader() as reader:
        found = reader.facts([good, bomb, good, bomb, good], Report())
    assert [f.get("problem") in expected for f in found] == [False, True, False, True, False], (
        found[1]
    )
    assert all(f["torch"] == "2.9.1+cu128" for f in found[::2])
    assert time.monotonic() - started < 2 * STALL + 3


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

    bomb = Reading("fxgraph", ["bomb"], {"bomb": BOMBS["colliding integers"][0]})
    started = time.monotonic()
    with Reader() as reader, pytest.raises(Cancelled):
        reader.facts([bomb], Impatient())
    assert time.monotonic() - started < 1


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
