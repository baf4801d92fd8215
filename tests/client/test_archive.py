"""The zip that travels: what is compiled of it is used where it can be, and is as the source is."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from torchkeeper.client.engines import travel

#: Imports the engine, and says where from; then what the trace of an error in it looks like.
ASK = """
import sys, traceback
sys.path.insert(0, sys.argv[1])
from torchkeeper.engine import protocol
print(protocol.__file__)
print(protocol.encode.__code__.co_filename)
try:
    protocol.encode({"text": object()})
except TypeError:
    traceback.print_exc(file=sys.stdout)
"""


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A zip of this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return travel.archive.__wrapped__()


def said(archive: Path) -> list[str]:
    command = [sys.executable, "-I", "-S", "-W", "error", "-c", ASK, str(archive)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_what_is_compiled_is_used_and_names_the_source(made: Path) -> None:
    file, frames, *trace = said(made)
    assert file == f"{made}/torchkeeper/engine/protocol.pyc"
    assert frames == "torchkeeper/engine/protocol.py", "no path of here goes to other machines"
    assert any(f'"{frames}"' in line and "in encode" in line for line in trace), trace
    at = next(at for at, line in enumerate(trace) if f'"{frames}"' in line)
    assert "json.dumps" in trace[at + 1], "its source can be shown"


@pytest.mark.slow
def test_another_python_takes_the_source(made: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(made) as archive, zipfile.ZipFile(other, "w") as copy:
        for name in archive.namelist():
            data = archive.read(name)
            if name.endswith(".pyc"):
                assert data.startswith(importlib.util.MAGIC_NUMBER)
                data = b"\x01\x02\r\n" + data[4:]
            copy.writestr(name, data)
    file, frames, *_ = said(other)
    assert file == frames == f"{other}/torchkeeper/engine/protocol.py"


def test_all_of_it_is_compiled(made: Path) -> None:
    with zipfile.ZipFile(made) as archive:
        names = set(archive.namelist())
    sources = {name for name in names if name.endswith(".py")}
    assert {f"{name}c" for name in sources} == names - sources
    assert "torchkeeper/engine/serve.py" in sources
