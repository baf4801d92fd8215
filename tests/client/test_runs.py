"""The list of runs: what is kept, what is not, and what becomes of damage."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from torchkeeper.client.engines import far
from torchkeeper.client.kept import runs
from torchkeeper.client.kept.runs import discreet
from torchkeeper.client.words.problems import UserError

RESULT = {
    "graphs": 3, "hits": 1, "misses": 1, "bypasses": 1, "local": 1, "remote": 0, "unknown": 0,
    "spent": 2.5, "saved": 7.0, "torch": "2.13.0+cpu", "files": 1,
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test has its own list of runs."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return Path(runs.folder())


def graph(outcome: str, **more: Any) -> dict[str, Any]:
    factors = {"differences": [{"a": "x" * 9999}], "nearest": "f2", "code": "differs"}
    why = {"hit": "", "miss": "another batch", "bypass": "a hook"}[outcome]
    told = {"id": "0/0 forward", "outcome": outcome, "key": "f1", "seconds": 1.0, "why": why}
    return {**told, "cause": factors, **more}


def keep(at: float = 1_795_000_000.25, **more: Any) -> runs.Run:
    graphs = [graph("hit"), graph("miss"), graph("bypass")]
    values: dict[str, Any] = {"command": ["python", "a.py"], "place": "/c", "code": 0, "began": at,
                              "seconds": 9.0, "result": RESULT, "graphs": graphs}  # fmt: skip
    return runs.keep(**{**values, **more})


def test_a_run_comes_back_as_it_was_kept() -> None:
    assert runs.kept() == runs.Kept([], 0)
    kept = keep()
    assert runs.kept() == runs.Kept([kept], 0)
    assert kept.rate == pytest.approx(1 / 3)
    assert kept.shortened == ""
    assert [one["outcome"] for one in kept.graphs] == ["miss", "bypass", "hit"]
    assert kept.graphs[0]["nearest"] == "f2"
    assert kept.graphs[0]["why"] == "another batch"
    assert "cause" not in kept.graphs[0], "no factor is kept"
    assert runs.one(kept.id[:10]) == runs.one("last") == kept
    nothing = keep(result={**RESULT, "hits": 0, "misses": 0, "bypasses": 0})
    assert nothing.rate is None


def test_they_are_in_order_and_few(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MAX_RUNS", 5)
    made = [keep(1_795_000_000.0 + number / 100) for number in range(8)]
    same = keep(1_795_000_000.0 + 7 / 100)
    assert same.id > made[-1].id
    assert [run.id for run in runs.kept().runs] == [same.id, *(run.id for run in made[:3:-1])]
    assert len(list(folder.iterdir())) == 5


def test_a_run_is_bounded(folder: Path) -> None:
    many = [graph("hit", name="n" * 5000, id=f"{n}/0 forward") for n in range(2000)]
    kept = keep(
        graphs=many, result={**RESULT, "graphs": 2000}, command=["x" * 5000, *map(str, range(500))]
    )
    (file,) = folder.iterdir()
    assert file.stat().st_size <= runs.MAX_BYTES
    again = runs.kept().runs[0]
    assert 100 < len(again.graphs) < runs.MAX_GRAPHS
    assert again.totals == kept.totals
    assert again.shortened == f"{len(again.graphs)} of 2,000 graphs are kept"
    assert len(again.command) == 65
    assert len(again.command[0]) == 301
    assert file.stat().st_mode & 0o077 == 0, "nobody else reads it"


def test_damage_is_passed_over_and_counted(folder: Path) -> None:
    kept = keep()
    whole = json.loads((folder / f"{kept.id}.json").read_text())
    wrong: list[Any] = [
        "", "[", "[]", "null", "[" * 100_000, json.dumps({**whole, "totals": {}}),
        json.dumps({**whole, "at": "soon"}), json.dumps({**whole, "graphs": 3}),
        json.dumps({**whole, "command": None}), json.dumps({**whole, "code": [1]}),
        " " * (runs.MAX_BYTES + 10) + json.dumps(whole), b"\xff\xfe",
    ]  # fmt: skip
    for number, text in enumerate(wrong):
        path = folder / f"20260101-000000-{number:04x}.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (folder / "20260101-000000-00ff.json").mkdir()
    (folder / "notes.txt").write_text("mine")
    found = runs.kept()
    assert found.runs == [kept]
    assert found.damaged == len(wrong) + 1
    assert runs.forget(["../../x", "20260101-000000-0001", "20260101-000000-0001"]) == 1
    assert runs.kept().damaged == len(wrong)
    assert (folder / "notes.txt").exists()


def test_what_cannot_be_kept(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.write_text("in the way")
    with pytest.raises(UserError) as failure:
        keep()
    assert failure.value.code == "runs-unwritable"
    assert str(folder) in failure.value.why
    assert runs.kept().runs == []
    folder.unlink()
    keep()
    assert [name for name in os.listdir(folder) if name.startswith(".")] == []
    with pytest.raises(UserError) as failure:
        runs.one("x")
    assert failure.value.code == "run-unknown"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["python", "train.py", "--lr", "0.1"], ["python", "train.py", "--lr", "0.1"]),
        (["--redis", "redis://ada:pw@h:6379/0"], ["--redis", "redis://ada:…@h:6379/0"]),
        (["redis://:p:w/x@h"], ["redis://:…@h"]),
        (["--token", "abc", "x"], ["--token", "…", "x"]),
        (["--hf-token=abc"], ["--hf-token=…"]),
        (["--api_key", "--verbose"], ["--api_key", "--verbose"]),
        (["WANDB_API_KEY=abc", "python"], ["WANDB_API_KEY=…", "python"]),
        (["-c", "login(password='abc', user='u')"], ["-c", "login(password=…, user='u')"]),
        (["https://h/?access_token=abc&x=1"], ["https://h/?access_token=…&x=1"]),
        (["-H", "Authorization: Bearer abc"], ["-H", "Authorization: …"]),
        (["--secret-key", "abc"], ["--secret-key", "…"]),
        (["--password=ab,cd;ef"], ["--password=…"]),
        (["-c", "f(password='a b', x=1)"], ["-c", "f(password=…, x=1)"]),
        (['{"api_key": "sk-abc", "n": 1}'], ['{"api_key": …, "n": 1}']),
        (["-H", "Authorization: Basic abc"], ["-H", "Authorization: …"]),
        (["sh", "-c", "prog --token abc --n 1"], ["sh", "-c", "prog --token … --n 1"]),
        (["https://ghp_abc@github.com/x"], ["https://…@github.com/x"]),
        (["--tokenizer", "gpt2"], ["--tokenizer", "gpt2"]),
        (["--author", "ada"], ["--author", "ada"]),
    ],
)
def test_secrets_are_taken_out(given: list[str], kept: list[str]) -> None:
    assert list(discreet(given)) == kept


@pytest.mark.parametrize("began", [1e308, -1e30, float("nan"), 2e11])
def test_a_run_of_another_machine_is_kept_whatever_time_that_says(began: float) -> None:
    kept = runs.keep(["a"], "ssh://gpu1/x", 0, began, 1.0, told(), [])
    assert abs(kept.at - time.time()) < 60


def told(**more: Any) -> Any:
    return {**RESULT, **more}


def test_a_run_of_another_machine_is_kept_however_much_that_says() -> None:
    long = ["x" * 900_000] * 3
    kept = runs.keep(long, "ssh://gpu1/x", 0, 1.0, 1.0, told(torch="2" * 900_000), [])
    assert len(kept.torch or "") <= 1000 and len(kept.command) == 3


def test_half_a_character_is_in_no_path_of_another_machine() -> None:
    row = {"about": "", "job": "0" * 16, "op": "warm", "place": "/\ud800", "lives": True,
           "seconds": 1.0, "ago": 0.0, "far": {}}  # fmt: skip
    assert [one.place for one in far.jobs("ssh://gpu1", [row])] == [""]
    assert far.name_of("ssh://gpu1", "/\ud800") == ""
