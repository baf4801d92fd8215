"""A made-up cache for the pictures: its places, its entries, and one of them in full."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from tests.shots import sample_kinds
from torchkeeper.artifacts.entry import VERDICTS, WITHOUT_VERDICT, Entry, measured, tallied

PLACE = "/tmp/torchinductor_ada"  # only its name is shown
KERNELS = "/home/ada/.triton/cache"
NIGHTLY = "/home/ada/llama/nightly.torchcache"
#: A place as clusters have them.
SERVER = "redis://cache.example.org:6379/0"
LONG_PLACE = (
    "/mnt/projects/vision-language/experiments/2026-11-sweep-lr3e-4-bs512-bf16/"
    "checkpoints/step-120000/rank-07/torchinductor_ada_feature_rope_scaling"
)
#: As the operation ``signature`` tells of a bundle by somebody who is trusted.
SIGNATURE: dict[str, Any] = {
    "status": "trusted",
    "signer": "build@llama.example",
    "key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk0",
    "fingerprint": "SHA256:Y9v4l1C0qk2hWv3yqk0v5o0bX7h1Q2mZr8d6fK3sT1E",
    "manifest": "",
}
#: What a bundle says of its native objects, and what cannot be taken of them here.
CLAIMS = {
    "native": {
        "torch": "2.13.0+cu130", "torch_key": "9f2b7c51a04e", "python": "cpython-311",
        "compiler": "g++ (Ubuntu 13.3.0-6ubuntu2) 13.3.0", "libc": "glibc 2.39",
        "cpu_flags": ["avx", "avx2", "avx512f", "fma"],
    },
    "objects": 11, "built": 11, "headers": 9, "portable": 0,
}  # fmt: skip
LEFT: list[dict[str, Any]] = [
    {"kind": "code", "key": f"c{n}kkzanes3ggbbmq7", "path": f"{n}k/c{n}kkzanes3ggbbmq7.main.so",
     "code": "object-cpu", "params": {"differs": "amx_tile is missing here"}}
    for n in range(2)
]  # fmt: skip
TORCH_GIT = "5811a8d7da873dd699ff6687092c225caffcf1bb"
MADE_IN = {"torch": "2.13.0+cu130", "torch_git": TORCH_GIT, "cuda": "13.0",
           "gpus": ["NVIDIA H200"], "threads": 32}  # fmt: skip
ENVIRONMENT = {
    "python": "3.11.9",
    "platform": "Linux",
    "cpu": "AMD EPYC 9654",
    "threads": 32,
    "torch": "2.13.0+cu130",
    "triton": "3.7.1",
    "cuda": "13.0",
    "torch_git": TORCH_GIT,
    "torch_key": "9f2b7c51a04e4c0f8d3f6a1b52e7c90d4a6b8e1f3c5d7092b4f6a8c0e2d41357",
    "system": {"hash": "c41c1a1c26a2f0b07d6e6f0b9a8d4e3f2c1b0a99887766554433221100ffeedd"},
    "key_factors": {f"factor {n}": ["", ""] for n in range(652)},
    "native": {"torch": "2.13.0+cu130", "torch_key": "9f2b7c51a04e", "commands": []},
    "driver": "580.65.06",
    "vector": ["amx_bf16", "avx", "avx2", "avx512_bf16", "avx512_vnni", "avx512f", "f16c", "fma"],
    "cxx": {"path": "/usr/bin/g++", "version": "g++ (Ubuntu 13.3.0-6ubuntu2) 13.3.0"},
    "devices": [
        {"type": "cuda", "name": "NVIDIA H200", "arch": "90", "memory": 150_121_545_728},
        {"type": "cpu", "name": "AMD EPYC 9654", "arch": "x86_64"},
    ],
    "settings": [
        {"name": "cache_dir", "value": "/tmp/torchinductor_ada", "by": None},
        {"name": "triton_cache_dir", "value": "/scratch/ada/triton", "by": "TRITON_CACHE_DIR"},
        {
            "name": "fx_graph_remote_cache",
            "value": True,
            "by": "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE",
        },
        {"name": "redis", "value": "set", "by": "TORCHINDUCTOR_REDIS_URL"},
    ],
}
PYTHON = "/home/ada/llama/.venv/bin/python"
#: Other interpreters on the same machine, and what is to be seen of each.
OLD_PYTHON = "/home/ada/.conda/envs/train-2.9/bin/python"
BROKEN_PYTHON = "/opt/venv/bin/python"
PLAIN_PYTHON = "/usr/bin/python3"

_NAMES = {
    "fxgraph": (
        "decoder_layer: addmm, gelu, native_layer_norm",
        "attention: mm, scaled_dot_product (backward)",
        "rotary_embed: cat, mul",
        "loss: log_softmax, nll_loss",
        "swiglu: mm, silu, mul (backward)",
    ),
    "aotautograd": (
        "decoder_layer: addmm, gelu, native_layer_norm (forward and backward)",
        "attention: mm, scaled_dot_product (forward and backward)",
        "rotary_embed: cat, mul",
    ),
    "code": ("cpp_fused_add_relu_0", "cpp_fused_softmax_2", "decoder_layer: addmm, gelu"),
    "triton": ("triton_poi_fused_add_gelu_0", "triton_red_fused_softmax_1"),
    "autotune": ("triton_poi_fused_add_gelu_0", "triton_red_fused_softmax_1"),
    "pgo": ("profile of decoder_layer, rotary_embed",),
    "lock": ("cmnvkzanes3ggbbm.lock",),
}
#: About how large entries of a kind are, in bytes.
_SIZES = {"fxgraph": 190_000, "aotautograd": 310_000, "code": 46_000, "triton": 128_000,
          "autotune": 700, "pgo": 2_100, "lock": 0}  # fmt: skip
#: The first two kinds are what a cache is mostly made of.
_ORDER = (*("fxgraph", "code", "aotautograd", "triton") * 3, "fxgraph", "autotune", "lock", "pgo")


def entries(long: bool = False) -> list[Entry]:
    """Entries of every common kind, one broken, one an orphan; long: names as long as they get."""
    now = time.time()
    made = []
    for number in range(36):
        kind = _ORDER[number % len(_ORDER)]
        names = _NAMES[kind]
        digest = f"{(number + 7) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % (1 << 128):032x}"
        graph = kind in ("fxgraph", "aotautograd")
        name = names[number // 3 % len(names)]
        if long and number % 3:
            name = "_".join([name.partition(":")[0], *["fused_native_layer_norm_gelu_add"] * 6])
        old = number % 5 == 3
        torch = "2.9.1+cu128" if old else "2.13.0+cu130"
        made.append(
            Entry(
                kind=kind,
                key=digest if kind == "lock" else f"{kind[0]}{digest}",
                name=name,
                size=_SIZES[kind] * (3000 + number * 3701 % 14_000) // 10_000,
                files=9 if kind == "triton" else 2 if kind == "code" else 1,
                mtime=now - number**3 * 61 - 40,
                torch=None if kind in ("lock", "pgo") else torch,
                device=_device(kind, name),
                compile_s=(number * 13 % 47) / 7 + 0.3 if graph else None,
                path=f"{kind}/{digest[:2]}/{digest}",
                sha256=digest * 2,
                problem="payload-unreadable" if number == 4 else None,
                orphan="code-unnamed" if number == 5 else None,
            )
        )
    return made


def caches(server: bool) -> list[dict[str, Any]]:
    """The caches of a bundle; of all that a server needs, several."""
    rows = [
        ("PyTorch", "/tmp/torchinductor_ada", "default", True, 33, 5_000_000),
        ("DeepGEMM", "/home/ada/.deep_gemm", "DG_JIT_CACHE_DIR", True, 12, 2_100_000),
        ("TileLang", None, None, False, 3, 640_000),
        ("Triton", "/home/ada/.triton/cache", "triton-default", False, 41, 3_300_000),
    ]
    names = "cache", "into", "reason", "there", "entries", "bytes"
    some = (dict(zip(names, row, strict=True)) for row in (rows if server else rows[:1]))
    return [{**one, "files": one["entries"]} for one in some]


def _device(kind: str, name: str) -> str | None:
    if kind in ("lock", "pgo"):
        return None
    return "cpu" if name.startswith("cpp_") else "cuda:90"


GRAPH = """class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "f32[2048, 512][512, 1]cuda:0", primals_2: "f32[2048][1]cuda:0",
                primals_3: "f32[64, 512][512, 1]cuda:0"):
         # File: /home/ada/llama/decoder.py:18 in forward, code: x = F.gelu(self.up(x))
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


