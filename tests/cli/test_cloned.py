"""What lies in the current folder is somebody else's until the user says otherwise: a repository
that was cloned, with an environment and programs of its own in it.
"""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, Tk
from tests.sampling import sampled


def program(path: Path, ran: Path) -> Path:
    """A program that leaves a file when it is started."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n: > '{ran}'\nexit 1\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with an environment in it whose interpreter leaves ``ran``."""
    folder = tmp_path / "clone"
    program(folder / ".venv" / "bin" / "python", folder / "ran")
    torch = folder / ".venv" / "lib" / "python3.11" / "site-packages" / "torch"
    torch.mkdir(parents=True)
    (torch / "version.py").write_text("__version__ = '2.13.0'\n")
    return folder


@sampled(
    "command",
    [
        ("env",),
        ("doctor", "{cache}"),
        ("purge", "{cache}", "--suggest"),
        ("purge", "{cache}", "--stale", "--dry-run"),
        ("overview", "{cache}"),
    ],
    most=1,
)
def test_looking_starts_no_interpreter_of_the_current_folder(
    tk: Tk, kept_291: Path, clone: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    words = [word.format(cache=kept_291) for word in command]
    ran = tk(*words, cwd=clone, XDG_CONFIG_HOME=str(tmp_path / "config"))
    assert not (clone / "ran").exists()
    if command[0] != "doctor":
        assert str(clone / ".venv" / "bin" / "python") in ran.out + ran.err
        assert "torchkeeper env --add" in ran.err


def test_an_interpreter_that_was_found_is_listed_as_not_started(tk: Tk, clone: Path) -> None:
    python = str(clone / ".venv" / "bin" / "python")
    listed = {one["interpreter"]: one for one in tk("env", "--json", cwd=clone).objects}
    assert listed[python]["started"] is False
    # Whoever names it has it started.
    assert tk("env", "--env", python, cwd=clone).code == 3
    assert (clone / "ran").exists()


def test_an_interpreter_on_the_list_is_started(tk: Tk, clone: Path, tmp_path: Path) -> None:
    kept = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    tk("env", "--add", ".venv", cwd=clone, **kept)
    (clone / "ran").unlink()
    tk("env", cwd=clone, **kept)
    assert (clone / "ran").exists()


@pytest.mark.slow
@sampled(
    "command",
    [
        "doctor {cache}",
        "env",
        "signers",
        "export {cache} -o some.torchcache --allow-secrets --sign {key}",
        "purge {cache} --suggest",
        "env --env ssh-add",
    ],
    most=2,
)
def test_relative_entries_of_the_path_and_bare_names_find_nothing_in_the_current_folder(
    tk: Tk, kept_291: Path, clone: Path, command: str
) -> None:
    names = ("python3", "ssh-keygen", "ssh-add", "g++", "gcc", "cc", "clang++", "nvidia-smi", "git",
             "update-desktop-database", "ps", "ldd")  # fmt: skip
    for name in names:
        program(clone / name, clone / "ran")
        program(clone / "bin" / name, clone / "ran")
    path = os.pathsep.join(["", ".", "bin", os.environ["PATH"]])
    words = [word.format(cache=kept_291, key=clone / "key") for word in command.split()]
    tk(*words, cwd=clone, PATH=path)
    assert not (clone / "ran").exists()


def test_a_program_that_is_run_finds_what_the_users_path_names(tk: Tk, clone: Path) -> None:
    program(clone / "mine", clone / "ran")
    tk("run", "--", "mine", cwd=clone, PATH=os.pathsep.join([".", os.environ["PATH"]]))
    assert (clone / "ran").exists()


@sampled("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"], most=1)
def test_a_relative_environment_of_the_shell_is_not_started(
    tk: Tk, clone: Path, variable: str
) -> None:
    tk("env", cwd=clone, **{variable: ".venv"})
    assert not (clone / "ran").exists()


def test_variables_in_a_file_of_the_current_folder_are_not_read(tk: Tk, clone: Path) -> None:
    python = clone / ".venv" / "bin" / "python"
    (clone / ".env").write_text(f"TORCHKEEPER_TORCH_PYTHON={python}\n")
    tk("env", cwd=clone)
    assert not (clone / "ran").exists()


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_who_else_may_write_to_an_interpreter_is_said_before_it_is_started(
    tk: Tk, among: Path, tmp_path: Path
) -> None:
    python = among / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    for folder in (among / "venv", python.parent):
        folder.chmod(0o755)
    python.symlink_to(os.path.realpath(sys.executable))
    cfg = among / "venv" / "pyvenv.cfg"
    cfg.write_text(f"home = {os.path.dirname(os.path.realpath(sys.executable))}\n")
    cfg.chmod(0o644)
    kept, each = {"XDG_CACHE_HOME": str(tmp_path / "cache")}, itertools.count()

    def started() -> Ran:
        """It is started where nothing is kept of it."""
        return tk("env", "--env", python, XDG_CACHE_HOME=str(tmp_path / str(next(each))))

    assert "may write" not in started().err
    cfg.chmod(0o666)
    said = started()
    assert said.code == 1 and f"everybody may write to {cfg}" in said.err.casefold()
    cfg.chmod(0o644)
    os.chown(python.parent, 1, -1)
    assert f"{python.parent} belongs to" in started().err
    os.chown(python.parent, 0, -1)
    # What every start of it reads: its packages, and the library of the Python that it is of.
    base = among / "base"
    cfg.write_text(f"home = {base / 'bin'}\n")
    packages = among / "venv" / "lib" / "python3.11" / "site-packages"
    library = base / "lib" / "python3.11"
    parts = [packages / "some.pth", packages / "sitecustomize.py", library / "os.py"]
    for part in parts:
        part.parent.mkdir(parents=True, exist_ok=True)
        part.touch()
    for there in among.rglob("*"):
        if not there.is_symlink():
            there.chmod(0o755)
    for which in (*parts, packages, library):
        which.chmod(0o777)
        told = started().err
        assert f"everybody may write to {which}" in told.casefold()
        which.chmod(0o755)
    os.chown(python.parent, 1, -1)
    # Nobody has named it: an activated environment that others may write to is not started.
    listed = tk("env", "--json", VIRTUAL_ENV=str(among / "venv"), **kept).objects
    one = next(one for one in listed if one["interpreter"] == str(python))
    assert one["started"] is False and one["writers"]
