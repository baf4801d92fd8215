"""FX graph entries: a pickled CompiledFxGraph (torch/_inductor/output_code.py)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts import code, graphs, inert

if TYPE_CHECKING:
    from torchkeeper.artifacts.payload import Facts

_VERSION = re.compile(r"^# torch version: (\S{1,80})$", re.MULTILINE)
_CUDA = re.compile(r"^# torch cuda version: (\S{1,40})$", re.MULTILINE)
_GIT = re.compile(r"^# torch git version: (\S{1,80})$", re.MULTILINE)
_GPU = re.compile(r"^# (\S[^\n:]{1,80}?) : \d+ *$", re.MULTILINE)
_FACTOR = re.compile(r"\[([^\]]{1,80})\] ([^:]{1,200}): ?(.*)", re.DOTALL)
#: Key factors of one graph: some 650, and one for each input.
MAX_FACTORS = 20_000
#: Characters of a hash that tell factors apart, and inputs of which they are kept.
_PRINT = 10
_MAX_PRINTS = 100
#: Factors that a program's own graph decides, whatever its settings; or the beginning of those.
_OF_GRAPH = (
    "gm", "default_cuda_device_index", "fx_kwargs[boxed_forward_device_index]",
    "fx_kwargs[is_backward]", "fx_kwargs[is_inference]", "fx_kwargs[static_input_idxs]",
)  # fmt: skip
_OF_GRAPH_TOO = (
    "example_inputs[",
    "inputs_to_check",
    "triton_kernel_source_codes",
    "user_defined_triton_source",
)


def facts(data: bytes, full: bool) -> Facts:
    """What a CompiledFxGraph tells of itself; with ``full`` also its texts and key factors.

    name, torch, device ("hip" where torch says "cuda" of a GPU of AMD's), compile_s; made_in
    (torch, git, cuda, gpus, threads); code_key, the key of its generated module; kernels, the C++
    kernels in it; code_names, the keys of the other sources it names, and opaque where that may not
    be all; widths, for which vectors its C++ code may be (vectors.widths); own_key, that under
    which it was written; libs, hashes of what Triton links into its kernels; group, the same for
    all entries whose key factors differ in nothing but their graphs, None where none are recorded;
    prints, as of ``prints``. Fields that an older or newer torch does not write are absent. Raises
    whatever a bad pickle provokes, and TypeError for a pickle of something else.
    """
    obj = inert.load(data)
    if inert.class_name(obj) not in ("CompiledFxGraph", "OutputCode"):
        raise TypeError(f"a pickle of {inert.class_name(obj)}")
    return from_state(inert.fields(obj), full)


def from_state(state: Mapping[str, Any], full: bool) -> Facts:
    """As ``facts``, from the attributes of a CompiledFxGraph."""
    source = inert.text(state.get("source_code")) or ""
    graph = inert.text(state.get("inductor_post_grad_graph_str")) or ""
    runnable = inert.text(state.get("runnable_graph_str")) or ""
    kwargs = state.get("fx_kwargs")
    backward = isinstance(kwargs, dict) and kwargs.get("is_backward") is True
    ops = graphs.main_ops(source, graph or runnable)
    found = graphs.function(graph)
    factors = key_factors(state.get("_fx_graph_cache_debug_lines"))
    torch, cuda = _first(_VERSION, runnable), _first(_CUDA, runnable)
    # What torch calls "cuda" was a GPU of AMD's: by the kernels, the system that its key is made of
    # (CacheBase.get_system in torch/_inductor/codecache.py), or the torch that made it.
    system = [value for _, name, value in factors if name == "system_info[version]"]
    rocm = code.for_rocm(source) or "+rocm" in (torch or "") or any("'hip'" in x for x in system)
    types = inert.texts(state.get("device_types"), 16)
    devices = sorted({"hip" if one == "cuda" and rocm else one for one in types})
    bundle = inert.fields(state.get("_triton_bundle")).get("kernel_artifacts")
    artifacts = bundle[:1000] if isinstance(bundle, list) else []
    hashes = [inert.fields(item).get("kernel_hash") for item in artifacts]
    names, every = code.names(source)
    facts: Facts = {
        "name": graphs.title(found, ops, "backward" if backward else None),
        "torch": torch,
        "device": ",".join(devices) or None,
        "compile_s": inert.seconds(state.get("_time_taken_ns")),
        "code_key": inert.text(state.get("cache_key")),
        "kernels": code.kernels(source),
        "code_names": names,
        "group": group([factors]),
        "widths": code.widths(source),
        "own_key": inert.text(state.get("_fx_graph_cache_key")),
        "libs": inert.text(state.get("extern_libs_key")),
        "prints": prints([factors]),
        "opaque": None if every and inert.text(state.get("cache_key")) else True,
        "triton_keys": [key for key in hashes if isinstance(key, str)],
        "made_in": {
            "torch": torch,
            "torch_git": _first(_GIT, runnable),
            "cuda": None if cuda == "None" else cuda,
            "gpus": sorted(set(_GPU.findall(runnable)))[:16],
            "threads": _threads(factors),
        },
    }
    if full:
        given = [value for _, name, value in factors if name.startswith("example_inputs[")]
        facts["function"] = " at ".join(found) if found else None
        facts["ops"] = graphs.main_ops(source, graph or runnable, 40)
        facts["inputs"] = given
        facts["guards"] = inert.text(state.get("guards_expr"))
        facts["graph"] = graph or runnable
        facts["source"] = source
        facts["factors"] = factors
    return facts


def key_factors(lines: Any) -> list[tuple[str, str, str]]:
    """(hash, name, value) of every line in ``_fx_graph_cache_debug_lines``. Source:
    FxGraphCachePickler.debug_lines in torch/_inductor/codecache.py.
    """
    matches = map(_FACTOR.match, inert.texts(lines, MAX_FACTORS))
    return [(match[1], match[2], match[3]) for match in matches if match]


def of_graph(name: str) -> bool:
    """Whether a key factor is of the graph and its inputs, rather than of what all graphs share."""
    return name in _OF_GRAPH or name.startswith(_OF_GRAPH_TOO)


def group(lists: list[list[tuple[str, str, str]]]) -> str | None:
    """A digest of the factors that all graphs of a program share; None where any list is empty."""
    if not lists or not all(lists):
        return None
    shared = sorted({(n, h) for factors in lists for h, n, _ in factors if not of_graph(n)})
    return hashlib.sha256(repr(shared).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def prints(lists: list[list[tuple[str, str, str]]]) -> list[str]:
    """The beginnings of the hashes of what ``group`` leaves out: of the graphs, of what else they
    decide, then of each input, as many as _MAX_PRINTS; empty where any list is.
    """
    if not lists or not all(lists):
        return []
    graphs, beside, inputs = "", [], []
    for factors in lists:
        for digest, name, _ in factors:
            if name == "gm":
                graphs += digest[:_PRINT]
            elif name.startswith("example_inputs["):
                inputs.append(digest[:_PRINT])
            elif of_graph(name):
                beside.append(f"{name} {digest}")
    other = hashlib.sha256("\n".join(beside).encode("utf-8", "surrogatepass")).hexdigest()
    return [graphs, other[:_PRINT], *inputs[:_MAX_PRINTS]]


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match[1] if match else None


def _threads(factors: list[tuple[str, str, str]]) -> int | None:
    for _, name, value in factors:
        if name == "cpp_runtime_thread_count" and value.strip().isdigit():
            return int(value.strip()[:9])
    return None
