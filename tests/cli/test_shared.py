"""Folders that other machines may use, too: what is said of them, and that a purge asks first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.conftest import Served
from tests.snapshots import snapshot


def test_a_purge_needs_more_than_yes(tk: Tk, served: Served, kept_291: Path) -> None:
    cache = served(kept_291)
    before = snapshot(cache, times=False)
    foretold = tk("purge", cache, "--dry-run", "--json")
    assert (foretold.code, foretold.result["shared"]) == (0, "fuse.shared")
    refused = tk("purge", cache, "--yes", "--json")
    assert refused.code == 2
    said = refused.objects[-1]["error"]
    assert said["what"] == "--yes alone does not purge a folder that other machines may use."
    assert "it is on fuse.shared" in said["why"]
    assert snapshot(cache, times=False) == before
    # Nobody is there to be asked.
    assert tk("purge", cache).code == 2
    assert snapshot(cache, times=False) == before
    done = tk("purge", cache, "--yes", "--shared", "--filter", "kind:fxgraph", "--json")
    assert done.code == 0
    assert done.result["entries"] > 0
    assert tk("undo", cache).code == 0
    assert snapshot(cache, times=False) == before


def test_of_a_folder_of_this_machine_nothing_is_said(tk: Tk, fixture_cache: Path) -> None:
    ran = tk("purge", fixture_cache, "--dry-run", "--json")
    assert "shared" not in ran.result
    assert tk("purge", fixture_cache, "--yes", "--shared", "--filter", "kind:fxgraph").code == 0


@pytest.mark.slow
def test_nor_does_a_fix_of_the_doctor(tk: Tk, served: Served, kept_291: Path) -> None:
    cache = served(kept_291)
    next(cache.glob("fxgraph/*/*/*")).write_bytes(b"x")
    before = snapshot(cache, times=False)
    ran = tk("doctor", cache, "--fix", "--yes")
    assert "Other machines may use" in ran.out
    assert "--yes alone does not purge what other machines may use" in ran.err
    assert snapshot(cache, times=False) == before
