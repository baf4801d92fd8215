"""The Redis servers, and all places, that programs with some variables would use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from torchkeeper.settings.known import MASTER, on, remotes
from torchkeeper.stores.redis.address import Address, from_environment

#: What has Triton use one (triton/runtime/cache.py).
_TRITON = ("TRITON_CACHE_MANAGER", "TRITON_REMOTE_CACHE_BACKEND")
#: Where torch looks without variables (torch/_inductor/remote_cache.py).
DEFAULT = str(Address("redis"))


def remote(values: Mapping[str, str], version: str | None = None) -> list[str]:
    """The switches that have torch use a server, none where all caches are off: as
    should_use_remote_fx_graph_cache and others in torch/_inductor/utils.py and codecache.py.
    """
    return [] if on(values, MASTER, version) else remotes(values, version)


def has_graphs(values: Mapping[str, str]) -> bool:
    """Whether a program looks for graphs on a server, too."""
    return values.get("TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE") == "1"


def triton_asks(values: Mapping[str, str]) -> bool:
    """Whether Triton uses a server."""
    manager, backend = (values.get(name, "") for name in _TRITON)
    return "RemoteCacheManager" in manager and "Redis" in backend


def of_torch(values: Mapping[str, str]) -> str | None:
    """The server that torch uses if any, without a password; None where what is set is none."""
    asked = any(values.get(f"TORCHINDUCTOR_REDIS_{x}") for x in ("URL", "HOST", "PORT"))
    return _named(values, "TORCHINDUCTOR") if asked else DEFAULT


def of_triton(values: Mapping[str, str]) -> str | None:
    """The server that Triton uses if any, without a password."""
    return _named(values, "TRITON") or DEFAULT


def _named(values: Mapping[str, str], reason: str) -> str | None:
    named = (str(x.address) for x in from_environment(values) if x.reason.startswith(reason))
    return next(named, None)


def servers(values: Mapping[str, str], version: str | None = None) -> list[str]:
    """The servers that are used, torch's first, without passwords; none that is no address."""
    found = [of_torch(values)] if remote(values, version) else []
    found += [of_triton(values)] if triton_asks(values) else []
    return list(dict.fromkeys(one for one in found if one))


def places_of(facts: Mapping[str, Any], values: Mapping[str, str]) -> list[str]:
    """What programs of an environment use: the cache folder, Triton's, and servers."""
    folders = [facts.get("cache_dir"), values.get("TRITON_CACHE_DIR")]
    found = [os.path.abspath(folder) for folder in folders if folder]
    return list(dict.fromkeys([*found, *servers(values, facts.get("torch"))]))
