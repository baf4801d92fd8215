"""Made-up profiles for the pictures; what is wrong with them is found as always."""

from __future__ import annotations

from typing import Any

from torchkeeper.gui.profiles.known import Kept, Offered
from torchkeeper.link.profiles.profile import Profile
from torchkeeper.link.words import user_error

GOOD = Profile(
    "serving",
    {
        "TORCHINDUCTOR_FX_GRAPH_CACHE": "1",
        "TORCHINDUCTOR_AUTOGRAD_CACHE": "1",
        "TORCHINDUCTOR_CACHE_DIR": "/var/cache/torchinductor/serving",
        "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE": "1",
        "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE": "1",
        "TORCHINDUCTOR_REDIS_URL": "redis://cache.example:6379/0",
    },
    "The decoder on the serving machines, with the team's Redis",
)
LAPTOP = Profile("laptop", {"TORCHINDUCTOR_CACHE_DIR": "/home/ada/.cache/torchinductor"})
BAD = Profile(
    "training-cluster",
    {
        "TORCHINDUCTOR_AUTOGRAD_CACHE": "1",
        "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
        "TORCHINDUCTOR_CACHE_DIR": "/mnt/scratch/teams/foundation-models/decoder-only/2026/"
        "experiments/with-a-very-long-name/torchinductor_cache",
        "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE": "1",
        "TORCHINDUCTOR_REDIS_URL": "redis://trainer:not-a-real-one@cache.internal.example:6379/0",
    },
    "Nightly training on the shared nodes; the folder is on NFS so that all ranks see the same",
)
DAMAGED = {"file": "/home/ada/.config/torchkeeper/profiles/old.toml",
           "why": "Line 3: fx_graph is no setting that is known here"}  # fmt: skip


def kept() -> list[Kept]:
    """A damaged one, one with little in it, a good one and a bad one."""
    return [
        Kept(LAPTOP.name, LAPTOP),
        Kept("old", error=user_error("profile-damaged", DAMAGED)),
        Kept(GOOD.name, GOOD),
        Kept(BAD.name, BAD),
    ]


def offered(path: str) -> Offered:
    """What a manifest makes."""
    left = (
        ("LANG", "it is no setting of the caches"),
        ("HF_HOME", "it is no setting of the caches"),
        ("TORCHINDUCTOR_REDIS_HOST", "its value comes from the secret “redis”, key “host”, "
                                     "which only the cluster knows"),
    )  # fmt: skip
    return Offered(path, Profile("decoder", BAD.values), left)


def looked_up() -> list[dict[str, Any]]:
    """What a look at the folder of the bad one finds; none until a check of it is there."""
    return []
