"""An entry is called the same wherever it is shown, and is of the same torch and device."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.engine.conftest import Ask
from tests.redis_server import dump, serving
from tests.ssh.elsewhere import ANYWHERE
from tests.stores.test_copying import carry

pytestmark = ANYWHERE


def same_everywhere(ask: Ask, place: str, kinds: str) -> list[dict[str, Any]]:
    """Check each entry of some kinds; returns them as they are listed."""
    _, messages = ask("list", place=place, filter=f"kind:{kinds}")
    rows = [row for message in messages for row in message.rows]
    for row in rows:
        which = {"place": place, "kind": row["kind"], "path": row["path"]}
        _, messages = ask("detail", **which)
        shown = messages[-1].body["detail"]["entry"]
        compared, _ = ask("explain", **which, other=which)
        for field in ("name", "torch", "device"):
            assert shown[field] == compared["a"][field] == compared["b"][field]
            # Of a server's, nothing is read to list them.
            assert row[field] == shown[field] or (row[field] is None and "://" in place)
            assert shown[field]
            row[field] = shown[field]
    return rows


@pytest.mark.slow
def test_in_a_folder_and_in_one_of_vllms(ask: Ask, clean_291: Path, tmp_path: Path) -> None:
    rank = tmp_path / "torch_compile_cache" / "1a2b3c4d5e" / "rank_0_0"
    shutil.copytree(clean_291, rank / "inductor_cache")
    for place in (clean_291, rank, rank.parents[1]):
        rows = same_everywhere(ask, str(place), "fxgraph,aotautograd")
        names = [row["name"] for row in rows if row["kind"] == "aotautograd"]
        assert len(names) == 4
        assert sum(name.startswith("make_cache.forward(") for name in names) == 2


def test_in_a_bundle(ask: Ask, clean_291: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "b.torchcache"
    carry(clean_291, bundle)
    assert len(same_everywhere(ask, str(bundle), "aotautograd")) == 4
    here, there = (
        {(row["kind"], row["path"]): row["name"] for message in ask("list", place=place)[1]
         for row in message.rows if row["kind"] != "lock"}
        for place in (str(clean_291), str(bundle))
    )  # fmt: skip
    assert here == there
    graphs = [name for (kind, _), name in here.items() if kind == "fxgraph"]
    assert len(set(graphs)) == len(graphs) == 7, "they are told apart by their names"


def test_in_a_server(ask: Ask, clean_291: Path, tmp_path: Path) -> None:
    with serving(tmp_path / "redis") as server:
        server.load(dump())
        there = same_everywhere(ask, server.url, "fxgraph,aotautograd")
    here = same_everywhere(ask, str(clean_291), "fxgraph,aotautograd")
    assert {row["key"]: row["name"] for row in there} == {row["key"]: row["name"] for row in here}
