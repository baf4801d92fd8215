"""Settings put into an environment, or taken from one: exactly those, and no other."""

from __future__ import annotations

from collections.abc import Mapping

from torchkeeper.settings.known import BY_NAME

#: What others than PyTorch and Triton read, too, such as TMPDIR: where nobody sets it, it stays.
SHARED = frozenset(name for name in BY_NAME if not name.startswith(("TORCH", "TRITON")))


def applied(values: Mapping[str, str], env: Mapping[str, str]) -> dict[str, str]:
    """An environment with these of the described settings, and those that are SHARED."""
    stays = {name: text for name, text in env.items() if name not in BY_NAME or name in SHARED}
    return stays | dict(values)


def taken(env: Mapping[str, str]) -> dict[str, str]:
    """The described settings of an environment, as they stand there."""
    return {name: env[name] for name in BY_NAME if name in env}
