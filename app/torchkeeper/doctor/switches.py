"""The rules between settings (``settings.rules``), for the variables that a program would have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torchkeeper.doctor.check import MachineLook
from torchkeeper.settings.finding import Finding
from torchkeeper.settings.rules import About, check


def switches(look: MachineLook) -> Iterator[Finding]:
    """What the rules say, knowing what the interpreter is."""
    yield from check(look.values, about(look))


def about(look: MachineLook) -> About:
    """What is known of the environment, for the rules."""
    devices = look.facts.get("devices")
    others = [one for one in devices if isinstance(one, Mapping) and one.get("type") != "cpu"] \
        if isinstance(devices, list) else []  # fmt: skip
    redis: Any = look.toolchain.get("redis")
    return About(
        torch=look.facts.get("torch"),
        triton=look.facts.get("triton"),
        gpu=bool(others) if isinstance(devices, list) else None,
        redis=redis.get("version") is not None if isinstance(redis, Mapping) else None,
    )
