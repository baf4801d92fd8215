"""What torch and vLLM write into a cache folder beside its entries, and use only there.

Sources: torch/_inductor/codecache.py (AotCodeCompiler, HalideCodeCache), debug.py,
runtime/triton_heuristics.py, runtime/cutedsl_cache.py, codegen/cutlass/{cache,utils}.py,
autoheuristic/autoheuristic.py; vllm/model_executor/models/registry.py and
vllm/distributed/device_communicators.
"""

from __future__ import annotations

import re

#: Names of generated code, of which the two letters after the first name its folder.
CODE_STEM = re.compile(r"[a-z2-7]{40,64}")
#: Hexadecimal digits are legal base32 letters except 0, 1, 8 and 9, hence the wider class.
SHARD = re.compile(r"[a-z0-9]{2}")
#: Inputs of a Triton kernel that a user had dumped.
_DUMP = re.compile(r"\w{1,240}_run_[0-9]{1,6}")
_UNHASHED = "unhashed_kernel_inputs"
#: Lists of CUTLASS's operations, its own cache, and the links through which torch imports it.
_CUTLASS = re.compile(r"configs_[0-9a-f]{8}\.json")
_CUTLASS_DB, _CUTLASS_LINKS = "compiled_cache.db", "torch_cutlass"
#: What vLLM finds out about a model's classes, and which GPUs reach each other.
_VLLM = re.compile(r"modelinfos/[^/]+\.json|gpu_p2p_access_cache_for_[0-9,]+\.json")


def is_code_folder(name: str) -> bool:
    """Two letters of the stem; AOTInductor has one for each model, named as code is."""
    return bool(SHARD.fullmatch(name) or CODE_STEM.fullmatch(name))


def is_known_link(path: str) -> bool:
    """Whether torch itself makes a symbolic link there."""
    parts = path.split("/")
    return len(parts) == 2 and parts[0] == _CUTLASS_LINKS


def locate(path: str, parts: list[str]) -> tuple[str, str, str] | None:
    """The kind, key and common path of such a file, or None.

    A module's graphs for whoever debugs it, what a model's library was built with, Halide's and
    CuTe's builds, inputs that were dumped, CUTLASS's caches, and what AutoHeuristic learned from.
    """
    name = parts[-1]
    if len(parts) == 1:
        if _CUTLASS.fullmatch(path):
            return "autotune", path.removesuffix(".json"), path
        known = path == _CUTLASS_DB or _VLLM.fullmatch(path)
        return ("code", path, path) if known else None
    if len(parts) == 2:
        return _locate_two(path, parts)
    if parts[0] == "autoheuristic" and len(parts) == 3 and name.endswith(".txt"):
        return "autotune", name.removesuffix(".txt"), path
    if len(parts) <= 6 and (is_code_folder(parts[0]) or parts[0] == _UNHASHED):
        stem = parts[1].partition(".")[0]
        if CODE_STEM.fullmatch(stem) or _DUMP.fullmatch(parts[1]):
            return "code", parts[1], f"{parts[0]}/{parts[1]}/"
    return None


def _locate_two(path: str, parts: list[str]) -> tuple[str, str, str] | None:
    folder, name = parts
    if folder == "cutedsl_compile_cache" and name.endswith(".o"):
        return "code", name.removesuffix(".o"), path
    if folder.startswith("halide-runtime-"):
        return "code", folder, f"{folder}/"
    if CODE_STEM.fullmatch(folder) or is_known_link(path) or _VLLM.fullmatch(path):
        return "code", name, path
    if folder == _UNHASHED or _DUMP.fullmatch(folder):
        return "code", folder, f"{folder}/"
    return None
