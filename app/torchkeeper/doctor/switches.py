"""The rules between settings (``settings.rules``), for the variables that a program would have."""

from __future__ import annotations

from collections.abc import Iterator

from torchkeeper.doctor.check import MachineLook
from torchkeeper.settings.finding import About, Finding, about_of
from torchkeeper.settings.rules import check
from torchkeeper.settings.texts import UNQUOTED

_FOLDER = "TORCHINDUCTOR_CACHE_DIR"


def switches(look: MachineLook) -> Iterator[Finding]:
    """What the rules say, knowing what the interpreter is."""
    blank = any(UNQUOTED.search(one.place) for one in look.folders)
    for one in check(look.values, about(look)):
        # What is said of the folder itself is not said again.
        if not (one.code == "folder-blank" and one.settings == (_FOLDER,) and blank):
            yield one


def about(look: MachineLook) -> About:
    """What is known of the environment, for the rules."""
    redis = look.toolchain.get("redis")
    has_redis = None if redis is None else redis["version"] is not None
    return about_of(look.facts)._replace(redis=has_redis, variables=look.variables)
