"""Who else can write to a Redis server, told as ``stores.folders.owners`` tells it of folders.

PyTorch unpickles and runs what it finds in its cache: whoever can write to the server runs code as
everybody who uses it. What is found are objects ``{what, grave, place, …}``, the words for which
are in ``torchkeeper.client.words.owned``:

- ``server-open``: it wants no password. ``reach``: "network" where others than this machine reach
  it, "machine" where only this one does, "unknown" where it does not tell. ``all``: it answers on
  other addresses than this machine's own, its protected mode being off.
- ``server-bare``: programs have its address without a password, by which alone it is known.
- ``server-plain``: it is on another machine, and is reached without TLS.
- ``socket-open``: ``who`` may connect to its socket, ``path``, which wants no password.

A server that does not tell (``ACL GETUSER``, ``CONFIG GET`` may be forbidden) is judged by what was
seen: whether it has let us in without a password.
"""

from __future__ import annotations

import ipaddress
import os
from typing import TYPE_CHECKING

from torchkeeper.stores.folders import owners
from torchkeeper.stores.redis.address import Address
from torchkeeper.stores.redis.connecting import pack
from torchkeeper.stores.redis.database import Database

if TYPE_CHECKING:
    from torchkeeper.stores.shapes import Owned

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
        return _socket(address, store.place) if open_ else []
    here = _is_loopback(connection.peer)
    some: list[Owned] = []
    if open_:
        reach, everywhere = "network", False
        if here:
            bound, shut = config_of(bind), config_of(protected)
            reach = "unknown" if bound is None or shut is None else "machine"
            if reach == "machine" and shut == "no" and _beyond(bound or ""):
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


def _beyond(bind: str) -> bool:
    """Whether others than this machine reach a server that is bound so; without anything, all."""
    addresses = [one.lstrip("-") for one in bind.split()]
    return not addresses or not all(_is_loopback(one) for one in addresses)


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
