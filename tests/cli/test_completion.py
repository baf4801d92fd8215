"""Completion, in the shells that are installed, and as they ask for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.pace import LONG
from tests.terminals import Terminal
from torchkeeper.cli.commands import COMMANDS


@pytest.fixture
def path(tmp_path: Path) -> str:
    """PATH with a torchkeeper in it, as one that is installed."""
    program = tmp_path / "bin" / "torchkeeper"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m torchkeeper "$@"\n')
    program.chmod(0o755)
    return f"{program.parent}:{os.environ['PATH']}"


def _offered(line: str, **env: str) -> list[str]:
    """What a shell is told when TAB is pressed at the end of this line."""
    asked = {
        **os.environ, "COMP_LINE": line, "COMP_POINT": str(len(line.encode())), "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_SHELL": "bash", **env,
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m torchkeeper 8>&1 9>/dev/null >/dev/null 2>&1"],
        env=asked, capture_output=True, text=True, errors="surrogateescape", timeout=LONG,
        check=False,
    )  # fmt: skip
    return [word.strip() for word in done.stdout.split("\n") if word.strip()]


def test_commands_options_and_parts(kept_291: Path) -> None:
    assert _offered("torchkeeper ") == list(COMMANDS)
    assert _offered("torchkeeper ov") == ["overview"]
    assert _offered("torchkeeper help ov") == ["overview"]
    assert "--columns" in _offered("torchkeeper ls x --")
    assert _offered("torchkeeper config sho") == ["show"]
    assert "--pid" in _offered("torchkeeper config show --")


def test_targets(tk: Tk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert tk("hosts", "add", "gpu1", "--group", "training").code == 0
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    for line in ("torchkeeper warm --on ", "torchkeeper fleet nodes "):
        assert _offered(line, **env) == ["local", "training", "ssh://gpu1"]


def test_values(tk: Tk, kept_291: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {row["key"] for row in tk("ls", kept_291, "--all", "--json").objects}
    some = {key for key in keys if key.startswith("f3")}
    assert set(_offered(f"torchkeeper show {kept_291} f3")) == some != set()
    assert set(_offered(f"torchkeeper explain {kept_291} f3")) == some
    server = "redis://cache.example:6379"
    env = {"TORCHINDUCTOR_CACHE_DIR": str(kept_291), "TORCHINDUCTOR_REDIS_URL": server}
    assert str(kept_291) in _offered("torchkeeper ls ", **env)
    assert "kind:fxgraph" in _offered("torchkeeper ls x --filter kind:")
    assert _offered("torchkeeper ls x --filter kind:deep") == ["kind:deepgemm", "kind:deepep"]
    assert _offered("torchkeeper ls x --sort comp") == ["compile_s"]
    assert _offered("torchkeeper ls x --columns key,si") == ["key,size"]
    assert _offered("torchkeeper check x --fail-on stale,un") == ["stale,unknown", "stale,unsafe",
                                                                  "stale,unread"]  # fmt: skip
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert tk("config", "set", "serving", "TORCHINDUCTOR_FX_GRAPH_CACHE=1").code == 0
    assert _offered("torchkeeper config show serv", XDG_CONFIG_HOME=str(tmp_path)) == ["serving"]
    assert _offered(f"torchkeeper inspect {kept_291}/fxg") == [f"{kept_291}/fxgraph/"]


def test_a_name_that_is_no_text_is_offered_as_it_is(tmp_path: Path) -> None:
    named = [os.fsdecode(b"caf\xe9.torchcache"), "model.torchcache"]
    for name in named:
        (tmp_path / name).touch()
    for to in ({}, {"_ARGCOMPLETE_STDOUT_FILENAME": "/dev/fd/8"}):
        assert _offered(f"torchkeeper inspect {tmp_path}/", **to) == [
            f"{tmp_path}/{name}" for name in named
        ]


def test_a_place_that_is_not_there_offers_nothing_and_says_nothing(tmp_path: Path) -> None:
    assert _offered(f"torchkeeper show {tmp_path}/none ") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes(tk: Tk, kept_291: Path, tmp_path: Path, path: str, shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(tk("completion", shell).out)
    key = "f3jp4pgmoe4y4476jmemayzhql2sh4mkl6o57htqqfjpxnyzz5dd"
    if shell == "fish":
        asked = f"source {script}; complete -C 'torchkeeper show {kept_291} f3'"
        done = subprocess.run(
            [program, "-N", "-c", asked], env={**os.environ, "PATH": path, "HOME": str(tmp_path)},
            capture_output=True, text=True, timeout=LONG, check=False,
        )  # fmt: skip
        assert done.stdout.split() == [key], done.stderr
        return
    starts = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}
    prepare = {"bash": "", "zsh": "autoload -Uz compinit; compinit -u -D; "}[shell]
    terminal = Terminal(
        starts[shell], 200, [program], PATH=path, HOME=str(tmp_path), PS1="ready> ", INPUTRC="",
    )  # fmt: skip
    terminal.until("ready> ")
    terminal.type(f"{prepare}source {script}; cd {kept_291}; echo so''urced\n")
    terminal.until("sourced")
    terminal.type("torchkeeper show . f3\t")
    terminal.until(key)
    terminal.type("\x15exit\n")
    terminal.end()
