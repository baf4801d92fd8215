"""Entries of graphs, and names for those: pickled CompiledFxGraphs (torch/_inductor/output_code.py)
and AOTAutogradResults, which name the FX graphs they need, or hold them themselves if bundled.

Source of the latter: torch/_functorch/_aot_autograd/aot_autograd_result.py (2.9 to 2.13); older
versions call the class AOTAutogradCacheEntry.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts import code, inert
from torchkeeper.artifacts.patterns import regex

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Facts

_VERSION = re.compile(r"^# torch version: (\S{1,80})$", re.MULTILINE)
_CUDA = re.compile(r"^# torch cuda version: (\S{1,40})$", re.MULTILINE)
_GIT = re.compile(r"^# torch git version: (\S{1,80})$", re.MULTILINE)
_GPU = re.compile(r"^# (\S[^\n:]{1,80}?) : \d+ *$", re.MULTILINE)
_FACTOR = re.compile(r"\[([^\]]{1,80})\] ([^:]{1,200}): ?(.*)", re.DOTALL)
#: Key factors of one graph: some 650, and one for each input.
MAX_FACTORS = 20_000
#: Characters of a hash that tell factors apart, and inputs of which they are kept.
_PRINT, _MAX_PRINTS = 10, 100
#: Lines of code whose stacks are looked at.
_MAX_LINES = 1000
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

#: A frame of a stack, and what torch/fx/graph.py makes of one in a readable graph.
_FRAME = regex(
    r'File:? "?(.{1,400}?)"?(?::|, line )(\d{1,9}),? in ([\w.<>]{1,100})(?:, code: ?|\n)(.{0,200})'
)
#: What is in the paths of torch's own files.
TORCH = "/site-packages/torch/"
#: Functions that say nothing of themselves: their file says more.
NAMELESS = frozenset({"forward", "__call__", "<module>"})
#: Functions that call another one for the user's program, by their names and by what they do.
WRAPPERS = frozenset({"inner", "wrapper", "wrapped_func", "fn", "_fn", "<lambda>"})
_PASSING_ON = regex(r"\*args, \*\*kwargs\)")
_TENSOR = regex(r"dtype=torch\.(\w{1,20}), shape=torch\.Size\(\[([\w ,+*/()-]{0,80})\]\)")
#: What people leave out of a dtype.
_LONG = regex(r"(?<=f)loat|(?<=u)int|(?<=i)nt|(?<=c)omplex")
_ARGUMENTS = regex(r"def forward\(self, ([\w, ]{1,20000})\)")
#: The name of an argument of the compiled graph, with its number in the traced graph; and an
#: argument of the traced graph: ``L_self_modules_up_parameters_weight_: "f32[8, 4]…``.
_NUMBERED = regex(r"(?:primals_|arg)(\d{1,5})(_1)?")
_GIVEN = regex(r'\b(\w{1,300}): "(?:\w{1,20}\[([^\]"]{0,80})\])?')
_OF, _HEAD = regex(r"_(?:modules|parameters|buffers)_"), 1_000_000
#: Different inputs that a name tells, inputs that are looked at, and characters of a name.
_SHOWN, _MOST, _LONGEST = 3, 100, 300
_ORIGINAL = re.compile(r"Original ATen: \[([^\]\n]{0,4000})\]")
_CALL = re.compile(r"torch\.ops\.\w+\.(\w+)")
#: A fused kernel is named after the ops in it; a digit tells it from others alike.
_FUSED = re.compile(r"^\w*?_fused_(\w{1,120}?)_\d+ = async_compile", re.MULTILINE)
#: The ops in such a name; of several words those that aten has, else a word each.
_WORD = re.compile(
    r"_?(?:scaled_dot_product_\w+?attention(?:_for_cpu)?(?:_backward)?"
    r"|native_(?:layer|group|batch)_norm(?:_legit(?:_no_training)?)?(?:_backward)?"
    r"|embedding_dense_backward|max_pool2d_with_indices(?:_backward)?|(?:log_)?softmax"
    r"(?:_backward_data)?|(?:leaky_relu|hardswish|hardtanh|gelu|silu|threshold|tanh|sigmoid|elu)"
    r"_backward|leaky_relu|index_put|var_mean|convert_element_type|lift_fresh_copy|unsafe_view"
    r"|select_backward|slice_backward|as_strided|full_like|_to_copy"
    r"|[a-z0-9]+)"
)
_SUFFIX = re.compile(r"\.(?:default|Tensor|Scalar|\w+_\w+|int|self)$")

#: Ops that only move or convert values.
PLUMBING = frozenset(
    {"t", "view", "permute", "transpose", "reshape", "unsqueeze", "squeeze", "expand", "clone"}
    | {"slice", "select", "getitem", "detach", "alias", "copy", "full", "empty", "full_like"}
    | {"unsafe_view", "select_backward", "slice_backward", "zeros", "ones", "as_strided", "split"}
    | {"cat", "unbind", "lift_fresh_copy", "unsafe"}
    | {"_unsafe_view", "contiguous", "convert_element_type", "_to_copy", "scalar_tensor", "iota"}
)
#: Ops that nearly every graph has; named last.
_TRIVIAL = frozenset({"add", "sub", "mul", "div", "sum", "mean", "where", "le", "gt", "eq", "neg"})
#: Ops by which people know a graph; named first.
_HEAVY = re.compile(r"mm$|^b?addbmm|conv|attention|embedding|linear|lstm|gru|einsum|sort|topk|fft")


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
    ops = main_ops(source, graph or runnable)
    lines = state.get("cache_linemap")
    stacks = (inert.texts(one) for one in (lines if isinstance(lines, list) else [])[:_MAX_LINES])
    # Where it is told for a line of its code, with all callers; else in the graph, without.
    found = function(next((one[0] for one in stacks if one), ""), graph)
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
    counts = [value.strip() for _, name, value in factors if name == "cpp_runtime_thread_count"]
    facts: Facts = {
        "name": title(found, inputs(factors), ops, "backward" if backward else None, rank(factors)),
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
            "threads": next((int(one[:9]) for one in counts if one.isdigit()), None),
        },
    }
    if full:
        facts["function"] = " at ".join(found) if found else None
        facts["ops"] = main_ops(source, graph or runnable, 40)
        facts["inputs"] = [v for _, name, v in factors if name.startswith("example_inputs[")]
        facts["guards"] = inert.text(state.get("guards_expr"))
        facts["graph"] = graph or runnable
        facts["source"] = source
        facts["factors"] = factors
    return facts


def aot_facts(data: bytes, full: bool) -> Facts:
    """Of an AOTAutograd entry: name, compile_s, fx_keys (keys of the FX graphs it needs, forward
    first), group and prints as of ``facts``; torch and device only where the entry holds its graphs
    itself. With ``full`` also its texts and key factors. Raises as ``facts`` does.
    """
    obj = inert.load(data)
    if not inert.class_name(obj).endswith(("AOTAutogradResult", "AOTAutogradCacheEntry")):
        raise TypeError(f"a pickle of {inert.class_name(obj)}")
    state = inert.fields(obj)
    halves = [inert.fields(state.get(half)) for half in ("compiled_fw", "compiled_bw")]
    infos = [half.get("fx_graph_cache_info") for half in halves]
    # torch before 2.8 kept the key alone, as fx_graph_cache_key.
    keys = [
        info[0] if isinstance(info, tuple) and info else half.get("fx_graph_cache_key")
        for info, half in zip(infos, halves, strict=True)
    ]
    forward = inert.text(state.get("aot_forward_graph_str")) or ""
    times = [inert.seconds(state.get(f"{way}_time_taken_ns")) for way in ("forward", "backward")]
    taken = [time for time in times if time is not None]
    direction = "forward and backward" if halves[1] else None
    found: Facts = {
        "direction": direction,
        "compile_s": sum(taken) if taken else None,
        "fx_keys": [key for key in keys if isinstance(key, str)],
    }
    factors = [
        key_factors(info[1] if isinstance(info, tuple) and len(info) > 1 else None)
        # Of what is bundled, the graph itself tells.
        or key_factors(inert.fields(half.get("result")).get("_fx_graph_cache_debug_lines"))
        for half, info in zip(halves, infos, strict=True)
        if half
    ]
    ops, own = main_ops("", forward), factors[0] if factors else []
    found["name"] = title(function(forward), inputs(own), ops, direction, rank(own))
    found["group"] = group(factors)
    found["prints"] = prints(factors)
    for half in halves:
        if bundled := inert.fields(half.get("result")):
            inner = from_state(bundled, full=False)
            found["torch"], found["device"] = inner["torch"], inner["device"]
            found["made_in"] = inner["made_in"]
            if inner["libs"] is not None:
                found["libs"] = inner["libs"]
            found["kernels"] = found.get("kernels", []) + inner["kernels"]
            found["code_names"] = found.get("code_names", []) + inner["code_names"]
            found["triton_keys"] = found.get("triton_keys", []) + inner["triton_keys"]
            own_key = inner["code_key"]
            found["code_keys"] = found.get("code_keys", []) + ([own_key] if own_key else [])
            if inner["widths"] is not None:
                # Both halves are of one compile.
                either = (found.get("widths") or inner["widths"]).split()
                found["widths"] = " ".join(w for w in inner["widths"].split() if w in either)
            found["opaque"] = found.get("opaque") or inner["opaque"]
    if full:
        found["ops"] = main_ops("", forward, 40)
        found["guards"] = inert.text(state.get("guards_expr"))
        found["graph"] = forward
        found["backward_graph"] = inert.text(state.get("aot_backward_graph_str"))
        found["factors"] = [factor for some in factors for factor in some]
    return found


def key_factors(lines: Any) -> list[tuple[str, str, str]]:
    """(hash, name, value) of each of FxGraphCachePickler.debug_lines (_inductor/codecache.py)."""
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


def main_ops(source: str, graph: str, limit: int = 3) -> list[str]:
    """The ops by which a person knows a graph: heavy ones first, no plumbing. Original ATen names
    from the comments in generated code (torch/_inductor/utils.py, get_kernel_metadata) and the
    names of fused kernels where there are any, else the calls in the graph.
    """
    said = [op for match in _ORIGINAL.finditer(source) for op in match[1].split(",")]
    names = [op.strip().rpartition("aten.")[2] for op in said]
    if not source:
        names = _CALL.findall(graph)
    names += [op[0] for match in _FUSED.finditer(source) for op in _WORD.finditer(match[1])]
    found = dict.fromkeys(map(short_op, names))
    ops = [op for op in found if op and op not in PLUMBING]
    # A sort keeps the order of what weighs the same.
    ops.sort(key=lambda op: 0 if _HEAVY.search(op) else 2 if op in _TRIVIAL else 1)
    return ops[:limit] or list(found)[:limit]


def short_op(op: str) -> str:
    """An op as people say it: ``_scaled_dot_product_flash_attention_for_cpu`` is attention."""
    op = _SUFFIX.sub("", op)
    if "scaled_dot_product" in op:
        return "attention_backward" if op.endswith("backward") else "attention"
    return op.strip("_") if op not in PLUMBING else op


# What an entry is called: the function or model first, then shapes and dtype, then operators.
# Whatever names one has it from here.


def function(*texts: str) -> tuple[str, str] | None:
    """The user's function that a graph came from, and ``file:line``, from the first stack or
    readable graph that tells; None where none does. A wrapper is taken if there is nothing else.
    """
    spare = None
    for match in itertools.chain.from_iterable(map(_FRAME.finditer, texts)):
        path, line, name, code = match.groups()
        if TORCH in path:
            continue
        found = name, f"{file_of(path)}:{line}"
        if name not in WRAPPERS and not _PASSING_ON.search(code):
            return found
        spare = spare or found
    return spare


def given(text: str) -> list[tuple[str, str]]:
    """The arguments of a graph as it was traced: what the program calls each, and its sizes."""
    begin = text.find("def forward(self, ")
    found = _GIVEN.findall(text[begin : text.find("):", begin)][:_HEAD] if begin >= 0 else "")
    return [(_OF.sub(".", name.removeprefix("L_").strip("_")), sizes) for name, sizes in found]


_OF_SEVERAL = regex(r"device\(type='(?!cpu')(\w{1,20})', index=(\d{1,4})\)")


def called_inputs(
    factors: Sequence[tuple[str, str, str]], arguments: Sequence[tuple[str, str]]
) -> dict[int, str]:
    """What the program calls the inputs of a compiled graph, by their numbers, where known."""
    values = [value for _, name, value in factors if name.startswith("example_inputs[")]
    code = _ARGUMENTS.search(next((value for _, name, value in factors if name == "gm"), ""))
    names, found = code[1].split(", ") if code else [], {}
    for at, (name, value) in enumerate(zip(names, values, strict=False)):
        number, sizes = _NUMBERED.fullmatch(name), _TENSOR.search(value[:400])
        of = int(number[1]) - (not number[2]) if number and sizes else -1
        if sizes and 0 <= of < len(arguments) and arguments[of][1] == sizes[2]:
            found[at] = arguments[of][0]
    return found


def file_of(path: str) -> str:
    """The name of a file in a path, of the characters that such names have."""
    return re.sub(r"[^\w.<>-]", "", re.split(r"[/\\]", path)[-1])[:60]


def called(found: tuple[str, str] | None) -> str:
    """A function as a name says it: with its file, where it has none of its own."""
    if not found:
        return ""
    name, place = found
    file = file_of(place.rpartition(":")[0]).removesuffix(".py")
    return f"{file}.{name}" if file and name in NAMELESS | WRAPPERS else name


def tensor(dtype: str, sizes: str) -> str:
    """A tensor as PyTorch's graphs say it: ``f32[8, 64]``."""
    return f"{_LONG.sub('', dtype)}[{sizes}]"


