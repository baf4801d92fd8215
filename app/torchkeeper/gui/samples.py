"""A made-up entry in full, for the pictures of the inspector."""

from __future__ import annotations

import time
from typing import Any

from torchkeeper.artifacts.entry import KINDS, Entry
from torchkeeper.gui.engines import Listener

GRAPH = """class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "f32[2048, 512][512, 1]cuda:0", primals_2: "f32[2048][1]cuda:0",
                primals_3: "f32[64, 512][512, 1]cuda:0"):
         # File: /home/ada/train/mlp.py:18 in forward, code: x = F.gelu(self.up(x))
        permute: "f32[512, 2048][1, 512]cuda:0" = torch.ops.aten.permute.default(primals_1, [1, 0])
        addmm: "f32[64, 2048][2048, 1]cuda:0" = torch.ops.aten.addmm.default(
            primals_2, primals_3, permute)
        mul: "f32[64, 2048][2048, 1]cuda:0" = torch.ops.aten.mul.Tensor(addmm, 0.5)
        mul_1: "f32[64, 2048][2048, 1]cuda:0" = torch.ops.aten.mul.Tensor(addmm, 0.7071067811865476)
        erf: "f32[64, 2048][2048, 1]cuda:0" = torch.ops.aten.erf.default(mul_1)
        add: "f32[64, 2048][2048, 1]cuda:0" = torch.ops.aten.add.Tensor(erf, 1)
        mul_2: "f32[64, 2048][2048, 1]cuda:0" = torch.ops.aten.mul.Tensor(mul, add)
        return (mul_2, primals_3, addmm)
"""

SOURCE = """# AOT ID: ['0_inference']
from ctypes import c_void_p, c_long, c_int
import torch
from torch._inductor.async_compile import AsyncCompile

aten = torch.ops.aten
async_compile = AsyncCompile()


cpp_fused_gelu_0 = async_compile.cpp_pybinding(['const float*', 'float*'], '''
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C" void kernel(const float* in_ptr0, float* out_ptr0)
{
    #pragma omp parallel num_threads(32)
    {
        #pragma omp for
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(131072L); x0+=16L)
        {
            // 0.5 * x * (1 + erf(x / sqrt(2)))
            auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + x0);
            auto tmp1 = at::vec::Vectorized<float>(static_cast<float>(0.5));
            tmp0.store(out_ptr0 + x0);
        }
    }
}
''')


async_compile.wait(globals())

@torch.no_grad()
def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    assert_size_stride(arg0_1, (64, 2048), (2048, 1))
    buf0 = empty_strided_cpu((64, 2048), (2048, 1), torch.float32)
    cpp_fused_gelu_0(arg0_1, buf0)
    return (buf0, )


if __name__ == "__main__":
    from torch._inductor.wrapper_benchmark import compiled_module_main
    compiled_module_main('None', benchmark_compiled_module)
"""

_CONFIG = (
    "aggressive_fusion autotune_in_subproc b2b_gemm_pass benchmark_kernel bw_outputs_user_visible "
    "can_inplace_pad_graph_input coordinate_descent_tuning debug epilogue_fusion "
    "force_fuse_int_mm_with_mul freezing max_autotune max_autotune_gemm shape_padding"
)


def factors() -> list[dict[str, str]]:
    """Some key factors."""
    tensor = (
        "TensorMetadata(dtype=torch.float32, shape=torch.Size([2048, 512]), stride=(512, 1), "
        "device=device(type='cuda', index=0), layout=torch.strided, "
        "memory_format=torch.contiguous_format, storage_offset=0, requires_grad=False)"
    )
    named = [
        ("gm", "GraphModule()"),
        *((f"example_inputs[{n}]", tensor) for n in range(3)),
        ("fx_kwargs[cpp_wrapper]", "False"),
        ("fx_kwargs[is_backward]", "False"),
        ("torch_version", "<bytes>"),
        ("system_info[device]", "{'name': 'NVIDIA H200'}"),
        ("system_info[version]", "{'triton': '3.7.1', 'cuda': '13.0'}"),
        ("cuda_matmul_settings", "(True, False, False)"),
        *((f"inductor_config[{name}]", "False") for name in _CONFIG.split()),
    ]
    alphabet = "abcdefghijklmnopqrstuvwxyz234567"
    return [
        {
            "name": name,
            "value": value,
            "hash": "".join(alphabet[(number * 7 + n * n * 3) % 32] for n in range(52)),
        }
        for number, (name, value) in enumerate(named)
    ]


