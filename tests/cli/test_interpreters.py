"""The list of interpreters that are known, by hand."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Tk


@pytest.mark.slow
def test_an_interpreter_that_is_added_is_listed_until_it_is_taken_off(
    tk: Tk, tmp_path: Path
) -> None:
    kept = {"XDG_CONFIG_HOME": str(tmp_path)}
    python = tmp_path / "mine" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(os.path.realpath(sys.executable))
    added = tk("env", "--add", tmp_path / "mine", "--json", **kept)
    assert [one["interpreter"] for one in added.objects] == [str(python)]
    file = tmp_path / "torchkeeper" / "interpreters.json"
    assert json.loads(file.read_text()) == [str(python)]
    assert str(python) in tk("env", **kept).out.splitlines()
    none = tk("env", "--add", tmp_path / "none", **kept)
    assert none.code == 3 and "is not an interpreter" in none.err
    assert tk("env", "--remove", tmp_path / "mine", "--json", **kept).result == {
        "removed": str(python)
    }
    again = tk("env", "--remove", python, **kept)
    assert again.code == 1 and "not on the list" in again.err
    file.write_text("{")
    damaged = tk("env", **kept)
    assert damaged.code == 1 and "interpreters.json: it is not JSON" in damaged.err


@pytest.mark.slow
def test_an_environment_and_a_link_to_it_are_one(tk: Tk, tmp_path: Path) -> None:
    python = tmp_path / "else where" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(os.path.realpath(sys.executable))
    torch = tmp_path / "else where/lib/python3.11/site-packages/torch/version.py"
    torch.parent.mkdir(parents=True)
    torch.touch()
    (tmp_path / "clone").mkdir()
    link = tmp_path / "clone" / ".venv"
    link.symlink_to(tmp_path / "else where")
    kept = {"VIRTUAL_ENV": str(tmp_path / "else where"), "XDG_CONFIG_HOME": str(tmp_path / "kept")}
    listed = [one["interpreter"] for one in tk("env", "--json", cwd=link.parent, **kept).objects]
    assert listed.count(str(python)) == 1
    assert not [one for one in listed if one.startswith(str(link))]
    # Another environment of the same Python is another environment.
    link.unlink()
    (tmp_path / "other").mkdir()
    (tmp_path / "else where/bin").rename(tmp_path / "other/bin")
    (tmp_path / "else where/lib").rename(tmp_path / "other/lib")
    link.symlink_to(tmp_path / "other")
    (tmp_path / "else where/bin").mkdir()
    python.symlink_to(os.path.realpath(sys.executable))
    listed = [one["interpreter"] for one in tk("env", "--json", cwd=link.parent, **kept).objects]
    assert str(python) in listed and str(link / "bin" / "python") in listed
