"""A Redis server as a store: what there is besides what its keys tell (redis.database).

What reads values, changes keys or looks for relatives is loaded where it is asked for.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.remote import redis_key
from torchkeeper.artifacts.report import Report
from torchkeeper.stores import query
from torchkeeper.stores.describe import Carried, Described, Search, unread
from torchkeeper.stores.items import Item, Left, Offered
from torchkeeper.stores.needs import Living, Relatives, needed
from torchkeeper.stores.reader import Budget, Reader
from torchkeeper.stores.redis.database import Database, info, knows_use, timed
from torchkeeper.stores.redis.kernels import named
from torchkeeper.stores.store import Batches, Going, InFull, Memory, Removal, Store, Uses

if TYPE_CHECKING:
    from torchkeeper.artifacts.builds import MadeIn
    from torchkeeper.stores.shapes import Beside, Owned, Room, Strays

#: What its listing knows of each entry.
_OF_KEYS = frozenset({"", "kind", "size", "files", *query.TIMES})


class Redis(Database, Store):
    """A place on a Redis server. Made, and raises, as Database."""

    tells = query.TIMES
    purgeable = fetches_named = True
    complete = False  # a scan may miss what is written meanwhile

    @property
    def identity(self) -> object:
        return (self.run, self.address.db) if self.run else None

    @property
    def remote_cache(self) -> str | None:
        return None if self.address.way else self.place  # programs find none through ssh

    def check_asked(self, fields: frozenset[str]) -> None:
        """Also raises Problem("use-unknown") where the server does not know that."""
        super().check_asked(fields)
        if "used" in fields and self._knows_use() is None:
            # Otherwise nothing would match, and nobody would know why.
            raise Problem("use-unknown", server=self.place)

    def _knows_use(self) -> str | None:
        return "server" if knows_use(self) else None

    def read(
        self, items: Iterable[Item], reader: Reader, report: Report, full: bool = False,
        budget: Budget | None = None,
    ) -> Batches:  # fmt: skip
        from torchkeeper.stores.redis.payloads import described

        return described(self, items, reader, report, full, budget or Budget())

    def entries(
        self, memory: Memory, report: Report, items: list[Item] | None = None,
        carried: Carried | None = None, all_of_it: bool = False, glimpsing: bool = False,
        search: Search | None = None,
    ) -> Batches:  # fmt: skip
        from torchkeeper.stores.redis.payloads import described

        items = self.items(report) if items is None else items
        living = Living(lambda: self.whole)
        done, budget = 0, None if all_of_it else Budget()
        for batch in described(self, items, memory.reader, report, budget=budget):
            for one in batch:
                one.entry = one.entry._replace(orphan=living.orphan(one.item, one.facts))
            yield batch
            done += len(batch)
            report.progress(done, len(items), "entries")

    def tells_unread(self, fields: frozenset[str]) -> bool:
        return fields <= _OF_KEYS

    def unread(self, report: Report, at_once: int) -> Batches:
        stream, keys = self.stream(report), self.triton
        while items := list(itertools.islice(stream, at_once)):
            yield [named(keys, item) if item.kind == "triton" else unread(item) for item in items]

    def timed(self, batches: Iterable[list[Described]], wanted: bool) -> Batches:
        return (timed(self, batch) for batch in batches) if wanted else iter(batches)

    def uses(self, items: Sequence[Item], report: Report) -> Uses:
        return None, self._knows_use()

    def owners(self) -> list[Owned] | None:
        from torchkeeper.stores.redis import server

        try:
            return server.found(self)
        except Problem:
            return []  # what was asked of the server before is known all the same

    def tell_beside(self, told: Beside, origins: Sequence[MadeIn | None]) -> None:
        told["format"], told["owners"] = "redis", self.owners()
        told["others"], told["kernels_maybe"] = self.others, self.kernels_maybe

    def strays(self) -> Strays:
        """Keys beside ours, and how many may be kernels under another TRITON_REDIS_KEY_FORMAT."""
        return {"others": self.others, "kernels_maybe": self.kernels_maybe}

    def room(self) -> Room:
        about = info(self.connection, "memory")
        used, most = (about.get(name, "") for name in ("used_memory", "maxmemory"))
        if not (used.isdigit() and most.isdigit() and int(most)):
            return {}
        left = max(0, int(most) - int(used))
        return {"free_bytes": left, "total_bytes": int(most), "disk": self.run}

    def items_of_key(self, key: str, report: Report) -> list[Item]:
        """Without a scan where the whole key is given."""
        from torchkeeper.stores.redis.payloads import of_key

        return list(of_key(self, key, report))

    def in_full(self, key: str, memory: Memory, report: Report) -> InFull:
        from torchkeeper.stores.redis.payloads import in_full

        for one, related in in_full(memory, self, key, report):
            yield next(self.timed([[one]], wanted=True))[0], related

    def relatives(self, kind: str, path: str, memory: Memory, report: Report) -> Relatives:
        """As far as that can be told in a moment."""
        from torchkeeper.stores.redis.payloads import related

        items = self.items_beside(path, report)
        if not items:
            raise Problem("entry-gone", path=path)
        batches = self.read(items, memory.reader, report)
        wanted = {name: None for batch in batches for one in batch for name in needed(one.facts)}
        return related(memory, self, items[0], wanted, report)

    def graph_beside(self, item: Item, key: str) -> str:
        return redis_key("fxgraph", key) or ""

    def put_off(self, item: Item) -> Described | None:
        from torchkeeper.stores.redis.payloads import MAX_READ, too_large

        return too_large(item) if item.size > MAX_READ else None

    def named_by(
        self, chosen: list[Described], kernels: bool, memory: Memory, report: Report
    ) -> list[Described]:
        """Graphs by their keys; kernels only by a look at all keys."""
        keys = [key for name in _named(chosen) if (key := redis_key(*name)) is not None]
        items = self.items_at(keys, report)
        found = [one for x in self.read(items, memory.reader, report) for one in x]
        names = {name for name in _named([*chosen, *found]) if name[0] == "triton"}
        if not kernels or not names:
            return found
        items = [item for item in self.stream(report) if (item.kind, item.key) in names]
        return found + [one for x in self.read(items, memory.reader, report) for one in x]

    def removal(self, insisted: bool) -> Removal:
        from torchkeeper.stores.redis.removing import ServerRemoval

        return ServerRemoval(self.place)

    def be_patient(self) -> None:
        self.patient = True

    def offer(
        self, chosen: Sequence[Described], report: Report, left: Left, to_server: bool = False
    ) -> Offered:
        from torchkeeper.stores.redis.payloads import FromServer

        return FromServer(chosen, self, left, to_server)

    def for_bundle(self, chosen: Sequence[Described], left: Left) -> Going:
        from torchkeeper.stores.redis.payloads import FromServer

        offered = FromServer(chosen, self, left)
        return offered.chosen, offered


def _named(chosen: list[Described]) -> dict[tuple[str, str], None]:
    known = {(one.entry.kind, one.entry.key) for one in chosen}
    return {name: None for x in chosen for name in needed(x.facts) if name not in known}
