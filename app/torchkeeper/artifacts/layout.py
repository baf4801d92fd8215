"""Where each kind of entry lies in a cache folder, both ways.

``locate`` says what a path found in a folder is: something only where a known writer puts a file of
exactly this name. Everything else is "unknown", as a user's own file in a cache folder is. What a
path leaves open, ``proofs`` settles. ``payload_path``, ``code_path``, ``triton_path`` and
``checked_path`` are the only functions that turn a key or name from a mega-cache, a bundle or a
JSON file into a path, and they refuse anything but what that kind's layout allows.

Sources: torch/_inductor/codecache.py (FxGraphCache, get_path, write_atomic),
torch/_functorch/_aot_autograd/autograd_cache.py, torch/_dynamo/pgo.py (code_state_path),
torch/_dynamo/package.py (DiskDynamoCache), torch/_inductor/aoti_eager.py, torch/_inductor/cache.py
(OnDiskCache), torch/_inductor/runtime/autotune_cache.py, triton/runtime/cache.py; of vLLM
vllm/compilation/backends.py, decorators.py and compiler_interface.py (initialize_cache), and of
SGLang 0.5.23 sglang/srt/compilation/backend.py, which is made after vLLM's; of other compilers
artifacts/jits.
"""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from torchkeeper.artifacts import beside, triton
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.jits import known as jits
from torchkeeper.artifacts.patterns import regex

#: Our own folder inside a place, and what our own files begin with that say what is being done to
#: it (stores/folders/journal.py); never part of a listing.
TRASH = ".torchkeeper-trash"
JOURNAL = ".torchkeeper-journal-"
#: How all of these begin.
_OURS = ".torchkeeper-"
#: The folder of precompiled C++ headers (_HEADER_DIR in torch/_inductor/codecache.py).
HEADERS = "precompiled_headers"

