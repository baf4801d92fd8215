"""Of many parameters only some in each run; all of them where the slow tests are run, too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def sampled(
    names: str | Sequence[str], values: Iterable[Any], most: int, ids: Any = None
) -> pytest.MarkDecorator:
    """As ``pytest.mark.parametrize``; all but ``most`` of the values, evenly spread, are slow."""
    every = list(values)
    step = max(1, -(-len(every) // most))
    several = not isinstance(names, str)
    marked = [
        value
        if number % step == 0
        else pytest.param(*(value if several else (value,)), marks=pytest.mark.slow)
        for number, value in enumerate(every)
    ]
    return pytest.mark.parametrize(names, marked, ids=ids)
