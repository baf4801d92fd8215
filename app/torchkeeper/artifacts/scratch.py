r"""Names of what a writer leaves while it writes, or when it dies, and of the locks that it takes.

A leftover is what one line of this table says, and nothing else: whatever is called similarly, or
so elsewhere, is somebody's own file. Checked against torch 2.13.0 and Triton 3.7.1; ``C`` is a key
of code, ``XX`` its folder, ``KEY`` that of a kernel, ``ROOT`` a cache (``layout.inner_cache``).

=================================  ====================================  ======================
writer                             folder under ROOT                     name
=================================  ====================================  ======================
write_atomic (codecache.py)        that of an FX graph, an AOTAutograd   .<pid>.<thread>.tmp
                                   entry, a precompiled function, XX,
                                   C, C/C, XX/C.halide, cache,
                                   precompiled_headers; of vLLM's,
                                   beside its artifacts
write_local_impl (pgo.py)          dynamo                                code_state_<key>.pkl
                                                                         with .tmp or .lock
CppBuilder.build (cpp_builder.py)  XX, C, C/C, precompiled_headers       C…_CxxBuild/ with what
                                                                         a compiler makes
get_lock_dir (codecache.py)        locks                                 C.lock, g++.lock
_precompile_header (the same)      precompiled_headers/locks             C.lock
DebugFormatter.copy (debug.py)     XX                                    C.debug.lock
aoti_eager_op_conf_lock            locks; aoti_eager/<ns>/<device>/      <op>.lock of a list
(aoti_eager.py)                    lib/locks                             that is there
OnDiskCache (cache.py)             cache/<name>/locks, or locks of a     <4 hex>.lock of a
                                   place that is such a cache            value that is there
_OnDiskCacheImpl                   cache, cache/<name>                   dir.lock beside a value
(runtime/caching)
Memoizer (runtime/caching)         ROOT                                  memoizer_cache.lock
disk_cache_set                     cutedsl_compile_cache                 tmp<8>.o.tmp
(runtime/cutedsl_cache.py)
fresh_cache (utils.py)             tmp<8>                                a cache, in full
generate_and_run_autotune_block    ROOT                                  tmp<8>.py with its
(codegen/wrapper.py)                                                     imports
CompilerBisector                   bisect, bisect/<backend>              bisect_status.txt,
(compiler_bisector.py)                                                   <subsystem>_….txt
FileCacheManager.put               KEY/tmp.pid_<pid>_<uuid>, once KEY    a kernel's file, once
(triton/runtime/cache.py)                                                with .tmp.pid_…
TritonBundler (triton_bundler.py)  triton/<device>/tmp.<uuid>            a whole kernel
Torchkeeper (stores/atomic.py,  where the file is to be               .torchkeeper-….tmp,
stores/folders/journal.py)                                               tmp.torchkeeper-…/
=================================  ====================================  ======================

Locks are empty. What else tells such a file from one of the same name is in ``proofs``.
"""

from __future__ import annotations

import re

from torchkeeper.artifacts import triton

#: Keys, as the functions of torch/_inductor/cache_key.py make them.
CODE = r"c[a-z2-7]{51}"
FX = r"f[a-z2-7]{51}"
AOT = r"a[a-z2-7]{51}"
HEX64 = r"[0-9a-f]{64}"
#: The first two letters of the rest of a key of code.
SHARD = r"[a-z2-7]{2}"
#: A profile: ``code_state_<job>:<rank>:<tag>.pkl`` with the colons replaced (torch/_dynamo/pgo.py).
#: The first versions know no tag.
PROFILE_KEY = r"[^/\n]*_(?:None|\d{1,10})(?:_[^/\n]*)?"
PROFILE = rf"code_state_{PROFILE_KEY}\.pkl"
#: An operator with its overload, in a file name.
OPERATOR = r"[A-Za-z0-9_]{1,150}(?:\.[A-Za-z0-9_]{1,50})?"

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
#: The number of a thread is an address; what others put there is the time, in seconds or parts.
_ATOMIC = r"\.\d{1,10}\.(?!1\d{9}(?:\d{3}){0,3}\.)\d{6,20}\.tmp"
_MADE = r"[\w.+-]{1,200}\.(?:o|obj|i|ii|s|d|bc|dwo|res|gch|pch|lib|exp|pdb|ilk|so|dll)"
#: What CompilerBisector searches through (BACKENDS), and what it writes of each.
_SEARCHED = (
    r"(?:aot_eager_decomp_partition/(?:aot_eager_decomp_partition_cse|decomposition)|"
    r"inductor/(?:(?:pre_grad|joint_graph|post_grad)_passes|pre_grad_graph|cudagraphs|lowerings|"
    r"inductor_(?:fallback_random|emulate_precision_casts|layout_optimization|"
    r"comprehensive_padding)))"
)
_STATE = r"_(?:run_state|config|bisect_range|call_counter_debug_info)\.txt"
#: The names of tempfile.mkdtemp and mkstemp.
_NAMED = r"tmp[a-z0-9_]{8}"
#: Those of them that are no words with a number behind, such as somebody gives a folder.
RANDOM = r"(?!tmp[a-z_]*[0-9]*(?:/|$))" + _NAMED
#: A piece of a graph that vLLM had compiled (vllm/compilation/compiler_interface.py).
PIECE = r"artifact_(?:compile_range_\d{1,10}_\d{1,10}|shape_(?:None|\d{1,10}))_subgraph_\d{1,6}"

