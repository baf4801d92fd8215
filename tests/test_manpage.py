"""The manual page is of all commands, and troff finds nothing wrong with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pace import LONG
from torchkeeper.cli.commands import COMMANDS

MADE = Path(__file__).parent.parent / "packaging" / "manpage.py"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("man") / "torchkeeper.1"
    with open(path, "wb") as file:
        subprocess.run([sys.executable, "-W", "error", MADE], stdout=file, check=True, timeout=LONG)
    return path


def _read(page: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    env = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "100", "MANROFFSEQ": ""}
    return subprocess.run(
        [*command, str(page)], capture_output=True, text=True, timeout=LONG, check=True, env=env
    )


def test_man_reads_it_without_a_warning(page: Path) -> None:
    read = _read(page, ["man", "--warnings", "-E", "UTF-8", "-P", "cat", "-l"])
    assert read.stderr == ""
    for name, one in COMMANDS.items():
        assert f"torchkeeper {name}" in read.stdout
        for example, _ in one.examples:
            assert " ".join(example.split()) in " ".join(read.stdout.split())
    assert "--columns" in read.stdout and "torchkeeper config show" in read.stdout


def test_mandoc_finds_no_error_in_it(page: Path) -> None:
    read = _read(page, ["mandoc", "-T", "lint", "-W", "error"])
    assert read.stdout == ""
