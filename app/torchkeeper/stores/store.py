"""A place is a place: what folders, bundles and servers have in common, and which one a name is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from torchkeeper.artifacts.report import Report
from torchkeeper.stores.budget import Budget
from torchkeeper.stores.items import Item, Source
from torchkeeper.stores.names import is_server

if TYPE_CHECKING:
    from torchkeeper.stores.describe import Described
    from torchkeeper.stores.reader import Reader


class Store(Source, Protocol):
    """A place that is open for reading."""

    @property
    def place(self) -> str:
        """As the user named it, without secrets."""

    @property
    def total(self) -> int | None:
        """How many items the last survey found, once that is known."""

    @property
    def whole(self) -> bool:
        """Whether the last survey saw everything that is in it."""

    def items(self, report: Report) -> list[Item]:
        """Everything in it, unread, in order (stores.items.in_order)."""

    def stream(self, report: Report) -> Iterator[Item]:
        """The same, some of it before the rest is known."""

    def items_beside(self, path: str, report: Report) -> list[Item]:
        """At least the items at a path, unread; none where nothing is."""

    def close(self) -> None:
        """Let go of files and connections."""


def read(
    store: Store,
    items: Iterable[Item],
    reader: Reader,
    report: Report,
    full: bool = False,
    all_of_it: bool = False,
    budget: Budget | None = None,
) -> Iterator[list[Described]]:
    """The entries of some items of a store in batches, as stores.describe.describe gives them.

    all_of_it: also what takes longer than the items are given for what they hold (stores.budget).
    budget: what is left of that from reading others of the place before.
    """
    budget = None if all_of_it else budget or Budget()
    if is_server(store.place):
        from torchkeeper.stores.redis.describing import described
        from torchkeeper.stores.redis.store import Redis

        assert isinstance(store, Redis)
        return described(store, items, reader, report, full, budget)
    from torchkeeper.stores.describe import describe

    return describe(items, store, reader, report, full, budget=budget)


def opened(place: str, report: Report, password: str | None = None) -> Store:
    """The store of a place; ``password`` where it is a server that wants one.

    Raises Problem as Folder, Bundle and Redis do.
    """
    # Loaded where they are needed: an engine that lists a folder shall start at once.
    if is_server(place):
        from torchkeeper.stores.redis.store import Redis

        return Redis(place, report, password)
    if os.path.isfile(place):
        from torchkeeper.stores.bundles.bundle import Bundle

        return Bundle(place, report)
    from torchkeeper.stores.folders.folder import Folder

    return Folder(place)
