"""The rules between settings: what a set of them would do, told before anything runs.

Only texts are looked at, so that a form can ask with every key that is typed; what has to be looked
up, as whether a server answers, is the doctor's (``doctor.interpreter``).
"""

from __future__ import annotations

import ipaddress
import re
import string
from collections.abc import Iterator

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.masking import MOST, brief
from torchkeeper.settings import texts
from torchkeeper.settings.finding import SEVERITIES, About, Finding, Rule, Values
from torchkeeper.settings.known import (
    AUTOGRAD,
    BUNDLED,
    BY_NAME,
    GRAPHS,
    HOST,
    JOB,
    LOCAL_PROFILES,
    MASTER,
    PORT,
    REMOTE_AUTOGRAD,
    REMOTE_GRAPHS,
    REMOTE_PROFILES,
    SETTINGS,
    URL,
    at_least,
    decides,
    on,
    remotes,
    there,
    value,
)
from torchkeeper.settings.masks import HIDDEN, shown
from torchkeeper.stores.redis import SCHEMES, address

_COMPILE_OFF = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")
_PRECOMPILE, _FREEZING = "TORCH_CACHING_PRECOMPILE", "TORCHINDUCTOR_FREEZING"
#: What has no effect without another: the others that rules of their own tell more of are not here.
_NEEDY = (
    "TORCHINDUCTOR_AUTOGRAD_CACHE_ALLOW_CUSTOM_AUTOGRAD",
    _PRECOMPILE,
    "TORCH_STRICT_PRECOMPILE",
    "TORCHINDUCTOR_DUMP_MEMOIZER_CACHE",
    "TORCHINDUCTOR_CACHE_DUMP_FILE_PATH",
)
#: What turns a cache on, so that somebody wants one.
_CACHES = (GRAPHS, "TORCHINDUCTOR_FX_GRAPH_CACHE_DEFAULT", AUTOGRAD, LOCAL_PROFILES, _PRECOMPILE)
_KEYS = tuple(one for one in SETTINGS if one.in_key)


def master(values: Values, about: About) -> Iterator[Finding]:
    """The master switch turns off what others turn on."""
    if not on(values, MASTER, about.torch):
        return
    name = decides(values, MASTER, about.torch) or MASTER
    change: dict[str, str | None] = {one: None for one in BY_NAME[MASTER].same if one in values}
    wanted = [one for one in _CACHES if one in values and on(values, one, about.torch)]
    if wanted := wanted + remotes(values, about.torch):
        params = {"name": name, "others": ", ".join(wanted)}
        yield Finding("caches-off-others", "error", (name, *wanted), params=params, change=change)
    else:
        yield Finding("caches-off", "error", (name,), params={"name": name}, change=change)


def graphs(values: Values, about: About) -> Iterator[Finding]:
    """Without a cache of graphs, local or remote, AOTAutograd keeps nothing either."""
    version = about.torch
    if on(values, MASTER, version) or on(values, GRAPHS, version):
        return
    name = decides(values, GRAPHS, version)
    if name is None or on(values, REMOTE_GRAPHS, version):
        return
    if any(x in values and on(values, x, version) for x in (AUTOGRAD, REMOTE_AUTOGRAD)):
        yield Finding("autograd-without-graphs", "error", (name, AUTOGRAD), params={"name": name},
                      change={name: "1"})  # fmt: skip
    else:
        yield Finding("graphs-off", "error", (name,), params={"name": name}, change={name: "1"})


def compiling(values: Values, about: About) -> Iterator[Finding]:
    """Compiling itself is off."""
    if off := [name for name in _COMPILE_OFF if on(values, name, about.torch)]:
        yield Finding("compiling-off", "error", tuple(off), params={"name": off[0]},
                      change=dict.fromkeys(off))  # fmt: skip


def freezing(values: Values, about: About) -> Iterator[Finding]:
    """AOTAutograd bypasses its cache then (check_cacheable in autograd_cache.py)."""
    if on(values, _FREEZING, about.torch):
        yield Finding("freezing-uncached", "warning", (_FREEZING,), change={_FREEZING: None})


def precompile(values: Values, about: About) -> Iterator[Finding]:
    """It is written by torch.compiler.save_cache_artifacts only."""
    if on(values, _PRECOMPILE, about.torch):
        yield Finding("precompile-unsaved", "advice", (_PRECOMPILE,))


def needs(values: Values, about: About) -> Iterator[Finding]:
    """A setting that has no effect without another."""
    for name in _NEEDY:
        setting = BY_NAME[name]
        asked = on(values, name, about.torch) if setting.type == "switch" else values.get(name)
        for need in setting.needs if name in values and asked else ():
            if there(BY_NAME[need], about.torch) and not on(values, need, about.torch):
                yield Finding("needs-missing", "warning", (name, need),
                              params={"name": name, "need": need}, change={need: "1"})  # fmt: skip


def idle(values: Values, _: About) -> Iterator[Finding]:
    """Nothing that is published reads it."""
    name = "TORCHINDUCTOR_NON_BLOCKING_REMOTE_CACHE_WRITE"
    if name in values:
        yield Finding("setting-idle", "advice", (name,), params={"name": name}, change={name: None})


def keys(values: Values, about: About) -> Iterator[Finding]:
    """What is part of the keys, where it is not as it is without anybody setting it."""
    for setting in _KEYS:
        text = values.get(setting.name)
        if text is None or not there(setting, about.torch):
            continue
        try:
            differs = value(setting, text, about.torch) != value(setting, None, about.torch)
        except ValueError:
            continue  # a rule of its own
        if differs and text:
            yield Finding("value-in-keys", "advice", (setting.name,), params={"name": setting.name})


