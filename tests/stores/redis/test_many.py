"""What must not grow with a server, and what may only by some bytes a key."""

from __future__ import annotations

import random

from tests.redis_server import Server
from tests.stores.redis.test_listing import KERNEL, fx_key
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.items import in_order
from torchkeeper.stores.redis.packed import Packed
from torchkeeper.stores.redis.seen import Seen
from torchkeeper.stores.redis.store import Redis


def test_each_key_is_new_once_however_many_come() -> None:
    chance = random.Random(5)
    keys = [chance.randbytes(chance.randint(0, 40)) for _ in range(20_000)]
    for expected in (0, 5, 100_000):
        seen, found = Seen(expected), list[bytes]()
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
    packed = Packed(items[:700])
    packed.add(items[700:])
    assert (len(packed), packed.keys) == (len(items), len(items) + 1)
    assert packed.size == sum(item.size for item in items)
    for _ in range(2):
        found = [(i.kind, i.key, i.path, i.size, i.files) for i in in_order(packed)]
        assert found == [(i.kind, i.key, i.path, i.size, i.files) for i in items]
