"""Where each kind of entry lies in a cache folder, both ways.

``locate`` says what a path found in a folder is. ``payload_path``, ``code_path`` and
``triton_path`` are the only functions that turn a key or name from a mega-cache, a bundle or a
JSON file into a path, and they refuse anything but what that kind's layout allows.

Sources: torch/_inductor/codecache.py (FxGraphCache, get_path, write_atomic),
torch/_functorch/_aot_autograd/autograd_cache.py, torch/_dynamo/pgo.py (code_state_path),
torch/_dynamo/package.py (DiskDynamoCache), torch/_inductor/aoti_eager.py, torch/_inductor/cache.py
(OnDiskCache), torch/_inductor/runtime/autotune_cache.py, triton/runtime/cache.py; of vLLM
vllm/compilation/backends.py, decorators.py and compiler_interface.py (initialize_cache).
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

from torchkeeper.artifacts import beside
from torchkeeper.artifacts.entry import Problem

#: Our own folder inside a place, and what our own files begin with that say what is being done to
#: it (stores/folders/journal.py); never part of a listing.
TRASH = ".torchkeeper-trash"
JOURNAL = ".torchkeeper-journal-"
#: The folder of precompiled C++ headers (_HEADER_DIR in torch/_inductor/codecache.py).
HEADERS = "precompiled_headers"

_FX_KEY = re.compile(r"f[a-z2-7]{51}")
_AOT_KEY = re.compile(r"a[a-z2-7]{51}")
#: Hexadecimal in torch 2.13 (AUTOTUNE_CACHE_KEY_STRATEGY in torch/_inductor/cache_key.py).
_AUTOTUNE_STEM = re.compile(r"[0-9a-f]{64}|[a-z2-7]{40,64}")
_TRITON_KEY = re.compile(r"[A-Z2-7]{52}|[0-9a-f]{64}|[A-Za-z0-9_-]{43}")
_PGO_FILE = re.compile(r"code_state_(.+)\.pkl")
_PGO_KEY = re.compile(r"[^\x00-\x1f\x7f<>:\"/\\|?*.][^\x00-\x1f\x7f<>:\"/\\|?*]*")
_SUFFIX = re.compile(r"(?:\.[A-Za-z0-9_+-]{1,40}){1,4}")
_TRITON_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,254}")
_DEVICE = re.compile(r"[A-Za-z0-9_-]{1,20}")
_BUILD_FOLDER = "_CxxBuild"
#: A cache inside a place: what leads from any folder of vLLM's to a rank, the caches of a rank or
#: of a model, an artifact that torch saved unpacked there (torch/_inductor/standalone_compile.py),
#: and where AOTInductor builds eager kernels.
_INNER = re.compile(
    r"(?:torch_compile_cache/)?(?:torch_aot_compile/)?"
    r"(?:[^/]+/(?=rank_[0-9]{1,6}_[0-9]{1,6}/|inductor_cache/|triton_cache/))?"
    r"(?:rank_[0-9]{1,6}_[0-9]{1,6}/)?"
    r"(?:(?:inductor_cache|triton_cache|(?:[^/]+/)?artifact_[^/]+)/)?"
    r"(?:aoti_eager/[^/]+/[^/]+/lib/)?"
)
#: The inner caches whose entries PyTorch would find as well in a cache of its own.
_PLAIN_INNER = ("inductor_cache/", "triton_cache/")
#: Where AOTInductor builds the libraries of eager kernels.
_EAGER_LIB = re.compile(r"(?:.*/)?aoti_eager/[^/]+/[^/]+/lib/")
#: The folder of its lists, and one of their items.
_EAGER_ABOVE = re.compile(r"aoti_eager/[A-Za-z0-9_]{1,100}/[a-z]{1,20}/")
_EAGER_ITEM = re.compile(
    _EAGER_ABOVE.pattern + r"[A-Za-z0-9_][A-Za-z0-9_.]{0,200}\.json#[0-9a-f]{12}"
)
#: What vLLM writes for a graph beside its caches, and its compiled pieces.
VLLM_FACTORS = "cache_key_factors.json"
_VLLM_FILES = frozenset(
    {VLLM_FACTORS, "vllm_compile_cache.py", "computation_graph.py", "transformed_code.py"}
)
ARTIFACT = "artifact_"
VLLM_MODEL = "model"
#: The key of vLLM's own files where no folder names the part of the model.
VLLM = "vllm"
_RANK = re.compile(r"rank_[0-9]{1,6}_[0-9]{1,6}")
#: The file of a precompiled function (DiskDynamoStore._write_to_local_cache).
PRECOMPILED = "entry"
#: What tempfile calls its files and folders: of a compile without caches, or its tuning code
#: (fresh_cache in torch/_inductor/utils.py, codegen/wrapper.py).
_TEMPORARY = re.compile(r"tmp[a-z0-9_]{8}(?:\.py)?")
#: What the memoizers of torch/_inductor/runtime/caching leave at the end of a program.
MEMOIZED = "memoizer_cache.json"
_HEX64 = re.compile(r"[0-9a-f]{64}")
_HEX32 = re.compile(r"[0-9a-f]{32}")
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}")


@dataclass(frozen=True, slots=True)
class Located:
    """What a path is: its kind and key, and the path that all files of its entry share."""

    kind: str
    key: str
    entry_path: str


def is_code_stem(name: str) -> bool:
    """Whether PyTorch names generated code so: the key of its text (CODE_CACHE_KEY_STRATEGY)."""
    return beside.CODE_STEM.fullmatch(name) is not None


def is_vllm(name: str) -> bool:
    """Whether vLLM writes a file of this name beside the caches of a graph."""
    return name in _VLLM_FILES


def is_artifact(name: str) -> bool:
    """Whether a file of this name is what vLLM had compiled: a graph's piece, or a whole model."""
    return name.startswith(ARTIFACT) or name == VLLM_MODEL


