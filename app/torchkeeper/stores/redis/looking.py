"""What is to be known of chosen entries of a Redis beyond kind, key and size."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from torchkeeper.artifacts.entry import Entry, Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.describe import describe
from torchkeeper.stores.items import Item
from torchkeeper.stores.reader import Reader
from torchkeeper.stores.redis.connecting import encoded, pack
from torchkeeper.stores.redis.payloads import Fetched, Streamed, portable
from torchkeeper.stores.redis.store import Redis

#: Entries whose times are asked for at once.
_BATCH = 256


@dataclass
class Looked:
    """An entry of a Redis and what was found out about it.

    entry: its path is the redis key, its size the value's. ttl_s: seconds until it expires, or
    None where it never does. idle_s: seconds since it was last used, or None where the server does
    not say (under an LFU policy, or by its permissions). Servers before 7.2 take our own looking
    for use (Connection.quiet).
    """

    entry: Entry
    item: Item
    ttl_s: float | None = None
    idle_s: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def plain_entry(item: Item, problem: str | None = None) -> Entry:
    """What the listing alone tells of an item."""
    return Entry(
        kind=item.kind,
        key=item.key,
        name=item.path if item.kind == "unknown" else None,
        size=item.size,
        files=len(item.files),
        mtime=None,
        torch=None,
        device=None,
        compile_s=None,
        path=item.path,
        sha256=None,
        problem=problem,
    )


def facts(
    store: Redis, items: Iterable[Item], reader: Reader, report: Report, full: bool = False
) -> Iterator[list[Looked]]:
    """The items with their times, their payloads fetched and read, in batches.

    Graphs must come before what names them (items.in_order). Items that are gone are left out;
    what else is wrong with one is its entry's ``problem``.
    """
    times: dict[str, tuple[float | None, float | None]] = {}
    origins: dict[str, Fetched] = {}
    missed: list[Looked] = []

    def left(item: Item, problem: Problem) -> None:
        if problem.code != "entry-gone":
            code = None if problem.code == "redis-only" else problem.code
            missed.append(Looked(plain_entry(item, code), item, *times.pop(item.path)))

    def coming() -> Iterator[Fetched]:
        waiting = iter(items)
        while some := list(itertools.islice(waiting, _BATCH)):
            # First the times: to fetch a value is to use it.
            times.update(zip([item.path for item in some], _times(store, some), strict=True))
            for one in portable(store, some, report, left, describing=True):
                origins[one.item.path] = replace(one, contents={}, spooled=None)
                yield one

    source = Streamed(coming())
    for batch in describe(source.items(), source, reader, report, full=full):
        found, missed = missed, []
        for one in batch:
            fetched = origins.pop(one.item.path)
            origin = fetched.origin
            entry = replace(
                one.entry,
                path=origin.path,
                size=origin.size,
                compile_s=one.entry.compile_s or fetched.compile_s,
            )
            found.append(Looked(entry, origin, *times.pop(origin.path), one.facts))
        yield found
    if missed:
        yield missed


def _times(store: Redis, items: list[Item]) -> list[tuple[float | None, float | None]]:
    """Seconds to live and seconds idle of each; of several files those of the first."""
    commands = []
    for item in items:
        key = encoded(item.files[0].path)
        commands += [pack("PTTL", key), pack("OBJECT", "IDLETIME", key)]
    replies = iter(store.connection.many(commands))
    found: list[tuple[float | None, float | None]] = []
    for ttl, idle in zip(replies, replies, strict=True):
        found.append((
            ttl / 1000 if isinstance(ttl, int) and ttl >= 0 else None,
            float(idle) if isinstance(idle, int) else None,
        ))  # fmt: skip
    return found
