"""The history of jobs on the command line: what the window has done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from torchkeeper.client.kept import history
from torchkeeper.client.kept.history import Past


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A history of two jobs; the folder it is in."""
    folder = str(tmp_path / "data")
    monkeypatch.setenv("XDG_DATA_HOME", folder)
    good = Past("20261122-100000-aaaa", "export", "Export cache", "", "done", True, 998.0, 1000.0,
                "33 entries", ("Exported.",), (("From", "/cache"),), "/o.torchcache", True, None,
                ("first line", "last line"))  # fmt: skip
    failed = Past("20261122-110000-bbbb", "warm", "Warm it", "/cache", "failed", False, None,
                  2000.0, "Failed",
                  error=("It failed.", "Nobody knows.", "Try again."))  # fmt: skip
    history.keep([good, failed])
    return folder


def test_jobs_are_listed_shown_and_forgotten(tk: Tk, kept: str) -> None:
    ran = tk("jobs", XDG_DATA_HOME=kept)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert ["bbbb" in lines[1], "aaaa" in lines[2]] == [True, True], "the latest first"
    assert "33 entries" in lines[2]
    ran = tk("jobs", "--json", XDG_DATA_HOME=kept)
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert [row.get("kind") for row in rows[:2]] == ["warm", "export"]
    assert "log" not in rows[1]
    ran = tk("jobs", "20261122-10", XDG_DATA_HOME=kept)
    assert ran.code == 0 and "last line" in ran.out and "Exported." in ran.out
    ran = tk("jobs", "last", "--json", XDG_DATA_HOME=kept)
    assert json.loads(ran.out)["error"]["remedy"] == "Try again."
    assert tk("jobs", "none-such", XDG_DATA_HOME=kept).code != 0
    assert tk("jobs", "--forget", XDG_DATA_HOME=kept).code == 2, "which one is to be said"
    assert tk("jobs", "last", "--forget", XDG_DATA_HOME=kept).code == 0
    assert [one.kind for one in history.kept().jobs] == ["export"]
    assert tk("jobs", "all", "--forget", XDG_DATA_HOME=kept).code == 0
    on = Past("20261122-120000-cccc", "warm", "Warm it", "ssh://gpu1/c", "failed", False, 1.0, 2.0,
              "Goes on there; no connection", there="5f1c2a90")  # fmt: skip
    history.keep([on])
    for words in ([], ["last"]):
        said = tk("jobs", *words, XDG_DATA_HOME=kept).out
        assert "goes on" in said and "failed" not in said
    assert tk("jobs", "last", "--forget", XDG_DATA_HOME=kept).code == 0
    none = tk("jobs", "--json", XDG_DATA_HOME=kept)
    assert (none.code, none.result["jobs"]) == (0, 0)
