"""What is found while bundles of nodes go into the place is told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torchkeeper.client.engines.process import Engine
from torchkeeper.fleet.gathering import Gathering


def test_secrets_are_told_one_by_one(kept_291: Path, tmp_path: Path) -> None:
    bundle, found = tmp_path / "sent.torchcache", list[Mapping[str, Any]]()
    with Engine() as engine:
        asked = {"place": str(kept_291), "output": str(bundle), "secrets": "allow"}
        engine.call("export", asked)
    for secrets, wanted in (("redact", {"secret"}), ("leave", {"secret", "left"})):
        found.clear()
        into = str(tmp_path / f"{secrets}.torchcache")
        gathering = Gathering(into, secrets, {}, found.append)
        try:
            gathering.write([str(bundle)])
        finally:
            gathering.close()
        assert {name for one in found for name in one} == wanted
        excerpt = next(one["secret"] for one in found if "secret" in one)
        assert excerpt["what"]
