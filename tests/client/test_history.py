"""The history of jobs: kept as they end, whatever else writes, and never with a secret."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.pace import LONG
from torchkeeper.client.kept import history
from torchkeeper.client.kept.history import Past
from torchkeeper.client.words.problems import UserError


@pytest.fixture(autouse=True)
def own_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has its own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def past(ident: str, ended: float = 1000.0, log: tuple[str, ...] = ()) -> Past:
    """A job that has ended."""
    asked = (("From", "/cache"),)
    return Past(ident, "export", f"Export {ident}", "", "done", True, ended - 2, ended,
                "33 entries", ("Exported.",), asked, "/o.torchcache", True, None, log)  # fmt: skip


def test_what_is_kept_is_found_again() -> None:
    assert history.kept() == history.Kept([], 0)
    one, other = past("a", 1000.0, ("line",)), past("b", 2000.0)
    history.keep([past("a", 900.0)])  # it was heard of again afterwards
    failed = Past("c", "warm", "Warm it", "/cache", "failed", False, None, 1500.0, "Failed",
                  error=("It failed.", "Nobody knows.", "Try again."))  # fmt: skip
    failed = replace(failed, there="5f1c2a90")
    history.keep([one, other])
    history.keep([failed])
    assert history.one("c").goes_on and not history.one("last").goes_on
    assert history.kept() == history.Kept([other, failed, one], 0)
    assert history.one("last") == other and history.one("c") == failed
    assert one.seconds == 2.0 and failed.seconds is None
    assert oct(os.stat(history.path()).st_mode)[-3:] == "600"
    assert history.forget(["b", "nobody"]) == 1
    assert [x.id for x in history.kept().jobs] == ["c", "a"]
    assert history.forget(None) == 3 and history.kept().jobs == []
    with pytest.raises(UserError, match="No job"):
        history.one("a")


def test_no_secret_is_written() -> None:
    line = (
        "connecting to redis://ada:hunter2@cache:6379 with HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz"
    )
    cut = "y " * 195 + "http://ada:hunter2hunter2@cache"
    history.keep([past("a", log=(line, cut, "x" * 100_000))])
    text = Path(history.path()).read_text()
    assert "hunter2" not in text and "hf_abc" not in text and "connecting to" in text
    assert len(text) < 8000


def test_damaged_lines_are_counted_and_harm_nothing() -> None:
    history.keep([past("a")])
    with open(history.path(), "ab") as stream:
        stream.write(b'{"id": 1}\n[]\n\xff\xfe\n{"id": "cut off')
    history.keep([past("b", 2000.0)])
    assert [x.id for x in history.kept().jobs] == ["b", "a"]
    assert history.kept().damaged == 4
    history.forget([])
    assert history.kept().damaged == 0 and len(history.kept().jobs) == 2


def test_it_does_not_grow_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    some = [past(f"{n:04}", float(n)) for n in range(history.MAX_JOBS + 60)]
    history.keep(some)
    jobs = history.kept().jobs
    assert len(jobs) == history.MAX_JOBS and jobs[0].id == some[-1].id
    assert Path(history.path()).read_bytes().count(b"\n") == history.MAX_JOBS
    monkeypatch.setattr(history, "MAX_BYTES", 100_000)
    monkeypatch.setattr(history, "_LEFT", 75_000)
    history.keep([past("9999", 9999.0, ("y" * 1000,) * 9)])
    assert os.path.getsize(history.path()) <= 75_000
    assert history.kept().jobs[0].id == "9999"


def test_a_log_keeps_its_last_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    history.keep([past("a", log=tuple(f"line {n} " + "z " * 400 for n in range(2000)))])
    (one,) = history.kept().jobs
    assert one.log[-1].startswith("line 1999 ")
    assert len(one.log) == history.MAX_LINES and one.log[-1].endswith(" …")
    monkeypatch.setattr(history, "_MAX_JOB", 32 << 10)
    history.keep([Past(**{**vars(one), "id": "b"})])
    assert 20 < len(history.one("b").log) < 100


@pytest.mark.slow
def test_two_windows_write_at_once() -> None:
    code = (
        "import sys\n"
        "from torchkeeper.client.kept import history\n"
        "from tests.client.test_history import past\n"
        "for n in range(40):\n"
        "    history.keep([past(f'{sys.argv[1]}{n:02}', float(n), ('x y ' * 40,) * 20)])\n"
    )
    root = str(Path(__file__).parents[2])
    runs = [
        subprocess.Popen([sys.executable, "-c", code, letter], cwd=root,
                         env={**os.environ, "PYTHONPATH": root})
        for letter in "ab"
    ]  # fmt: skip
    assert [run.wait(timeout=LONG) for run in runs] == [0, 0]
    kept = history.kept()
    assert len(kept.jobs) == 80 and kept.damaged == 0


def test_what_cannot_be_written_or_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(UserError, match="could not be changed"):
        history.keep([past("a")])
    (tmp_path / "data").unlink()
    os.makedirs(history.path())
    with pytest.raises(UserError, match="could not be read"):
        history.kept()


@pytest.mark.slow
def test_many_are_read_in_no_time() -> None:
    log = ("Graph mlp.forward: miss, compiled · 2.4 s",) * history.MAX_LINES
    history.keep([past(f"{n:03}", float(n), log) for n in range(20)])
    line = Path(history.path()).read_text().splitlines()[0]
    said = json.loads(line)
    lines = [json.dumps({**said, "id": f"{n:03}"}) for n in range(history.MAX_JOBS)]
    Path(history.path()).write_text("\n".join(lines) + "\n")
    began = time.process_time()
    assert len(history.kept().jobs) == history.MAX_JOBS
    assert time.process_time() - began < 10
