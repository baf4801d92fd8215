"""Names for graphs, from the texts that entries carry: their function and their main ops."""

from __future__ import annotations

import re

_FILE = re.compile(r"# File: (.{1,400}?):(\d+) in ([\w.<>]{1,200}), code: ?(.{0,200})")
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

#: Frames of torch's own wrappers, which say nothing about the user's program.
_WRAPPERS = frozenset({"inner", "wrapper", "fn", "_fn", "<lambda>", "_wrapped_call_impl"})
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


def function(graph: str) -> tuple[str, str] | None:
    """The user's function a graph came from, and ``file:line``, or None. From the ``# File: … in
    …`` comments that torch/fx/graph.py writes into readable graphs.
    """
    for match in _FILE.finditer(graph):
        path, line, name = match[1], match[2], match[3]
        if name not in _WRAPPERS and "/site-packages/torch/" not in path:
            return name, f"{path.rpartition('/')[2]}:{line}"
    return None


def main_ops(source: str, graph: str, limit: int = 3) -> list[str]:
    """The ops by which a person knows a graph: heavy ones first, no plumbing.

    Original ATen names from the comments in generated code (torch/_inductor/utils.py,
    get_kernel_metadata) and the names of fused kernels where there are any, else the calls in
    the graph.
    """
    said = [op for match in _ORIGINAL.finditer(source) for op in match[1].split(",")]
    names = [op.strip().rpartition("aten.")[2] for op in said]
    if not source:
        names = _CALL.findall(graph)
    names += [op[0] for match in _FUSED.finditer(source) for op in _WORD.finditer(match[1])]
    found = dict.fromkeys(map(short_op, names))
    ops = [op for op in found if op and op not in PLUMBING]
    # A sort keeps the order of what weighs the same.
    return sorted(ops, key=_weight)[:limit] or list(found)[:limit]


def _weight(op: str) -> int:
    return 0 if _HEAVY.search(op) else 2 if op in _TRIVIAL else 1


def short_op(op: str) -> str:
    """An op as people say it: ``_scaled_dot_product_flash_attention_for_cpu`` is attention."""
    op = _SUFFIX.sub("", op)
    if "scaled_dot_product" in op:
        return "attention_backward" if op.endswith("backward") else "attention"
    return op.strip("_") if op not in PLUMBING else op


def title(found: tuple[str, str] | None, ops: list[str], direction: str | None) -> str | None:
    """One line for a graph: ``forward: addmm, gelu (backward)``."""
    if not found and not ops:
        return None
    said = ", ".join(ops)
    line = f"{found[0]}: {said}" if found and said else found[0] if found else said
    return f"{line} ({direction})" if direction else line
