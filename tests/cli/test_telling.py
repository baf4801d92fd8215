"""What a warm-up says while it goes on, and at the end, from what its engine tells."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from torchkeeper.cli.asking import Asker
from torchkeeper.cli.telling import Live, tell
from torchkeeper.client.engines.process import Engine
from torchkeeper.engine.messages.compiling import WarmResult
from torchkeeper.engine.messages.findings import Finding

QUEUED: Any = [{"index": n, "recipe": "small", "name": f"f, batch {n}", "source": "callable",
           "state": "queued"} for n in range(2)]  # fmt: skip
DONE: Any = {"index": 0, "state": "done", "graphs": 1, "hits": 1, "misses": 0, "seconds": 2.5,
        "device": "cpu"}  # fmt: skip
FAILED: Any = {"index": 1, "state": "failed", "seconds": 1.0, "log": ["a", "last words"],
          "problem": {"code": "warm-failed", "params": {"why": "ValueError: no"}}}  # fmt: skip


def live(variants: Any, as_json: bool = False) -> Live:
    made = Live(as_json, Asker(cast(Engine, None), quiet=True))
    made({"variants": variants})
    return made


def test_a_line_for_each_variant_that_ended(capsys: pytest.CaptureFixture[str]) -> None:
    heard = live(QUEUED)
    for index in (0, 1):
        heard({"variant": {"index": index, "state": "compiling"}})
    for variant in (DONE, FAILED):
        heard({"variant": variant})
    assert capsys.readouterr().err.splitlines() == [
        "done    small: f, batch 0  1 hit, 0 misses  2.5 s",
        "failed  small: f, batch 1  Compiling failed.  1.0 s",
    ]
    # A result that does not have all of them takes nothing away.
    rows = heard.rows_of(cast("WarmResult", {"variants": [QUEUED[0] | DONE]}))
    tell(heard, rows, [row for row in rows if row["state"] == "failed"])
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "VARIANT     STATE   GRAPHS  HITS  MISSES  SECONDS  DEVICE",
        "f, batch 0  done         1     1       0    2.5 s  cpu",
        "f, batch 1  failed       -     -       -    1.0 s  -",
    ]
    for text in ("small: f, batch 1", "ValueError: no", "    last words"):
        assert text in said.err


def test_what_is_not_cacheable_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    heard = live(QUEUED)
    graph: Any = {"variant": 0, "id": "0/0 forward", "name": "f", "reason": "a custom pass"}
    for outcome in ("compiling", "bypass", "bypass"):
        heard({"graph": graph | {"outcome": outcome, "seconds": None, "phases": []}})
    heard({"variant": DONE | {"bypasses": 1}})
    assert capsys.readouterr().err == (
        "done    small: f, batch 0  1 hit, 0 misses, 1 not cacheable  2.5 s\n"
    )
    tell(heard, list(heard.rows.values()), [])
    assert capsys.readouterr().err.splitlines() == [
        "small: f, batch 0: PyTorch does not cache 1 graph of it, which every program compiles "
        "again.",
        "  0/0 forward  f: a custom pass",
    ]


def test_what_is_going_on_names_the_variant_and_its_phase() -> None:
    heard = live(QUEUED)
    assert heard.now() == ""
    heard({"variant": {"index": 0, "state": "compiling"}})
    assert heard.now() == "small: f, batch 0"
    phases = [("dynamo", 0.1), ("codegen", 1.0), ("other", 0.2)]
    heard({"graph": {"id": "0/0", "name": "", "outcome": "compiling", "seconds": None,
                     "phases": phases, "variant": 0}})  # fmt: skip
    assert heard.now() == "small: f, batch 0, codegen"
    heard({"variant": {"index": 1, "state": "compiling"}})
    assert heard.now() == "small: f, batch 0, codegen and 1 more"
    heard({"variant": DONE})
    assert heard.now() == "small: f, batch 1"


def test_graphs_of_a_single_variant_are_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    heard = live(QUEUED[:1])
    for outcome in ("compiling", "miss", "miss"):
        heard({"graph": {"id": "0/0 forward", "name": "f", "outcome": outcome, "seconds": 1.0,
                         "phases": []}})  # fmt: skip
    heard({"log": "not for a terminal"})
    assert capsys.readouterr().err == "  miss    0/0 forward  f  1.0 s\n"


def test_as_json_each_variant_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    heard = live(QUEUED, as_json=True)
    heard({"device": {"type": "cpu", "name": "CPU", "why": "asked"}})
    heard({"variant": DONE})
    heard({"variant": FAILED})
    said = capsys.readouterr()
    assert said.err == ""
    first, second = (json.loads(line)["variant"] for line in said.out.splitlines())
    assert first == {**QUEUED[0], **DONE}
    assert second["problem"]["code"] == "warm-failed"


def test_what_is_cancelled_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    cancelled: list[Finding] = [{"variant": {"index": n, "state": "cancelled"}} for n in (0, 1)]
    heard = live(QUEUED)
    heard({"variant": {"index": 0, "state": "compiling"}})
    for what in cancelled:
        heard(what)
    assert capsys.readouterr().err == "cancelled small: f, batch 0\n", "it alone was begun"
    rows = heard.rows_of(cast("WarmResult", {"variants": []}))
    tell(heard, rows, rows)
    assert capsys.readouterr().err == ""
    heard = live(QUEUED, as_json=True)
    for what in cancelled:
        heard(what)
    said = [json.loads(line)["variant"] for line in capsys.readouterr().out.splitlines()]
    assert [row["state"] for row in said] == ["cancelled"] * 2
