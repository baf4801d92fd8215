"""The doctor looks at other machines, and mends what it finds there."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.ssh.conftest import Machine


@pytest.fixture
def cache(fixture_cache: Path) -> Path:
    """A folder in which a program was ended while it wrote."""
    left = fixture_cache / "cache" / ".999999999.140234567890.tmp"
    left.parent.mkdir(exist_ok=True)
    left.touch()
    os.utime(left, (time.time() - 9999,) * 2)
    return fixture_cache


def test_a_folder_there_is_looked_at_and_mended(tk: Tk, there: Machine, cache: Path) -> None:
    place = there.place(cache)
    # It has no torch, as the python3 there.
    here = tk("doctor", "--json", cache, "--env", os.path.realpath(sys.executable))
    ran = tk("doctor", "--json", place)
    *found, last = ran.objects
    assert [(one["code"], one["check"], one["place"]) for one in found] == [
        (one["code"], one["check"], one["place"] and place) for one in here.objects[:-1]
    ]
    assert (ran.code, last["result"]["worst"]) == (here.code, here.result["worst"])
    assert last["result"]["checks"] == here.result["checks"]
    by_code = {one["code"]: one for one in found}
    assert by_code["left-over"]["what"].startswith("A program that ended while it wrote has left")

    fixed = tk("doctor", place, "--fix", "--yes")
    assert f"to the trash of {place}" in fixed.out and "It is gone." in fixed.out
    assert f"torchkeeper undo {place}" in fixed.out
    assert not list((cache / "cache").glob(".*.tmp"))
    assert tk("undo", place).code == 0 and list((cache / "cache").glob(".*.tmp"))
    assert tk("doctor", "--json", place + "/none").objects[-1]["error"]["code"] == "place-missing"


@pytest.mark.slow
def test_machines_are_looked_at_whole(tk: Tk, there: Machine, cache: Path) -> None:
    """By what their accounts have set; one that is away holds up no other."""
    mine = there.home / "cache"
    shutil.move(cache, mine)
    there.rc.write_text(
        f"export TORCHINDUCTOR_CACHE_DIR={mine} TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE=1 "
        "TORCHINDUCTOR_REDIS_URL=redis://:hunter2@127.0.0.1:1\n"
    )
    ran = tk("doctor", "--json", "ssh://there", "ssh://gone.invalid", OMP_NUM_THREADS="3")
    assert ran.code == 5 and "hunter2" not in ran.out + ran.err, ran
    *found, last, error = ran.objects
    assert "ssh://gone.invalid" in error["error"]["what"]
    by_code = {one["code"]: one for one in found}
    assert {one["machine"] for one in found} == {"ssh://there"}
    assert by_code["left-over"]["place"] == f"ssh://there{mine}"
    # As “server”, “ls” and “copy” reach it from here.
    assert by_code["server-unusable"]["place"] == "ssh://there/redis://127.0.0.1:1/0"
    assert by_code["url-password"]["settings"] == ["TORCHINDUCTOR_REDIS_URL"]
    assert {"file-system", "reachable", "settings", "unread"} <= set(last["result"]["checks"])
    shown = tk("doctor", "ssh://there", "ssh://gone.invalid")
    lines = [line for line in shown.out.splitlines() if line and not line.startswith(" ")]
    assert len(lines) == len(found) + 1
    assert all(line.startswith("ssh://there: ") for line in lines), lines
    fixed = tk("doctor", "ssh://there", "ssh://gone.invalid", "--fix", "--dry-run")
    told = tk("doctor", "ssh://there", "ssh://gone.invalid", "--fix", "--dry-run", "--json").objects
    assert {one["machine"] for one in told if "will" in one} == {"ssh://there"}
    would = [line for line in fixed.out.splitlines() if "would: " in line or "left: " in line]
    assert would and all(line.startswith("ssh://there: ") for line in would)


def test_what_could_go_on_machines(tk: Tk, there: Machine, fixture_cache: Path) -> None:
    """By the python3 there, where none is named: it has no torch, so nothing is called stale."""
    mine = there.home / "cache"
    shutil.move(fixture_cache, mine)
    next(mine.glob("fxgraph/*/*/*")).write_bytes(b"")
    there.rc.write_text(f"export TORCHINDUCTOR_CACHE_DIR={mine}\n")
    ran = tk("purge", "--suggest", "--broken", "--json", "ssh://there", "ssh://gone.invalid")
    assert ran.code == 4, ran
    assert ran.result["entries"] == 1
    commands = [row["command"] for row in ran.objects if row.get("command")]
    assert commands == [f"torchkeeper purge ssh://there{mine} --broken"]
    assert tk("purge", "--json", f"ssh://there{mine}", "--stale").objects[-1]["error"]["code"] == (
        "environments-none"
    )