# Profiles of jobs (torch/_dynamo/pgo.py).

_STICKY = ("TORCH_COMPILE_STICKY_PGO_READ", "TORCH_COMPILE_STICKY_PGO_WRITE")
_RESERVED = "mast:"


def job_name(values: Values, about: About) -> Iterator[Finding]:
    """Names that end every compile, or are as good as none."""
    name = decides(values, JOB, about.torch)
    if name is None or on(values, MASTER, about.torch):
        return
    text = values[name]
    if text in ("0", "1"):
        yield Finding("job-is-number", "error", (name,), params={"name": name, "text": text},
                      change={name: f"job-{text}"})  # fmt: skip
    elif text.startswith(_RESERVED):
        yield Finding("job-reserved", "error", (name,), params={"name": name},
                      change={name: f"job-{text[len(_RESERVED):]}"})  # fmt: skip
    elif not text:
        yield Finding("job-empty", "warning", (name,), params={"name": name}, change={name: None})


def without_job(values: Values, about: About) -> Iterator[Finding]:
    """Without the name of a job no profile is kept, whatever is on."""
    asked = [x for x in (REMOTE_PROFILES, LOCAL_PROFILES) if x in values and on(values, x)]
    asked += [x for x in _STICKY if values.get(x)]
    if asked and decides(values, JOB, about.torch) is None:
        yield Finding("profile-without-job", "warning", (asked[0], JOB), params={"name": asked[0]})


def unused_job(values: Values, about: About) -> Iterator[Finding]:
    """A job whose profile is kept nowhere."""
    name = decides(values, JOB, about.torch)
    kept = on(values, LOCAL_PROFILES, about.torch) or on(values, REMOTE_PROFILES, about.torch)
    if name and not kept:
        yield Finding("job-unused", "warning", (name, LOCAL_PROFILES), params={"name": name},
                      change={LOCAL_PROFILES: None})  # fmt: skip


def sticky(values: Values, about: About) -> Iterator[Finding]:
    """Profiles of other jobs are read from a server, and written to one, only."""
    asked = [x for x in _STICKY if values.get(x)]
    if asked and not on(values, REMOTE_PROFILES, about.torch):
        yield Finding("sticky-without-server", "warning", (asked[0], REMOTE_PROFILES),
                      params={"name": asked[0]}, change={REMOTE_PROFILES: "1"})  # fmt: skip
    for name in asked:
        if values[name] in ("0", "1"):
            read = "True" if values[name] == "1" else "False"
            yield Finding("sticky-is-number", "warning", (name,),
                          params={"name": name, "read": read}, change={name: None})  # fmt: skip


# The caches on a Redis server. Params never hold what is typed for one: a password may be in it.

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
    if about.redis is False and (used := remotes(values, about.torch)):
        yield Finding("redis-missing", "error", tuple(used))


def no_server(values: Values, about: About) -> Iterator[Finding]:
    """PyTorch looks on this machine then, waits some seconds and says nothing."""
    if not any(x in values for x in (URL, HOST, PORT)) and (used := remotes(values, about.torch)):
        yield Finding("server-not-named", "warning", (used[0], URL))


def server_unused(values: Values, about: About) -> Iterator[Finding]:
    """A server alone turns nothing on."""
    named = [x for x in (URL, HOST, PORT) if x in values]
    if named and not remotes(values, about.torch):
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
    if text is None or URL in values or (texts.whole(text) and 0 < int(text) < 65536):
        return
    yield Finding("port-wrong", "error", (PORT,), change={PORT: None})


# Triton's own cache (triton/knobs.py, triton/runtime/cache.py).

_MANAGER, _BACKEND = "TRITON_CACHE_MANAGER", "TRITON_REMOTE_CACHE_BACKEND"
_TRITON_HOST, _TRITON_PORT = "TRITON_REDIS_HOST", "TRITON_REDIS_PORT"
_FORMAT = "TRITON_REDIS_KEY_FORMAT"
_REMOTE = "triton.runtime.cache:RemoteCacheManager"
_REDIS = "triton.runtime.cache:RedisRemoteCacheBackend"
#: From here on Triton's Redis backend asks knobs.cache for what is in knobs.redis.
_BROKEN = "3.4"
_CLASS = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
_FIELDS = ("key", "filename")


def kernels_anew(values: Values, _: About) -> Iterator[Finding]:
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
    named = [x for x in (_TRITON_HOST, _TRITON_PORT, _FORMAT) if x in values]
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


def triton_port(values: Values, _: About) -> Iterator[Finding]:
    """Triton takes no other text for a port than a number, and fails."""
    text = values.get(_TRITON_PORT)
    if text is not None and not (texts.whole(text) and 0 < int(text) < 65536):
        yield Finding("triton-port-wrong", "error", (_TRITON_PORT,), change={_TRITON_PORT: None})


#: Each rule by itself; a test of each sets it up for real (tests/settings).
RULES: tuple[Rule, ...] = (
    master, graphs, compiling, freezing, precompile, needs, idle, keys,
    remote_autograd_alone, bundled_without_gpu, redis_missing, no_server, server_unused,
    url_and_host, url, url_password, host, port,
    *texts.TEXTS,
    job_name, without_job, unused_job, sticky,
    *texts.FOLDERS,
    kernels_anew, classes, manager_alone, backend_alone, redis_broken, redis_unused,
    key_format, triton_port,
)  # fmt: skip


def check(values: Values, about: About | None = None) -> list[Finding]:
    """What is wrong with some variables (name: text), the worst first."""
    found = [finding for rule in RULES for finding in rule(values, about or About())]
    return sorted(found, key=lambda one: SEVERITIES.index(one.severity))
