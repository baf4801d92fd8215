"""The cache folders of this machine, found by the rules PyTorch and Triton use."""

from __future__ import annotations

import getpass
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A folder, why it is one, and whether it exists.

    reason: the variable that names it, "default", "triton-default", or "temporary" for another
    user's or an older folder beside the default one.
    """

    path: str
    reason: str
    exists: bool


def default_folder() -> str:
    """What PyTorch uses without variables (torch/_inductor/runtime/cache_dir_utils.py)."""
    try:
        user = getpass.getuser()
    except (KeyError, ImportError, OSError):
        user = f"uid_{os.getuid()}"
    safe = re.sub(r'[\\/:*?"<>|]', "_", user)
    return os.path.join(tempfile.gettempdir(), "torchinductor_" + safe)


def find() -> list[Place]:
    """Every place, the one PyTorch would use now first; each path once."""
    found: dict[str, Place] = {}
    for path, reason in _candidates():
        path = os.path.abspath(path)
        found.setdefault(path, Place(path, reason, os.path.isdir(path)))
    return list(found.values())


def _candidates() -> Iterator[tuple[str, str]]:
    if folder := os.environ.get("TORCHINDUCTOR_CACHE_DIR"):
        yield folder, "TORCHINDUCTOR_CACHE_DIR"
    yield default_folder(), "default"
    # triton/knobs.py: TRITON_CACHE_DIR, else .triton/cache below TRITON_HOME or the home folder.
    if folder := os.environ.get("TRITON_CACHE_DIR"):
        yield folder, "TRITON_CACHE_DIR"
    home = os.environ.get("TRITON_HOME") or os.path.expanduser("~")
    if os.path.isabs(home):  # a user without a home folder stays "~"
        yield os.path.join(home, ".triton", "cache"), "triton-default"
    try:
        with os.scandir(tempfile.gettempdir()) as entries:
            names = sorted(e.name for e in entries if e.name.startswith("torchinductor_"))
    except OSError:
        return
    for name in names:
        path = os.path.join(tempfile.gettempdir(), name)
        if os.path.isdir(path) and os.access(path, os.R_OK | os.X_OK):
            yield path, "temporary"
