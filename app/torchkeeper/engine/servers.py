"""What an engine can be asked of servers alone."""

from __future__ import annotations

from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session
from torchkeeper.stores.describe import describe
from torchkeeper.stores.items import Item, in_order
from torchkeeper.stores.redis.store import Redis

#: Entries that are asked for at once, and bytes of a value that is fetched for its facts.
MAX_ITEMS = 64
MAX_BYTES = 32 << 20


def server_of(session: Session, params: dict[str, Any], report: Report) -> Redis:
    """The server of a request. Raises Problem("place-not-server"), and as stores.redis.store."""
    store = session.store(params["place"], report)
    if not isinstance(store, Redis):
        raise Problem("place-not-server", place=params["place"])
    return store


def facts_(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    """The entries ``items``, [[kind, path], …], as their payloads tell of them, as rows.

    Without any, it only sees whether the server answers. What is gone meanwhile has no row, and
    kernels of Triton, which tell nothing more, have none either.
    """
    with server_of(session, params, report) as store:
        wanted: list[Item] = []
        for _, path in params["items"][:MAX_ITEMS]:
            report.check()
            if not str(path).startswith("triton:"):
                wanted += store.items_beside(str(path), report)
        read = in_order(item for item in wanted if item.size <= MAX_BYTES)
        count = 0
        for batch in describe(read, store, session.reader, report):
            report.rows([one.entry.to_json() for one in batch])
            count += len(batch)
    return {"entries": count}
