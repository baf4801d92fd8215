"""Warming from the command line: the result, an interrupt, and what cannot work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.conftest import objects_of


def processes_under(folder: Path) -> list[str]:
    """Command lines of processes with this folder in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes()
            if str(folder).encode() in environment:
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


@pytest.mark.torch
@pytest.mark.slow
def test_an_interrupt_stops_at_once_and_leaves_no_half(
    tk: Tk, tmp_path: Path, builtin: Path, header_folder: Path, torch_python: str
) -> None:
    place = tmp_path / "place"
    objects_of(builtin / "place", place)
    # What it is interrupted at is a kernel of a model: those before it have their graphs by then.
    for gone in sorted(place.glob("??/*.main.so"))[1:]:
        gone.unlink()
    env = {**os.environ, "TMPDIR": str(header_folder)}
    command = [sys.executable, "-m", "torchkeeper", "warm", "--into", str(place)]
    command += ["--env", torch_python]
    # A shell that starts the tests in the background has them ignore SIGINT.
    command = ["env", "--default-signal=INT", *command]
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        for line in process.stderr:
            if "miss" in line:
                break
        while not list(place.glob("??/*_CxxBuild")):  # g++ is at the next graph
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait() == 130
    assert "Cancelled" in rest
    assert processes_under(place) == []
    entries = tk("ls", place, "--json").objects
    assert entries
    assert [e for e in entries if e["problem"]] == []
    assert not list(place.rglob("*.tmp"))


@pytest.mark.slow
@pytest.mark.torch
def test_a_compile_that_is_turned_off(tk: Tk, tmp_path: Path, torch_python: str) -> None:
    """Every day: the same problems in tests/warm/test_warm.py."""
    variable = {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
    ran = tk("warm", "--into", tmp_path / "p", "--env", torch_python, **variable)
    assert ran.code == 1
    assert "TORCHINDUCTOR_FORCE_DISABLE_CACHES" in ran.err
    no_compiler = tk(
        "warm", "--into", tmp_path / "p", "--env", torch_python, CXX="/no/such/compiler"
    )
    assert no_compiler.code == 1
    assert "C++ compiler" in no_compiler.err


def test_interpreters_without_torch(tk: Tk, tmp_path: Path, bare_python: str) -> None:
    ran = tk("warm", "--into", tmp_path / "p", "--env", bare_python)
    assert ran.code == 1
    assert f"{bare_python} has no torch" in ran.err


def test_unknown_recipes_and_unwritable_places(tk: Tk, tmp_path: Path) -> None:
    ran = tk("warm", "nothing-of-the-kind", "--into", tmp_path / "p")
    assert ran.code == 2
    assert "nothing-of-the-kind" in ran.err
    ran = tk("warm", "--into", tmp_path / "p", "--threads", "0")
    assert ran.code == 2
    assert "0 is not a number of threads" in ran.err
    (tmp_path / "file").touch()
    ran = tk("warm", "--into", tmp_path / "file" / "p")
    assert ran.code == 1
    assert "cannot be written" in ran.err


@pytest.mark.slow
def test_a_single_variant_that_fails_is_told_as_json(tk: Tk, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(
        '[[script]]\ncommand = ["sh", "-c", "echo no >&2; exit 3"]\n'
    )
    warm = ["warm", tmp_path / "one.toml", "--into", tmp_path / "p", "--env", sys.executable]
    ran = tk(*warm, "--json")
    assert ran.code == 1
    first, _ = ran.objects
    variant, last = first["variant"], ran.result
    assert (variant["state"], variant["problem"]["code"]) == ("failed", "script-failed")
    assert "no" in variant["log"]
    assert (last["failed"], last["done"], last["added"]) == (1, 0, 0)
    said = tk(*warm)
    assert (said.code, said.out) == (1, "")
    assert ran.err, "in words, too"
    assert ran.err in said.err
