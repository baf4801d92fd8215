"""What must not grow with a server, and what may only by some bytes a key."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.redis_server import Server, serving
from tests.stores.redis.test_listing import KERNEL, fx_key
from torchkeeper.artifacts.entry import Problem, tallied
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.client.words.problems import removed_by_then
from torchkeeper.stores.items import in_order
from torchkeeper.stores.redis import connecting
from torchkeeper.stores.redis.database import Seen
from torchkeeper.stores.redis.removing import Packed, remove
from torchkeeper.stores.redis.store import Redis


def test_each_key_is_new_once_however_many_come() -> None:
    chance = random.Random(5)
    keys = [chance.randbytes(chance.randint(0, 40)) for _ in range(20_000)]
    for expected in (0, 5, 100_000):
        seen, found = Seen(), list[bytes]()
        seen.expect(expected)
        for first in range(0, len(keys), 700):
            some = keys[first : first + 700]
            found += seen.new(some + some[:50])
            assert seen.new(some) == []
        assert found == list(dict.fromkeys(keys))


def test_packed_items_are_what_they_were(server: Server) -> None:
    server.load({fx_key(n): b"x" * n for n in range(1, 1200)})
    server.load({f"triton:{KERNEL}:{name}": b"{}" for name in ("k.json", "__grp__k.json")})
    server("SET", b"pt2:\xff\n", "1")
    server("RPUSH", "pt2:list", "1")
    with Redis(server.url, Report()) as store:
        items = store.items(Report())
    packed = Packed()
    packed.add(items[:700])
    packed.add(items[700:])
    assert (len(packed), packed.keys) == (len(items), len(items) + 1)
    assert packed.size == sum(item.size for item in items)
    for _ in range(2):
        found = [(i.kind, i.key, i.path, i.size, i.files) for i in in_order(packed)]
        assert found == [(i.kind, i.key, i.path, i.size, i.files) for i in items]


class Stopping(Report):
    """Wants an early end after some progress, and keeps what it is told."""

    def __init__(self, after: int) -> None:
        self._after = after
        self.found: list[dict[str, Any]] = []

    def progress(self, done: int, total: int | None, unit: str) -> None:
        self._after -= 1

    def check(self) -> None:
        if self._after <= 0:
            raise Cancelled

    def finding(self, **what: Any) -> None:
        self.found.append(what)


def test_a_purge_that_ends_early_says_what_is_gone(server: Server) -> None:
    server.load({fx_key(n): b"xx" for n in range(3000)})
    stopping = Stopping(3)
    with Redis(server.url, Report()) as store:
        items = Packed()
        items.add(store.stream(Report()))
        with pytest.raises(Cancelled):
            remove(store, items, stopping, lambda *_: None)
    gone = {**tallied(1500), "bytes": 3000, "of": tallied(3000), "sure": True}
    assert stopping.found == [{"removed": gone}]
    assert server("DBSIZE") == 1500
    assert removed_by_then(gone) == "Removed by then: 1,500 of 3,000 entries, 3.0 kB."


def test_a_purge_whose_server_ends_says_what_is_surely_gone(tmp_path: Path) -> None:
    with serving(tmp_path / "r") as server:

        class Killing(Stopping):
            def progress(self, done: int, total: int | None, unit: str) -> None:
                if done == 1000:
                    server.kill()

        server.load({fx_key(n): b"xx" for n in range(2000)})
        killing = Killing(100)
        with Redis(server.url, Report()) as store:
            items = Packed()
            items.add(store.stream(Report()))
            with pytest.raises(Problem):
                remove(store, items, killing, lambda *_: None)
    [found] = killing.found
    gone = {**tallied(1000), "bytes": 2000, "of": tallied(2000), "sure": False}
    assert found["removed"] == gone
    assert "at least 1,000" in removed_by_then(found["removed"])


@pytest.mark.parametrize("expected", [0, 10**11])
def test_a_server_that_gives_a_few_keys_a_second_is_given_up(expected: int) -> None:
    """Whatever number of keys it says it has."""
    scan = connecting.Endless("s", expected)
    with pytest.raises(Problem, match="server-endless"):
        for second in range(1, 200):
            scan.page(b"7", 30, 30 * second, 10**11, float(second))


def test_what_a_server_says_it_has_takes_little_memory() -> None:
    seen = Seen()
    seen.expect(10**11)
    assert seen._table.itemsize * len(seen._table) <= 16 << 20
    keys = [b"%d" % n for n in range(3_000)]
    assert seen.new(keys) == keys
