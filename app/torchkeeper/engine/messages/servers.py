"""Operations about servers."""

from typing import TypedDict

from torchkeeper.engine.messages.selecting import Select
from torchkeeper.stores.shapes import Owned


class FactsParams(TypedDict):
    """items: the kind and path of each entry that is asked for."""

    place: str
    items: list[tuple[str, str]]


class FactsResult(TypedDict):
    """entries: how many were told."""

    entries: int


class ServerParams(TypedDict):
    """A server."""

    place: str


class ServerResult(TypedDict):
    """The page of a server, as of ``stores.redis.server.Server``; None is what it did not say."""

    place: str
    version: str | None
    uptime_s: int | None
    used_memory: int | None
    max_memory: int | None
    policy: str | None
    evicted: int | None
    hits: int | None
    misses: int | None
    keys: int | None
    expiring: int | None
    role: str | None
    read_only: bool
    quiet: bool
    clients: int | None
    forbidden: list[str]
    meanings: list[str]
    changes: dict[str, str | None]
    owners: list[Owned]


class SecretParams(TypedDict):
    """password: None to forget that of a place."""

    place: str
    password: str | None


class SecretResult(TypedDict):
    """Nothing."""


class _TtlParams(TypedDict):
    place: str


class TtlParams(_TtlParams, total=False):
    """ttl_s: seconds from now on, None for no end."""

    select: Select
    ttl_s: float | None


class TtlResult(TypedDict):
    """How many entries have a new time to live, and how many could not be given one."""

    entries: int
    failed: int
