"""config show --env, --pid and config processes, as a user runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Tk

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")

FX, URL = "TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_REDIS_URL"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A Python that has loaded no torch, with settings of its own; its number."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "serve.py").write_text(
        f"import os\nos.environ['{FX}'] = '0'\nif input():\n    os.environ['{FX}'] = '1'\n"
    )
    (folder / "broken.py").write_text("(")
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "TRITON"))}
    made = subprocess.Popen(
        [sys.executable, "serve.py", "--token=s3cret"], stdin=subprocess.PIPE, cwd=folder,
        env={**plain, URL: "redis://me:s3cret@host:1/0", "TORCH_COMPILE_JOB_ID": "mine"},
    )  # fmt: skip
    while (
        not Path(f"/proc/{made.pid}/cmdline").read_bytes().startswith(os.fsencode(sys.executable))
    ):
        pass  # it is still us
    yield made.pid
    made.kill()
    made.communicate()


def test_a_process(tk: Tk, program: int) -> None:
    ran = tk("config", "show", "--pid", program)
    assert ran.code == 0, ran.err
    lines: dict[str, list[str]] = {}
    for words in map(str.split, filter(None, ran.out.splitlines())):
        lines.setdefault(words[0], words[1:])  # findings follow the table
    assert lines[FX] == ["0", "code:", "serve.py:2"]
    assert lines[URL] == ["redis://me:…@host:1/0", "variable"]
    assert lines["TORCH_COMPILE_JOB_ID"] == ["mine", "variable"]
    assert lines["TORCHINDUCTOR_FORCE_DISABLE_CACHES"][:3] == ["0", "default", "of"]
    assert "TORCHINDUCTOR_FILE_LOCK_TIMEOUT" not in lines
    assert f"{FX}: serve.py:4 sets it, to 1; perhaps." in ran.out
    assert "It has not loaded torch yet" in ran.out
    assert "s3cret" not in ran.out + ran.err
    assert "TORCHINDUCTOR_FILE_LOCK_TIMEOUT" in tk("config", "show", "--pid", program, "--all").out


def test_a_process_for_programs(tk: Tk, program: int) -> None:
    ran = tk("config", "show", "--pid", program, "--json")
    assert ran.code == 0, ran.err
    (one,) = [row for row in ran.objects[:-1] if row["name"] == FX]
    assert (one["value"], one["by"], one["from"]) == ("0", "code", "code: serve.py:2")
    assert ran.result["process"]["pid"] == program
    assert ran.result["looked"]["files"] == 1
    assert "s3cret" not in ran.out


def test_processes(tk: Tk, program: int) -> None:
    ran = tk("config", "processes", "--all", "--json")
    assert ran.code == 0, ran.err
    (one,) = [row for row in ran.objects[:-1] if row["pid"] == program]
    assert one["command"][-1] == "--token=…"
    assert one["loaded"] is False
    said = tk("config", "processes")
    assert said.code == 0
    assert not any(line.split()[:1] == [str(program)] for line in said.out.splitlines())
    assert "could load one (--all)" in said.out


@pytest.mark.torch
@pytest.mark.slow
def test_an_interpreter(tk: Tk, torch_python: str) -> None:
    env = {FX: "0", URL: "redis://me:s3cret@host:1/0"}
    ran = tk("config", "show", "--env", torch_python, **env)
    assert ran.code == 0, ran.err
    lines = [line.split() for line in ran.out.splitlines()]
    assert [FX, "0", "variable"] in lines
    assert [URL, "redis://me:…@host:1/0", "variable"] in lines
    assert "s3cret" not in ran.out + ran.err


def test_what_cannot_be_shown(tk: Tk, program: int) -> None:
    gone = tk("config", "show", "--pid", 1 << 22)
    assert gone.code == 3
    assert "There is no process 4194304." in gone.err
    both = tk("config", "show", "mine", "--pid", program)
    assert both.code == 2
    assert tk("config", "show", "--pid", program, "--env", "python").code == 2
