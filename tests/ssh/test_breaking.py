"""A connection that is cut while something changes: nothing is lost, and nothing is half there."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.cli.test_warm import processes_under
from tests.snapshots import snapshot
from tests.ssh import breaking, points
from tests.ssh.conftest import Machine, config, ended
from torchkeeper.client.engines import ferry, line
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import mux, protocol
from torchkeeper.stores.folders import journal

#: Where it is cut: at one point in every run, at fifty of both in a long one.
SEEDS = [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 25))]


def cut() -> None:
    """End ssh as a network does: without a word."""
    line.to("ssh://there")._process.kill()


def until_cut(engine: Engine, messages: int) -> bool:
    """Take as many messages, then cut; whether the request was not done before."""
    seen = 0
    try:
        while True:
            for message in engine.receive():
                seen += message.type != "hello"
                if message.type in ("result", "error"):
                    cut()
                    return False
                if seen == messages:
                    cut()
            if seen == messages == 0:
                cut()
                messages = -1
    except UserError as error:
        assert error.code == "ssh-lost"
    return True


def test_what_only_looks_is_asked_once_more(there: Machine, fixture_cache: Path) -> None:
    place = there.place(fixture_cache)
    with Engine("ssh://there") as engine:
        cut_once(engine)
        assert engine.call(protocol.DU, {"place": place})["kinds"]
        cut_once(engine)
        with pytest.raises(UserError) as raised:
            engine.call(protocol.DU, {"place": place})
        assert raised.value.code == "ssh-lost"
    shutil.copytree(fixture_cache, there.home / "c")
    with Engine("ssh://there") as engine:
        cut_once(engine)
        with pytest.raises(UserError) as raised:
            engine.call(protocol.EMPTY_TRASH, {"place": there.place("c")})
        assert raised.value.code == "ssh-lost"
    assert there.sessions() == 3
    line.close_all()
    ended(there)


def cut_once(engine: Engine) -> None:
    """End the way to an engine that runs."""
    line.to("ssh://there").hello()
    cut()
    line.to("ssh://there")._process.wait()


def recovered(there: Machine, place: str) -> None:
    """Have a new engine there complete, or take back, what was cut off."""
    while list((there.folder / "tmp").glob("torchkeeper-far-*")):
        time.sleep(0.02)  # what runs there takes back what it did, and ends
    with Engine("ssh://there") as engine, contextlib.suppress(UserError):
        engine.call(protocol.RECOVER, {"place": place})


@pytest.mark.parametrize("seed", SEEDS)
def test_a_purge_that_is_cut_off_loses_nothing(there: Machine, many: Path, seed: int) -> None:
    shutil.copytree(many, there.home / "c", symlinks=True)
    before = snapshot(there.home / "c")
    place = there.place("c")
    with Engine("ssh://there") as engine:
        plan = engine.call(
            protocol.PLAN_PURGE, {"place": place, "select": {"filter": ""}, "rows": False}
        )
        engine.send(protocol.PURGE, {"place": place, "plan": plan["plan"]})
        until_cut(engine, random.Random(seed).randrange(6))
    recovered(there, place)
    with Engine("ssh://there") as engine, pytest.raises(UserError, match="nothing to undo"):
        while True:
            engine.call(protocol.UNDO, {"place": place})
    after = snapshot(there.home / "c")
    assert {path: one for path, one in after.items() if ".torchkeeper" not in str(path)} == before
    line.close_all()


@pytest.mark.parametrize("seed", SEEDS)
def test_an_import_that_is_cut_off_leaves_nothing_half(
    tk: Tk, there: Machine, fixture_cache: Path, tmp_path: Path, seed: int
) -> None:
    file = tmp_path / "b.torchcache"
    assert tk("copy", "--allow-secrets", fixture_cache, file, "--filter", "kind:fxgraph").code == 0
    place = there.place("new")
    with Engine("ssh://there") as engine:
        sent = ferry.send("ssh://there", str(file))
        engine.send(protocol.IMPORT, {"files": [sent], "into": place})
        until_cut(engine, random.Random(seed).randrange(5))
    recovered(there, place)
    if (there.home / "new").exists():
        assert not tk("ls", "--json", place, "--filter", "is:broken").objects
    line.close_all()


@pytest.mark.slow
def test_what_falls_silent_lets_go_of_what_it_holds(
    tk: Tk, there: Machine, orders: Path, many: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Nobody tells the machine there that the connection is lost, and its engine hangs."""
    monkeypatch.setattr(mux, "SILENCE", 8.0)
    file, place = tmp_path / "b.torchcache", there.place("new")
    assert tk("copy", "--allow-secrets", many, file).code == 0
    again = "copy", "--json", "--trust", "--allow-secrets", file, place
    with Engine("ssh://there") as engine:
        sent = ferry.send("ssh://there", str(file))
        engine.send(protocol.IMPORT, {"files": [sent], "into": place})
        while not (begun := journal.under_way(str(there.home / "new"))):
            time.sleep(0.001)
        pid = begun["pid"]
        assert isinstance(pid, int)
        os.kill(pid, signal.SIGSTOP)
        breaking.order(orders, "hush")
        config(there)  # who comes later goes another way
        refused = tk(*again)
        error = refused.objects[-1]["error"]
        assert error["code"] == "place-busy", error
        assert re.fullmatch(f"An import began there at 20.*, in process {pid}.", error["why"])
        with pytest.raises(UserError) as raised:
            while True:
                [*engine.receive()]
                time.sleep(0.01)
        assert raised.value.code == "ssh-lost" and "nothing for 8 seconds" in raised.value.why
    ended(there)
    assert tk(*again).code == 0
    rows = tk("ls", "--json", place).objects
    assert sum("sha256" in row for row in rows) == 3000
    assert points.leftovers(there, tmp_path / "own", there.home, tmp_path) == []


@pytest.mark.slow
def test_what_is_to_travel_is_not_waited_for_for_ever(
    there: Machine, orders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mux, "SILENCE", 1.0)
    breaking.order(orders, "hush", 100_000)
    way = line.to("ssh://there")
    while not processes_under(there.home):
        time.sleep(0.02)
    assert not way.answers(3)
    way.close()
    while processes_under(there.home):
        time.sleep(0.1)


def test_ctrl_c_cancels_there_and_leaves_nothing(there: Machine, many: Path) -> None:
    """The whole group gets it, as on a terminal; ssh lives on, so that the engine can answer."""
    shutil.copytree(many, there.home / "c", symlinks=True)
    command = [sys.executable, "-m", "torchkeeper", "ls", "--json", there.place("c")]
    ran = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
        process_group=0, env=os.environ,
    )  # fmt: skip
    assert ran.stdout and ran.stdout.read(1)
    os.killpg(ran.pid, signal.SIGINT)
    _, err = ran.communicate()
    assert ran.returncode in (0, 130), err
    assert b"Traceback" not in err and b"broke" not in err
