"""What a rule is given, and what it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from torchkeeper.settings.finding import Finding
from torchkeeper.settings.known import SETTINGS, on


class About(NamedTuple):
    """What is known of where the settings are for; None for what is not. torch, triton: versions.
    gpu: whether torch sees one. redis: whether Python's redis package is there. variables: names of
    all other variables that are set there.
    """

    torch: str | None = None
    triton: str | None = None
    gpu: bool | None = None
    redis: bool | None = None
    variables: frozenset[str] | None = None


def about_of(facts: Mapping[str, Any]) -> About:
    """What a probe told of an interpreter (``verdict.environment.probe``), as far as rules ask."""
    devices = facts.get("devices")
    gpu = None if devices is None else any(one["type"] != "cpu" for one in devices)
    return About(facts.get("torch"), facts.get("triton"), gpu)


Values = Mapping[str, str]
Rule = Callable[[Values, About], Iterator[Finding]]

MASTER = "TORCHINDUCTOR_FORCE_DISABLE_CACHES"
GRAPHS = "TORCHINDUCTOR_FX_GRAPH_CACHE"
REMOTE_GRAPHS = "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE"
AUTOGRAD = "TORCHINDUCTOR_AUTOGRAD_CACHE"
REMOTE_AUTOGRAD = "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE"
BUNDLED = "TORCHINDUCTOR_BUNDLED_AUTOTUNE_REMOTE_CACHE"
REMOTE_PROFILES = "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_REMOTE_PGO"
LOCAL_PROFILES = "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_LOCAL_PGO"
JOB = "TORCH_COMPILE_JOB_ID"
URL = "TORCHINDUCTOR_REDIS_URL"
HOST = "TORCHINDUCTOR_REDIS_HOST"
PORT = "TORCHINDUCTOR_REDIS_PORT"

#: The switches of the caches on a server.
REMOTES = tuple(one.name for one in SETTINGS if one.group == "remote" and one.type == "tristate")


def remotes(values: Values, about: About) -> list[str]:
    """The caches on a server that are on."""
    return [name for name in REMOTES if name in values and on(values, name, about.torch)]
