"""How many inputs are made, from which seed; and what goes through thousands of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

Made = TypeVar("Made")

#: How many changes or parts an input has at most.
MOST_SIZE = 8
#: Inputs of each thousand of a run, by kind.
SHARES = {
    "pickles": 255, "plain": 60, "facts": 120, "entries": 5, "mega-caches": 100, "manifests": 80,
    "zips": 80, "values": 80, "redis": 40, "wire": 60, "requests": 40, "settings": 40, "lists": 20,
    "items of lists": 20,
}  # fmt: skip
assert sum(SHARES.values()) == 1000
NORMAL, LONG = 2_000, 100_000


@dataclass(frozen=True)
class Run:
    """One run over all kinds. inputs: how many, of all kinds together."""

    inputs: int
    seed: int

    def many(
        self, kind: str, make: Callable[[Random, int], Made], check: Callable[[Made], object]
    ) -> None:
        """Hand this run's share of inputs to ``check``; asserts that there were as many.

        make: one input, of a source of chance and a size from 1 to MOST_SIZE. Where one fails,
        hypothesis looks for the smallest that does, and prints its two numbers.
        """
        most = self.inputs * SHARES[kind] // 1000
        done, began = 0, time.monotonic()

        def one(chance: int, size: int) -> None:
            nonlocal done
            done += 1
            check(make(Random(chance), size))

        run = settings(
            max_examples=most,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        numbers = given(chance=st.integers(0, (1 << 64) - 1), size=st.integers(1, MOST_SIZE))
        seed(self.seed)(run(numbers(one)))()
        took = time.monotonic() - began
        print(f"{kind}: {done} inputs in {took:.1f} s, HOSTILE_SEED={self.seed}")
        assert done >= most


def normal() -> Run:
    """The run of every day, which is always the same."""
    return Run(NORMAL, 0)


def long() -> Run:
    """The long run: as the environment says, else of a seed of its own."""
    at = int(os.environ.get("HOSTILE_SEED", time.time_ns() % 10**9))
    return Run(int(os.environ.get("HOSTILE", LONG)), at)
