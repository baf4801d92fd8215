"""What torch and vLLM write into a cache folder beside its entries, and use only there.

Sources: torch/_inductor/codecache.py (AotCodeCompiler, HalideCodeCache), debug.py (DebugFormatter),
cpp_builder.py (batch_convert_cubins_to_obj), runtime/triton_heuristics.py (_dump_launch_tensors),
runtime/cutedsl_cache.py, codegen/cutlass/{cache,utils}.py, autoheuristic/autoheuristic.py;
vllm/model_executor/models/registry.py and vllm/distributed/device_communicators.
"""

from __future__ import annotations

import re

from torchkeeper.artifacts import scratch

#: Names of generated code (CODE_CACHE_KEY_STRATEGY in torch/_inductor/cache_key.py), of which the
#: two letters after the first name its folder (get_path in codecache.py).
CODE_STEM = re.compile(scratch.CODE)
#: Folders of autotune results, which need not be named after them.
SHARD = re.compile(r"[a-z0-9]{2}")
#: What follows the stem: the parts of a model, what is said of them, and in what language it is,
#: or what was built; ``.so.load_ok`` since 2.15.
_SUFFIX = re.compile(
    r"(?:\.(?:main|optimized|wrapper|kernel|weights|model))?"
    r"(?:_(?:metadata|compile_flags|linker_flags|weights|serialized_weights|multiarch))?"
    r"\.(?:py|cpp|cc|c|h|hpp|cu|hip|cl|cxx|metal|metallib|txt|json|gv|S|asm|s|ll|bc|ptx|cubin|"
    r"hsaco|amdgcn|spv|fatbin|o|obj|a|so|dll|pyd|lib|exp|pdb|blob|bin|kernel_perf|picked_kernel|"
    r"(?:so|dll|o)\.(?:load_ok|error))"
)
#: What AOTInductor has beside the code of a model, and among its kernels.
_OF_MODEL = re.compile(
    r"custom_obj_\d{1,6}|custom_objs_config\.json|cubins_combined\.[So]|CMakeLists\.txt|"
    r"\w{1,200}\.(?:cubin|hsaco|spv|fatbin|ptx|ll|amdgcn|o|so)",
    re.ASCII,
)
_OF_DEBUG = re.compile(
    r"fx_graph_(?:runnable|readable|transformed)\.py|ir_(?:pre|post)_fusion\.txt|"
    r"output_code\.(?:py|cpp)|compile\.(?:prof|stats)|autotuning_result_json_list\.txt|"
    r"(?:orig_fx_)?graph_diagram\.(?:svg|dot|png|pdf)|\w{1,60}\.log|"
    r"inductor_\w{1,60}\.json|\w{1,60}\.(?:svg|dot)|minifier_launcher\.py",
    re.ASCII,
)
_OF_HALIDE = re.compile(
    r"generate_kernel\.py|halide_kernel\.(?:a|h|schedule\.h|o)|done|lock|\.\d+\.\d+\.tmp",
    re.ASCII,
)
_RUNTIME = re.compile(
    r"halide-runtime-host(?:-cuda)?-[a-z2-7]{51}/"
    r"(?:done|lock|hooks\.cpp|standalone_halide_runtime\.a|libStandaloneHalideRuntime\.so)"
)
#: Inputs of a Triton kernel that a user had dumped.
_DUMPED = re.compile(
    rf"(?:unhashed_kernel_inputs|{scratch.SHARD})/\w{{1,240}}_run_\d{{1,6}}/tensor_\d{{1,6}}\.pt",
    re.ASCII,
)
#: Lists of CUTLASS's operations, its own cache, and the links through which torch imports it.
_CUTLASS = re.compile(r"configs_[0-9a-f]{8}\.json")
_CUTLASS_DB, _CUTLASS_LINKS = "compiled_cache.db", "torch_cutlass"
_LINKED = frozenset(
    {"cutlass", "cutlass_library", "cutlass_cppgen", "pycute", "cuda", "scipy", "pydot"}
)
_CUTEDSL = re.compile(r"cutedsl_compile_cache/([0-9a-f]{64})\.o")
_MEASURED = re.compile(r"autoheuristic/[\w.()-]{1,100}/(\w{1,100})\.txt", re.ASCII)
#: What vLLM finds out about a model's classes, and which GPUs reach each other.
_VLLM = re.compile(
    r"modelinfos/vllm-model_executor-models-[\w-]{1,200}\.json|"
    r"gpu_p2p_access_cache_for_[0-9,]+\.json",
    re.ASCII,
)


def is_code_folder(name: str) -> bool:
    """Two letters of the stem; AOTInductor has one for each model, named as code is."""
    return bool(SHARD.fullmatch(name) or CODE_STEM.fullmatch(name))


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
    """The kind, key and common path of such a file, or None.

    A module's graphs for whoever debugs it, what a model's library was built with, Halide's and
    CuTe's builds, inputs that were dumped, CUTLASS's caches, and what AutoHeuristic learned from.
    """
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
