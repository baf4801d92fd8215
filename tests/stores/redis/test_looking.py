"""What is found out about chosen entries: their times, and what their payloads say."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.redis_server import Server, serving
from tests.stores.redis.test_listing import KERNEL, fx_key
from torchkeeper.artifacts.report import Report
from torchkeeper.link.process import Engine
from torchkeeper.stores.describe import describe
from torchkeeper.stores.folder import Folder
from torchkeeper.stores.items import in_order
from torchkeeper.stores.reader import Reader
from torchkeeper.stores.redis.looking import Looked, facts
from torchkeeper.stores.redis.store import Redis

HASH = "0123456789abcdef" * 4


def looked(server: Server) -> dict[str, Looked]:
    with Redis(server.unix, Report()) as store, Reader() as reader:
        batches = facts(store, in_order(store.stream(Report())), reader, Report())
        return {one.item.path: one for batch in batches for one in batch}


def test_payloads_say_what_they_say_in_a_folder(full: Server, kept_291: Path) -> None:
    folder = Folder(str(kept_291))
    with Reader() as reader:
        batches = describe(folder.items(Report()), folder, reader, Report())
        here = {one.entry.sha256: one.entry for batch in batches for one in batch}
    there = looked(full)
    assert len(there) == 12
    for path, one in there.items():
        entry = one.entry
        assert (entry.path, entry.size, entry.problem) == (path, one.item.size, None)
        if entry.kind != "pgo":
            twin = here[entry.sha256]
            assert (entry.kind, entry.key, entry.name, entry.torch, entry.compile_s) == (
                twin.kind, twin.key, twin.name, twin.torch, twin.compile_s
            )  # fmt: skip


def test_times_are_told_before_looking_spoils_them(full: Server) -> None:
    first, second = sorted(
        one.item.path for one in looked(full).values() if one.item.kind == "fxgraph"
    )[:2]
    full("PEXPIRE", first, 100_000)
    time.sleep(2.1)
    with Redis(full.unix, Report()) as store, Reader() as reader:
        # Not listed but looked at: servers before 7.2 take that for use.
        items = [item for item in store.items(Report()) if item.path in (first, second)]
        quiet = store.connection.quiet
        found = [one for batch in facts(store, items, reader, Report()) for one in batch]
    assert 90 < (found[0].ttl_s or 0) <= 100
    assert found[1].ttl_s is None
    assert all(isinstance(one.idle_s, float) for one in found)
    if quiet:
        assert all((one.idle_s or 0) >= 1 for one in found)


def test_what_is_wrong_or_has_no_payload_is_told_too(full: Server, tmp_path: Path) -> None:
    full.load({
        fx_key(1): b"not JSON", fx_key(2): b'{"data": "QUJD", "time_taken_ms": 2500}',
        "pt2:what": b"x", f"pt2:{HASH}::{HASH}:c1": b'{"XBLOCK": 64, "num_warps": 4}',
        f"pt2:bundled-autotune-v1::{HASH}:c1": b'{"x.best_config": {"XBLOCK": 64}}',
        f"triton:{KERNEL}:add.json": b'{"name": "add", "triton_version": "3.7.1", '
        b'"target": {"backend": "cuda", "arch": 90, "warp_size": 32}}',
        f"triton:{KERNEL}:__grp__add.json": b'{"child_paths": ["add.json", "add.cubin"]}',
    })  # fmt: skip
    full("RPUSH", fx_key(3), "a")
    found = looked(full)
    problems = {path: one.entry.problem for path, one in found.items() if one.entry.problem}
    assert problems == {
        fx_key(1): "value-not-json", fx_key(2): "payload-unreadable", fx_key(3): "value-wrong-type",
        f"triton:{KERNEL}": "triton-incomplete",
    }  # fmt: skip
    assert found[fx_key(2)].entry.compile_s == 2.5
    assert found["pt2:what"].entry.name == "pt2:what"
    assert found[f"pt2:{HASH}::{HASH}:c1"].entry.name == "XBLOCK=64 num_warps=4"
    kernel = found[f"triton:{KERNEL}"].entry
    assert (kernel.name, kernel.device, kernel.files) == ("add", "cuda:90", 2)
    with serving(tmp_path, "--maxmemory-policy", "allkeys-lfu") as one:
        one.load({fx_key(1): b"x"})
        assert looked(one)[fx_key(1)].idle_s is None


def test_entries_that_vanish_are_left_out(full: Server) -> None:
    with Redis(full.unix, Report()) as store, Reader() as reader:
        items = store.items(Report())
        full("DEL", items[0].path, items[-1].path)
        found = [one for batch in facts(store, items, reader, Report()) for one in batch]
    assert [one.item.path for one in found] == [item.path for item in items[1:-1]]
    assert not [one.entry.problem for one in found if one.entry.problem]


@pytest.mark.parametrize("select", [{}, {"items": [["pgo", "pt2:dynamo-pgo::train:None::c1"]]}])
def test_an_engine_serves_the_page_and_sets_times(full: Server, select: dict[str, object]) -> None:
    with Engine() as engine:
        page = engine.call("server", {"place": full.unix})
        assert (page["keys"], page["place"]) == (12, full.unix)
        done = engine.call("ttl", {"place": full.unix, "select": select, "ttl_s": 100})
        assert done == {"entries": 1 if select else 12, "failed": 0}
        done = engine.call("ttl", {"place": full.unix, "select": select, "ttl_s": None})
        assert done["entries"] == (1 if select else 12)
