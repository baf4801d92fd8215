"""torchkeeper verify: what it refuses, what it asks, and that an interrupt leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.cli.test_warm import processes_under
from tests.pace import LONG
from tests.sampling import sampled


@pytest.mark.slow
def test_what_cannot_be_verified(tk: Tk, tmp_path: Path, fixture_cache: Path) -> None:
    server = tk("verify", "redis://h:1/0")
    assert server.code == 2
    assert "Copy it to a bundle first" in server.err
    assert "There is no file" in tk("verify", tmp_path / "nowhere.torchcache").err
    (tmp_path / "empty").mkdir()
    empty = tk("verify", tmp_path / "empty")
    assert empty.code == 1
    assert f"nothing to verify in {tmp_path / 'empty'}" in empty.err
    assert "Verify runs the built-in recipe; --recipe FILE names" in empty.err
    named = tk("verify", tmp_path / "empty", "--recipe", "builtin")
    assert "Verify runs" not in named.err
    recipe = tk("verify", fixture_cache, "--recipe", "nothing-of-the-kind")
    assert recipe.code == 2
    assert "nothing-of-the-kind" in recipe.err
    none = tk("verify", fixture_cache, "--threads", "0")
    assert none.code != 0
    assert "0 is not a number of threads" in none.err


def test_a_file_is_asked_about_before_its_code_runs(
    tk: Tk, fixture_cache: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "made.torchcache"
    assert tk("export", fixture_cache, "-o", bundle, "--filter", "kind:pgo").code == 0
    asked = tk("verify", bundle)
    assert asked.code == 2
    assert "runs code of the cache" in asked.err
    assert "--trust" in asked.err


def test_an_interpreter_without_torch(tk: Tk, bare_python: str, fixture_cache: Path) -> None:
    ran = tk("verify", fixture_cache, "--env", bare_python, "--quick")
    assert ran.code == 1
    assert "has no torch" in ran.err


@sampled("name", ["SIGINT", "SIGTERM", "SIGHUP"], most=1)
def test_an_interrupt_leaves_nothing(name: str, tmp_path: Path, fixture_cache: Path) -> None:
    """Nor what a batch system or a closed terminal sends; after nohup, that does nothing."""
    number = signal.Signals[name]
    package, temporary = tmp_path / "fake" / "torch", tmp_path / "temporary"
    package.mkdir(parents=True)
    temporary.mkdir()
    package.joinpath("__init__.py").write_text(
        f"import time; open({str(tmp_path / 'up')!r}, 'w').close(); time.sleep(60)"
    )
    env = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(package.parent)}
    ignored = "HUP" if name == "SIGTERM" else ""
    command = ["env", "--default-signal=INT,TERM,HUP"]
    command += [f"--ignore-signal={ignored}"] if ignored else []
    command += [sys.executable, "-m", "torchkeeper", "verify"]
    with subprocess.Popen(
        [*command, str(fixture_cache), "--quick"], env=env, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 30
        while not (tmp_path / "up").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert any(temporary.glob("torchkeeper-verifying-*/torchkeeper-verify-*/warm/cache"))
        if ignored:
            process.send_signal(signal.SIGHUP)
            time.sleep(0.2)
            assert process.poll() is None
        process.send_signal(number)
        if name == "SIGHUP":  # a terminal's end sends several
            process.send_signal(number)
        assert process.wait(LONG) == 128 + number
        assert process.stderr
        assert "Cancelled" in process.stderr.read()
    assert os.listdir(temporary) == []
    assert processes_under(temporary) == []