_FX_KEY = regex(beside.FX)
_AOT_KEY = regex(beside.AOT)
#: The digest that a payload is named after; of AOTAutograd's, older versions had one file of a key.
_PAYLOAD = regex(r"[a-z2-7]{51}")
_AOT_PAYLOAD = regex(r"[a-z2-7]{51}|entry")
#: Hexadecimal in torch 2.13 (AUTOTUNE_CACHE_KEY_STRATEGY in torch/_inductor/cache_key.py).
_AUTOTUNE_STEM = regex(r"[0-9a-f]{64}|[a-z2-7]{51,52}")
_PGO_FILE = regex(rf"code_state_({beside.PROFILE_KEY})\.pkl", re.ASCII)
_PGO_KEY = regex(
    rf"(?={beside.PROFILE_KEY}$)[^\x00-\x1f\x7f<>:\"/\\|?*.][^\x00-\x1f\x7f<>:\"/\\|?*]*", re.ASCII
)
_TRITON_FILE = regex(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,254}")
_DEVICE = regex(triton.DEVICE, re.ASCII)
_HEADER = regex(rf"{HEADERS}/({beside.CODE}\.h(?:\.gch|\.pch)?)")
#: A cache inside a place: what leads from any folder of vLLM's to a rank, the caches of a rank, or
#: part of a model there, as SGLang has them, or of a model, an artifact that torch saved unpacked
#: there (torch/_inductor/standalone_compile.py), where AOTInductor builds eager kernels, and where
#: Helion has Triton keep its own (helion/autotuner/local_cache.py); one of Triton's alone
#: (``TRITON_CACHE_DIR``).
_INNER = regex(
    r"(?:torch_compile_cache/)?(?:torch_aot_compile/)?"
    rf"(?:[^/]+/(?={beside.RANK}/|inductor_cache/|triton_cache/))?"
    rf"(?:{beside.RANK}/(?:[\w.-]{{1,100}}/(?=inductor_cache/|triton_cache/))?)?"
    r"(?:(?:inductor_cache|triton_cache|(?:[^/]+/)?artifact_[^/]+)/)?"
    r"(?:aoti_eager/[^/]+/[^/]+/lib/)?"
    r"(?:helion/(?=triton/))?"
    rf"(?:(?:triton|cache|[0-9]{{1,3}})/(?=(?:{triton.KEY})/[^/]*$))?"
)
#: The inner caches whose entries PyTorch or Triton would find as well in a cache of its own.
_PLAIN_INNER = regex(r"(?:.*/)?(?:inductor_cache|triton_cache|helion|triton|cache|[0-9]{1,3})/")
#: Where AOTInductor builds the libraries of eager kernels.
_EAGER_LIB = regex(r"(?:.*/)?aoti_eager/[^/]+/[^/]+/lib/")
#: The folder of its lists, and one of their items.
_EAGER_ABOVE = regex(r"aoti_eager/[A-Za-z0-9_]{1,100}/[a-z]{1,20}/")
_EAGER_ITEM = regex(_EAGER_ABOVE.pattern + r"[A-Za-z0-9_][A-Za-z0-9_.]{0,200}\.json#[0-9a-f]{12}")
#: The lists themselves.
_EAGER_LIST = regex(rf"aoti_eager/\w{{1,100}}/[a-z]{{1,20}}/({beside.OPERATOR})\.json", re.ASCII)
#: What vLLM writes for a graph beside its caches, and its compiled pieces.
VLLM_FACTORS = "cache_key_factors.json"
#: The first is the list of its compiled pieces.
VLLM_INDEX = "vllm_compile_cache.py"
#: The lists of vLLM and SGLang, which several may add to.
LISTS = frozenset({VLLM_INDEX, "sglang_compile_cache.py"})
VLLM_FILES = frozenset({VLLM_FACTORS, VLLM_INDEX, "computation_graph.py", "transformed_code.py"})
#: The same of SGLang, which writes a graph at each start; it reads none of this again.
_SGLANG = regex(r"sglang_compile_cache\.py|computation_graph_\d{9,11}\.\d{1,7}\.py", re.ASCII)
ARTIFACT = "artifact_"
VLLM_MODEL = "model"
_ARTIFACT = regex(beside.PIECE, re.ASCII)
_UNFINISHED = regex(beside.UNFINISHED, re.ASCII)
#: The key of vLLM's own files where no folder names the part of the model.
VLLM = "vllm"
#: What vLLM calls the folder of one of its processes.
RANK = regex(beside.RANK)
#: Where vLLM has what it writes for a part of a model, or, in older versions, for all of it; and a
#: model that it had compiled ahead.
_VLLM_FOLDER = regex(
    r"(?:torch_compile_cache/)?(?:torch_aot_compile/)?(?:[^/]+/)?"
    rf"{RANK.pattern}/(?:(?!inductor_cache/|triton_cache/)[\w.-]{{1,100}}/)?",
    re.ASCII,
)
_VLLM_AHEAD = regex(
    rf"(?:torch_compile_cache/)?(?:torch_aot_compile/)?{beside.HEX64}/{RANK.pattern}/"
)
#: The folder of all keys, in that of vLLM's caches.
VLLM_KEYS = "torch_compile_cache"
#: What leads to a key's or a model's folder of vLLM's, in a place that holds several.
_TREE = regex(
    rf"(?:{VLLM_KEYS}/)?(?:[^/]+/{beside.RANK}/|"
    rf"(?:torch_aot_compile/)?{beside.HEX64}/(?={beside.RANK}/|inductor_cache/|triton_cache/))",
    re.ASCII,
)
#: The end of the path of a place that lies among these.
_AMONG = regex(
    rf"(?:^|/)({beside.HEX64}|[^/]+/{RANK.pattern}(?:/(?!inductor_cache$|triton_cache$)[^/]+)?)$"
)
#: The file of a precompiled function (DiskDynamoStore._write_to_local_cache); of torch 2.8 two.
PRECOMPILED = "entry"
_PRECOMPILED = regex(rf"dynamo/({beside.HEX64})/(?:{PRECOMPILED}|dynamo|backends)")
#: The file of an AOTAutograd entry in torch before 2.8, which opens no other and so has one for
#: each key (AOTAutogradCache._lookup in torch/_functorch/_aot_autograd/autograd_cache.py).
ONLY = "entry"
#: The class of such an entry, and a field that it has since torch looks through all files of a key
#: (GuardedCache in torch/_inductor/codecache.py), as texts of a pickle.
_AOT_CLASS, _SINCE_SEVERAL = b"\x8c\x15AOTAutogradCacheEntry", b"\x8c\x0bguards_expr"
#: What the memoizers of torch/_inductor/runtime/caching leave at the end of a program.
MEMOIZED = "memoizer_cache.json"
_HEX64 = regex(r"[0-9a-f]{64}")
_HEX32 = regex(r"[0-9a-f]{32}")
_WORD = regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}")
_NAME = regex(r"[^\x00-\x1f\x7f/\\]+")