def detail(entry: Entry, every: list[Entry]) -> dict[str, Any]:
    """What an engine would tell of an entry."""
    graph = entry.kind in ("fxgraph", "aotautograd") and entry.problem is None
    facts: dict[str, Any] = {"name": entry.name}
    needs: dict[str, list[str]] = {}
    texts: list[dict[str, Any]] = []
    if graph:
        made = {"torch": "2.13.0+cu130", "cuda": "13.0", "gpus": ["NVIDIA H200"], "threads": 32}
        facts |= {
            "function": "forward at mlp.py:18",
            "ops": ["addmm", "gelu", "native_layer_norm"],
            "inputs": [row["value"] for row in factors() if row["name"].startswith("example")],
            "made_in": {**made, "torch_git": "5811a8d7da873dd699ff6687092c225caffcf1bb"},
        }
        there = [x.key for x in every if x.kind == "code"][:1]
        needs = {
            "code_keys": there,
            "triton_keys": ["RGPAIBNXPLTUX2YQ6CGT2TSUSZZCPGXCWRWDOX7FFNIG"],
        }
        texts = [{"name": "graph", "chars": len(GRAPH)}, {"name": "source", "chars": len(SOURCE)}]
    if entry.kind == "code":
        texts = [{"name": "cpp_fused_gelu_0.main.cpp", "chars": len(SOURCE)}]
    return {
        "entry": entry.to_json(),
        "facts": facts,
        "files": [{"path": entry.path, "size": entry.size, "mtime": entry.mtime}],
        "needs": needs,
        "texts": texts,
        "factors": len(factors()) if graph else 0,
    }


def foretold(
    op: str, params: dict[str, Any], every: list[Entry], listener: Listener
) -> dict[str, Any]:
    """What an engine would say of an export or an import that is to come.

    A file whose name begins with "there" is there already; into a place that ends in "full"
    there is no room, and where it ends in "same" nothing is new.
    """
    where = str(params.get("into") or params.get("path") or "")
    free = 1_200_000 if "full" in where else 78_100_000_000
    space = {"free": free, "why": None, "exists": "missing" not in where}
    if op == "target":
        there = where.rpartition("/")[2].startswith("there")
        about = {"size": 12_400_000, "mtime": time.time() - 3 * 86_400} if there else {}
        return {"what": "file" if there else "missing", **about, "space": space}
    portable = [entry for entry in every if entry.kind != "lock" and not entry.problem]
    if op == "compare":
        files = [_compared(str(path), portable, "same" in where) for path in params["files"]]
        return {"files": files, "needed": 4_300_000, "space": space}
    if listener.findings:
        for entry in every:
            if entry not in portable:
                code = "entry-broken" if entry.problem else "kind-not-portable"
                params = {"kind": entry.kind, "problem": entry.problem}
                listener.findings([{"left": {"code": code, "params": params}}])
    held = sum(entry.size for entry in portable)
    return {
        "entries": len(portable),
        "files": sum(entry.files for entry in portable),
        "bytes": held,
        "size": held + 21_400,
        "room": 2 * held,
        "kinds": [
            {"kind": kind, "entries": len(ones), "files": len(ones),
             "bytes": sum(entry.size for entry in ones)}
            for kind, ones in _by_kind(portable).items()
        ],
        "torches": [["2.13.0+cpu", 20], ["2.9.1", 9]],
        "devices": [["cpu", 26], ["cuda:90", 3]],
        "made_in": None,
    }  # fmt: skip


def _by_kind(entries: list[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for kind in KINDS:
        ones = [entry for entry in entries if entry.kind == kind]
        if ones:
            found[kind] = ones
    return found


def _compared(path: str, entries: list[Entry], same: bool) -> dict[str, Any]:
    kinds: list[dict[str, Any]] = []
    for kind, ones in _by_kind(entries).items():
        new = [] if same else ones[: max(1, len(ones) // 2)]
        differs = ones[-1:] if kind == "code" and not same else []
        there = ones[len(new) : len(ones) - len(differs)]
        named = {"new": new, "there": there, "differs": differs, "left": []}
        counts = {name: _counts(some) for name, some in named.items()}
        kinds.append({"kind": kind, **counts})
    whole = {
        name: {what: sum(kind[name][what] for kind in kinds) for what in ("entries", "bytes")}
        for name in ("new", "there", "differs", "left")
    }
    return {"file": path, "kinds": kinds, **whole}


def _counts(entries: list[Entry]) -> dict[str, int]:
    return {"entries": len(entries), "bytes": sum(entry.size for entry in entries)}


def page(name: str) -> dict[str, Any]:
    """A text in one page."""
    text = GRAPH if name == "graph" else SOURCE
    return {"name": name, "offset": 0, "text": text, "chars": len(text)}
