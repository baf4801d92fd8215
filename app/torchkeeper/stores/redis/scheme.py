"""What the name of a Redis server tells of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from torchkeeper.stores.redis import SCHEMES
from torchkeeper.stores.scheme import Scheme

if TYPE_CHECKING:
    from torchkeeper.artifacts.report import Report
    from torchkeeper.stores.redis.address import Address
    from torchkeeper.stores.shapes import Owned
    from torchkeeper.stores.store import Store


class RedisScheme(Scheme):
    """Of a database of a Redis server. What it needs is loaded where one is named."""

    begins = SCHEMES
    remote_cache = keeps_times = lazy = keeps_part = wants_digests = True

    def parted(self, text: str) -> tuple[str, str | None]:
        from torchkeeper.stores.redis.address import parse

        address, password = parse(text)
        return str(address), password

    def same(self, place: str, follow: bool) -> str:
        """Its host, port and database."""
        address = _address(place)
        if address is None:
            return place
        if address.scheme == "unix":
            return f"unix://{os.path.normpath(address.path)}?{address.db}"
        host = "localhost" if address.host in ("127.0.0.1", "::1") else address.host.lower()
        # By whatever user and however secured, it is the same server.
        return f"redis://{host}:{address.port}/{address.db}"

    def owners(self, place: str) -> list[Owned]:
        """What the address alone tells, and the variables in which programs find it."""
        from torchkeeper.stores.redis import server
        from torchkeeper.stores.redis.address import from_environment

        address = _address(place)
        if address is None:
            return []
        named = [one.password for one in from_environment(os.environ) if one.address == address]
        return server.glance(address, bare=None in named)

    def opened(self, place: str, report: Report, password: str | None = None) -> Store:
        from torchkeeper.stores.redis.store import Redis

        return Redis(place, report, password)


def _address(place: str) -> Address | None:
    from torchkeeper.artifacts.entry import Problem
    from torchkeeper.stores.redis.address import parse

    try:
        return parse(place).address
    except Problem:
        return None