class Located(NamedTuple):
    """What a path is: its kind and key, and the path that all files of its entry share."""

    kind: str
    key: str
    entry_path: str


def is_code_stem(name: str) -> bool:
    """Whether PyTorch names generated code so: the key of its text (CODE_CACHE_KEY_STRATEGY)."""
    return beside.CODE_STEM.fullmatch(name) is not None


def among(root: str) -> str:
    """The end of a place's path that tells that it lies in a folder of vLLM's, with a ``/``."""
    match = _AMONG.search(root)
    return f"{match[1]}/" if match else ""


def below_keys(root: str) -> str:
    """What leads to the folder of a key from that of all keys of vLLM or SGLang, with a ``/``; ""
    for any other place: of a rank alone, any cache can be made.
    """
    below = root.rpartition(f"/{VLLM_KEYS}/")[2].removeprefix("torch_aot_compile/")
    return f"{below}/" if f"/{VLLM_KEYS}/" in root and "/" not in below else ""


def eager_folder(path: str) -> str | None:
    """The folder of the lists of eager kernels among whose libraries a path lies, or None."""
    match = _EAGER_LIB.match(path)
    return match[0].removesuffix("/lib/") if match else None


def is_servers(name: str) -> bool:
    """Whether vLLM or SGLang calls so what it writes for a graph beside its caches."""
    return name in VLLM_FILES or _SGLANG.fullmatch(name) is not None


def is_graph_key(name: str) -> bool:
    """Whether PyTorch names an FX graph, or what AOTAutograd makes of one, so."""
    return bool(_FX_KEY.fullmatch(name) or _AOT_KEY.fullmatch(name))


@functools.lru_cache(maxsize=256)  # of one entry it is asked several times
def payload_name(sha256_hex: str) -> str:
    """The file name PyTorch gives a payload: base32 of its SHA-256 without the padding. Source:
    COMPACT_CACHE_KEY_STRATEGY in torch/_inductor/cache_key.py.
    """
    return base64.b32encode(bytes.fromhex(sha256_hex))[:51].decode().lower()


def is_named_by_content(kind: str, name: str) -> bool:
    """Whether what is in a payload gives its file this name, if nobody has changed it."""
    return kind in ("fxgraph", "aotautograd") and not is_only(kind, name)


def is_only(kind: str, name: str) -> bool:
    """Whether a payload's file has the name of the only one of its key, whatever is in it."""
    return kind == "aotautograd" and name == ONLY


def file_name(kind: str, sha256_hex: str, pieces: Iterable[bytes]) -> str:
    """The name that the torch which made a payload gives its file, by the bytes of it, where
    nothing else tells: a server and a mega-cache know no names, nor did bundles at first.
    """
    return ONLY if kind == "aotautograd" and _is_only(pieces) else payload_name(sha256_hex)


def _is_only(pieces: Iterable[bytes]) -> bool:
    """Whether a payload is an AOTAutograd entry of torch before 2.8. Nothing is unpickled."""
    old, before = False, b""
    for piece in pieces:
        around = before + piece
        if _SINCE_SEVERAL in around:
            return False
        old = old or _AOT_CLASS in around
        before = around[-len(_AOT_CLASS) :]
    return old


def locate(path: str, above: str = "") -> Located:
    """What the file at a relative POSIX ``path`` is. Never fails. above: ``among`` of the place."""
    if found := _of_torch(path, above):
        return found
    return Located(*(jits.locate(path) or ("unknown", path.rpartition("/")[2], path)))


