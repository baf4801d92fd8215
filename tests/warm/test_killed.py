"""``kill -9`` at random moments of a warm-up, of any of its processes: nothing of what is left is
broken, none of them is left, and the next one works.

All fifty: ``packaging/test --slow -n 0 -s tests/warm/test_killed.py``. It prints a line for each,
and the seed: with ``KILL_SEED`` set to that, the same are killed in the same order, as long after
as many files.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.killing import Killing, Moment, Warm, killing
from tests.pace import LONG

pytestmark = pytest.mark.torch

#: How often each is killed; a worker in a warm-up that goes on, and in which another is later.
TIMES = {"window": 13, "command": 12, "engine": 13, "worker": 12}
#: What is compiled into each place, and in how many warm-ups; an operator takes long.
PLACES = (("callable", 12), ("triton", 10), ("eager", 5), ("callable", 11))


class Round(NamedTuple):
    """A warm-up, which is started by "command" or "window": at each moment one of it is killed; the
    last is what it does not survive. empty: a place that was not used before.
    """

    by: str
    jobs: int
    victims: tuple[tuple[str, Moment], ...]
    source: str = "callable"
    empty: bool = False

    def __str__(self) -> str:
        killed = ", ".join(f"{victim} {moment}" for victim, moment in self.victims)
        empty = ", empty place" * self.empty
        return f"{self.source} by {self.by}, {self.jobs} at a time{empty}; {killed}"


@pytest.fixture
def place(tmp_path: Path, torch_python: str, header_folder: Path) -> Iterator[Killing]:
    with killing(tmp_path, torch_python, header_folder) as made:
        yield made


def rounds(choice: random.Random) -> list[Round]:
    """Warm-ups for all the times, in any order."""
    ends = [victim for victim, times in TIMES.items() for _ in range(times) if victim != "worker"]
    choice.shuffle(ends)
    with_worker = set(choice.sample(range(len(ends)), TIMES["worker"]))
    places = [(source, not before) for source, times in PLACES for before in range(times)]
    made = []
    for number, (end, (source, empty)) in enumerate(zip(ends, places, strict=True)):
        by = choice.choice(["command", "window"]) if end == "engine" else end
        victims = [end]
        if number in with_worker:
            victims.insert(0, "worker")
        moments = [_moment(choice, empty)]
        # Once more files are there, the next variant is being compiled.
        moments += [Moment(choice.randint(1, 16), choice.uniform(0, 0.4)) for _ in victims[1:]]
        killed = tuple(zip(victims, moments, strict=True))
        made.append(Round(by, number % 2 + 1, killed, source, empty))
    return made


def _moment(choice: random.Random, empty: bool) -> Moment:
    if empty:
        # What PyTorch does first in an empty place makes few files and takes long.
        return Moment(1, choice.uniform(0, 6))
    if choice.random() < 0.2:
        return Moment(0, choice.uniform(0, 3))  # while processes start and import
    return Moment(choice.randint(1, 16), choice.uniform(0, 0.4))


def play(place: Killing, one: Round, choice: random.Random) -> Warm:
    """Start it, kill, and see that all is well."""
    warm = place.start(one.by, one.jobs)
    if warm.by == "window" and one.victims[0][0] != "window":
        assert warm.hear("begun")["begun"]
    for victim, moment in one.victims:
        place.wait(warm, moment)
        warm.kill(victim, choice)
    if one.by == "window" and one.victims[-1][0] != "window":
        assert_told(warm)
        warm.process.terminate()
        assert warm.process.wait(LONG) == 0, warm.said
    status = warm.process.wait(LONG)
    if one.by == "command" and len(one.victims) > 1:
        # Only the variant that the worker was at has failed, if it was at one.
        assert len(re.findall(r"^failed +recipe:", warm.said, re.M)) <= 1, warm.said
    if one.by == "command" and one.victims[-1][0] == "engine":
        assert status == 1
        assert "The engine stopped before it was done." in warm.said
    return warm


def assert_told(warm: Warm) -> None:
    """The window is still there, and says that the engine is not."""
    told = warm.hear("ended")
    assert told == {"ended": "failed", "said": "Failed: The engine stopped before it was done."}
    warm.ask(look=True)
    seen = warm.hear("bar")
    assert seen["visible"]
    assert "It was ended by SIGKILL." in seen["bar"]


@pytest.mark.slow
def test_worker_engine_command_and_window(place: Killing) -> None:
    choice = random.Random()
    soon = Moment(choice.randint(1, 12), 0.0)
    # The command while the next worker starts.
    then = Moment(0, choice.uniform(0.2, 2))
    one = Round("command", 1, (("worker", soon), ("command", then)))
    place.assert_well(play(place, one, choice))
    warm = place.start("window")
    assert warm.hear("begun")["begun"]
    time.sleep(choice.uniform(0, 1))
    warm.kill("engine", choice)
    assert_told(warm)
    place.again(warm)
    assert warm.hear("begun")["begun"]
    place.wait(warm, soon)
    warm.kill("window", choice)
    warm.process.wait(LONG)
    place.assert_well(warm)


@pytest.mark.slow
def test_fifty_times(place: Killing) -> None:
    seed = int(os.environ.get("KILL_SEED") or random.randrange(10**6))
    choice = random.Random(seed)
    begun, killed = time.monotonic(), Counter[str]()
    print(f"\nKILL_SEED={seed}")
    for number, one in enumerate(rounds(choice)):
        if number and one.empty:
            complete(place)
            place.other_place(one.source)
        print(f"{number:3}  {one}: ", end="", flush=True)
        since = time.monotonic()
        warm = play(place, one, choice)
        until = time.monotonic()
        well = place.assert_well(warm)
        print(f"{until - since:.1f} s, well after {well:.1f} s", flush=True)
        killed.update(victim for victim, _ in one.victims)
    complete(place)
    assert killed == TIMES
    print(f"{killed.total()} killed in {time.monotonic() - begun:.0f} s: {dict(killed)}")


def complete(place: Killing) -> None:
    """What the last was interrupted at, and more, to the end."""
    warm = place.start("command", 1, 3)
    assert warm.process.wait(120) == 0, warm.said
    place.assert_well(warm)
