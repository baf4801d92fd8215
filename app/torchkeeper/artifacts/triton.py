"""Triton kernels: one folder of files for each hash (triton/runtime/cache.py, compiler.py)."""

from __future__ import annotations

import json
from typing import Any

#: Of the group file, which Triton writes last: a kernel without one was never finished.
GROUP_PREFIX = "__grp__"


def facts(texts: dict[str, bytes], names: list[str], full: bool) -> dict[str, Any]:
    """name, device (``cuda:90``, ``hip:gfx942``), triton version, warp size, from its JSON.

    texts: the JSON files by name; names: all files of the folder.
    Raises ValueError for a JSON file that is not JSON.
    """
    described = {n: _object(d) for n, d in texts.items() if not n.startswith(GROUP_PREFIX)}
    groups = {n: _object(d) for n, d in texts.items() if n.startswith(GROUP_PREFIX)}
    found: dict[str, Any] = {"name": None, "device": None}
    for name, meta in described.items():
        kernel = meta.get("name")
        found["name"] = kernel if isinstance(kernel, str) else name.removesuffix(".json")
        found["device"] = device(meta)
        version = meta.get("triton_version")
        found["triton"] = version if isinstance(version, str) else None
        found["warp"] = _warp(meta)
        if full:
            found["metadata"] = json.dumps(meta, indent=2)
    if not described:
        found["name"] = _launcher(names)
    missing = sorted(
        child for group in groups.values() for child in children(group) if child not in names
    )
    if described and not groups:
        missing = [f"{GROUP_PREFIX}….json"]
    if missing:
        found["problem"] = "triton-incomplete"
        found["missing"] = missing[:50]
    return found


def _launcher(names: list[str]) -> str | None:
    # Launchers and driver helpers are a shared object alone.
    helpers = [n.partition(".")[0] for n in names if n.endswith(".so")]
    return ", ".join(helpers) + " (launcher)" if helpers else None


def name_of(names: list[str]) -> str | None:
    """What a kernel is called, by the names of its files alone."""
    own = [n for n in names if n.endswith(".json") and not n.startswith(GROUP_PREFIX)]
    if not own:
        own = [n[len(GROUP_PREFIX) :] for n in names if n.startswith(GROUP_PREFIX)]
    return min(own).removesuffix(".json") if own else _launcher(names)


def unfinished(names: list[str]) -> bool:
    """Whether the names of a kernel's files show that Triton never wrote all of them."""
    own = any(n.endswith(".json") and not n.startswith(GROUP_PREFIX) for n in names)
    return own and not any(n.startswith(GROUP_PREFIX) for n in names)


def _object(data: bytes) -> dict[str, Any]:
    value = json.loads(data)
    if not isinstance(value, dict):
        raise TypeError("not a JSON object")
    return value


def device(meta: dict[str, Any]) -> str | None:
    """``backend:arch`` from a kernel's metadata, as ``GPUTarget`` says it."""
    target = meta.get("target")
    backend, arch = meta.get("backend_name"), meta.get("arch")
    if isinstance(target, dict):
        backend, arch = target.get("backend"), target.get("arch")
    if isinstance(backend, str):
        return f"{backend}:{arch}" if isinstance(arch, (str, int)) else backend
    return None


def _warp(meta: dict[str, Any]) -> int | None:
    """Threads of a warp, which a kernel is built for."""
    target = meta.get("target")
    found = target.get("warp_size") if isinstance(target, dict) else meta.get("warp_size")
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def children(group: dict[str, Any]) -> list[str]:
    """The names of the files a group file lists."""
    paths = group.get("child_paths")
    return [name for name in paths if isinstance(name, str)] if isinstance(paths, dict) else []


def paths(data: bytes) -> list[str]:
    """The paths that a group file names; none where it is no group file."""
    try:
        found = _object(data).get("child_paths")
    except (ValueError, TypeError, RecursionError):
        return []
    told = found.values() if isinstance(found, dict) else ()
    return [path for path in told if isinstance(path, str)]


def group_for(data: bytes, folder: str) -> bytes:
    """A group file with its children's paths moved to ``folder``, or relative with ``""``.

    They come in order, as in a Redis, so that the same kernel is the same in every place.
    Triton takes a kernel from its cache only if the paths in this file exist
    (FileCacheManager.get_group). Raises ValueError or TypeError for what is no group file.
    """
    group = _object(data)
    prefix = folder.rstrip("/") + "/" if folder else ""
    for name in children(group):
        if "/" in name or name in (".", ".."):
            raise ValueError("a child is not a plain file name")
    moved = {name: prefix + name for name in sorted(children(group))}
    return json.dumps({**group, "child_paths": moved}).encode()
