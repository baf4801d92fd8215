"""Items of a Redis in a tenth of the memory: a purge of a server may be of a million."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from torchkeeper.stores.items import File, Item
from torchkeeper.stores.redis.database import RedisItem

#: Items that are packed together.
_AT_ONCE = 500


class Packed:
    """Items that can be gone through again and again, in the order in which they were added."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._waiting: list[Item] = []
        self._count = 0
        #: Redis keys and bytes of all of them.
        self.keys = self.size = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item]:
        for part in self._parts:
            yield from map(_made, json.loads(part))
        yield from self._waiting

    def add(self, items: Iterable[Item]) -> None:
        for item in items:
            self._count += 1
            self.keys += len(item.files) if item.kind == "triton" else 1
            self.size += item.size
            self._waiting.append(item)
            if len(self._waiting) >= _AT_ONCE:
                self._parts.append(json.dumps([_told(one) for one in self._waiting]).encode())
                self._waiting = []


def _told(item: Item) -> tuple[Any, ...]:
    if isinstance(item, RedisItem):
        return item.kind, item.path, item.length
    return item.kind, item.path, item.key, [tuple(file) for file in item.files]


def _made(told: list[Any]) -> Item:
    if len(told) == 3:
        return RedisItem(*told)
    kind, path, key, files = told
    return Item(kind, key, path, [File(*file) for file in files])
