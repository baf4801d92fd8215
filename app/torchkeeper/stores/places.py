"""The cache folders of this machine, found by the rules of those who write them."""

from __future__ import annotations

import getpass
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torchkeeper.artifacts.jits import known as jits


@dataclass(frozen=True, slots=True)
class Place:
    """A folder or a server, why it is one, and whether it exists. reason: the variable that names
    it, "default", "triton-default", "vllm" for a key's folder, "ondisk" for a generic cache, or
    "temporary" for another user's or an older folder beside the default one; "filled" for one that
    was filled from another machine (engine.filled); or what another
    just-in-time compiler is called (artifacts.jits).
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


def triton_folder(env: Mapping[str, str]) -> tuple[str, str]:
    """What Triton alone uses, and why (triton/knobs.py): TRITON_CACHE_DIR, else .triton/cache below
    TRITON_HOME or the home folder.
    """
    if folder := env.get("TRITON_CACHE_DIR"):
        return folder, "TRITON_CACHE_DIR"
    home = env.get("TRITON_HOME") or os.path.expanduser("~")
    return os.path.join(home, ".triton", "cache"), "triton-default"


def used_by(env: Mapping[str, str], folder: str = "") -> str:
    """The cache folder of a program that starts in a folder."""
    named = env.get("TORCHINDUCTOR_CACHE_DIR") or default_folder()
    return os.path.abspath(os.path.join(folder, named))


def find() -> list[Place]:
    """Every place, the one PyTorch would use now first; each path once."""
    found: dict[str, Place] = {}
    for path, reason in _candidates():
        path = os.path.abspath(path)
        found.setdefault(path, Place(path, reason, os.path.isdir(path)))
    # Loaded here: an engine that lists a folder shall start at once.
    from torchkeeper.stores.redis.address import from_environment

    for named in from_environment(os.environ):
        # Whether it is there is found out when somebody looks into it.
        address = str(named.address)
        found.setdefault(address, Place(address, named.reason, True))
    return list(found.values())


def _candidates() -> Iterator[tuple[str, str]]:
    if folder := os.environ.get("TORCHINDUCTOR_CACHE_DIR"):
        yield folder, "TORCHINDUCTOR_CACHE_DIR"
    yield default_folder(), "default"
    if os.environ.get("TRITON_CACHE_DIR"):
        yield triton_folder(os.environ)
    default = triton_folder({**os.environ, "TRITON_CACHE_DIR": ""})
    if os.path.isabs(default[0]):  # a user without a home folder stays "~"
        yield default
    for path in _vllm_keys():
        yield path, "vllm"
    for path in _sglang():
        yield path, "SGLang"
    yield from (x[:2] for x in jits.homes(os.environ) if os.path.isdir(x.path))
    for path in _folders(tempfile.gettempdir(), "torchinductor_"):
        yield path, "temporary"
    # OnDiskCache.base_dir in torch/_inductor/cache.py; others may have a folder of that name.
    for path in _folders(os.path.join(tempfile.gettempdir(), "cache"), ""):
        if os.path.isdir(os.path.join(path, "locks")):
            yield path, "ondisk"


def vllm_folder(env: Mapping[str, str]) -> tuple[str, str]:
    """Where vLLM keeps its caches, and why: see ``Place.reason`` (vllm/envs.py)."""
    if root := env.get("VLLM_CACHE_ROOT"):
        return os.path.expanduser(root), "VLLM_CACHE_ROOT"
    base = env.get("XDG_CACHE_HOME") or os.path.join(env.get("HOME", "~"), ".cache")
    return os.path.join(os.path.expanduser(base), "vllm"), "vllm"


def _vllm_keys() -> Iterator[str]:
    """``torch_compile_cache/<hash>``, which has its ranks, and ``torch_aot_compile/<hash>`` there
    or beside. Sources: vllm/compilation/backends.py, decorators.py.
    """
    root, _ = vllm_folder(os.environ)
    if os.path.isabs(root):
        yield from _keys(root)
        yield from _folders(os.path.join(root, "torch_aot_compile"), "")


def _keys(root: str) -> Iterator[str]:
    for folder in _folders(os.path.join(root, "torch_compile_cache"), ""):
        if os.path.basename(folder) == "torch_aot_compile":
            yield from _folders(folder, "")
        elif ranks(folder):
            yield folder


def ranks(folder: str) -> list[str]:
    """The names of the folders of ranks in that of a key."""
    return [os.path.basename(path) for path in _folders(folder, "rank_")]


def _sglang() -> Iterator[str]:
    """What SGLang has PyTorch and Triton keep below its folder, and its ranks, which are as vLLM's;
    what its servers of images and videos have them keep. Sources: sglang/srt/environ.py
    (third_party_cache_defaults), srt/compilation/backend.py, multimodal_gen/envs.py and
    runtime/managers/gpu_worker.py.
    """
    root = os.path.expanduser(os.environ.get("SGLANG_CACHE_DIR") or "~/.cache/sglang")
    above = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    images = os.environ.get("SGLANG_DIFFUSION_CACHE_ROOT") or os.path.join(above, "sgl_diffusion")
    for folder in (root, os.path.join(os.path.expanduser(images), "torch_compile_cache")):
        if os.path.isabs(folder):
            there = (os.path.join(folder, name) for name in ("inductor", "triton"))
            yield from filter(os.path.isdir, there)
    if os.path.isabs(root):
        yield from _keys(root)


def _folders(above: str, start: str) -> list[str]:
    """The folders in another whose names start so, as far as they can be read."""
    try:
        names = sorted(name for name in os.listdir(above) if name.startswith(start))
    except OSError:
        return []
    paths = [os.path.join(above, name) for name in names]
    return [path for path in paths if os.path.isdir(path) and os.access(path, os.R_OK | os.X_OK)]
