"""What comes over the wire is of the types of messages, or is refused with where and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypedDict

import pytest

from torchkeeper.engine.protocol import misfit


class Pair(NamedTuple):
    name: str
    size: int


class _Needed(TypedDict):
    place: str


class Asked(_Needed, total=False):
    sizes: list[int]
    of: Literal["all", "some"]
    pairs: Sequence[Pair]
    until: float | None
    by: Mapping[str, dict[str, int]]
    either: str | list[str]
    about: Any
    sure: bool


@pytest.mark.parametrize(
    "value",
    [
        {"place": "/cache"},
        {"place": "", "sizes": [1, 2], "of": "all", "pairs": [["a", 1]], "until": 3},
        {"place": "", "until": None, "by": {"x": {"y": 1}}, "either": ["a"], "sure": True},
        {"place": "", "about": [{}], "newer": object()},
    ],
)
def test_what_fits(value: object) -> None:
    assert misfit(Asked, value, "params") == ""


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ([], "params is a list"),
        ({}, "params.place is missing"),
        ({"place": 3}, "params.place is a number"),
        ({"place": "", "sizes": [1, "2"]}, "params.sizes[1] is a text"),
        ({"place": "", "sizes": [True]}, "params.sizes[0] is a truth value"),
        ({"place": "", "sizes": "12"}, "params.sizes is a text"),
        ({"place": "", "of": "none"}, "params.of is a text"),
        ({"place": "", "of": []}, "params.of is a list"),
        ({"place": "", "pairs": [["a"]]}, "params.pairs[0] is a list"),
        ({"place": "", "pairs": [["a", "b"]]}, "params.pairs[0][1] is a text"),
        ({"place": "", "until": "now"}, "params.until is a text"),
        ({"place": "", "until": float("inf")}, "params.until is a number"),
        ({"place": "", "until": float("-inf")}, "params.until is a number"),
        ({"place": "", "until": float("nan")}, "params.until is a number"),
        ({"place": "", "until": 10**4000}, "params.until is a number"),
        ({"place": "", "by": {"x": {"y": None}}}, "params.by.x.y is null"),
        ({"place": "", "either": ["a", 1]}, "params.either[1] is a number"),
        ({"place": "", "either": 1}, "params.either is a number"),
        ({"place": "", "sure": 1}, "params.sure is a number"),
        ({"place": "", "sure": "hunter2"}, "params.sure is a text"),
        ({"place": "", "sure": 1.5}, "params.sure is a number"),
        ({"place": "", "sure": {}}, "params.sure is an object"),
        ({"place": "", "sure": object()}, "params.sure is something else"),
    ],
)
def test_what_does_not_fit(value: object, why: str) -> None:
    assert misfit(Asked, value, "params") == why
