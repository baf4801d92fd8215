"""The Redis servers that programs with some variables would use."""

from __future__ import annotations

from collections.abc import Mapping

from torchkeeper.settings.checks.about import MASTER, REMOTES
from torchkeeper.settings.values import on
from torchkeeper.stores.redis.address import Address, from_environment

#: What has Triton use one (triton/runtime/cache.py).
_TRITON = ("TRITON_CACHE_MANAGER", "TRITON_REMOTE_CACHE_BACKEND")
#: Where torch looks without variables (torch/_inductor/remote_cache.py).
DEFAULT = str(Address("redis"))


def remote(values: Mapping[str, str], version: str | None = None) -> list[str]:
    """The switches that have torch use a server; none where all caches are off.

    should_use_remote_fx_graph_cache and others in torch/_inductor/utils.py and codecache.py, all by
    RedisRemoteCacheBackend.
    """
    if on(values, MASTER, version):
        return []
    return [name for name in REMOTES if on(values, name, version)]


def servers(values: Mapping[str, str], version: str | None = None) -> list[str]:
    """The names of the servers that are used, torch's first, without passwords; an address that is
    none is left out.
    """
    named = list(from_environment(values))
    found = []
    if remote(values, version):
        mine = [str(one.address) for one in named if not one.reason.startswith("TRITON")]
        asked = any(values.get(f"TORCHINDUCTOR_REDIS_{x}") for x in ("URL", "HOST", "PORT"))
        found = mine if mine or asked else [DEFAULT]
    manager, backend = (values.get(name, "") for name in _TRITON)
    if "RemoteCacheManager" in manager and "Redis" in backend:
        triton = [str(one.address) for one in named if one.reason.startswith("TRITON")]
        found += triton or [DEFAULT]
    return list(dict.fromkeys(found))
