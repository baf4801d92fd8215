"""The names of built objects, asked of the PyTorch that will look for them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bench.carry import elsewhere
from tests.conftest import DATA
from torchkeeper.client.engines import probes
from torchkeeper.client.engines.process import Engine
from torchkeeper.engine.protocol import Message

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def engine(torch_python: str) -> Iterator[Engine]:
    """One of an interpreter that has torch."""
    with Engine(torch_python) as engine:
        yield engine


@pytest.fixture
def bundle(engine: Engine, torch_python: str, filled: Path, tmp_path: Path) -> Path:
    """What a program compiled, with what the manifest says of its objects."""
    file = tmp_path / "made.torchcache"
    builders = probes.probe(torch_python)["native"]
    assert builders
    select = {"filter": "kind:code"}
    params = {"place": str(filled), "output": str(file), "select": select, "builders": builders}
    engine.call("export", params)
    return file


def names(engine: Engine, *files: Path) -> dict[str, str]:
    """The new key of each entry, by its old one."""
    messages: list[Message] = []
    answer = engine.call("names", {"files": list(map(str, files))}, messages.append)
    rows = [row for message in messages for row in message.rows]
    assert answer == {"count": len(rows)}
    assert {row["file"] for row in rows} <= set(map(str, files))
    return {Path(row["path"]).name.partition(".")[0]: row["key"] for row in rows}


def keys(folder: Path) -> set[str]:
    return {path.name.partition(".")[0] for path in folder.glob("*/*.so")}


@pytest.mark.slow
def test_the_same_torch_gives_the_same_names(engine: Engine, bundle: Path, filled: Path) -> None:
    assert names(engine, bundle) == {key: key for key in keys(filled)}


@pytest.mark.slow
def test_what_is_claimed_of_another_command_has_no_name(
    engine: Engine, bundle: Path, tmp_path: Path
) -> None:
    """Nor has what a manifest without claims holds."""
    other, without = tmp_path / "other.torchcache", tmp_path / "without.torchcache"
    for file, change in ((other, True), (without, False)):
        with zipfile.ZipFile(bundle) as archive, zipfile.ZipFile(file, "w") as made:
            for info in archive.infolist():
                data = archive.read(info)
                if info.filename == "manifest.json":
                    manifest = json.loads(data)
                    commands = manifest["native"]["commands"]
                    manifest["native"]["commands"] = [f"{text} -mavx10" for text in commands]
                    if not change:
                        del manifest["native"]
                    data = json.dumps(manifest).encode()
                made.writestr(info, data)
    assert names(engine, other, without) == {}


@pytest.mark.slow
def test_elsewhere_they_are_what_pytorch_makes_itself(
    torch_python: str, bundle: Path, filled: Path, header_folder: Path, tmp_path: Path
) -> None:
    """With the same torch at another path, for another user, every name is another."""
    second = elsewhere(torch_python, tmp_path / "elsewhere" / "venv")
    with Engine(second) as engine:
        found = names(engine, bundle)
    assert found.keys() == keys(filled)
    made = tmp_path / "made"
    env: dict[str, Any] = {k: v for k, v in os.environ.items() if not k.startswith("TORCH")}
    env |= {"TMPDIR": str(header_folder), "TORCHINDUCTOR_CACHE_DIR": str(made), "USER": "someone"}
    command = [second, str(DATA / "plain_script.py")]
    subprocess.run(command, env=env, check=True, capture_output=True)
    assert set(found.values()) == keys(made)
    moved = {key for key, other in found.items() if key != other}
    # Checks are named after the compiler, kernels after the folder of torch, too.
    assert moved == {path.name.partition(".")[0] for path in filled.glob("*/*.main.so")}
    shutil.rmtree(tmp_path / "elsewhere")
