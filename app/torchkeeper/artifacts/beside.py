r"""What lies in a cache folder beside its entries: what torch and vLLM write and use only there,
what any writer leaves while it writes, or when it dies, and the locks that it takes.

Sources of the former: torch/_inductor/codecache.py (AotCodeCompiler, HalideCodeCache), debug.py
(DebugFormatter), cpp_builder.py (batch_convert_cubins_to_obj), runtime/triton_heuristics.py
(_dump_launch_tensors), runtime/cutedsl_cache.py, codegen/cutlass/{cache,utils}.py,
autoheuristic/autoheuristic.py; vllm/model_executor/models/registry.py and
vllm/distributed/device_communicators.

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
save_aot_compiled_function          <64 hex>/rank_<r>_<dp> of vLLM's     model.<pid>.tmp
(vllm/compilation/decorators.py)
Torchkeeper (stores/atomic.py,  where the file is to be               .torchkeeper-….tmp,
stores/folders/journal.py)                                              tmp.torchkeeper-…/
=================================  ====================================  ======================

Locks are empty. What else tells such a file from one of the same name is in ``proofs``.
"""

from __future__ import annotations

import re

from torchkeeper.artifacts import triton
from torchkeeper.artifacts.patterns import regex

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
#: The folder of one of vLLM's processes; of some versions with the number of its device.
RANK = r"rank_[0-9]{1,6}_[0-9]{1,6}(?:_dev[0-9]{1,6})?"
#: A model that vLLM has compiled ahead, until it is whole (vllm/compilation/decorators.py).
UNFINISHED = r"model\.\d{1,10}\.tmp"
#: A piece of a graph that vLLM had compiled (vllm/compilation/compiler_interface.py).
PIECE = r"artifact_(?:compile_range_\d{1,10}_\d{1,10}|shape_(?:None|\d{1,10}))_subgraph_\d{1,6}"

#: What write_atomic calls a file until it has its name.
ATOMIC = regex(_ATOMIC, re.ASCII)
#: What Torchkeeper calls its own until they have their names.
_OURS = regex(r"\.torchkeeper-(?:[0-9a-f]{12}|[A-Za-z0-9_]{8})\.tmp")
_OUR_FOLDER = regex(r"tmp\.torchkeeper-[0-9a-f]{12}")
#: What is in such a folder besides files of kernels: code, what of it is tuned, graphs.
_PLACED = regex(rf"(?:[a-z2-7]{{51,52}}|{HEX64})(?:[._][^/]*)?|entry")
#: A folder with the cache of a compile without caches.
TEMPORARY = regex(RANDOM)
_BISECT = "bisect"
#: The path of a folder that is one leftover, with all that a writer puts into it.
WHOLE = regex(rf"{RANDOM}|{_BISECT}")
_OF_KERNEL = regex(rf"tmp\.pid_\d{{1,10}}_{_UUID}", re.ASCII)
#: A folder that a whole kernel is written into before that gets its name.
BUNDLED = regex(rf"(?:{triton.ABOVE})?tmp\.{_UUID}", re.ASCII)
_MID_WRITE = regex(rf"(.+)\.tmp\.pid_\d{{1,10}}_(?:{_UUID}|\d{{1,20}})", re.ASCII)

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
_LINE = regex("|".join(f"(?:{line})" for line in _LINES), re.ASCII)
#: A file in which PyTorch keeps how far its search for a fault is.
BISECTED = regex(rf"{_BISECT}/(?:bisect_status\.txt|{_SEARCHED}{_STATE})", re.ASCII)

#: Names of generated code (CODE_CACHE_KEY_STRATEGY in torch/_inductor/cache_key.py), of which the
#: two letters after the first name its folder (get_path in codecache.py).
CODE_STEM = regex(CODE)
#: Folders of autotune results, which need not be named after them.
ANY_SHARD = regex(r"[a-z0-9]{2}")
#: What follows the stem: the parts of a model, what is said of them, and in what language it is,
#: or what was built; ``.so.load_ok`` since 2.15.
_SUFFIX = regex(
    r"(?:\.(?:main|optimized|wrapper|kernel|weights|model))?"
    r"(?:_(?:metadata|compile_flags|linker_flags|weights|serialized_weights|multiarch))?"
    r"\.(?:py|cpp|cc|c|h|hpp|cu|hip|cl|cxx|metal|metallib|txt|json|gv|S|asm|s|ll|bc|ptx|cubin|"
    r"hsaco|amdgcn|spv|fatbin|o|obj|a|so|dll|pyd|lib|exp|pdb|blob|bin|kernel_perf|picked_kernel|"
    r"(?:so|dll|o)\.(?:load_ok|error))"
)
#: What AOTInductor has beside the code of a model, and among its kernels.
_OF_MODEL = regex(
    r"custom_obj_\d{1,6}|custom_objs_config\.json|cubins_combined\.[So]|CMakeLists\.txt|"
    r"\w{1,200}\.(?:cubin|hsaco|spv|fatbin|ptx|ll|amdgcn|o|so)",
    re.ASCII,
)
_OF_DEBUG = regex(
    r"fx_graph_(?:runnable|readable|transformed)\.py|ir_(?:pre|post)_fusion\.txt|"
    r"output_code\.(?:py|cpp)|compile\.(?:prof|stats)|autotuning_result_json_list\.txt|"
    r"(?:orig_fx_)?graph_diagram\.(?:svg|dot|png|pdf)|\w{1,60}\.log|"
    r"inductor_\w{1,60}\.json|\w{1,60}\.(?:svg|dot)|minifier_launcher\.py",
    re.ASCII,
)
_OF_HALIDE = regex(
    r"generate_kernel\.py|halide_kernel\.(?:a|h|schedule\.h|o)|done|lock|\.\d+\.\d+\.tmp", re.ASCII
)
_RUNTIME = regex(
    r"halide-runtime-host(?:-cuda)?-[a-z2-7]{51}/"
    r"(?:done|lock|hooks\.cpp|standalone_halide_runtime\.a|libStandaloneHalideRuntime\.so)"
)
#: Inputs of a Triton kernel that a user had dumped.
_DUMPED = regex(
    rf"(?:unhashed_kernel_inputs|{SHARD})/\w{{1,240}}_run_\d{{1,6}}/tensor_\d{{1,6}}\.pt", re.ASCII
)
#: Lists of CUTLASS's operations, its own cache, and the links through which torch imports it.
_CUTLASS = regex(r"configs_[0-9a-f]{8}\.json")
_CUTLASS_DB, _CUTLASS_LINKS = "compiled_cache.db", "torch_cutlass"
_LINKED = ("cutlass", "cutlass_library", "cutlass_cppgen", "pycute", "cuda", "scipy", "pydot")
_CUTEDSL = regex(r"cutedsl_compile_cache/([0-9a-f]{64})\.o")
_MEASURED = regex(r"autoheuristic/[\w.()-]{1,100}/(\w{1,100})\.txt", re.ASCII)
#: What vLLM finds out about a model's classes, and which GPUs reach each other.
_VLLM = regex(
    r"modelinfos/vllm-model_executor-models-[\w-]{1,200}\.json|"
    r"gpu_p2p_access_cache_for_[0-9,]+\.json",
    re.ASCII,
)


