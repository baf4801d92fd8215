"""AOTAutograd's own settings: they are part of its keys, and no entry tells of them."""

from __future__ import annotations

import importlib.util
import os
import re
import sys

from torchkeeper.artifacts.entry import Problem
from torchkeeper.stores.redis import address
from torchkeeper.verdict import judging
from torchkeeper.verdict.probed import Env

#: Characters of a value.
_VALUE = 200
#: The setting that a program needs that looks into a server; keys are made of it, too.
_REMOTE = "enable_remote_autograd_cache"
_VARIABLE = re.compile(r"[\"']([A-Z][A-Z0-9_]{2,80})[\"']")


def settings() -> dict[str, str] | None:
    """``{name: value}`` of each setting of torch/_functorch/config.py that variables of this
    process make another than torch's own, which entries are taken to have; None where not known.
    """
    try:
        from torch._dynamo import config as dynamo  # noqa: TID251
        from torch._functorch import config  # noqa: TID251

        passed = getattr(config, "_save_config_ignore", ())
        own, here = _plain(str(config.__file__)), config.get_config_copy()
        found = {
            name: str(value)[:_VALUE]
            for name, value in here.items()
            if name not in passed and value != own.get(name)
        }
        if getattr(dynamo, "caching_precompile", False):
            # It also makes AOTAutograd's entries others (bundled_autograd_cache).
            found["caching_precompile"] = "True"
    except Exception:  # noqa: BLE001  # an older or newer torch may be built otherwise
        return None
    return found


def _plain(path: str) -> dict[str, object]:
    """The settings that a module of settings has without the variables that it names."""
    with open(path, encoding="utf-8") as file:
        named = set(_VARIABLE.findall(file.read()))
    name = f"{__name__}_of_torch"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    before = {variable: os.environ.pop(variable) for variable in named & os.environ.keys()}
    sys.modules[name] = module  # where it looks for itself
    try:
        spec.loader.exec_module(module)
        # A setting asks for its variable when it is made, and some when they are read.
        return dict(module.get_config_copy())
    finally:
        del sys.modules[name]
        os.environ.update(before)


# Whether programs of an environment look for an entry on the server that it is on.
# PyTorch asks a server only where that is said, for each kind by a switch of its own, and asks the
# one that it is told of: whatever is elsewhere is found under conditions.

#: The remote caches, by the names of ``verdict.environment.remote``: that of an entry's kind must
#: be on; AOTAutograd's entries are of use with their graphs.
_CACHES = ("fxgraph", "aotautograd", "autotune", "bundle", "pgo", "triton")
#: Which no switch for all turns off.
_ALONE = frozenset({"bundle", "triton"})
#: What stands for this machine.
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def looked_for(kind: str, key: str, place: str, said: judging.Verdict, env: Env) -> judging.Verdict:
    """The verdict on the server ``place`` of an entry whose verdict by itself is given."""
    cache = "bundle" if kind == "autotune" and key.startswith("bundled-") else kind
    if kind == "aotautograd":
        # As programs are that look into a server.
        here = env.get("autograd")
        asking: Env = env if here is None else {**env, "autograd": {_REMOTE: "True", **here}}
        said = judging.same_autograd(said, asking)
    if (remote := env.get("remote")) is None:
        return judging.under(said, (), (judging.Difference(f"{cache} remote cache"),))
    needed = ("fxgraph", cache) if kind == "aotautograd" else (cache,)
    off = [name for name in needed if name in _CACHES and not remote.get(name)]
    conditions = [judging.Difference(f"{name} remote cache", "on", "off") for name in off]
    if remote["disabled"] and cache not in _ALONE:
        conditions.append(judging.Difference("caches", "on", "off"))
    asked = remote["triton_server"] if kind == "triton" else remote["server"]
    if not _same(place, asked):
        server = "triton_server" if kind == "triton" else "server"
        conditions.append(judging.Difference(server, place, asked))
    if not remote["redis"]:
        conditions.append(judging.Difference("redis package", "needed", None))
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