def detail(entry: Entry, every: list[Entry]) -> Any:
    """What an engine would tell of an entry."""
    graph = entry.kind in ("fxgraph", "aotautograd") and entry.problem is None
    facts: dict[str, Any] = {"name": entry.name, **sample_kinds.facts(entry)}
    needs: dict[str, list[str]] = {}
    texts: list[dict[str, Any]] = []
    if graph:
        old = {"torch": entry.torch, "cuda": "12.8"} if entry.torch != MADE_IN["torch"] else {}
        facts |= {
            "function": "forward at decoder.py:18",
            # As the name has them.
            "ops": str(entry.name).partition(": ")[2].partition(" (")[0].split(", "),
            "inputs": [row["value"] for row in factors() if row["name"].startswith("example")],
            "made_in": {**MADE_IN, **old},
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
        "files": _files(entry),
        "needs": needs,
        "texts": texts,
        "factors": len(factors()) if graph else 0,
    }


def related(entry: Entry, every: list[Entry]) -> dict[str, Any]:
    """Who an engine would say needs whom."""
    about = detail(entry, every)["needs"]
    above = {"fxgraph": "aotautograd", "code": "fxgraph"}.get(entry.kind)
    needing = [x for x in every if x.kind == above and not entry.orphan][:2]
    return {
        "needs": [["code", key] for key in about.get("code_keys", ())],
        "missing": [["triton", key] for key in about.get("triton_keys", ())],
        "needed_by": [[x.kind, x.key] for x in needing],
    }


