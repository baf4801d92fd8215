"""Whether programs of an environment look for an entry on the server that it is on.

PyTorch asks a server only where that is said, for each kind by a switch of its own, and asks the
one that it is told of: whatever is elsewhere is found under conditions.
"""

from __future__ import annotations

from torchkeeper.artifacts.entry import Problem
from torchkeeper.stores.redis import address
from torchkeeper.verdict import autograd, judging
from torchkeeper.verdict.judging import Difference, Verdict
from torchkeeper.verdict.probed import Env

#: The remote caches, by the names of ``verdict.lookups.remote``, that must be on for a kind:
#: AOTAutograd's entries are of use with their graphs.
_NEEDED = {
    "fxgraph": ("fxgraph",),
    "aotautograd": ("fxgraph", "aotautograd"),
    "autotune": ("autotune",),
    "bundle": ("bundle",),
    "pgo": ("pgo",),
    "triton": ("triton",),
}
#: Which no switch for all turns off.
_ALONE = frozenset({"bundle", "triton"})
#: What stands for this machine.
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def looked_for(kind: str, key: str, place: str, said: Verdict, env: Env) -> Verdict:
    """The verdict of an entry on the server ``place``, given what the programs ask which server.

    said: its verdict by itself.
    """
    cache = "bundle" if kind == "autotune" and key.startswith("bundled-") else kind
    if kind == "aotautograd":
        said = judging.same_autograd(said, autograd.looking_remotely(env))
    remote = env.get("remote")
    if remote is None:
        return judging.under(said, (), (Difference(f"{cache} remote cache"),))
    conditions = [
        Difference(f"{name} remote cache", "on", "off")
        for name in _NEEDED.get(cache, ())
        if not remote.get(name)
    ]
    if remote["disabled"] and cache not in _ALONE:
        conditions.append(Difference("caches", "on", "off"))
    asked = remote["triton_server"] if kind == "triton" else remote["server"]
    if not _same(place, asked):
        server = "triton_server" if kind == "triton" else "server"
        conditions.append(Difference(server, place, asked))
    if not remote["redis"]:
        conditions.append(Difference("redis package", "needed", None))
    return judging.under(said, conditions)


def _same(place: str, other: str | None) -> bool:
    """Whether two names are of one server and database, as far as names tell."""
    try:
        one, two = address.parse(place).address, address.parse(other or "").address
    except Problem:
        return False
    return (one.scheme, _host(one.host), one.port, one.path, one.db) == (
        two.scheme, _host(two.host), two.port, two.path, two.db
    )  # fmt: skip


def _host(name: str) -> str:
    return "localhost" if name.lower() in _LOOPBACK else name.lower()
