"""What a program noted of its compiles, read: what it runs in, and what it compiled, for people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from torchkeeper.client.hiding import is_secret
from torchkeeper.warm.options import PRECOMPILE

if TYPE_CHECKING:
    from torchkeeper.warm.recipes.tables import Settings

Note = Mapping[str, Any]

#: What is copied of the environment: what PyTorch compiles by, less what is of this run only.
_KEPT = re.compile(r"(?:TORCHINDUCTOR|TORCHDYNAMO|TORCH_COMPILE|TORCH|TRITON)_\w+")
_DROPPED = re.compile(
    r".*_(?:DIR|PATH|HOME|URL|REDIS|REMOTE|TRACE|LOGS?|DEBUG|DUMP|PROFIL\w*|THREADS|WORKERS?|SERVER"
    r"|PORT|ADDR|TOKEN|SECRET|PASSWORD|KEY)(?:_.*)?"
)
#: It is part of every key, and no secret (torch/_inductor/codecache.py, cache_key_tag).
_TAG = "TORCH_COMPILE_CACHE_KEY_TAG"
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
#: Backends that no cache is asked for (torch/_dynamo/backends/debugging.py).
NOT_CACHED = ("eager", "eager_noexcept", "eager_debug", "aot_eager", "aot_eager_decomp_partition")


def dicts(value: object) -> list[Note]:
    """The objects of a list; none of what is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def of_environment(note: Note) -> Settings:
    """What a recipe says by a name of its own: the threads, and headers that are not precompiled.

    The threads are those of the machine unless somebody has said otherwise.
    """
    env = note.get("environment")
    found: Settings = {}
    if not isinstance(env, Mapping):
        return found
    if env.get(PRECOMPILE) == "0":
        found["portable"] = True
    threads, cores = note.get("threads"), note.get("cores")
    asked = next((str(env[name]) for name in _THREADS if env.get(name)), "")
    if isinstance(threads, int) and (
        asked or (isinstance(cores, int) and threads not in (cores, cores // 2))
    ):
        found["threads"] = threads
    elif asked.isdigit():
        found["threads"] = int(asked)
    return found


def variables(env: Any) -> dict[str, str]:
    """What is copied of an environment."""
    if not isinstance(env, Mapping):
        return {}
    return {
        name: value
        for name, value in sorted(env.items())
        if isinstance(name, str)
        and isinstance(value, str)
        and _KEPT.fullmatch(name)
        and (
            name == _TAG
            or not (_DROPPED.fullmatch(name) or name == PRECOMPILE or is_secret(name, value))
        )
    }


def lines(one: Note) -> Iterator[str]:
    """What was compiled, for people: a line for each call."""
    args = one.get("args") if isinstance(one.get("args"), dict) else None
    told = {
        key: "…" if is_secret(key, value) else repr(value) for key, value in (args or {}).items()
    }
    said = ", ".join(f"{key}={value}" for key, value in told.items())
    name = str(one.get("name")) + (f"({said})" if one.get("kind") == "model" else "")
    for call in dicts(one.get("calls")):
        inputs = ", ".join(_input(value, key) for key, value in given(one, call)) or "no inputs"
        more = ", with backward" if call.get("backward") else ""
        more += ", for any size" if call.get("symbols") else ""
        more += ", which is not cached" if one.get("backend") in NOT_CACHED else ""
        yield f"{name}: {inputs}{more}"


def given(one: Note, call: Note) -> Iterator[tuple[str, Any]]:
    """The inputs of a call, each with its name; empty where that is not known."""
    names = _list(one.get("parameters"))
    for at, value in enumerate(_list(call.get("inputs"))):
        yield str(names[at]) if at < len(names) else "", value
    yield from _dict(call.get("keywords")).items()


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> Note:
    return value if isinstance(value, dict) else {}


def _input(value: Any, name: str) -> str:
    if isinstance(value, dict) and isinstance(value.get("shape"), list):
        size = "x".join(map(str, value["shape"])) or "scalar"
        return f"{value.get('dtype')} {size} on {value.get('device')}"
    if is_secret(name, value):
        return "…"
    if isinstance(value, dict):
        for form in ("list", "tuple"):
            if isinstance(value.get(form), list):
                return f"{form} of {', '.join(_input(one, name) for one in value[form][:4])}"
        return "None" if "none" in value else str(next(iter(value.values()), ""))[:40]
    return repr(value)[:40]
