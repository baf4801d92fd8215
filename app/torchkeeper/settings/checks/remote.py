"""Rules on the caches on a Redis server.

Params never hold what is typed for a server: a password may stand in any of it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.masking import MOST, brief
from torchkeeper.settings.checks.about import (
    BUNDLED,
    HOST,
    PORT,
    REMOTE_AUTOGRAD,
    REMOTE_GRAPHS,
    URL,
    About,
    Values,
    remotes,
)
from torchkeeper.settings.checks.texts import whole
from torchkeeper.settings.finding import Finding
from torchkeeper.settings.known import on
from torchkeeper.settings.masks import HIDDEN, shown
from torchkeeper.stores.redis import SCHEMES, address

_HOST_AND_PORT = re.compile(r"([\w.-]+):(\d{1,5})", re.ASCII)
#: What no name of a host has.
_NO_HOST = re.compile(r"[\s/:@?#\[\]'\"$~,;]")


def remote_autograd_alone(values: Values, about: About) -> Iterator[Finding]:
    """The remote AOTAutograd cache names graphs that only the remote FX graph cache has."""
    if on(values, REMOTE_AUTOGRAD, about.torch) and not on(values, REMOTE_GRAPHS, about.torch):
        yield Finding("remote-autograd-alone", "error", (REMOTE_AUTOGRAD, REMOTE_GRAPHS),
                      change={REMOTE_GRAPHS: "1"})  # fmt: skip


def bundled_without_gpu(values: Values, about: About) -> Iterator[Finding]:
    """Every compile is an AssertionError then (_get_backend_hash in autotune_cache.py)."""
    if on(values, BUNDLED, about.torch) and not about.gpu and about.redis is not False:
        yield Finding("bundled-autotune-no-gpu", "warning" if about.gpu is None else "error",
                      (BUNDLED,), change={BUNDLED: None})  # fmt: skip


def redis_missing(values: Values, about: About) -> Iterator[Finding]:
    """PyTorch warns once for each cache, and goes on without it."""
    if about.redis is False and (used := remotes(values, about)):
        yield Finding("redis-missing", "error", tuple(used))


def no_server(values: Values, about: About) -> Iterator[Finding]:
    """PyTorch looks on this machine then, waits some seconds and says nothing."""
    if not any(x in values for x in (URL, HOST, PORT)) and (used := remotes(values, about)):
        yield Finding("server-not-named", "warning", (used[0], URL))


def server_unused(values: Values, about: About) -> Iterator[Finding]:
    """A server alone turns nothing on."""
    named = [x for x in (URL, HOST, PORT) if x in values]
    if named and not remotes(values, about):
        yield Finding("server-unused", "warning", (named[0], REMOTE_GRAPHS),
                      params={"name": named[0]}, change={REMOTE_GRAPHS: "1"})  # fmt: skip


def url_and_host(values: Values, _: About) -> Iterator[Finding]:
    """The URL wins."""
    more = [x for x in (HOST, PORT) if x in values]
    if URL in values and more:
        yield Finding("url-and-host", "warning", (more[0], URL),
                      params={"names": ", ".join(more)}, change=dict.fromkeys(more))  # fmt: skip


def url(values: Values, _: About) -> Iterator[Finding]:
    """PyTorch warns in its log that there is no remote cache, or asks another server."""
    text = values.get(URL)
    if text is None:
        return
    if text.startswith(SCHEMES):  # small letters only, as parse_url in redis/connection.py
        try:
            address.parse(text)
        except Problem:
            yield Finding("url-unreadable", "error", (URL,))
        return
    found = _HOST_AND_PORT.fullmatch(text)
    change: dict[str, str | None] = {}
    if found and HOST not in values and PORT not in values:
        change = {URL: f"redis://{found[1]}:{found[2]}/0"}
    elif not text:
        change = {URL: None}
    yield Finding("url-scheme", "error", (URL,), change=change)


def url_password(values: Values, _: About) -> Iterator[Finding]:
    """Every entry that is made records every variable that begins with TORCH: the program that
    repeats its graph, which torch 2.14 makes only for a trace (_inductor/compile_fx.py).
    """
    if URL in values and _password(values[URL]):
        yield Finding("url-password", "warning", (URL,))


def _password(text: str) -> bool:
    """Whether there is one for certain: a user alone is hidden, too, and what is no address."""
    told = shown(URL, text)
    if told != HIDDEN:
        return told != text and f"://{HIDDEN}@" not in told
    after = text.partition("://")[2] or text
    return "@" in text or brief(after, MOST) != after


def host(values: Values, _: About) -> Iterator[Finding]:
    """PyTorch reaches no server, waits some seconds and says nothing."""
    text = values.get(HOST)
    if text is None or URL in values or (text and not _NO_HOST.search(text)):
        return
    try:
        ipaddress.ip_address(text)
    except ValueError:
        found = _HOST_AND_PORT.fullmatch(text)
        change: dict[str, str | None] = {}
        if found and PORT not in values:
            change = {HOST: found[1], PORT: found[2]}
        elif not text:
            change = {HOST: None}
        yield Finding("host-wrong", "error", (HOST,), change=change)


def port(values: Values, _: About) -> Iterator[Finding]:
    """A text: there is no remote cache. Another number: no server, and nothing is said."""
    text = values.get(PORT)
    if text is None or URL in values or (whole(text) and 0 < int(text) < 65536):
        return
    yield Finding("port-wrong", "error", (PORT,), change={PORT: None})


RULES = (
    remote_autograd_alone, bundled_without_gpu, redis_missing, no_server, server_unused,
    url_and_host, url, url_password, host, port,
)  # fmt: skip
