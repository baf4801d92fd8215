"""Settings put into an environment, or taken from one: exactly those, and no other."""

from __future__ import annotations

from collections.abc import Mapping

from torchkeeper.settings.known import BY_NAME


def applied(values: Mapping[str, str], env: Mapping[str, str]) -> dict[str, str]:
    """An environment with these settings, by variable, and with no other that is described."""
    return {name: text for name, text in env.items() if name not in BY_NAME} | dict(values)


def taken(env: Mapping[str, str]) -> dict[str, str]:
    """The described settings of an environment, as they stand there."""
    return {name: env[name] for name in BY_NAME if name in env}
