"""The window in a process of its own while it warms: in the background, and when a session ends."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.killing import Killing, Moment, killing

pytestmark = [pytest.mark.torch, pytest.mark.slow]

#: Seconds that a session manager waits at least before it is rude.
SESSION = 10.0


@pytest.fixture
def place(tmp_path: Path, torch_python: str, header_folder: Path) -> Iterator[Killing]:
    with killing(tmp_path, torch_python, header_folder) as made:
        yield made


def test_a_job_goes_on_in_the_background_to_its_end(place: Killing) -> None:
    warm = place.start("window", variants=3)
    assert warm.hear("begun")["begun"]
    place.wait(warm, Moment(1, 0.0))
    warm.ask(close="background")
    assert not warm.hear("visible")["visible"]
    told = warm.hear("ended")
    assert told["ended"] == "done", told
    assert warm.process.wait(SESSION) == 0, warm.said
    assert warm.said == ""
    place.assert_well(warm)
    assert len(list(place.place.glob("fxgraph/*/*"))) == 3


@pytest.mark.parametrize("background", [False, True], ids=["shown", "hidden"])
@pytest.mark.parametrize("all_at_once", [False, True], ids=["window", "all"])
def test_the_end_of_a_session_ends_it_all(
    place: Killing, background: bool, all_at_once: bool
) -> None:
    warm = place.start("window", jobs=2)
    assert warm.hear("begun")["begun"]
    if background:
        warm.ask(close="background")
        assert not warm.hear("visible")["visible"]
    place.wait(warm, Moment(6, 0.1))
    begun = time.monotonic()
    for pid in sorted(warm.left) if all_at_once else [warm.process.pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    assert warm.process.wait(SESSION) == 0, warm.said
    place.assert_well(warm)
    assert time.monotonic() < begun + SESSION
    assert warm.said == ""
    if all_at_once:
        warm = place.start("command", variants=3)
        assert warm.process.wait(120) == 0, warm.said
        place.assert_well(warm)


def test_the_window_says_that_a_worker_was_killed(place: Killing) -> None:
    choice = random.Random()
    warm = place.start("window", variants=3)
    assert warm.hear("begun")["begun"]
    place.wait(warm, Moment(1, 0.0))
    warm.kill("worker", choice)
    told = warm.hear("ended")
    assert told["ended"] == "done"
    assert told["said"].startswith("1 of 3 variants failed · 2 graphs: "), told
    # The only variant.
    place.again(warm, variants=1)
    assert warm.hear("begun")["begun"]
    warm.kill("worker", choice)
    assert warm.hear("ended")["said"] == "Failed: SIGKILL ended the compile job."
    warm.ask(look=True)
    seen = warm.hear("bar")
    assert (seen["jobs"], seen["visible"]) == (["failed", "done"], True)
    assert "ran out of memory" in seen["bar"]
    warm.process.terminate()
    assert warm.process.wait(SESSION) == 0, warm.said
    place.assert_well(warm)
