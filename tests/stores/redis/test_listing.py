"""A Redis as a store: what torch 2.9.1 left in one, Triton's keys, others' keys, and bad values."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.redis_server import Server, dump, serving
from torchkeeper.artifacts import remote
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.describe import describe
from torchkeeper.stores.items import Item
from torchkeeper.stores.reader import Reader
from torchkeeper.stores.redis.database import PIECE
from torchkeeper.stores.redis.payloads import SPOOL, Streamed, portable
from torchkeeper.stores.redis.store import Redis

KERNEL = "A" * 52
HASH = "0123456789abcdef" * 4


class Watched(Report):
    """Keeps what it is told, and asks for an early end after so many checks."""

    def __init__(self, checks: int | None = None) -> None:
        self.told: list[tuple[int, int | None, str]] = []
        self.checks = checks

    def progress(self, done: int, total: int | None, unit: str) -> None:
        self.told.append((done, total, unit))

    def check(self) -> None:
        if self.checks is not None:
            self.checks -= 1
            if self.checks < 0:
                raise Cancelled


def fx_key(number: int) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz234567"
    digits = ""
    for _ in range(51):
        number, digit = divmod(number, 32)
        digits = letters[digit] + digits
    return f"pt2:fx-graph-v1::f{digits}:c1"


def none_left(item: Item, problem: Problem) -> None:
    pytest.fail(f"{item.path}: {problem}")


def listed(server: Server) -> tuple[list[Item], Redis]:
    with Redis(server.unix, Report()) as store:
        return store.items(Report()), store


def test_what_torch_291_left_lists_with_no_unknown(full: Server) -> None:
    items, store = listed(full)
    counts: dict[str, int] = {}
    for item in items:
        counts[item.kind] = counts.get(item.kind, 0) + 1
    assert counts == {"fxgraph": 7, "aotautograd": 4, "pgo": 1}
    assert store.total == 12
    assert store.others == 0
    assert {item.path: item.size for item in items} == {
        key: len(value) for key, value in dump().items()
    }
    assert [item.key for item in items if item.kind == "pgo"] == ["train:None:"]
    assert [file.path for item in items for file in item.files] == [item.path for item in items]


def test_payloads_are_those_of_the_folder(full: Server, kept_291: Path) -> None:
    """Byte for byte, and at the very path where PyTorch has them."""
    seen = {}
    with Redis(full.url, Report()) as store:
        for one in portable(store, store.items(Report()), Report(), none_left):
            [file] = one.item.files
            with one.open(file) as stream:
                data = stream.read()
            assert file.sha256 == hashlib.sha256(data).hexdigest()
            assert one.item.path == file.path
            assert (one.compile_s or 0) > 0 or one.item.kind == "pgo"
            with store.open(one.origin.files[0]) as stream:
                assert stream.read() == data
            seen[file.path] = data
    assert len(seen) == 12
    in_folder = [path for path in seen if (kept_291 / path).is_file()]
    assert len([path for path in in_folder if path.startswith(("fxgraph", "aot"))]) == 11
    for path in in_folder:
        if not path.startswith("dynamo"):
            assert (kept_291 / path).read_bytes() == seen[path]


def test_others_keys_are_counted_and_strange_ones_shown(full: Server) -> None:
    full.load({
        "celery": b"1", "pt2": b"1", "triton:short:x.json": b"1",
        "pt2:new-id::key:c1": b"1", f"pt2:fx-graph-v1::{'f' * 51}:c1": b"1", "pt2:\udcff": b"1",
        f"pt2:{HASH}::{HASH}:c1": b"{}", f"pt2:bundled-autotune-v1::{HASH}:c1": b"{}",
    })  # fmt: skip
    full("SET", b"\xff\xfe", "1")
    full("SET", b"pt2:\n\xff", "1")
    items, store = listed(full)
    assert store.others == 4
    kinds = [item.kind for item in items]
    assert kinds.count("unknown") == 4
    assert kinds.count("autotune") == 2
    assert "pt2:\n\udcff" in {item.path for item in items}
    assert store.total == len(items) == 18


def test_a_kernel_is_one_item_of_its_files(server: Server, monkeypatch: Any) -> None:
    files = {"k.json": b"{}", "k.cubin": b"xx", "__grp__k.json": b'{"child_paths": ["k.json"]}'}
    server.load({f"triton:{KERNEL}:{name}": data for name, data in files.items()})
    items, _ = listed(server)
    assert [(i.kind, i.key, len(i.files), i.size) for i in items] == [("triton", KERNEL, 3, 31)]
    with Redis(server.unix, Report()) as store:
        [one] = portable(store, items, Report(), none_left)
    assert one.item.path == f"triton/0/{KERNEL}"
    assert [file.name for file in one.item.files] == ["__grp__k.json", "k.cubin", "k.json"]
    with one.open(one.item.files[0]) as stream:
        # As a folder has it: a name and a path for each.
        assert stream.read() == b'{"child_paths": {"k.json": "k.json"}}'
    monkeypatch.setenv("TRITON_REDIS_KEY_FORMAT", "team:{filename}/{key}")
    items, store = listed(server)
    assert (items, store.others, store.kernels_maybe) == ([], 3, 3)
    server.load({f"team:{name}/{KERNEL}": data for name, data in files.items()})
    items, store = listed(server)
    assert [(i.key, len(i.files)) for i in items] == [(KERNEL, 3)]


BAD = {
    "not JSON": (b"\xff\x00", "value-not-json"),
    "empty": (b"", "value-not-json"),
    "cut": (b'{"data": "QUJD', "value-not-json"),
    "nested": (b"[" * 100_000, "value-not-json"),
    "a list": (b"[1]", "value-without-data"),
    "no data": (b'{"time_taken_ms": 1}', "value-without-data"),
    "data is a number": (b'{"data": 5}', "value-without-data"),
    "bad base64": (b'{"data": "QUJ*", "time_taken_ms": 1}', "value-not-base64"),
    "padding": (b'{"data": "QUJ"}', "value-not-base64"),
    "not ASCII": ('{"data": "QÜJD"}'.encode(), "value-not-base64"),
}


def test_values_that_are_not_what_their_key_promises(full: Server) -> None:
    expected = {}
    for number, (value, code) in enumerate(BAD.values()):
        full.load({fx_key(number): value})
        expected[fx_key(number)] = code
    full("RPUSH", fx_key(100), "a", "b")
    full("HSET", fx_key(101), "a", "b")
    expected |= {fx_key(100): "value-wrong-type", fx_key(101): "value-wrong-type"}
    gone = fx_key(102)
    full.load({gone: b"x"})
    said: dict[str, str] = {}
    with Redis(full.unix, Report()) as store:
        items = store.items(Report())
        full("DEL", gone)
        good = list(portable(store, items, Report(), lambda i, p: said.update({i.path: p.code})))
    assert len(good) == 12, "the rest goes on"
    assert said == expected | {gone: "entry-gone"}


def test_odd_json_is_read_as_pytorch_reads_it(server: Server) -> None:
    for number, text in enumerate((
        b'{"time_taken_ms": 1500, "data": "QUJD"}', b' {"data":"QUJD","time_taken_ms":1500.0}\n',
        b'{"data": "QUJD", "time_taken_ms": 1500, "more": NaN}',
    )):  # fmt: skip
        server.load({fx_key(number): text})
    server.load({fx_key(10): b'{"data": "QUJD", "time_taken_ms": -Infinity}'})
    with Redis(server.unix, Report()) as store:
        found = list(portable(store, store.items(Report()), Report(), none_left))
        assert [one.open(one.item.files[0]).read() for one in found] == [b"ABC"] * 4
        assert [one.compile_s for one in found] == [1.5] * 3 + [None]


@pytest.mark.slow
def test_a_large_value_goes_through_a_file(server: Server) -> None:
    payload = bytes(range(256)) * ((SPOOL >> 8) + 7)
    encoded = base64.b64encode(payload)
    server.load({
        fx_key(1): b'{"data": "' + encoded + b'", "time_taken_ms": 2500}',
        fx_key(2): b'{"data": "' + encoded + b'*", "time_taken_ms": 2500}',
        fx_key(3): b'{"data": "' + encoded + b'", "time_taken_ms": 25',
        fx_key(4): b"\x00" * (SPOOL + 1),
    })  # fmt: skip
    said = {}
    with Redis(server.unix, Report()) as store:
        items = store.items(Report())
        found = portable(store, items, Report(), lambda i, p: said.update({i.path: p.code}))
        one = next(found)
        with one.open(one.item.files[0]) as stream:
            assert stream.read() == payload
        with one.open(one.item.files[0]) as stream:
            assert stream.read(3) == payload[:3], "it can be opened twice"
        assert (one.compile_s, one.item.size) == (2.5, len(payload))
        assert list(found) == []
    assert said == {
        fx_key(2): "value-not-base64",
        fx_key(3): "value-not-json",
        fx_key(4): "value-not-json",
    }


def test_scanning_says_how_far_it_is_and_can_be_stopped(server: Server) -> None:
    server.load({fx_key(number): b"x" for number in range(20_000)})
    report = Watched()
    with Redis(server.unix, Report()) as store:
        stream = store.stream(report)
        first = next(stream)
        assert (store.total, first.size) == (None, 1), "rows come while it scans"
        assert len({item.path for item in stream}) == 19_999
        assert [store.total] == [20_000]
        told = {(total, unit) for _, total, unit in report.told}
        assert told == {(20_000, "keys")}
        assert report.told == sorted(report.told)
        with pytest.raises(Cancelled):
            store.items(Watched(checks=5))
        # The connection for values has nothing to do with that.
        assert store.value(first.path, 1) == b"x"


def test_values_can_be_read_while_it_scans(full: Server) -> None:
    full.load({fx_key(number): b'{"data": "QUJD"}' for number in range(3000)})
    with Redis(full.unix, Report()) as store:
        for count, item in enumerate(store.stream(Report())):
            if count % 500 == 0:
                assert store.open(item.files[0]).read()


def test_a_server_that_dies_in_mid_scan(tmp_path: Path) -> None:
    with serving(tmp_path) as mortal:
        mortal.load({fx_key(number): b"x" for number in range(20_000)})
        with Redis(mortal.url, Report()) as store:
            stream = store.stream(Report())
            for _ in range(1500):
                next(stream)
            mortal.kill()
            with pytest.raises(Problem, match="server-lost"):
                list(stream)
            with pytest.raises(Problem, match="server-lost"):
                store.value(fx_key(1), 1)
        with pytest.raises(Problem, match="server-refused"):
            Redis(mortal.url, Report())


def test_reading_leaves_every_key_and_its_expiry(full: Server) -> None:
    keys = sorted(dump())
    full("PEXPIRE", keys[0], 10_000_000)
    full("CONFIG", "RESETSTAT")
    with Redis(full.unix, Report()) as store:
        list(portable(store, store.items(Report()), Report(), none_left))
    stats = full("INFO", "commandstats")
    assert isinstance(stats, bytes)
    used = {line.split(b":")[0][8:].decode() for line in stats.splitlines() if b":" in line}
    assert used <= {
        "scan", "strlen", "getrange", "dbsize", "info", "ping", "client|no-touch", "client",
        "config|resetstat", "select",
    }  # fmt: skip
    assert full("PTTL", keys[0]) != -1


def test_a_large_payload_is_read_in_pieces(server: Server) -> None:
    payload = bytes(range(255)) * (PIECE // 200)
    value = remote.encode("fxgraph", payload, 1.0)
    server.load({
        fx_key(1): value, fx_key(2): value[:-1], fx_key(3): value, fx_key(4): value,
        fx_key(5): b"x" * (PIECE + 1), f"triton:{KERNEL}:k.cubin": payload * 2,
    })  # fmt: skip
    server("APPEND", fx_key(2), "?")
    with Redis(server.unix, Report()) as store:
        files = {file.path: file for item in store.items(Report()) for file in item.files}
        with store.open(files[fx_key(1)]) as stream:
            assert stream.read(7) == payload[:7]
            assert stream.read() == payload[7:]
        with store.open(files[f"triton:{KERNEL}:k.cubin"]) as stream:
            assert stream.read() == payload * 2
        with pytest.raises(OSError, match="not-json"), store.open(files[fx_key(2)]) as stream:
            stream.read()
        with pytest.raises(OSError, match="not-json"), store.open(files[fx_key(5)]) as stream:
            stream.read()
        with pytest.raises(OSError, match="changed"), store.open(files[fx_key(3)]) as stream:
            server("SET", fx_key(3), value[:-5])
            stream.read()
        server("DEL", fx_key(4))
        with pytest.raises(FileNotFoundError):
            store.open(files[fx_key(4)])


def test_what_is_wrong_or_has_no_payload_is_described_too(full: Server) -> None:
    one, bundle = f"pt2:{HASH}::{HASH}:c1", f"pt2:bundled-autotune-v1::{HASH}:c1"
    full.load({
        fx_key(2): b'{"data": "QUJD", "time_taken_ms": 2500}', "pt2:what": b"x",
        one: b'{"XBLOCK": 64, "num_warps": 4}', bundle: b'{"x.best_config": {"XBLOCK": 64}}',
        f"triton:{KERNEL}:add.json": b'{"name": "add", "triton_version": "3.7.1", '
        b'"target": {"backend": "cuda", "arch": 90, "warp_size": 32}}',
        f"triton:{KERNEL}:__grp__add.json": b'{"child_paths": ["add.json", "add.cubin"]}',
    })  # fmt: skip
    said = {}
    with Redis(full.unix, Report()) as store, Reader() as reader:
        left = portable(
            store,
            store.items(Report()),
            Report(),
            lambda i, p: said.update({i.path: p.code}),
            describing=True,
        )
        source = Streamed(left)
        batches = list(describe(source.items(), source, reader, Report()))
    entries = {(e.kind, e.key): e for batch in batches for e in [d.entry for d in batch]}
    assert len(entries) == 16
    assert said == {"pt2:what": "redis-only"}
    kernel = entries["triton", KERNEL]
    assert (kernel.name, kernel.device, kernel.problem) == ("add", "cuda:90", "triton-incomplete")
    assert entries["autotune", f"{HASH}::{HASH}"].name == "XBLOCK=64 num_warps=4"
    problems = [e.problem for e in entries.values() if e.kind == "fxgraph" and e.problem]
    assert problems == ["payload-unreadable"]