def is_compilers(path: str) -> bool:
    """Whether a path is that of another compiler's: PyTorch has some names that these have."""
    return _of_torch(path, "") is None and jits.locate(path) is not None


@functools.lru_cache(maxsize=16)  # of another compiler's file it is asked twice
def _of_torch(path: str, above: str) -> Located | None:
    found = _locate(path)
    if found is None and (inner := inner_cache(path)) and (more := _locate(path[len(inner) :])):
        # Each rank has files of the same names.
        found = Located(more.kind, more.key, inner + more.entry_path)
    return found or _locate_vllm(path, above)


def inner_cache(path: str) -> str:
    """The part of a path that leads to a cache inside the place, with a ``/``, or nothing."""
    folder, slash, _ = path.rpartition("/")
    return _inner_cache(folder + slash)


@functools.lru_cache(maxsize=256)  # of all files in a folder it is asked, and it alone tells
def _inner_cache(folder: str) -> str:
    match = _INNER.match(folder)
    return match[0] if match else ""


def canonical(path: str) -> str:
    """Where a file would lie in a cache of PyTorch or Triton alone. Raises
    Problem("part-of-artifact") for what is of use only where it is.
    """
    inner = inner_cache(path)
    alone = path[len(inner) :]
    parts = alone.split("/")
    name = parts[-1]
    compiled = _ARTIFACT.fullmatch(name) or name == VLLM_MODEL  # by vLLM: a piece, or a whole model
    own = is_servers(name) or compiled or beside.locate(alone, parts)
    if own or (inner and not _PLAIN_INNER.fullmatch(inner)):
        raise Problem("part-of-artifact", path=path[:200])
    return alone


def cache_above(path: str) -> str:
    """The cache folder that holds a file, judged by the file's path alone; empty for none."""
    parts = path.split("/")
    sure = ("fxgraph", "aotautograd", "code")  # nothing else is called so
    within = (n for n in range(1, len(parts)) if locate("/".join(parts[n:])).kind in sure)
    return "/".join(parts[: next(within, 0)])


def _locate(path: str) -> Located | None:
    parts = path.split("/")
    kernel = triton.is_folder(parts[:-1]) and triton.is_own(parts[-2], parts[-1])
    if kernel and not triton.is_common(parts[-2]):
        return Located("triton", parts[-2], path[: -len(parts[-1]) - 1])  # most, in a large cache
    if found := _locate_code(path, parts) or _locate_payload(path, parts):
        return found
    if beside.is_leftover(path, parts):
        # A lock is named after what it guards, and so shown with it.
        return Located("lock", parts[-1].removesuffix(".lock"), path)
    if beside.BISECTED.fullmatch(path):
        return Located("lock", parts[0], parts[0])
    if beside.TEMPORARY.fullmatch(parts[0]):
        # The cache of a compile without caches, whose kernels are below ``triton``: all of it goes
        # when its program ends.
        found = _locate("/".join(parts[1:]))
        if found and (found.kind != "triton" or parts[1] == "triton"):
            return Located("lock", parts[0], parts[0])
    if kernel:
        return Located("triton", parts[-2], "/".join(parts[:-1]))
    known = beside.locate(path, parts)
    return Located(*known) if known else None


@functools.lru_cache(maxsize=256)  # of each of its files it is asked
def kernel_folder(folder: str) -> str | None:
    """The key of a folder with a Triton kernel, "" while a whole one is being written, or None."""
    inside = folder[len(inner_cache(folder + "/")) :]
    if beside.BUNDLED.fullmatch(inside):
        return ""
    parts = inside.split("/")
    return parts[-1] if triton.is_folder(parts) else None


