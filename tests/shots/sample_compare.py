"""A made-up comparison of two entries, as an engine would tell it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchkeeper.artifacts.entry import Entry

_META = (
    "TensorMetadata(dtype=torch.bfloat16, shape=torch.Size([{}]), stride=({}), "
    "device=device(type='cuda', index=0), layout=torch.strided, requires_grad=False)"
)
_DIFF = (
    "- mul = torch.ops.aten.mul.Tensor(linear, 0.5)",
    "- erf = torch.ops.aten.erf.default(mul_1)",
    "- add = torch.ops.aten.add.Tensor(erf, 1)",
    "+ sigmoid = torch.ops.aten.sigmoid.default(linear)",
    "+ mul = torch.ops.aten.mul.Tensor(linear, sigmoid)",
)
_GRAPH = {
    "only_a": ["sigmoid"], "only_b": ["erf", "add"], "same_ops": False,
    "alike": 0.86, "model_a": ["hidden = functional.silu(self.gate(x))"],
    "model_b": ["hidden = functional.gelu(self.gate(x))"], "diff": list(_DIFF),
    "same_model": False, "cut": False,
}  # fmt: skip


def _row(group: str, factor: str, a: str | None, b: str | None, **more: Any) -> dict[str, Any]:
    return {"group": group, "factor": factor, "a": a, "b": b, "follows": False, **more}


def _batch(number: int, follows: bool = False) -> dict[str, Any]:
    shapes = (_META.format("32, 2048", "2048, 1"), _META.format("8, 2048", "2048, 1"))
    fields = [{"field": "batch", "a": "32", "b": "8"}]
    return _row("inputs", f"example_inputs[{number}]", *shapes, fields=fields, follows=follows)


#: Causes of a miss, each with what is said of it.
ROWS: dict[str, list[dict[str, Any]]] = {
    "settings": [
        _row("torch", "torch", "2.13.0+cu130", "2.9.1+cu128"),
        _row("gpu", "system_info[device]", "NVIDIA H200", "NVIDIA A100-SXM4-80GB"),
        _row("configuration", "cuda_matmul_settings", "('tf32', True, True)",
             "('none', True, True)"),
        _row("configuration", "inductor_config[max_autotune]", "True", "False"),
        _row("configuration", "inductor_config[triton.cudagraphs]", "True", "False"),
        _row("gpu", "system_info[hash]", "3f1c0e77aa52", "b7a9d2c01e44", follows=True),
        *(_row("configuration", f"inductor_config[{name}]", "True", None, follows=True)
          for name in ("use_fast_triton_launcher", "static_launch_user_defined_triton_kernels",
                       "triton_disable_device_detection", "emulate_divison_rounding")),
    ],
    "inputs": [_batch(0), _batch(3)],
    "graph": [
        _row("graph", "gm", "GraphModule()\n\n" + "\n".join(_DIFF), "GraphModule()\n\n"),
        _row("graph", "fx_kwargs[static_input_idxs]", "[0, 1, 2]", "[0, 1]", follows=True),
        _batch(2, follows=True),
    ],
    "none": [],
    "key": [
        _row("key", "config_hash", "6512bd43d9", "c20ad4d76f"),
        _row("key", "VLLM_NIXL_SIDE_CHANNEL_PORT", "5600", "5601"),
    ],
}  # fmt: skip


def answer(cause: str, entries: Sequence[Entry], place: str, other: str) -> dict[str, Any]:
    """The result of ``explain``; its rows are ROWS[cause]."""
    kind = "code" if cause == "key" else "fxgraph"
    graphs = [entry for entry in entries if entry.kind == kind and not entry.problem]
    told = [
        {"place": where, **entry.to_json()}
        for where, entry in zip((place, other), graphs, strict=False)
    ]
    # The same program, once with another torch.
    old = "2.9.1+cu128" if cause == "settings" else told[0]["torch"]
    told[1] |= {"name": told[0]["name"], "torch": old, "device": told[0]["device"]}
    if cause == "key":
        told[1] = {"place": other, **graphs[-1].to_json()}
        return {"a": told[0], "b": told[1], "recorded": [True, True], "count": len(ROWS[cause])}
    return {
        "a": told[0],
        "b": told[1],
        "recorded": [True, True],
        "same_graph": cause == "inputs",
        "inputs": [5, 5],
        "graph": _GRAPH if cause == "graph" else None,
        "count": len(ROWS[cause]),
    }
