"""Triton's kernels in a Redis, and values too large to be fetched for a list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.redis_server import Server, dump
from tests.stores.redis.test_listing import KERNEL, fx_key
from tests.stores.test_copying import carry
from torchkeeper.artifacts import remote
from torchkeeper.artifacts.report import Report
from torchkeeper.client.engines.process import Engine
from torchkeeper.engine.protocol import Message
from torchkeeper.engine.servers import MAX_BYTES
from torchkeeper.stores.redis import kernels
from torchkeeper.stores.redis.database import PIECE, RedisItem
from torchkeeper.stores.redis.payloads import MAX_READ, too_large
from torchkeeper.stores.redis.store import Redis

Ask = Callable[..., tuple[dict[str, Any], list[dict[str, Any]]]]

META = (
    b'{"name": "add_kernel", "triton_version": "3.7.1", '
    b'"target": {"backend": "cuda", "arch": 90, "warp_size": 32}}'
)
GROUP = b'{"child_paths": ["add.cubin", "add.json"]}'


@pytest.fixture
def ask() -> Iterator[Ask]:
    with Engine() as engine:

        def run(op: str, **params: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
            messages: list[Message] = []
            result = engine.call(op, params, messages.append)
            return result, [row for message in messages for row in message.rows]

        yield run


def other(letter: str) -> str:
    return letter + KERNEL[1:]


def load(server: Server) -> None:
    """One kernel that is whole, one without its group, one with a child that is gone, a
    launcher.
    """
    server.load({
        f"triton:{KERNEL}:__grp__add.json": GROUP, f"triton:{KERNEL}:add.json": META,
        f"triton:{KERNEL}:add.cubin": b"\x7fELF" * 500_000,
        f"triton:{other('B')}:add.json": META, f"triton:{other('B')}:add.cubin": b"xx",
        f"triton:{other('C')}:__grp__add.json": GROUP, f"triton:{other('C')}:add.json": META,
        f"triton:{other('D')}:launch.so": b"\x7fELF", "someone": b"else's",
    })  # fmt: skip


def test_the_names_of_its_files_tell_what_a_kernel_is(server: Server, ask: Ask) -> None:
    load(server)
    _, rows = ask("list", place=server.url)
    said = {row["key"]: (row["name"], row["files"], row["problem"], row["path"]) for row in rows}
    assert said == {
        KERNEL: ("add", 3, None, f"triton:{KERNEL}:__grp__add.json"),
        other("B"): ("add", 2, "triton-incomplete", f"triton:{other('B')}:add.json"),
        other("C"): ("add", 2, None, f"triton:{other('C')}:__grp__add.json"),
        other("D"): ("launch (launcher)", 1, None, f"triton:{other('D')}:launch.so"),
    }
    _, found = ask("list", place=server.url, filter="add files>2")
    assert [row["key"] for row in found] == [KERNEL]


def test_facts_of_kernels_are_read_without_a_scan(server: Server, ask: Ask) -> None:
    load(server)
    _, listed = ask("list", place=server.url)
    server("PEXPIRE", f"triton:{KERNEL}:__grp__add.json", 100_000_000)
    server("CONFIG", "RESETSTAT")
    items = [[row["kind"], row["path"]] for row in listed]
    _, rows = ask("facts", place=server.url, items=items)
    before = {row["key"]: row for row in listed}
    known = {row["key"]: row for row in rows}
    # Of the others, nothing but a scan would tell all files.
    assert set(known) == {KERNEL, other("C")}
    for key, row in known.items():
        for name in ("path", "size", "files", "key"):
            assert row[name] == before[key][name]
        assert (row["name"], row["device"]) == ("add_kernel", "cuda:90")
    assert known[KERNEL]["problem"] is None
    assert known[KERNEL]["expires"] is not None
    assert known[other("C")]["problem"] == "triton-incomplete"
    stats = server("INFO", "commandstats")
    assert isinstance(stats, bytes)
    assert b"cmdstat_scan" not in stats
    # Machine code stays where it is.
    sent = server("INFO", "stats")
    assert isinstance(sent, bytes)
    [line] = [x for x in sent.splitlines() if x.startswith(b"total_net_output_bytes:")]
    assert int(line.partition(b":")[2]) < 100_000


def test_an_entry_alone_is_found_whatever_it_is(server: Server) -> None:
    load(server)
    with Redis(server.url, Report()) as store:
        listed = {item.path: item for item in store.items(Report())}
        for path, item in listed.items():
            [found] = store.items_beside(path, Report())
            assert (found.key, found.size, found.files) == (item.key, item.size, item.files)
        assert store.items_beside(f"triton:{other('X')}:k.so", Report()) == []
        assert not kernels.is_known(store, f"triton:{other('D')}:launch.so")


def test_triton_keys_in_another_format(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    form = "[a*]/{filename}?{key}"
    monkeypatch.setenv("TRITON_REDIS_KEY_FORMAT", form)
    names = {"__grp__add.json": GROUP, "add.json": META, "add.cubin": b"x", "launch.so": b"x"}
    for name, data in names.items():
        key = other("D") if name == "launch.so" else KERNEL
        server.load({form.replace("{key}", key).replace("{filename}", name): data})
    with Redis(server.url, Report()) as store:
        items = store.items(Report())
        assert [(item.key, len(item.files)) for item in items] == [(KERNEL, 3), (other("D"), 1)]
        for item in items:
            assert store.items_beside(item.path, Report())[0].files == item.files
        assert kernels.named(store.triton, items[1]).entry.name == "launch (launcher)"


def test_what_a_hostile_group_names_is_bounded(server: Server) -> None:
    names = ",".join(f'"f{number}.json"' for number in range(5000))
    path = f"triton:{KERNEL}:__grp__add.json"
    for group in (b'{"child_paths": [%b]}' % names.encode(), b"[" * 20_000, b"{}", b"\xff"):
        server.load({path: group, f"triton:{KERNEL}:f1.json": META})
        with Redis(server.url, Report()) as store:
            [item] = store.items_beside(path, Report())
            assert [file.path for file in item.files] == [path, f"triton:{KERNEL}:f1.json"]
    server.load({path: b'{"child_paths": ["../x", "a:b", ""]}'})
    with Redis(server.url, Report()) as store:
        [item] = store.items_beside(path, Report())
        assert [file.path for file in item.files] == [path]


def test_a_value_too_large_for_the_list_says_so(server: Server, ask: Ask) -> None:
    value = remote.encode("fxgraph", b"x" * MAX_BYTES, 1.5)
    server.load({fx_key(1): value, fx_key(2): b'{"data": "QUJD"}'})
    _, rows = ask("facts", place=server.url, items=[["fxgraph", fx_key(n)] for n in (1, 2)])
    said = {row["path"]: row["problem"] for row in rows}
    assert said == {fx_key(1): "value-large", fx_key(2): "payload-unreadable"}
    _, found = ask("list", place=server.url, filter="size>32M")
    assert [row["path"] for row in found] == [fx_key(1)]
    one = too_large(RedisItem("fxgraph", fx_key(1), MAX_READ + 1)).entry
    assert one.problem == "payload-too-large" and not one.broken


def test_a_large_value_is_read_when_it_is_looked_at(server: Server) -> None:
    server.load({fx_key(1): remote.encode("fxgraph", b"x" * MAX_BYTES, 1.5)})
    messages: list[Message] = []
    with Engine() as engine:
        where = {"place": server.url, "kind": "fxgraph", "path": fx_key(1)}
        engine.call("detail", where, messages.append)
    entry = messages[-1].body["detail"]["entry"]
    assert (entry["problem"], entry["compile_s"]) == ("payload-unreadable", 1.5)
    assert len(entry["sha256"]) == 64


@pytest.mark.slow
def test_a_large_value_arrives_whole_in_every_place(server: Server, tmp_path: Path) -> None:
    """One that is fetched in pieces; it goes on for long after the end of the pickle."""
    key = next(key for key in dump() if "fx-graph" in key)
    payload = (remote.decode("fxgraph", dump()[key]).payload or b"") + b"x" * (PIECE + 5)
    server.load({key: remote.encode("fxgraph", payload, 1.0)})
    into = f"{server.url[:-1]}1"
    for source, target in (
        (server.url, str(tmp_path / "folder")),
        (server.url, str(tmp_path / "bundle.torchcache")),
        (server.url, into),
        (str(tmp_path / "bundle.torchcache"), str(tmp_path / "other")),
    ):
        done, left = carry(source, target)
        assert (done.entries, left.codes) == (1, [])
    for folder in ("folder", "other"):
        [file] = [path for path in (tmp_path / folder / "fxgraph").rglob("*") if path.is_file()]
        assert file.read_bytes() == payload
    value = server.commands(("SELECT", 1), ("GET", key))[1]
    assert isinstance(value, bytes)
    assert remote.decode("fxgraph", value).payload == payload
