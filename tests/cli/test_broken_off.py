"""torchkeeper copy when a server goes in the middle of it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.proxy import Proxy, between
from tests.redis_server import Server, dump


@pytest.fixture
def proxy(full: Server) -> Iterator[Proxy]:
    with between(full.port) as one:
        yield one


def test_it_waits_and_goes_on(tk: Tk, proxy: Proxy, tmp_path: Path) -> None:
    proxy.cut_down, proxy.cuts, proxy.away_s = 200_000, 1, 0.6
    ran = tk("copy", "--allow-secrets", proxy.url, tmp_path / "t")
    assert (ran.code, proxy.broken) == (0, 1)
    assert ran.out.startswith("12 entries")
    assert "Waiting until it is back" in ran.err


def test_to_a_server_it_goes_on_too(tk: Tk, proxy: Proxy, server: Server, kept_291: Path) -> None:
    server("FLUSHALL")
    proxy.cut_up, proxy.cuts = 200_000, 2
    ran = tk(
        "copy",
        "--allow-secrets",
        kept_291,
        proxy.url,
        "--filter",
        "kind:fxgraph",
        "--alone",
        "--json",
    )
    assert (ran.code, ran.result["entries"], proxy.broken) == (0, 7, 2)
    again = tk(
        "copy", "--allow-secrets", kept_291, proxy.url, "--filter", "kind:fxgraph", "--alone"
    )
    assert (again.code, again.out) == (0, "Nothing to do: 7 entries are there already.\n")


@pytest.mark.slow
def test_a_server_that_stays_away(tk: Tk, proxy: Proxy, server: Server, tmp_path: Path) -> None:
    # Everything is read twice: to say what it is, and to be copied.
    size = sum(map(len, dump().values()))
    proxy.cut_down, proxy.cuts, proxy.away_s = size * 3 // 2, 1, 3600
    ran = tk("copy", "--allow-secrets", proxy.url, tmp_path / "t")
    assert ran.code == 3
    found = re.search(r"(\d+) of 12 entries are known to be in", ran.err)
    assert found
    arrived = int(found[1])
    assert 0 < arrived < 12
    assert "goes on from there" in ran.err
    again = tk("copy", "--allow-secrets", server.url, tmp_path / "t", "--json")
    assert (again.result["entries"], again.result["exists"]) == (12 - arrived, arrived)


@pytest.mark.slow
def test_cancelled_while_it_waits(proxy: Proxy, tmp_path: Path) -> None:
    size = sum(map(len, dump().values()))
    proxy.cut_down, proxy.cuts, proxy.away_s = size * 3 // 2, 1, 3600
    command = [sys.executable, "-m", "torchkeeper", "copy", proxy.url, str(tmp_path / "t")]
    # A shell that starts the tests in the background has them ignore SIGINT.
    command = ["env", "--default-signal=INT", *command]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr
        assert any("Waiting" in line for line in running.stderr)
        os.kill(running.pid, signal.SIGINT)
        assert running.wait() == 130
        assert running.stderr.read().splitlines()[-1] == "torchkeeper: Cancelled."
    assert not (tmp_path / "t").exists(), "no trace"
