"""A key that is let in for some folders alone: “torchkeeper serve” as a forced command."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.pace import LONG
from tests.snapshots import snapshot
from tests.ssh.conftest import SSHD, Machine, config, listens
from torchkeeper.artifacts.version import SOURCE
from torchkeeper.client.engines import line
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import far_end, mux, past, protocol


@contextmanager
def serving(there: Machine, tmp_path: Path, *options: str | Path) -> Iterator[Machine]:
    """A server of its own, whose only key has this command in authorized_keys."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    served = Machine(tmp_path / "server", port, there.process)
    (served.folder / "tmp").mkdir(parents=True)
    served.home.mkdir()
    start = shlex.join(map(str, (
        "env", f"HOME={served.home}", f"TMPDIR={served.folder}/tmp", f"PYTHONPATH={SOURCE}",
        f"XDG_CACHE_HOME={served.home}/.cache", sys.executable, "-m", "torchkeeper", "serve",
        *options,
    )))  # fmt: skip
    public = (there.folder / "user.pub").read_text()
    keys = served.folder / "authorized_keys"
    keys.write_text(f'command="{start}",restrict {public}')
    settings = (there.folder / "sshd_config").read_text()
    settings = settings.replace(str(there.folder / "authorized_keys"), str(keys))
    settings = "".join(
        f"Port {port}\n" if one.startswith("Port ") else one
        for one in settings.splitlines(keepends=True)
        if not one.startswith("ForceCommand")
    )
    (served.folder / "sshd_config").write_text(settings)
    assert SSHD
    process = subprocess.Popen([SSHD, "-D", "-q", "-f", served.folder / "sshd_config"])
    listens(process, port)
    known = there.known.read_text().replace(f":{there.port} ", f":{port} ")
    (served.folder / "known_hosts").write_text(known)
    config(there, Port=port, UserKnownHostsFile=served.folder / "known_hosts")
    try:
        yield served
    finally:
        line.close_all()
        process.terminate()
        process.wait()
    assert not os.listdir(served.folder / "tmp"), "nothing is left there"


@pytest.fixture
def folder(fixture_cache: Path, tmp_path: Path) -> Path:
    """A folder that is served; beside it is another cache, and a link in it leads there."""
    served = tmp_path / "srv"
    shutil.copytree(fixture_cache, served / "cache")
    (served / "out").symlink_to(fixture_cache)
    return served


def test_a_key_sees_the_folder_and_no_more(
    tk: Tk, there: Machine, tmp_path: Path, folder: Path, fixture_cache: Path
) -> None:
    cache, before = folder / "cache", snapshot(folder)
    with serving(there, tmp_path, "--only", folder, "--read-only"):
        ran = tk("ls", "--json", there.place(cache))
        assert (ran.code, ran.err) == (0, "")
        assert ran.objects == tk("ls", "--json", cache).objects
        assert tk("export", there.place(cache), "-o", tmp_path / "b.torchcache",
                  "--allow-secrets").code == 0  # fmt: skip
        assert len(tk("ls", "--json", tmp_path / "b.torchcache").objects) > 5
        for outside in (fixture_cache, folder / "out", "/etc"):
            ran = tk("ls", "--json", there.place(outside))
            assert ran.objects[-1]["error"]["code"] == "place-not-served"
        # What else is refused: tests/engine/test_fence.py.
        for command in (
            ("purge", "--yes", "--filter", "kind:fxgraph", there.place(cache)),
            ("import", tmp_path / "b.torchcache", "--trust", "--into", there.place(cache)),
        ):
            ran = tk(command[0], "--json", *command[1:])
            assert ran.code != 0 and "not-served" in ran.objects[-1]["error"]["code"], command
    assert snapshot(folder) == before


def test_no_other_program_starts(there: Machine, tmp_path: Path, folder: Path) -> None:
    with serving(there, tmp_path, "--only", folder):
        shell = ["ssh", "there", f"touch {folder}/made"]
        ran = subprocess.run(shell, check=False, capture_output=True, text=True)
        assert ran.returncode == 2 and "for Torchkeeper alone" in ran.stderr
        for python in ("/bin/sh", sys.executable):
            with pytest.raises(UserError) as refused, Engine(f"ssh://there{python}") as engine:
                engine.call(protocol.PROBE, {})
            assert "not among" in refused.value.why
    assert not (folder / "made").exists()


