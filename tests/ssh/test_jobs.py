"""Jobs on another machine: they go on where the connection ends, and are found again."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.cli.test_warm import processes_under
from tests.ssh.conftest import ITEM, KERNELS, Machine
from tests.ssh.test_warming import said_until, ssh_of
from torchkeeper.client.engines import line
from torchkeeper.client.engines.process import Engine
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import Message

#: A module that waits for a file.
WAITS = """import os, time
from kernels import add

while not os.path.exists({!r}):
    time.sleep(0.02)
"""
#: Begins to warm there, and cuts the connection in the middle; the job.
Cut = Callable[[], str]


@pytest.fixture
def cut(there: Machine, tmp_path: Path, torch_python: str) -> Iterator[Cut]:
    recipes = tmp_path / "recipes"
    recipes.mkdir()
    (recipes / "kernels.py").write_text(KERNELS)
    (recipes / "waits.py").write_text(WAITS.format(str(there.home / "go")))
    (recipes / "both.toml").write_text(
        ITEM.format("kernels", "cuda:90") + ITEM.format("waits", "cuda:80")
    )
    command = [sys.executable, "-m", "torchkeeper", "warm", str(recipes / "both.toml"), "--into",
               there.place("cache"), "--env", f"ssh://there{torch_python}"]  # fmt: skip

    def run() -> str:
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            before = said_until(process, "done")
            assert process.poll() is None, before
            os.kill(ssh_of(process.pid), signal.SIGKILL)
            _, rest = process.communicate()
            assert process.returncode == 3, rest
        found = re.search(r"“torchkeeper jobs ssh://there --follow ([0-9a-f]{16})” follows", rest)
        assert "connection to ssh://there broke" in rest and found, rest
        while list((there.folder / "tmp").glob("torchkeeper-far-*")):
            time.sleep(0.02)  # nothing of the connection is left there
        return found[1]

    yield run
    (there.home / "go").touch()


def heard(engine: Engine, *kinds: str) -> Message:
    """The first message of such a kind."""
    while True:
        select.select([engine], [], [])
        for message in engine.receive():
            if message.type in kinds:
                return message


@pytest.mark.torch
def test_a_job_goes_on_without_the_connection(tk: Tk, there: Machine, cut: Cut) -> None:
    first = cut()
    folder = there.home / ".cache/torchkeeper/jobs" / first
    modes = [one.stat().st_mode & 0o777 for one in (folder.parent, folder, folder / "told")]
    assert modes == [0o700, 0o700, 0o600]
    listed = tk("jobs", "ssh://there", "--json")
    (row,) = [one for one in listed.objects if "id" in one]
    assert (row["id"], row["kind"], row["state"]) == (first, "warm", "running")
    assert row["place"] == there.place(there.home / "cache")
    # Two see the same of it, and one ends it.
    with Engine("ssh://there") as other:
        other.send(protocol.FOLLOW, {"job": first, "op": "warm"})
        heard(other, "finding")
        ended = tk("jobs", "ssh://there", "--end", first[:8], "--json")
        assert (ended.code, ended.result) == (0, {"job": first, "ended": True})
        assert heard(other, "result", "error").body["error"]["code"] == "cancelled"
    line.close_all()
    assert not processes_under(there.home)
    # Another one ends well while nobody is there, and what came of it is told afterwards.
    second = cut()
    (there.home / "go").touch()
    while tk("jobs", "ssh://there", "--json").result["running"]:
        time.sleep(0.1)
    assert f"{second}  " in tk("jobs", "ssh://there").out
    assert not (folder.parent / second / "source.zip").exists()
    ran = tk("jobs", "ssh://there", "--follow", second, "--json")
    assert ran.code == 0 and ran.result["done"] == 2, ran
    assert [x["variant"]["state"] for x in ran.objects if "variant" in x] == ["done", "done"]
    assert ran.result["hits"] == 1
    while folder.parent.exists() and any(folder.parent.iterdir()):
        time.sleep(0.02)  # it was read to its end
    assert len(tk("ls", there.place("cache"), "--json").objects) == 2
    assert tk("jobs", "ssh://there", "--json").result == {"jobs": 0, "running": 0, "damaged": 0}
    assert tk("jobs", "ssh://there", "--follow", second).code == 1
    assert tk("jobs", "--follow", second).code == 2
