"""Places of another machine on the command line: what an engine there does with its own path."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Tk
from tests.ssh.conftest import Machine


def test_ls_lists_a_folder_there(tk: Tk, there: Machine, fixture_cache: Path) -> None:
    ran = tk("ls", "--json", there.place(fixture_cache))
    here = tk("ls", "--json", fixture_cache)
    assert (ran.code, ran.err) == (0, "")
    assert ran.objects == here.objects
