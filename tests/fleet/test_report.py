"""The page of a fleet: it holds every cell, loads nothing, and takes nobody's text for HTML."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from typing import TYPE_CHECKING, cast

import pytest

from torchkeeper.fleet.report import Told, page
from torchkeeper.fleet.told import STATE_WORDS, met, title

if TYPE_CHECKING:
    from torchkeeper.engine.messages.fleet import CellFinding, NodeFinding

#: What recipes and nodes may call themselves.
STRANGE = "<script>alert('x')</script> \x1b[31m & \u202e\"quoted\""
#: Tags without an end.
_VOID = {"meta"}


class Page(HTMLParser):
    """What is in a page: its tags, its attributes and its texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def _cell(number: int, state: str, **more: object) -> CellFinding:
    made: dict[str, object] = {
        "cell": f"c{number}", "state": state, "index": number, "recipe": f"model {STRANGE}",
        "name": f"batch {number} {STRANGE}", "source": "callable", "kind": "H100, torch 2.13 · 1a",
        "node": f"gpu{number} {STRANGE}", "seconds": 10.0, "graphs": 2, "there": False,
    }  # fmt: skip
    return cast("CellFinding", {**made, **more})


def _told(rows: list[CellFinding]) -> Told:
    node: NodeFinding = {
        "target": "ssh://gpu1", "name": f"ssh://gpu1 {STRANGE}", "state": "unusable",
        "kind": "", "torch": STRANGE, "slots": 1, "devices": [STRANGE], "labels": {"a": STRANGE},
        "why": {"code": "fleet-lacks", "params": {"what": STRANGE}},
    }  # fmt: skip
    states = Counter(row["state"] for row in rows)
    return Told(
        rows, [node],
        {
            "cells": len(rows), "states": dict(states), "compiled": 1, "there": 0, "entries": 3,
            "bytes": 1000, "shared": 5, "seconds": 4.0, "nodes": 1, "cut": False,
            "into": f"/c {STRANGE}", "state": "/s",
        },
        True, 1_800_000_000.0, STRANGE, [STRANGE],
    )  # fmt: skip


def _every() -> list[CellFinding]:
    lines = [f"line {number} {STRANGE}" for number in range(500)]
    failed = {"code": "fleet-failed", "params": {"nodes": STRANGE}}
    lacks = {"code": "fleet-lacks", "params": {"what": STRANGE}}
    return [
        _cell(1, "proven", proved_on="gpu2", found=1.0, hits=2, misses=0, rebuilt=0),
        _cell(2, "warm", shared=5),
        _cell(3, "partly", proved_on="gpu2", found=5.0, hits=1, misses=1, rebuilt=1),
        _cell(4, "failed", problem=failed, log=lines),
        _cell(5, "impossible", kind="", problem=lacks),
        _cell(6, "waiting"),
    ]


def test_every_cell_is_there_with_its_state_and_why() -> None:
    text = page(_told(_every()))
    shown = Page(text)
    assert shown.open == []
    said = " ".join(shown.texts)
    for row in _every():
        assert f"batch {row['index']}" in said
        assert STATE_WORDS[row["state"]] in said
    assert "1 of 6 cells is proven; 1 warm, 1 partly, 1 failed, 1 not possible, 1 not done" in said
    assert "10.0×" not in said
    assert "graphs from other nodes" in said
    assert "5 graphs from others" in said
    assert "It failed on" in said
    assert "No node has" in said
    assert "1 graph was compiled anew and 1 object was built anew in the proof." in said


def test_nobodys_text_is_taken_for_html_and_nothing_is_loaded() -> None:
    text = page(_told(_every()))
    shown = Page(text)
    assert shown.tags["script"] == 0
    assert not {"img", "link", "iframe", "object", "base", "form"} & set(shown.tags)
    assert "<script" not in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", text)
    named = {name for name, _ in shown.attributes}
    assert not {name for name in named if name.startswith("on")} | ({"src"} & named)
    links = {value for name, value in shown.attributes if name == "href"}
    assert links == {"#log-c4"}
    style = text.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


def test_kernels_are_summed_for_each_gpu() -> None:
    """They are for any node, and each for its own GPU."""
    rows = [_cell(n, "proven", kind="", target=("cuda:90", "hip:gfx942")[n % 2]) for n in range(5)]
    text = page(_told(rows))
    lines = [one for one in text.split("<tr>") if 'class="meter"' in one]
    assert [one.partition("<td")[0] for one in lines] == [
        "<th scope=row>cuda:90</th>", "<th scope=row>hip:gfx942</th>",
    ]  # fmt: skip
    assert "3 of 3" in lines[0]
    assert "any node" not in text


def test_logs_are_bounded() -> None:
    text = page(_told(_every()))
    assert "line 499" in text
    assert "line 300 " not in text
    many = [
        _cell(number, "failed", log=["x" * 100_000] * 100, problem=None) for number in range(1000)
    ]
    assert len(page(_told(many))) < 8 << 20


def test_a_reader_may_have_it_dark_or_on_paper() -> None:
    text = page(_told(_every()))
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


@pytest.mark.parametrize("prove", [True, False])
def test_what_was_asked_for_is_met(prove: bool) -> None:
    assert [met(row, prove) for row in _every()] == [True, not prove, *[False] * 4]
    assert title([_cell(1, "proven")], True) == "The one cell is proven"
    assert title([_cell(1, "proven")] * 2, False) == "All 2 cells are warm"
