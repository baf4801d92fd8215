"""Rules on Triton's own cache (triton/knobs.py, triton/runtime/cache.py)."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

from torchkeeper.settings.checks.about import About, Values
from torchkeeper.settings.checks.texts import whole
from torchkeeper.settings.finding import Finding
from torchkeeper.settings.known import at_least, on

_MANAGER, _BACKEND = "TRITON_CACHE_MANAGER", "TRITON_REMOTE_CACHE_BACKEND"
_FORMAT, _HOST, _PORT = "TRITON_REDIS_KEY_FORMAT", "TRITON_REDIS_HOST", "TRITON_REDIS_PORT"
_REMOTE = "triton.runtime.cache:RemoteCacheManager"
_REDIS = "triton.runtime.cache:RedisRemoteCacheBackend"
#: From here on Triton's Redis backend asks knobs.cache for what is in knobs.redis.
_BROKEN = "3.4"
_CLASS = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
_FIELDS = ("key", "filename")


def compiling(values: Values, _: About) -> Iterator[Finding]:
    """Kernels are compiled anew each time, or not at all."""
    always, interprets = "TRITON_ALWAYS_COMPILE", "TRITON_INTERPRET"
    if on(values, always):
        yield Finding("triton-compiles-always", "error", (always,), change={always: None})
    if on(values, interprets):
        yield Finding("triton-interprets", "error", (interprets,), change={interprets: None})


def classes(values: Values, _: About) -> Iterator[Finding]:
    """Each kernel's compile ends in an error."""
    for name in (_MANAGER, _BACKEND):
        used = name == _MANAGER or values.get(_MANAGER) == _REMOTE
        if name in values and not _CLASS.fullmatch(values[name]):
            yield Finding("class-unreadable", "error" if used else "warning", (name,),
                          params={"name": name}, change={name: None})  # fmt: skip


def manager_alone(values: Values, _: About) -> Iterator[Finding]:
    """Triton's manager of remote caches does nothing without a class that reaches a server."""
    if values.get(_MANAGER) == _REMOTE and _BACKEND not in values:
        yield Finding("triton-manager-alone", "error", (_MANAGER, _BACKEND),
                      change={_MANAGER: None})  # fmt: skip


def backend_alone(values: Values, _: About) -> Iterator[Finding]:
    """Without a manager that asks it, the class is never used."""
    if values.get(_BACKEND, _REDIS) != _REDIS and _MANAGER not in values:
        yield Finding("triton-backend-alone", "warning", (_BACKEND, _MANAGER),
                      change={_MANAGER: _REMOTE})  # fmt: skip


def redis_broken(values: Values, about: About) -> Iterator[Finding]:
    """Seen in Triton 3.4.0, 3.5.1, 3.6.0 and 3.7.1: 'cache_knobs' has no attribute 'redis'."""
    if values.get(_BACKEND) != _REDIS or not at_least(about.triton, _BROKEN):
        return
    used = values.get(_MANAGER) == _REMOTE
    change = dict.fromkeys((_BACKEND, _MANAGER) if used else (_BACKEND,))
    yield Finding("triton-redis-broken", "error" if used else "warning", (_BACKEND, _MANAGER),
                  change=change)  # fmt: skip


def redis_unused(values: Values, _: About) -> Iterator[Finding]:
    """Only Triton's Redis backend reads them."""
    named = [x for x in (_HOST, _PORT, _FORMAT) if x in values]
    if named and _BACKEND not in values:
        yield Finding("triton-redis-unused", "warning", tuple(named),
                      params={"names": ", ".join(named)}, change=dict.fromkeys(named))  # fmt: skip


def key_format(values: Values, _: About) -> Iterator[Finding]:
    """Without both fields, files of one kernel, or kernels of one name, take each other's place."""
    text = values.get(_FORMAT)
    if text is None:
        return
    try:
        fields = [field for _, field, _, _ in string.Formatter().parse(text) if field is not None]
    except ValueError:
        fields = None
    if fields is None or any(field not in _FIELDS for field in fields):
        yield Finding("key-format-unreadable", "error", (_FORMAT,), change={_FORMAT: None})
    elif missing := [field for field in _FIELDS if field not in fields]:
        yield Finding("key-format-incomplete", "error", (_FORMAT,),
                      params={"missing": ", ".join(f"{{{x}}}" for x in missing)},
                      change={_FORMAT: None})  # fmt: skip


def port(values: Values, _: About) -> Iterator[Finding]:
    """Triton takes no other text for a port than a number, and fails."""
    text = values.get(_PORT)
    if text is not None and not (whole(text) and 0 < int(text) < 65536):
        yield Finding("triton-port-wrong", "error", (_PORT,), change={_PORT: None})


RULES = (
    compiling, classes, manager_alone, backend_alone, redis_broken, redis_unused, key_format, port,
)  # fmt: skip
