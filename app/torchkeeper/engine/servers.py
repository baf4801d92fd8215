"""Operations on Redis servers alone; loaded when asked for.

``password`` in a request is the place's, where it has one; it is in no answer and no message.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session, tell_left
from torchkeeper.stores.items import Item
from torchkeeper.stores.redis.removing import expire
from torchkeeper.stores.redis.server import look
from torchkeeper.stores.redis.store import Redis


def redis_of(params: dict[str, Any], report: Report) -> Redis:
    """The store that a request is about. Raises Problem as Redis does."""
    return Redis(params["place"], report, params.get("password"))


def server(_: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    """The page of a server: the fields of ``stores.redis.server.Server``."""
    with redis_of(params, report) as store:
        return {"place": store.place, **asdict(look(store))}


def ttl(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    """Have selected entries end in ``ttl_s`` seconds, or with None never.

    select: ``{}`` for all, ``{"items": …}`` or ``{"held": true}``. The result counts ``entries``
    and ``failed``; each that failed is told as ``left``.
    """
    select = params.get("select", {})
    if select.get("filter"):
        raise Problem("bad-request", field="select")
    wanted: set[tuple[str, str]] | None = None
    if select.get("held"):
        wanted, session.held = set(session.held), []
    elif "items" in select:
        wanted = {(kind, path) for kind, path in select["items"]}
    with redis_of(params, report) as store:
        chosen: list[Item] = [
            item for item in store.stream(report) if wanted is None or item.identity in wanted
        ]
        done = expire(
            store, chosen, params.get("ttl_s"), report, lambda i, p: tell_left(report, i, p)
        )
    return asdict(done)