def _locate_payload(path: str, parts: list[str]) -> Located | None:
    first, name = parts[0], parts[-1]
    if first == "fxgraph" and len(parts) == 4 and _FX_KEY.fullmatch(parts[2]):
        right = parts[1] == parts[2][1:3] and _PAYLOAD.fullmatch(name)
        return Located("fxgraph", parts[2], path) if right else None
    if first == "aotautograd" and len(parts) == 3 and _AOT_KEY.fullmatch(parts[1]):
        return Located("aotautograd", parts[1], path) if _AOT_PAYLOAD.fullmatch(name) else None
    if first == "dynamo":
        if len(parts) == 2 and (match := _PGO_FILE.fullmatch(name)):
            return Located("pgo", match[1], path)
        match = _PRECOMPILED.fullmatch(path)
        return Located("precompile", match[1], f"dynamo/{match[1]}") if match else None
    if first == "aoti_eager":
        match = _EAGER_LIST.fullmatch(path)
        return Located("aoti_eager", match[1], path) if match else None
    if first == HEADERS:
        match = _HEADER.fullmatch(path)
        return Located("header", match[1], path) if match else None
    return _locate_generic(path, parts)


def _locate_generic(path: str, parts: list[str]) -> Located | None:
    """GEMM choices, and caches of torch/_inductor/cache.py, whose folder may be the place."""
    if parts[0] == "cache" and len(parts) == 2 and _HEX64.fullmatch(parts[1]):
        return Located("autotune", parts[1], path)
    if parts == [MEMOIZED]:
        return Located("ondisk", MEMOIZED, path)
    alone = len(parts) == 1 or (parts[0] == "cache" and len(parts) <= 3)
    return Located("ondisk", parts[-1], path) if alone and _HEX32.fullmatch(parts[-1]) else None


def _locate_vllm(path: str, above: str) -> Located | None:
    """vLLM and SGLang have a folder for each part of a model; older versions of vLLM have the files
    in that of a rank.
    A whole model that it had compiled ahead is ``torch_aot_compile/<hash>/rank_i_j/model``
    (vllm/compilation/decorators.py), of which the folder of the hash may be the place.
    """
    folder, slash, name = path.rpartition("/")
    if _ARTIFACT.fullmatch(name) and folder.count("/") <= 4:
        return Located("precompile", name, path)
    whole = above + folder + slash
    if name == VLLM_MODEL or _UNFINISHED.fullmatch(name):
        model = Located("precompile", path, path) if name == VLLM_MODEL else None
        return model or Located("lock", name, path) if _VLLM_AHEAD.fullmatch(whole) else None
    if not is_servers(name) and not beside.ATOMIC.fullmatch(name):
        return None
    if not _VLLM_FOLDER.fullmatch(whole):
        return None
    if beside.ATOMIC.fullmatch(name):
        return Located("lock", name, path)
    return Located("code", folder or VLLM, folder + slash + VLLM)


def _locate_code(path: str, parts: list[str]) -> Located | None:
    if len(parts) != 2 or not beside.is_code_folder(parts[0]):
        return None
    folder, name = parts
    if stem := beside.code_stem(folder, name):
        return Located("code", stem, f"{folder}/{stem}")
    stem = name.removesuffix(".best_config")
    tuned = stem != name and beside.ANY_SHARD.fullmatch(folder) and _AUTOTUNE_STEM.fullmatch(stem)
    return Located("autotune", stem, path) if tuned else None


def eager_library(conf: str, kernel_path: str) -> str | None:
    """The path of a library that an item of the list ``conf`` names; None for what none names."""
    parts = kernel_path.split("/")
    if parts[0] != "lib" or not 2 <= len(parts) <= 8 or not all(map(_WORD.fullmatch, parts)):
        return None
    return f"{conf.rpartition('/')[0]}/{kernel_path}"


def _refused(kind: str, name: str) -> Problem:
    return Problem("name-refused", kind=kind, name=name[:200])


def payload_path(kind: str, key: str, sha256_hex: str, name: str = "") -> str:
    """Where a payload of one file goes; ``name``: that of its file where it comes from, or as of
    ``file_name``. Raises Problem("name-refused"). An autotune key is ``<xx>/<stem>.best_config``,
    as in a mega-cache (_artifact_key_from_local_cache_key in
    torch/_inductor/runtime/autotune_cache.py), or ``cache/<hash of system>``.
    """
    if kind == "fxgraph" and _FX_KEY.fullmatch(key):
        return f"fxgraph/{key[1:3]}/{key}/{payload_name(sha256_hex)}"
    if kind == "aotautograd" and _AOT_KEY.fullmatch(key):
        return f"aotautograd/{key}/{name if is_only(kind, name) else payload_name(sha256_hex)}"
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
        if beside.ANY_SHARD.fullmatch(shard) and _AUTOTUNE_STEM.fullmatch(stem) and name != stem:
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
    if beside.is_code_folder(shard) and beside.code_stem(shard, name):
        return f"{shard}/{name}"
    raise _refused("code", f"{shard}/{name}")


