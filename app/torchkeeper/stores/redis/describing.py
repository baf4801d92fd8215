"""The entries of a Redis with what their payloads say, and the same as others can take them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, cast

from torchkeeper.artifacts import remote, triton
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.describe import Described, describe, unread
from torchkeeper.stores.items import File, Item, Left
from torchkeeper.stores.offering import portable as portable_ones
from torchkeeper.stores.reader import MAX_PAYLOAD, Budget, Reader
from torchkeeper.stores.redis.database import Database
from torchkeeper.stores.redis.payloads import Fetched, Streamed, portable

if TYPE_CHECKING:
    from torchkeeper.artifacts.payload import Facts

#: Values over this hold payloads that no reader is given.
MAX_READ = MAX_PAYLOAD // 3 * 4


def described(
    store: Database,
    items: Iterable[Item],
    reader: Reader,
    report: Report,
    full: bool = False,
    budget: Budget | None = None,
) -> Iterator[list[Described]]:
    """The entries of some items in batches, in bounded memory; values that are bad are broken.
    Their items are those of a folder, the paths of the entries are redis keys.
    """
    # By identity: two profiles may come to one file, and each is an entry of its own.
    origins: dict[int, tuple[Item, float | None]] = {}
    bad: list[Described] = []

    def left(item: Item, problem: Problem) -> None:
        one = unread(item)
        if problem.code != "entry-gone":
            # What a newer PyTorch keeps there is not broken for being unknown.
            code = None if problem.code == "redis-only" else problem.code
            entry = one.entry._replace(problem=one.entry.problem or code)
            # The words of its problem find there what they need.
            facts = cast("Facts", problem.params)
            bad.append(replace(one, entry=entry, facts=facts))

    def noted() -> Iterator[Fetched]:
        for one in portable(store, items, report, left, describing=True):
            origins[id(one.item)] = one.origin, one.compile_s
            yield one

    streamed = Streamed(noted())
    for batch in describe(streamed.items(), streamed, reader, report, full, budget=budget):
        found, bad = bad, []
        for one in batch:
            origin, compile_s = origins.pop(id(one.item))
            entry = one.entry._replace(
                path=origin.path,
                size=origin.size,
                compile_s=one.entry.compile_s if compile_s is None else compile_s,
            )
            found.append(replace(one, entry=entry, origin=origin))
        yield found
    if bad:
        yield bad


def too_large(item: Item) -> Described:
    """An entry of which nothing is read because its value is large, and which says so."""
    one = unread(item)
    code = "value-large" if item.size <= MAX_READ else "payload-too-large"
    return replace(one, entry=one.entry._replace(problem=one.entry.problem or code))


class FromServer:
    """Some entries of a Redis, as ``described`` gives them, for another place to take."""

    def __init__(
        self, chosen: Iterable[Described], store: Database, left: Left, to_redis: bool = False
    ) -> None:
        """What is broken goes to ``left``, and what only another Redis can take."""
        self._store = store
        self._files: dict[str, tuple[str, File]] = {}
        self.chosen: list[Described] = []
        for one in portable_ones(chosen, left):
            if one.entry.kind == "autotune" and not to_redis:
                left(one.item, Problem("redis-only", kind=one.entry.kind))
                continue
            # In a server it has the size of its value, elsewhere that of the payload in it.
            entry = one.entry._replace(size=one.item.size)
            self.chosen.append(replace(one, entry=entry))
            sizes = {file.path: file.size for file in (one.origin or one.item).files}
            for file in one.item.files:
                key = one.entry.path
                if one.item.kind == "triton":
                    key = store.triton.key(one.item.key, file.name) or ""
                self._files[file.path] = one.item.kind, File(key, sizes.get(key, file.size))

    def items(self) -> list[Item]:
        return [one.item for one in self.chosen]

    def open(self, file: File) -> BinaryIO:
        """One of their files. Raises OSError."""
        kind, there = self._files[file.path]
        stream = self._store.open(there)
        if kind != "triton" or not file.name.startswith(triton.GROUP_PREFIX):
            return stream
        with stream:
            return io.BytesIO(remote.group_from_redis(stream.read()))
