"""What must be seen besides a path before a file is taken for what its path says.

Some names of known writers are such as a user gives, too: 32 hexadecimal digits,
``tmp01234567.py``, ``locks/report.lock``. Of these the first bytes tell, or what lies beside them.
Of names that hardly anybody else gives, what a crash has left tells, too: nothing, zeros, a part.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import NamedTuple

from torchkeeper.artifacts import beside, layout, ondisk, triton
from torchkeeper.artifacts.jits import known as jits
from torchkeeper.artifacts.patterns import regex

#: How many bytes of a file tell what it is.
HEAD = 4096
#: The same of another file, which may name it.
OTHER = 1 << 18


class Proof(NamedTuple):
    """What tells: the first bytes of the file, and what must be in a folder. folder: a path in
    which ``*`` is any folder; name: of a file in it, or of a folder, or "" where the file itself
    tells; head: how that file begins. private: the folder lets nobody but its owner in, and nothing
    in it is called ``name``. exact: the two are the path of one file. also: another, which has to
    tell the same.
    """

    head: Callable[[bytes], object] | None = None
    folder: str = ""
    name: str = ""
    private: bool = False
    exact: bool = False
    also: Proof | None = None


@functools.lru_cache(1 << 6)  # of many files one after the other the same is asked
def _begins(pattern: str, rest: tuple[str, ...] = ()) -> Callable[[bytes], object]:
    """rest: what has to follow, each somewhere after the one before. In one pattern these would
    take a time that grows with the square of the size.
    """
    form = regex(pattern.encode(), re.DOTALL)
    following = [regex(one.encode(), re.DOTALL) for one in rest]

    def begins(head: bytes) -> object:
        found = form.match(head)
        for one in following:
            found = found and one.search(head, found.end())
        return found

    return begins


def _begins_or_torn(*starts: bytes) -> Callable[[bytes], object]:
    def told(head: bytes) -> bool:
        torn = not head.strip(b"\0") or any(start.startswith(head) for start in starts)
        return torn or head.startswith(starts)

    return told


#: How Python's pickles begin that are written today.
_PICKLE = tuple(b"\x80%c" % n for n in range(2, 6))
_ELF = b"\x7fELF"
_GROUP = _begins_or_torn(b'{"child_paths": {')
#: vLLM's list of compiled pieces, by range, number and compiler, indented by four, and SGLang's
#: (CompilerManager.save_to_file in vllm/compilation/backends.py, sglang/srt/compilation).
_VLLM_LIST = _begins_or_torn(b"{(", b"{   (")

#: The end of a path, and how such a file begins.
_HEADS: dict[str, Callable[[bytes], object]] = {
    # OnDiskCache and its like (torch/_inductor/cache.py), and Memoizer.
    r"[0-9a-f]{32}": ondisk.is_value,
    r"memoizer_cache\.json": _begins(r'\s*\{\s*"(?:collections|cache_size)"'),
    # CacheBase.get_system and update_local_cache (codecache.py).
    rf"cache/{beside.HEX64}": _begins(
        r'\s*\{\s*"system":\s*\{\s*(?:\}|"(?:device|version|hash)":)'
    ),
    # CUTLASS's operations (codegen/cutlass/serialization.py) and cache (compiler.py of CUTLASS,
    # whose table stands at the end of the first page), AutoHeuristic's measurements.
    r"configs_[0-9a-f]{8}\.json": _begins(r'\s*\[\s*"\{\\"gemm_kind\\"'),
    r"compiled_cache\.db": _begins(r"SQLite format 3\0.*\bcompiled_operations\b"),
    r"autoheuristic/[^/]+/[^/]+\.txt": _begins(
        r'\{"(?:shared_memory|device_capa|name)": .*"numerical_features": '
    ),
    # _dump_launch_tensors (runtime/triton_heuristics.py): torch.save names an archive as its file.
    r"\w+_run_\d+/tensor_\d+\.pt": _begins(r"PK\x03\x04.{26}tensor_\d+/"),
    # vllm/compilation/backends.py, decorators.py and model_executor/models/registry.py,
    # vllm/distributed/device_communicators; of a compiled function torch/_dynamo/aot_compile.py.
    r"computation_graph(?:_[\d.]+)?\.py": _begins(r".*\bclass GraphModule\(torch\.nn\.Module\):"),
    r"(?:vllm|sglang)_compile_cache\.py": _VLLM_LIST,
    r"cache_key_factors\.json": _begins(
        r'\s*(?:\{\s*"(?:code|compiler|config|env)(?:_\w{1,20})?"|\{?\s*$)'
    ),
    rf"(?:{beside.HEX64}/)?(?:{beside.RANK}/)?model": _begins(
        r"\x80[\x04\x05].*(?:signature|torch\._(?:dynamo|inductor|functorch)|vllm\.)"
    ),
    rf"(?:{beside.HEX64}/)?(?:{beside.RANK}/)?{beside.UNFINISHED}": _begins_or_torn(*_PICKLE),
    # CompiledArtifact.save (torch/_inductor/standalone_compile.py): a checksum in newer versions,
    # the length of a header or of torch's key as eight bytes, and that.
    beside.PIECE: _begins(r"\0*$|(?:.{4})?\0{7}[\x13-\x40]"),
    r"modelinfos/[^/]+\.json": _begins(r'\s*\{\s*(?:"(?:hash|modelinfo)"|\}?\s*$)'),
    r"gpu_p2p_access_cache_for_[0-9,]+\.json": _begins(r'\s*\{\s*(?:"\d+->\d+"|\}?\s*$)'),
    # write_kernel_autotune_defs_header (codegen/wrapper.py).
    r"tmp[a-z0-9_]{8}\.py": _begins(r"\s*import torch\n.*\bAlgorithmSelectorCache\b"),
    # A profile (torch/_dynamo/pgo.py), a precompiled function (package.py): what PyTorch unpickles.
    rf"dynamo/{beside.PROFILE}(?:\.tmp)?": _begins_or_torn(*_PICKLE),
    rf"dynamo/{beside.HEX64}/(?:entry|dynamo|backends)": _begins_or_torn(*_PICKLE),
    # What could not be fused, by the names of its nodes (write_text in codecache.py).
    rf"{beside.SHARD}/{beside.CODE}[^/]*\.txt": _begins_or_torn(
        *(b"%s%d" % (name, n) for name in (b"op", b"buf") for n in range(10))
    ),
    # What of an operator is compiled, for which inputs (torch/_inductor/aoti_eager.py).
    r"aoti_eager/[^/]+/[^/]+/[^/]+\.json": _begins(
        r'\s*(?:$|\[\s*(?:$|\{\s*"(?:meta_info|kernel_path)"))'
    ),
    # put_group in triton/runtime/cache.py, the stages of triton/backends/*/compiler.py, and
    # check_disk_cache in runtime/autotuner.py, where the folder's name is no proof.
    rf"{triton.COMMON}/{triton.GROUP_PREFIX}[^/]+\.json": _GROUP,
    rf"{triton.COMMON}/[^/]+\.autotune\.json": _begins(r'\{"(?:key|configs_timings)": '),
    rf"{triton.COMMON}/[^/]+\.(?:ttir|ttgir|ttcir|tttcir|ttadapter|ttsharedir|mluir)": _begins(
        r"(?:\s|//[^\n]*\n)*(?:#\w+\s*=|!\w+\s*=|module\b|\"builtin\.module\")"
    ),
    rf"{triton.COMMON}/[^/]+\.llir": _begins(r"\s*(?:; ModuleID|source_filename|target |define )"),
    rf"{triton.COMMON}/[^/]+\.amdgcn": _begins(
        r"\s*(?:;[^\n]*\n\s*)*\.(?:text|amdgcn_target|amdhsa)"
    ),
    rf"{triton.COMMON}/[^/]+\.(?:hsaco|so)": _begins_or_torn(_ELF),
    # How far a search for a fault is (torch/_inductor/compiler_bisector.py).
    r"bisect/bisect_status\.txt": _begins(r"backend=\w+\nsubsystem=\w*\n$"),
    r"bisect/\w+/\w+_run_state\.txt": _begins(r"(?:test_disable|find_max_bounds|bisect)$"),
    r"bisect/\w+/\w+_bisect_range\.txt": _begins(r"low=-?\d+\nhigh=-?\d+\n$"),
    r"bisect/\w+/\w+_call_counter_debug_info\.txt": _begins(r"$|\d+="),
    r"bisect/\w+/\w+_config\.txt": _begins(
        r"(?:cse|fallback_random|emulate_precision_casts|layout_optimization|"
        r"comprehensive_padding)=(?:True|False)\n$"
    ),
}
_HEAD = [(regex(rf"(?:.*/)?(?:{end})", re.ASCII), begins) for end, begins in _HEADS.items()]
#: Of a hundred thousand paths nearly all end in none of these.
_ANY = regex(rf"(?:.*/)?(?:{'|'.join(_HEADS)})", re.ASCII)
_SURE_LOCK = regex(
    rf"(?:.*/)?(?:locks/(?:{beside.CODE}|g\+\+)|{beside.CODE}\.debug|memoizer_cache|"
    rf"inductor_on_disk_cache/locks/[0-9a-f]{{4}}|{beside.PROFILE})\.lock"
)
_VALUE_LOCK = regex(r"((?:.*/)?)(?:locks/([0-9a-f]{4})|dir)\.lock")
_LIBRARY_LOCK = regex(r"((?:.*/)?aoti_eager/[^/]+/[^/]+/)lib/locks/([^/]+)\.lock")
_OPERATOR_LOCK = regex(r"((?:.*/)?)locks/([^/]+)\.lock")
#: Stages of backends whose form is not known here.
_STAGE = regex(rf"((?:.*/)?{triton.COMMON}/)[^/]+\.(?:npubin|mubin|mcfatbin)", re.ASCII)
#: A list that is broken is told by what was built beside it.
_EAGER = regex(r"((?:.*/)?aoti_eager/[^/]+/[^/]+/)[^/]+\.json")
_TRANSFORMED = regex(r"((?:.*/)?)transformed_code\.py")
#: A cache of a compile without caches has no graphs, and mkdtemp lets nobody else in.
_FRESH = regex(rf"(?:.*/)?{beside.RANDOM}/", re.ASCII)
_DUMPED = regex(rf"((?:.*/)?{beside.SHARD}/)\w+_run_\d+/tensor_\d+\.pt", re.ASCII)


def wanted(path: str) -> list[Proof]:
    """What may tell of a file, of which one is enough; nothing where its path tells all. path: one
    that ``layout.locate`` knows.
    """
    proof = jits.proof(path)
    if proof and layout.is_compilers(path):
        folder, _, name = proof.path.rpartition("/")
        return [Proof(_begins(proof.head, proof.rest), folder, name, exact=True)]
    if match := _FRESH.match(path):
        return [Proof(folder=match[0], name="fxgraph|aotautograd", private=True)]
    if _ANY.fullmatch(path):
        head = next(begins for end, begins in _HEAD if end.fullmatch(path))
        if match := _DUMPED.fullmatch(path):
            return [Proof(head, also=Proof(folder=match[1], name=rf"{beside.CODE}\.py"))]
        if match := _EAGER.fullmatch(path):
            return [Proof(head), Proof(folder=f"{match[1]}lib/*/", name=rf"{beside.CODE}\..*so")]
        return [Proof(head)]
    if match := _TRANSFORMED.fullmatch(path):
        return [Proof(_begins(r"\{ *\("), match[1], r"vllm_compile_cache\.py")]
    if match := _STAGE.fullmatch(path):
        return [Proof(_GROUP, match[1], rf"{triton.GROUP_PREFIX}[^/]+\.json")]
    if not path.endswith(".lock") or _SURE_LOCK.fullmatch(path):
        return []
    found = []
    if match := _VALUE_LOCK.fullmatch(path):
        rest = (match[2] or r"[0-9a-f]{4}") + r"[0-9a-f]{28}"
        found.append(Proof(ondisk.is_value, match[1], rest))
    if match := _LIBRARY_LOCK.fullmatch(path):
        found.append(Proof(folder=match[1], name=re.escape(match[2]) + r"\.json"))
    elif match := _OPERATOR_LOCK.fullmatch(path):
        # Whoever compiled the operator took the lock there.
        name = re.escape(match[2]) + r"\.lock"
        found.append(Proof(folder=f"{match[1]}aoti_eager/*/*/lib/locks/", name=name))
    return found


def alone(path: str, proofs: list[Proof]) -> str | None:
    """The one file that tells of one of another compiler's, by nothing but how it begins: another,
    or that itself; None of every other path. proofs: what is ``wanted`` of it.
    """
    if not (proofs and proofs[0].exact):
        return None
    _, folder, name, *_ = proofs[0]
    return f"{folder}/{name}".lstrip("/") if name else path


def elsewhere(path: str) -> tuple[str, Callable[[bytes], object]] | None:
    """The path of the other file that tells of one of another compiler's, and what is true of its
    first ``OTHER`` bytes; None where the path tells all, or the file itself.
    """
    proof = jits.proof(path)
    return (proof.path, _begins(proof.head, proof.rest)) if proof and proof.path else None


def fits(path: str, head: bytes) -> bool:
    """Whether a file may be what its path says, by its first ``HEAD`` bytes, or all that it has."""
    key = path.rpartition("/")[0].rpartition("/")[2]
    if key and not triton.is_common(key):
        path = path.replace(key, "A" * 52)  # which kernel it is tells nothing
    telling = _heads(path)
    return not telling or any(tells(head) for tells in telling)


@functools.lru_cache(1 << 10)
def _heads(path: str) -> list[Callable[[bytes], object]]:
    return [proof.head for proof in wanted(path) if proof.head and not proof.name]
