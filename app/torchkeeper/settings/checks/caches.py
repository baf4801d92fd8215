"""Rules on what is kept at all, and under which keys."""

from __future__ import annotations

from collections.abc import Iterator

from torchkeeper.settings.checks.about import (
    AUTOGRAD,
    GRAPHS,
    MASTER,
    REMOTE_AUTOGRAD,
    REMOTE_GRAPHS,
    About,
    Values,
    remotes,
)
from torchkeeper.settings.finding import Finding
from torchkeeper.settings.known import BY_NAME, SETTINGS, decides, on, there, value

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
_CACHES = (
    GRAPHS, "TORCHINDUCTOR_FX_GRAPH_CACHE_DEFAULT", AUTOGRAD,
    "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_LOCAL_PGO", _PRECOMPILE,
)  # fmt: skip
_KEYS = tuple(one for one in SETTINGS if one.in_key)


def master(values: Values, about: About) -> Iterator[Finding]:
    """The master switch turns off what others turn on."""
    if not on(values, MASTER, about.torch):
        return
    name = decides(values, MASTER, about.torch) or MASTER
    change: dict[str, str | None] = {one: None for one in BY_NAME[MASTER].same if one in values}
    wanted = [one for one in _CACHES if one in values and on(values, one, about.torch)]
    if wanted := wanted + remotes(values, about):
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
    off = [name for name in _COMPILE_OFF if on(values, name, about.torch)]
    if off:
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
        yield Finding("setting-idle", "advice", (name,), params={"name": name},
                      change={name: None})  # fmt: skip


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
            yield Finding("value-in-keys", "advice", (setting.name,),
                          params={"name": setting.name})  # fmt: skip


RULES = (master, graphs, compiling, freezing, precompile, needs, idle, keys)
