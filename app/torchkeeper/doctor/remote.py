"""Whether a Redis server is of use to a cache, and for how long.

What PyTorch 2.13.0 does (torch/_inductor/remote_cache.py): where it cannot connect, or its password
is refused, it says nothing and goes on without the server; where a write is refused it logs a
warning, and keeps nothing there. It never sets an expiry. A password that a server does not want
has redis-py 5.0 and 6.4 refused, and not 8.1, which names the default user beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from torchkeeper.doctor.check import ServerLook
from torchkeeper.settings.finding import Finding
from torchkeeper.stores.redis.server import Server

_URL = ("TORCHINDUCTOR_REDIS_URL",)
#: Of its memory, from where on a server that evicts nothing is as good as full.
_FULL = 0.9


def reachable(look: ServerLook) -> Iterator[Finding]:
    """Whether it can be used. Raises Problem where nobody has told us its password."""
    if (problem := look.problem) is None:
        return
    if not look.role and problem.code == "password-needed":
        raise problem  # that nobody has told us its password is nothing wrong with it
    settings = _URL if look.role == "torch" else ()
    # Nothing of what the server said: it may quote what it was told.
    params = {n: value for n, value in problem.params.items() if n in ("host", "path", "file")}
    about = {"problem": problem.code, **params}
    if problem.code in ("password-wrong", "password-needed"):
        yield Finding("server-password", "error", settings, look.place, about)
    elif problem.code == "password-unneeded":
        yield Finding("server-wants-none", "warning", settings, look.place, about)
    else:
        yield Finding("server-unusable", "error", settings, look.place, about)


def _page(look: ServerLook) -> Server:
    """What it says of itself. Raises the Problem with it."""
    if look.page is None:
        assert look.problem is not None
        raise look.problem
    return look.page


def exposed(look: ServerLook) -> Iterator[Finding]:
    """Who else can write to it (stores.redis.exposed)."""
    for one in _page(look).owners:
        severity = "warning" if one["grave"] else "advice"
        yield Finding("folder-owned", severity, (), look.place, {"owned": one})


def writes(look: ServerLook) -> Iterator[Finding]:
    """Whether entries can be written."""
    page = _page(look)
    if (code := page.changes.get("copy")) is None:
        return
    about = {"problem": code, "role": page.role}
    if code == "server-read-only":
        yield Finding("server-replica", "error", _URL, look.place, about)
    elif code == "server-out-of-memory":
        more = {"used_bytes": page.used_memory, "max_bytes": page.max_memory}
        yield Finding("server-full-up", "error", (), look.place, {**about, **more})
    else:
        yield Finding("server-refuses-writes", "error", (), look.place, about)


def memory(look: ServerLook) -> Iterator[Finding]:
    """What it does when its memory is full, and whether that is soon."""
    page = _page(look)
    about = {"policy": page.policy, "used_bytes": page.used_memory, "max_bytes": page.max_memory,
             "evicted": page.evicted, "keys": page.keys}  # fmt: skip
    keeps = page.policy == "noeviction" or "evicts-nothing-of-ours" in page.meanings
    full = (page.used_memory or 0) > _FULL * (page.max_memory or inf)
    if keeps and full and not page.changes.get("copy"):
        yield Finding("server-nearly-full", "warning", (), look.place, about)
    if "policy-noeviction-no-limit" in page.meanings:
        yield Finding("server-no-limit", "advice", (), look.place, about)
    if "evicts-nothing-of-ours" in page.meanings:
        yield Finding("server-evicts-nothing", "warning", (), look.place, about)
    if "evicting" in page.meanings:
        yield Finding("server-evicting", "advice", (), look.place, about)


def expiry(look: ServerLook) -> Iterator[Finding]:
    """Whether anything on it ever expires, where nothing else makes room."""
    page = _page(look)
    evicts_any = bool(page.max_memory) and (page.policy or "").startswith("allkeys-")
    if "never-expires" in page.meanings and not evicts_any:
        about = {"keys": page.keys, "used_bytes": page.used_memory}
        yield Finding("server-never-expires", "advice", (), look.place, about)
