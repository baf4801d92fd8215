"""What travels is run by the python3 there, whatever its version from 3.10 on."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.snapshots import snapshot
from tests.ssh.conftest import Machine

pytestmark = pytest.mark.slow


@pytest.fixture(params=["3.10", "3.12", "3.13", "3.14"])
def version(request: pytest.FixtureRequest, there: Machine) -> Iterator[str]:
    python = shutil.which(f"python{request.param}")
    asked = [python or "", "-c", "import sys; print(sys.executable)"]
    ran = python and subprocess.run(asked, check=False, capture_output=True, text=True)
    if not ran or ran.returncode:
        pytest.skip(f"there is no Python {request.param} on PATH")
    linked = there.bin / "python3"
    linked.unlink()
    linked.symlink_to(ran.stdout.strip())
    yield request.param
    linked.unlink()
    linked.symlink_to(sys.executable)


def test_a_folder_is_looked_at_purged_and_carried(
    tk: Tk, there: Machine, version: str, fixture_cache: Path, tmp_path: Path
) -> None:
    place, before = there.place(fixture_cache), snapshot(fixture_cache)
    listed = tk("ls", "--json", place)
    assert (listed.code, listed.err) == (0, "")
    assert listed.objects == tk("ls", "--json", fixture_cache).objects
    assert tk("show", place, listed.objects[0]["key"]).code == 0
    purged = tk("purge", "--json", "--yes", "--filter", "kind:fxgraph", place)
    assert (purged.code, purged.result["entries"]) == (0, 7), purged
    assert tk("undo", place).code == 0
    assert snapshot(fixture_cache) == before
    bundle = tmp_path / "b.torchcache"
    assert tk("export", "--allow-secrets", place, "-o", bundle).code == 0
    came = tk("import", "--trust", bundle, "--into", there.place("new"))
    assert came.code == 0, came
    assert len(tk("ls", "--json", there.place("new")).objects) > 5
