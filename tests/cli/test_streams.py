"""Bundles that go through pipes, as over ssh: whole, cut short, and too large."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.pace import LONG
from tests.snapshots import snapshot
from tests.terminals import on_terminal

_TK = f"{shlex.quote(sys.executable)} -m torchkeeper"


@pytest.fixture
def temporary(tmp_path: Path, bare_python: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go, to see what is left of them. No torch is asked: what one says is
    kept by that folder, too.
    """
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", bare_python)
    return folder


def _sh(script: str, **env: object) -> subprocess.CompletedProcess[str]:
    """A shell that knows tk, and these variables; its status is of the first that failed."""
    given = {**os.environ, **{name: str(value) for name, value in env.items()}}
    whole = f'set -o pipefail; tk() {{ {_TK} "$@"; }}; {script}'
    return subprocess.run(
        ["bash", "-c", whole], env=given, capture_output=True, text=True, timeout=LONG, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_a_pipe_carries_a_cache(tk: Tk, kept_291: Path, tmp_path: Path, temporary: Path) -> None:
    done = _sh('tk export "$A" -o - --allow-secrets | tk import - --into "$B" --trust',
               A=kept_291, B=tmp_path / "new")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "written to standard output" in done.stderr
    tk("export", kept_291, "-o", tmp_path / "b", "--allow-secrets")
    tk("import", tmp_path / "b", "--into", tmp_path / "by-file", "--trust")
    by_pipe, by_file = (
        {row["key"] for row in tk("ls", tmp_path / name, "--json").objects}
        for name in ("new", "by-file")
    )
    assert by_pipe and by_pipe == by_file
    assert not list(temporary.iterdir())


@pytest.mark.slow
def test_what_goes_to_standard_output_is_what_a_file_would_be(
    tk: Tk, kept_291: Path, tmp_path: Path, temporary: Path
) -> None:
    done = _sh('tk export "$A" -o - --allow-secrets --quiet > "$B"', A=kept_291, B=tmp_path / "b")
    assert (done.returncode, done.stderr) == (0, "")
    tk("export", kept_291, "-o", tmp_path / "c", "--allow-secrets")
    assert tk("ls", tmp_path / "b", "--json").objects
    sums = [tk("du", tmp_path / name, "--json").out for name in "bc"]
    assert sums[0] == sums[1]
    seen = _sh('tk inspect - < "$A"', A=tmp_path / "b")
    assert seen.returncode == 0, seen.stderr
    assert ": bundle\n" in seen.stdout
    assert not list(temporary.iterdir())


def test_a_pipe_is_trusted_only_when_that_is_said(
    kept_291: Path, tmp_path: Path, temporary: Path
) -> None:
    done = _sh('tk export "$A" -o - --allow-secrets | tk import - --into "$B"',
               A=kept_291, B=tmp_path / "new")  # fmt: skip
    assert done.returncode == 2
    assert "sin_matmul" in done.stdout and "--trust" in done.stderr
    assert not (tmp_path / "new").exists()
    assert not list(temporary.iterdir())


def _opened(pid: int) -> Iterator[str]:
    """The paths of what a process has opened."""
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            yield os.readlink(handle)


def test_nothing_stays_of_an_import_that_is_killed(tmp_path: Path, temporary: Path) -> None:
    words = [sys.executable, "-m", "torchkeeper", "import", "-", "--into", f"{tmp_path}/new"]
    with subprocess.Popen([*words, "--trust"], stdin=subprocess.PIPE) as process:
        assert process.stdin
        process.stdin.write(b"PK" * 1000)
        process.stdin.flush()
        # Nameless. What Python tries a temporary folder with has a name, for a moment.
        nameless = re.compile(re.escape(str(temporary)) + r".* \(deleted\)")
        while not any(nameless.match(path) for path in _opened(process.pid)):
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        process.wait(LONG)
    assert not list(temporary.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("size", [-1, 0, 1, 1000])
def test_a_stream_that_is_cut_short_brings_nothing(
    tk: Tk, kept_291: Path, tmp_path: Path, temporary: Path, size: int
) -> None:
    tk("export", kept_291, "-o", tmp_path / "b", "--allow-secrets")
    for command in ("import - --trust --into", "inspect - #"):
        done = _sh(f'head -c {size} "$A" | tk {command} "$B"', A=tmp_path / "b",
                   B=tmp_path / "new")  # fmt: skip
        assert done.returncode not in (0, 2), done.stdout
        assert "standard input" in done.stderr and "Traceback" not in done.stderr
        assert str(temporary) not in done.stderr and "/proc" not in done.stderr
    assert not (tmp_path / "new").exists()
    assert not list(temporary.iterdir())


def test_an_export_that_fails_sends_nothing(
    kept_291: Path, fixture_cache: Path, tmp_path: Path, temporary: Path
) -> None:
    before = snapshot(fixture_cache)
    script = 'tk export "$A" -o - --filter nothing-like-it | tk import - --into "$B" --trust'
    done = _sh(script, A=kept_291, B=fixture_cache)
    assert done.returncode != 0
    assert "Nothing came on standard input." in done.stderr
    assert snapshot(fixture_cache) == before
    assert not list(temporary.iterdir())


@pytest.mark.slow
def test_who_reads_half_has_no_bundle(kept_291: Path, temporary: Path) -> None:
    done = _sh('tk export "$A" -o - --allow-secrets | head -c 1000 >/dev/null', A=kept_291)
    assert done.returncode == 1
    assert "was not read to its end" in done.stderr and "Traceback" not in done.stderr
    full = _sh('tk export "$A" -o - --allow-secrets > /dev/full', A=kept_291)
    assert full.returncode == 1
    assert "cannot be written" in full.stderr and "Traceback" not in full.stderr
    assert not list(temporary.iterdir())


def test_a_terminal_is_no_place_for_a_bundle(kept_291: Path, tmp_path: Path) -> None:
    for words in (
        ("export", kept_291, "-o", "-"), ("inspect", "-"),
        ("import", "-", "--into", tmp_path / "new", "--trust"),
    ):  # fmt: skip
        code, said = on_terminal(*words)
        assert code == 2
        assert "is a terminal" in said


def test_standard_input_that_is_closed(temporary: Path) -> None:
    done = _sh("tk inspect - <&-")
    assert done.returncode == 1
    assert "Standard input cannot be read." in done.stderr and "Traceback" not in done.stderr
    assert not list(temporary.iterdir())


@pytest.mark.slow
def test_standard_output_that_is_closed_would_lose_the_bundle(
    kept_291: Path, temporary: Path
) -> None:
    done = _sh('tk export "$A" -o - --allow-secrets >&-', A=kept_291)
    assert done.returncode == 2
    assert "Standard output is closed." in done.stderr
    assert not list(temporary.iterdir())


def test_standard_output_has_room_for_one_thing(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    assert tk("export", kept_291, "-o", "-", "--json").code == 2
    assert tk("import", "-", "-", "--into", tmp_path / "new", "--trust").code == 2
    dry = tk("export", kept_291, "-o", "-", "--dry-run", "--json", "--allow-secrets")
    assert (dry.code, dry.result["entries"]) == (0, 44)


def test_more_than_the_disk_has_room_for_is_refused(tmp_path: Path) -> None:
    """As far as can be tried without filling a disk of others: a file system of our own."""
    small = tmp_path / "small"
    small.mkdir()
    mount = ["unshare", "-rm", "bash", "-c", f'mount -t tmpfs -o size=80m none "{small}" && "$@"']
    if subprocess.run([*mount, "x", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may mount nothing")
    script = f'head -c 100M /dev/zero | TMPDIR="{small}" {_TK} inspect -; ls -A "{small}"'
    done = subprocess.run(
        [*mount, "x", "bash", "-c", script], capture_output=True, text=True, check=False,
        timeout=LONG,
    )  # fmt: skip
    assert "There is no room for what comes on standard input." in done.stderr
    assert str(small) in done.stderr
    assert done.stdout == ""


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_bundle_that_is_read_slowly_arrives_whole(
    tk: Tk, kept_291: Path, tmp_path: Path, unbuffered: str
) -> None:
    """With PYTHONUNBUFFERED a write may take a part only."""
    script = """import os, sys, time
os.set_blocking(0, True)
time.sleep(1)
size = 0
while some := os.read(0, 100):
    size += len(some)
    if size == 100:
        time.sleep(1)
print(size)
"""
    reader = tmp_path / "reader.py"
    reader.write_text(script)
    done = _sh(f'tk export "$A" -o - --allow-secrets --quiet | {_TK.split(maxsplit=1)[0]} "$R"',
               A=kept_291, R=reader, PYTHONUNBUFFERED=unbuffered)  # fmt: skip
    tk("export", kept_291, "-o", tmp_path / "b", "--allow-secrets")
    assert (done.returncode, int(done.stdout)) == (0, (tmp_path / "b").stat().st_size)
    half = _sh('tk export "$A" -o - --allow-secrets --quiet | head -c 10 | wc -c',
               A=kept_291, PYTHONUNBUFFERED=unbuffered)  # fmt: skip
    assert half.returncode == 1
    assert "not read to its end" in half.stderr


@pytest.mark.slow
def test_a_temporary_folder_that_others_can_rename_is_refused(
    kept_291: Path, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    done = _sh('tk export "$A" -o - --allow-secrets | cat', A=kept_291, TMPDIR=shared)
    assert done.returncode == 1
    assert "Others can rename" in done.stderr
    # What comes has no name there.
    done = _sh("echo x | tk inspect -", TMPDIR=shared)
    assert "standard input is neither a bundle nor a mega-cache" in done.stderr, done.stderr
    assert not list(shared.iterdir())