@pytest.mark.slow
def test_a_key_that_may_change_changes_that_folder_alone(
    tk: Tk, there: Machine, tmp_path: Path, folder: Path, fixture_cache: Path
) -> None:
    other = snapshot(fixture_cache)
    with serving(there, tmp_path, "--only", folder / "cache", "--env", sys.executable):
        place = there.place(folder / "cache")
        before = snapshot(folder)
        purged = tk("purge", "--json", "--yes", "--filter", "kind:fxgraph", place)
        assert (purged.code, purged.result["entries"]) == (0, 7)
        assert tk("undo", place).code == 0
        assert snapshot(folder) == before
        outside = tk("copy", "--json", place, there.place(fixture_cache))
        assert outside.objects[-1]["error"]["code"] == "place-not-served"
        with Engine(f"ssh://there{sys.executable}") as engine:
            assert engine.call(protocol.PROBE, {})
    assert snapshot(fixture_cache) == other


#: What a stranger sends after two engines have begun: what is no frame of these.
UNASKED = {
    "a signal that stops": (mux.SIGNAL, 1, bytes([signal.SIGSTOP])),
    "a signal that dumps": (mux.SIGNAL, 1, bytes([signal.SIGQUIT])),
    "a signal that is none": (mux.SIGNAL, 1, bytes([200])),
    "a signal without a number": (mux.SIGNAL, 1, b""),
    "a channel again": (mux.OPEN, 1, b"{}"),
    "no JSON": (mux.OPEN, 3, b"{"),
    "no object": (mux.OPEN, 3, b"[]"),
    "deep": (mux.OPEN, 3, b"[" * 9000),
    "no name": (mux.OPEN, 3, b'{"file": 1, "writes": false}'),
    "no interpreter": (mux.OPEN, 3, b'{"python": ["sh"]}'),
    "what engines say": (mux.CHUNKS + 1, 1, past.packed(b"\n", 6)),
    "what engines said": (mux.SAME + 1, 1, bytes(past.RUN.size)),
}


def processes_of(served: Path) -> list[str]:
    """The engines that a far end with this temporary folder has begun."""
    found = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            said = one.read_bytes()
        except OSError:
            continue
        if f"{served}/torchkeeper-far-".encode() in said:
            found.append(one.parent.name)
    return found


@pytest.fixture
def spoken(folder: Path, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """What sshd would start, with two engines that have begun."""
    (tmp_path / "tmp").mkdir()
    env = {
        **os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": SOURCE,
        "SSH_ORIGINAL_COMMAND": f"torchkeeper-{'0' * 16}:",
    }  # fmt: skip
    command = [sys.executable, "-m", "torchkeeper", "serve", "--read-only", "--only", str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env,
        bufsize=0,
    ) as process:  # fmt: skip
        yield process
        process.kill()


def say(process: subprocess.Popen[bytes], kind: int, channel: int, payload: bytes) -> None:
    assert process.stdin
    process.stdin.write(mux.HEAD.pack(kind, channel, len(payload)) + payload)


@pytest.mark.parametrize("name", UNASKED)
def test_nothing_stays_of_who_speaks_otherwise(
    spoken: subprocess.Popen[bytes], tmp_path: Path, name: str
) -> None:
    assert spoken.stdout
    for channel in (1, 2):
        say(spoken, mux.OPEN, channel, b"{}")
    came = b""
    while came.count(b"\n") < 2 or len(came) < 500:  # both say hello
        came += os.read(spoken.stdout.fileno(), 1 << 16)
    say(spoken, *UNASKED[name])
    spoken.wait(LONG)
    deadline = time.monotonic() + 10
    while processes_of(tmp_path / "tmp") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_of(tmp_path / "tmp") == []
    assert os.listdir(tmp_path / "tmp") == []


def test_no_more_is_open_at_once_than_anybody_needs(tmp_path: Path) -> None:
    (into, _), (_, out) = os.pipe(), os.pipe()
    (tmp_path / "x").write_text("x")
    far, told = far_end.Far(into, out, str(tmp_path), None), list[object]()
    far.tell = lambda _, channel, **what: told.append((channel, what))  # type: ignore[method-assign]
    for channel in range(far_end._MOST + 2):
        far.control(mux.OPEN, channel, b'{"file": "x", "writes": false}')
    why = {"why": "Too much is open at once"}
    assert told == [(far_end._MOST, why), (far_end._MOST + 1, why)]
