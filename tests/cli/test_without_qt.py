"""The command line where the window is not installed: without Qt, and what only a window needs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_first_words import NOWHERE
from tests.pace import LONG
from torchkeeper.cli.commands import COMMANDS

#: As if none of these were installed; no file of theirs is found, and none of the system's.
PROGRAM = """
import sys
sys.modules.update(dict.fromkeys(("PySide6", "shiboken6", "keyring", "jeepney")))
from torchkeeper.__main__ import main
sys.argv[0] = "torchkeeper"
sys.exit(main())
"""
#: The help of all commands, and of their parts, one after the other.
HELPS = """
import argparse, sys
sys.modules.update(dict.fromkeys(("PySide6", "shiboken6", "keyring", "jeepney")))
from torchkeeper.cli import commands, main

def helped(*words):
    try:
        main.run([*words, "--help"])
    except SystemExit as end:
        assert not end.code, (words, end.code)

def parts(parser):
    return [name for action in parser._actions
            if isinstance(action, argparse._SubParsersAction) for name in action.choices]

for name in commands.COMMANDS:
    helped(name)
    (command,) = [action.choices[name] for action in main.parser_of(name)._actions
                  if isinstance(action, argparse._SubParsersAction)]
    for part in parts(command):
        helped(name, part)
"""


def ran(code: str, *words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *words], stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, timeout=LONG,
        env={**os.environ, **environment},
    )  # fmt: skip


def test_every_command_has_its_help() -> None:
    done = ran(HELPS)
    assert (done.returncode, done.stderr) == (0, "")
    usages = re.findall(r"^usage: torchkeeper (\S+)(?: (\w+))?", done.stdout, re.M)
    assert {command for command, _ in usages} == set(COMMANDS)
    assert {("recipe", "check"), ("config", "show"), ("signers", "list")} <= set(usages)


def test_alone_it_helps_and_says_how_to_get_the_window() -> None:
    done = ran(PROGRAM, **NOWHERE, COLUMNS="80")
    assert (done.returncode, done.stderr) == (0, "")
    *helped, last = done.stdout.splitlines()
    assert "\n".join(helped).strip() == ran(PROGRAM, "--help", COLUMNS="80").stdout.strip()
    assert last == "The window is not installed; this installs it: pip install 'torchkeeper[gui]'"


def test_a_file_needs_the_window(tmp_path: Path) -> None:
    for words in ([tmp_path], ["--new-window", tmp_path]):
        done = ran(PROGRAM, *words, **NOWHERE)
        assert (done.returncode, done.stdout) == (3, "")
        assert "The window needs PySide6, which is not installed." in done.stderr
        assert "pip install 'torchkeeper[gui]'" in done.stderr


def test_pictures_of_the_window_need_it(tmp_path: Path) -> None:
    done = ran(PROGRAM, "shots", tmp_path / "out")
    assert (done.returncode, done.stdout) == (3, "")
    assert "pip install 'torchkeeper[gui]'" in done.stderr


def test_the_menu_entry_says_that_it_opens_nothing(tmp_path: Path) -> None:
    done = ran(PROGRAM, "install-desktop", "--prefix", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (said,) = [line for line in done.stdout.splitlines() if "does not open yet" in line]
    assert "PySide6" in said and "pip install 'torchkeeper[gui]'" in said
    assert (tmp_path / "share/applications/torchkeeper.desktop").is_file()


@pytest.mark.parametrize(
    ("file", "command"),
    [("uv-receipt.toml", "uv tool install"), ("pipx_metadata.json", "pipx install --force")],
)
def test_who_has_installed_it_installs_the_window(tmp_path: Path, file: str, command: str) -> None:
    (tmp_path / file).touch()
    done = ran(f"import sys; sys.prefix = {str(tmp_path)!r}\n{PROGRAM}", **NOWHERE)
    assert done.returncode == 0
    assert done.stdout.endswith(f": {command} 'torchkeeper[gui]'\n")


def test_a_password_of_a_server_is_looked_for_in_no_keyring(tmp_path: Path) -> None:
    done = ran(PROGRAM, "server", f"unix://{tmp_path}/none.sock")
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
