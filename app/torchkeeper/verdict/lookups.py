"""Where the programs of an environment look for entries at all: which caches are on, and on which
server the remote ones are.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os

from torchkeeper.settings import servers
from torchkeeper.verdict.probed import Remote

#: Of torch._dynamo.config, ``debug_…_override``: some graphs of a program are compiled otherwise.
_OVERRIDDEN = ("backend", "dynamo_config", "inductor_config")


def caches() -> dict[str, bool | None]:
    """Whether programs look into the folder for graphs at all, by kind; None where not known."""
    found: dict[str, bool | None] = {"fxgraph": None, "aotautograd": None}
    with contextlib.suppress(Exception):
        from torch._functorch import config as functorch  # noqa: TID251
        from torch._inductor import config as inductor  # noqa: TID251

        if (disabled := _disabled()) is None:
            return found
        # FxGraphCache.prepare_key is not called for a bundle (compile_fx_inner).
        bundled = getattr(functorch, "bundled_autograd_cache", False)
        found["fxgraph"] = not disabled and bool(inductor.fx_graph_cache) and not bundled
        # AOTAutograd's goes with any cache of graphs (check_cacheable in autograd_cache.py).
        graphs = inductor.fx_graph_cache or inductor.fx_graph_remote_cache
        on = not disabled and graphs and getattr(functorch, "enable_autograd_cache", False)
        found["aotautograd"] = bool(on)
    return found


def remote() -> Remote | None:
    """What programs look for on a server; None where not known.

    A remote cache is on as should_use_remote_fx_graph_cache in torch/_inductor/utils.py and its
    like say of a PyTorch that is published: only where that is said, by a variable or in Python.
    """
    try:
        from torch._dynamo import config as dynamo  # noqa: TID251
        from torch._functorch import config as functorch  # noqa: TID251
        from torch._inductor import config as inductor  # noqa: TID251

        if (disabled := _disabled()) is None:
            return None
        return {
            "disabled": disabled,
            "redis": importlib.util.find_spec("redis") is not None,
            "server": servers.of_torch(os.environ),
            "triton_server": servers.of_triton(os.environ),
            "fxgraph": bool(inductor.fx_graph_remote_cache),
            "aotautograd": bool(functorch.enable_remote_autograd_cache),
            "autotune": bool(inductor.autotune_remote_cache),
            # Its results go through the local one (AutotuneCacheBundler in autotune_cache.py).
            "bundle": bool(
                inductor.bundled_autotune_remote_cache and inductor.autotune_local_cache
            ),
            "pgo": bool(dynamo.automatic_dynamic_remote_pgo),
            "triton": servers.triton_asks(os.environ),
        }
    except Exception:  # noqa: BLE001  # an older or newer torch may be built otherwise
        return None


def _disabled() -> bool | None:
    """Whether nothing is looked for; None where only some graphs of a program are compiled so."""
    from torch._dynamo import config as dynamo  # noqa: TID251
    from torch._inductor import config as inductor  # noqa: TID251

    if any(getattr(dynamo, f"debug_{name}_override", "") for name in _OVERRIDDEN):
        return None
    # Where torch.compile itself is off, nothing is looked for.
    return bool(
        getattr(inductor, "force_disable_caches", False)
        or getattr(dynamo, "disable", False)
        or os.environ.get("TORCHDYNAMO_DISABLE") == "1"
    )
