"""Triton kernels: one folder of files for each hash (triton/runtime/cache.py, compiler.py)."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from torchkeeper.artifacts import builds
from torchkeeper.artifacts.patterns import regex

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Facts

#: What drivers of Triton's backends build for themselves (their driver.py), and for which backend.
_HELPERS = {"hip_utils": "hip", "cuda_utils": "cuda", "spirv_utils": "xpu"}
#: Of the group file, which Triton writes last: a kernel without one was never finished.
GROUP_PREFIX = "__grp__"
#: What each configuration of a tuned kernel took, in a folder of its own, by itself
#: (triton/runtime/autotuner.py: check_disk_cache).
_TIMINGS = ".autotune.json"
#: What a kernel's folder is called: base32 of a digest; in older versions hexadecimal or base64.
_BASE32 = regex(r"[A-Z2-7]{52}")
#: The last two are names that other programs give folders, too.
COMMON = r"(?:[0-9a-f]{64}|[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048])"
KEY = rf"{_BASE32.pattern}|{COMMON}"
_KEY = regex(KEY)
#: Where Inductor has it (runtime/runtime_utils.py), and Triton (knobs.py: cache, dump, override).
DEVICE = r"(?:\d{1,3}|cpu|cuda|hip|xpu|mps)"
ABOVE = rf"(?:triton/(?:{DEVICE}/)?|\d{{1,3}}/|(?:cache|dump|override)/)"
_ABOVE = regex(ABOVE, re.ASCII)
#: What is compiled of C: launchers and helpers of drivers (triton/runtime/build.py).
_HELPER = r"__triton_launcher|(?:cuda|hip|spirv|arch|npu|musa|mlu|maca|xpu|cpu|driver)_utils"
_BUILT = r"(?:\.(?:cpython|pypy)[\w-]{1,60}|\.abi3)?\.(?:so|pyd)"
_SUFFIX = regex(_BUILT + r"\Z", re.ASCII)
#: Names that nobody else gives a file: of group files, helpers, and stages that are Triton's alone
#: (triton/backends/*/compiler.py, and the backends that are not in Triton).
_TRITONS = regex(
    rf"{GROUP_PREFIX}[^/]{{1,250}}\.json|(?:{_HELPER}){_BUILT}|[^/]{{1,250}}\.(?:autotune\.json|"
    r"ttir|ttgir|llir|amdgcn|hsaco|ttcir|tttcir|ttadapter|ttsharedir|npubin|mubin|mluir|mcfatbin)",
    re.ASCII,
)
#: Of these, helpers that other programs may well have in folders of such names.
_ANYBODYS = regex(rf"(?:arch|cpu|driver)_utils{_BUILT}", re.ASCII)
#: The other stages, which other programs have, too.
_COMPILED = regex(r"[^/]{1,250}\.(?:ptx|cubin|spv|zebin|sass|cnbin|source)")
#: What is a kernel's where one that tells is beside it, of the same name.
_OTHER = regex(rf"[^/.][^/]{{0,249}}\.(?:json|asm|o|obj)|\w{{1,250}}{_BUILT}", re.ASCII)


def is_key(name: str) -> bool:
    """Whether Triton calls the folder of a kernel so."""
    return _KEY.fullmatch(name) is not None


def is_common(key: str) -> bool:
    """Whether the name of a kernel's folder is one that other programs give folders, too."""
    return bool(key) and not _BASE32.fullmatch(key)


def is_folder(parts: list[str]) -> bool:
    """Whether Triton, or Inductor for it, has a kernel in the folder of such a path."""
    if not parts or not is_key(parts[-1]):
        return False
    return len(parts) == 1 or _ABOVE.fullmatch("/".join(parts[:-1]) + "/") is not None


def is_file(name: str) -> bool:
    """Whether Triton gives a file of a kernel such a name."""
    return is_telling("", name) or _OTHER.fullmatch(name) is not None


def is_telling(key: str, name: str) -> bool:
    """Whether a name tells that a file in the folder of a key is a kernel's. Other programs have
    folders named by 64 hexadecimal digits, too, or by 43 letters.
    """
    if _TRITONS.fullmatch(name):
        return not (is_common(key) and _ANYBODYS.fullmatch(name))
    return not is_common(key) and _COMPILED.fullmatch(name) is not None


def is_own(key: str, name: str) -> bool:
    """Whether a file in the folder of a key is a kernel's, for all that its path alone tells."""
    return is_telling(key, name) or bool(_BASE32.fullmatch(key) and is_file(name))


@functools.lru_cache(maxsize=128)  # a kernel is compiled for many shapes and options
def own(key: str, names: tuple[str, ...]) -> frozenset[str]:
    """Those names in a kernel's folder that are its: each that tells, and all of the same stem."""
    telling = {name for name in names if is_telling(key, name)}
    stems = {_stem(name) for name in telling}
    return frozenset(x for x in names if x in telling or (_stem(x) in stems and is_file(x)))