def inputs(factors: Sequence[tuple[str, str, str]]) -> str:
    """The inputs of a graph, by its key factors: those that are no parameters. Of a backward graph
    what the forward one left, the last first: what comes in may be one number.
    """
    of = {name: value for _, name, value in factors if name.startswith(("gm", "fx_kwargs["))}
    values = [value for _, name, value in factors if name.startswith("example_inputs[")]
    static = set(re.findall(r"\d+", of.get("fx_kwargs[static_input_idxs]", "")))
    chosen = [value for n, value in enumerate(values) if str(n) not in static]
    named = _ARGUMENTS.search(of.get("gm", ""))
    names = named[1].split(", ") if named else []
    shown = _SHOWN
    if of.get("fx_kwargs[is_backward]", "").strip() == "True" and len(names) == len(values):
        shown -= 1
        pairs = zip(reversed(names), reversed(values), strict=True)
        chosen = [value for name, value in pairs if not name.startswith("primals_")]
    found = (_TENSOR.search(value[:400]) for value in (chosen or values)[:_MOST])
    groups = itertools.groupby(tensor(match[1], match[2]) for match in found if match)
    said = [f"{text} ×{len([*same])}".removesuffix(" ×1") for text, same in groups]
    return ", ".join(said[:shown] + ["…"] * (len(said) > shown))