def is_rank(name: str) -> bool:
    """Whether vLLM calls the folder of one of its processes so."""
    return _RANK.fullmatch(name) is not None


def eager_folder(path: str) -> str | None:
    """The folder of the lists of eager kernels among whose libraries a path lies, or None."""
    match = _EAGER_LIB.match(path)
    return match[0].removesuffix("/lib/") if match else None


def is_graph_key(name: str) -> bool:
    """Whether PyTorch names an FX graph, or what AOTAutograd makes of one, so."""
    return bool(_FX_KEY.fullmatch(name) or _AOT_KEY.fullmatch(name))


def is_triton_key(name: str) -> bool:
    """Whether a folder of this name is a Triton kernel's (triton/runtime/cache.py)."""
    return _TRITON_KEY.fullmatch(name) is not None


def payload_name(sha256_hex: str) -> str:
    """The file name PyTorch gives a payload: base32 of its SHA-256 without the padding.

    Source: COMPACT_CACHE_KEY_STRATEGY in torch/_inductor/cache_key.py.
    """
    return base64.b32encode(bytes.fromhex(sha256_hex))[:51].decode().lower()


def locate(path: str) -> Located:
    """What the file at ``path`` (relative, ``/`` between parts) is. Never fails."""
    found = _locate(path)
    # Most files lie in no cache inside another, and are looked at once.
    inner = inner_cache(path) if found.kind == "unknown" else ""
    if not inner:
        return found
    rest = path[len(inner) :]
    above = inner.rstrip("/")
    if rest == VLLM_MODEL and is_rank(above.rpartition("/")[2]):
        return Located("precompile", path, path)
    found = _locate(rest)
    if is_vllm(path.rpartition("/")[2]):
        # Each rank has files of the same names.
        key = above if found.key == VLLM else f"{above}/{found.key}"
        return Located(found.kind, key, inner + found.entry_path)
    return Located(found.kind, found.key, inner + found.entry_path)


def inner_cache(path: str) -> str:
    """The part of a path that leads to a cache inside the place, with a ``/``, or nothing."""
    match = _INNER.match(path)
    return match[0] if match else ""


def canonical(path: str) -> str:
    """Where a file would lie in a cache of PyTorch or Triton alone.

    Raises Problem("part-of-artifact") for what is of use only where it is.
    """
    inner = inner_cache(path)
    name = path.rpartition("/")[2]
    alone = path[len(inner) :]
    parts = alone.split("/")
    if (
        (inner and not inner.endswith(_PLAIN_INNER))
        or is_vllm(name)
        or is_artifact(name)
        or (beside.locate(alone, parts) and not _locate_code(alone, parts))
    ):
        raise Problem("part-of-artifact", path=path[:200])
    return alone