def triton_path(device: str | None, key: str, name: str) -> str:
    """The path of a kernel's file, of the root's with None. Raises Problem("name-refused")."""
    if triton.is_key(key) and _TRITON_FILE.fullmatch(name) and triton.is_file(name):
        if device is None:
            return f"{key}/{name}"
        if _DEVICE.fullmatch(device):
            return f"triton/{device}/{key}/{name}"
    raise _refused("triton", "/".join(filter(None, (device, key, name))))


def checked_kernel(paths: Sequence[str]) -> Located | None:
    """What the files of a kernel from a bundle are, where one folder and their names tell of all of
    them; else None, and ``checked_path`` and ``locate`` tell of each. Raises as ``checked_path``.
    """
    folder, slash, _ = paths[0].rpartition("/")
    start = folder + slash
    names = tuple([path[len(start) :] for path in paths if path.startswith(start)])
    if triton.is_common(folder.rpartition("/")[2]) or len(names) < len(paths):
        return None
    at = locate(checked_path("triton", paths[0]))
    return at if at.kind == "triton" and _are_of_kernel(names) else None


def canonical_kernel(paths: Sequence[str]) -> list[str] | None:
    """Where the files of a kernel's folder would lie, as ``canonical`` and ``checked_path`` of each
    say; None where one folder and their names do not tell. Raises as these.
    """
    start = len(paths[0]) - len(canonical(paths[0]))  # the same for all in one folder
    alone = [path[start:] for path in paths]
    inner = all(path.startswith(paths[0][:start]) for path in paths)
    plain = not any(is_servers(path.rpartition("/")[2]) for path in alone)
    return alone if inner and plain and checked_kernel(alone) else None


@functools.lru_cache(maxsize=1024)  # most kernels have the same few
def _are_of_kernel(names: tuple[str, ...]) -> bool:
    return all(_TRITON_FILE.fullmatch(name) and triton.is_file(name) for name in names)


def compiled_path(path: str, title: object = None) -> str:
    """Where a file of another compiler's cache lies in every place: in a folder that is called as
    the cache. title: that of the compiler, where what is in the file tells. Raises
    Problem("name-refused").
    """
    if (own := jits.own(path)) is None:
        return checked_path("jit", path)
    return checked_path("jit", f"{jits.folder_of(own.cache, str(title))}/{own.path}")


def _are_names(parts: list[str]) -> bool:
    """Whether files and folders can have these names everywhere, they lead nowhere else, and no
    name is one of ours.
    """
    return all(_NAME.fullmatch(part) and part not in ("..", ".") for part in parts) and all(
        _fits_a_name(part) and not part.startswith(_OURS) for part in parts
    )


@functools.lru_cache(maxsize=256)  # of all files in a folder it is asked
def _of_tree(folder: str) -> bool:
    return _TREE.match(folder) is not None


def in_tree(path: str) -> bool:
    """Whether a path leads through a folder of vLLM's that is called after a key: what lies there
    is looked for nowhere else, and travels under its whole path.
    """
    folder, slash, _ = path.rpartition("/")
    return _of_tree(folder + slash)


def checked_path(kind: str, path: str) -> str:
    """The path of a file from a bundle, if its layout allows it. Raises Problem("name-refused")."""
    parts = path.split("/")
    if in_tree(path) and kind != "aoti_eager":
        # What begins with a point is none of vLLM's, and may be ours.
        plain = not path.startswith(".") and "/." not in path
        if plain and _are_names(parts) and locate(path).kind == kind:
            return path
        raise _refused(kind, path)
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
    own = jits.own(path) if kind == "jit" and _are_names(parts) else None
    if own and own.above == f"{own.cache.folder}/":
        return path
    raise _refused(kind, path)
