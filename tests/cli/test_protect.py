"""A place that was made read-only, in a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.redis_server import dump, serving
from tests.snapshots import snapshot


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def test_a_folder_that_is_read_only_is_left_as_it_is(
    tk: Tk, fixture_cache: Path, tmp_path: Path
) -> None:
    made = tk("places", "--protect", fixture_cache)
    assert (made.code, made.out) == (0, f"{fixture_cache} is read-only.\n")
    before = snapshot(fixture_cache)
    bundle = tmp_path / "a.torchcache"
    assert tk("export", "--allow-secrets", fixture_cache, "-o", bundle).code == 0
    for command in (
        ("purge", fixture_cache, "--yes"),
        ("purge", fixture_cache, "--yes", "--now"),
        ("purge", fixture_cache / "fxgraph", "--yes"),
        ("import", bundle, "--into", fixture_cache, "--trust"),
        ("copy", bundle, fixture_cache, "--trust"),
        ("undo", fixture_cache),
        ("trash", fixture_cache, "--empty", "--yes"),
    ):
        ran = tk(*command)
        assert ran.code == 1, command
        assert "is read-only" in ran.err and "places --unprotect" in ran.err, command
    assert tk("purge", fixture_cache, "--dry-run").code == 0
    assert snapshot(fixture_cache) == before
    [row] = [row for row in tk("places", "--json").objects if row["path"] == str(fixture_cache)]
    assert row["read_only"] is True
    assert tk("places", "--unprotect", fixture_cache, "--json").result["changed"] is True
    assert tk("purge", fixture_cache, "--yes").code == 0


def test_so_is_a_server(tk: Tk, tmp_path: Path) -> None:
    with serving(tmp_path / "redis") as server:
        server.load(dump())
        tk("places", "--protect", server.url)
        for command in (
            ("ttl", server.url, "1d"),
            ("purge", server.url.replace("127.0.0.1", "localhost"), "--yes"),
        ):
            ran = tk(*command)
            assert ran.code == 1 and "is read-only" in ran.err
        assert server("DBSIZE") == len(dump())
        assert all(server("TTL", key) == -1 for key in dump())
