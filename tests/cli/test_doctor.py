"""The doctor on the command line: one line for a healthy machine, exit codes, JSON, mending."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.pace import LONG
from tests.redis_server import serving
from torchkeeper.stores import mounts

#: A header takes 149 MB and half a minute; without one nothing is missing.
NO_HEADER = {"TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0"}


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory, torch_python: str) -> Path:
    """A temporary folder in which torch has its cache, of one small graph. Not to be changed."""
    folder = tmp_path_factory.mktemp("machine")
    script = "import torch; torch.compile(lambda x, y: x @ y)(torch.rand(4, 4), torch.rand(4, 4))"
    env = {**os.environ, **NO_HEADER, "TMPDIR": str(folder)}
    subprocess.run([torch_python, "-c", script], env=env, capture_output=True, check=True)
    return folder


@pytest.fixture
def machine(written: Path, tmp_path: Path) -> dict[str, str]:
    """Variables of a machine of a test's own: its temporary folder and its home."""
    temporary = Path(shutil.copytree(written, tmp_path / "tmp", copy_function=shutil.copy2))
    home = tmp_path / "home"
    home.mkdir()
    return {**NO_HEADER, "TMPDIR": str(temporary), "HOME": str(home)}


def cache_of(machine: dict[str, str]) -> Path:
    """PyTorch's folder there."""
    [found] = Path(machine["TMPDIR"]).glob("torchinductor_*")
    return found


@pytest.mark.slow
def test_a_healthy_machine_says_so_in_one_line(
    tk: Tk, warm_cache: Path, header_folder: Path, tmp_path: Path, torch_python: str
) -> None:
    """With a cache that torch filled, and the header that it built on the way."""
    mount = mounts.mount_of(str(warm_cache))
    if mount is None or mount.type in ("overlay", "tmpfs"):
        pytest.skip("the temporary folder is on no disk, which is said")
    env = {"TMPDIR": str(header_folder), "HOME": str(tmp_path)}
    done = tk("doctor", "--env", torch_python, TORCHINDUCTOR_CACHE_DIR=str(warm_cache), **env)
    assert done.code == 0, done.out + done.err
    assert done.out == "Nothing is wrong: 21 checks made.\n"
    assert done.err == ""


@pytest.mark.slow
def test_json_and_exit_codes(tk: Tk, machine: dict[str, str], torch_python: str) -> None:
    """An error ends with 5; each finding is an object with its words, then comes the result."""
    cache = cache_of(machine)
    (graph,) = (path for path in (cache / "fxgraph").rglob("*") if path.is_file())
    graph.write_bytes(b"")
    with serving(Path(machine["HOME"]) / "server", "--requirepass", "right") as server:
        password = "hunter2"
        more = {
            "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE": "1",
            "TORCHINDUCTOR_REDIS_URL": server.url.replace("//", f"//:{password}@"),
        }
        done = tk("doctor", "--json", "--env", torch_python, **machine, **more)
    assert done.code == 5, done.err
    assert password not in done.out + done.err
    *found, last = done.objects
    by_code = {one["code"]: one for one in found}
    assert found[0]["severity"] == "error"
    wrong = by_code["server-password"]
    assert wrong["place"] == server.url
    assert wrong["check"] == "reachable"
    assert wrong["what"].startswith(f"PyTorch cannot log in to {server.url}: ")
    assert by_code["entries-broken"]["fix"] == "trash-broken"
    assert last["result"]["worst"] == "error"
    assert {one["check"] for one in last["result"]["left"]} == {
        "exposed",
        "writes",
        "memory",
        "expiry",
    }


@pytest.mark.slow
def test_warnings_end_with_4_and_are_mended(
    tk: Tk, machine: dict[str, str], torch_python: str
) -> None:
    cache = cache_of(machine)
    (graph,) = (path for path in (cache / "fxgraph").rglob("*") if path.is_file())
    whole = graph.read_bytes()
    graph.write_bytes(whole[:100])
    left = cache / "cache" / ".999999999.140234567890.tmp"
    left.parent.mkdir(exist_ok=True)
    left.touch()
    os.utime(left, (time.time() - 9999,) * 2)
    arguments = ("doctor", cache, "--env", torch_python)
    assert tk(*arguments, **machine).code == 4

    asked = tk(*arguments, "--fix", **machine)
    assert asked.code == 2
    assert "Add --yes" in asked.err
    dry = tk(*arguments, "--fix", "--dry-run", **machine)
    assert dry.code == 4
    assert f"would: Move what is broken to the trash of {cache}" in dry.out
    assert left.exists() and graph.exists()

    done = tk(*arguments, "--fix", "--yes", **machine)
    assert done.code == 0, done.out + done.err
    assert f"done: Move what is broken to the trash of {cache}" in done.out
    assert "It is gone. “torchkeeper undo" in done.out
    assert not left.exists() and not graph.exists()
    assert tk(*arguments, **machine).code == 0
    for _ in range(2):  # a purge each
        assert tk("undo", cache, **machine).code == 0
    assert left.exists()
    assert graph.read_bytes() == whole[:100]


@pytest.mark.slow
def test_on_a_terminal_it_asks(machine: dict[str, str], torch_python: str) -> None:
    """Whoever says no keeps everything."""
    cache = cache_of(machine)
    (graph,) = (path for path in (cache / "fxgraph").rglob("*") if path.is_file())
    graph.write_bytes(b"")
    mine, theirs = pty.openpty()
    command = [sys.executable, "-m", "torchkeeper", "doctor", str(cache), "--env", torch_python]
    with subprocess.Popen(
        [*command, "--fix"], env={**os.environ, **machine}, text=True,
        stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        os.write(mine, b"n\n" * 4)
        out, err = process.communicate(timeout=LONG)
    os.close(mine)
    os.close(theirs)
    assert process.returncode == 4, out + err
    assert "[y/N]" in err
    assert graph.exists()


@pytest.mark.slow
def test_other_caches_of_the_user_are_seen_in_brief(
    tk: Tk, machine: dict[str, str], torch_python: str
) -> None:
    """A folder that no environment reads, with the same entries as the one that is used."""
    cache = cache_of(machine)
    other = shutil.copytree(cache, cache.with_name("torchinductor_old"))
    done = tk("doctor", "--json", "--env", torch_python, **machine)
    assert done.code == 0  # nothing of that is worse than advice
    codes = {one["code"]: one for one in done.objects[:-1]}
    assert codes["folder-unread"]["place"] == str(other)
    assert codes["caches-alike"]["params"]["other"] == str(other)
    assert json.dumps(str(cache)) in json.dumps(codes["caches-alike"])


def test_of_a_server_nobody_asks_torch(
    tk: Tk, tmp_path: Path, bare_python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with serving(tmp_path / "server") as server:
        done = tk("doctor", server.url, "--env", bare_python)
    assert done.code == 0, done.out + done.err
    assert "has no limit of memory" in done.out
    assert "It wants no password." in done.out
    assert "2 pieces of advice; 5 checks made." in done.out
    assert done.err == ""


@pytest.mark.slow
def test_an_interpreter_without_torch(tk: Tk, machine: dict[str, str], bare_python: str) -> None:
    """The folder is looked at all the same, and what cannot be told of it is said."""
    done = tk("doctor", "--env", bare_python, **machine)
    assert done.code == 5
    assert "torch cannot be imported" in done.out
    assert "left: stale entries" in done.err
