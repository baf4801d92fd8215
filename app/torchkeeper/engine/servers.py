"""What an engine is asked only of servers: facts of entries, a server's state, and expiry."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session, batches_of, tell_left
from torchkeeper.stores.items import in_order
from torchkeeper.stores.redis import kernels
from torchkeeper.stores.redis.database import times
from torchkeeper.stores.redis.payloads import described, too_large
from torchkeeper.stores.redis.removing import Packed
from torchkeeper.stores.redis.store import Redis

if TYPE_CHECKING:
    from torchkeeper.engine.messages import places as msg

#: Entries that are told of at once, and bytes of a value that is fetched for that.
MAX_ITEMS = 64
MAX_BYTES = 32 << 20


def server_of(session: Session, place: str, report: Report) -> Redis:
    """A server. Raises Problem("place-not-server"), and as stores.redis.store."""
    store = session.store(place, report)
    if not isinstance(store, Redis):
        store.close()
        raise Problem("place-not-server", place=place)
    return store


def facts_(session: Session, params: msg.FactsParams, report: Report) -> msg.FactsResult:
    """The entries ``items`` as rows, with what payloads say, when they expire and were last used.

    Without any it only sees whether the server answers. What is gone has no row, nor has a kernel
    of Triton whose group file is missing. Of kernels only the JSON is read, of payloads over
    MAX_BYTES nothing: their problem is "value-large", or "payload-too-large".
    """
    with server_of(session, params["place"], report) as store:
        paths = [str(path) for _, path in params["items"][:MAX_ITEMS]]
        items = store.items_at([x for x in paths if kernels.is_known(store, x)], report)
        times_of = dict(zip([item.path for item in items], times(store, items), strict=True))
        some = [item for item in items if item.kind == "triton"]
        payloads = [item for item in items if item.kind != "triton"]
        small = in_order(item for item in payloads if item.size <= MAX_BYTES)
        large = [too_large(item) for item in payloads if item.size > MAX_BYTES]
        count = 0
        batches = kernels.described(store, some, session.reader, report)
        rest = described(store, small, session.reader, report)
        for batch in itertools.chain(batches, rest, [large]):
            rows = []
            for entry in (one.entry for one in batch):
                expires, used = times_of.get(entry.path, (None, None))
                rows.append(entry._replace(expires=expires, used=used).to_json())
            report.rows(rows)
            count += len(rows)
    return {"entries": count}


def server(session: Session, params: msg.ServerParams, report: Report) -> msg.ServerResult:
    from torchkeeper.stores.redis.server import look

    with server_of(session, params["place"], report) as store:
        page = look(store)
    return cast("msg.ServerResult", {"place": store.place, **vars(page)})


def ttl(session: Session, params: msg.TtlParams, report: Report) -> msg.TtlResult:
    """Have a selection expire in ``ttl_s`` seconds, or with None never. Raises Problem("ttl-wrong"
    | "server-read-only"), and as stores.redis.store.
    """
    from torchkeeper.stores.redis.removing import expire

    with server_of(session, params["place"], report) as store:
        items = Packed()
        for chosen in batches_of(session, store, params.get("select", {}), report):
            items.add(one.origin or one.item for one in chosen)
        seconds = params.get("ttl_s")
        done = expire(store, items, seconds, report, partial(tell_left, report))
    return {"entries": done.entries, "failed": done.failed}