def _files(entry: Entry) -> list[dict[str, Any]]:
    names = [entry.path]
    if entry.files == 9:
        stem = f"{entry.path}/{entry.name}"
        endings = ("ttir", "ttgir", "llir", "ptx", "cubin", "source", "json")
        names = [f"{stem}.{ending}" for ending in endings]
        names += [f"{entry.path}/__grp__{entry.name}.json", f"{entry.path}/__{entry.name}.so"]
    elif entry.files == 2:
        names = [f"{entry.path}.main.cpp", f"{entry.path}.main.so"]
    part = entry.size // len(names)
    sizes = [part] * (len(names) - 1)
    return [
        {"path": name, "size": size, "mtime": entry.mtime}
        for name, size in zip(names, [*sizes, entry.size - sum(sizes)], strict=True)
    ]


def page(name: str) -> dict[str, Any]:
    """A text in one page."""
    text = GRAPH if name == "graph" else SOURCE
    return {"name": name, "offset": 0, "text": text, "chars": len(text)}


def in_use(everything: bool = False) -> dict[str, Any]:
    """What a plan to purge says of the processes that use the folder."""
    told: list[dict[str, Any]] = [
        {"pid": 41_207, "name": "python train.py", "why": "mapped", "entries": 2},
        {"pid": 38_551, "name": "nvim", "why": "environment", "entries": 0},
    ]
    for one in told:
        one["holds_all"] = everything and one["why"] == "mapped"
    other = {"pid": 40_112, "name": "python3", "user": "bob"}
    return {"processes": told, "count": len(told), "hidden": 212, "unseen": [other], "sees": "all",
            "all": everything}  # fmt: skip


#: What a server holds, as ``du`` says it.
KINDS_ON_SERVER = [
    {"kind": kind, **tallied(count), "files": files, **measured(size, on_disk=False)}
    for kind, count, files, size in (
        ("fxgraph", 112_400, 112_400, 19_300_000_000),
        ("aotautograd", 71_208, 71_208, 17_100_000_000),
        ("triton", 1_840, 14_720, 410_000_000),
    )
]


def on_server(entry: Entry, number: int) -> Entry:
    """An entry as a server has it, of which most was asked for."""
    now = time.time()
    if number % 9 == 7:
        return entry._replace(mtime=None)
    expires = now + (number + 1) * 61_000 if number % 3 == 0 else 0.0
    expires = expires if entry.expires is None else entry.expires
    return entry._replace(mtime=None, expires=expires, used=now - number**3 * 700 - 30)


