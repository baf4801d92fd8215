"""The Redis servers that programs with some variables would use."""

from __future__ import annotations

from collections.abc import Mapping

from torchkeeper.settings.known import BY_NAME
from torchkeeper.settings.values import on
from torchkeeper.stores.redis.address import Address, from_environment

#: What has torch use a server: should_use_remote_fx_graph_cache and others in
#: torch/_inductor/compile_fx.py and codecache.py, all by RedisRemoteCacheBackend.
_SWITCHES = (
    "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE",
    "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE",
    "TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE",
    "TORCHINDUCTOR_BUNDLED_AUTOTUNE_REMOTE_CACHE",
    "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_REMOTE_PGO",
)
#: What has Triton use one (triton/runtime/cache.py).
_TRITON = ("TRITON_CACHE_MANAGER", "TRITON_REMOTE_CACHE_BACKEND")
_OFF = "TORCHINDUCTOR_FORCE_DISABLE_CACHES"
#: Where torch looks without variables (torch/_inductor/remote_cache.py).
DEFAULT = str(Address("redis"))


def remote(values: Mapping[str, str], version: str | None = None) -> list[str]:
    """The switches that have torch use a server; none where all caches are off."""
    known = [name for name in _SWITCHES if name in BY_NAME]
    if _OFF in BY_NAME and on(values, _OFF, version):
        return []
    return [name for name in known if on(values, name, version)]


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
