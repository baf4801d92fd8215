"""The stage on which operations are killed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import once
from tests.crash.boxes import Box, Caches
from tests.crash.cases import fillers
from tests.crash.faulty import Driver, build
from tests.crash.stage import Stage, chosen_of
from torchkeeper.artifacts import sshsig
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.bundles import signing
from torchkeeper.stores.bundles.export import export

#: A file system in memory, and bytes that are to be free there.
SHM, ROOM = "/dev/shm", 100 << 20


@pytest.fixture(scope="session")
def stage(
    shared: Path,
    clean_291: Path,
    other_kinds: Path,
    kernels: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Stage]:
    """A driver, what the cases start from, and a key's signature."""
    root = tmp_path_factory.mktemp("crash")
    # In memory where there is some: thousands of folders come and go.
    memory = SHM if os.path.isdir(SHM) and shutil.disk_usage(SHM).free > ROOM else root
    sources = root / "sources"
    for name in ("sources", "kept"):
        (root / name).mkdir()
    caches = Caches(clean_291, other_kinds, kernels)
    caches.mix(sources / "mix")
    digest = _bundles(sources)
    with tempfile.TemporaryDirectory(prefix="torchkeeper-crash-", dir=memory) as place:
        box = Box(Path(os.path.realpath(place)) / "box", root / "kept")
        for name, fill in fillers(caches, sources).items():
            box.keep(name, fill)
        library = once(shared, "faults", build) / "faults.so"
        driver = Driver(library, box.root, root / "log")
        yield Stage(sources, box, driver, digest)
        driver.close()


def _bundles(sources: Path) -> str:
    """A bundle of all, one of a little, and a signature of the former, whose digest it returns."""
    folder, ones = chosen_of(sources / "mix")
    for name, some in (("mix", ones), ("small", ones[:2])):
        left: list[object] = []
        export(some, folder, str(sources / f"{name}.torchcache"), Report(),
               lambda *what, left=left: left.append(what))  # fmt: skip
        assert left == []
    key, text = sources / "key", sources / "manifest.json"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    digest = signing.copy_manifest(str(sources / "mix.torchcache"), str(text), Report())
    command: list[str | Path] = [
        "ssh-keygen",
        "-q",
        "-Y",
        "sign",
        "-n",
        sshsig.NAMESPACE,
        "-f",
        key,
        text,
    ]
    subprocess.run(command, check=True)
    (sources / "manifest.json.sig").rename(sources / "signature")
    return digest