def interpreters(machine: str = "") -> list[dict[str, Any]]:
    """The interpreters that are found: the first with a torch is the one that is used."""
    old = {**ENVIRONMENT, "torch": "2.9.1+cu128", "triton": "3.5.1", "cuda": "12.8"}
    # What is known without torch.
    asked = ("torch", "triton", "cuda", "hip", "torch_git", "torch_key", "threads", "system")
    none = {**dict.fromkeys(asked), "python": "3.12.3", "platform": "Linux",
            "cpu": ENVIRONMENT["cpu"], "devices": []}  # fmt: skip
    usual = {"added": False, "starts": True, "counts": True, "writers": [], "facts": None}
    if machine:
        serve = {**usual, "python": f"{machine}/opt/serve/bin/python", "label": "added"}
        python3 = {**usual, "python": f"{machine}/usr/bin/python3", "facts": none}
        return [{**python3, "label": "the machine’s python3"}, {**serve, "added": True}]
    return [
        {**usual, "python": PYTHON, "label": "TORCHKEEPER_TORCH_PYTHON"},
        {**usual, "python": PLAIN_PYTHON, "label": "python3 on the PATH", "facts": none},
        {**usual, "python": BROKEN_PYTHON, "label": "added", "added": True},
        {**usual, "python": OLD_PYTHON, "label": "added", "added": True, "facts": old},
        {
            **usual,
            "python": "/home/ada/downloads/llama/.venv/bin/python",
            "starts": False,
            "counts": False,
            "label": "virtual or conda environment",
        },
    ]


def probed(python: str) -> dict[str, Any]:
    """What an interpreter says of itself when it is asked."""
    known = {one["python"]: one["facts"] for one in interpreters()}
    return dict(known.get(python) or ENVIRONMENT)


def judged(entries: list[Entry], python: str) -> tuple[Any, Any]:
    """What an engine would find of entries in an environment: the finding, and the counts."""
    here = "2.9.1+cu128" if python == OLD_PYTHON else "2.13.0+cu130"
    broken = next((one.problem for one in entries if one.problem), "payload-unreadable")
    said: list[dict[str, Any]] = [
        {"verdict": "usable", "reasons": [], "conditions": []},
        {"verdict": "conditional", "reasons": [], "conditions": [
            {"factor": "inductor_config[max_autotune]", "entry": "True", "here": "False"},
            {"factor": "cuda_matmul_settings", "entry": "high", "here": "highest"}]},
        {"verdict": "stale", "conditions": [], "reasons": []},
        {"verdict": "broken", "conditions": [], "reasons": [
            {"factor": "payload", "entry": broken, "here": None}]},
        {"verdict": "conditional", "reasons": [], "conditions": [
            {"factor": name, "entry": None, "here": None}
            for name in ("source", "environment", "ptxas")]},
        {"verdict": "unknown", "conditions": [], "reasons": [
            {"factor": "job", "entry": None, "here": None}]},
        {"verdict": "unsafe", "conditions": [], "reasons": [
            {"factor": "vector instructions", "entry": "512 bits", "here": "256 bits"}]},
    ]  # fmt: skip
    of, counts, made_by = [], Counter[str](), Counter[str]()
    for number, entry in enumerate(entries):
        if entry.kind in WITHOUT_VERDICT:
            counts["none"] += 1
            continue
        which = 1 if number % 7 == 6 else 0
        if entry.problem:
            which = 3
        elif entry.torch is not None and entry.torch != here:
            which = 2
            said[2]["reasons"] = [{"factor": "torch", "entry": entry.torch, "here": here}]
            made_by[entry.torch] += 1
        elif entry.kind in ("triton", "pgo"):
            which = 4 if entry.kind == "triton" else 5
        elif entry.kind == "fxgraph" and number % 32 == 24:
            which = 6
        counts[said[which]["verdict"]] += 1
        of.append([entry.kind, entry.path, which])
    order = [name for name in (*VERDICTS, "none") if counts[name]]
    found = {"said": said, "of": of}
    return found, {"verdicts": {name: counts[name] for name in order}, "made_by": dict(made_by)}


def server() -> dict[str, Any]:
    """What a server says of itself."""
    return {
        "place": SERVER,
        "version": "7.2.4",
        "uptime_s": 3_196_800,
        "used_memory": 3_412_000_000,
        "max_memory": 4_294_967_296,
        "policy": "volatile-lru",
        "evicted": 0,
        "hits": 182_340,
        "misses": 20_771,
        "keys": 201_208,
        "expiring": 0,
        "role": "master",
        "read_only": False,
        "quiet": False,
        "clients": 12,
        "forbidden": [],
        "changes": {"copy": None, "expire": None, "purge": "server-forbids"},
        "meanings": ["evicts-nothing-of-ours", "never-expires"],
        "owners": [],
    }
