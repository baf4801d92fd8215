"""Places of another machine on the command line: what an engine there does with its own path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.ssh.conftest import Machine
from tests.vllm import tree


def test_ls_lists_a_folder_there(tk: Tk, there: Machine, fixture_cache: Path) -> None:
    ran = tk("ls", "--json", there.place(fixture_cache))
    here = tk("ls", "--json", fixture_cache)
    assert (ran.code, ran.err) == (0, "")
    assert ran.objects == here.objects


def test_a_read_only_place_there_stays_so(tk: Tk, there: Machine, fixture_cache: Path) -> None:
    place = there.place(fixture_cache)
    assert tk("places", "--protect", there.place(fixture_cache.parent)).code == 0
    try:
        ran = tk("purge", "--json", "--yes", place)
        assert ran.objects[-1]["error"]["code"] == "place-within-protected"
    finally:
        tk("places", "--unprotect", there.place(fixture_cache.parent))
    assert list(fixture_cache.glob("fxgraph/*/*/*"))


@pytest.mark.slow
def test_verdicts_are_those_of_the_python_there(
    tk: Tk, there: Machine, warm_cache: Path, torch_python: str
) -> None:
    place = there.place(warm_cache)
    there.rc.write_text(f"PATH={os.path.dirname(torch_python)}:$PATH")
    here = tk("check", "--json", warm_cache, "--env", torch_python)
    for named in ([], ["--env", torch_python]):
        *rows, last = tk("check", "--json", place, *named).objects
        assert rows == here.objects[:-1]
        assert last["result"] == here.result | {"python": last["result"]["python"]}
        assert last["result"]["python"].startswith(f"ssh://there{torch_python}")
    key = next(row["key"] for row in here.objects if row.get("verdict") == "usable")
    ran = tk("explain", place, key)
    assert ran.code == 0 and "usable in" in ran.out
    usable = tk("ls", "--json", "--filter", "is:usable", place)
    assert usable.code == 0 and len(usable.objects) > 1
    nearest = tk("explain", place, key, "--nearest", "--json")
    assert nearest.objects[-1]["a"]["place"] == place


def test_what_cannot_be_done_there_says_so(tk: Tk, there: Machine, fixture_cache: Path) -> None:
    place = there.place(fixture_cache)
    ran = tk("server", place)
    assert ran.code == 2 and "Traceback" not in ran.err, ran
    for env, code in {
        "python3": "path-not-absolute",
        "ssh://other/x": "places-apart",
        "ssh://a b/x": "ssh-address-wrong",
        "/a/../b": "ssh-address-wrong",
    }.items():
        ran = tk("check", "--json", place, "--env", env)
        assert ran.objects[-1]["error"]["code"] == code, ran
    assert tk("ssh://a b/x").code in (1, 2, 3)
    sessions = there.sessions()
    for command in ("ls", "du", "check", "purge"):  # nobody means all that the machine has
        for alone in ("ssh://there", "ssh://there/"):
            ran = tk(command, alone)
            assert ran.code == 2 and "torchkeeper places ssh://there" in ran.err, ran
    assert there.sessions() == sessions


def test_keys_of_vllm_there_and_here(tk: Tk, there: Machine, tmp_path: Path) -> None:
    port = "VLLM_P2P_SIDE_CHANNEL_PORT"
    here, far_off = (tree(tmp_path / text, {port: text}) for text in ("5600", "5601"))
    ran = tk("explain", here, there.place(far_off))
    assert (ran.code, ran.err) == (0, "")
    assert f"Only {port} differs (5600, 5601)" in ran.out
    (tmp_path / "pod.env").write_text(f"{port}=5600\n")
    ran = tk("check", there.place(far_off), "--against", tmp_path / "pod.env")
    assert (ran.code, ran.out.splitlines()[-1]) == (1, "1 misses")
    # The number of a process is one there.
    ran = tk("check", there.place(far_off), "--against", os.getpid())
    assert (ran.code, ran.out.splitlines()[-1]) == (1, "1 misses")
