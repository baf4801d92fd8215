"""What runs is told to others, and what was cut off is in the history."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from torchkeeper.client.kept import history
from torchkeeper.client.kept.history import Board, Running

JOB = Running("20261122-100000-aaaa", "warm", "Warm it", "/cache", "running", 1000.0, 0.5,
              "3 of 6 variants", 4711, True)  # fmt: skip

#: Tells of a job, and waits until it is ended.
TELLS = """
import sys, time
from torchkeeper.client.kept.history import Board, Running
board = Board()
board.tell([Running("20261122-110000-bbbb", "export", "Export", "", "running", 2000.0, None,
                    "redis://:s3cret@h:1/0", 1, False)])
board.write()
print(flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def test_what_runs_is_known_until_it_has_ended() -> None:
    assert history.found() == []
    board = Board()
    board.tell([JOB])
    board.write()
    assert history.found() == [JOB]
    assert os.stat(history.folder()).st_mode & 0o777 == 0o700
    # Who comes later with an older word says the newest all the same.
    board.tell([])
    board.write()
    board.write()
    assert history.found() == [] and os.listdir(history.folder()) == []
    assert history.kept().jobs == []


def test_what_was_cut_off_is_in_the_history_once() -> None:
    told = subprocess.Popen([sys.executable, "-c", TELLS], stdout=subprocess.PIPE)
    assert told.stdout is not None and told.stdout.readline()
    [job] = history.found()
    assert (job.title, job.window, "s3cret" in job.words) == ("Export", False, False)
    told.send_signal(signal.SIGKILL)
    told.communicate()
    assert history.found() == [] and history.found() == []
    [past] = history.kept().jobs
    assert (past.id, past.state, past.began) == (job.id, "cancelled", 2000.0)
    assert past.words.startswith("Cut off")


def test_what_makes_no_sense_is_passed_over() -> None:
    os.makedirs(history.folder())
    for number, text in enumerate(("", "{", "[]\n", '{"jobs": [{}]}\n', '{"jobs": 1}\n')):
        Path(history.folder(), f"{number}.json").write_text(text)
    Path(history.folder(), "folder.json").mkdir()
    os.mkfifo(Path(history.folder(), "pipe.json"))
    assert history.found() == [] and history.kept().jobs == []
