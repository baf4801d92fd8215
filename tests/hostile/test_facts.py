"""JSON, sources and objects of a cache folder, as a listing and an inspector read them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.hostile import facts, values
from tests.hostile.listing import PATHS, Watched, listed
from tests.hostile.running import Run
from tests.hostile.tripwires import Arena

JSON = ("triton", "group", "autotune", "choices", "eager", "memoized", "vllm")
CODE = ("module", "source", "object")


def test_generated(run: Run, arena: Arena, kept_291: Path) -> None:
    real, trip = facts.sources(kept_291), str(arena.trip / "x")

    def make(chance: Random, size: int) -> tuple[dict[str, bytes], bool]:
        made: dict[str, bytes] = {}
        for kind in chance.sample((*JSON, *CODE), k=chance.choice((1, 1, 2, 3))):
            if kind in CODE:
                made[PATHS[kind]] = facts.code_of(kind, chance, size, trip, real)
            else:
                made[PATHS[kind]] = facts.json_of(kind, chance, size)
        return made, chance.random() < 0.4

    with Watched() as reader:

        def check(made: tuple[dict[str, bytes], bool]) -> None:
            arena.held(lambda: listed(made[0], reader, made[1]))
            if arena.count % 50 == 0:
                reader.look()

        run.many("facts", make, check)


@pytest.mark.parametrize("kind", JSON)
def test_json_that_is_none(kind: str, arena: Arena) -> None:
    with Watched() as reader:
        for data in values.ODD_JSON:
            arena.held(lambda data=data: listed({PATHS[kind]: data}, reader, True))  # type: ignore[misc]
        reader.look()