def _locate(path: str) -> Located:
    parts = path.split("/")
    name = parts[-1]
    found = _locate_scratch(path, parts) or _locate_payload(path, parts)
    if found:
        return found
    folder = path.rpartition("/")[0]
    if folder and (key := kernel_folder(folder)):
        return Located("triton", key, folder)
    if code := _locate_code(path, parts):
        return code
    return Located(*(beside.locate(path, parts) or ("unknown", name, path)))


def is_scratch(name: str) -> bool:
    """Whether a file or folder of this name is a writer's: in progress, a lock, or dead."""
    return name.startswith((".", "tmp.")) or name.endswith((".lock", ".tmp", _BUILD_FOLDER))


def kernel_folder(folder: str) -> str | None:
    """The key of a folder that is a Triton kernel's, so that all its files but scratch are."""
    name = folder.rpartition("/")[2]
    if not is_triton_key(name):
        return None
    parts = folder[len(inner_cache(folder + "/")) :].split("/")
    if parts[-1] != name or parts[0] in ("fxgraph", "dynamo", HEADERS):
        return None
    if _TEMPORARY.fullmatch(parts[0]):
        return None
    return None if "locks" in parts or any(map(is_scratch, parts)) else parts[-1]


def _locate_scratch(path: str, parts: list[str]) -> Located | None:
    name = parts[-1]
    if parts[0] == HEADERS and not name.endswith(".lock"):
        return Located("header", name, path)
    if _TEMPORARY.fullmatch(parts[0]) or parts[0] == "bisect":
        # All of it goes when its program ends, or nobody needs any of it.
        return Located("lock", parts[0], parts[0])
    if "locks" in parts[:-1] or any(map(is_scratch, parts)):
        # A lock is named after what it guards, and so shown with it.
        return Located("lock", name.removesuffix(".lock"), path)
    return None


def _locate_payload(path: str, parts: list[str]) -> Located | None:
    if parts[0] == "fxgraph" and len(parts) == 4 and _FX_KEY.fullmatch(parts[2]):
        return Located("fxgraph", parts[2], path)
    if parts[0] == "aotautograd" and len(parts) == 3 and _AOT_KEY.fullmatch(parts[1]):
        return Located("aotautograd", parts[1], path)
    if parts[0] == "dynamo" and len(parts) == 2 and (match := _PGO_FILE.fullmatch(parts[1])):
        return Located("pgo", match[1], path)
    if parts[0] == "dynamo" and len(parts) == 3:
        return Located("precompile", parts[1], f"dynamo/{parts[1]}")
    if parts[0] == "aoti_eager" and len(parts) == 4 and parts[3].endswith(".json"):
        return Located("aoti_eager", parts[3].removesuffix(".json"), path)
    return _locate_generic(path, parts) or _locate_vllm(path, parts)


def _locate_generic(path: str, parts: list[str]) -> Located | None:
    """GEMM choices, and files of the caches of torch/_inductor/cache.py.

    The folder of such a cache may be a place of its own.
    """
    if parts[0] == "cache" and len(parts) == 2 and _HEX64.fullmatch(parts[1]):
        return Located("autotune", parts[1], path)
    if parts == [MEMOIZED]:
        return Located("ondisk", MEMOIZED, path)
    alone = len(parts) == 1 or (parts[0] == "cache" and len(parts) <= 3)
    return Located("ondisk", parts[-1], path) if alone and _HEX32.fullmatch(parts[-1]) else None


def _locate_vllm(path: str, parts: list[str]) -> Located | None:
    """vLLM has a folder for each part of a model; older versions have the files in the root.

    A whole model that it had compiled ahead is ``torch_aot_compile/<hash>/rank_i_j/model``
    (vllm/compilation/decorators.py), of which the folder of the hash is the place.
    """
    if len(parts) > 2:
        return None
    if parts[-1] in _VLLM_FILES:
        return Located("code", "/".join(parts[:-1]) or VLLM, "/".join([*parts[:-1], VLLM]))
    if parts[-1].startswith(ARTIFACT):
        return Located("precompile", parts[-1], path)
    if parts[-1] == VLLM_MODEL and len(parts) == 2 and _RANK.fullmatch(parts[0]):
        return Located("precompile", path, path)
    return None


def _locate_code(path: str, parts: list[str]) -> Located | None:
    stem, dot, _ = parts[-1].partition(".")
    if len(parts) != 2 or not beside.is_code_folder(parts[0]) or not dot:
        return None
    if parts[-1] == f"{stem}.best_config" and _AUTOTUNE_STEM.fullmatch(stem):
        return Located("autotune", stem, path)
    return Located("code", stem, f"{parts[0]}/{stem}") if beside.CODE_STEM.fullmatch(stem) else None


