"""Made-up entries of the rarer kinds, and what an engine would tell of them."""

from __future__ import annotations

import time
from typing import Any

from torchkeeper.artifacts.entry import Entry

_RANK = "3f1c0e77aa/rank_1_0"
_LIBRARY = (
    "lib/cragh2uwjaesn7hqkkg3lgd7x3sspdtjnmovwda6vzwhpku67qwy/"
    "cit37hpfiqckhhfvsmvvptjb45i2pyeejh3i4ksyb2vsg7nvu2sp.wrapper.so"
)
_HASH = "070df40827bb0b2547f0e0189320b9efe3717f627d6c10d46ba0aa7a6ff82ea3"
_EAGER = "aten::add.Tensor(f32[4, 8], f32[4, 8], 2)"
_TRITON_KEY = "8e1f4a0c6a3b52b1f6cc0ad0c9b1d7e4fb1f3b6b7b2f2d9c35d6a9a3e1d4c2b7"

#: The name, size, path, problem and facts of each, by kind.
_KINDS: dict[str, tuple[str, int, str, str | None, dict[str, Any]]] = {
    "precompile": (
        "decoder_layer", 812_000, f"dynamo/{_HASH}", None,
        {"variants": 2, "graphs": 2, "python": "3.11.9", "gpu": "NVIDIA H200",
         "functions": ["decoder_layer at /home/ada/llama/decoder.py:18"],
         "modules": ["llama.decoder", "torch.nn.modules.linear"]},
    ),
    "aoti_eager": (
        _EAGER, 1_502_000, "aoti_eager/aten/cpu/add.Tensor.json#68c42eb2190b", "library-missing",
        {"op": "aten::add.Tensor", "inputs": ["f32[4, 8]", "f32[4, 8]", "2"],
         "library": _LIBRARY, "problem": "library-missing"},
    ),
    "autotune": (
        "GEMM choices for NVIDIA H200", 48_100, f"cache/{_HASH[::-1]}", None,
        {"gpu": "NVIDIA H200", "versions": {"triton": _TRITON_KEY, "cuda": "13.0"},
         "choices": 1204},
    ),
    "ondisk": (
        "dict of 12", 1_920, "cache/inductor_on_disk_cache/0236e2d9c13c902a245c65e3e529aac5", None,
        {"prefix": "5feceb66", "version": 0},
    ),
    "jit": (
        "FlashInfer: batch_prefill_f16", 2_310_000,
        "0.7.2/90a/cached_ops/batch_prefill_f16", None,
        {"backend": "FlashInfer", "version": "0.7.2", "gpu": "90a"},
    ),
    "code": (
        "vLLM's graph and key factors", 96_400, f"{_RANK}/backbone/cache_key_factors.json", None,
        {"hashes": {"code": "d3b07384d113edec49eaa6238ad5ff00", "compiler": "c157a79031",
                    "config": "6512bd43d9"}},
    ),
}  # fmt: skip


def entries() -> list[Entry]:
    """One of each kind."""
    return [
        Entry(
            kind=kind,
            key=f"{_RANK}/backbone" if kind == "code" else path.rpartition("/")[2],
            name=name,
            size=size,
            files=3 if kind in ("aoti_eager", "code") else 1,
            mtime=time.time() - 86_400 * number,
            torch="2.13.0+cu130" if kind == "precompile" else None,
            device={
                "precompile": "cuda",
                "aoti_eager": "cpu",
                "autotune": "cuda",
                "jit": "cuda:90",
            }.get(kind),
            compile_s=None,
            path=path,
            sha256=None,
            problem=problem,
        )
        for number, (kind, (name, size, path, problem, _)) in enumerate(_KINDS.items())
    ]


def facts(entry: Entry) -> dict[str, Any]:
    """What is known of one of them, of others nothing."""
    known = _KINDS.get(entry.kind)
    return known[4] if known and known[2] == entry.path else {}
