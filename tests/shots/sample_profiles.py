"""Made-up profiles for the pictures; what is wrong with them is found as always."""

from __future__ import annotations

import time
from typing import Any

from torchkeeper.client.profiles.profile import Profile
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.pages.profiles.drafts import Kept, Offered
from torchkeeper.settings import masks
from torchkeeper.settings.finding import Finding
from torchkeeper.settings.known import SETTINGS, default
from torchkeeper.settings.rules import check

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
    """What a look at the folder and the server of the bad one finds."""
    folder, server = (
        BAD.values["TORCHINDUCTOR_CACHE_DIR"],
        "redis://trainer@cache.internal.example:6379/0",
    )
    mount = {"type": "nfs4", "source": "nas:/scratch", "point": "/mnt/scratch"}
    found = [
        Finding("folder-on-network", "advice", ("TORCHINDUCTOR_CACHE_DIR",), folder, mount),
        Finding("server-password", "error", ("TORCHINDUCTOR_REDIS_URL",), server,
                {"problem": "password-wrong"}),
    ]  # fmt: skip
    return [{"found": one.to_json(), "check": one.code} for one in found]


def _process(pid: int, command: str, torch: str, folder: str) -> dict[str, Any]:
    used = {"path": folder, "kind": "inductor", "why": "mapped", "files": 38, "seen": folder}
    return {"pid": pid, "name": command, "command": command.split(), "started": time.time() - 7400,
            "python": "/home/ada/llama/.venv/bin/python", "cwd": "/home/ada/llama", "loaded": True,
            "torch": torch, "triton": "3.7.1", "folders": [used], "workers": 8,
            "elsewhere": False}  # fmt: skip


PROCESSES = [
    _process(41_213, "python serve.py --port 8000", "2.13.0+cu130", "/mnt/scratch/teams"),
    _process(52_780, "python -m trainer.main --config nightly.yaml", "2.9.1", "/mnt/scratch/x"),
]


def settled(pid: int | None) -> dict[str, Any]:
    """Where the settings of an environment, or of a process, come from."""
    variables = BAD.values if pid is not None else GOOD.values
    rows: list[dict[str, Any]] = []
    for one in SETTINGS:
        text = masks.shown(one.name, variables[one.name]) if one.name in variables else None
        by = "variable" if text is not None else "default"
        where = ""
        if pid is not None and one.name == "TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE":
            text, by, where = "1", "code", "serve.py:12"
        rows.append({"name": one.name, "value": text if by != "default" else default(one),
                     "by": by, "variable": one.name if by == "variable" else "", "where": where,
                     "computed": False, "sure": True, "seen": "", "overrides": [],
                     "otherwise": None, "cut": False})  # fmt: skip
    found = [one.to_json() for one in check(variables)]
    told: dict[str, Any] = {"settings": rows, "torch": "2.13.0+cu130", "triton": "3.7.1",
                            "findings": found}  # fmt: skip
    if pid is not None:
        told["lost"] = False
        told["process"] = next(one for one in PROCESSES if one["pid"] == pid)
        told["looked"] = {"kind": "script", "main": "serve.py", "files": 14, "stopped": "",
                          "changed": [],
                          "unread": [["plugins/generated.py", "too-large"]]}  # fmt: skip
    return told
