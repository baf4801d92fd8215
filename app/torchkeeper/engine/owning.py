"""Who else can change what lies in a folder (folders.owners) or on a server (redis.exposed), as
operations tell it.
"""

from __future__ import annotations

import os
from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.protocol import Owned
from torchkeeper.engine.session import Session
from torchkeeper.stores import places
from torchkeeper.stores.folders import owners
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.names import is_server
from torchkeeper.stores.store import Store


def _is_path(place: str) -> bool:
    return os.path.isabs(place) and "\0" not in place and not is_server(place)


def owned(store: Store) -> list[owners.Finding] | None:
    """What is found of a folder that was just listed, and of a server; None of a bundle."""
    if is_server(store.place):
        from torchkeeper.stores.redis import exposed
        from torchkeeper.stores.redis.store import Redis

        assert isinstance(store, Redis)
        try:
            return exposed.found(store)
        except Problem:
            return []  # what was asked of the server before is known all the same
    return owners.findings(store.place, store.seen) if isinstance(store, Folder) else None


def point_out(session: Session, of: Owned, params: dict[str, Any], report: Report) -> None:
    """Tell what a look at a place finds that an operation changes or runs programs with:
    ``owners``, where there is something.
    """
    place = params.get(of.parameter) or (places.default_folder() if of.runs else None)
    if not isinstance(place, str):
        return
    found: list[owners.Finding] | None = None
    if is_server(place):
        found = _of_server(session, place, report)
    elif _is_path(place) and not of.only_servers and not params.get("dry"):
        found = owners.of_program(place) if of.runs else owners.glance(place)
    if found:
        report.finding(owners=found)


def at_a_glance(place: str) -> list[owners.Finding]:
    """What the address of a server alone tells, and the variables in which programs find it."""
    from torchkeeper.stores.redis import exposed
    from torchkeeper.stores.redis.address import from_environment, parse

    try:
        address = parse(place).address
    except Problem:
        return []
    named = [one.password for one in from_environment(os.environ) if one.address == address]
    return exposed.glance(address, bare=None in named)


def _of_server(session: Session, place: str, report: Report) -> list[owners.Finding] | None:
    try:
        store = session.store(place, report)
    except Problem:
        return None  # the operation says so itself
    try:
        return owned(store)
    finally:
        store.close()