def _stem(name: str) -> str:
    """The name of a kernel, of the name of one of its files."""
    name = name.removeprefix(GROUP_PREFIX)
    built = _SUFFIX.search(name)
    return name[: built.start()] if built else name.rpartition(".")[0]


def facts(texts: dict[str, bytes], names: list[str], full: bool) -> Facts:
    """name, device (``cuda:90``, ``hip:gfx942``), triton version, warp size, from its JSON; of what
    is no kernel, which ``helper`` says it is, only the name and the backend: a launcher, a driver's
    helper, the timings of a tuned kernel.
    texts: the JSON files and objects by name; names: all files of the folder. Raises ValueError for
    a JSON file that is not JSON.
    """
    objects = {n: texts[n] for n in sorted(texts) if n.endswith(".so")}
    texts = {n: d for n, d in texts.items() if n not in objects}
    told = {n: _object(d) for n, d in texts.items()}
    described = {n: meta for n, meta in told.items() if _describes(n)}
    groups = {n: group for n, group in told.items() if n.startswith(GROUP_PREFIX)}
    found: Facts = {"name": None, "device": None}
    for name, meta in described.items():
        kernel = meta.get("name")
        found["name"] = kernel if isinstance(kernel, str) else name.removesuffix(".json")
        found["device"] = device(meta)
        version = meta.get("triton_version")
        found["triton"] = version if isinstance(version, str) else None
        target = meta.get("target")
        warp = (target if isinstance(target, dict) else meta).get("warp_size")
        # Threads of a warp, which a kernel is built for.
        found["warp"] = warp if isinstance(warp, int) and not isinstance(warp, bool) else None
        if full:
            found["metadata"] = json.dumps(meta, indent=2)
    if not described:
        found["name"], found["helper"] = name_of(names), bool(objects) or _is_tuned(names)
        built = {_HELPERS.get(n.partition(".")[0]) or builds.backend(d) for n, d in objects.items()}
        found["device"] = built.pop() if len(built) == 1 else None
        if full and _is_tuned(names):
            found["metadata"] = json.dumps(told, indent=2)
    every = [child for group in groups.values() for child in children(group)]
    missing = sorted(child for child in every if child not in names)
    if described and not any(name.startswith(GROUP_PREFIX) for name in names):
        missing = [f"{GROUP_PREFIX}….json"]
    if missing:
        found["problem"] = "triton-incomplete"
        found["missing"] = missing[:50]
    return found


def _describes(name: str) -> bool:
    """Whether a file is the JSON that says what a kernel is."""
    return (
        name.endswith(".json") and not name.startswith(GROUP_PREFIX) and not name.endswith(_TIMINGS)
    )


def _is_tuned(names: list[str]) -> bool:
    return len(names) == 1 and names[0].endswith(_TIMINGS)


def _helper_name(names: list[str]) -> str | None:
    if _is_tuned(names):
        return f"{names[0].removesuffix(_TIMINGS)} (timings)"
    # Launchers and driver helpers are a shared object alone.
    helpers = [n.partition(".")[0] for n in names if n.endswith(".so")]
    return ", ".join(helpers) + " (launcher)" if helpers else None


def name_of(names: list[str]) -> str | None:
    """What a kernel is called, by the names of its files alone."""
    own = [n for n in names if _describes(n)]
    if not own:
        own = [n[len(GROUP_PREFIX) :] for n in names if n.startswith(GROUP_PREFIX)]
    return min(own).removesuffix(".json") if own else _helper_name(names)


def unfinished(names: list[str]) -> bool:
    """Whether the names of a kernel's files show that Triton never wrote all of them."""
    own = any(_describes(n) for n in names)
    return own and not any(n.startswith(GROUP_PREFIX) for n in names)


def _object(data: bytes) -> dict[str, object]:
    value = json.loads(data)
    if not isinstance(value, dict):
        raise TypeError("not a JSON object")
    return value


def device(meta: Mapping[str, object]) -> str | None:
    """``backend:arch`` from a kernel's metadata, as ``GPUTarget`` says it."""
    target = meta.get("target")
    backend, arch = meta.get("backend_name"), meta.get("arch")
    if isinstance(target, dict):
        backend, arch = target.get("backend"), target.get("arch")
    if isinstance(backend, str):
        return f"{backend}:{arch}" if isinstance(arch, (str, int)) else backend
    return None


def children(group: Mapping[str, object]) -> list[str]:
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
    """A group file with its children's paths moved to ``folder``, or relative with ``""``. They
    come in order, as in a Redis, so that the same kernel is the same in every place. Triton takes a
    kernel from its cache only if the paths in this file exist (FileCacheManager.get_group). Raises
    ValueError or TypeError for what is no group file.
    """
    group = _object(data)
    prefix = folder.rstrip("/") + "/" if folder else ""
    for name in children(group):
        if "/" in name or name in (".", ".."):
            raise ValueError("a child is not a plain file name")
    moved = {name: prefix + name for name in sorted(children(group))}
    return json.dumps({**group, "child_paths": moved}).encode()
