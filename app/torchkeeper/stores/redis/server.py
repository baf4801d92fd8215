"""What a Redis server says of itself, and what that means for a cache in it. Also who else can
write to one, told as ``stores.folders.owners`` tells it of folders.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchkeeper.stores.folders import owners
from torchkeeper.stores.redis.address import Address
from torchkeeper.stores.redis.connecting import Refusal, pack, problem_of
from torchkeeper.stores.redis.database import Database, info

if TYPE_CHECKING:
    from torchkeeper.stores.shapes import Owned


# PyTorch unpickles and runs what it finds in its cache: whoever can write to the server runs code
# as everybody who uses it. What is found are objects ``{what, grave, place, …}``, the words for
# which are in ``torchkeeper.client.words.owned``:
#
# - ``server-open``: it wants no password. ``reach``: "network" where others than this machine reach
#   it, "machine" where only this one does, "unknown" where it does not tell. ``all``: it answers on
#   other addresses than this machine's own, its protected mode being off.
# - ``server-bare``: programs have its address without a password, by which alone it is known.
# - ``server-plain``: it is on another machine, and is reached without TLS.
# - ``socket-open``: ``who`` may connect to its socket, ``path``, which wants no password.
#
# A server that does not tell (``ACL GETUSER``, ``CONFIG GET`` may be forbidden) is judged by what
# was seen: whether it has let us in without a password.

#: What the server is asked; ``ACL`` is there from Redis 6 on.
_ASKED = (
    pack("ACL", "GETUSER", "default"),
    pack("CONFIG", "GET", "requirepass"),
    pack("CONFIG", "GET", "bind"),
    pack("CONFIG", "GET", "protected-mode"),
)
#: Of what a user may do, what is enough to write an entry.
_WRITES = ("+@all", "allcommands", "+@write", "+@string", "+set")


def found(store: Database) -> list[Owned]:
    """What can be said of a server that is connected to. Raises Problem as Connection does."""
    address, connection = store.address, store.connection
    user, password, bind, protected = connection.many(_ASKED)
    open_ = _open_to_all(user)
    if open_ is None:
        wanted = config_of(password)
        # Who was let in without a password is what everybody is.
        open_ = store.anonymous if wanted is None else not wanted
    if address.scheme == "unix":
        if address.way:
            return []  # who may use it there is not known here
        return _socket(address, store.place) if open_ else []
    here = _is_loopback(connection.peer)
    some: list[Owned] = []
    if open_:
        reach, everywhere = "network", False
        if here:
            bound, shut = config_of(bind), config_of(protected)
            reach = "unknown" if bound is None or shut is None else "machine"
            addresses = [one.lstrip("-") for one in (bound or "").split()]
            # One that is bound to nothing, others reach, too.
            beyond = not addresses or not all(map(_is_loopback, addresses))
            if reach == "machine" and shut == "no" and beyond:
                reach, everywhere = "network", True
        some.append({**_about("server-open", reach == "network", address, store.place),
                     "reach": reach, "all": everywhere})  # fmt: skip
    if address.scheme == "redis" and not here:
        some.append(_about("server-plain", True, address, store.place))
    return some


def glance(address: Address, *, bare: bool = False) -> list[Owned]:
    """What an address alone tells. bare: it has no password where programs find it."""
    place = str(address)
    some: list[Owned] = []
    if bare and address.scheme != "unix":
        some.append(_about("server-bare", False, address, place))
    if address.scheme == "redis" and not _is_loopback(address.host):
        some.append(_about("server-plain", True, address, place))
    return some


def _about(what: str, grave: bool, address: Address, place: str) -> Owned:
    about: Owned = {"what": what, "grave": grave, "place": place, "mine": False}
    return {**about, "host": address.host, "port": address.port}


def _socket(address: Address, place: str) -> list[Owned]:
    return [
        {
            "what": "socket-open",
            "grave": one["who"]["kind"] == "all",
            "place": place,
            "path": one["path"],
            "who": one["who"],
            "owned": one["owned"],
        }
        for one in owners.of_program_files([address.path])
        if one["path"] == os.path.realpath(address.path)
    ]


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"


def config_of(reply: object) -> str | None:
    """What CONFIG GET of one name answers, if it does."""
    match reply:
        case [_, bytes(value)]:
            return value.decode("utf-8", "replace")
    return None


def _open_to_all(reply: object) -> bool | None:
    """Whether everybody may write, by what is said of the default user; None where nothing is."""
    if not isinstance(reply, list):
        return None
    fields = dict(zip(reply[::2], reply[1::2], strict=False))
    flags, commands = fields.get(b"flags"), fields.get(b"commands")
    if not isinstance(flags, list) or not isinstance(commands, bytes):
        return None
    may = commands.decode("utf-8", "replace").split()
    writes = b"allcommands" in flags or any(one in _WRITES for one in may)
    return b"on" in flags and b"nopass" in flags and writes


@dataclass
class Server:
    """The page of a server. None stands for what it did not say. used_memory, max_memory: bytes;
    max_memory is 0 where there is no limit. evicted, hits, misses: counts since its start. keys: in
    this database. expiring: how many of them have an expiry. role: "master" or "slave". quiet:
    whether looking leaves idle times as they are. forbidden: the commands it would not answer.
    meanings: codes of MEANINGS. changes: for each of CHANGES None where it is allowed, or the code
    of the problem that it ends with. owners: who else can write to it (redis.server).
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


#: What figures of a server can mean, and when they do; the words are with who shows them.
MEANINGS: dict[str, Callable[[Server], object]] = {
    "replica": lambda page: page.read_only,
    # Without a limit the policy never comes to bear.
    "policy-noeviction-no-limit": lambda page: page.max_memory == 0,
    "policy-noeviction-full": lambda page: (
        page.policy == "noeviction"
        and page.max_memory
        and (page.used_memory or 0) > _FULL * page.max_memory
    ),
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
    if about := info(store.connection, *sections):
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
        page.changes = {
            name: problem_of(str(reply), store.place).code if isinstance(reply, Refusal) else None
            for name, reply in zip(CHANGES, store.connection.many(CHANGES.values()), strict=True)
        }
    page.meanings = [meaning for meaning, meant in MEANINGS.items() if meant(page)]
    page.owners = found(store)
    return page


def _config(store: Database, page: Server, name: str) -> str | None:
    reply = store.connection.ask("CONFIG", "GET", name)
    if isinstance(reply, Refusal):
        if "CONFIG GET" not in page.forbidden:
            page.forbidden.append("CONFIG GET")
        return None
    return config_of(reply)


def _number(text: str | None) -> int | None:
    return int(text) if text and _FIGURE.fullmatch(text) else None
