"""What a Redis server says of itself, and what that means for a cache in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchkeeper.stores.redis import exposed
from torchkeeper.stores.redis.connecting import Refusal, pack, problem_of
from torchkeeper.stores.redis.database import Database, info

if TYPE_CHECKING:
    from torchkeeper.stores.shapes import Owned


@dataclass
class Server:
    """The page of a server. None stands for what it did not say.

    used_memory, max_memory: bytes; max_memory is 0 where there is no limit. evicted, hits, misses:
    counts since its start. keys: in this database. expiring: how many of them have an expiry.
    role: "master" or "slave". quiet: whether looking leaves idle times as they are.
    forbidden: the commands it would not answer. meanings: codes of MEANINGS. changes: for each of
    CHANGES None where it is allowed, or the code of the problem that it ends with. owners: who else
    can write to it (redis.exposed).
    """

    version: str | None = None
    uptime_s: int | None = None
    used_memory: int | None = None
    max_memory: int | None = None
    policy: str | None = None
    evicted: int | None = None
    hits: int | None = None
    misses: int | None = None
    keys: int | None = None
    expiring: int | None = None
    role: str | None = None
    read_only: bool = False
    quiet: bool = False
    clients: int | None = None
    forbidden: list[str] = field(default_factory=list)
    meanings: list[str] = field(default_factory=list)
    changes: dict[str, str | None] = field(default_factory=dict)
    owners: list[Owned] = field(default_factory=list)


#: Of the limit, from where on a server that evicts nothing is as good as full.
_FULL = 0.9


def _is_full(page: Server) -> bool:
    limited = page.policy == "noeviction" and page.max_memory
    return bool(limited) and (page.used_memory or 0) > _FULL * (page.max_memory or 0)


#: What figures of a server can mean, and when they do; the words are with who shows them.
MEANINGS: dict[str, Callable[[Server], object]] = {
    "replica": lambda page: page.read_only,
    # Without a limit the policy never comes to bear.
    "policy-noeviction-no-limit": lambda page: page.max_memory == 0,
    "policy-noeviction-full": _is_full,
    "evicting": lambda page: page.evicted,
    # It evicts keys with an expiry only, and PyTorch never sets one.
    "evicts-nothing-of-ours": lambda page: (
        page.max_memory and (page.policy or "").startswith("volatile-") and not page.expiring
    ),
    "never-expires": lambda page: page.keys and page.expiring == 0,
    "looking-counts-as-use": lambda page: not page.quiet,
    "facts-forbidden": lambda page: page.forbidden,
}
#: What can be changed on a server, and a command that would, of a key that there is none of: it
#: changes nothing, and is refused as if it did.
_NO_KEY = b"pt2:fx-graph-v1::torchkeeper-looks-whether-it-may:c1"
CHANGES = {
    "copy": pack("SET", _NO_KEY, "", "XX"),
    "expire": pack("PEXPIRE", _NO_KEY, 1),
    "purge": pack("UNLINK", _NO_KEY),
}
#: A figure, of digits that 64 bits hold.
_FIGURE = re.compile("[0-9]{1,18}")


def look(store: Database) -> Server:
    """The page of a store's server. Raises Problem as Connection does."""
    page = Server(read_only=store.read_only, quiet=store.connection.quiet)
    sections = "server", "memory", "stats", "clients", "replication", "keyspace"
    about = info(store.connection, *sections)
    if about:
        page.version = about.get("redis_version")
        page.role = about.get("role")
        page.policy = about.get("maxmemory_policy")
        page.uptime_s = _number(about.get("uptime_in_seconds"))
        page.used_memory = _number(about.get("used_memory"))
        page.max_memory = _number(about.get("maxmemory"))
        page.evicted = _number(about.get("evicted_keys"))
        page.hits = _number(about.get("keyspace_hits"))
        page.misses = _number(about.get("keyspace_misses"))
        page.clients = _number(about.get("connected_clients"))
        # "keys=5,expires=1,avg_ttl=0"; a database without keys has no line.
        said = about.get(f"db{store.address.db}", "")
        fields = dict(part.partition("=")[::2] for part in said.split(","))
        page.keys = _number(fields.get("keys")) or 0
        page.expiring = _number(fields.get("expires")) or 0
    else:
        page.forbidden.append("INFO")
        count = store.connection.ask("DBSIZE")
        page.keys = count if isinstance(count, int) else None
    if page.policy is None:
        page.policy = _config(store, page, "maxmemory-policy")
    if page.max_memory is None:
        page.max_memory = _number(_config(store, page, "maxmemory"))
    if store.read_only:
        page.changes = dict.fromkeys(CHANGES, "server-read-only")
    else:
        replies = store.connection.many(CHANGES.values())
        page.changes = {
            name: problem_of(str(reply), store.place).code if isinstance(reply, Refusal) else None
            for name, reply in zip(CHANGES, replies, strict=True)
        }
    page.meanings = [meaning for meaning, meant in MEANINGS.items() if meant(page)]
    page.owners = exposed.found(store)
    return page


def _config(store: Database, page: Server, name: str) -> str | None:
    reply = store.connection.ask("CONFIG", "GET", name)
    if isinstance(reply, Refusal):
        if "CONFIG GET" not in page.forbidden:
            page.forbidden.append("CONFIG GET")
        return None
    return exposed.config_of(reply)


def _number(text: str | None) -> int | None:
    return int(text) if text and _FIGURE.fullmatch(text) else None
