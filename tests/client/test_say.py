"""Numbers as people read them."""

from __future__ import annotations

import re

import pytest

from torchkeeper.client import carrying
from torchkeeper.client.words import say
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.client.words.catalogue.words import Forms
from torchkeeper.client.words.findingwords import WORDS, said
from torchkeeper.client.words.problems import words_for
from torchkeeper.engine.messages.bundles import Described, Maker
from torchkeeper.settings.finding import Finding


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (99_940, "99.9 kB"), (99_960, "100 kB"),
     (999_499, "999 kB"), (999_500, "1.0 MB"), (1_440_000, "1.4 MB"), (3 * 10**15, "3000 TB")],
)  # fmt: skip
def test_size(value: int, said: str) -> None:
    assert say.size(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.04, "0.04 s"), (0.999, "1.0 s"), (3.21, "3.2 s"), (99.6, "1 min 40 s"),
     (125, "2 min 05 s"), (3599.7, "1 h 00 min"), (3720, "1 h 02 min")],
)  # fmt: skip
def test_seconds(value: float, said: str) -> None:
    assert say.seconds(value) == said


@pytest.mark.parametrize(
    ("counts", "said"),
    [({}, "0 graphs"), ({"graphs": 1}, "1 graph"), ({"eager": 2, "graphs": 0}, "2 eager kernels"),
     ({"graphs": 4, "triton": 1}, "4 graphs and 1 Triton kernel"),
     ({"triton": 9, "eager": 1, "graphs": 2}, "2 graphs, 1 eager kernel and 9 Triton kernels")],
)  # fmt: skip
def test_things(counts: dict[str, int], said: str) -> None:
    assert say.things(counts) == said


@pytest.mark.parametrize(
    ("gone", "said"),
    [(0, "just now"), (-30, "just now"), (-3600, "in the future"), (300, "5 min ago"),
     (10800, "3 h ago"), (86400 * 12, "12 d ago")],
)  # fmt: skip
def test_ago(gone: float, said: str) -> None:
    assert say.ago(10**9 - gone, 10**9) == said


def test_count_and_when() -> None:
    assert say.count(1, "entry", "entries") == "1 entry"
    assert say.count(1204, "entry", "entries") == "1,204 entries"
    assert say.when(float("inf")) == "?"


def test_one_thing_is_said_in_the_singular() -> None:
    of_more = re.compile(r"\b(they|them|their|are|were|stay)\b", re.IGNORECASE)
    counted = 0
    for catalogue in (WORDS, CATALOGUE):
        for code, words in catalogue.items():
            for text in words:
                if isinstance(text, Forms):
                    counted += 1
                    one, *none = text.of.split("+")
                    told = words_for(catalogue, code, {one: 1, **dict.fromkeys(none, 0)})
                    if code != "undo-full":  # the others are more than one
                        assert not of_more.search(f"{told.what} {told.why}"), code
    assert counted > 10
    makers: list[Maker | None] = [
        {"what": "bundle", "torch": None}, {"what": "environment", "torch": "2.9"}, None
    ]  # fmt: skip
    for maker in makers:
        export: Described = {"objects": 3, "described": 2, "maker": maker}
        assert not of_more.search(carrying.undescribed(export))


def test_how_many_of_something() -> None:
    about = {"count": 1234, "size_bytes": 5, "path": "a"}
    assert said(Finding("entries-broken", "error", (), "/x", about)).what == (
        "1,234 broken entries in /x."
    )
    # What both numbers are of is one thing, or more.
    for files, locks, what in ((1, 0, "has left a file"), (1, 1, "have left files")):
        about = {"files": files, "locks": locks}
        assert what in said(Finding("left-over", "warning", (), "/x", about)).what


@pytest.mark.parametrize(
    ("names", "said"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c"),
     (["a", "b", "c", "d"], "a, b, c and d"), (["a", "b", "c", "d", "e"], "a, b, c and 2 more")],
)  # fmt: skip
def test_together(names: list[str], said: str) -> None:
    assert say.together(names, 4 if len(names) < 5 else 3) == said


def test_bytes_are_of_what_they_stand_beside() -> None:
    told = {"entries": 5, "locks": 5, "headers": 6, "bytes": 253_225, "apart_bytes": 462_091_138}
    said = "5 entries, 253 kB of content; 5 locks and 6 headers, 462 MB of content"
    assert say.held_of(told) == said
    assert say.held_of({**told, "entries": 0}) == said.partition("; ")[2]
    nothing = say.held_of({**told, "apart_bytes": 0})
    assert nothing == "5 entries, 5 locks and 6 headers, 253 kB of content"
    assert say.held_of({**told, "disk_bytes": 462_344_363}).endswith("6 headers, 462 MB on disk")
