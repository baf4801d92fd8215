"""When a server drops what it holds, and when that was last used."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from torchkeeper.stores.describe import Described
from torchkeeper.stores.items import Item
from torchkeeper.stores.redis.connecting import encoded, pack
from torchkeeper.stores.redis.database import Database, info

#: When an item expires and was last used, as Entry has it.
Times = tuple[float | None, float | None]


def times(store: Database, items: Sequence[Item]) -> list[Times]:
    """When each item expires, 0 for never, and was last used: seconds since the epoch.

    None for what the server does not say. Of several keys the first that goes counts, and the
    last that was used. Raises Problem as Connection does.
    """
    keys = [encoded(file.path) for item in items for file in item.files]
    commands = [pack(*c) for key in keys for c in (("PTTL", key), ("OBJECT", "IDLETIME", key))]
    replies = iter(store.again(lambda: store.connection.many(commands)))
    # Where looking counts as use, the last who used it was our own listing.
    quiet = store.connection.quiet
    now = time.time()
    return [_of_item(replies, len(item.files), now, quiet) for item in items]


def _of_item(replies: Iterator[object], count: int, now: float, quiet: bool) -> Times:
    left: list[int] = []
    idle: list[int] = []
    for _ in range(count):
        ttl, since = next(replies), next(replies)
        if isinstance(ttl, int) and ttl >= -1:
            left.append(ttl)
        if isinstance(since, int) and quiet:
            idle.append(since)
    ending = [ttl for ttl in left if ttl >= 0]
    expires = now + min(ending) / 1000 if ending else 0.0 if left else None
    return expires, now - min(idle) if idle else None


def knows_use(store: Database) -> bool:
    """Whether the server can say when anything was last used.

    Before 7.2 it takes a look for a use, and where it throws out what is used least often, it
    counts uses instead. Raises Problem as Connection does.
    """
    policy = info(store.connection, "memory").get("maxmemory_policy", "")
    return store.connection.quiet and not policy.endswith("-lfu")


def timed(store: Database, batch: Sequence[Described]) -> list[Described]:
    """A batch whose entries have their times."""
    found = times(store, [one.origin or one.item for one in batch])
    return [
        replace(one, entry=one.entry._replace(expires=expires, used=used))
        for one, (expires, used) in zip(batch, found, strict=True)
    ]