def rank(factors: Sequence[tuple[str, str, str]]) -> str:
    """The GPU that a graph is for, where it is not a machine's first: ``cuda:3``. Graphs of several
    ranks differ in nothing else that a name says.
    """
    values = (value[:400] for _, name, value in factors if name.startswith("example_inputs["))
    found = {match.groups() for value in values if (match := _OF_SEVERAL.search(value))}
    device, index = found.pop() if len(found) == 1 else ("", "0")
    return f"{device}:{index}" if index != "0" else ""


def title(
    found: tuple[str, str] | None,
    given: str,
    ops: Sequence[str],
    direction: str | None,
    device: str = "",
) -> str | None:
    """One line for a graph: ``net.forward(f32[8, 64]) on cuda:3: addmm, gelu (backward)``. device:
    as of ``rank``.
    """
    if not (found or given or ops):
        return None
    who = called(found)
    head = f"{who}({given})" if who and given else who or given
    head = f"{head} on {device}".strip() if device else head
    line = ": ".join(filter(None, (head, ", ".join(ops))))[:_LONGEST]
    return f"{line} ({direction})" if direction else line


def part(graph: str | None, name: str) -> str:
    """The name of what belongs to the graph of a title, as a kernel does."""
    return f"{graph.partition(': ')[0]}: {name}" if graph else name