def is_code_folder(name: str) -> bool:
    """Two letters of the stem; AOTInductor has one for each model, named as code is."""
    return bool(ANY_SHARD.fullmatch(name) or CODE_STEM.fullmatch(name))


def code_stem(folder: str, name: str) -> str | None:
    """The stem of generated code or of what was built of it, in its folder; None for others."""
    stem, suffix = name[:52], name[52:]
    if stem[1:3] != folder and (not CODE_STEM.fullmatch(folder) or suffix == ".py"):
        return None  # AOTInductor has no modules of Python in the folder of a model
    return stem if CODE_STEM.fullmatch(stem) and _SUFFIX.fullmatch(suffix) else None


def is_known_link(path: str) -> bool:
    """Whether torch itself makes a symbolic link there."""
    folder, _, name = path.partition("/")
    return folder == _CUTLASS_LINKS and name in _LINKED


def locate(path: str, parts: list[str]) -> tuple[str, str, str] | None:
    """The kind, key and common path of what torch or vLLM uses only where it is; else None."""
    folder, name = parts[0], parts[-1]
    if len(parts) == 1:
        if _CUTLASS.fullmatch(path):
            return "autotune", path.removesuffix(".json"), path
        return ("code", path, path) if path == _CUTLASS_DB or _VLLM.fullmatch(path) else None
    if is_known_link(path) or _VLLM.fullmatch(path):
        return "code", name, path
    if match := _CUTEDSL.fullmatch(path):
        return "code", match[1], path
    if match := _MEASURED.fullmatch(path):
        return "autotune", match[1], path
    if _RUNTIME.fullmatch(path):
        return "code", folder, f"{folder}/"
    if _DUMPED.fullmatch(path):
        return "code", parts[1], f"{folder}/{parts[1]}/"
    if CODE_STEM.fullmatch(folder) and (own := _of_model(path, parts)):
        return own
    if len(parts) == 3 and parts[1][1:3] == folder and CODE_STEM.fullmatch(parts[1][:52]):
        known = {".debug": _OF_DEBUG, ".halide": _OF_HALIDE}.get(parts[1][52:])
        if known and known.fullmatch(name):
            return "code", parts[1], f"{folder}/{parts[1]}/"
    return None


def _of_model(path: str, parts: list[str]) -> tuple[str, str, str] | None:
    if len(parts) == 2 and _OF_MODEL.fullmatch(parts[1]):
        return "code", parts[1], path
    within = len(parts) == 3 and CODE_STEM.fullmatch(parts[1])
    if within and (_OF_MODEL.fullmatch(parts[2]) or code_stem(parts[1], parts[2])):
        return "code", parts[1], f"{parts[0]}/{parts[1]}/"
    return None


def is_leftover(path: str, parts: list[str]) -> bool:
    """Whether a writer has such a file in its folder while it writes; less those of ``WHOLE``."""
    name = parts[-1]
    if _OURS.fullmatch(name) or _LINE.fullmatch(path):
        return True
    if len(parts) < 2:
        return False
    folder = parts[-2]
    if _OUR_FOLDER.fullmatch(folder):
        return triton.is_file(name) or _PLACED.fullmatch(name) is not None
    if _OF_KERNEL.fullmatch(folder):
        return triton.is_folder(parts[:-2]) and triton.is_file(name)
    if match := _MID_WRITE.fullmatch(name):
        return triton.is_folder(parts[:-1]) and triton.is_file(match[1])
    return bool(BUNDLED.fullmatch("/".join(parts[:-1]))) and triton.is_telling("", name)
