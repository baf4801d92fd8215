"""Ctrl-C while entries are placed: what becomes of it is said, once and again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from torchkeeper.artifacts.layout import JOURNAL
from torchkeeper.cli import asking
from torchkeeper.cli.output import progress_text


def files(place: Path) -> list[str]:
    return [name for _, _, names in os.walk(place) for name in names]


@pytest.fixture
def copying(many: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A copy into ``target`` that has written some hundred entries, under whatever names."""
    target = tmp_path / "target"
    target.mkdir()
    command = [sys.executable, "-m", "torchkeeper", "copy", str(many), str(target), "--trust"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while len(files(target)) < 500:
            assert process.poll() is None
            time.sleep(0.01)
        yield process
        process.kill()


def test_it_takes_back_and_says_so(
    copying: subprocess.Popen[str], many: Path, tmp_path: Path
) -> None:
    copying.send_signal(signal.SIGINT)
    _, said = copying.communicate(timeout=300)
    assert copying.returncode == 130
    first, second, last = said.splitlines()[-3:]
    assert first.startswith("Cancelling: the changes are taken back.")
    assert second.endswith("Nothing was left behind.")
    assert last == "torchkeeper: Cancelled."
    assert files(tmp_path / "target") == []


@pytest.mark.slow
def test_who_does_not_wait_is_told_what_completes_it(
    copying: subprocess.Popen[str], tk: Tk, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    children = Path(f"/proc/{copying.pid}/task/{copying.pid}/children").read_text().split()
    for child in children:  # so that it has not ended by then
        os.kill(int(child), signal.SIGSTOP)
    copying.send_signal(signal.SIGINT)
    assert copying.stderr is not None
    while "Ctrl-C again leaves that for later" not in copying.stderr.readline():
        assert copying.poll() is None
    copying.send_signal(signal.SIGINT)
    _, said = copying.communicate(timeout=300)
    assert copying.returncode == 130
    assert f"“torchkeeper recover {target}” or the next change" in said
    assert len(files(target)) > 500 and list(target.glob(f"{JOURNAL}*"))
    ran = tk("recover", target)
    assert ran.code == 0 and re.search(
        "files of it were taken back|It had placed nothing yet", ran.err
    )
    assert files(target) == []


def test_how_far_it_is_with_taking_back_is_said() -> None:
    told = {"done": 3000, "total": 12000, "unit": "taken-back"}
    assert progress_text(told) == "taking back: 3,000 of 12,000 steps"


def test_a_second_time_only_a_folder_that_is_written_to_is_to_be_recovered(tmp_path: Path) -> None:
    place, bundle = str(tmp_path), str(tmp_path / "a.torchcache")
    for operation, params, named in (
        ("export", {"place": place, "output": bundle}, False),
        ("copy", {"place": place, "into": bundle}, False),
        ("copy", {"place": place, "into": "redis://h"}, False),
        ("copy", {"place": bundle, "into": place}, True),
        ("purge", {"place": place}, True),
    ):
        [line] = asking.interrupted_lines(operation, params, True)
        assert (f"recover {place}" in line) is named, operation