def eager_library(conf: str, kernel_path: str) -> str | None:
    """Where the library is that an item of ``aoti_eager/<ns>/<device>/<op>.json`` names.

    None for a path that no item has.
    """
    parts = kernel_path.split("/")
    if parts[0] != "lib" or not 2 <= len(parts) <= 8 or not all(map(_WORD.fullmatch, parts)):
        return None
    return f"{conf.rpartition('/')[0]}/{kernel_path}"


def _refused(kind: str, name: str) -> Problem:
    return Problem("name-refused", kind=kind, name=name[:200])


def payload_path(kind: str, key: str, sha256_hex: str) -> str:
    """Where a payload of one file goes. Raises Problem("name-refused").

    An autotune key is ``<xx>/<stem>.best_config``, as in a mega-cache
    (_artifact_key_from_local_cache_key in torch/_inductor/runtime/autotune_cache.py), or
    ``cache/<hash of system>``.
    """
    if kind == "fxgraph" and _FX_KEY.fullmatch(key):
        return f"fxgraph/{key[1:3]}/{key}/{payload_name(sha256_hex)}"
    if kind == "aotautograd" and _AOT_KEY.fullmatch(key):
        return f"aotautograd/{key}/{payload_name(sha256_hex)}"
    if kind == "pgo":
        # As code_state_path in torch/_dynamo/pgo.py makes it.
        name = f"code_state_{flat_pgo_key(key)}.pkl"
        if _PGO_KEY.fullmatch(flat_pgo_key(key)) and _fits_a_name(name):
            return f"dynamo/{name}"
    if kind == "precompile" and _HEX64.fullmatch(key):
        return f"dynamo/{key}/{PRECOMPILED}"
    if kind == "autotune":
        shard, _, name = key.rpartition("/")
        stem = name.removesuffix(".best_config")
        if shard == "cache" and _HEX64.fullmatch(name):
            return key
        if beside.SHARD.fullmatch(shard) and _AUTOTUNE_STEM.fullmatch(stem) and name != stem:
            return key
    raise _refused(kind, key)


def flat_pgo_key(key: str) -> str:
    """A PGO key with what a file name cannot hold replaced."""
    return re.sub(r'[<>:"/\\|?*]', "_", key)


def _fits_a_name(name: str) -> bool:
    """Whether a file can have this name everywhere: text, and at most 255 bytes."""
    try:
        return len(name.encode()) <= 255
    except UnicodeEncodeError:
        return False


def code_path(shard: str, name: str) -> str:
    """Where a generated source or built object goes. Raises Problem("name-refused")."""
    stem, _, _ = name.partition(".")
    if (
        beside.is_code_folder(shard)
        and beside.CODE_STEM.fullmatch(stem)
        and _SUFFIX.fullmatch(name[len(stem) :])
    ):
        return f"{shard}/{name}"
    raise _refused("code", f"{shard}/{name}")


def triton_path(device: str | None, key: str, name: str) -> str:
    """Where a file of a Triton kernel goes, below ``triton/<device>`` or, with None, the root.

    Raises Problem("name-refused").
    """
    if is_triton_key(key) and _TRITON_FILE.fullmatch(name):
        if device is None:
            return f"{key}/{name}"
        if _DEVICE.fullmatch(device):
            return f"triton/{device}/{key}/{name}"
    raise _refused("triton", f"{device}/{key}/{name}")


def checked_path(kind: str, path: str) -> str:
    """The path of a file from a bundle, if the layout of its kind allows it.

    Raises Problem("name-refused").
    """
    parts = path.split("/")
    if kind == "code" and len(parts) == 2:
        return code_path(*parts)
    if kind == "autotune" and len(parts) == 2:
        return payload_path("autotune", path, "")
    if kind == "triton" and len(parts) == 4 and parts[0] == "triton":
        return triton_path(parts[1], parts[2], parts[3])
    if kind == "triton" and len(parts) == 2:
        return triton_path(None, parts[0], parts[1])
    if kind == "aoti_eager":
        if _EAGER_ITEM.fullmatch(path):
            return path
        if len(parts) == 6 and parts[3] == "lib" and (above := _EAGER_ABOVE.match(path)):
            return f"{above[0]}lib/{code_path(parts[4], parts[5])}"
    raise _refused(kind, path)