_ATOMIC_NAME = re.compile(_ATOMIC, re.ASCII)
#: What Torchkeeper calls its own until they have their names.
_OURS = re.compile(r"\.torchkeeper-(?:[0-9a-f]{12}|[A-Za-z0-9_]{8})\.tmp")
_OUR_FOLDER = re.compile(r"tmp\.torchkeeper-[0-9a-f]{12}")
_TEMPORARY = re.compile(RANDOM)
#: Folders that are one leftover, with all that a writer puts into them.
_BISECT = "bisect"
_WHOLE = re.compile(rf"{RANDOM}|{_BISECT}")
_OF_KERNEL = re.compile(rf"tmp\.pid_\d{{1,10}}_{_UUID}", re.ASCII)
_BUNDLED = re.compile(rf"(?:{triton.ABOVE})?tmp\.{_UUID}", re.ASCII)
_MID_WRITE = re.compile(rf"(.+)\.tmp\.pid_\d{{1,10}}_(?:{_UUID}|\d{{1,20}})", re.ASCII)

_LINES = (
    rf"fxgraph/(?P<fx>{SHARD})/f(?P=fx)[a-z2-7]{{49}}/{_ATOMIC}",
    rf"aotautograd/{AOT}/{_ATOMIC}",
    rf"dynamo/{HEX64}/{_ATOMIC}",
    rf"(?:{SHARD}(?:/{CODE}\.halide)?|{CODE}(?:/{CODE})?|cache|precompiled_headers)/{_ATOMIC}",
    rf"dynamo/{PROFILE}\.(?:tmp|lock)",
    rf"(?:{SHARD}|{CODE}(?:/{CODE})?|precompiled_headers)/{CODE}[\w.]{{0,40}}_CxxBuild/{_MADE}",
    rf"locks/(?:{CODE}|g\+\+|{OPERATOR})\.lock",
    rf"aoti_eager/\w{{1,100}}/[a-z]{{1,20}}/lib/locks/{OPERATOR}\.lock",
    rf"precompiled_headers/locks/{CODE}\.lock",
    rf"{SHARD}/{CODE}\.debug\.lock",
    r"(?:cache/(?:[^/]+/)?)?(?:locks/[0-9a-f]{4}|dir)\.lock",
    r"memoizer_cache\.lock",
    rf"cutedsl_compile_cache/{_NAMED}\.o\.tmp",
    rf"{_NAMED}\.py",
)
_LINE = re.compile("|".join(f"(?:{line})" for line in _LINES), re.ASCII)
_BISECTED = re.compile(rf"{_BISECT}/(?:bisect_status\.txt|{_SEARCHED}{_STATE})", re.ASCII)


def is_leftover(path: str, parts: list[str]) -> bool:
    """Whether a writer has such a file in its folder while it writes; less those of ``whole``."""
    name = parts[-1]
    if _OURS.fullmatch(name) or _LINE.fullmatch(path):
        return True
    if len(parts) < 2:
        return False
    folder = parts[-2]
    if _OUR_FOLDER.fullmatch(folder):
        return triton.is_file(name)
    if _OF_KERNEL.fullmatch(folder):
        return triton.is_folder(parts[:-2]) and triton.is_file(name)
    if match := _MID_WRITE.fullmatch(name):
        return triton.is_folder(parts[:-1]) and triton.is_file(match[1])
    return is_bundled("/".join(parts[:-1])) and triton.is_telling("", name)


def is_bundled(folder: str) -> bool:
    """Whether a whole kernel is written into a folder before that gets its name."""
    return _BUNDLED.fullmatch(folder) is not None


def is_atomic(name: str) -> bool:
    """Whether write_atomic calls a file so until it has its name."""
    return _ATOMIC_NAME.fullmatch(name) is not None


def is_temporary(name: str) -> bool:
    """Whether a cache of a compile without caches lies in a folder of this name."""
    return _TEMPORARY.fullmatch(name) is not None


def is_whole(folder: str) -> bool:
    """Whether all that is known in a folder of this path is one leftover."""
    return _WHOLE.fullmatch(folder) is not None


def is_bisected(path: str) -> bool:
    """Whether PyTorch keeps there how far its search for a fault is."""
    return _BISECTED.fullmatch(path) is not None
